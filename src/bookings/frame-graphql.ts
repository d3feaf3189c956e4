/** What a stream of bookings sends over GraphQL. */
import type { ObjectRef } from '@pothos/core';
import type { Builder, Types } from '../graphql/builder.ts';
import { globalId } from '../graphql/ids.ts';
import { type Booking, type BookingFrame, frameLength } from './service.ts';

export function frameType(builder: Builder, booking: ObjectRef<Types, Booking>) {
  return builder.objectRef<BookingFrame>('BookingFrame').implement({
    description: 'What has changed since the frame before; without bookings a sign that the stream lives.',
    fields: (t) => ({
      cursor: t.exposeString('cursor', {
        description: 'For `after`: goes on behind this frame. A cursor of `changes` and as good there.',
      }),
      serverTime: t.expose('serverTime', { type: 'DateTime', description: "The server's clock." }),
      bookings: t.field({
        type: [booking],
        complexity: { field: 1, multiplier: frameLength },
        description: `At most ${frameLength}, each once and as it is now.`,
        resolve: ({ bookings }) => bookings,
      }),
      gone: t.idList({
        description:
          'The ids of bookings that were moved to a resource which is hidden from you: take them from where they are shown. Who does not ask for it goes on showing them, as nothing else tells of it.',
        resolve: ({ gone }) => gone.map((id) => globalId('booking', id)),
      }),
    }),
  });
}
