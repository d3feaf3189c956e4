import { z } from 'zod';
import { id } from '../query-parameters.ts';
import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
import { recordRoutes } from '../rest/record-routes.ts';
import { forDisplays, type Route } from '../rest/route.ts';
import * as holidays from './service.ts';
import * as wire from './wire.ts';

const path = '/v1.0/holiday-calendars';
const params = z.object({ id: id('holidayCalendar', 'The id of the holiday calendar.') });
const forAdmins = 'Only an Admin may manage holiday calendars.';
const conflict = 'Another holiday calendar has this name.';

export const routes: Route[] = [
  ...recordRoutes({
    path,
    noun: 'holiday calendar',
    params,
    refusals: { read: forAdmins, write: forAdmins },
    filter: wire.calendarFilter,
    list: {
      description: 'The holiday calendars of the tenant by id, with the outcome of their last readings. For Admins.',
      of: holidays.calendarList,
      run: holidays.listCalendars,
    },
    read: { run: holidays.getCalendar },
    record: { schema: wire.calendarRecord, example: wire.example, of: wire.toCalendarRecord },
    create: {
      description:
        'From the text of an .ics file, or from its address, which is then read within a minute and every few hours. Each whole-day event is a holiday.',
      conflict,
      schema: wire.newCalendar,
      example: { LocationId: 1, Name: 'Schulferien', Url: wire.example.Url },
      run: holidays.createCalendar,
    },
    change: {
      description: 'A file that is sent replaces all holidays; an address does so once it was read.',
      conflict,
      schema: wire.calendarChanges,
      example: { Closes: false },
      run: holidays.changeCalendar,
    },
    remove: { description: 'Its holidays no longer close anything.', run: holidays.deleteCalendar },
  }),
  listRoute({
    path: `${path}/:id/bookings`,
    summary: 'List the bookings on holidays of a calendar',
    description:
      'Future bookings on a holiday of the calendar, by id. Dates for which the resource or its location has an exception are left out. For Admins.',
    params,
    page: pageAnswer('One page of bookings.', listOf(wire.closedBooking, 'BookingInHolidayList'), wire.bookingExample),
    problems: { 403: forAdmins },
    of: holidays.closedBookingList,
    run: (db, viewer, _filter, page, named) => holidays.listClosedBookings(db, viewer, named.id, page),
    toRecord: wire.toClosedBooking,
  }),
  listRoute({
    path: '/v1.0/holidays',
    summary: 'List holidays',
    description: 'The holidays of all calendars by id, including those that are only shown.',
    filter: wire.holidayFilter,
    page: pageAnswer('One page of holidays.', listOf(wire.holidayRecord, 'HolidayList'), wire.holidayExample),
    problems: { 403: forDisplays },
    of: holidays.holidayList,
    run: holidays.listHolidays,
    toRecord: wire.toHolidayRecord,
  }),
];
