/** Converts the hours of many resources: equal ones once, and long ones in parts, between which other work is done. */
import type { openSlices } from '../flow/slices.ts';
import { addDays } from '../time/days.ts';
import { type Hours, type OpenInterval, openIntervals } from './local-hours.ts';
import { type CountingHours, keyOf } from './stored.ts';

/** Dates that are converted at once. */
const datesAtOnce = 7;

/** `openIntervals` in parts. @param pause awaited between two parts */
export async function convertInParts(
  hours: Hours,
  timeZone: string,
  { from, to }: { from: string; to: string },
  pause: ReturnType<typeof openSlices>,
): Promise<OpenInterval[]> {
  const intervals: OpenInterval[] = [];
  for (let first = from; first <= to; first = addDays(first, datesAtOnce)) {
    const paused = first === from ? undefined : pause();
    if (paused !== undefined) await paused;
    const last = addDays(first, datesAtOnce - 1);
    intervals.push(...openIntervals(hours, timeZone, first, last < to ? last : to));
  }
  return intervals;
}

/** Caches `make` for equal hours of one location. Its calls follow one after the other. */
export function remember<Made>(make: (hours: Hours) => Promise<Made>): (hours: CountingHours) => Made | Promise<Made> {
  const byKey = new Map<string, Made>();
  // Most resources of a location share one object, whose key is computed only once.
  const made = new Map<CountingHours, Made>();
  async function find(hours: CountingHours): Promise<Made> {
    const key = keyOf(hours);
    const known = byKey.get(key) ?? (await make(hours.all));
    byKey.set(key, known);
    made.set(hours, known);
    return known;
  }
  return (hours) => made.get(hours) ?? find(hours);
}
