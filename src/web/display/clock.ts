/**
 * The room's time, independent of the device's clock and zone rules. Instants are milliseconds since 1970, ticks are
 * milliseconds that only go forward.
 */

export type Clock = {
  /** Undefined until the time of the server is known. */
  now(): number | undefined;
  /** The server's clock showed `serverTime` at some instant of the last `slack` milliseconds. */
  hear(serverTime: number, slack: number): void;
  /** Corrects for ticks that stood still for so many milliseconds. */
  skip(milliseconds: number): void;
};

/** The longest time that a frame of a stream takes to arrive. */
export const pushSlackMs = 4_000;

export function makeClock(ticks: () => number): Clock {
  let ahead: number | undefined;
  return {
    now: () => (ahead === undefined ? undefined : ticks() + ahead),
    hear(serverTime, slack) {
      const low = serverTime - ticks();
      ahead = ahead === undefined ? low + slack / 2 : Math.min(Math.max(ahead, low), low + slack);
    },
    skip(milliseconds) {
      if (ahead !== undefined) ahead += milliseconds;
    },
  };
}

export type ZoneOffsets = readonly { from: number; offsetMinutes: number }[];

/** A local date and time, read with the UTC methods of this Date. */
export function localTime(offsets: ZoneOffsets, instant: number): Date {
  return new Date(instant + offsetAt(offsets, instant));
}

function offsetAt(offsets: ZoneOffsets, instant: number): number {
  let minutes = offsets[0]?.offsetMinutes ?? 0;
  for (const { from, offsetMinutes } of offsets) if (from <= instant) minutes = offsetMinutes;
  return minutes * 60_000;
}

const day = 86_400_000;

/** The number of the local day. */
export function localDay(offsets: ZoneOffsets, instant: number): number {
  return Math.floor((instant + offsetAt(offsets, instant)) / day);
}

/** The instant at which the clocks of the room show this; it is an hour off where they skip or repeat that time. */
export function instantOf(offsets: ZoneOffsets, localDay: number, minutes: number): number {
  const local = localDay * day + minutes * 60_000;
  return local - offsetAt(offsets, local - offsetAt(offsets, local));
}

const two = (n: number) => String(n).padStart(2, '0');

export function clockTime(offsets: ZoneOffsets, instant: number): string {
  const local = localTime(offsets, instant);
  return `${two(local.getUTCHours())}:${two(local.getUTCMinutes())}`;
}

/** Whether the room's clock says that it is dark: from 20:00 until 06:30. */
export function isNight(offsets: ZoneOffsets, instant: number): boolean {
  const local = localTime(offsets, instant);
  const minutes = local.getUTCHours() * 60 + local.getUTCMinutes();
  return minutes >= 20 * 60 || minutes < 6 * 60 + 30;
}
