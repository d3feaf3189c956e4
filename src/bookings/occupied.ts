/** The conflict of a booking whose place is taken: what is in its way, and where else it would be possible (contract 5.2). */
import { Conflict } from '../errors.ts';

/** A booking that stands in the way of a wanted one, as far as the caller may see it. */
export type RoomConflict = {
  bookingId: number;
  resourceId: number;
  kind: string;
  /** `Belegt` where it is private. */
  subject: string | null;
  /** From when to when it occupies the resource, setup and teardown included. */
  start: Date;
  end: Date;
  /** The start of the wanted booking, which for a series is one of many. */
  wantedStart: Date;
};

/** Where and when the wanted booking would be possible. */
export type Alternative = { resourceId: number; resourceName: string; start: Date; end: Date };

/** A booking was not made or moved because others are in its way. */
export class Occupied extends Conflict {
  readonly conflicts: readonly RoomConflict[];
  readonly alternatives: readonly Alternative[];
  constructor(message: string, conflicts: readonly RoomConflict[], alternatives: readonly Alternative[]) {
    super(message);
    this.conflicts = conflicts;
    this.alternatives = alternatives;
  }
}
