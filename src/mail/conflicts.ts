/** Items whose room was occupied get their bookings as soon as it is free. */
import { sql } from 'kysely';
import { bookMailItems, lockRooms, type MailBooking, type MailOutcome } from '../bookings/service.ts';
import type { Database, Transaction } from '../db/database.ts';
import { isLockTimeout, transactWithin } from '../db/locks.ts';
import { describeConflict } from './reconcile.ts';

/** Milliseconds for which a room is waited for; the next sweep tries again. */
const patience = 200;

type Place = { mandatorId: number; calendarId: number; resourceId: number };

type Row = {
  id: number;
  key: string;
  start: Date;
  end: Date;
  isTentative: boolean;
  subject: string | null;
  isPrivate: boolean;
  organizerName: string | null;
  organizerEmail: string | null;
  uid: string | null;
};

/** @returns how many items got their bookings */
export async function bookConflicts(db: Database): Promise<number> {
  // Item by item: an index of its own holds them, and that of the exclusion constraint what is in their way.
  const { rows } = await sql<Place>`
    select distinct item.mandator_id as "mandatorId", item.calendar_id as "calendarId", calendar.resource_id as "resourceId"
    from mail_item as item
    join mail_calendar as calendar on calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id
    where item.state = 'Conflict' and upper(item.occupied) > now() and calendar.retired_at is null
      and not exists (
        select from booking
        where booking.mandator_id = item.mandator_id and booking.resource_id = calendar.resource_id
          and booking.status in ('Confirmed', 'Tentative') and booking.occupied && item.occupied)`.execute(
    db,
  );
  let booked = 0;
  const errors: unknown[] = [];
  for (const place of rows)
    try {
      booked += await transactWithin(db, patience, (trx) => bookThose(trx, place));
    } catch (error) {
      if (!isLockTimeout(error)) errors.push(error);
    }
  // What is wrong with one stops no other.
  if (errors.length > 0) throw errors[0];
  return booked;
}

async function bookThose(trx: Transaction, { mandatorId, calendarId, resourceId }: Place): Promise<number> {
  await lockRooms(trx, mandatorId, [resourceId]);
  const { rows } = await sql<Row>`
    select item.id, group_id || ' ' || occurrence as key, lower(occupied) as start, upper(occupied) as end,
      is_tentative as "isTentative", subject, is_private as "isPrivate", organizer_name as "organizerName",
      organizer_email as "organizerEmail", uid
    from mail_item as item
    where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and state = 'Conflict' and upper(occupied) > now()
      and exists (select from mail_calendar as calendar
        where calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id and retired_at is null)`.execute(
    trx,
  );
  const wishes = rows.map((row) => ({ key: row.key, bookingId: null, booking: toBooking(row) }));
  const { outcomes } = await bookMailItems(trx, mandatorId, resourceId, wishes);
  const changed = rows.map(({ id }, at) => {
    const { bookingId, inTheWay } = outcomes[at] as MailOutcome;
    return { id, booking_id: bookingId, reason: inTheWay && describeConflict(inTheWay) };
  });
  await sql`
    update mail_item set state = case when new.booking_id is null then 'Conflict' else 'Booked' end,
      booking_id = new.booking_id, reason = new.reason, changed_at = now()
    from jsonb_to_recordset(${JSON.stringify(changed)}) as new(id bigint, booking_id bigint, reason text)
    where mail_item.mandator_id = ${mandatorId} and mail_item.id = new.id
      and (mail_item.booking_id, mail_item.reason) is distinct from (new.booking_id, new.reason)`.execute(
    trx,
  );
  return outcomes.filter(({ bookingId }) => bookingId !== null).length;
}

function toBooking({ start, end, isTentative, subject, isPrivate, uid, ...row }: Row): MailBooking {
  const { organizerName: name, organizerEmail: email } = row;
  const organizer = name === null && email === null ? null : { name, email };
  return { start, end, status: isTentative ? 'Tentative' : 'Confirmed', subject, isPrivate, organizer, uid };
}
