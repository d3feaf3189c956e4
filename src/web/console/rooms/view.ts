/** The content of a room's row: its bookings in lanes, its free times, and when it is closed. */

import { addDays } from '../../../time/days.ts';
import { line } from '../../bidi.ts';
import { clockText, dayMinutes, dayText, makeRuler, timeText } from '../clock.ts';
import { personName } from '../person-name.ts';
import { t } from '../texts/rooms.ts';
import { fractionAt, layInLanes, type Scale, type Span, shownSpans, subtract } from './geometry.ts';
import { type Booking, type Room, type Store, spanOf } from './store.ts';

/** A place where the cursor can be. Minutes are local, since the first midnight. */
export type Stop = Span & {
  key: string;
  booking?: Booking;
  /** What the clocks show at the end of the booking. */
  until?: number;
  lane: number;
  lanes: number;
};

const rulers = new Map<string, (at: number) => number>();
export function rulerOf(
  { timeZone }: Pick<Room, 'timeZone'>,
  { day, days }: Pick<Store, 'day' | 'days'>,
): (at: number) => number {
  const key = `${timeZone} ${day} ${days}`;
  let found = rulers.get(key);
  if (!found) rulers.set(key, (found = makeRuler(timeZone, day, days)));
  return found;
}

const shortest = 15;

/** @returns also `until`, what the clocks show at its end */
export function localSpan(booking: Booking, shown: Pick<Store, 'day' | 'days'>): Span & { until: number } {
  const ruler = rulerOf(booking, shown);
  const { start, end } = spanOf(booking);
  const [from, until] = [ruler(start), ruler(end)];
  // If the clocks go back meanwhile, its local end may be before its start.
  return { start: from, end: until > from ? until : from + shortest, until };
}

/** The bookings and free times of a row, in their order. */
export function stopsOf(room: Room, store: Store, scale: Scale): Stop[] {
  const ruler = rulerOf(room, store);
  const shown = shownSpans(scale);
  const isShown = ({ start, end }: Span) => shown.some((day) => start < day.end && end > day.start);
  const spans = store.ofRoom(room.id).value.map((booking) => ({ ...localSpan(booking, store), booking }));
  const laid = layInLanes(spans.filter(isShown)).map(({ item, lane, lanes }) => ({
    ...item,
    lane,
    lanes,
    key: `b${item.booking.id}`,
  }));
  const hours = store.hoursOf(room.id).value;
  const open = hours?.map(({ start, end }) => ({ start: ruler(start), end: ruler(end) }));
  const within = open ? subtract(shown, subtract(shown, open)) : shown;
  const free = subtract(within, spans)
    .filter(({ start, end }) => end - start >= shortest)
    .map((span) => ({ ...span, key: `f${span.start}`, lane: 0, lanes: 1 }));
  return [...laid, ...free].sort((one, other) => one.start - other.start);
}

/** When a room is closed, drawn as a background: that needs no elements. */
export function closedBackground(room: Room, store: Store, scale: Scale): string {
  const hours = store.hoursOf(room.id).value;
  if (!hours) return 'none';
  const ruler = rulerOf(room, store);
  const open = hours.map(({ start, end }) => ({ start: ruler(start), end: ruler(end) }));
  const closed = subtract(shownSpans(scale), open);
  if (closed.length === 0) return 'none';
  const percent = (minutes: number) => `${(fractionAt(scale, minutes) * 100).toFixed(3)}%`;
  const stops = closed.flatMap(({ start, end }) => {
    // The end of a day must not become the start of the next.
    const [left, right] = [percent(start), percent(end % dayMinutes === 0 ? end - 0.01 : end)];
    return [`transparent ${left}`, `var(--closed) ${left}`, `var(--closed) ${right}`, `transparent ${right}`];
  });
  return `linear-gradient(to right, ${stops.join(', ')})`;
}

export const rangeText = ({ start, end }: Span): string => `${clockText(start)}–${clockText(end)}`;

/** The times by the clock. */
export function timesOf({ start, end, until = end, booking }: Stop): string {
  if (!booking) return rangeText({ start, end });
  const at = (minutes: number, instant: string) => timeText(booking.timeZone, Date.parse(instant), clockText(minutes));
  return `${at(start, booking.start)}–${at(until, booking.end)}`;
}

export function subjectOf({ subject, lessonSummary }: Booking): string {
  return subject ?? lessonSummary?.subject ?? t().noSubject;
}

export const statusText = ({ status, lessonSummary, leaving }: Booking): string =>
  (leaving && t().leaving[leaving]) ||
  t().statuses[status] ||
  (lessonSummary ? t().lessonStatuses[lessonSummary.status] : '');

/** In a week, the day on which it begins. */
export const dayOf = ({ start }: Span, { day, days }: Pick<Store, 'day' | 'days'>): string =>
  days > 1 ? dayText(addDays(day, Math.floor(start / dayMinutes)), 'short') : '';

/** Where and when, for screen readers. */
export const placeText = ({ name }: Room, span: Span, shown: Pick<Store, 'day' | 'days'>): string =>
  [line`${name}, ${rangeText(span)}`, dayOf(span, shown)].filter(Boolean).join(', ');

export function stopText(stop: Stop, shown: Pick<Store, 'day' | 'days'>): string {
  const { booking } = stop;
  const texts = booking
    ? [timesOf(stop), subjectOf(booking), detailOf(booking), statusText(booking)]
    : [t().free(clockText(stop.start), clockText(stop.end))];
  return [...texts, dayOf(stop, shown)].filter(Boolean).join(', ');
}

export const organizerText = (organizer: Booking['organizer']): string | undefined =>
  organizer ? personName(organizer.displayName, organizer.personId ?? '') : undefined;

/** The line below the subject, if there is space: for whom. */
export function detailOf({ organizer, lessonSummary }: Booking): string {
  if (lessonSummary) return [...(lessonSummary.classes ?? []), ...(lessonSummary.teachers ?? [])].join(', ');
  return organizerText(organizer) ?? '';
}
