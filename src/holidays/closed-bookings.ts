/** Bookings on days that a holiday calendar closes: made before the calendar, or by an Admin. */
import { type RawBuilder, sql } from 'kysely';
import { checkAdmin } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { boundsOf } from '../db/page-query.ts';
import { type List, longIdKey, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { getCalendar } from './calendars.ts';

export type ClosedBooking = {
  bookingId: number;
  resourceId: number;
  resourceName: string;
  subject: string | null;
  start: Date;
  end: Date;
  holiday: string;
};
export const closedBookingList: List<ClosedBooking> = {
  name: 'bookings in holidays',
  key: longIdKey,
  keyOf: ({ bookingId }) => bookingId,
};

/**
 * The future bookings that occupy a resource on a holiday of the calendar, by id. Left out are dates for which the resource or
 * its location has an exception, which takes precedence over holidays. @throws Forbidden, NotFound
 */
export async function listClosedBookings(
  db: Database,
  viewer: Viewer,
  calendarId: number,
  page: PageRequest,
): Promise<Page<ClosedBooking>> {
  checkAdmin(viewer);
  const { locationId } = await getCalendar(db, viewer, calendarId);
  const { rows } = await selectClosed(viewer.mandatorId, { id: calendarId, locationId }, page).execute(db);
  return toPage(closedBookingList, rows, page);
}

/** The time that a holiday closes at a location of this zone. */
const closedTime = (timeZone: string) => sql`tstzrange(
  holiday.from_date::timestamp at time zone ${sql.ref(timeZone)}, (holiday.to_date + 1)::timestamp at time zone ${sql.ref(timeZone)})`;

/**
 * The query for the bookings. Those of each resource are found by the index of its times, whose condition on the status it repeats,
 * once for all holidays (the offset keeps PostgreSQL from another join). Only then they are put in order: the index of ids would lead
 * through all bookings of the tenant.
 */
export function selectClosed(
  mandatorId: number,
  { id, locationId }: { id: number; locationId: number | null },
  page: PageRequest,
): RawBuilder<ClosedBooking> {
  const { above = 0, below, isRising } = boundsOf(page, false);
  const ofCalendar = sql`holiday.mandator_id = ${mandatorId} and holiday.calendar_id = ${id}`;
  return sql<ClosedBooking>`
    with closed as materialized (
      select location.id, location.time_zone, range_agg(${closedTime('location.time_zone')}) as times
      from holiday
      join location on location.mandator_id = holiday.mandator_id
        and (${locationId}::integer is null or location.id = ${locationId})
      where ${ofCalendar} and holiday.to_date >= current_date - 1
      group by location.mandator_id, location.id
    ), found as materialized (
      select booking.id, resource.id as resource_id, resource.name, booking.subject, booking.occupied, closed.time_zone,
        booking.setup_minutes, booking.teardown_minutes
      from closed
      join resource on resource.mandator_id = ${mandatorId} and resource.location_id = closed.id
      cross join lateral (
        select booking.id, subject, occupied, setup_minutes, teardown_minutes from booking
        where booking.mandator_id = ${mandatorId} and booking.resource_id = resource.id
          and booking.status in ('Confirmed', 'Tentative')
          and booking.occupied && closed.times and booking.occupied && tstzrange(now(), null)
        offset 0
      ) as booking
      where booking.id > ${above} ${below === undefined ? sql`` : sql`and booking.id < ${below}`}
        and not exists (
          select from opening_exception as own
          where own.mandator_id = ${mandatorId} and own.location_id = closed.id
            and (own.resource_id is null or own.resource_id = resource.id)
            and (lower(booking.occupied) at time zone closed.time_zone)::date between own.from_date and own.to_date)
    )
    select id as "bookingId", resource_id as "resourceId", name as "resourceName", subject,
      (select holiday.name from holiday
        where ${ofCalendar} and found.occupied && ${closedTime('found.time_zone')}
        order by holiday.from_date, holiday.id limit 1) as holiday,
      lower(occupied) + make_interval(mins => setup_minutes) as start,
      upper(occupied) - make_interval(mins => teardown_minutes) as "end"
    from found order by id ${isRising ? sql`` : sql`desc`} limit ${page.limit + 1}`;
}
