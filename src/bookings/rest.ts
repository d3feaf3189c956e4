import { z } from 'zod';
import { readPage } from '../db/paging.ts';
import { toFields } from '../fields.ts';
import { id, paging } from '../query-parameters.ts';
import { listAnswer } from '../rest/lists.ts';
import { type DescribedAnswer, type Route, readIdempotencyKey, route } from '../rest/route.ts';
import { readIfMatch, readOptionalIfMatch, recordAnswer, versionProblems } from '../rest/versions.ts';
import { decisionBody } from './decision-wire.ts';
import * as examples from './examples.ts';
import { bookingFilter, bookingOrder } from './list-wire.ts';
import { roomConflict, toConflictRecord } from './occupied-wire.ts';
import * as bookings from './service.ts';
import { pageOfBookings, timetableRoutes } from './timetable-rest.ts';
import * as wire from './wire.ts';

export { occupiedMembers, toOccupiedMembers } from './occupied-wire.ts';

const path = '/v1.0/bookings';

const params = z.object({ id: id('booking', 'The Id of the booking.') });
const scope = wire.scope
  .default('This')
  .meta({ description: 'Which bookings of its series are meant too; This alone when left out.' });

const forDisplays = { 403: 'A display reads the status of its own resources only.' };
const forOthers = {
  403: 'Only whom it is for, who made it, and an Admin change a booking; a display changes none.',
};
const forThoseAtTheDoor = {
  403: 'Only whom it is for, who made it, and an Admin do so, and a display that may book.',
};
const atDisplays = 'A display may do so with a booking of its rooms that is on or to be checked in, whoever it is for.';
const ofOthers =
  'A lesson is changed through `/v2.0/jobs/update`, and an item of a mailbox in its calendar: here that is a conflict.';

const series = z
  .object({
    SeriesId: id('series', 'The id of the series.'),
    RecurrenceRule: z.string().max(500).meta({ description: 'How it repeats.' }),
    BookingIds: z.array(z.int().min(1)).max(366).meta({ description: 'The ids of its bookings, in their order.' }),
    Skipped: z
      .array(
        z.object({
          Start: z.date().meta({ description: 'When it would have begun.' }),
          End: z.date().meta({ description: 'When it would have ended.' }),
          Conflicts: z
            .array(roomConflict)
            .max(100)
            .meta({ description: 'What is in its way; nothing where the resource is closed then.' }),
        }),
      )
      .max(366)
      .meta({ description: 'Which were left out.' }),
  })
  .meta({ id: 'Series', description: 'What was made of a series.' });
const createdBooking = z
  .object({
    ...wire.bookingRecord.shape,
    Series: series.nullable().meta({ description: 'The whole series; null for a single booking.' }),
  })
  .meta({ id: 'CreatedBooking', description: 'A booking that was made, the first one of a series.' });

function toCreatedRecord({ booking, series }: bookings.Created) {
  return {
    ...wire.toBookingRecord(booking),
    Series: series && {
      SeriesId: series.seriesId,
      RecurrenceRule: series.recurrenceRule,
      BookingIds: series.bookingIds,
      Skipped: series.skipped.map(({ start, end, conflicts }) => ({
        Start: start,
        End: end,
        Conflicts: conflicts.map(toConflictRecord),
      })),
    },
  };
}

const one = (description: string, changes: object = {}): Record<200, DescribedAnswer> => ({
  200: { description, body: wire.bookingRecord, example: examples.changed(changes), headers: ['ETag'] },
});

export const routes: Route[] = [
  ...timetableRoutes,
  route({
    method: 'GET',
    path,
    summary: 'List bookings',
    description:
      'The bookings of the tenant that occupy their resources between `From` and `To`, whatever their status, in the order in which they begin to. Several values are separated by commas or sent one by one. Of a private one others see only that it is there.',
    query: bookingFilter.extend({ Order: bookingOrder, ...paging }),
    answers: { 200: pageOfBookings },
    problems: forDisplays,
    handle: async ({ db }, { viewer, query }) => {
      const { Limit, Cursor, ...filter } = query;
      const page = readPage(bookings.bookingList, Limit, Cursor);
      return listAnswer(await bookings.listBookings(db, viewer, toFields(filter), page), wire.toBookingRecord);
    },
  }),
  route({
    method: 'POST',
    path,
    summary: 'Make a booking or a series',
    description:
      'Books a resource for a time in which it is open and free. With a `RecurrenceRule` it makes a series, expanded on the clocks of the location: every booking begins at the same local time, the first one at `Start`. A user books for itself and what is not over yet; an Admin also for others, outside opening hours, and blocks. A display that may book makes plain bookings for itself in its own rooms, that begin within 5 minutes of now and last from 5 minutes to 4 hours; they are checked in at once, and what is in their way is told as Belegt alone, without `Alternatives`.',
    headers: ['Idempotency-Key'],
    body: { schema: wire.newBooking, example: examples.newBooking },
    answers: {
      201: {
        description: 'The booking, of a series the first; `Location` is where it is read.',
        body: createdBooking,
        example: examples.createdBooking,
        headers: ['Location', 'ETag'],
      },
    },
    problems: {
      403: 'Only an Admin books for another person or makes a block; a display books when an Admin has allowed it.',
      409: 'The resource is occupied or not active, `Conflicts` and `Alternatives` say by what and what is possible instead; or a request with this `Idempotency-Key` is still being answered.',
    },
    handle: async ({ db, config }, { viewer, body, request }) => {
      const idempotencyKey = readIdempotencyKey(request);
      const created = await bookings.createBooking(db, viewer, wire.toNewBooking(toFields(body)), { idempotencyKey });
      const location = `${config.BaseUrl}/${viewer.mandator}/api${path}/${created.booking.id}`;
      return recordAnswer(toCreatedRecord(created), { status: 201, location });
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Read a booking',
    description: 'One booking. Of a private one others see only that it is there.',
    params,
    answers: one('The booking.'),
    problems: forDisplays,
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toBookingRecord(await bookings.getBooking(db, viewer, params.id))),
  }),
  route({
    method: 'PATCH',
    path: `${path}/:id`,
    summary: 'Change a booking',
    description: `Changes the members that are sent, and only in the version of \`If-Match\`. Of a series \`Scope\` takes the following bookings, or all that have not ended, along: each gets the same local time and duration, on its own day. ${ofOthers}`,
    headers: ['If-Match'],
    params,
    query: z.strictObject({
      Scope: scope,
      ConflictHandling: wire.conflictHandling.default('Fail').meta({
        description:
          'With a `Scope` of several: with Skip those that would meet others stay as they are, with Fail all do.',
      }),
    }),
    body: { schema: wire.bookingChanges, example: examples.bookingChanges },
    answers: one('The booking as it is now.', examples.bookingChanges),
    problems: {
      ...forOthers,
      409: 'The resource is occupied then, as `Conflicts` and `Alternatives` tell, or not active; or the booking is over, cancelled, released, or not made here.',
    },
    handle: async ({ db }, { viewer, params, query, body, headers }) => {
      const options = { scope: query.Scope, conflictHandling: query.ConflictHandling };
      const versions = readIfMatch(headers);
      const changed = await bookings.changeBooking(db, viewer, params.id, versions, toFields(body), options);
      return recordAnswer(wire.toBookingRecord(changed));
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Cancel a booking',
    description: `The booking stays, with the status Cancelled, and its resource is free; cancelling it again changes nothing. \`If-Match\` may be left out. ${ofOthers}`,
    headers: ['If-Match'],
    params,
    query: z.strictObject({ Scope: scope }),
    answers: one('The cancelled booking.', { Status: 'Cancelled' }),
    problems: {
      ...forOthers,
      409: 'The booking is over, released, or not made here.',
      412: 'The record has changed since the version of `If-Match`.',
    },
    handle: async ({ db }, { viewer, params, query, headers }) => {
      const versions = readOptionalIfMatch(headers);
      return recordAnswer(
        wire.toBookingRecord(await bookings.cancelBooking(db, viewer, params.id, versions, query.Scope)),
      );
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/decide`,
    summary: 'Approve or decline a booking',
    description:
      'Decides about a booking with the status Requested, and only in the version of `If-Match`: approved it is Confirmed, declined it is Declined, which is final. Of a series `Scope` takes the other requests along about which the caller may decide. Who sends its own decision again changes nothing.',
    headers: ['If-Match'],
    params,
    query: z.strictObject({ Scope: scope }),
    body: { schema: decisionBody, example: examples.decision },
    answers: one('The booking as it is now.', examples.declined),
    problems: {
      403: 'Only an Admin, and the groups that the policy of the resource names, decide.',
      409: 'The booking does not wait for approval, or would have begun already.',
      ...versionProblems,
    },
    handle: async ({ db }, call) => {
      const { params, query, body, headers } = call;
      const decision = { ...toFields(body), scope: query.Scope };
      const decided = await bookings.decideBooking(db, call, params.id, readIfMatch(headers), decision);
      return recordAnswer(wire.toBookingRecord(decided));
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/check-in`,
    summary: 'Check a booking in',
    description: `Says that somebody is there, between \`CheckIn.From\` and \`CheckIn.Until\`; who does not is taken for a no-show, and the booking released. Checking in again changes nothing. ${atDisplays}`,
    params,
    answers: one('The booking.', {
      CheckIn: { ...examples.booking.CheckIn, CheckedInAt: '2027-02-01T07:58:12Z' },
    }),
    problems: {
      ...forThoseAtTheDoor,
      409: 'It is too early or too late, nobody has to check in, or the booking is cancelled or released.',
    },
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toBookingRecord(await bookings.checkIn(db, viewer, params.id))),
  }),
  route({
    method: 'POST',
    path: `${path}/:id/release`,
    summary: 'Release a booking',
    description: `Frees the resource of a booking that is not needed any more, or not to its end; it keeps its times and gets the status Released. Releasing it again changes nothing. ${atDisplays} ${ofOthers}`,
    params,
    answers: one('The released booking.', { Status: 'Released' }),
    problems: { ...forThoseAtTheDoor, 409: 'The booking is over, cancelled, or not made here.' },
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toBookingRecord(await bookings.releaseBooking(db, viewer, params.id))),
  }),
  route({
    method: 'POST',
    path: `${path}/:id/extend`,
    summary: 'Extend a booking',
    description: `Lets a booking end later, where its resource is free and open. With \`If-Match\` it can be sent again when the answer was lost, and extends once; without, again is more. ${atDisplays} ${ofOthers}`,
    headers: ['If-Match'],
    params,
    body: { schema: wire.extension, example: examples.extension },
    answers: one('The booking with its new `End`.', { End: '2027-02-01T09:45:00Z' }),
    problems: {
      ...forThoseAtTheDoor,
      409: 'The resource is occupied then, as `Conflicts` tell; or the booking is over, cancelled, released, or not made here.',
      412: 'The record has changed since the version of `If-Match`.',
    },
    handle: async ({ db }, { viewer, params, body, headers }) => {
      const versions = readOptionalIfMatch(headers);
      return recordAnswer(
        wire.toBookingRecord(await bookings.extendBooking(db, viewer, params.id, versions, body.Minutes)),
      );
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/undo`,
    summary: 'Take back what a display did',
    description:
      'For displays: takes back what this one did last with a booking, within 60 seconds and only in the version of `If-Match`, which the act has answered. What it booked is cancelled, whom it checked in has not come, what it extended ends as before, and what it released takes place if its place is still free. Taking it back again changes nothing.',
    headers: ['If-Match'],
    params,
    answers: one('The booking as it is now.'),
    problems: {
      403: 'Only a display that may book takes back what it did.',
      409: 'There is nothing to take back, it is too late, the booking has changed since, or its place is taken, as `Conflicts` tell.',
      428: '`If-Match` is missing.',
    },
    handle: async ({ db }, { viewer, params, headers }) => {
      const versions = readIfMatch(headers);
      return recordAnswer(wire.toBookingRecord(await bookings.undoBooking(db, viewer, params.id, versions)));
    },
  }),
];
