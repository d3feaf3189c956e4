/** Applies a change that somebody has made to an item on the mail server to its booking, by the rules of bookings. */
import { cancelBooking, changeBooking } from '../bookings/service.ts';
import type { Database } from '../db/database.ts';
import { DomainError, PreconditionFailed, Unavailable } from '../errors.ts';
import { findBooker } from '../identity/service.ts';
import type { WrittenItem } from '../mail-servers/service.ts';
import { minute } from '../time/durations.ts';
import { saysSame, type WantedItem, type WrittenRow } from './written.ts';

export type FollowingBooking = {
  bookingId: number;
  version: number;
  /** The person on whose behalf the booking is changed: its organizer, or else its creator. */
  bookerId: number | null;
  setupMinutes: number;
  teardownMinutes: number;
};

/** A change that somebody has made to an item, which its booking may follow; null: the item was deleted. */
export type Edit = { start: Date; end: Date; subject: string | undefined } | null;

/** @returns undefined if nobody has changed the item, or the booking cannot follow: a change made here takes precedence */
export function editOf(
  row: WrittenRow,
  found: { item: WrittenItem } | undefined,
  wanted: WantedItem | undefined,
): Edit | undefined {
  if (row.state !== 'Doubtful' || !wanted?.mayFollow || !saysSame(row, wanted)) return undefined;
  if (!found) return null;
  const { start, end, subject } = found.item;
  // We always write a subject, so an item without one is something else.
  if (subject === '') return undefined;
  const isRenamed = wanted.hasOwnSubject && subject !== wanted.subject;
  const isMoved = start.getTime() !== wanted.start.getTime() || end.getTime() !== wanted.end.getTime();
  return isRenamed || isMoved ? { start, end, subject: isRenamed ? subject : undefined } : undefined;
}

const minutesLater = (at: Date, minutes: number) => new Date(at.getTime() + minutes * minute);

/** @returns 'Refused': the rules of bookings do not allow it; 'Later': others are writing the booking or its room */
export async function takeOver(
  db: Database,
  mandatorId: number,
  { bookingId, version, bookerId, setupMinutes, teardownMinutes }: FollowingBooking,
  edit: Edit,
): Promise<'Taken' | 'Refused' | 'Later'> {
  const viewer = bookerId === null ? undefined : await findBooker(db, mandatorId, bookerId);
  if (!viewer) return 'Refused';
  try {
    if (edit === null) await cancelBooking(db, viewer, bookingId, [version], 'This');
    else {
      const { subject } = edit;
      const start = minutesLater(edit.start, setupMinutes);
      const end = minutesLater(edit.end, -teardownMinutes);
      const changes = { start, end, ...(subject !== undefined && { subject }) };
      await changeBooking(db, viewer, bookingId, [version], changes, { scope: 'This', conflictHandling: 'Fail' });
    }
    return 'Taken';
  } catch (error) {
    if (error instanceof PreconditionFailed || error instanceof Unavailable) return 'Later';
    if (error instanceof DomainError) return 'Refused';
    throw error;
  }
}
