/** Converts between instants, in milliseconds, and the local times of a zone. */
import { instantOf } from './clock-changes.ts';
import { dayLength, type Wall } from './days.ts';

/** The time [from, to) with one offset from UTC, in milliseconds. Adjacent stretches may have the same offset. */
export type Stretch = { readonly from: number; readonly to: number; readonly offset: number };

export type Offset = { from: number; offset: number };

export type Zone = {
  /** Milliseconds by which its clocks are ahead of UTC. */
  offsetAt(instant: number): number;
  wallOf(instant: number): Wall;
  /** The first instant with this local time; for one that the clocks skip, as much later as they skip (RFC 5545, 3.3.5). */
  instantOf(wall: Wall): number;
  /** The first instant with this local time; for one that the clocks skip, the instant at which they skip it. */
  earliest(wall: Wall): number;
  /** Like `earliest`, but the last instant of a local time that the clocks show twice. */
  latest(wall: Wall): number;
  /** The offsets in [from, to): the first one starts at `from`, each other at a change of the clocks. */
  offsetsIn(from: number, to: number): Offset[];
};

/**
 * @param stretchAt returns the stretch of an instant. Stretches have no gaps; one may be shorter than three days only if a
 * neighbour has the same offset; no offset is much longer than a day
 */
export function makeZone(stretchAt: (instant: number) => Stretch): Zone {
  const offsetAt = (instant: number) => stretchAt(instant).offset;
  return {
    offsetAt,
    wallOf: (instant) => instant + offsetAt(instant),
    instantOf: (wall) => instantOf(offsetAt, wall),
    earliest(wall) {
      let at = stretchAt(wall - dayLength);
      while (at.to <= wall - at.offset) at = stretchAt(at.to);
      return Math.max(wall - at.offset, at.from);
    },
    latest(wall) {
      let at = stretchAt(wall + dayLength);
      while (at.from > wall - at.offset) at = stretchAt(at.from - 1);
      return Math.min(wall - at.offset, at.to);
    },
    offsetsIn(from, to) {
      let at = stretchAt(from);
      const offsets: Offset[] = [{ from, offset: at.offset }];
      while (at.to < to) {
        const next = stretchAt(at.to);
        if (next.offset !== at.offset) offsets.push({ from: next.from, offset: next.offset });
        at = next;
      }
      return offsets;
    },
  };
}

/** Clocks that never change. */
export function fixedZone(offset: number): Zone {
  const always: Stretch = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY, offset };
  return makeZone(() => always);
}

export const utc: Zone = fixedZone(0);
