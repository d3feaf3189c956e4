/** The stored items of a calendar, as the last readings found them. */
import { sql } from 'kysely';
import { isOrganizer, type MailOutcome, type OrganizerNames, occupies } from '../bookings/service.ts';
import type { Database, Transaction } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { boundId, type ReadingWindow } from '../mail-servers/service.ts';
import { type MailItem, reasonOfOurs, type TakenReading } from './items.ts';
import type { Calendar, CalendarKey } from './reading.ts';
import { describeConflict } from './standing.ts';

export type StoredItem = {
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

/** @param of null: all items of the calendar */
export async function readStored(
  trx: Transaction,
  { mandatorId, id }: Calendar,
  of: TakenReading | null,
): Promise<StoredItem[]> {
  const ids = of && [...of.groupIds, ...of.removed];
  if (ids?.length === 0) return [];
  const which = ids
    ? sql`and (item.group_id = any (${ids}) or item.item_id = any (${[...(of?.removed ?? [])]}))`
    : sql``;
  const { rows } = await sql<StoredItem>`
    select item.id, item.group_id as "groupId", item.occurrence, item.item_id as "itemId", item.content_hash as hash,
      item.state, item.booking_id as "bookingId", lower(item.occupied) as start, upper(item.occupied) as end,
      coalesce(upper(item.occupied) <= now(), false) as "hasEnded",
      coalesce(${occupies}, false) as "isBooked"
    from mail_item as item
    left join booking on booking.mandator_id = item.mandator_id and booking.id = item.booking_id
    where item.mandator_id = ${mandatorId} and item.calendar_id = ${id} ${which}`.execute(trx);
  return rows;
}

/** Which of these ids belong to items that others have made: booked, in conflict, or passed over. */
export async function readOthers(
  db: Database,
  { mandatorId, calendarId }: CalendarKey,
  ids: readonly string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const bound = new Map(ids.map((id) => [boundId(id), id]));
  const { rows } = await sql<{ id: string }>`
    select item_id as id from mail_item
    where mandator_id = ${mandatorId} and calendar_id = ${calendarId}
      and (state in ('Booked', 'Conflict') or (state = 'PassedOver' and reason is distinct from ${reasonOfOurs}))
      and item_id = any (${[...bound.keys()]}::text[])`.execute(db);
  return new Set(rows.map(({ id }) => bound.get(id) as string));
}

/** A changed item; `item` is null where it is gone from the mail server. */
export type ItemStep = { stored: StoredItem | undefined; item: MailItem | null };

/** What is set of an item that is gone. */
export const asGone = sql`state = 'Gone', booking_id = null, reason = null, content_hash = '', changed_at = now()`;

/** The outcome of a changed item; `item` is null where it is gone from the mail server. */
type Done = ItemStep & { outcome: MailOutcome };

export async function writeItems(trx: Transaction, { mandatorId, id }: Calendar, done: readonly Done[]): Promise<void> {
  const gone = done.flatMap(({ stored, item }) => (item ? [] : (stored as StoredItem).id));
  if (gone.length > 0)
    await sql`
      update mail_item set ${asGone}
      where mandator_id = ${mandatorId} and id = any (${gone}::bigint[])`.execute(trx);
  const rows = done.flatMap(({ item, outcome: { bookingId, inTheWay } }) =>
    item
      ? {
          group_id: item.groupId,
          occurrence: item.occurrence,
          item_id: item.itemId,
          uid: item.uid,
          hash: item.hash.toString('hex'),
          booking_id: bookingId,
          state: item.state ?? (inTheWay ? 'Conflict' : 'Booked'),
          subject: item.subject,
          is_private: item.isPrivate,
          is_tentative: item.isTentative,
          precedence: item.precedence,
          name: item.organizer?.name ?? null,
          email: item.organizer?.email ?? null,
          start: item.start,
          end: item.end,
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
      precedence = excluded.precedence, organizer_name = excluded.organizer_name, organizer_email = excluded.organizer_email,
      occupied = excluded.occupied, reason = excluded.reason,
      changed_at = case when item.state = 'Unreadable' and excluded.state = 'Unreadable' then item.changed_at else now() end`.execute(
    trx,
  );
}

/** Days after which an item that has ended is deleted here; its booking stays. */
const rememberedDays = 30;

export async function forgetOld(
  trx: Transaction,
  { mandatorId, id }: Calendar,
  { start }: ReadingWindow,
): Promise<void> {
  await sql`
    delete from mail_item where mandator_id = ${mandatorId} and calendar_id = ${id}
      and (upper(occupied) < ${start}::timestamptz - make_interval(days => ${rememberedDays})
        or (state = 'Gone' and changed_at < ${daysAgo(rememberedDays)}))`.execute(trx);
}

/**
 * Erases the organizer of all items that this person organizes. If an item changes on the mail server, it is stored again.
 * @returns how many
 */
export async function forgetMailOrganizer(
  trx: Transaction,
  mandatorId: number,
  organizer: OrganizerNames,
): Promise<number> {
  const { numAffectedRows } = await sql`update mail_item set organizer_name = null, organizer_email = null
    where mandator_id = ${mandatorId} and ${isOrganizer(organizer)}`.execute(trx);
  return Number(numAffectedRows);
}
