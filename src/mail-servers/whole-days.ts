import { dateText, dayLength, dayOfWall } from '../time/days.ts';
import { hour } from '../time/durations.ts';
import { findZoneOfExchange } from './ical-zones.ts';

/**
 * The local date of a whole-day item, whose midnight the server sends as an instant: in the item's zone if the server names it,
 * otherwise at the offset from -11:00 to +13:00 at which it is midnight.
 */
export function readDay(midnight: Date, zone: string | null | undefined): string {
  const wall = findZoneOfExchange(zone ?? '')?.wallOf(midnight.getTime());
  const isMidnight = wall !== undefined && wall % dayLength === 0;
  return dateText(dayOfWall(isMidnight ? wall : midnight.getTime() + 13 * hour));
}
