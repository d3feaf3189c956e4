/** What the clocks of a zone show at an instant, and the instants at which they show it. Instants are in milliseconds. */
import { dayLength, type Wall } from './days.ts';

/** From `from` until before `to` clocks are this far ahead of UTC, in milliseconds. Two that touch may be equally far. */
export type Stretch = { readonly from: number; readonly to: number; readonly offset: number };

export type Offset = { from: number; offset: number };

export type Zone = {
  /** How far its clocks are ahead of UTC. */
  offsetAt(instant: number): number;
  wallOf(instant: number): Wall;
  /** The first instant that shows this; where the clocks skip it, as much later as they are set forward (RFC 5545, 3.3.5). */
  instantOf(wall: Wall): number;
  /** The first instant that shows this; where the clocks skip it, the instant at which they do. */
  earliest(wall: Wall): number;
  /** The same with the last instant of what the clocks show twice. */
  latest(wall: Wall): number;
  /** The offsets in [from, to): the first one from `from` on, each other one from its change of the clocks on. */
  offsetsIn(from: number, to: number): Offset[];
};

/**
 * @param stretchAt the stretch that an instant is in; stretches have no gaps, are at least a day long but where two that
 * touch have one offset, and no offset is much above a day
 */
export function makeZone(stretchAt: (instant: number) => Stretch): Zone {
  /** The stretch that shows `wall` first or, where none does, the one before which it is skipped; with the one before. */
  function firstFor(wall: Wall): { before: Stretch; at: Stretch } {
    let before = stretchAt(wall - dayLength);
    let at = before;
    while (at.to <= wall - at.offset) {
      before = at;
      at = stretchAt(at.to);
    }
    return { before, at };
  }
  return {
    offsetAt: (instant) => stretchAt(instant).offset,
    wallOf: (instant) => instant + stretchAt(instant).offset,
    instantOf(wall) {
      const { before, at } = firstFor(wall);
      return wall - (wall - at.offset < at.from ? before : at).offset;
    },
    earliest(wall) {
      const { at } = firstFor(wall);
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
