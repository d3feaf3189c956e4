/** Finds items that we have written and that a reading no longer finds as they were written. */
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { inMs } from '../db/pauses.ts';
import {
  boundId,
  type CalendarChanges,
  type ReadingWindow,
  type RemoteGroup,
  type RemoteItem,
  withoutId,
} from '../mail-servers/service.ts';
import { ownOf, reasonOfOurs } from './items.ts';
import type { Calendar, CalendarKey } from './reading.ts';
import { readOthers } from './stored-items.ts';
import { joined, writingOf } from './wanted.ts';
import { isAsWritten, isInDoubt, mostCancelled, originOf, strayRow, type WrittenRow } from './written.ts';
import { columns, save } from './written-rows.ts';

/** Queues the writing of calendars behind jobs that are running: at once, or after some milliseconds. */
export async function queueWriting(db: Transaction, calendarIds: readonly number[], afterMs = 0): Promise<void> {
  await sql`select write_mail_calendars(${calendarIds}::integer[], 'again', ${inMs(afterMs)})`.execute(db);
}

/** The ids by which the items of a group may be known. */
const namesOf = ({ id, items }: RemoteGroup) => [id, ...items.flatMap(({ series }) => series ?? [])];

type OwnItem = Pick<WrittenRow, 'bookingId' | 'generation'> & { groupId: string; item: RemoteItem };

/** The items that have the mark of one of our bookings. */
const listOwn = (groups: readonly RemoteGroup[], mandatorUid: string): OwnItem[] =>
  groups.flatMap(({ id: groupId, items }) =>
    items.flatMap((item) => {
      const mark = ownOf(item, mandatorUid);
      return mark ? [{ ...mark, groupId, item }] : [];
    }),
  );

/**
 * Finds the items that somebody has moved or copied here, with their marks: they are somebody's appointments. Of an item whose
 * booking has no row in this calendar, the first line that fits decides:
 *
 * | The item | is |
 * |---|---|
 * | is of a group that has items here | ours if one of them is, else somebody's |
 * | is in a calendar that is not followed | ours: left from an earlier use of the mailbox, or written after the backup that was restored |
 * | has a booking that is written into another calendar | somebody's, carried here from there |
 * | is to come, and its booking is over | somebody's, carried here from the past, of which rows are forgotten |
 * | is any other | ours |
 */
async function findCarried(
  trx: Transaction,
  { mandatorId, id: calendarId, readWholeAt, isFollowed }: Calendar,
  own: readonly OwnItem[],
): Promise<Set<RemoteItem>> {
  if (own.length === 0) return new Set();
  const sent = own.map(({ bookingId, groupId, item }, at) => {
    return { at, booking: bookingId, group_id: boundId(groupId), coming: item.end.getTime() > Date.now() };
  });
  // Nearly all have a row, so what needs a look at the whole tenant is asked of the others alone.
  const { rows } = await sql<{ at: number }>`
    with strange as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(sent)}) as sent(at integer, booking bigint, group_id text, coming boolean)
      where not exists (select from mail_writing as row where row.mandator_id = ${mandatorId}
        and row.calendar_id = ${calendarId} and row.booking_id = sent.booking))
    select at from strange where coalesce(
      (select bool_and(item.reason is distinct from ${reasonOfOurs}) from mail_item as item
        where item.mandator_id = ${mandatorId} and item.calendar_id = ${calendarId} and item.group_id = strange.group_id
          and item.state <> 'Gone'),
      ${readWholeAt !== null && isFollowed} and (
        strange.booking in (select booking_id from mail_writing
          where mandator_id = ${mandatorId} and booking_id = any (${own.map(({ bookingId }) => bookingId)}::bigint[]))
        or coming and exists (select from booking
          where mandator_id = ${mandatorId} and id = strange.booking and upper(occupied) <= now())))`.execute(trx);
  return new Set(rows.map(({ at }) => own[at]!.item));
}

const unmarked = (item: RemoteItem, mandatorUid: string): RemoteItem => ({
  ...item,
  origin: null,
  uid: ownOf({ origin: null, uid: item.uid }, mandatorUid) ? null : item.uid,
});

type MarkedRow = Pick<WrittenRow, 'bookingId' | 'generation' | 'state' | 'nativeId'>;

/**
 * Marks items as ours by their ids, since some servers do not return our mark in every reading. Removes the mark from copies: an
 * item that somebody's program has copied together with its mark is not ours.
 */
export async function markWritten(
  trx: Transaction,
  calendar: Calendar,
  changes: CalendarChanges,
): Promise<CalendarChanges> {
  const { mandatorId, id: calendarId, mandatorUid } = calendar;
  const items = changes.groups.flatMap((group) => group.items);
  const own = changes.isPublished ? [] : listOwn(changes.groups, mandatorUid);
  const carried = await findCarried(trx, calendar, own);
  const mine = own.filter(({ item }) => !carried.has(item));
  const foreign = changes.groups.filter((group) => group.items.some((item) => ownOf(item, mandatorUid) === null));
  if (foreign.length + own.length === 0) return changes;
  const { rows } = await sql<MarkedRow>`
    select booking_id as "bookingId", generation, state, native_id as "nativeId" from mail_writing
    where mandator_id = ${mandatorId} and calendar_id = ${calendarId}
      and (native_id = any (${foreign.flatMap(namesOf)}::text[])
        or booking_id = any (${mine.map(({ bookingId }) => bookingId)}::bigint[]))`.execute(trx);
  const origins = new Map(rows.map((row) => [row.nativeId, originOf(row, mandatorUid)]));
  // Somebody may have turned an item into a series, whose occurrences are then ours.
  const originAt = (id: string, { series = id }: RemoteItem) => origins.get(id) ?? origins.get(series);
  const elsewhere = mine.filter(({ item }) => originAt(item.id, item) === undefined);
  const known = await readOthers(
    trx,
    { mandatorId, calendarId },
    elsewhere.map(({ item }) => item.id),
  );
  const [gone, seen] = [new Set(changes.removed), new Set(items.map(({ id }) => id))];
  // An event without an id may be any that is missing.
  const isComplete = changes.whole && !changes.groups.some(({ id }) => id === withoutId.id);
  const stands = (id: string) => !gone.has(id) && (!isComplete || seen.has(id));
  const originals = new Map(
    rows.flatMap((row) => {
      const stillStands = row.nativeId !== null && !isInDoubt(row) && stands(row.nativeId);
      return stillStands ? [[row.bookingId, row.generation]] : [];
    }),
  );
  // A calendar of iCalendar holds each UID once, so an item with our mark as its UID is no copy: it has been moved within it.
  const isCopy = ({ bookingId, generation, item: { origin } }: OwnItem) =>
    originals.get(bookingId) === generation && ownOf({ origin, uid: null }, mandatorUid) !== null;
  const copies = elsewhere.filter((one) => known.has(one.item.id) || isCopy(one)).map(({ item }) => item);
  const others = new Set([...carried, ...copies]);
  const groups = changes.groups.map((group) => {
    const items = group.items.map((item) => {
      const origin = originAt(group.id, item);
      if (origin === undefined) return others.has(item) ? unmarked(item, mandatorUid) : item;
      return origin === item.origin ? item : { ...item, origin };
    });
    return { ...group, items };
  });
  return { ...changes, groups };
}

/** Stores rows for items that we have written but that are unknown here; they are removed unless their booking needs them. */
async function takeUpStrays(trx: Transaction, key: CalendarKey, own: readonly OwnItem[]): Promise<void> {
  const coming = own.filter(
    ({ item }) => !item.isCancelled && item.occurrence === '' && item.end.getTime() > Date.now(),
  );
  const marked = new Map(coming.map((one) => [one.bookingId, one]));
  if (marked.size === 0) return;
  const { rows } = await sql<{ bookingId: number }>`
    select booking_id as "bookingId" from ${joined} cross join unnest(${[...marked.keys()]}::bigint[]) as booking_id
    where calendar.mandator_id = ${key.mandatorId} and calendar.id = ${key.calendarId} and ${writingOf} <> 'Off'
      and not exists (select from mail_writing as row where row.mandator_id = calendar.mandator_id
        and row.calendar_id = calendar.id and row.booking_id = booking_id.booking_id)`.execute(trx);
  if (rows.length === 0) return;
  const strays = rows.flatMap(({ bookingId }) => {
    const one = marked.get(bookingId);
    return one ? strayRow({ bookingId, generation: one.generation }, one.item) : [];
  });
  await save(trx, key, strays);
  await queueWriting(trx, [key.calendarId]);
}

/** Marks items as Doubtful that a reading has not found as they were written: they are looked up before anything is decided. */
export async function doubtWritten(
  trx: Transaction,
  { mandatorId, id: calendarId, mandatorUid, address: before }: Calendar,
  window: ReadingWindow,
  { whole, groups, removed, unchanged: standing = [], isPublished = false, address }: CalendarChanges,
): Promise<void> {
  const items = groups.flatMap((group) => group.items);
  const own = listOwn(groups, mandatorUid);
  if (!isPublished) await takeUpStrays(trx, { mandatorId, calendarId }, own);
  const touched = [...removed, ...groups.map(({ id }) => id)];
  const { rows } = await sql<WrittenRow>`
    select ${columns} from mail_writing
    where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and state in ('Written', 'Absent') and ends_at > now()
      and (${whole} or not told or native_id = any (${touched}::text[])
        or booking_id = any (${own.map(({ bookingId }) => bookingId)}::bigint[]))
    for no key update`.execute(trx);
  if (rows.length === 0) return;
  const named = Map.groupBy(own, ({ bookingId, generation }) => `${bookingId} ${generation}`);
  const gone = new Set(touched);
  const unchanged = new Set(standing);
  const seen = new Set([...groups, ...items].map(({ id }) => id));
  const doubted: number[] = [];
  const missing: number[] = [];
  const renewed: { id: number; key: string | null }[] = [];
  for (const row of rows) {
    const { bookingId, generation, nativeId } = row;
    // Further items with the same mark are copies.
    const copies = named.get(`${bookingId} ${generation}`) ?? [];
    const own =
      copies.find(({ item: { id } }) => id === nativeId) ?? copies.find(({ item: { series } }) => series === nativeId);
    // A reading that returns only changes says nothing about an item when it returns a copy of it.
    const item = (own ?? (whole || nativeId === null ? copies[0] : undefined))?.item;
    const isLostThere = row.lostGenerations.some((lost) => named.has(`${bookingId} ${lost}`));
    if (isLostThere) {
      doubted.push(bookingId);
      continue;
    }
    // The item is there after all: a write that was given up has arrived late.
    if (row.state === 'Absent') {
      if (item && !item.isCancelled) doubted.push(bookingId);
      continue;
    }
    // An item with another id is looked up, so that later writes go to its new place.
    if (item ? item.id === nativeId && isAsWritten(row, item) : unchanged.has(nativeId ?? '')) {
      const key = item?.changeKey ?? row.changeKey;
      if (!row.told || key !== row.changeKey) renewed.push({ id: bookingId, key });
      continue;
    }
    // An item that was created since the last reading must be in this one, if it still exists.
    const isExpected = (whole || !row.told) && row.start < window.end && row.end > window.start;
    const isAbsent = isExpected && !seen.has(nativeId ?? '');
    if (item) doubted.push(bookingId);
    else if (gone.has(nativeId ?? '') || isAbsent) missing.push(bookingId);
  }
  const ofCalendar = sql`mail_writing.mandator_id = ${mandatorId} and calendar_id = ${calendarId}`;
  if (renewed.length > 0)
    await sql`
      update mail_writing set change_key = new.key, told = true
      from jsonb_to_recordset(${JSON.stringify(renewed)}) as new(id bigint, key text)
      where ${ofCalendar} and booking_id = new.id`.execute(trx);
  const all = [...doubted, ...missing];
  if (all.length === 0) return;
  // Overruled items are put back, even if their bookings may follow changes of the item: nobody has deleted them one by one.
  const isElsewhere = before !== null && before !== address;
  const overruled = isElsewhere || missing.length > mostCancelled ? missing : [];
  await sql`
    update mail_writing set state = case when booking_id = any (${overruled}::bigint[]) then 'Overruled' else 'Doubtful' end
    where ${ofCalendar} and booking_id = any (${all}::bigint[])`.execute(trx);
  await queueWriting(trx, [calendarId]);
}
