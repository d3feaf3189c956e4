/** Which hours of each day the timeline shows: when rooms are open, and whatever is booked at other hours. */
import { computed, type ReadonlySignal } from '@preact/signals';
import { dayMinutes } from '../clock.ts';
import { type Scale, type Span, shownSpans } from './geometry.ts';
import type { Room, Store } from './store.ts';
import { localSpan, rulerOf } from './view.ts';

type Hours = Pick<Scale, 'from' | 'to'>;

/** Those of a room that is always open. */
const usual: Hours = { from: 7 * 60, to: 20 * 60 };

/** From the first opening to the last closing. */
function openHours(rooms: readonly Room[], store: Store): Hours {
  let [from, to] = [dayMinutes, 0];
  const include = (opens: number, closes: number) => {
    [from, to] = [Math.min(from, opens), Math.max(to, closes)];
  };
  for (const room of rooms) {
    const open = store.hoursOf(room.id).value;
    if (!open) include(usual.from, usual.to);
    const ruler = rulerOf(room, store);
    for (const { start, end } of open ?? []) {
      const [opens, closes] = [Math.max(0, ruler(start)), ruler(end)];
      if (closes > 0) include(opens % dayMinutes, closes - Math.floor(opens / dayMinutes) * dayMinutes);
    }
  }
  return from < to ? { from, to: Math.min(dayMinutes, to) } : usual;
}

/** With the hours of the bookings; what lasts for days is cut off at the edge, if it is seen at all. */
function withBooked(hours: Hours, bookings: readonly Span[], days: number): Hours {
  let { from, to } = hours;
  const seen = shownSpans({ days, ...hours });
  const wholeDays = shownSpans({ days, from: 0, to: dayMinutes });
  for (const { start, end } of bookings) {
    const meets = (span: Span) => start < span.end && end > span.start;
    if (end - start >= dayMinutes && seen.some(meets)) continue;
    for (const day of wholeDays.filter(meets)) {
      from = Math.min(from, Math.max(start, day.start) - day.start);
      to = Math.max(to, Math.min(end, day.end) - day.start);
    }
  }
  return { from, to };
}

/** @param shown those of the rooms whose bookings are shown */
export function makeShownHours(
  rooms: readonly Room[],
  shown: readonly Room[],
  store: Store,
): Record<keyof Hours, ReadonlySignal<number>> {
  const open = computed(() => openHours(rooms, store));
  const booked = shown.map(({ id }) =>
    computed(() => {
      const spans = store.ofRoom(id).value.map((booking) => localSpan(booking, store));
      return withBooked(open.value, spans, store.days);
    }),
  );
  const hours = computed(() => {
    let { from, to } = open.value;
    for (const { value } of booked) [from, to] = [Math.min(from, value.from), Math.max(to, value.to)];
    return { from, to };
  });
  return {
    from: computed(() => Math.floor(hours.value.from / 60) * 60),
    to: computed(() => Math.ceil(hours.value.to / 60) * 60),
  };
}
