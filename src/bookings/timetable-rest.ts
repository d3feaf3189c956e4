/** Timetables over REST. */
import { readPage } from '../db/paging.ts';
import { toFields } from '../fields.ts';
import { paging } from '../query-parameters.ts';
import { listAnswer, listOf, pageAnswer } from '../rest/lists.ts';
import { route } from '../rest/route.ts';
import * as examples from './examples.ts';
import { bookingOrder, timetableFilter } from './list-wire.ts';
import * as bookings from './service.ts';
import * as wire from './wire.ts';

export const pageOfBookings = pageAnswer(
  'One page of bookings.',
  listOf(wire.bookingRecord, 'BookingList'),
  examples.page,
);

export const timetableRoutes = [
  route({
    method: 'GET',
    path: '/v1.0/timetable',
    summary: 'Read a timetable',
    description:
      'The lessons and bookings of a class, a teacher, a resource or a person, whatever their status; your own if none is named. The timetable of a person has the bookings for the person, and the lessons whose `Lehrpersonen` include its `TeacherCode`; only Admins may read that of another person. A cancelled lesson is `Cancelled`; its values before its first change are in `Lektion.Ursprung`.',
    query: timetableFilter.extend({ Order: bookingOrder, ...paging }),
    answers: { 200: pageOfBookings },
    problems: { 403: 'A display may not read timetables, and only an Admin may read that of another person.' },
    handle: async ({ db }, { viewer, query }) => {
      const { Limit, Cursor, ...filter } = query;
      const found = await bookings.filterOfTimetable(db, viewer, toFields(filter));
      const page = readPage(bookings.bookingList, Limit, Cursor);
      return listAnswer(await bookings.listBookings(db, viewer, found, page), wire.toBookingRecord);
    },
  }),
];
