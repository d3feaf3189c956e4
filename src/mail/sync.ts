/**
 * Reads a calendar and writes what has changed (specification 6, steps 3 and 4). The mail server is asked outside of any
 * transaction; its answers are written in one. A worker that dies in between has changed no booking and leaves the calendar
 * dirty, so that a sweep finds it.
 */
import { sql } from 'kysely';
import { contain } from '../containment.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactWithin } from '../db/lock-timeout.ts';
import { inMs } from '../db/pauses.ts';
import { isLockTimeout, isOutage } from '../flow/database-errors.ts';
import { backOff, type Pauses, transactAgain } from '../flow/retry.ts';
import type { Turn } from '../flow/turns.ts';
import type { Log } from '../log.ts';
import {
  type CalendarChanges,
  type CalendarPage,
  hasAnswered,
  mergePages,
  openConnectors,
  ServerFault,
} from '../mail-servers/service.ts';
import { type DirtyBy, type MailJob, type MailWork, markCalendars } from '../mail-subscriptions/service.ts';
import { hour, minute } from '../time/durations.ts';
import { openNotes } from './deaths.ts';
import { knownItems } from './known.ts';
import { type Calendar, type CalendarKey, forgetSteps, noContinuation, Overtaken } from './reading.ts';
import { type Reconciled, reconcile } from './reconcile.ts';
import { describeConflict } from './standing.ts';
import { isComplete, isFirst, itemsSoFar, keepStep, readKept, readStep, type Step } from './steps.ts';

/** Faults after which a reading in steps continues where it was. After all others it starts over. */
const passing = new Set<ServerFault['fault']>(['Unreachable', 'Throttled', 'AccessLost']);
const isPassing = (fault: unknown) => fault instanceof ServerFault && passing.has(fault.fault);
/** How long a statement waits for a lock. */
const lockWithinMs = 200;
/** How long a reading tries to lock its room. */
const roomWithinMs = 5_000;
/** The pause before it tries again. */
const roomAgainMs = 1_000;
/** The pause of a calendar at which workers have died, while another such one is read. */
const suspectAgainMs = 300;
/** The pause of a reading that had to make way for others before its mail server answered. */
const cutAgainMs = 5_000;
/** The seconds over which the next readings of a slow mail server's calendars are spread. */
const allAgainWithinSeconds = 5;
/** A random factor for pauses, so that calendars are not all read again at the same time. */
const jitter = () => 0.5 + Math.random();
const usualPauses = { firstMs: 5_000, longestMs: 30 * minute };
/**
 * For Throttled the pause is shorter at first, since a rate limit soon allows one more request; for Unreachable too, since usually
 * just one answer was lost, and its maximum is lower, as only another attempt shows that the server is back.
 */
const pausesAfter: { [fault: string]: Pauses } = {
  Throttled: { ...usualPauses, firstMs: 1_000 },
  Unreachable: { firstMs: 1_000, longestMs: 5 * minute },
};
/** After so many faults in a row a calendar has lost its place among those that wait. */
const failsAgainFrom = 3;
/** The bounds of a pause that a mail server asks for. */
const shortestAskedMs = 1_000;
const longestAskedMs = 24 * hour;
/** For how long after a successful reading a calendar counts as followed. */
const followedFor = sql`interval '2 hours'`;

/** Another transaction, such as an import, holds the lock of the room for too long. */
class RoomHeld extends Error {}

/**
 * Reads a calendar if it is dirty and not held back. A fault of the mail server is recorded at the calendar, which is read
 * again later.
 */
export async function synchroniseCalendar(context: MailJob, key: CalendarKey): Promise<void> {
  const { work, signal, turns, once } = context;
  const notes = once(openNotes);
  const mark = await readMark(work, key);
  if (!mark) return;
  const { dirtyBy, waitedMs } = mark;
  const isUrgent = dirtyBy === 'Push';
  const turnWork = {
    tenant: key.mandatorId,
    name: `calendar ${key.calendarId}`,
    isBulk: true,
    isUrgent,
    ...(isUrgent && { waitedMs }),
  };
  const refusal = await turns.take(turnWork, async (turn) => {
    try {
      await notes.endLeft(work);
      const calendar = await readCalendar(work, key);
      if (!calendar || calendar.dirtyBy === null || calendar.isHeldBack) return;
      if (await isRoomHeld(work, calendar)) return await putOff(work, key, roomAgainMs);
      if (!(await notes.readNoted(context, calendar, () => readOne(context, turn, calendar))))
        await putOff(work, key, suspectAgainMs * jitter());
    } catch (error) {
      if (error instanceof RoomHeld) await putOff(work, key, roomAgainMs);
      else if (!(error instanceof Overtaken || signal.aborted)) throw error;
    }
  });
  if (refusal?.isForAll) await putOffAll(work, key.mandatorId, refusal.againMs);
  else if (refusal && isUrgent) await putOff(work, key, refusal.againMs * jitter());
  // A notification may still bring the reading forward.
  else if (refusal) await markCalendars(work, [key.calendarId], dirtyBy, Math.ceil((2 * refusal.againMs) / 1_000));
}

/**
 * What has marked a calendar as dirty, and how long it has waited; undefined if it is not dirty. One whose readings fail again and
 * again has waited for nothing, so that it does not go before the others.
 */
async function readMark(
  db: Database,
  { mandatorId, calendarId }: CalendarKey,
): Promise<{ dirtyBy: DirtyBy; waitedMs: number } | undefined> {
  const { rows } = await sql<{ dirtyBy: DirtyBy; waitedMs: number }>`
    select dirty_by as "dirtyBy",
      case when failures < ${failsAgainFrom} then extract(epoch from now() - dirty_since) * 1000 else 0 end::float8 as "waitedMs"
    from mail_calendar where mandator_id = ${mandatorId} and id = ${calendarId} and dirty_by is not null`.execute(db);
  return rows[0];
}

/** Has a calendar read later. */
async function putOff(work: Database, { mandatorId, calendarId }: CalendarKey, ms: number): Promise<void> {
  await work.transaction().execute(async (trx) => {
    const { rows } = await sql<{ by: DirtyBy }>`
      update mail_calendar set not_before = greatest(not_before, ${inMs(ms)})
      where mandator_id = ${mandatorId} and id = ${calendarId} and dirty_by is not null
      returning dirty_by as by`.execute(trx);
    for (const { by } of rows) await markCalendars(trx, [calendarId], by);
  });
}

/** Spares the mail server of a tenant: delays the readings of its calendars that are due within half of `ms` until after `ms`. */
async function putOffAll(work: Database, mandatorId: number, ms: number): Promise<void> {
  await work.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: number }>`
      update mail_calendar set not_before = ${inMs(ms)}
      where mandator_id = ${mandatorId} and id in (
        select id from mail_calendar
        where mandator_id = ${mandatorId} and dirty_by is not null and reading_since is null
          and (not_before < ${inMs(ms / 2)}) is not false
        order by id for no key update skip locked)
      returning id`.execute(trx);
    const ids = rows.map(({ id }) => id);
    await markCalendars(trx, ids, 'Poll', ids.length > 1 ? allAgainWithinSeconds : 0);
  });
}

async function readCalendar(db: Database, { mandatorId, calendarId }: CalendarKey): Promise<Calendar | undefined> {
  const { rows } = await sql<Calendar>`
    select calendar.mandator_id as "mandatorId", mandator.code as mandator, mandator.uid as "mandatorUid", calendar.id,
      resource_id as "resourceId", calendar.kind, calendar.mailbox, address, cursor, window_start as "windowStart",
      window_end as "windowEnd",
      dirty_by as "dirtyBy", marks, read_whole_at as "readWholeAt",
      coalesce(read_at > now() - ${followedFor}, false) as "isFollowed",
      to_json(missing_items) as "missingItems", readings, failures, fault, deaths, reading_since::text as "leftSince",
      case when reading_since is not null then reading_by end as "leftBy",
      coalesce(reading_since < pg_postmaster_start_time(), false) as "isLeftBeforeStart",
      continuation::json as continuation, continuation_items as "continuationItems",
      coalesce(not_before > now(), false) as "isHeldBack",
      location.time_zone as "timeZone"
    from mail_calendar as calendar join mandator on mandator.id = calendar.mandator_id
      join resource on (resource.mandator_id, resource.id) = (calendar.mandator_id, calendar.resource_id)
      join location on (location.mandator_id, location.id) = (resource.mandator_id, resource.location_id)
    where calendar.mandator_id = ${mandatorId} and calendar.id = ${calendarId} and retired_at is null`.execute(db);
  return rows[0];
}

/** Whether another transaction holds the room, in which case there is no point in asking the mail server. */
async function isRoomHeld(db: Database, { mandatorId, resourceId }: Calendar): Promise<boolean> {
  const { rows } = await sql`
    select from resource where mandator_id = ${mandatorId} and id = ${resourceId}
    for no key update skip locked`.execute(db);
  return rows.length === 0;
}

async function readOne(context: MailWork, turn: Turn, calendar: Calendar): Promise<void> {
  const { config, log, work, signal, once } = context;
  const settings = config.MailServer[calendar.mandator];
  // The settings have changed, so the calendar is about to be retired.
  if (settings?.Kind !== calendar.kind) return;
  const begin = performance.now();
  const connector = once(openConnectors)(settings);
  turn.begin();
  const nothing: Step = { window: { start: new Date(0), end: new Date(0) }, pages: [], items: 0, isAnew: false };
  const within = AbortSignal.any([signal, turn.signal]);
  const known = knownItems(work, calendar);
  const step = await contain(() =>
    readStep(connector, calendar, known, settings, { signal: within, answered: turn.answered }),
  ).catch((fault: unknown): Step => ({ ...nothing, fault }));
  if (signal.aborted) return;
  if (!(step.fault instanceof ServerFault) && isOutage(step.fault)) throw step.fault;
  if (step.fault === undefined || hasAnswered(step.fault)) turn.answered();
  if (step.fault instanceof ServerFault && step.fault.fault === 'Throttled') turn.throttled();
  // Pages that came before the turn ended are kept; the next turn continues from there.
  if (turn.signal.aborted && step.pages.length > 0) delete step.fault;
  else if (turn.isCutShort() && !isComplete(step))
    return await putOff(work, { mandatorId: calendar.mandatorId, calendarId: calendar.id }, cutAgainMs * jitter());
  if (!isComplete(step)) return await readInPart(context, calendar, step);
  const answered = performance.now();
  try {
    const changes = await completeStep(work, calendar, step);
    // Marks that were set since the reading began, at its first step, stay.
    const { marks } = (!step.isAnew && calendar.continuation) || calendar;
    const done = await writeWithRoom(work, (trx) => reconcile(trx, { ...calendar, marks }, step.window, changes));
    logReading(log, calendar, changes, done, { asked: answered - begin, written: performance.now() - answered });
  } catch (error) {
    if (error instanceof Overtaken || error instanceof RoomHeld || isOutage(error)) throw error;
    await recordFault(context, calendar, error);
  }
}

/** Stores an incomplete step, and records its fault. */
async function readInPart(context: MailWork, calendar: Calendar, step: Step): Promise<void> {
  const { fault, pages } = step;
  if (pages.length === 0 || (fault !== undefined && !isPassing(fault)))
    return await recordFault(context, calendar, fault);
  const continuation = await keepStep(context.work, calendar, step);
  const { mandator, mailbox, id } = calendar;
  const items = itemsSoFar(calendar, step);
  context.log.info({ mandator, mailbox, calendarId: id, items }, 'calendar read in part');
  const now = { ...calendar, readings: calendar.readings + 1, continuation, continuationItems: items };
  if (fault !== undefined) await recordFault(context, now, fault);
}

async function completeStep(work: Database, calendar: Calendar, step: Step): Promise<CalendarChanges> {
  const { whole, cursor, address, isPublished = false, pollMinutes } = step.pages.at(-1) as CalendarPage;
  const kept = isFirst(calendar, step) ? [] : await readKept(work, calendar);
  const source = { isPublished, ...(pollMinutes !== undefined && { pollMinutes }) };
  return { ...mergePages([...kept, ...step.pages]), ...source, whole, cursor, address };
}

/** Runs `write`, and repeats it after each lock timeout, so that transactions that hold the room go first. @throws RoomHeld after 5 s */
async function writeWithRoom<T>(db: Database, write: (trx: Transaction) => Promise<T>): Promise<T> {
  try {
    return await transactAgain(roomWithinMs, () => transactWithin(db, lockWithinMs, write));
  } catch (error) {
    throw isLockTimeout(error) ? new RoomHeld() : error;
  }
}

function logReading(
  log: Log,
  { mandator, mailbox, id, dirtyBy }: Calendar,
  { whole, groups }: CalendarChanges,
  { changes, conflicts, unreadable }: Reconciled,
  { asked, written }: { asked: number; written: number },
): void {
  const calendar = { mandator, mailbox, calendarId: id };
  const times = { askedMs: Math.round(asked), writtenMs: Math.round(written) };
  const level = changes > 0 ? 'info' : 'debug';
  log[level]({ ...calendar, by: dirtyBy, whole, groups: groups.length, changes, ...times }, 'calendar read');
  for (const { start, inTheWay } of conflicts.slice(0, 10))
    log.warn({ ...calendar, start, reason: describeConflict(inTheWay) }, 'mail item not booked');
  for (const { uid, itemId, reason } of unreadable.slice(0, 10))
    log.warn({ ...calendar, uid, itemId, reason }, 'mail item cannot be read');
}

/** Records a fault, and when the calendar is read again; it stays dirty. */
async function recordFault(
  { work, log }: MailWork,
  { mandatorId, mandator, mailbox, id, failures, readings, dirtyBy, continuation, continuationItems }: Calendar,
  error: unknown,
): Promise<void> {
  const fault = error instanceof ServerFault ? error.fault : 'Unreadable';
  const isLost = !isPassing(error);
  const soFar =
    isLost || continuationItems === 0 ? '' : ` The ${continuationItems} items that were read before are kept.`;
  const text =
    error instanceof ServerFault
      ? `${error.message}${soFar}`
      : 'What the mail server has answered could not be taken over; the log of this service says why.';
  const { retryAt = null, status = null } = error instanceof ServerFault ? error : {};
  const askedMs = retryAt && Math.min(Math.max(retryAt.getTime() - Date.now(), shortestAskedMs), longestAskedMs);
  const restMs = askedMs ?? backOff(failures, pausesAfter[fault] ?? usualPauses);
  // Plus one for the mark below.
  const raised = continuation && JSON.stringify({ ...continuation, marks: continuation.marks + 1 });
  const isOurs = !(error instanceof ServerFault);
  log[isOurs ? 'error' : 'warn'](
    {
      mandator,
      mailbox,
      calendarId: id,
      fault,
      err: isOurs ? (error as Error).stack : text,
      restMs: Math.round(restMs),
    },
    'calendar not read',
  );
  await work.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`
      update mail_calendar set fault = ${fault}, fault_text = ${text.slice(0, 500)}, fault_status = ${status},
        fault_until = ${retryAt}, failures = failures + 1, not_before = ${inMs(restMs)},
        ${isLost ? noContinuation : sql`continuation = case when continuation is not null then ${raised} end`},
        cursor = case when ${fault === 'StateLost'} then null else cursor end
      where mandator_id = ${mandatorId} and id = ${id} and retired_at is null and readings = ${readings}`.execute(trx);
    if (!numAffectedRows) return;
    if (isLost) await forgetSteps(trx, mandatorId, [id]);
    await markCalendars(trx, [id], dirtyBy ?? 'Poll');
  });
}
