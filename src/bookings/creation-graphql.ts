import type { ObjectRef } from '@pothos/core';
import { z } from 'zod';
import { Conflict, Forbidden, InvalidInput } from '../errors.ts';
import { idempotencyKey } from '../fields.ts';
import { bodyType } from '../graphql/body.ts';
import { type Builder, type Types, typeNamed } from '../graphql/builder.ts';
import { globalId, idField } from '../graphql/ids.ts';
import { enumType, recordType } from '../graphql/record.ts';
import { alternative, roomConflict, toAlternativeRecord, toConflictRecord } from './occupied-wire.ts';
import { type Booking, type Created, createBooking, type Occupied, type RoomConflict } from './service.ts';
import * as wire from './wire.ts';

type Series = NonNullable<Created['series']>;

/** Adds the members of a conflict about bookings (contract 5.2). */
export function addOccupied(builder: Builder): void {
  const conflict = recordType(builder, 'RoomConflict', roomConflict, toConflictRecord);
  const possible = recordType(builder, 'Alternative', alternative, toAlternativeRecord);
  // The errors plugin passes a proxy, for which `instanceof Occupied` fails: the resolvers test for the members instead.
  builder.objectFields(Conflict, (t) => ({
    conflicts: t.field({
      type: [conflict],
      description: 'For a booking: the bookings in its way, the first 100.',
      resolve: (error: Partial<Occupied>) => [...(error.conflicts ?? [])],
    }),
    alternatives: t.field({
      type: [possible],
      description: 'For a booking: possible places and times, at most 5.',
      resolve: (error: Partial<Occupied>) => [...(error.alternatives ?? [])],
    }),
  }));
}

/** Adds the answer for a series. */
function addSeries(builder: Builder, booking: ObjectRef<Types, Booking>) {
  const skipped = builder.objectRef<Series['skipped'][number]>('SkippedBooking').implement({
    description: 'A booking of a series that was left out.',
    fields: (t) => ({
      start: t.expose('start', { type: 'DateTime', description: 'When it would have started.' }),
      end: t.expose('end', { type: 'DateTime', description: 'When it would have ended.' }),
      conflicts: t.field({
        type: [typeNamed<RoomConflict>('RoomConflict')],
        description: 'The bookings in its way; empty if the resource is closed at that time.',
        resolve: ({ conflicts }) => conflicts,
      }),
    }),
  });
  return builder.objectRef<{ booking: Booking; series: Series }>('SeriesCreated').implement({
    description: 'A series was created.',
    fields: (t) => ({
      booking: t.expose('booking', { type: booking, description: 'Its first booking.' }),
      seriesId: idField(t, 'series', ({ series }) => series.seriesId, { description: 'The id of the series.' }),
      recurrenceRule: t.string({
        description: 'The recurrence rule.',
        resolve: ({ series }) => series.recurrenceRule,
      }),
      bookingIds: t.idList({
        description: 'The ids of its bookings, in order.',
        resolve: ({ series }) => series.bookingIds.map((id) => globalId('booking', id)),
      }),
      skipped: t.field({
        type: [skipped],
        description: 'The bookings that were left out.',
        resolve: ({ series }) => series.skipped,
      }),
    }),
  });
}

export function addCreation(builder: Builder, booking: ObjectRef<Types, Booking>): void {
  const created = builder.objectRef<{ booking: Booking }>('BookingCreated').implement({
    description: 'A single booking was created.',
    fields: (t) => ({
      booking: t.expose('booking', { type: booking, description: 'The booking.' }),
    }),
  });
  const seriesCreated = addSeries(builder, booking);
  const result = builder.errorUnion('CreateBookingResult', {
    description: 'What was created, or why the request was refused.',
    types: [created, seriesCreated, Conflict, Forbidden, InvalidInput],
    resolveType: (made) => ((made as Created).series ? seriesCreated : created),
  });
  const body = z.strictObject({
    ...wire.newBooking.shape,
    IdempotencyKey: idempotencyKey
      .nullable()
      .default(null)
      .meta({ description: 'The same key and input within 24 hours return the same bookings again.' }),
  });
  enumType(builder, wire.newBookingStatus);
  enumType(builder, wire.newBookingKind);
  const input = bodyType(builder, 'CreateBookingInput', body.meta(wire.newBooking.meta() ?? {}));
  builder.mutationField('createBooking', (t) =>
    t.field({
      type: result,
      args: {
        input: t.arg({ type: input, required: true, description: 'The booking or series to create.' }),
      },
      description:
        'Books a resource for a time at which it is open and free, once or, with a recurrence rule, as a series.',
      resolve: (_root, { input: { idempotencyKey, ...wanted } }, { context, viewer }) =>
        createBooking(context.db, viewer, wire.toNewBooking(wanted), { idempotencyKey: idempotencyKey ?? undefined }),
    }),
  );
}
