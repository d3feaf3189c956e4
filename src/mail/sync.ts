/**
 * Reads a calendar and takes over what has changed (specification 6, steps 3 and 4). The mail server is asked outside of any
 * transaction; what it has answered is written in one. Whoever dies in between has changed nothing, and the calendar is
 * still said to have changed: a sweep finds that.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { contain } from '../containment.ts';
import type { Database, Transaction } from '../db/database.ts';
import { isLockTimeout, transactWithin } from '../db/locks.ts';
import { isOutage } from '../errors.ts';
import type { Log } from '../log.ts';
import { markCalendars } from './calendars.ts';
import { type CalendarChanges, type Connector, ServerFault, type Window } from './connectors/connector.ts';
import { openConnector } from './connectors/open.ts';
import { countItems } from './items.ts';
import { mostDeaths, type Work } from './mail.ts';
import { type Calendar, Overtaken, type Reconciled, reconcile } from './reconcile.ts';
import { describeConflict } from './standing.ts';

const day = 86_400_000;
/** Milliseconds that a mail server has for all of a reading. */
const readWithin = 60_000;
const mostItems = 20_000;
/** Milliseconds for which a statement waits for a lock, for which a reading tries to get its room, and until it tries again. */
const lockWithin = 200;
const roomWithin = 5_000;
const roomAgain = 1_000;
/** Readings of this process at a time, in all and of one tenant: a mail server that does not answer must leave room for others. */
const mostAtOnce = 5;
const mostOfTenant = 3;
/** Milliseconds for which a job waits for its turn, and until it comes back then. */
const turnWithin = 500;
const turnAgain = 1_000;
/** Milliseconds after the first fault, doubled at each further one. */
const firstBackOff = 5_000;
const longestBackOff = 30 * 60_000;
/** While it cannot be reached: nobody tells when it is back. */
const longestUnreachable = 5 * 60_000;
/** Of what a mail server may ask for. */
const shortestRest = 1_000;
const longestRest = 24 * 3_600_000;

/** The tenants whose calendars are being read, each as often as that. */
const reading = new WeakMap<Database, number[]>();
/** Milliseconds for which a calendar rests at which too many have died, doubled by each further one. */
const firstRest = 60_000;
const longestDeathRest = 6 * 3_600_000;

/** Where a calendar is being read at which some have died: the next such one waits for its end, to show which of them it was. */
const suspected = new WeakSet<Database>();

/** Another writer was first: what it wrote is seen the next time; deadlock, serialization failure, exclusion violation. */
const retried = new Set(['40P01', '40001', '23P01']);

/** The room is held by others for long, such as by an import. */
class RoomHeld extends Error {}

/**
 * Reads a calendar if somebody says that it has changed and nothing speaks against it. All that goes wrong on the mail
 * server's side is written down at the calendar, which is read again later.
 */
export async function synchroniseCalendar(
  context: Work,
  key: { mandatorId: number; calendarId: number },
): Promise<void> {
  const { work, signal } = context;
  if (!(await takeTurn(work, key.mandatorId)))
    return await putOff(work, key, turnAgain * (0.5 + Math.random()));
  try {
    const calendar = await readCalendar(work, key);
    if (!calendar || calendar.dirtyBy === null || calendar.isHeldBack) return;
    if (await isRoomHeld(work, calendar)) return await putOff(work, key, roomAgain);
    await readNoted(context, calendar);
  } catch (error) {
    if (error instanceof RoomHeld) await putOff(work, key, roomAgain);
    else if (!(error instanceof Overtaken || signal.aborted)) throw error;
  } finally {
    const others = reading.get(work) ?? [];
    others.splice(others.indexOf(key.mandatorId), 1);
  }
}

async function takeTurn(work: Database, mandatorId: number): Promise<boolean> {
  const others = reading.get(work) ?? [];
  reading.set(work, others);
  for (const until = Date.now() + turnWithin; ; await sleep(20)) {
    const own = others.filter((other) => other === mandatorId).length;
    if (others.length < mostAtOnce && own < mostOfTenant) {
      others.push(mandatorId);
      return true;
    }
    if (Date.now() >= until) return false;
  }
}

/** Has a calendar read a little later. */
async function putOff(
  work: Database,
  { mandatorId, calendarId }: { mandatorId: number; calendarId: number },
  milliseconds: number,
): Promise<void> {
  await work.transaction().execute(async (trx) => {
    const { rows } = await sql<{ by: 'Push' | 'Poll' | 'Request' }>`
      update mail_calendar set not_before = greatest(not_before, now() + make_interval(secs => ${milliseconds / 1_000}))
      where mandator_id = ${mandatorId} and id = ${calendarId} and dirty_by is not null
      returning dirty_by as by`.execute(trx);
    for (const { by } of rows) await markCalendars(trx, [calendarId], by);
  });
}

async function readCalendar(
  db: Database,
  { mandatorId, calendarId }: { mandatorId: number; calendarId: number },
): Promise<Calendar | undefined> {
  const { rows } = await sql<Calendar>`
    select calendar.mandator_id as "mandatorId", mandator.code as mandator, mandator.uid as "mandatorUid", calendar.id,
      resource_id as "resourceId", calendar.kind, calendar.mailbox, address, cursor, window_start as "windowStart",
      window_end as "windowEnd",
      dirty_by as "dirtyBy", marks, readings, failures, deaths, reading_since is not null as "isLeft",
      coalesce(not_before > now(), false) as "isHeldBack",
      location.time_zone as "timeZone"
    from mail_calendar as calendar join mandator on mandator.id = calendar.mandator_id
      join resource on (resource.mandator_id, resource.id) = (calendar.mandator_id, calendar.resource_id)
      join location on (location.mandator_id, location.id) = (resource.mandator_id, resource.location_id)
    where calendar.mandator_id = ${mandatorId} and calendar.id = ${calendarId} and retired_at is null`.execute(
    db,
  );
  return rows[0];
}

/** Whether it is in vain to ask the mail server now. */
async function isRoomHeld(db: Database, { mandatorId, resourceId }: Calendar): Promise<boolean> {
  const { rows } = await sql`
    select from resource where mandator_id = ${mandatorId} and id = ${resourceId}
    for no key update skip locked`.execute(db);
  return rows.length === 0;
}

/**
 * Reads it with a note in the database that it is being read. Whoever dies leaves the note: a calendar at which some have died
 * is read alone, and when more have, rests.
 */
async function readNoted(context: Work, calendar: Calendar): Promise<void> {
  const { work } = context;
  const isSuspect = calendar.deaths > 0 || calendar.isLeft;
  if (isSuspect && suspected.has(work)) return await putOff(work, keyOf(calendar), turnAgain);
  if (isSuspect) suspected.add(work);
  try {
    if (!(await note(context, calendar))) return;
    try {
      await readOne(context, calendar);
    } finally {
      await endNote(work, calendar);
    }
  } finally {
    if (isSuspect) suspected.delete(work);
  }
}

const keyOf = ({ mandatorId, id }: Calendar) => ({ mandatorId, calendarId: id });

/** @returns whether it is to be read now, and not after a rest */
async function note({ work, log }: Work, { isLeft, ...calendar }: Calendar): Promise<boolean> {
  const { mandatorId, mandator, mailbox, id, readings } = calendar;
  const deaths = calendar.deaths + Number(isLeft);
  const rests = isLeft && deaths >= mostDeaths;
  const rest = Math.min(firstRest * 2 ** (deaths - mostDeaths), longestDeathRest);
  const text = `The worker has died ${deaths} times in a row while it read this calendar; it is left alone for ${Math.round(rest / 60_000)} minutes.`;
  await work.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`
      update mail_calendar set deaths = ${deaths}, reading_since = case when not ${rests} then now() end,
        not_before = case when ${rests} then now() + make_interval(secs => ${rest / 1_000}) else not_before end,
        fault = case when ${rests} then 'Unreadable' else fault end,
        fault_text = case when ${rests} then ${text} else fault_text end
      where mandator_id = ${mandatorId} and id = ${id} and retired_at is null and readings = ${readings}`.execute(
      trx,
    );
    if (!numAffectedRows) throw new Overtaken();
    if (rests) await markCalendars(trx, [id], calendar.dirtyBy ?? 'Poll');
  });
  if (isLeft)
    log[rests ? 'error' : 'warn'](
      { mandator, mailbox, calendarId: id, deaths, ...(rests && { restMs: rest }) },
      'whoever read this calendar has died',
    );
  return !rests;
}

/** Nobody has died. */
async function endNote(work: Database, { mandatorId, id }: Calendar): Promise<void> {
  await sql`
    update mail_calendar set reading_since = null, deaths = 0
    where mandator_id = ${mandatorId} and id = ${id} and reading_since is not null`.execute(work);
}

async function readOne(context: Work, calendar: Calendar): Promise<void> {
  const { config, log, work, signal } = context;
  const settings = config.MailServer[calendar.mandator];
  // Retired at any moment.
  if (settings?.Kind !== calendar.kind) return;
  const begin = performance.now();
  const connector = openConnector(settings, log);
  const asked = await contain(() => ask(connector, calendar, settings, signal)).catch(
    async (error: unknown) => {
      if (signal.aborted) throw error;
      await recordFault(context, calendar, error);
      return undefined;
    },
  );
  if (!asked) return;
  const { window, changes } = asked;
  const answered = performance.now();
  try {
    const done = await takeOver(work, (trx) => reconcile(trx, calendar, window, changes));
    tell(log, calendar, changes, done, { asked: answered - begin, written: performance.now() - answered });
  } catch (error) {
    if (error instanceof Overtaken || error instanceof RoomHeld || isOutage(error)) throw error;
    await recordFault(context, calendar, error);
  }
}

/** What has changed, or all there is when the mail server has lost the thread. @throws ServerFault */
async function ask(
  connector: Connector,
  calendar: Calendar,
  days: { PastDays: number; FutureDays: number },
  stop: AbortSignal,
): Promise<{ window: Window; changes: CalendarChanges }> {
  const { cursor, windowStart, windowEnd } = calendar;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(readWithin)]);
  const read = async (from: string | null, window: Window) => {
    const changes = await connector.read(calendar, from, window, signal);
    if (countItems(changes.groups) > mostItems)
      throw new ServerFault('TooLarge', `The calendar has more than ${mostItems} items; ask for fewer days.`);
    return { window, changes };
  };
  const now = Date.now();
  const whole = { start: new Date(now - days.PastDays * day), end: new Date(now + days.FutureDays * day) };
  if (cursor === null || !windowStart || !windowEnd) return await read(null, whole);
  try {
    return await read(cursor, { start: windowStart, end: windowEnd });
  } catch (error) {
    if (!(error instanceof ServerFault && error.fault === 'StateLost')) throw error;
    return await read(null, whole);
  }
}

/** Gives way to whoever holds the room, in short steps and not for long. @throws RoomHeld */
async function takeOver<T>(db: Database, write: (trx: Transaction) => Promise<T>): Promise<T> {
  const until = Date.now() + roomWithin;
  for (let isAgain = false; ; ) {
    try {
      return await transactWithin(db, lockWithin, write);
    } catch (error) {
      if (isLockTimeout(error)) {
        if (Date.now() >= until) throw new RoomHeld();
        continue;
      }
      if (isAgain || !retried.has((error as { code?: string }).code ?? '')) throw error;
      isAgain = true;
    }
  }
}

function tell(
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

/** Writes down what went wrong, and when the calendar is read again; it stays said to have changed. */
async function recordFault(
  { work, log }: Work,
  { mandatorId, mandator, mailbox, id, failures, readings, dirtyBy }: Calendar,
  error: unknown,
): Promise<void> {
  const fault = error instanceof ServerFault ? error.fault : 'Unreadable';
  const text =
    error instanceof ServerFault
      ? error.message
      : 'What the mail server has answered could not be taken over; the log of this service says why.';
  const longest = fault === 'Unreachable' ? longestUnreachable : longestBackOff;
  const wait = Math.min(firstBackOff * 2 ** failures, longest) * (0.9 + 0.2 * Math.random());
  const asked = error instanceof ServerFault ? error.retryAt?.getTime() : undefined;
  const rest = Math.min(Math.max((asked ?? Date.now() + wait) - Date.now(), shortestRest), longestRest);
  const isOurs = !(error instanceof ServerFault);
  log[isOurs ? 'error' : 'warn'](
    {
      ...{ mandator, mailbox, calendarId: id },
      fault,
      err: isOurs ? (error as Error).stack : text,
      restMs: Math.round(rest),
    },
    'calendar not read',
  );
  await work.transaction().execute(async (trx) => {
    const { numAffectedRows } = await sql`
      update mail_calendar set fault = ${fault}, fault_text = ${text.slice(0, 500)}, failures = failures + 1,
        not_before = now() + make_interval(secs => ${rest / 1_000}), cursor = case when ${fault === 'StateLost'} then null else cursor end
      where mandator_id = ${mandatorId} and id = ${id} and retired_at is null and readings = ${readings}`.execute(
      trx,
    );
    if (numAffectedRows) await markCalendars(trx, [id], dirtyBy ?? 'Poll');
  });
}
