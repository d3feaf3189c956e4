/** When resources are open, for other rooms: stretches of time, without the rules and exceptions behind them. */
import type { Database } from '../db/database.ts';
import { Malformed } from '../errors.ts';
import { openSlices } from '../flow/slices.ts';
import { addDays } from '../time/days.ts';
import { localDateOf } from '../time/zones.ts';
import { convertInParts, remember } from './conversion.ts';
import { hoursByResource, readHours } from './stored.ts';

/** The date of an instant in UTC. */
export const dayOf = (instant: Date): string => instant.toISOString().slice(0, 10);

/** A continuous time in which a resource is open. */
export type OpenStretch = { start: Date; end: Date };

/**
 * Lists when resources are open around [from, to], in the zones of their locations: the whole stretches that reach into the
 * window, in order and merged where they touch. Resources with the same hours share one array.
 *
 * A resource that is closed throughout has an empty array. A resource without known hours, because neither it nor its
 * location has a rule, is absent.
 * @param most for a caller that can be told to ask for less: of exceptions, their periods and stretches together
 * @throws Malformed beyond `most`
 */
export async function listOpenIntervals(
  db: Database,
  mandatorId: number,
  resourceIds: readonly number[],
  from: Date,
  to: Date,
  most = Number.POSITIVE_INFINITY,
): Promise<Map<number, OpenStretch[]>> {
  const open = new Map<number, OpenStretch[]>();
  // Whatever the zone, and with the day after, which may cut the last night.
  const dates = { from: addDays(dayOf(from), -2), to: addDays(dayOf(to), 2) };
  const pause = openSlices();
  let listed = 0;
  function spend(count: number): void {
    listed += count;
    if (listed > most) throw tooManyListed(most);
  }
  for await (const location of readHours(db, mandatorId, { resourceIds }, dates)) {
    const { timeZone, resources } = location;
    for (const { periods } of location.exceptions) spend(1 + periods.length);
    const converted = { from: addDays(localDateOf(from, timeZone), -1), to: localDateOf(to, timeZone) };
    const hoursOf = hoursByResource(location);
    const convert = remember(async (hours) => {
      const stretches = merge(await convertInParts(hours, timeZone, converted, pause), from, to);
      spend(stretches.length);
      return stretches;
    });
    for (const [index, { id }] of resources.entries()) {
      const paused = index === 0 ? undefined : pause();
      if (paused !== undefined) await paused;
      const hours = hoursOf(id);
      if (hours.rules.length > 0) open.set(id, await convert(hours));
    }
  }
  return open;
}

/** What requests may list: 45 MB. Four stretches a day of 500 resources with different hours for 92 days are fewer. */
export const mostListed = 200_000;

function tooManyListed(most: number): Malformed {
  const message = `The opening hours of these resources have more than ${most} exceptions, periods and times on these dates; ask for fewer resources or days.`;
  return Malformed.of({ field: null, pointer: null, code: 'LimitExceeded', message });
}

/** Joins `intervals`, sorted by start, that overlap or touch, and keeps those that reach into [from, to]. */
function merge(intervals: readonly OpenStretch[], from: Date, to: Date): OpenStretch[] {
  const stretches: OpenStretch[] = [];
  for (const { start, end } of intervals) {
    const last = stretches.at(-1);
    if (last && start <= last.end) last.end = end > last.end ? end : last.end;
    else stretches.push({ start, end });
  }
  return stretches.filter(({ start, end }) => start <= to && end >= from);
}
