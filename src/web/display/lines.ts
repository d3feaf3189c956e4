/** Bookings and instants in words. */
import { clockTime, localDay, localTime, type ZoneOffsets } from './clock.ts';
import type { ShownSlot } from './frames.ts';
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

/** A clock time, with its day where that is not today. */
export function instantLine(text: Text, offsets: ZoneOffsets, instant: number, now: number): string {
  const time = clockTime(offsets, instant);
  const days = localDay(offsets, instant) - localDay(offsets, now);
  if (days === 0) return time;
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

/** The line below the state. */
export function untilLine(text: Text, offsets: ZoneOffsets, sight: Sight, asOf: number, now: number): string {
  const { status, until, current } = sight;
  const at = (instant: number) => instantLine(text, offsets, instant, now);
  if (status === 'UNKNOWN') return text.noSureData(at(asOf));
  if (until === null) return '';
  if (status === 'CHECK_IN_DUE') return text.checkInUntil(at(until));
  if (status === 'CLOSED') return text.opens(at(until));
  const line = text.until(at(until));
  return current && current.start > now && status === 'BUSY' ? `${text.reserved(at(current.start))}, ${line}` : line;
}

export function timesLine(text: Text, offsets: ZoneOffsets, { start, end }: { start: number; end: number }): string {
  return text.range(clockTime(offsets, start), clockTime(offsets, end));
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

/** What has changed since the first plan; empty where nothing has. */
export function changeLine(text: Text, offsets: ZoneOffsets, slot: ShownSlot): string {
  const { change } = slot;
  if (!change) return '';
  const { kind, roomBefore, roomNow, startBefore, endBefore, teachersBefore } = change;
  const before =
    startBefore !== null && endBefore !== null && (startBefore !== slot.start || endBefore !== slot.end)
      ? timesLine(text, offsets, { start: startBefore, end: endBefore })
      : '';
  const parts: string[] = [];
  if (kind === 'Cancelled') parts.push(text.cancelled);
  if (kind === 'MovedAway') parts.push(roomNow ? text.movedTo(roomNow) : text.movedAway);
  if (kind === 'MovedHere' && roomBefore) parts.push(text.movedFrom(roomBefore));
  if (before && (kind === 'Rescheduled' || kind === 'MovedHere')) parts.push(text.rescheduled(before));
  if (teachersBefore?.length && kind !== 'Cancelled' && kind !== 'MovedAway')
    parts.push(
      [
        slot.teachers?.length ? text.substituted(slot.teachers.join(', ')) : '',
        text.insteadOf(teachersBefore.join(', ')),
      ]
        .filter(Boolean)
        .join(' '),
    );
  else if (kind === 'Substituted' && slot.teachers?.length) parts.push(text.substituted(slot.teachers.join(', ')));
  return parts.join(' · ');
}
