import { z } from 'zod';
import { readPage } from '../db/paging.ts';
import { toFields } from '../fields.ts';
import { id, paging } from '../query-parameters.ts';
import { listAnswer, listOf } from '../rest/lists.ts';
import { type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer, versionProblems } from '../rest/versions.ts';
import * as holidays from './service.ts';
import * as wire from './wire.ts';

const path = '/v1.0/holiday-calendars';
const params = z.object({ id: id('holidayCalendar', 'The id of the holiday calendar.') });
const forAdmins = { 403: 'Only an Admin manages holiday calendars.' };
const conflict = 'Another holiday calendar has this name.';

const answered = (description: string, example: object = wire.example) => ({
  200: { description, body: wire.calendarRecord, example, headers: ['ETag' as const] },
});

const pageOf = (description: string, record: z.ZodType, listId: string, example: object) => ({
  200: {
    description,
    body: listOf(record, listId),
    example: { Items: [example], NextCursor: null },
    headers: ['ETag' as const],
  },
});

export const routes: Route[] = [
  route({
    method: 'GET',
    path,
    summary: 'List holiday calendars',
    description: 'The holiday calendars of the tenant by their ids, with how they were read last. For Admins.',
    query: z.strictObject({ ...wire.calendarFilter.shape, ...paging }),
    answers: pageOf('One page of holiday calendars.', wire.calendarRecord, 'HolidayCalendarList', wire.example),
    problems: forAdmins,
    handle: async ({ db }, { viewer, query }) => {
      const { Limit, Cursor, ...filter } = query;
      const page = readPage(holidays.calendarList, Limit, Cursor);
      return listAnswer(await holidays.listCalendars(db, viewer, toFields(filter), page), wire.toCalendarRecord);
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Read a holiday calendar',
    params,
    answers: answered('The holiday calendar.'),
    problems: forAdmins,
    handle: async ({ db }, call) =>
      recordAnswer(wire.toCalendarRecord(await holidays.getCalendar(db, call.viewer, call.params.id))),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Make a holiday calendar',
    description:
      'From the text of an .ics file, or from its address, which is then read within a minute and every few hours after. Each whole-day event is a holiday.',
    body: { schema: wire.newCalendar, example: { LocationId: 1, Name: 'Schulferien', Url: wire.example.Url } },
    answers: {
      201: {
        description: 'The holiday calendar; `Location` is where it is read.',
        body: wire.calendarRecord,
        example: wire.example,
        headers: ['Location', 'ETag'],
      },
    },
    problems: { ...forAdmins, 409: conflict },
    handle: async ({ db, config }, call) => {
      const made = await holidays.createCalendar(db, call, toFields(call.body));
      const location = `${config.BaseUrl}/${call.viewer.mandator}/api${path}/${made.id}`;
      return recordAnswer(wire.toCalendarRecord(made), { status: 201, location });
    },
  }),
  route({
    method: 'PATCH',
    path: `${path}/:id`,
    summary: 'Change a holiday calendar',
    description:
      'Changes the members that are sent, and only in the version of `If-Match`. A file that is sent replaces all holidays; an address does so once it has been read.',
    headers: ['If-Match'],
    params,
    body: { schema: wire.calendarChanges, example: { Closes: false } },
    answers: answered('The holiday calendar as it is now.', { ...wire.example, Closes: false, Version: 2 }),
    problems: { ...forAdmins, 409: conflict },
    handle: async ({ db }, call) => {
      const versions = readIfMatch(call.headers);
      const changed = await holidays.changeCalendar(db, call, call.params.id, versions, toFields(call.body));
      return recordAnswer(wire.toCalendarRecord(changed));
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Delete a holiday calendar',
    description: 'Only in the version of `If-Match`. Its holidays no longer close anything.',
    headers: ['If-Match'],
    params,
    answers: { 204: { description: 'It is gone.' } },
    problems: { ...forAdmins, ...versionProblems },
    handle: async ({ db }, call) => {
      await holidays.deleteCalendar(db, call, call.params.id, readIfMatch(call.headers));
      return { status: 204 };
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id/bookings`,
    summary: 'List the bookings on holidays of a calendar',
    description:
      'Bookings to come that lie on a holiday of the calendar, by their ids; not those on dates for which the resource or its location has an exception. For Admins.',
    params,
    query: z.strictObject(paging),
    answers: pageOf('One page of bookings.', wire.closedBooking, 'BookingInHolidayList', wire.bookingExample),
    problems: forAdmins,
    handle: async ({ db }, { viewer, params: named, query }) => {
      const page = readPage(holidays.closedBookingList, query.Limit, query.Cursor);
      return listAnswer(await holidays.listClosedBookings(db, viewer, named.id, page), wire.toClosedBooking);
    },
  }),
  route({
    method: 'GET',
    path: '/v1.0/holidays',
    summary: 'List holidays',
    description: 'The holidays of all calendars by their ids, those that are only shown too.',
    query: z.strictObject({ ...wire.holidayFilter.shape, ...paging }),
    answers: pageOf('One page of holidays.', wire.holidayRecord, 'HolidayList', wire.holidayExample),
    problems: { 403: 'A display reads the status of its own resources only.' },
    handle: async ({ db }, { viewer, query }) => {
      const { Limit, Cursor, ...filter } = query;
      const page = readPage(holidays.holidayList, Limit, Cursor);
      return listAnswer(await holidays.listHolidays(db, viewer, toFields(filter), page), wire.toHolidayRecord);
    },
  }),
];
