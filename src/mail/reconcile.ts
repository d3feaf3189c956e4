/**
 * Writes a reading: items, bookings and the cursor in one transaction, under the lock of the room. A reading that another one
 * has overtaken is dropped.
 */
import { sql } from 'kysely';
import {
  type BookableRoom,
  bookMailItems,
  type InTheWay,
  lockRooms,
  type MailOutcome,
  type MailWish,
} from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import { type CalendarChanges, type ReadingWindow, withoutId } from '../mail-servers/service.ts';
import { attemptSoon, doubtSubscription, endOthersWaits } from '../mail-subscriptions/service.ts';
import { minute } from '../time/durations.ts';
import { doubtWritten, markWritten } from './doubts.ts';
import { isWithin, type MailItem, readItems, type TakenReading } from './items.ts';
import { believe } from './published.ts';
import { type Calendar, forgetSteps, isUnchanged, noContinuation, noFault, Overtaken } from './reading.ts';
import { readStanding, toWish, writeStanding } from './standing.ts';
import { forgetOld, type ItemStep, readStored, type StoredItem, writeItems } from './stored-items.ts';

export type Reconciled = {
  /** Bookings that were made, changed or cancelled. */
  changes: number;
  /** Items that were not booked, as their room is occupied. */
  conflicts: { start: Date; inTheWay: InTheWay }[];
  /** Items that have become unreadable, or are unreadable for another reason than before. */
  unreadable: MailItem[];
};

/**
 * @param window that was read
 * @throws Overtaken, with nothing written
 */
export async function reconcile(
  trx: Transaction,
  calendar: Calendar,
  window: ReadingWindow,
  read: CalendarChanges,
): Promise<Reconciled> {
  const { mandatorId, resourceId, mandatorUid } = calendar;
  const [room] = (await lockRooms(trx, mandatorId, [resourceId])) as [BookableRoom];
  await checkFence(trx, calendar);
  const changes = await markWritten(trx, calendar, read);
  const { isPublished = false } = changes;
  const taken = readItems(changes, { window, timeZone: room.timeZone, mandatorUid, isPublished });
  const stored = await readStored(trx, calendar, changes.whole ? null : taken);
  const planned = planSteps(stored, taken, window, changes.whole);
  const { steps, missing } = isPublished
    ? believe(planned, stored, changes.whole, calendar)
    : { steps: planned, missing: [] };
  const done = await carryOut(trx, calendar, steps);
  await doubtWritten(trx, calendar, window, changes);
  await doubtPush(trx, calendar, steps);
  if (changes.whole) await forgetOld(trx, calendar, window);
  await storeReading(trx, calendar, window, { ...changes, missing, found: done.changes });
  return done;
}

async function checkFence(trx: Transaction, calendar: Calendar): Promise<void> {
  const { rows } = await sql`select from mail_calendar where ${isUnchanged(calendar)}`.execute(trx);
  if (rows.length === 0) throw new Overtaken();
}

const keyOf = ({ groupId, occurrence }: { groupId: string; occurrence: string }) =>
  JSON.stringify([groupId, occurrence]);

/** The changed items. A stored item that was not found is gone, unless it has ended or lies outside of the window that was read. */
function planSteps(
  stored: readonly StoredItem[],
  taken: TakenReading,
  window: ReadingWindow,
  isWhole: boolean,
): ItemStep[] {
  const before = new Map(stored.map((one) => [keyOf(one), one]));
  const steps: ItemStep[] = [];
  for (const item of taken.items) {
    const old = before.get(keyOf(item));
    before.delete(keyOf(item));
    const isKnown = old ? isSettled(old) && old.hash.equals(item.hash) : item.state === 'Gone';
    if (!isKnown) steps.push({ stored: old, item });
  }
  const isAbsent = (one: StoredItem) => {
    if (taken.removed.has(one.groupId) || taken.removed.has(one.itemId)) return true;
    // An event without an id may be any that is missing.
    const isRead = (isWhole && !taken.unreadable.has(withoutId.id)) || taken.groupIds.has(one.groupId);
    return isRead && !taken.unreadable.has(one.groupId) && isWithin(one, window);
  };
  for (const old of before.values())
    if (old.state !== 'Gone' && !old.hasEnded && isAbsent(old)) steps.push({ stored: old, item: null });
  return steps;
}

/** Whether a stored item has the booking that it should have. If that was cancelled here, it gets another: the mail server decides. */
const isSettled = ({ state, isBooked, hasEnded }: StoredItem) => state !== 'Booked' || isBooked || hasEnded;

/** Whether a stored item is of a former mailbox: its booking has begun, and stays if the present mailbox lacks it. */
const isReleased = (stored: StoredItem | undefined) => stored?.hash.length === 0;

async function carryOut(trx: Transaction, calendar: Calendar, steps: readonly ItemStep[]): Promise<Reconciled> {
  const wishes = steps.map(({ stored, item }): MailWish => {
    const booking = item?.booking ?? null;
    const isHistory = booking === null && (stored?.hasEnded === true || (item === null && isReleased(stored)));
    const bookingId = stored?.isBooked && !isHistory ? stored.bookingId : null;
    return { key: keyOf(item ?? (stored as StoredItem)), bookingId, booking };
  });
  const { mandatorId, resourceId, id: calendarId } = calendar;
  // Unchanged items at the same times may lose their room to a changed item, or get the room that it leaves.
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

/** The age of a change at which its push is overdue. */
const pushIsLateMs = 5 * minute;

/** Doubts the subscription that was Active at a change which a poll has found and no push has reported. */
async function doubtPush(
  trx: Transaction,
  { mandatorId, id, cursor, dirtyBy }: Calendar,
  steps: readonly ItemStep[],
): Promise<void> {
  if (dirtyBy !== 'Poll' || cursor === null) return;
  const times = steps.flatMap(({ item }) => item?.changedAt?.getTime() ?? []);
  const late = times.filter((time) => time < Date.now() - pushIsLateMs);
  if (late.length === 0) return;
  await doubtSubscription(trx, mandatorId, id, new Date(Math.max(...late)));
}

/** Records the end of the reading. A calendar that was marked meanwhile stays dirty, so a sweep queues its next reading at the latest. */
async function storeReading(
  trx: Transaction,
  calendar: Calendar,
  window: ReadingWindow,
  { whole, cursor, address, pollMinutes, missing, found }: CalendarChanges & { missing: number[]; found: number },
): Promise<void> {
  const { marks, dirtyBy, mandatorId, id, failures, fault } = calendar;
  // The next reading decides about missing items, so it must read the whole calendar even if nothing has changed.
  const next = missing.length > 0 ? null : cursor;
  await endOthersWaits(trx, mandatorId, id, failures > 0 ? fault : null);
  const { numAffectedRows } = await sql`
    update mail_calendar set cursor = ${next}, address = ${address}, window_start = ${window.start},
      window_end = ${window.end}, ${noContinuation}, read_at = now(), read_whole_at = case when ${whole} then now() else read_whole_at end,
      readings = readings + 1, failures = 0, ${noFault}, not_before = null, poll_minutes = ${pollMinutes ?? null},
      missing_items = ${missing}::bigint[],
      found_by_push = found_by_push + ${dirtyBy === 'Push' ? found : 0},
      found_by_poll = found_by_poll + ${dirtyBy === 'Poll' ? found : 0},
      dirty_since = case when marks > ${marks} then now() end,
      dirty_by = case when marks > ${marks} then dirty_by end
    where ${isUnchanged(calendar)}`.execute(trx);
  if (!numAffectedRows) throw new Overtaken();
  await forgetSteps(trx, mandatorId, [id]);
  if (failures > 0) await attemptSoon(trx, mandatorId, [id]);
}
