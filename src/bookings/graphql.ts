import { Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import { bodyType, judgedBy } from '../graphql/body.ts';
import { type AddTypes, type Builder, typeNamed } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import { nodeOf, recordQuery } from '../graphql/nodes.ts';
import { enumType, recordFields, recordType } from '../graphql/record.ts';
import { resolveFrame } from '../graphql/streams.ts';
import { sortOrder } from '../query-parameters.ts';
import { addCreation, addOccupied } from './creation-graphql.ts';
import { decisionBody, verdict } from './decision-wire.ts';
import { addEdges } from './edges-graphql.ts';
import { frameType } from './frame-graphql.ts';
import { bookingFilter, bookingOrder, timetableFilter } from './list-wire.ts';
import * as bookings from './service.ts';
import * as wire from './wire.ts';

function addBooking(builder: Builder) {
  const status = enumType(builder, wire.bookingStatus);
  const kind = enumType(builder, wire.bookingKind);
  const order = enumType(builder, sortOrder);
  enumType(builder, wire.originSystem);
  enumType(builder, verdict);
  enumType(builder, bookings.lessonStatus);
  const parts = {
    LessonOrigin: bookings.lessonOrigin,
    LessonSummary: wire.lektion,
    Organizer: wire.organizer,
    CheckIn: wire.checkIn,
    BookingOrigin: wire.origin,
    Decision: wire.decision,
  };
  for (const [name, schema] of Object.entries(parts)) recordType(builder, name, schema);
  const booking = builder.objectRef<bookings.Booking>('Booking').implement({
    ...nodeOf('booking', ({ context, viewer }, id) => bookings.findBooking(context.db, viewer, id)),
    description: wire.bookingRecord.description ?? '',
    fields: (t) => ({
      ...recordFields(t, wire.bookingRecord, wire.toBookingFields),
      resource: t.field({
        type: typeNamed<Awaited<ReturnType<typeof bookings.getResourceOf>>>('Resource'),
        nullable: true,
        description: 'The resource that it occupies; refused to a display, which reads only its bookings.',
        resolve: (booking, _args, { context, viewer }) => bookings.getResourceOf(context.db, viewer, booking),
      }),
    }),
  });
  builder.objectField(typeNamed<{ kind: string; id: string }>('Change'), 'booking', (t) =>
    t.field({
      type: booking,
      nullable: true,
      description: 'For a change of a booking: its present state.',
      resolve: async ({ kind, id }, _args, { context, viewer }) =>
        kind === 'Booking' ? ((await bookings.findBooking(context.db, viewer, Number(id))) ?? null) : null,
    }),
  );
  return { booking, status, kind, order };
}

type BookingTypes = ReturnType<typeof addBooking>;

const addFilters = (builder: Builder) => ({
  filter: filterType(builder, 'BookingFilter', 'Which ones', bookingFilter),
  timetable: filterType(
    builder,
    'TimetableFilter',
    'The owner of the timetable; your own if none is named',
    timetableFilter,
  ),
});

type Filters = ReturnType<typeof addFilters>;

function addQueries(builder: Builder, { booking, order }: BookingTypes, { filter, timetable }: Filters): void {
  const connection = connectionType(builder, booking, bookings.bookingList, { isCounted: true });
  addEdges(builder, booking, connection);
  builder.queryFields((t) => ({
    booking: recordQuery(t, 'booking', {
      type: booking,
      description: 'A booking; null if the tenant has none with this id.',
      find: ({ context, viewer }, id) => bookings.findBooking(context.db, viewer, id),
    }),
    bookings: t.field({
      type: connection,
      args: {
        filter: t.arg({ type: filter, required: true, description: 'The filter of the list.' }),
        order: t.arg({ type: order, description: bookingOrder.description ?? '' }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description:
        'The bookings that occupy their resources in a window, whatever their status, in the order in which they begin to.',
      resolve: (_root, { filter: wanted, order, ...page }, { context, viewer }) =>
        bookings.listBookings(context.db, viewer, given({ ...wanted, order }), pageOf(bookings.bookingList, page)),
    }),
    timetable: t.field({
      type: connection,
      args: {
        filter: t.arg({ type: timetable, description: 'The owner and the window.' }),
        order: t.arg({ type: order, description: bookingOrder.description ?? '' }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description:
        'The lessons and bookings of a class, a teacher, a resource or a person, whatever their status. The timetable of a person has the bookings for the person, and the lessons whose teachers include its `teacherCode`; only Admins may read that of another person.',
      resolve: async (_root, { filter: wanted, order, ...page }, { context, viewer }) => {
        const found = await bookings.filterOfTimetable(context.db, viewer, given({ ...wanted, order }));
        return await bookings.listBookings(context.db, viewer, found, pageOf(bookings.bookingList, page));
      },
    }),
  }));
}

function addChanges(builder: Builder, { booking }: BookingTypes): void {
  const scope = enumType(builder, wire.scope);
  const conflictHandling = enumType(builder, wire.conflictHandling);
  const input = bodyType(builder, 'ChangeBookingInput', wire.bookingChanges);
  const decision = bodyType(builder, 'DecisionInput', decisionBody);
  const description = 'The booking, or why the request was refused.';
  const result = builder.errorUnion('BookingResult', {
    description,
    types: [booking, Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
    resolveType: () => booking,
  });
  builder.mutationFields((t) => {
    const id = idArgument(t.arg, 'booking', { required: true, description: 'The id of the booking.' });
    const whichOnes = t.arg({
      type: scope,
      defaultValue: 'This',
      description: 'To which other bookings of the series this applies.',
    });
    return {
      changeBooking: t.field({
        type: booking,
        errors: {
          types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
          union: { name: 'ChangeBookingResult', description },
        },
        args: {
          id,
          version: t.arg.int({ required: true, description: 'The version that was read.' }),
          input: t.arg({ type: input, required: true, description: 'The changes.' }),
          scope: whichOnes,
          conflictHandling: t.arg({
            type: conflictHandling,
            defaultValue: 'Fail',
            description:
              'If `scope` includes several: with Skip, those that would have conflicts stay as they are; with Fail, a conflict prevents the whole change. A booking that would lie outside of the opening hours always prevents it.',
          }),
        },
        description:
          'Changes a booking that was created here; with a scope also others of its series, which get the same local times, each on its own date.',
        resolve: (_root, args, { context, viewer }) =>
          bookings.changeBooking(context.db, viewer, args.id, [args.version], args.input, {
            scope: args.scope ?? 'This',
            conflictHandling: args.conflictHandling ?? 'Fail',
          }),
      }),
      cancelBooking: t.field({
        type: booking,
        errors: {
          types: [Conflict, Forbidden, NotFound, PreconditionFailed],
          union: { name: 'CancelBookingResult', description },
        },
        args: {
          id,
          version: t.arg.int({ description: 'The version that was read; any version if left out.' }),
          scope: whichOnes,
        },
        description: 'Cancels a booking that was created here; repeating it changes nothing.',
        resolve: (_root, { id, version, scope }, { context, viewer }) => {
          const versions = version == null ? undefined : [version];
          return bookings.cancelBooking(context.db, viewer, id, versions, scope ?? 'This');
        },
      }),
      decideBooking: t.field({
        type: result,
        args: {
          id,
          version: t.arg.int({ required: true, description: 'The version that was read.' }),
          input: t.arg({ type: decision, required: true, description: 'The decision.' }),
          scope: whichOnes,
        },
        description:
          "Approves or declines a booking that waits for approval, for Admins and for groups that the policy of its resource names. Repeating one's own decision changes nothing.",
        resolve: (_root, { id, version, input, scope }, call) =>
          bookings.decideBooking(call.context.db, call, id, [version], {
            ...input,
            scope: scope ?? 'This',
          }),
      }),
      checkIn: t.field({
        type: result,
        args: { id },
        description: 'Checks a booking in; without a check-in it becomes a no-show.',
        resolve: (_root, { id }, { context, viewer }) => bookings.checkIn(context.db, viewer, id),
      }),
      releaseBooking: t.field({
        type: result,
        args: { id },
        description: 'Frees the resource of a booking that is no longer needed.',
        resolve: (_root, { id }, { context, viewer }) => bookings.releaseBooking(context.db, viewer, id),
      }),
      extendBooking: t.field({
        type: result,
        args: {
          id,
          version: t.arg.int({
            description:
              'The version that was read, so that a repeated call does not extend twice; any version if left out.',
          }),
          minutes: t.arg.int({
            required: true,
            description: 'By how many minutes the end moves.',
            validate: judgedBy(wire.extension.shape.Minutes),
          }),
        },
        description: 'Extends a booking, if its resource is free and open.',
        resolve: (_root, { id, version, minutes }, { context, viewer }) => {
          const versions = version == null ? undefined : [version];
          return bookings.extendBooking(context.db, viewer, id, versions, minutes);
        },
      }),
      undoBooking: t.field({
        type: result,
        args: {
          id,
          version: t.arg.int({ required: true, description: 'The version that the action returned.' }),
        },
        description:
          "For displays: undoes this display's last action on a booking, within 60 seconds and if nothing has changed the booking since. Repeating it changes nothing.",
        resolve: (_root, { id, version }, { context, viewer }) =>
          bookings.undoBooking(context.db, viewer, id, [version]),
      }),
    };
  });
}

function addSubscription(builder: Builder, { booking }: BookingTypes, { filter, timetable }: Filters): void {
  const frame = frameType(builder, booking);
  builder.subscriptionFields((t) => ({
    bookings: t.field({
      type: frame,
      args: {
        filter: t.arg({
          type: filter,
          required: true,
          description: 'The filter; a window that is left out does not restrict.',
        }),
        after: t.arg.string({ description: 'The `cursor` of the last frame that was received.' }),
      },
      description:
        'First a frame at once: with the present cursor, so that a client that lists bookings afterwards misses nothing, or with the changes since `after`. Then a frame after each change, and an empty one every 30 seconds. A frame has a new booking if it matches the filter; a changed one if its resource (before or after the change), location, kind and series match, whatever its time, status and person are now, so that a client can remove it.',
      subscribe: (_root, { filter: wanted, after }, call) =>
        call.streams.open(call, [bookings.bookingTopic(call.viewer)], (changes, signal) =>
          bookings.watchBookings(call.context.db, call.viewer, { filter: given(wanted), after }, changes, signal),
        ),
      resolve: resolveFrame,
    }),
    timetable: t.field({
      type: frame,
      args: {
        filter: t.arg({
          type: timetable,
          description: 'The owner and the window; a window that is left out does not restrict.',
        }),
        after: t.arg.string({ description: 'The `cursor` of the last frame that was received.' }),
      },
      description:
        'The changes of a timetable, in frames like those of `bookings`. A frame has a new booking if it belongs to the timetable, and every changed booking of any class, teacher or person, as it may have left the timetable.',
      subscribe: async (_root, { filter: wanted, after }, call) => {
        const found = await bookings.filterOfTimetable(call.context.db, call.viewer, given(wanted));
        return call.streams.open(call, [bookings.bookingTopic(call.viewer)], (changes, signal) =>
          bookings.watchBookings(call.context.db, call.viewer, { filter: found, after }, changes, signal),
        );
      },
      resolve: resolveFrame,
    }),
  }));
}

export const addTypes: AddTypes = (builder) => {
  const types = addBooking(builder);
  const filters = addFilters(builder);
  addQueries(builder, types, filters);
  addOccupied(builder);
  addCreation(builder, types.booking);
  addChanges(builder, types);
  addSubscription(builder, types, filters);
};
