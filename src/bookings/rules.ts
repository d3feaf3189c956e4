/** Rules that apply to new and to changed bookings (contract 5.2). */

import { limitsFor, mayBookAnytime, mustAsk } from '../access.ts';
import type { Viewer } from '../context.ts';
import { Conflict, type FieldError, InvalidInput, memberFault } from '../errors.ts';
import { addDays, dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { localDateOf, startOfDate } from '../time/zones.ts';
import type { BookingKind } from './booking.ts';
import { type BookableRoom, occupiedBy, type Wanted } from './occupation.ts';

const mostDays: Partial<Record<BookingKind, number>> = { Booking: 1, Block: 366 };
const earliest = new Date('2000-01-01T00:00:00Z');
const mostDaysAhead = 3 * 366;

/** The faults of the start and the length of a booking, and of one that is over; Admins may book the past. */
export function listTimeFaults(
  viewer: Viewer,
  kind: BookingKind,
  { start, end }: { start: Date; end: Date },
  now: Date,
): FieldError[] {
  const faults: FieldError[] = [];
  const fault = (...about: Parameters<typeof memberFault>) => faults.push(memberFault(...about));
  const most = mostDays[kind] ?? 1;
  if (start < earliest || start.getTime() > now.getTime() + mostDaysAhead * dayLength)
    fault('Start', 'InvalidTime', 'must be between the year 2000 and three years from now');
  if (end <= start) fault('End', 'InvalidTime', 'must be after Start');
  else if (end.getTime() - start.getTime() > most * dayLength)
    fault('End', 'TooLong', `must be at most ${most === 1 ? '24 hours' : `${most} days`} after Start`, { days: most });
  else if (!mayBookAnytime(viewer) && end <= now)
    fault('End', 'InPast', 'is over already; only an Admin may book in the past');
  return faults;
}

/** @throws InvalidInput with each fault: codes InvalidTime, TooLong, InPast */
export function checkTimes(...about: Parameters<typeof listTimeFaults>): void {
  const faults = listTimeFaults(...about);
  if (faults.length > 0) throw InvalidInput.of(...faults);
}

/** What a change makes new; for a new booking, everything. */
type News = {
  /** The starts or the resource. */
  starts: boolean;
  /** The starts, the ends or the resource. */
  times: boolean;
  /** Whether the bookings occupy a resource or time that they did not occupy before. */
  takesMore: boolean;
};
const allNew: News = { starts: true, times: true, takesMore: true };

/**
 * The faults of places by the policy of their resource: how early, how far ahead, and how long. Setup and teardown do not
 * count. For a series, only the first place that breaks a rule is reported.
 */
export function listLimitFaults(
  viewer: Viewer,
  { policy, timeZone }: Pick<BookableRoom, 'policy' | 'timeZone'>,
  organizerId: number | null,
  places: readonly { start: Date; end: Date }[],
  now: Date,
  news = allNew,
): FieldError[] {
  const { leadMinutes, aheadDays, longestMinutes } = limitsFor(viewer, policy, organizerId);
  const rule = `under the policy ${policy?.name}`;
  const limit = { policy: policy?.name };
  const faults: FieldError[] = [];
  const fault = (...about: Parameters<typeof memberFault>) => faults.push(memberFault(...about));
  const from = new Date(now.getTime() + (leadMinutes ?? 0) * minute);
  const early = news.starts && leadMinutes !== null && places.find(({ start }) => start < from);
  if (early)
    fault(
      'Start',
      'TooSoon',
      `${early.start.toISOString()} must be at least ${inWords(leadMinutes)} from now ${rule}; choose ${from.toISOString()} or later`,
      { ...limit, minutes: leadMinutes, start: early.start, earliest: from },
    );
  else if (news.takesMore && mustAsk(viewer, policy) && places.some(({ start }) => start <= now))
    fault(
      'Start',
      'TooSoon',
      `must be after now, because the booking must be approved before it begins ${rule}`,
      limit,
    );
  if (news.starts && aheadDays !== null) {
    const until = startOfDate(addDays(localDateOf(now, timeZone), aheadDays + 1), timeZone);
    const far = places.find(({ start }) => start >= until);
    if (far) {
      const bookableFrom = addDays(localDateOf(far.start, timeZone), -aheadDays);
      fault(
        'Start',
        'TooFarAhead',
        `${far.start.toISOString()} must be at most ${count(aheadDays, 'day')} ahead ${rule}; it can be booked from ${bookableFrom}`,
        { ...limit, days: aheadDays, start: far.start, bookableFrom },
      );
    }
  }
  if (
    news.times &&
    longestMinutes !== null &&
    places.some(({ start, end }) => end.getTime() - start.getTime() > longestMinutes * minute)
  )
    fault('End', 'TooLong', `must be at most ${inWords(longestMinutes)} after Start ${rule}`, {
      ...limit,
      minutes: longestMinutes,
    });
  return faults;
}

/** @throws InvalidInput with each fault: codes TooSoon, TooFarAhead, TooLong */
export function checkLimits(...about: Parameters<typeof listLimitFaults>): void {
  const faults = listLimitFaults(...about);
  if (faults.length > 0) throw InvalidInput.of(...faults);
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** Minutes as whole days, hours or minutes. */
export function inWords(minutes: number): string {
  if (minutes > 0 && minutes % 1_440 === 0) return count(minutes / 1_440, 'day');
  return minutes > 0 && minutes % 60 === 0 ? count(minutes / 60, 'hour') : count(Math.round(minutes), 'minute');
}

/** @param field the member that names the resource, if one does. @throws Conflict for an inactive resource */
export function checkActive({ name, active }: BookableRoom, field?: 'ResourceId'): void {
  if (!active) throw Conflict.because('InactiveResource', `The resource ${name} is not active; choose another.`, field);
}

/** @throws InvalidInput when two bookings of a series would occupy a resource at the same time */
export function checkApart(series: readonly Wanted[]): void {
  const places = series.map((wanted) => ({ resourceId: wanted.resourceId, ...occupiedBy(wanted) }));
  places.sort((one, other) => one.resourceId - other.resourceId || one.from.getTime() - other.from.getTime());
  const overlaps = places.some(({ resourceId, from }, at) => {
    const before = places[at - 1];
    return before?.resourceId === resourceId && before.to > from;
  });
  if (!overlaps) return;
  const text = 'bookings of the series would overlap each other; make them shorter';
  throw InvalidInput.of(memberFault('End', 'OverlapsItself', text));
}
