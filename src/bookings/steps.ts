/** The steps of a change: each booking before and after it. */
import { isDeepStrictEqual } from 'node:util';
import { mustAsk } from '../access.ts';
import type { Viewer } from '../context.ts';
import { Conflict, InvalidInput, memberFault } from '../errors.ts';
import type { BookingChanges, Scope } from './booking.ts';
import { checkInAfter, checkInOf } from './check-in.ts';
import { checkIsDecided, type Held, type Holding } from './held.ts';
import { type BookableRoom, occupiedBy } from './occupation.ts';
import { areOnSameDate, atSameClock } from './recurrence.ts';

/** A booking before and after its change. */
export type OldAndNew = { old: Held; to: Held };

export function roomOf(rooms: readonly BookableRoom[], resourceId: number): BookableRoom {
  const room = rooms.find(({ id }) => id === resourceId);
  if (!room)
    throw Conflict.because('Overtaken', 'A booking got another resource at this moment; send the same request again.');
  return room;
}

/**
 * Lists the changes of the bookings, without those that already have the requested values.
 * @throws InvalidInput when a series would move to another date; Conflict for another status of a request
 */
export function planSteps(
  viewer: Viewer,
  rooms: readonly BookableRoom[],
  { named, meant, now }: Holding,
  changes: BookingChanges,
  scope: Scope,
): OldAndNew[] {
  const { start, end, resourceId } = { ...named, ...changes };
  const hasNewTimes = !isSame(start, named.start) || !isSame(end, named.end);
  if (hasNewTimes && scope !== 'This' && named.seriesId !== null) {
    const { timeZone } = roomOf(rooms, resourceId);
    if (!areOnSameDate(named.start, start, timeZone)) throw otherDate();
  }
  if (changes.status !== undefined) checkIsDecided(named);
  const timesOf = (old: Held, timeZone: string) =>
    old.id === named.id ? { start, end } : atSameClock(old.start, start, end, timeZone);
  const steps = meant.map((old) => {
    const to: Held = { ...old, ...changes, start: old.start, end: old.end };
    if (hasNewTimes) Object.assign(to, timesOf(old, roomOf(rooms, to.resourceId).timeZone));
    return stepTo(viewer, rooms, old, to, now);
  });
  return steps.filter(({ old, to }) => !isDeepStrictEqual(old, to));
}

/** The step from a booking to what is wanted, with the approval and the check-in that it then needs. */
export function stepTo(viewer: Viewer, rooms: readonly BookableRoom[], old: Held, wanted: Held, now: Date): OldAndNew {
  const room = () => roomOf(rooms, wanted.resourceId);
  const isRequest = old.status === 'Requested' || (takesMore(old, wanted) && mustAsk(viewer, room().policy));
  if (isRequest) return { old, to: { ...wanted, ...asRequest } };
  const asked = (at: Date) => checkInOf(room(), wanted.kind, wanted, at);
  return { old, to: { ...wanted, ...checkInAfter(old, wanted, now, asked) } };
}

/** The members of a booking that waits for approval; a change of its place voids an earlier decision. */
const asRequest = {
  status: 'Requested',
  decision: null,
  checkInFrom: null,
  checkInUntil: null,
  checkedInAt: null,
} as const;

/** Whether a booking occupies a resource or time after its change that it did not occupy before. */
export function takesMore(old: Held, to: Held): boolean {
  const [before, after] = [occupiedBy(old), occupiedBy(to)];
  return old.resourceId !== to.resourceId || after.from < before.from || after.to > before.to;
}

export const isSame = (one: Date, other: Date) => one.getTime() === other.getTime();

function otherDate(): InvalidInput {
  const text =
    'must keep its local date, because the rule of the series determines the dates; cancel the following bookings and create another series';
  return InvalidInput.of(memberFault('Start', 'OtherDate', text));
}

export function isMoved({ old, to }: OldAndNew): boolean {
  const places = [old, to].map((booking) => ({ ...occupiedBy(booking), resourceId: booking.resourceId }));
  return hasOtherTimes({ old, to }) || !isDeepStrictEqual(places[0], places[1]);
}

export const hasOtherTimes = ({ old, to }: OldAndNew) => !isSame(old.start, to.start) || !isSame(old.end, to.end);
