/** Lists of items without a booking, and of bookings without their item. */
import { sql } from 'kysely';
import { occupies } from '../bookings/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { answerPerParent } from '../db/per-parent.ts';
import { declinesOf, needsDecline } from './decline-rows.ts';

export const cause = ['Changed', 'Refused'] as const;
export const declineStates = ['Waiting', 'Told', 'Nobody', 'Impossible', 'Refused'] as const;

/** What the organizer of a conflict was told by the mail server. */
export type Decline = {
  state: (typeof declineStates)[number];
  /** Since when; null while it waits to be declined. */
  at: Date | null;
  /** Why the organizer was not told, for people. */
  reason: string | null;
};

export type MailConflict = {
  id: number;
  calendarId: number;
  uid: string | null;
  subject: string | null;
  start: Date;
  end: Date;
  reason: string | null;
  /** The organizer as the mail server names them; for private items too, as only Admins see conflicts. */
  organizerName: string | null;
  organizerEmail: string | null;
  /** The booking in the way now; null if the room has become free. */
  bookingId: number | null;
  /** Null if conflicts are not declined in this calendar. */
  decline: Decline | null;
};

export type UnreadableItem = {
  id: number;
  calendarId: number;
  uid: string | null;
  /** The mail server's id. */
  itemId: string;
  reason: string | null;
  since: Date;
};

/** An item that is not in the calendar as it is booked: it was changed there too often, or the mail server refuses it or fails at it. */
export type UnwrittenItem = {
  calendarId: number;
  bookingId: number;
  /** The times of the item in the calendar, or of the one that was to be written. */
  start: Date;
  end: Date;
  cause: (typeof cause)[number];
  reason: string;
  /** When it is tried again. */
  nextTryAt: Date;
};

/** The most entries of each list: for one calendar, and for all of them `together`. */
export const most = { conflicts: 100, unreadable: 100, unwritten: 100, changes: 20, together: 10_000 };

/** Whether the row `row` of mail_writing is of an item that is not in the calendar as it is booked. */
export const isUnwritten = sql<boolean>`row.state in ('Conflict', 'Failed') and row.ends_at > now()`;

/** The calendar of a list. */
export type AskedCalendar = { mandatorId: number; id: number };

export const askedFor = (calendars: readonly AskedCalendar[]) => sql`
  unnest(${calendars.map(({ mandatorId }) => mandatorId)}::integer[], ${calendars.map(({ id }) => id)}::integer[])
    as asked (mandator_id, id)`;

const conflictColumns = sql`item.id::float8 as id, item.calendar_id as "calendarId", item.uid, item.subject,
  lower(item.occupied) as start, upper(item.occupied) as "end", item.organizer_name as "organizerName",
  item.organizer_email as "organizerEmail", (
    select booking.id::float8 from booking
    where booking.mandator_id = calendar.mandator_id and booking.resource_id = calendar.resource_id
      and ${occupies} and booking.occupied && item.occupied
    order by lower(booking.occupied) limit 1) as "bookingId"`;
type Row = Omit<MailConflict, 'decline'> & {
  told: Decline['state'] | null;
  toldAt: Date | null;
  whyNot: string | null;
};
const toConflict = ({ told, toldAt, whyNot, ...conflict }: Row): MailConflict => ({
  ...conflict,
  decline: told && { state: told, at: toldAt, reason: whyNot },
});

/** Lists the conflicts of each calendar that are not over, the earliest first. */
async function listConflicts(db: Database, calendars: readonly AskedCalendar[]): Promise<MailConflict[]> {
  const { rows } = await sql<Row>`
    select ${conflictColumns}, item.reason, decline.at as "toldAt", decline.why as "whyNot",
      coalesce(decline.state, case when ${declinesOf} and ${needsDecline} then 'Waiting' end) as told
    from ${askedFor(calendars)}
    join mail_calendar as calendar using (mandator_id, id)
    join mandator on mandator.id = calendar.mandator_id
    join resource on resource.mandator_id = calendar.mandator_id and resource.id = calendar.resource_id
    cross join lateral (
      select * from mail_item as conflict
      where conflict.mandator_id = calendar.mandator_id and conflict.calendar_id = calendar.id
        and conflict.state = 'Conflict' and upper(conflict.occupied) > now()
      order by lower(conflict.occupied), conflict.id limit ${most.conflicts}
    ) as item
    left join lateral (
      select state, at, case when state <> 'Told' then coalesce(fault, reason) end as why from mail_decline
      where mandator_id = item.mandator_id and item_id = item.id and version = item.content_hash and state <> 'Telling'
    ) as decline on true
    order by item.calendar_id, lower(item.occupied), item.id limit ${most.together}`.execute(db);
  return rows.map(toConflict);
}

/** Whether an item (`item`) that is not over was declined (`decline`) and is gone from the calendar. */
export const isDeclined = sql<boolean>`decline.state = 'Told' and item.state = 'Gone' and upper(item.occupied) > now()`;

/** Lists the items of each calendar that are not over and were declined because the room was taken, the earliest first. */
async function listDeclined(db: Database, calendars: readonly AskedCalendar[]): Promise<MailConflict[]> {
  const { rows } = await sql<Row>`
    select ${conflictColumns}, item.why as reason, 'Told' as told, item.told_at as "toldAt", null as "whyNot"
    from ${askedFor(calendars)}
    join mail_calendar as calendar using (mandator_id, id)
    cross join lateral (
      select item.*, decline.reason as why, decline.at as told_at from mail_decline as decline
      join mail_item as item on item.mandator_id = decline.mandator_id and item.id = decline.item_id
      where decline.mandator_id = calendar.mandator_id and decline.calendar_id = calendar.id and ${isDeclined}
      order by lower(item.occupied), item.id limit ${most.conflicts}
    ) as item
    order by item.calendar_id, lower(item.occupied), item.id limit ${most.together}`.execute(db);
  return rows.map(toConflict);
}

/** Lists the unreadable items of each calendar, the newest first, without their content, as they may be private. */
export async function listUnreadable(db: Database, calendars: readonly AskedCalendar[]): Promise<UnreadableItem[]> {
  const { rows } = await sql<UnreadableItem>`
    select item.id::float8 as id, item.calendar_id as "calendarId", item.uid, item.item_id as "itemId", item.reason,
      item.changed_at as since
    from ${askedFor(calendars)}
    cross join lateral (
      select * from mail_item as unreadable
      where unreadable.mandator_id = asked.mandator_id and unreadable.calendar_id = asked.id
        and unreadable.state = 'Unreadable'
      order by unreadable.changed_at desc, unreadable.id desc limit ${most.unreadable}
    ) as item
    order by item.calendar_id, item.changed_at desc, item.id desc limit ${most.together}`.execute(db);
  return rows;
}

/** Lists the items of each calendar that are not in it as they are booked, the earliest first. */
async function listUnwritten(db: Database, calendars: readonly AskedCalendar[]): Promise<UnwrittenItem[]> {
  const { rows } = await sql<UnwrittenItem>`
    select item.calendar_id as "calendarId", item.booking_id::float8 as "bookingId", item.starts_at as start,
      item.ends_at as "end", case item.state when 'Conflict' then 'Changed' else 'Refused' end as cause, item.reason,
      item.not_before as "nextTryAt"
    from ${askedFor(calendars)}
    cross join lateral (
      select * from mail_writing as row
      where row.mandator_id = asked.mandator_id and row.calendar_id = asked.id and ${isUnwritten}
      order by row.starts_at, row.booking_id limit ${most.unwritten}
    ) as item
    order by item.calendar_id, item.starts_at, item.booking_id limit ${most.together}`.execute(db);
  return rows;
}

type ListOf<Row> = (db: Database, calendars: readonly AskedCalendar[]) => Promise<Row[]>;

/** What `list` finds for one calendar, read for all calendars that are asked about together. */
export function listOfOne<Row extends { calendarId: number }>(list: ListOf<Row>) {
  const read = answerPerParent<Viewer, null, number, Row[]>(async (db, ids, { viewer: { mandatorId } }) => {
    const rows = await list(
      db,
      ids.map((id) => ({ mandatorId, id })),
    );
    return Map.groupBy(rows, ({ calendarId }) => calendarId);
  });
  return async (db: Database, viewer: Viewer, id: number): Promise<Row[]> =>
    (await read(db, { viewer, parent: id, asked: null })) ?? [];
}
export const listConflictsOf = listOfOne(listConflicts);
export const listDeclinedOf = listOfOne(listDeclined);
export const listUnreadableOf = listOfOne(listUnreadable);
export const listUnwrittenOf = listOfOne(listUnwritten);

/** The items that are listed with a calendar. */
export type ListedItems = {
  conflicts: readonly MailConflict[];
  declined: readonly MailConflict[];
  unreadable: readonly UnreadableItem[];
  unwritten: readonly UnwrittenItem[];
};

/** Reads the lists of all these calendars, with one statement for each kind. @returns the lists of a calendar */
export async function listItems(db: Database, calendars: readonly AskedCalendar[]) {
  async function byCalendar<Row extends { calendarId: number }>(list: ListOf<Row>): Promise<(id: number) => Row[]> {
    const rows = Map.groupBy(await list(db, calendars), ({ calendarId }) => calendarId);
    return (id) => rows.get(id) ?? [];
  }
  const [conflicts, declined, unreadable, unwritten] = await Promise.all([
    byCalendar(listConflicts),
    byCalendar(listDeclined),
    byCalendar(listUnreadable),
    byCalendar(listUnwritten),
  ]);
  return ({ id }: AskedCalendar): ListedItems => ({
    conflicts: conflicts(id),
    declined: declined(id),
    unreadable: unreadable(id),
    unwritten: unwritten(id),
  });
}
