/** Bookings and instants in words. */
import { clockTime, localDay, localTime, type ZoneOffsets } from './clock.ts';
import type { ShownRoom, ShownSlot } from './frames.ts';
import type { Text } from './german.ts';
import type { Sight } from './sight.ts';

const date = (text: Text, offsets: ZoneOffsets, instant: number) => {
  const local = localTime(offsets, instant);
  return text.date(local.getUTCDate(), local.getUTCMonth() + 1);
};
const weekday = (offsets: ZoneOffsets, instant: number) => localTime(offsets, instant).getUTCDay();

export function dateLine(text: Text, offsets: ZoneOffsets, instant: number): string {
  return `${text.days[weekday(offsets, instant)]}, ${date(text, offsets, instant)}`;
}

/** A clock time, with its day unless that is `said`: today, or the day of a heading. */
export function instantLine(text: Text, offsets: ZoneOffsets, instant: number, now: number, said = now): string {
  const time = clockTime(offsets, instant);
  if (localDay(offsets, instant) === localDay(offsets, said)) return time;
  const days = localDay(offsets, instant) - localDay(offsets, now);
  if (days === 0) return text.todayAt(time);
  if (days === 1) return text.tomorrowAt(time);
  const named = days > 1 && days < 7 ? text.weekdays[weekday(offsets, instant)] : date(text, offsets, instant);
  return `${named} ${time}`;
}

/** The heading of the bookings of a day. */
export function dayLine(text: Text, offsets: ZoneOffsets, instant: number, now: number): string {
  const days = localDay(offsets, instant) - localDay(offsets, now);
  if (days === 0) return text.today;
  return days === 1 ? text.tomorrow : dateLine(text, offsets, instant);
}

/** Said where no further booking of today is known. @param hasLater whether one of a later day is */
export function noMoreLine(
  text: Text,
  { zoneOffsets, end }: Pick<ShownRoom, 'zoneOffsets' | 'end'>,
  hasLater: boolean,
  now: number,
): string {
  if (now >= end) return text.planUnknown;
  const isLastDay = localDay(zoneOffsets, now) === localDay(zoneOffsets, end - 1);
  return hasLater || isLastDay ? text.nothingToday : text.nothing;
}

/** The line below the state. */
export function untilLine(
  text: Text,
  { zoneOffsets, asOf, open }: Pick<ShownRoom, 'zoneOffsets' | 'asOf' | 'open'>,
  { status, until, current }: Sight,
  now: number,
): string {
  const at = (instant: number) => instantLine(text, zoneOffsets, instant, now);
  if (status === 'UNKNOWN') return text.noSureData(at(asOf));
  if (until === null) return '';
  if (status === 'CHECK_IN_DUE') return text.checkInUntil(at(until));
  // A booking before that does not open the room.
  if (status === 'CLOSED' && open.some(({ start }) => start === until)) return text.opens(at(until));
  if (status === 'STARTING_SOON') return text.freeUntil(at(until));
  const line = text.until(at(until));
  return current && current.start > now && status === 'BUSY' ? `${text.reserved(at(current.start))}, ${line}` : line;
}

export type Span = { start: number; end: number };

/** Start and end, each with its day if that is needed. */
export function timesLine(text: Text, offsets: ZoneOffsets, { start, end }: Span, now: number, said = now): string {
  const from = instantLine(text, offsets, start, now, said);
  // An end at midnight belongs to the day before.
  const isSameDay = localDay(offsets, end - 1) === localDay(offsets, start);
  return text.range(from, isSameDay ? clockTime(offsets, end) : instantLine(text, offsets, end, now, start));
}

/** The subject, or the kind where the subject may not be shown. */
export function titleLine(text: Text, slot: ShownSlot): string {
  return slot.subject || text.kinds[slot.kind];
}

/** Classes, and teachers or else the organizer. */
export function peopleLine({ classes, teachers, organizer, change }: ShownSlot): string {
  const leaders = change?.kind === 'Substituted' ? [] : teachers?.length ? teachers : organizer ? [organizer] : [];
  return [...(classes ?? []), ...leaders].join(' · ');
}

/** A new value (`says`), and the former one (`was`), which is struck out. */
export type ChangePart = { says: string; was: string };

/** The changes since the first plan. @param said times of this day are written without their date */
export function changeParts(text: Text, offsets: ZoneOffsets, slot: ShownSlot, now: number, said = now): ChangePart[] {
  const { change, start, end, teachers } = slot;
  if (!change) return [];
  const { kind, roomBefore, roomNow, startBefore, endBefore, startNow, endNow, teachersBefore } = change;
  const times = (span: Span) => timesLine(text, offsets, span, now, said);
  if (kind === 'Cancelled') return [{ says: text.cancelled, was: '' }];
  if (kind === 'MovedAway') {
    const span = times({ start: startNow ?? start, end: endNow ?? end });
    return [{ says: roomNow ? text.movedTo(`${roomNow}, ${span}`) : text.movedAway, was: '' }];
  }
  const parts: ChangePart[] = [];
  const isAtAnotherTime = startBefore !== null && endBefore !== null && (startBefore !== start || endBefore !== end);
  const before = isAtAnotherTime ? times({ start: startBefore, end: endBefore }) : '';
  if (kind === 'MovedHere') parts.push({ says: text.movedHere, was: [roomBefore, before].filter(Boolean).join(', ') });
  else if (before) parts.push({ says: text.rescheduled, was: before });
  const substitute = teachers?.length ? text.substituted(teachers.join(', ')) : '';
  if (teachersBefore?.length)
    parts.push({ says: [substitute, text.insteadOf].filter(Boolean).join(', '), was: teachersBefore.join(', ') });
  else if (kind === 'Substituted' && substitute) parts.push({ says: substitute, was: '' });
  return parts;
}

/** The last instant at which somebody may look for the lesson: if it has moved to a later time, the end of that. */
export const endOf = ({ end, change }: ShownSlot) => Math.max(end, change?.endNow ?? end);
