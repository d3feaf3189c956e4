/** Timetables over REST. */
import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
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
  listRoute({
    path: '/v1.0/timetable',
    summary: 'Read a timetable',
    description:
      'The lessons and bookings of a class, a teacher, a resource or a person, whatever their status; your own if none is named. The timetable of a person has the bookings for the person, and the lessons whose `Lehrpersonen` include its `TeacherCode`; only Admins may read that of another person. A cancelled lesson is `Cancelled`; its values before its first change are in `Lektion.Ursprung`.',
    filter: timetableFilter.extend({ Order: bookingOrder }),
    page: pageOfBookings,
    problems: { 403: 'A display may not read timetables, and only an Admin may read that of another person.' },
    of: bookings.bookingList,
    run: async (db, viewer, filter, page) =>
      bookings.listBookings(db, viewer, await bookings.filterOfTimetable(db, viewer, filter), page),
    toRecord: wire.toBookingRecord,
  }),
];
