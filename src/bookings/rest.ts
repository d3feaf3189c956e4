import { z } from 'zod';
import { toFields } from '../fields.ts';
import { id } from '../query-parameters.ts';
import { listRoute } from '../rest/lists.ts';
import { type DescribedAnswer, forDisplays, type Route, readIdempotencyKey, route } from '../rest/route.ts';
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
  .meta({ description: 'To which other bookings of the series this applies; This by default.' });

const forOthers = {
  403: 'Only the organizer, the creator and an Admin may change a booking; a display may not.',
};
const forThoseAtTheDoor = {
  403: 'Only the organizer, the creator, an Admin and a display that may book may do so.',
};
const atDisplays =
  'A display may do so with a booking of its rooms that has begun or can be checked in, whoever it is for.';
const ofOthers =
  'Lessons are changed through `/v2.0/jobs/update`, and items of a mailbox in its calendar: for them the answer is a conflict.';

const series = z
  .object({
    SeriesId: id('series', 'The id of the series.'),
    RecurrenceRule: z.string().max(500).meta({ description: 'The recurrence rule.' }),
    BookingIds: z.array(z.int().min(1)).max(366).meta({ description: 'The ids of its bookings, in order.' }),
    Skipped: z
      .array(
        z.object({
          Start: z.date().meta({ description: 'When it would have started.' }),
          End: z.date().meta({ description: 'When it would have ended.' }),
          Conflicts: z
            .array(roomConflict)
            .max(100)
            .meta({ description: 'The bookings in its way; empty if the resource is closed at that time.' }),
        }),
      )
      .max(366)
      .meta({ description: 'The bookings that were left out.' }),
  })
  .meta({ id: 'Series', description: 'A series that was created.' });
const createdBooking = z
  .object({
    ...wire.bookingRecord.shape,
    Series: series.nullable().meta({ description: 'The series; null for a single booking.' }),
  })
  .meta({ id: 'CreatedBooking', description: 'A booking that was created; for a series, the first one.' });

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
  listRoute({
    path,
    summary: 'List bookings',
    description:
      'The bookings of the tenant that occupy their resources between `From` and `To`, whatever their status, in the order in which they begin to. Separate several values by commas, or repeat the parameter. Of a private booking, others see only that it is there.',
    filter: bookingFilter.extend({ Order: bookingOrder }),
    page: pageOfBookings,
    problems: { 403: forDisplays },
    of: bookings.bookingList,
    run: bookings.listBookings,
    toRecord: wire.toBookingRecord,
  }),
  route({
    method: 'POST',
    path,
    summary: 'Create a booking or a series',
    description:
      'Books a resource for a time at which it is open and free. A `RecurrenceRule` creates a series, expanded with the clocks of the location: every booking begins at the same local time, the first one at `Start`. A user books for itself, and not in the past; an Admin also books for others, outside of opening hours, and creates blocks. A display that may book creates plain bookings for itself in its own rooms, which begin within 5 minutes of now and last from 5 minutes to 4 hours. They are checked in at once; conflicts show only Belegt, without `Alternatives`.',
    headers: ['Idempotency-Key'],
    body: { schema: wire.newBooking, example: examples.newBooking },
    answers: {
      201: {
        description: 'The booking; for a series, the first one. `Location` is its address.',
        body: createdBooking,
        example: examples.createdBooking,
        headers: ['Location', 'ETag'],
      },
    },
    problems: {
      403: 'Only an Admin may book for another person or create a block; a display may book if an Admin has allowed it.',
      409: 'The resource is occupied or not active, see `Conflicts` and `Alternatives`; or a request with this `Idempotency-Key` is still being answered, or has made a booking that the caller does not see any more.',
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
    description: 'A booking. Of a private one, others see only that it is there.',
    params,
    answers: one('The booking.'),
    problems: { 403: forDisplays },
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toBookingRecord(await bookings.getBooking(db, viewer, params.id))),
  }),
  route({
    method: 'PATCH',
    path: `${path}/:id`,
    summary: 'Change a booking',
    description: `Changes the members that are sent, and only in the version of \`If-Match\`. \`Scope\` includes the following bookings of a series, or all that have not ended: each gets the same local time and duration, on its own date. ${ofOthers}`,
    headers: ['If-Match'],
    params,
    query: z.strictObject({
      Scope: scope,
      ConflictHandling: wire.conflictHandling.default('Fail').meta({
        description:
          'If `Scope` includes several: with Skip, those that would have conflicts stay as they are; with Fail, a conflict prevents the whole change. A booking that would lie outside of the opening hours always prevents it.',
      }),
    }),
    body: { schema: wire.bookingChanges, example: examples.bookingChanges },
    answers: one('The booking as it is now.', examples.bookingChanges),
    problems: {
      ...forOthers,
      409: 'The resource is occupied at that time, see `Conflicts` and `Alternatives`, or not active; or the booking is over, cancelled, released, or was not created here.',
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
    description: `The booking stays, with the status Cancelled, and its resource is free; repeating it changes nothing. \`If-Match\` is optional. ${ofOthers}`,
    headers: ['If-Match'],
    params,
    query: z.strictObject({ Scope: scope }),
    answers: one('The cancelled booking.', { Status: 'Cancelled' }),
    problems: {
      ...forOthers,
      409: 'The booking is over, released, or was not created here.',
      412: versionProblems[412],
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
      "Decides about a booking with the status Requested, only in the version of `If-Match`: approval makes it Confirmed, declining makes it Declined, which is final. `Scope` includes the other requests of the series about which the caller may decide. Repeating one's own decision changes nothing.",
    headers: ['If-Match'],
    params,
    query: z.strictObject({ Scope: scope }),
    body: { schema: decisionBody, example: examples.decision },
    answers: one('The booking as it is now.', examples.declined),
    problems: {
      403: 'Only an Admin, and the groups that the policy of the resource names, may decide.',
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
    description: `Records that somebody has come, between \`CheckIn.From\` and \`CheckIn.Until\`; otherwise the booking becomes a no-show and is released. Repeating it changes nothing. ${atDisplays}`,
    params,
    answers: one('The booking.', {
      CheckIn: { ...examples.booking.CheckIn, CheckedInAt: '2027-02-01T07:58:12Z' },
    }),
    problems: {
      ...forThoseAtTheDoor,
      409: 'It is too early or too late, the booking needs no check-in, or it is cancelled or released.',
    },
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toBookingRecord(await bookings.checkIn(db, viewer, params.id))),
  }),
  route({
    method: 'POST',
    path: `${path}/:id/release`,
    summary: 'Release a booking',
    description: `Frees the resource of a booking that is no longer needed, or not until its end; it keeps its times and gets the status Released. Repeating it changes nothing. ${atDisplays} ${ofOthers}`,
    params,
    answers: one('The released booking.', { Status: 'Released' }),
    problems: { ...forThoseAtTheDoor, 409: 'The booking is over, cancelled, or was not created here.' },
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toBookingRecord(await bookings.releaseBooking(db, viewer, params.id))),
  }),
  route({
    method: 'POST',
    path: `${path}/:id/extend`,
    summary: 'Extend a booking',
    description: `Extends a booking, if its resource is free and open. With \`If-Match\` the call can be repeated if its answer was lost, and extends only once; without it, each call extends. ${atDisplays} ${ofOthers}`,
    headers: ['If-Match'],
    params,
    body: { schema: wire.extension, example: examples.extension },
    answers: one('The booking with its new `End`.', { End: '2027-02-01T09:45:00Z' }),
    problems: {
      ...forThoseAtTheDoor,
      409: 'The resource is occupied at that time, see `Conflicts`; or the booking is over, cancelled, released, or was not created here.',
      412: versionProblems[412],
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
    summary: 'Undo an action of a display',
    description:
      "For displays: undoes the display's last action on a booking, within 60 seconds and only in the version of `If-Match`, which the action returned. A new booking is cancelled, a check-in removed, an extension reverted, and a released booking is active again if its place is still free. Repeating it changes nothing.",
    headers: ['If-Match'],
    params,
    answers: one('The booking as it is now.'),
    problems: {
      403: 'Only a display that may book can undo its action.',
      409: 'There is nothing to undo, it is too late, the booking has changed since, or its place is taken, see `Conflicts`.',
      428: '`If-Match` is missing.',
    },
    handle: async ({ db }, { viewer, params, headers }) => {
      const versions = readIfMatch(headers);
      return recordAnswer(wire.toBookingRecord(await bookings.undoBooking(db, viewer, params.id, versions)));
    },
  }),
];
