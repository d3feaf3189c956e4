/** Books items whose room was occupied, once it is free or held only by unfinished items of lower precedence. */
import { sql } from 'kysely';
import { bookMailItems, lockRooms, occupies } from '../bookings/service.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactWithin } from '../db/lock-timeout.ts';
import { rests } from '../db/resting.ts';
import { isLockTimeout } from '../flow/database-errors.ts';
import { isBeingDeclined, precedenceOf, readStanding, toWish, writeStanding } from './standing.ts';

/** The longest wait for the lock of a room; the next sweep tries again. */
const lockWithinMs = 200;

type WaitingCalendar = { mandatorId: number; calendarId: number; resourceId: number };

/** SQL: whether the row `item` is not over and has no booking because its room is taken. */
export const isWaiting = sql<boolean>`item.state = 'Conflict' and upper(item.occupied) > now()`;
/** SQL: whether there are items in conflict. */
export const hasConflicts = sql<boolean>`exists (select from mail_item as item where ${isWaiting})`;

/** @returns how many items got their bookings */
export async function bookConflicts(db: Database): Promise<number> {
  // A partial index finds the items in conflict; the index of the exclusion constraint finds the bookings in their way.
  const { rows } = await sql<WaitingCalendar>`
    select distinct item.mandator_id as "mandatorId", item.calendar_id as "calendarId", calendar.resource_id as "resourceId"
    from mail_item as item
    join mail_calendar as calendar on calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id
    where ${isWaiting} and calendar.retired_at is null and not ${rests(sql`item.mandator_id`)}
      and not ${isBeingDeclined}
      and not exists (
        select from booking
        left join mail_item as holder on holder.mandator_id = booking.mandator_id and holder.booking_id = booking.id
        where booking.mandator_id = item.mandator_id and booking.resource_id = calendar.resource_id
          and ${occupies} and booking.occupied && item.occupied
          and (holder.id is null or upper(holder.occupied) <= now()
            or ${precedenceOf(sql`holder`)} <= ${precedenceOf(sql`item`)}))`.execute(db);
  let booked = 0;
  const errors: unknown[] = [];
  for (const calendar of rows)
    try {
      booked += await transactWithin(db, lockWithinMs, (trx) => bookWaiting(trx, calendar));
    } catch (error) {
      if (!isLockTimeout(error)) errors.push(error);
    }
  // A failure of one calendar does not stop the others.
  if (errors.length > 0) throw errors[0];
  return booked;
}

async function bookWaiting(trx: Transaction, { mandatorId, calendarId, resourceId }: WaitingCalendar): Promise<number> {
  await lockRooms(trx, mandatorId, [resourceId]);
  const { rows: waiting } = await sql<{ start: Date; end: Date }>`
    select lower(occupied) as start, upper(occupied) as end from mail_item as item
    where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and ${isWaiting}`.execute(trx);
  const standing = await readStanding(trx, { mandatorId, calendarId }, waiting);
  const { outcomes } = await bookMailItems(trx, mandatorId, resourceId, standing.map(toWish));
  await writeStanding(trx, mandatorId, standing, outcomes);
  await sql`select pg_notify('roomgate', 'mail_calendar:' || ${mandatorId}::integer || ':' || ${calendarId}::integer)`.execute(
    trx,
  );
  return outcomes.filter(({ bookingId }, at) => bookingId !== null && standing[at]?.bookingId === null).length;
}
