/** The conflicts and alternatives of a 409 on the wire (contract 5.2): REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { id, instant } from '../fields.ts';
import { type Alternative, Occupied, type RoomConflict } from './occupied.ts';
import { bookingKind } from './wire.ts';

export const roomConflict = z
  .object({
    BookingId: id('booking', 'The id of the booking in the way.'),
    ResourceId: id('resource', 'The resource that it occupies.'),
    Kind: bookingKind.meta({ description: 'The kind of the booking.' }),
    Subject: z.string().max(4_000).nullable().meta({ description: 'The subject; Belegt if it is private.' }),
    Start: instant('When it begins to occupy the resource, setup included.'),
    End: instant('When it no longer occupies the resource, teardown included.'),
    WantedStart: instant('The start of the wanted booking that it conflicts with, one of many in a series.'),
  })
  .meta({ id: 'RoomConflict', description: 'A booking in the way of a wanted one.' });

export const alternative = z
  .object({
    ResourceId: id('resource', 'The resource.'),
    ResourceName: z.string().max(200).meta({ description: 'Its name.' }),
    Start: instant('When it is free and open.'),
    End: instant('When the booking would end.'),
  })
  .meta({ id: 'Alternative', description: 'A possible place and time for the wanted booking.' });

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
    .meta({ description: 'For a 409 about a booking: the bookings in its way, the first 100.' }),
  Alternatives: z
    .array(alternative)
    .max(5)
    .optional()
    .meta({ description: 'With `Conflicts`: possible places and times.' }),
};

export const toOccupiedMembers = (error: Error): object =>
  error instanceof Occupied && error.conflicts.length > 0
    ? {
        Conflicts: error.conflicts.map(toConflictRecord),
        Alternatives: error.alternatives.map(toAlternativeRecord),
      }
    : {};
