/**
 * Writes bookings into the calendars of their rooms. The bookings say which items should stand there, the rows of mail_writing
 * which do; a job writes the difference. A row becomes Writing or Deleting before the mail server is asked, so if the worker
 * dies, the next job looks up the outcome first.
 */
import { sql } from 'kysely';
import { contain } from '../containment.ts';
import type { Database } from '../db/database.ts';
import { backOff } from '../flow/retry.ts';
import type { Turn } from '../flow/turns.ts';
import { type Connector, hasAnswered, openConnectors, ServerFault, type Write } from '../mail-servers/service.ts';
import type { MailJob, MailWork } from '../mail-subscriptions/service.ts';
import { dayLength } from '../time/days.ts';
import { declineItems } from './declines.ts';
import { queueWriting } from './doubts.ts';
import type { CalendarKey } from './reading.ts';
import { readOthers } from './stored-items.ts';
import { takeOver } from './take-over.ts';
import { listToWrite, readWanted, readWritten, type WantedBooking, type WrittenCalendar } from './wanted.ts';
import {
  adopt,
  after,
  compare,
  editOf,
  isUnsettled,
  mostCancelled,
  originOf,
  type PlannedWrite,
  settle,
  type WrittenRow,
} from './written.ts';
import { forget, readRows, save } from './written-rows.ts';

/** A job begins no batch after this time, so that the calendar can be read in between. */
const jobMs = 1_000;
/** If there are many items, those of the coming week are written first; the rest follows after a pause, for other calendars. */
const [many, nearMs, restAfterMs] = [50, 7 * dayLength, 10_000];
/** Items that one request looks up; fewer if the server takes fewer writes at once. */
const mostFoundAtOnce = 20;
const pauses = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** The pause before items are tried again whose booking or room others are writing. */
const laterMs = 1_000;
/** Added to the pause of a job, so that the calendar's pause is over by the clocks of both PostgreSQL and this process. */
const soonMs = 50;

type Session = {
  context: MailWork;
  calendar: WrittenCalendar;
  writes: NonNullable<Connector['writes']>;
  wanted: ReadonlyMap<number, WantedBooking>;
  /** How many of the items that were looked up somebody has deleted. */
  deleted: number;
  signal: AbortSignal;
};

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
  const declining = { work, calendar, invitation, turn, signal, until };
  if (writes === null) {
    await declineItems(declining);
    return await recordUnwritable(work, calendar);
  }
  const read = async () => {
    const bookings = await readWanted(work, calendar, settings.FutureDays);
    return new Map(bookings.map((booking) => [booking.bookingId, booking]));
  };
  const session: Session = { context, calendar, writes, wanted: await read(), deleted: 0, signal };
  const doubted = (await readRows(work, calendar)).filter(isUnsettled);
  if (doubted.length > 0) turn.begin();
  for (let at = 0, size: number; at < doubted.length; at += size) {
    size = Math.min(mostFoundAtOnce, writes.atOnce);
    await lookUp(session, doubted.slice(at, at + size));
    turn.answered();
    if (performance.now() > until) return 0;
  }
  const wanted = doubted.length > 0 ? await read() : session.wanted;
  const rows = await readRows(work, calendar);
  const { steps, forgotten, over } = compare([...wanted.values()], rows, calendar.mandatorUid, Date.now());
  if (forgotten.length > 0) await forget(work, calendar, forgotten);
  if (over.length > 0) await work.transaction().execute((trx) => save(trx, calendar, over));
  const near = steps.filter(({ row }) => row.start.getTime() < Date.now() + nearMs);
  const next = steps.length > many && near.length > 0 ? near : steps;
  let isWhole = true;
  if (next.length > 0) turn.begin();
  for (let at = 0, size: number; at < next.length; at += size) {
    if (performance.now() > until) return 0;
    size = writes.atOnce;
    isWhole = (await writeBatch(session, next.slice(at, at + size))) && isWhole;
    turn.answered();
  }
  if (!isWhole) return 0;
  if (next.length < steps.length) return restAfterMs;
  if (rows.some(isUnsettled)) return laterMs;
  const told = await declineItems(declining);
  if (told > 0) context.log.info({ mandator: calendar.mandator, mailbox: calendar.mailbox, told }, 'items declined');
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
  const text = isOurs ? 'It could not be written; the log of this service says why.' : error.message;
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
        writing_not_before = now() + ${restMs}::float8 * interval '1 millisecond'
      where mandator_id = ${mandatorId} and id = ${calendarId}`.execute(trx);
    await queueWriting(trx, [calendarId], restMs + soonMs);
  });
}

/** Stores rows and the counts of what was done. */
async function conclude(
  { context, calendar }: Session,
  rows: readonly { before: WrittenRow; now: WrittenRow }[],
  { written = 0, taken = 0 }: { written?: number; taken?: number },
): Promise<void> {
  const { mandatorId, calendarId, mandator, mailbox } = calendar;
  const disputed = rows.filter(({ before, now }) => now.putBacksSince !== null && now.putBacks !== before.putBacks);
  await context.work.transaction().execute(async (trx) => {
    await save(
      trx,
      calendar,
      rows.map(({ now }) => now),
    );
    await sql`
      update mail_calendar set items_written = items_written + ${written}, put_backs = put_backs + ${disputed.length},
        taken_over = taken_over + ${taken},
        writing_failures = case when ${written} > 0 then 0 else writing_failures end
      where mandator_id = ${mandatorId} and id = ${calendarId}`.execute(trx);
  });
  // Earlier refusals do not slow down a calendar that can be written again.
  if (written > 0) calendar.failures = 0;
  for (const { now } of disputed.slice(0, 10))
    context.log.warn({ mandator, mailbox, bookingId: now.bookingId, state: now.state }, 'item was changed there');
}

/** @returns whether each item was written or refused, so that nothing is left to look up */
async function writeBatch(session: Session, steps: readonly PlannedWrite[]): Promise<boolean> {
  const { context, calendar, writes, signal } = session;
  const rows = steps.map(({ row }) => row);
  await context.work.transaction().execute((trx) => save(trx, calendar, rows));
  const asked = steps.map(({ write }) => write);
  const outcomes = await contain(() => writes.write(calendar, asked, signal));
  const done = steps.slice(0, outcomes.length).map((step, at) => ({
    before: step.row,
    now: after(step, outcomes[at]!, Date.now()),
  }));
  await conclude(session, done, { written: outcomes.filter(({ is }) => is === 'Done').length });
  return outcomes.length === steps.length && outcomes.every(({ is }) => is === 'Done' || is === 'Refused');
}

/** Looks up the items of rows whose outcome is unknown, or that somebody may have changed. */
async function lookUp(session: Session, rows: readonly WrittenRow[]): Promise<void> {
  const { context, calendar, writes, wanted, signal } = session;
  const generationsOf = ({ generation, lostGenerations }: WrittenRow) => [generation, ...lostGenerations];
  const origins = rows.flatMap((row) =>
    generationsOf(row).map((generation) => originOf({ ...row, generation }, calendar.mandatorUid)),
  );
  const found = await contain(() => writes.find(calendar, origins, signal));
  const own = new Set(rows.map(({ nativeId }) => nativeId));
  const unknown = found.filter(({ id }) => !own.has(id)).map(({ id }) => id);
  const others = await readOthers(context.work, calendar, unknown);
  const named = Map.groupBy(
    found.filter(({ id }) => !others.has(id)),
    ({ item }) => item.origin,
  );
  const strays: Write[] = [];
  const looked = rows.map((asked) => {
    const there = generationsOf(asked).flatMap((generation) => {
      const items = named.get(originOf({ ...asked, generation }, calendar.mandatorUid));
      return items ? [{ generation, items }] : [];
    });
    const [first, ...strange] = there;
    for (const { id, changeKey, item } of strange.flatMap(({ items }) => items))
      strays.push({ do: 'Remove', origin: item.origin, at: { id, changeKey } });
    const row = !first || first.generation === asked.generation ? asked : adopt(asked, first.generation);
    // Further items with the same mark are copies.
    const one = first?.items.find(({ id }) => id === row.nativeId) ?? first?.items[0];
    return { row, one, edit: editOf(row, one, wanted.get(row.bookingId)) };
  });
  // The rows are still in doubt, so if this process is killed here, the next job looks them up again.
  if (strays.length > 0) await contain(() => writes.write(calendar, strays, signal));
  session.deleted += looked.filter(({ edit }) => edit === null).length;
  const isEmptied = session.deleted > mostCancelled;
  const settled: { before: WrittenRow; now: WrittenRow }[] = [];
  let taken = 0;
  for (const { row, one, edit } of looked) {
    let booking = wanted.get(row.bookingId);
    if (booking && edit !== undefined && !(edit === null && isEmptied)) {
      const outcome = await takeOver(context.work, calendar.mandatorId, booking, edit);
      if (outcome === 'Later') continue;
      if (outcome === 'Taken') {
        taken += 1;
        const { mandator, mailbox } = calendar;
        context.log.info({ mandator, mailbox, bookingId: row.bookingId }, 'booking follows its item');
        const { start, end, subject = booking.subject } = edit ?? booking;
        booking = edit === null ? undefined : { ...booking, start, end, subject };
      }
    }
    settled.push({ before: row, now: settle(row, one, booking, Date.now(), writes.mayDouble) });
  }
  await conclude(session, settled, { taken });
}
