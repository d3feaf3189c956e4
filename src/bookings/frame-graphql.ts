/** What a stream of bookings sends over GraphQL. */
import type { ObjectRef } from '@pothos/core';
import type { Builder, Types } from '../graphql/builder.ts';
import { globalId } from '../graphql/ids.ts';
import { type Booking, type BookingFrame, frameLength } from './service.ts';

export function frameType(builder: Builder, booking: ObjectRef<Types, Booking>) {
  return builder.objectRef<BookingFrame>('BookingFrame').implement({
    description: 'The changes since the previous frame; a frame without bookings shows that the stream is alive.',
    fields: (t) => ({
      cursor: t.exposeString('cursor', {
        description: 'A cursor for `after`, to continue after this frame; also valid for `changes`.',
      }),
      serverTime: t.expose('serverTime', { type: 'DateTime', description: "The server's clock." }),
      bookings: t.field({
        type: [booking],
        complexity: { field: 1, multiplier: frameLength },
        description: `At most ${frameLength} bookings, each once and in its present state.`,
        resolve: ({ bookings }) => bookings,
      }),
      gone: t.idList({
        description:
          'The ids of bookings that were moved to a resource which is hidden from you, and, if the filter names a series, of changed bookings that are private to others: remove them from the display. No other field reports this.',
        resolve: ({ gone }) => gone.map((id) => globalId('booking', id)),
      }),
    }),
  });
}
