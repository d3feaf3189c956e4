/** Computes when a booking can be checked in. `checkIn` and `releaseNoShows` in attendance.ts enforce the limit. */
import { minute } from '../time/durations.ts';
import type { BookingKind } from './booking.ts';
import type { Held } from './held.ts';
import type { BookableRoom } from './occupation.ts';

const checkInOpens = 15 * minute;

/**
 * The time for the check-in. It begins 15 minutes before the start and lasts until `checkInMinutes` after the start, or
 * after `now` for a booking that has begun, but not beyond the end. Null for a booking without check-in or that is over.
 */
export function checkInOf(
  { checkInMinutes }: Pick<BookableRoom, 'checkInMinutes'>,
  kind: BookingKind,
  { start, end }: { start: Date; end: Date },
  now: Date,
): { from: Date; until: Date } | null {
  if (checkInMinutes === null || kind !== 'Booking' || end <= now) return null;
  const begins = Math.max(start.getTime(), now.getTime());
  return {
    from: new Date(start.getTime() - checkInOpens),
    until: new Date(Math.min(begins + checkInMinutes * minute, end.getTime())),
  };
}

/**
 * The time for the check-in of a changed booking. A new start or resource resets it, unless the booking is checked in;
 * a new end sets the limit as if the booking had been made with this end.
 * @param asked `checkInOf` for the changed booking, as of the given time
 */
export function checkInAfter(
  old: Held,
  to: Held,
  now: Date,
  asked: (at: Date) => ReturnType<typeof checkInOf>,
): Pick<Held, 'checkInFrom' | 'checkInUntil'> {
  const { checkInFrom, checkInUntil, checkedInAt, createdAt } = old;
  const isMoved = to.resourceId !== old.resourceId || to.start.getTime() !== old.start.getTime();
  if (isMoved && !checkedInAt) {
    const anew = asked(now);
    return { checkInFrom: anew?.from ?? null, checkInUntil: anew?.until ?? null };
  }
  if (!checkInUntil) return { checkInFrom, checkInUntil };
  const hasSameEnd = to.end.getTime() === old.end.getTime();
  const limit = checkedInAt || hasSameEnd ? null : asked(createdAt);
  const until = limit && limit.until > checkInUntil ? limit.until : checkInUntil;
  return { checkInFrom, checkInUntil: until > to.end ? to.end : until };
}
