/** When rooms are open, and the zone offsets of their locations: cached by location until they may have changed, or the day is over. */
import type { Database } from '../db/database.ts';
import { listOpenIntervals } from '../opening-hours/service.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { zoneFor } from '../time/zones.ts';
import type { StoredPlan } from './plan.ts';

type OpenTime = { start: number; end: number };
type ZoneOffset = { from: number; offsetMinutes: number };

/** All that is known of a room, before any level of privacy is applied. */
export type RoomPlan = {
  stored: StoredPlan;
  /** Within the plan, in order; adjacent times are merged. */
  open: OpenTime[];
  /** The offsets of its zone, each from an instant on, for all instants of the plan and of its bookings. */
  zoneOffsets: ZoneOffset[];
};

/** The days of one location from `start` on. */
type Days = {
  timeZone: string;
  start: number;
  end: number;
  zoneOffsets: ZoneOffset[];
  open: Map<number, OpenTime[]>;
};

/** How far before or after the plan a time may be to be shown with its own offset. */
const farthest = 400 * dayLength;

/** From the first to the last instant of the plan and of its bookings, which may begin before it and end after it. */
function reachOf({ start, end, slots }: StoredPlan): { first: number; last: number } {
  let [first, last] = [start, end];
  function reach(from: number, to: number): void {
    if (from < first) first = from;
    if (to > last) last = to;
  }
  for (const { from, to, startNow, endNow, lessons } of slots) {
    reach(from, to);
    reach(startNow, endNow);
    for (const { ursprung } of lessons ?? [])
      if (ursprung) reach(Date.parse(ursprung.Beginn), Date.parse(ursprung.Ende));
  }
  return { first: Math.max(first, start - farthest), last: Math.min(last, end + farthest) };
}

function listOffsets(timeZone: string, start: number, end: number): ZoneOffset[] {
  const offsets = zoneFor(timeZone).offsetsIn(start, end);
  return offsets.map(({ from, offset }) => ({ from, offsetMinutes: offset / minute }));
}

export type LocalDays = {
  /** Adds open times and zone offsets to these plans of a tenant; a room without known hours is always open. */
  complete(mandatorId: number, plans: readonly StoredPlan[]): Promise<RoomPlan[]>;
  /** Drops the cached days of a location, or of the tenant; a read under way is not cached either. */
  forget(mandatorId: number, locationId?: number): void;
  /** Drops the open times of a room. */
  forgetRoom(mandatorId: number, resourceId: number): void;
};

export function keepLocalDays(db: Database): LocalDays {
  /** By tenant and location. */
  const kept = new Map<number, Map<number, Days>>();

  function daysOf(mandatorId: number, { locationId, timeZone, start, end }: StoredPlan): Days {
    const ofTenant = kept.get(mandatorId) ?? new Map<number, Days>();
    kept.set(mandatorId, ofTenant);
    let days = ofTenant.get(locationId);
    if (days?.timeZone !== timeZone || days.start !== start || days.end !== end) {
      days = { timeZone, start, end, zoneOffsets: listOffsets(timeZone, start, end), open: new Map() };
      ofTenant.set(locationId, days);
    }
    return days;
  }

  return {
    async complete(mandatorId, plans) {
      // Days that are dropped during this read stay valid for this call.
      const known = plans.map((stored) => ({ stored, days: daysOf(mandatorId, stored) }));
      const missing = known.filter(({ stored, days }) => !days.open.has(stored.resourceId));
      const sameDays = Map.groupBy(missing, ({ days: { start, end } }) => `${start} ${end}`);
      for (const some of sameDays.values()) {
        const { start, end } = (some[0] as (typeof some)[0]).days;
        const ids = some.map(({ stored }) => stored.resourceId);
        const found = await listOpenIntervals(db, mandatorId, ids, new Date(start), new Date(end));
        for (const { stored, days } of some)
          days.open.set(stored.resourceId, within(found.get(stored.resourceId), start, end));
      }
      return known.map(({ stored, days: { zoneOffsets, open } }) => {
        const { first, last } = reachOf(stored);
        const isWithin = first === stored.start && last === stored.end;
        return {
          stored,
          zoneOffsets: isWithin ? zoneOffsets : listOffsets(stored.timeZone, first, last),
          open: open.get(stored.resourceId) as OpenTime[],
        };
      });
    },
    forgetRoom(mandatorId, resourceId) {
      for (const { open } of kept.get(mandatorId)?.values() ?? []) open.delete(resourceId);
    },
    forget(mandatorId, locationId) {
      if (locationId === undefined) kept.delete(mandatorId);
      else kept.get(mandatorId)?.delete(locationId);
    },
  };
}

function within(stretches: readonly { start: Date; end: Date }[] | undefined, from: number, to: number): OpenTime[] {
  if (!stretches) return [{ start: from, end: to }];
  return stretches
    .map(({ start, end }) => ({ start: Math.max(start.getTime(), from), end: Math.min(end.getTime(), to) }))
    .filter(({ start, end }) => start < end);
}
