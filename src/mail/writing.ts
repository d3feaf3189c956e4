/**
 * Writes bookings into the calendars of their rooms. The bookings say which items should be there, the rows of mail_writing
 * which do; a job writes the difference. A row becomes Writing or Deleting before the mail server is asked, so if the worker
 * dies, the next job looks up the outcome first.
 */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { inMs } from '../db/pauses.ts';
import { backOff } from '../flow/retry.ts';
import type { Turn } from '../flow/turns.ts';
import { hasAnswered, openConnectors, ServerFault } from '../mail-servers/service.ts';
import type { MailJob, MailWork } from '../mail-subscriptions/service.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { declineItems } from './declines.ts';
import { queueWriting } from './doubts.ts';
import { reasonOf } from './failing.ts';
import type { CalendarKey } from './reading.ts';
import { listToWrite, readWanted, readWritten, type WrittenCalendar } from './wanted.ts';
import { lookUp, lookUpSize, type Session, writeSteps } from './write-batches.ts';
import { byFailures, isUnsettled, planWrites } from './written.ts';
import { forget, readRows, save } from './written-rows.ts';

/** A job begins no batch after this time, so that the calendar can be read in between. */
const jobMs = 1_000;
/** If there are many items, those of the coming week are written first; the rest follows after a pause, for other calendars. */
const [many, nearMs, restAfterMs] = [50, 7 * dayLength, 10_000];
const pauses = { firstMs: 1_000, longestMs: 5 * minute };
/** The pause before items are tried again whose booking or room others are writing. */
const laterMs = 1_000;
/** Added to the pause of a job, so that the calendar's pause is over by the clocks of both PostgreSQL and this process. */
const soonMs = 50;

/** Queues the writing of all calendars that may lack bookings: settings change, days pass, and jobs may be lost. */
export async function queueWritings(db: Database): Promise<void> {
  const ids = await listToWrite(db);
  if (ids.length > 0) await db.transaction().execute((trx) => queueWriting(trx, ids));
}

const queueAgain = (work: Database, { calendarId }: CalendarKey, ms: number) =>
  work.transaction().execute((trx) => queueWriting(trx, [calendarId], ms));

/** Writes the difference into a calendar, for a few seconds at most; the next job writes the rest. */
export async function writeCalendar(context: MailJob, key: CalendarKey): Promise<void> {
  const { work, signal, turns } = context;
  const turnWork = { tenant: key.mandatorId, name: `writing ${key.calendarId}`, isBulk: true, isSpare: true };
  const refusal = await turns.take(turnWork, async (turn) => {
    const calendar = await readWritten(work, key);
    if (!calendar) return;
    // A change found in the calendar may have queued the job again, before the pause is over.
    if (calendar.restMs > 0) return await queueAgain(work, key, calendar.restMs + soonMs);
    try {
      const againMs = await writeSome(context, turn, calendar);
      if (againMs !== null) await queueAgain(work, key, againMs);
    } catch (error) {
      if (!signal.aborted) await rest(context, turn, calendar, error);
    }
  });
  // A random pause, so that refused calendars do not all come back at the same time.
  if (refusal) await queueAgain(work, key, refusal.againMs * (0.5 + 2 * Math.random()));
}

/** @returns the milliseconds after which to continue; null when everything is written */
async function writeSome(context: MailWork, turn: Turn, calendar: WrittenCalendar): Promise<number | null> {
  const { config, work, once } = context;
  const settings = config.MailServer[calendar.mandator];
  if (settings?.Kind !== calendar.kind) return null;
  const { writes, invitation } = once(openConnectors)(settings);
  const until = performance.now() + jobMs;
  const signal = AbortSignal.any([context.signal, turn.signal]);
  const declining = { context, calendar, invitation, turn, signal, until };
  if (writes === null) {
    await declineItems(declining, false);
    return await recordUnwritable(work, calendar);
  }
  const read = async () => {
    const bookings = await readWanted(work, calendar, settings.FutureDays);
    return new Map(bookings.map((booking) => [booking.bookingId, booking]));
  };
  const counts = { deleted: 0, known: 0, unknown: 0, written: 0 };
  const session: Session = { context, calendar, writes, wanted: await read(), ...counts, fault: undefined, signal };
  const doubted = (await readRows(work, calendar)).filter(isUnsettled).toSorted(byFailures);
  if (doubted.length > 0) turn.begin();
  for (let at = 0, size: number; at < doubted.length; at += size) {
    size = lookUpSize(session);
    await lookUp(session, doubted.slice(at, at + size));
    turn.answered();
    if (performance.now() <= until) continue;
    if (session.unknown > 0) break;
    return 0;
  }
  const wanted = doubted.length > 0 ? await read() : session.wanted;
  const rows = await readRows(work, calendar);
  const { steps, forgotten, over } = planWrites([...wanted.values()], rows, calendar.mandatorUid, Date.now());
  if (forgotten.length > 0) await forget(work, calendar, forgotten);
  if (over.length > 0) await work.transaction().execute((trx) => save(trx, calendar, over));
  const near = steps.filter(({ row }) => row.start.getTime() < Date.now() + nearMs);
  const next = steps.length > many && near.length > 0 ? near : steps;
  if (next.length > 0) turn.begin();
  // Lookups that fail slowly leave time for writes.
  const writeUntil = session.unknown > 0 ? performance.now() + jobMs : until;
  if (!(await writeSteps(session, next, turn, writeUntil))) return 0;
  if (next.length < steps.length) return restAfterMs;
  if (session.unknown === 0 && rows.some(isUnsettled)) return laterMs;
  const told = await declineItems(declining, session.written > 0);
  if (told > 0) context.log.info({ mandator: calendar.mandator, mailbox: calendar.mailbox, told }, 'items declined');
  // What cannot be looked up holds up nothing, but the next attempt waits longer each time.
  if (session.unknown > 0) throw session.fault;
  await sql`
    update mail_calendar set writing_failures = 0, writing_fault = null, writing_not_before = null, compared_at = now(),
      compared_as = ${calendar.writing}
    where mandator_id = ${calendar.mandatorId} and id = ${calendar.calendarId}`.execute(work);
  return null;
}

/** Records that calendars of this kind cannot be written, which `doctor` reports if the settings ask for it. */
async function recordUnwritable(
  work: Database,
  { mandatorId, calendarId, kind, writing }: WrittenCalendar,
): Promise<null> {
  const fault = writing === 'Off' ? null : `calendars of the kind ${kind} are read and not written`;
  await sql`
    update mail_calendar set writing_fault = ${fault}, compared_at = now(), compared_as = ${writing}
    where mandator_id = ${mandatorId} and id = ${calendarId}`.execute(work);
  return null;
}

async function rest({ work, log }: MailWork, turn: Turn, calendar: WrittenCalendar, error: unknown): Promise<void> {
  if (hasAnswered(error)) turn.answered();
  const { mandatorId, mandator, mailbox, calendarId, failures } = calendar;
  const isOurs = !(error instanceof ServerFault);
  const text = reasonOf(error);
  const retryAt = isOurs ? null : error.retryAt;
  const restMs = retryAt ? Math.max(1_000, retryAt.getTime() - Date.now()) : backOff(failures, pauses);
  const told = {
    mandator,
    mailbox,
    calendarId,
    err: isOurs ? (error as Error).stack : text,
    restMs: Math.round(restMs),
  };
  log[isOurs ? 'error' : 'warn'](told, 'calendar not written');
  await work.transaction().execute(async (trx) => {
    await sql`
      update mail_calendar set writing_failures = writing_failures + 1, writing_fault = ${text.slice(0, 500)},
        writing_not_before = ${inMs(restMs)}
      where mandator_id = ${mandatorId} and id = ${calendarId}`.execute(trx);
    await queueWriting(trx, [calendarId], restMs + soonMs);
  });
}
