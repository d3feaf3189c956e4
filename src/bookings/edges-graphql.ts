/** Bookings as edges of what they are about: resources, persons and series. */
import type { ObjectRef } from '@pothos/core';
import { type Builder, type Types, typeNamed } from '../graphql/builder.ts';
import { type connectionType, filteredPage, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { idFields } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { bookingFilter } from './list-wire.ts';
import * as bookings from './service.ts';

type Series = { id: number; recurrenceRule: string | null };
type Connection = ReturnType<typeof connectionType<bookings.Booking>>;

const ofSeries = (id: number) => ({ of: 'series' as const, id });

export function addEdges(builder: Builder, booking: ObjectRef<Types, bookings.Booking>, connection: Connection): void {
  const filter = filterType(
    builder,
    'EdgeBookingFilter',
    'The filter of the bookings',
    bookingFilter.pick({ From: true, To: true, Status: true, Occupying: true, Kind: true }),
  );
  const ofParent = (of: 'resource' | 'person', name: string, description: string) =>
    builder.objectField(typeNamed<{ id: number }>(name), 'bookings', (t) =>
      t.field({
        type: connection,
        args: filteredPage(t.arg, filter),
        complexity: pageCost,
        description,
        resolve: ({ id }, { filter: wanted, ...page }, { context, viewer }) =>
          bookings.listBookingsOf(context.db, viewer, { of, id }, given(wanted), pageOf(bookings.bookingList, page)),
      }),
    );
  ofParent('resource', 'Resource', 'Its bookings in a window, in the order in which they begin to occupy it.');
  ofParent('person', 'Person', 'The bookings for this person in a window, in order of their start.');

  const ofMail = (name: string, description: string) =>
    builder.objectField(typeNamed<{ bookingId: number | null }>(name), 'booking', (t) =>
      t.field({
        type: booking,
        nullable: true,
        description,
        resolve: async ({ bookingId }, _args, { context, viewer }) =>
          bookingId === null ? null : ((await bookings.findBooking(context.db, viewer, bookingId)) ?? null),
      }),
    );
  ofMail('MailConflict', 'The booking in the way, as the viewer may see it.');
  ofMail('MailUnwrittenItem', 'The booking, as the viewer may see it.');

  builder.objectField(booking, 'location', (t) =>
    t.field({
      type: typeNamed<NonNullable<Awaited<ReturnType<typeof bookings.findLocationOf>>>>('Location'),
      nullable: true,
      description: 'The location of its resource; refused to a display.',
      resolve: async (of, _args, { context, viewer }) =>
        (await bookings.findLocationOf(context.db, viewer, of)) ?? null,
    }),
  );

  const series = builder.objectRef<Series>('Series').implement({
    ...nodeOf('series', async ({ context, viewer }, id): Promise<Series | null> => {
      const page = { limit: 1, after: undefined };
      const { items } = await bookings.listBookingsOf(context.db, viewer, ofSeries(id), {}, page);
      return items[0] ? { id, recurrenceRule: items[0].recurrenceRule } : null;
    }),
    description: 'Bookings that were created together by one recurrence rule.',
    fields: (t) => ({
      ...idFields(t, 'series', ({ id }) => id, 'The id of the series.'),
      recurrenceRule: t.exposeString('recurrenceRule', {
        nullable: true,
        description: 'The recurrence rule: an RRULE of RFC 5545.',
      }),
      bookings: t.field({
        type: connection,
        args: pageArguments(t.arg),
        complexity: pageCost,
        description: 'Its bookings, in order.',
        resolve: ({ id }, page, { context, viewer }) =>
          bookings.listBookingsOf(context.db, viewer, ofSeries(id), {}, pageOf(bookings.bookingList, page)),
      }),
    }),
  });
  builder.objectField(booking, 'series', (t) =>
    t.field({
      type: series,
      nullable: true,
      description: 'The series of the booking; null for a single booking, and if it is private.',
      resolve: ({ seriesId, recurrenceRule }) => (seriesId === null ? null : { id: seriesId, recurrenceRule }),
    }),
  );
  builder.objectField(typeNamed<{ PersonId: number | null }>('Organizer'), 'person', (t) =>
    t.field({
      type: typeNamed<NonNullable<Awaited<ReturnType<typeof bookings.findOrganizer>>>>('Person'),
      nullable: true,
      description: 'The person, for Admins and for that person; null for others, and for somebody from outside.',
      resolve: async ({ PersonId }, _args, { context, viewer }) =>
        PersonId === null ? null : ((await bookings.findOrganizer(context.db, viewer, PersonId)) ?? null),
    }),
  );
}
