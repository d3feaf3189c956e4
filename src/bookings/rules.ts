/** Rules that apply to new and to changed bookings (contract 5.2). */
import { mayBookAnytime } from '../access.ts';
import type { Viewer } from '../context.ts';
import { Conflict, type FieldError, InvalidInput } from '../errors.ts';
import { dayLength } from '../time/days.ts';
import type { BookingKind } from './booking.ts';
import { type BookableRoom, occupiedBy, type Wanted } from './occupation.ts';

const mostDays: Partial<Record<BookingKind, number>> = { Booking: 1, Block: 366 };
const earliest = new Date('2000-01-01T00:00:00Z');
const mostDaysAhead = 3 * 366;

/**
 * Checks the start and the length of a booking, and that it is not over; Admins may book the past.
 * @throws InvalidInput with each fault: codes InvalidTime, TooLong, InPast
 */
export function checkTimes(
  viewer: Viewer,
  kind: BookingKind,
  { start, end }: { start: Date; end: Date },
  now: Date,
): void {
  const faults: FieldError[] = [];
  const fault = (field: 'Start' | 'End', code: string, text: string) =>
    faults.push({ field, pointer: `/${field}`, code, message: `${field}: ${text}.` });
  const most = mostDays[kind] ?? 1;
  if (start < earliest || start.getTime() > now.getTime() + mostDaysAhead * dayLength)
    fault('Start', 'InvalidTime', 'must be between the year 2000 and three years from now');
  if (end <= start) fault('End', 'InvalidTime', 'must be after Start');
  else if (end.getTime() - start.getTime() > most * dayLength)
    fault('End', 'TooLong', `must be at most ${most === 1 ? '24 hours' : `${most} days`} after Start`);
  else if (!mayBookAnytime(viewer) && end <= now)
    fault('End', 'InPast', 'is over already; only an Admin books what has been');
  if (faults.length > 0) throw new InvalidInput(faults.map(({ message }) => message).join(' '), faults);
}

/** @throws Conflict for an inactive resource */
export function checkActive({ name, active }: BookableRoom): void {
  if (!active) throw new Conflict(`The resource ${name} is not active; choose another.`);
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
  const message = 'End: bookings of the series would overlap each other; make them shorter.';
  throw new InvalidInput(message, [{ field: 'End', pointer: '/End', code: 'OverlapsItself', message }]);
}
