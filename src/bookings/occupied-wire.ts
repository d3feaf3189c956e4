/** The conflicts and alternatives of a 409 on the wire (contract 5.2): REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { id, instant } from '../fields.ts';
import { type Alternative, Occupied, type RoomConflict } from './occupied.ts';
import { bookingKind } from './wire.ts';

export const roomConflict = z
  .object({
    BookingId: id('booking', 'The id of the booking in the way.'),
    ResourceId: id('resource', 'The resource that it occupies.'),
    Kind: bookingKind.meta({ description: 'What it is.' }),
    Subject: z.string().max(4_000).nullable().meta({ description: 'What it is about; Belegt where it is private.' }),
    Start: instant('From when it occupies the resource, setup included.'),
    End: instant('Until when it occupies the resource, teardown included.'),
    WantedStart: instant('The start of the wanted booking that it is in the way of; of a series one of many.'),
  })
  .meta({ id: 'RoomConflict', description: 'A booking that is in the way of a wanted one.' });

export const alternative = z
  .object({
    ResourceId: id('resource', 'The resource.'),
    ResourceName: z.string().max(200).meta({ description: 'Its name.' }),
    Start: instant('From when it is free and open.'),
    End: instant('Until when the booking would last.'),
  })
  .meta({ id: 'Alternative', description: 'Where and when the wanted booking would be possible.' });

export function toConflictRecord(conflict: RoomConflict) {
  return {
    BookingId: conflict.bookingId,
    ResourceId: conflict.resourceId,
    Kind: conflict.kind,
    Subject: conflict.subject,
    Start: conflict.start,
    End: conflict.end,
    WantedStart: conflict.wantedStart,
  };
}

export function toAlternativeRecord({ resourceId, resourceName, start, end }: Alternative) {
  return { ResourceId: resourceId, ResourceName: resourceName, Start: start, End: end };
}

/** The members that a 409 about a booking adds to those of every problem. */
export const occupiedMembers = {
  Conflicts: z
    .array(roomConflict)
    .max(100)
    .optional()
    .meta({ description: 'Of a 409 about a booking: the bookings in its way, the first 100.' }),
  Alternatives: z
    .array(alternative)
    .max(5)
    .optional()
    .meta({ description: 'With `Conflicts`: where and when it would be possible.' }),
};

export const toOccupiedMembers = (error: Error): object =>
  error instanceof Occupied && error.conflicts.length > 0
    ? {
        Conflicts: error.conflicts.map(toConflictRecord),
        Alternatives: error.alternatives.map(toAlternativeRecord),
      }
    : {};
