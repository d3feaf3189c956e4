/**
 * Rules for door signs. A door sign creates bookings of its rooms that begin now, and checks in, extends and releases the
 * present booking of any organizer.
 */

import { isDisplay } from '../access.ts';
import type { Viewer } from '../context.ts';
import { Conflict, type FieldError, InvalidInput, memberFault } from '../errors.ts';
import { minute } from '../time/durations.ts';
import type { BookingKind, NewBooking } from './booking.ts';
import { longestMinutes, shortestMinutes } from './walk-in.ts';

/** How far from now a booking may begin: allows for clocks that differ and for repeated requests. */
const mostFromNowMinutes = 5;
const inWords = { shortest: `${shortestMinutes} minutes`, longest: `${longestMinutes / 60} hours` };

/**
 * Checks a walk-in: a plain booking made at a display, from now on.
 * @throws InvalidInput with each fault: codes NotAtDisplay, NotNow, TooShort, TooLong, InPast
 */
export function checkWalkIn(viewer: Viewer, wanted: NewBooking, now: Date): void {
  const { start, end, organizerId = viewer.personId } = wanted;
  /** The members that a display may not choose. */
  const fixed: [name: string, isRight: boolean, rule: string][] = [
    ['Kind', wanted.kind === 'Booking', 'must be Booking at a display'],
    ['Status', wanted.status === 'Confirmed', 'must be Confirmed at a display'],
    ['IsPrivate', !wanted.isPrivate, 'must be false at a display'],
    ['SetupMinutes', wanted.setupMinutes === 0, 'must be 0 at a display'],
    ['TeardownMinutes', wanted.teardownMinutes === 0, 'must be 0 at a display'],
    ['OrganizerId', organizerId === viewer.personId, 'must be the display itself'],
    ['RecurrenceRule', wanted.recurrenceRule === undefined, 'must not be sent by a display, which makes no series'],
  ];
  const faults: FieldError[] = [];
  const fault = (...about: Parameters<typeof memberFault>) => faults.push(memberFault(...about));
  for (const [name, isRight, rule] of fixed)
    if (!isRight) fault(name, 'NotAtDisplay', `${rule}; leave it out, or use the PIN of a user`);
  const length = end.getTime() - start.getTime();
  if (Math.abs(start.getTime() - now.getTime()) > mostFromNowMinutes * minute)
    fault('Start', 'NotNow', `must be within ${mostFromNowMinutes} minutes of now, which is ${now.toISOString()}`);
  if (length < shortestMinutes * minute) fault('End', 'TooShort', `must be at least ${inWords.shortest} after Start`);
  else if (length > longestMinutes * minute)
    fault('End', 'TooLong', `must be at most ${inWords.longest} after Start at a display`);
  else if (end <= now) fault('End', 'InPast', 'is over already; book from now on');
  if (faults.length > 0) throw InvalidInput.of(...faults);
}

type DoorBooking = {
  start: Date;
  end: Date;
  setupMinutes: number;
  teardownMinutes: number;
  checkInFrom: Date | null;
  checkInUntil: Date | null;
};

/** @throws Conflict at a display for a booking that neither occupies its room now nor waits for a check-in */
export function checkIsOn(viewer: Viewer, booking: DoorBooking, now: Date): void {
  if (!isDisplay(viewer)) return;
  const { start, end, setupMinutes, teardownMinutes, checkInFrom, checkInUntil } = booking;
  const isNow = (from: number, to: number) => from <= now.getTime() && now.getTime() < to;
  if (isNow(start.getTime() - setupMinutes * minute, end.getTime() + teardownMinutes * minute)) return;
  if (checkInFrom && checkInUntil && isNow(checkInFrom.getTime(), checkInUntil.getTime())) return;
  throw Conflict.because(
    'NotBegun',
    `This booking has not begun, it begins at ${start.toISOString()}; ask its organizer, or come back then.`,
  );
}

/** @throws InvalidInput at a display for an end further from now than its longest booking */
export function checkEndAtDoor(viewer: Viewer, end: Date, now: Date): void {
  if (!isDisplay(viewer) || end.getTime() - now.getTime() <= longestMinutes * minute) return;
  const text = `at a display, a booking may end at most ${inWords.longest} from now; use the PIN of a user`;
  throw InvalidInput.of(memberFault('Minutes', 'TooLong', text));
}

/** The refusal of a change that a display may not make. */
export function refuseAtDoor(kind: Exclude<BookingKind, 'Booking'>): Conflict {
  const remedies = {
    Lesson: 'This is a lesson: only those who plan the timetable may change it. Choose another room, or ask them.',
    MailItem: 'This booking comes from a calendar: its organizer changes it there. Ask them.',
    Block: 'An Admin has closed the room for now; choose another room, or ask an Admin.',
  };
  const codes = { Lesson: 'IsLesson', MailItem: 'FromMailServer', Block: 'IsBlock' };
  return Conflict.because(codes[kind], remedies[kind]);
}
