/** Bookings on days that a holiday calendar closes: made before the calendar, or by an Admin. */
import { type RawBuilder, sql } from 'kysely';
import { checkAdmin } from '../access.ts';
import { occupies } from '../bookings/service.ts';
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
  const { rows } = await selectClosed(viewer, { id: calendarId, locationId }, page).execute(db);
  return toPage(closedBookingList, rows, page);
}

/** The query for the bookings, by the index of the times of each resource. */
export function selectClosed(
  { mandatorId }: Viewer,
  { id, locationId }: { id: number; locationId: number | null },
  page: PageRequest,
): RawBuilder<ClosedBooking> {
  const { above = 0, below, isRising } = boundsOf(page, false);
  return sql<ClosedBooking>`
    select distinct on (booking.id) booking.id as "bookingId", resource.id as "resourceId",
      resource.name as "resourceName", booking.subject, holiday.name as holiday,
      lower(booking.occupied) + make_interval(mins => booking.setup_minutes) as start,
      upper(booking.occupied) - make_interval(mins => booking.teardown_minutes) as "end"
    from holiday
    join location on location.mandator_id = holiday.mandator_id
      and (${locationId}::integer is null or location.id = ${locationId})
    join resource on resource.mandator_id = location.mandator_id and resource.location_id = location.id
    join booking on booking.mandator_id = resource.mandator_id and booking.resource_id = resource.id
      and ${occupies} and booking.occupied && tstzrange(now(), null)
      and booking.occupied && tstzrange(holiday.from_date::timestamp at time zone location.time_zone,
        (holiday.to_date + 1)::timestamp at time zone location.time_zone)
    where holiday.mandator_id = ${mandatorId} and holiday.calendar_id = ${id} and booking.id > ${above}
      ${below === undefined ? sql`` : sql`and booking.id < ${below}`}
      and holiday.to_date >= current_date - 1
      and not exists (
        select from opening_exception as own
        where own.mandator_id = resource.mandator_id and own.location_id = location.id
          and (own.resource_id is null or own.resource_id = resource.id)
          and (lower(booking.occupied) at time zone location.time_zone)::date between own.from_date and own.to_date)
    order by booking.id ${isRising ? sql`` : sql`desc`} limit ${page.limit + 1}`;
}
