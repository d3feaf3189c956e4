/**
 * The room's time, independent of the device's clock and zone rules; only names of zones are the device's. Instants are
 * milliseconds since 1970, ticks are milliseconds that only go forward.
 */
import { distanceText, instantOf as findInstant, isShownTwice } from '../../time/clock-changes.ts';
import { named, zoneName } from '../zone-names.ts';

export type Clock = {
  /** Undefined until the time of the server is known. */
  now(): number | undefined;
  /**
   * The server's clock showed `serverTime` at some instant of the last `slack` milliseconds. Without `slack` it may have been long
   * ago, so that the clock is never set back.
   */
  hear(serverTime: number, slack?: number): void;
  /** Corrects for ticks that stood still for so many milliseconds. */
  skip(milliseconds: number): void;
};

export function makeClock(ticks: () => number): Clock {
  let ahead: number | undefined;
  return {
    now: () => (ahead === undefined ? undefined : ticks() + ahead),
    hear(serverTime, slack) {
      const low = serverTime - ticks();
      const high = slack === undefined ? Number.POSITIVE_INFINITY : low + slack;
      ahead = ahead === undefined ? low + (slack ?? 0) / 2 : Math.min(Math.max(ahead, low), high);
    },
    skip(milliseconds) {
      if (ahead !== undefined) ahead += milliseconds;
    },
  };
}

/** Each offset applies from an instant on; `name` is the zone's name then. */
export type ZoneOffsets = readonly { from: number; offsetMinutes: number; name?: string }[];

/** A local date and time, read with the UTC methods of this Date. */
export function localTime(offsets: ZoneOffsets, instant: number): Date {
  return new Date(instant + offsetAt(offsets, instant));
}

function partAt(offsets: ZoneOffsets, instant: number): ZoneOffsets[number] {
  let part = offsets[0] ?? { from: 0, offsetMinutes: 0 };
  for (const one of offsets) if (one.from <= instant) part = one;
  return part;
}

const offsetAt = (offsets: ZoneOffsets, instant: number): number => partAt(offsets, instant).offsetMinutes * 60_000;

/** Adds the names of the zone, unless the rules of this device know no change there. */
export function withNames(language: string, timeZone: string, offsets: ZoneOffsets): ZoneOffsets {
  // On most days no name is needed.
  if (offsets.length < 2) return offsets;
  try {
    const parts = offsets.map((part) => ({ ...part, name: zoneName(language, timeZone, part.from) }));
    return parts.some(({ name }, at) => name === parts[at - 1]?.name) ? offsets : parts;
  } catch {
    // It does not know the zone.
    return offsets;
  }
}

const day = 86_400_000;

/** The number of the local day. */
export function localDay(offsets: ZoneOffsets, instant: number): number {
  return Math.floor((instant + offsetAt(offsets, instant)) / day);
}

/** The instant of a local time, which is minutes after the midnight of a day. */
export const instantOf = (offsets: ZoneOffsets, localDay: number, minutes: number): number =>
  findInstant((at) => offsetAt(offsets, at), localDay * day + minutes * 60_000);

const two = (n: number) => String(n).padStart(2, '0');

/** The clock time, with the name of the zone if its clocks show it twice. */
export function clockTime(offsets: ZoneOffsets, instant: number): string {
  const local = localTime(offsets, instant);
  const time = `${two(local.getUTCHours())}:${two(local.getUTCMinutes())}`;
  if (offsets.length < 2 || !isShownTwice((at) => offsetAt(offsets, at), instant)) return time;
  return named(time, partAt(offsets, instant).name ?? distanceText(offsetAt(offsets, instant)));
}

/** Whether the room's clock says that it is dark: from 20:00 until 06:30. */
export function isNight(offsets: ZoneOffsets, instant: number): boolean {
  const local = localTime(offsets, instant);
  const minutes = local.getUTCHours() * 60 + local.getUTCMinutes();
  return minutes >= 20 * 60 || minutes < 6 * 60 + 30;
}
