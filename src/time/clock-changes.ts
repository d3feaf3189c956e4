/** Local times that the clocks of a zone skip or show twice, as they go forward or back. Pure, for pages too. */
import { minute } from './durations.ts';

const day = 1_440 * minute;
/** Longer than clocks have been set back at once since 1970, and shorter than the time between two changes. */
const near = 720 * minute;

/** By how many milliseconds the clocks of a zone are ahead of UTC at an instant. */
type OffsetAt = (instant: number) => number;

/**
 * The first instant with a local time; for one that the clocks skip, as much later as they skip (RFC 5545, 3.3.5).
 * @param wall the instant at which clocks in UTC show that local time
 */
export function instantOf(offsetAt: OffsetAt, wall: number): number {
  // With the offset before any change nearby; other changes are further away.
  const first = wall - offsetAt(wall - day);
  const later = offsetAt(first);
  return offsetAt(wall - later) === later ? wall - later : first;
}

/** Whether the clocks show the local time of an instant twice, so that it is ambiguous. */
export function isShownTwice(offsetAt: OffsetAt, instant: number): boolean {
  const local = instant + offsetAt(instant);
  return [instant - near, instant + near].some((at) => {
    const other = local - offsetAt(at);
    return other !== instant && other + offsetAt(other) === local;
  });
}

/** How far clocks are from UTC: UTC+2. */
export function distanceText(offset: number): string {
  const minutes = Math.round(Math.abs(offset) / minute);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return `UTC${offset < 0 ? '−' : '+'}${hours}${rest ? `:${String(rest).padStart(2, '0')}` : ''}`;
}
