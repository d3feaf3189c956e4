/**
 * Takes a reading over: items, bookings and the cursor in one transaction, under the lock of the room. Whoever has been
 * faster since the reading began makes it worthless.
 */
import { sql } from 'kysely';
import {
  bookMailItems,
  type InTheWay,
  lockRooms,
  type MailOutcome,
  type MailWish,
  type Room,
} from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import { attemptSoon, endOthersWaits } from './attempts.ts';
import type { CalendarChanges, Window } from './connectors/connector.ts';
import { type Item, type Taken, takeOver } from './items.ts';
import { type Calendar, forgetSteps, isUnchanged, noContinuation, Overtaken } from './reading.ts';
import { describeConflict, readStanding, toWish, writeStanding } from './standing.ts';
import { doubtSubscription } from './subscriptions.ts';

/** An item as it was found last. */
type Stored = {
  id: number;
  groupId: string;
  occurrence: string;
  itemId: string;
  hash: Buffer;
  state: 'Booked' | 'Conflict' | 'PassedOver' | 'Unreadable' | 'Gone';
  bookingId: number | null;
  start: Date | null;
  end: Date | null;
  hasEnded: boolean;
  /** Whether its booking still occupies the room. */
  isBooked: boolean;
};

/** What is to happen to an item; `item` is null where it is not there any more. */
type Step = { stored: Stored | undefined; item: Item | null };

export type Reconciled = {
  /** Bookings that were made, changed or cancelled. */
  changes: number;
  /** Items that got no place. */
  conflicts: { start: Date; inTheWay: InTheWay }[];
  /** Items that cannot be read any more, or for another reason than before. */
  unreadable: Item[];
};

/**
 * @param window that was read
 * @throws Overtaken, with nothing written
 */
export async function reconcile(
  trx: Transaction,
  calendar: Calendar,
  window: Window,
  changes: CalendarChanges,
): Promise<Reconciled> {
  const { mandatorId, resourceId, mandatorUid } = calendar;
  const [room] = (await lockRooms(trx, mandatorId, [resourceId])) as [Room];
  await checkFence(trx, calendar);
  const taken = takeOver(changes, { window, timeZone: room.timeZone, mandatorUid });
  const stored = await readStored(trx, calendar, changes.whole ? null : taken);
  const steps = planSteps(stored, taken, window, changes.whole);
  const done = await carryOut(trx, calendar, steps);
  await doubtPush(trx, calendar, steps);
  if (changes.whole) await forgetOld(trx, calendar, window);
  await writeCalendar(trx, calendar, window, changes, done.changes);
  return done;
}

async function checkFence(trx: Transaction, calendar: Calendar): Promise<void> {
  const { rows } = await sql`select from mail_calendar where ${isUnchanged(calendar)}`.execute(trx);
  if (rows.length === 0) throw new Overtaken();
}

/** @param of null: all items of the calendar */
async function readStored(
  trx: Transaction,
  { mandatorId, id }: Calendar,
  of: Taken | null,
): Promise<Stored[]> {
  const ids = of && [...of.groupIds, ...of.removed];
  if (ids?.length === 0) return [];
  const which = ids
    ? sql`and (item.group_id = any (${ids}) or item.item_id = any (${[...(of?.removed ?? [])]}))`
    : sql``;
  const { rows } = await sql<Stored>`
    select item.id, item.group_id as "groupId", item.occurrence, item.item_id as "itemId", item.content_hash as hash,
      item.state, item.booking_id as "bookingId", lower(item.occupied) as start, upper(item.occupied) as end,
      coalesce(upper(item.occupied) <= now(), false) as "hasEnded",
      coalesce(booking.status in ('Confirmed', 'Tentative'), false) as "isBooked"
    from mail_item as item
    left join booking on booking.mandator_id = item.mandator_id and booking.id = item.booking_id
    where item.mandator_id = ${mandatorId} and item.calendar_id = ${id} ${which}`.execute(trx);
  return rows;
}

const keyOf = ({ groupId, occurrence }: { groupId: string; occurrence: string }) =>
  JSON.stringify([groupId, occurrence]);

/** What has changed. What is not there any more is gone, unless it has ended or lies outside of what was read. */
function planSteps(stored: readonly Stored[], taken: Taken, window: Window, isWhole: boolean): Step[] {
  const before = new Map(stored.map((one) => [keyOf(one), one]));
  const steps: Step[] = [];
  for (const item of taken.items) {
    const old = before.get(keyOf(item));
    before.delete(keyOf(item));
    const isKnown = old ? isSettled(old) && old.hash.equals(item.hash) : item.state === 'Gone';
    if (!isKnown) steps.push({ stored: old, item });
  }
  const isWithin = ({ start, end }: Stored) => !start || !end || (start < window.end && end > window.start);
  const isAbsent = (one: Stored) => {
    if (taken.removed.has(one.groupId) || taken.removed.has(one.itemId)) return true;
    const isRead = isWhole || taken.groupIds.has(one.groupId);
    return isRead && !taken.unreadable.has(one.groupId) && isWithin(one);
  };
  for (const old of before.values())
    if (old.state !== 'Gone' && !old.hasEnded && isAbsent(old)) steps.push({ stored: old, item: null });
  return steps;
}

/** A booking that only we may cancel is there; whatever has happened to it, its item gets one again. */
const isSettled = ({ state, isBooked, hasEnded }: Stored) => state !== 'Booked' || isBooked || hasEnded;

async function carryOut(trx: Transaction, calendar: Calendar, steps: readonly Step[]): Promise<Reconciled> {
  const wishes = steps.map(({ stored, item }): MailWish => {
    const booking = item?.booking ?? null;
    const isHistory = booking === null && stored?.hasEnded === true;
    const bookingId = stored?.isBooked && !isHistory ? stored.bookingId : null;
    return { key: keyOf(item ?? (stored as Stored)), bookingId, booking };
  });
  const { mandatorId, resourceId, id: calendarId } = calendar;
  // What has not changed itself may have to give way, or get what another one comes after now.
  const times = wishes.flatMap(({ booking }) => booking ?? []).map(({ start, end }) => ({ start, end }));
  const own = steps.flatMap(({ stored }) => stored?.id ?? []);
  const standing = await readStanding(trx, { mandatorId, calendarId }, times, own);
  const all = [...wishes, ...standing.map(toWish)];
  const { outcomes, changes } = await bookMailItems(trx, mandatorId, resourceId, all);
  await writeStanding(trx, mandatorId, standing, outcomes.slice(wishes.length));
  const done = steps.map((step, at) => ({ ...step, outcome: outcomes[at] as MailOutcome }));
  await writeItems(trx, calendar, done);
  const conflicts = done.flatMap(({ item, outcome: { inTheWay } }) =>
    inTheWay && item?.start ? [{ start: item.start, inTheWay }] : [],
  );
  const unreadable = done.flatMap(({ item }) => (item?.state === 'Unreadable' ? item : []));
  return { changes, conflicts, unreadable };
}

async function writeItems(
  trx: Transaction,
  { mandatorId, id }: Calendar,
  done: readonly (Step & { outcome: MailOutcome })[],
): Promise<void> {
  const gone = done.flatMap(({ stored, item }) => (item ? [] : (stored as Stored).id));
  if (gone.length > 0)
    await sql`
      update mail_item set state = 'Gone', booking_id = null, reason = null, content_hash = '', changed_at = now()
      where mandator_id = ${mandatorId} and id = any (${gone}::bigint[])`.execute(trx);
  const rows = done.flatMap(({ item, outcome: { bookingId, inTheWay } }) =>
    item
      ? {
          ...{ group_id: item.groupId, occurrence: item.occurrence, item_id: item.itemId, uid: item.uid },
          ...{ hash: item.hash.toString('hex'), booking_id: bookingId },
          state: item.state ?? (inTheWay ? 'Conflict' : 'Booked'),
          ...{ subject: item.subject, is_private: item.isPrivate, is_tentative: item.isTentative },
          precedence: item.precedence,
          ...{ name: item.organizer?.name ?? null, email: item.organizer?.email ?? null },
          ...{ start: item.start, end: item.end },
          reason: inTheWay ? describeConflict(inTheWay) : item.reason,
        }
      : [],
  );
  if (rows.length === 0) return;
  await sql`
    insert into mail_item as item (mandator_id, calendar_id, group_id, occurrence, item_id, uid, content_hash, state, booking_id,
      subject, is_private, is_tentative, precedence, organizer_name, organizer_email, occupied, reason)
    select ${mandatorId}, ${id}, group_id, occurrence, item_id, uid, decode(hash, 'hex'), state, booking_id, subject,
      is_private, is_tentative, precedence, name, email, case when start is not null then tstzrange(start, "end") end, reason
    from jsonb_to_recordset(${JSON.stringify(rows)}) as sent(group_id text, occurrence text, item_id text, uid text,
      hash text, state text, booking_id bigint, subject text, is_private boolean, is_tentative boolean, precedence smallint,
      name text, email text, start timestamptz, "end" timestamptz, reason text)
    on conflict on constraint mail_item_occurrence do update set item_id = excluded.item_id, uid = excluded.uid,
      content_hash = excluded.content_hash, state = excluded.state, booking_id = excluded.booking_id,
      subject = excluded.subject, is_private = excluded.is_private, is_tentative = excluded.is_tentative,
      precedence = excluded.precedence,      organizer_name = excluded.organizer_name, organizer_email = excluded.organizer_email, occupied = excluded.occupied,
      reason = excluded.reason,
      changed_at = case when item.state = 'Unreadable' and excluded.state = 'Unreadable' then item.changed_at else now() end`.execute(
    trx,
  );
}

/** For how long what has been is still known; its booking stays. */
const rememberedDays = 30;

async function forgetOld(trx: Transaction, { mandatorId, id }: Calendar, { start }: Window): Promise<void> {
  await sql`
    delete from mail_item where mandator_id = ${mandatorId} and calendar_id = ${id}
      and (upper(occupied) < ${start}::timestamptz - make_interval(days => ${rememberedDays})
        or (state = 'Gone' and changed_at < now() - make_interval(days => ${rememberedDays})))`.execute(trx);
}

/** What is found so long after it has changed there should have been pushed. */
const pushIsLate = 5 * 60_000;

/** A subscription that was Active while something changed, of which nobody has told us, may be dead. */
async function doubtPush(
  trx: Transaction,
  { mandatorId, id, cursor, dirtyBy }: Calendar,
  steps: readonly Step[],
): Promise<void> {
  if (dirtyBy !== 'Poll' || cursor === null) return;
  const times = steps.flatMap(({ item }) => item?.changedAt?.getTime() ?? []);
  const late = times.filter((time) => time < Date.now() - pushIsLate);
  if (late.length === 0) return;
  await doubtSubscription(trx, mandatorId, id, new Date(Math.max(...late)));
}

/** What was said to have changed meanwhile is read again: whoever said so has queued that, or a sweep does. */
async function writeCalendar(
  trx: Transaction,
  calendar: Calendar,
  window: Window,
  { whole, cursor, address }: CalendarChanges,
  found: number,
): Promise<void> {
  const { marks, dirtyBy, mandatorId, id, failures } = calendar;
  const faultBefore = sql`(select fault from mail_calendar where mandator_id = ${mandatorId} and id = ${id})`;
  if (failures > 0) await endOthersWaits(trx, mandatorId, id, faultBefore);
  const { numAffectedRows } = await sql`
    update mail_calendar set cursor = ${cursor}, address = ${address}, window_start = ${window.start},
      window_end = ${window.end}, ${noContinuation}, read_at = now(), read_whole_at = case when ${whole} then now() else read_whole_at end,
      readings = readings + 1, failures = 0, fault = null, fault_text = null, not_before = null,
      found_by_push = found_by_push + ${dirtyBy === 'Push' ? found : 0},
      found_by_poll = found_by_poll + ${dirtyBy === 'Poll' ? found : 0},
      dirty_since = case when marks > ${marks} then now() end,
      dirty_by = case when marks > ${marks} then dirty_by end
    where ${isUnchanged(calendar)}`.execute(trx);
  if (!numAffectedRows) throw new Overtaken();
  await forgetSteps(trx, mandatorId, [id]);
  if (failures > 0) await attemptSoon(trx, mandatorId, [id]);
}
