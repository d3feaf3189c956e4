/** The error for a place that is taken, with the bookings in the way and alternatives (contract 5.2). */
import { Conflict, stateFault } from '../errors.ts';
import type { BookingKind } from './booking.ts';

/** A booking in the way of a wanted one, as far as the viewer may see it. */
export type RoomConflict = {
  bookingId: number;
  resourceId: number;
  kind: BookingKind;
  /** `Belegt` when the booking is private. */
  subject: string | null;
  /** Setup and teardown included. */
  start: Date;
  end: Date;
  /** The start of the wanted booking, one of many for a series. */
  wantedStart: Date;
};

/** A place where the wanted booking would be possible. */
export type Alternative = { resourceId: number; resourceName: string; start: Date; end: Date };

export class Occupied extends Conflict {
  readonly conflicts: readonly RoomConflict[];
  readonly alternatives: readonly Alternative[];
  constructor(message: string, conflicts: readonly RoomConflict[], alternatives: readonly Alternative[]) {
    super(message, [stateFault('RoomOccupied', message)]);
    this.conflicts = conflicts;
    this.alternatives = alternatives;
  }
}
