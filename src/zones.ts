/** Time zones by name. Local times are computed by Node.js alone, with the rules of its ICU (docs/time-zones.md). */
import { LRUCache } from 'lru-cache';
import { Temporal } from 'temporal-polyfill';

const known = new LRUCache<string, boolean>({ max: 1_000 });

function look(name: string): boolean {
  try {
    // An offset such as +01:00 is no zone: it would ignore summer time.
    return /^[a-z]/i.test(name) && Boolean(Temporal.PlainDate.from('2000-01-01').toZonedDateTime(name));
  } catch {
    return false;
  }
}

/** Whether Node.js knows a zone of this name, in any case. */
export function isTimeZone(name: string): boolean {
  const found = known.get(name) ?? look(name);
  known.set(name, found);
  return found;
}

/** By which zone to compute the local times of a stored one: UTC where Node.js knows it no longer, which `doctor` tells. */
export const zoneFor = (stored: string): string => (isTimeZone(stored) ? stored : 'UTC');

/** The name that IANA gives a zone today, of which this one is another. */
export const currentNameOf = (name: string): string =>
  new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
