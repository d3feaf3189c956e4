/** By when a booking must be checked in. `checkIn` and `releaseNoShows` in attendance.ts keep to it. */
import type { BookingKind } from './booking.ts';
import type { Held } from './held.ts';
import type { BookableRoom } from './occupation.ts';

const minute = 60_000;
const checkInOpens = 15 * minute;

/**
 * When a booking must be checked in: from 15 minutes before its start until the minutes of its resource after it, or after
 * `now` for one that has begun; at its end at the latest. Null where nobody checks in, also for what is over.
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
 * The same for a booking that changes: computed anew where the start or the resource changes and nobody has come yet; and
 * where the end changes, as if the booking had been made with this end.
 * @param asked what `checkInOf` says of the booking as it becomes, at that time
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
