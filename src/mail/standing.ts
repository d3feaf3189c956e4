/** Stored items that compete for their room again because another item was added, changed or removed. */
import { type RawBuilder, sql } from 'kysely';
import type { InTheWay, MailBooking, MailOutcome, MailWish } from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import { organizerOf } from '../mail-servers/service.ts';

export type StandingItem = {
  id: number;
  key: string;
  bookingId: number | null;
  start: Date;
  end: Date;
  isTentative: boolean;
  precedence: 0 | 1 | 2;
  subject: string | null;
  isPrivate: boolean;
  organizerName: string | null;
  organizerEmail: string | null;
  uid: string | null;
};

/** The precedence of the row `item`. Rows older than that column take it from `is_tentative`. */
export const precedenceOf = (item: RawBuilder<unknown>): RawBuilder<0 | 1 | 2> =>
  sql`coalesce(${item}.precedence, ${item}.is_tentative::integer)`;

/** Whether the row `item` is being declined on the mail server: it gets no room until a reading shows that it was not. */
export const isBeingDeclined = sql<boolean>`exists (select from mail_decline as decline
  join mail_calendar as declining on declining.mandator_id = decline.mandator_id and declining.id = decline.calendar_id
  where decline.mandator_id = item.mandator_id and decline.item_id = item.id and decline.version = item.content_hash
    and (decline.state = 'Telling'
      or ((decline.state = 'Told' or decline.may_be_told) and (declining.read_at > decline.at) is not true)))`;

/**
 * Reads the items at some of these times that are booked or in conflict and have not ended.
 * @param except ids of items to leave out
 */
export async function readStanding(
  trx: Transaction,
  { mandatorId, calendarId }: { mandatorId: number; calendarId: number },
  times: readonly { start: Date; end: Date }[],
  except: readonly number[] = [],
): Promise<StandingItem[]> {
  if (times.length === 0) return [];
  const { rows } = await sql<StandingItem>`
    select item.id, group_id || ' ' || occurrence as key, booking_id as "bookingId", lower(occupied) as start,
      upper(occupied) as end, is_tentative as "isTentative", ${precedenceOf(sql`item`)} as precedence, subject,
      is_private as "isPrivate", organizer_name as "organizerName", organizer_email as "organizerEmail", uid
    from mail_item as item
    where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and state in ('Booked', 'Conflict')
      and upper(occupied) > now() and id <> all (${except}::bigint[]) and not (state = 'Conflict' and ${isBeingDeclined})
      and occupied && (select range_agg(tstzrange(start, "end"))
        from jsonb_to_recordset(${JSON.stringify(times)}) as time(start timestamptz, "end" timestamptz))
      and exists (select from mail_calendar as calendar
        where calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id and retired_at is null)`.execute(
    trx,
  );
  return rows;
}

export function toWish({ key, bookingId, ...row }: StandingItem): MailWish {
  return { key, bookingId, booking: toBooking(row) };
}

function toBooking(row: Omit<StandingItem, 'key' | 'bookingId'>): MailBooking {
  const { start, end, isTentative, precedence, subject, isPrivate, uid } = row;
  const organizer = organizerOf(row.organizerName, row.organizerEmail);
  const status = isTentative ? 'Tentative' : 'Confirmed';
  return { start, end, status, precedence, subject, isPrivate, organizer, uid };
}

/** A description for people, without the subject and organizer, as these may be private. */
export function describeConflict({ kind, start, end }: Omit<InTheWay, 'bookingId'>): string {
  const what = { Booking: 'a booking', Lesson: 'a lesson', MailItem: 'another item', Block: 'a block' }[kind];
  return `The room is occupied by ${what} from ${start.toISOString()} to ${end.toISOString()}.`;
}

/** Stores the outcomes that differ from the stored ones. */
export async function writeStanding(
  trx: Transaction,
  mandatorId: number,
  standing: readonly StandingItem[],
  outcomes: readonly MailOutcome[],
): Promise<void> {
  const changed = standing.map(({ id }, at) => {
    const { bookingId, inTheWay } = outcomes[at] as MailOutcome;
    return { id, booking_id: bookingId, reason: inTheWay && describeConflict(inTheWay) };
  });
  if (changed.length === 0) return;
  await sql`
    update mail_item set state = case when new.booking_id is null then 'Conflict' else 'Booked' end,
      booking_id = new.booking_id, reason = new.reason, changed_at = now()
    from jsonb_to_recordset(${JSON.stringify(changed)}) as new(id bigint, booking_id bigint, reason text)
    where mail_item.mandator_id = ${mandatorId} and mail_item.id = new.id
      and (mail_item.booking_id, mail_item.reason) is distinct from (new.booking_id, new.reason)`.execute(trx);
}
