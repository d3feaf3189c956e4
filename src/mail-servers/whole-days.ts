import { dateText, dayLength, dayOfWall } from '../time/days.ts';
import { findZoneOfExchange } from './ical-zones.ts';

const hour = 3_600_000;

/**
 * The local date of a whole-day item's midnight, which comes as an instant: on the clocks of the zone that it was made in,
 * where the server names it, or else of that between -11:00 and +13:00 at which it is midnight.
 */
export function readDay(midnight: Date, zone: string | null | undefined): string {
  const wall = findZoneOfExchange(zone ?? '')?.wallOf(midnight.getTime());
  const isMidnight = wall !== undefined && wall % dayLength === 0;
  return dateText(dayOfWall(isMidnight ? wall : midnight.getTime() + 13 * hour));
}
