/** Says that the room is closed at that time, on a holiday or outside of its hours; Admins may still book it. */
import { addDays } from '../../../time/days.ts';
import { ask } from '../client.ts';
import { clockText, dayAt, daysBetween, dayText, instantOf, minutesAt } from '../clock.ts';
import { OpenTimesDocument } from '../generated/graphql.ts';
import { useAsked } from '../parts/asked.ts';
import { type Component, html } from '../parts/html.ts';
import { person } from '../session.ts';
import { t } from '../texts/closed-hint.ts';
import type { Span } from './geometry.ts';
import { type Room, spanOf } from './store.ts';

/** The most days that one call asks for. */
const mostDays = 366;
/** How many dates are listed. */
const mostNamed = 6;

/** Whether a span lies within open times, where adjacent ones count as one; undefined: always open. */
export function isOpenAt(open: readonly Span[] | undefined, { start, end }: Span): boolean {
  if (!open) return true;
  let covered = start;
  for (const span of open) if (span.start <= covered) covered = Math.max(covered, span.end);
  return covered >= end;
}

/** When the room is open on the days from `first` to `last`; undefined: always, as it has no weekly hours. */
async function readOpen({ id, locationId }: Room, first: string, last: string, stop: AbortSignal) {
  const open: Span[] = [];
  for (let from = first; from <= last; from = addDays(from, mostDays)) {
    const days = { from, to: [addDays(from, mostDays - 1), last].sort()[0] as string };
    const { resource } = await ask(OpenTimesDocument, { id, zoneOf: locationId, ...days }, stop);
    const hours = resource?.openingHours;
    if (!hours || hours.weekly.length === 0) return undefined;
    open.push(...hours.intervals.map(spanOf));
  }
  return open;
}

/** @param days those of all bookings of a series, or of the one booking; `start` and `end` are those of the first */
type ClosedHintProperties = { room: Room; days: readonly string[]; start: number; end: number };

export const ClosedHint: Component<ClosedHintProperties> = ({ room, days, start, end }) => {
  const { timeZone } = room;
  const first = days[0] ?? dayAt(timeZone, start);
  const nights = daysBetween(first, dayAt(timeZone, end - 1));
  // A night may have begun the day before.
  const [from, to] = [addDays(first, -1), addDays(days.at(-1) ?? first, nights)];
  const asked = useAsked((stop) => readOpen(room, from, to, stop), [room.id, from, to]);
  const open = asked.isLoading ? undefined : asked.data;
  if (!open) return null;
  const lasts = end - start;
  const startOn = (day: string) => (day === first ? start : instantOf(timeZone, day, minutesAt(timeZone, start)));
  const closed = days.filter((day) => !isOpenAt(open, { start: startOn(day), end: startOn(day) + lasts }));
  if (closed.length === 0) return null;
  const named = closed.slice(0, mostNamed).map((day) => dayText(day, 'short'));
  if (closed.length > mostNamed) named.push('…');
  const [midnight, next] = [instantOf(timeZone, first, 0), instantOf(timeZone, addDays(first, 1), 0)];
  const hours = open
    .filter((span) => span.start < next && span.end > midnight)
    .map((span) => [Math.max(span.start, midnight), Math.min(span.end, next)] as const)
    .map(([opens, closes]) => {
      const at = (instant: number) => clockText(minutesAt(timeZone, instant));
      return `${at(opens)}–${closes === next ? '24:00' : at(closes)}`;
    });
  const ofOne = hours.length > 0 ? t().inside(hours.join(', ')) : t().allDay;
  const told = days.length > 1 ? t().dates(closed.length, days.length, named.join('; ')) : ofOne;
  return html`<p class="hint" role="status">${told}${person.value?.role === 'Admin' && ` ${t().adminsMay}`}</p>`;
};
