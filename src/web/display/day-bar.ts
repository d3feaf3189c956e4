/** Positions on a bar of time, in percent of its length. */
import { hour } from '../../time/durations.ts';
import { clockTime, instantOf, localDay, localTime } from './clock.ts';
import type { ShownRoom, ShownSlot } from './frames.ts';

export type BarPart = { left: number; width: number };
export type Bar = {
  start: number;
  end: number;
  open: BarPart[];
  slots: (BarPart & { slot: ShownSlot })[];
  hours: { left: number; label: string }[];
  /** Null outside of the bar. */
  now: number | null;
};

/** The local day of `now`: from opening to closing, and wide enough for its bookings. */
export function dayBar(snapshot: ShownRoom, now: number): Bar {
  const { zoneOffsets, slots, open } = snapshot;
  const day = localDay(zoneOffsets, now);
  const midnight = instantOf(zoneOffsets, day, 0);
  const nextMidnight = instantOf(zoneOffsets, day + 1, 0);
  const inDay = (start: number, end: number) => start < nextMidnight && end > midnight;
  const ofDay = [
    ...open.filter(({ start, end }) => inDay(start, end)),
    ...slots
      .filter(({ occupies, from, to }) => occupies && inDay(from, to))
      .map(({ from, to }) => ({ start: from, end: to })),
  ];
  const first = Math.min(...ofDay.map(({ start }) => start), instantOf(zoneOffsets, day, ofDay.length ? 720 : 480));
  const last = Math.max(...ofDay.map(({ end }) => end), instantOf(zoneOffsets, day, ofDay.length ? 780 : 1_080));
  return makeBar(
    snapshot,
    Math.max(midnight, wholeHour(snapshot, first, 0)),
    Math.min(nextMidnight, wholeHour(snapshot, last, hour - 1)),
    now,
  );
}

/** The next hours, from the present one on. */
export function nextHoursBar(snapshot: ShownRoom, now: number, hours: number): Bar {
  const start = wholeHour(snapshot, now, 0);
  return makeBar(snapshot, start, start + hours * hour, now);
}

/** A whole hour by the room's clock, whose offset may not be whole hours. */
function wholeHour({ zoneOffsets }: ShownRoom, instant: number, up: number): number {
  const aside = localTime(zoneOffsets, instant).getTime() - instant;
  return Math.floor((instant + aside + up) / hour) * hour - aside;
}

function makeBar({ zoneOffsets, slots, open }: ShownRoom, start: number, end: number, now: number): Bar {
  const place = (instant: number) => (100 * (Math.min(Math.max(instant, start), end) - start)) / (end - start);
  const stretch = (from: number, to: number) => ({ left: place(from), width: place(to) - place(from) });
  const count = Math.round((end - start) / hour);
  const step = [1, 2, 3, 4, 6].find((n) => count / n <= 12) ?? 6;
  const hours: Bar['hours'] = [];
  for (let n = 0; n <= count; n += step) {
    const at = start + n * hour;
    // The end of the bar has no label: 00:00 would be the next day.
    const label = n === count ? '' : clockTime(zoneOffsets, at).slice(0, 2);
    if (label) hours.push({ left: place(at), label: String(Number(label)) });
  }
  return {
    start,
    end,
    open: open.filter((one) => one.start < end && one.end > start).map((one) => stretch(one.start, one.end)),
    slots: slots
      .filter(({ occupies, from, to }) => occupies && from < end && to > start)
      .map((slot) => ({ ...stretch(slot.from, slot.to), slot })),
    hours,
    now: now < start || now > end ? null : place(now),
  };
}
