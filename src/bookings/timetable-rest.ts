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
      'The lessons and bookings of a class, a teacher, a resource or a person, whatever their status: your own when none is named. A person has the bookings for it, and the lessons whose `Lehrpersonen` have its `TeacherCode`; that of another person is for Admins. A lesson that is cancelled is `Cancelled`; what one was before a change is in `Lektion.Ursprung`.',
    query: timetableFilter.extend({ Order: bookingOrder, ...paging }),
    answers: { 200: pageOfBookings },
    problems: { 403: 'A display reads no timetables, and the timetable of another person is for Admins.' },
    handle: async ({ db }, { viewer, query }) => {
      const { Limit, Cursor, ...filter } = query;
      const found = await bookings.filterOfTimetable(db, viewer, toFields(filter));
      const page = readPage(bookings.bookingList, Limit, Cursor);
      return listAnswer(await bookings.listBookings(db, viewer, found, page), wire.toBookingRecord);
    },
  }),
];
