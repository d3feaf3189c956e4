import { LRUCache } from 'lru-cache';
import { dayLength } from './ical-rule.ts';
import { findZoneOfExchange, type Zone } from './ical-zones.ts';

const hour = 3_600_000;
/** A calendar has few zones, and a clock is dear to make. */
const zones = new LRUCache<string, { zone: Zone | undefined }>({ max: 100 });

function zoneNamed(name: string): Zone | undefined {
  const known = zones.get(name) ?? { zone: findZoneOfExchange(name) };
  zones.set(name, known);
  return known.zone;
}

/**
 * The local date of a whole-day item's midnight, which comes as an instant: on the clocks of the zone that it was made in,
 * where the server names it, or else of that between -11:00 and +13:00 at which it is midnight.
 */
export function readDay(midnight: Date, zone: string | null | undefined): string {
  const wall = zoneNamed(zone ?? '')?.wallOf(midnight.getTime());
  const isMidnight = wall !== undefined && wall % dayLength === 0;
  return new Date(isMidnight ? wall : midnight.getTime() + 13 * hour).toISOString().slice(0, 10);
}
