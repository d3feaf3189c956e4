/** Reads a window in slices of time, as servers truncate long views or are slow to return them. */
import { z } from 'zod';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { type ReadingWindow, ServerFault } from './connector.ts';
import { TimedOut } from './faults.ts';

const [longest, least, slowest] = [61 * dayLength, 15 * minute, dayLength];

/** Where the reading of a window continues, the length of the next slice, and its maximum; in milliseconds. */
export const slicePlace = z.strictObject({ at: z.number(), length: z.number(), most: z.number() });
export type SlicePlace = z.infer<typeof slicePlace>;

export type TimeSlice<Item> = { items: Item[]; next: SlicePlace | null };

export const firstSlice = ({ start }: ReadingWindow): SlicePlace => ({
  at: start.getTime(),
  length: longest,
  most: longest,
});

/**
 * Reads the slices of a window from `place` on; an item in two slices comes with both. `read` returns undefined for a slice with
 * more items than the server returns at once; that slice is halved. A slice that times out is halved too, but only for the next
 * attempt: this one ends, so that nobody waits again for a server that may not answer at all.
 * @param mostItems the items that the server returns at once
 * @throws ServerFault TooLarge
 */
export async function* readSlices<Item>(
  window: ReadingWindow,
  place: SlicePlace,
  mostItems: number,
  read: (slice: ReadingWindow) => Promise<Item[] | undefined>,
): AsyncGenerator<TimeSlice<Item>, void> {
  const end = window.end.getTime();
  const { most } = place;
  let { at, length } = place;
  while (at < end) {
    const until = Math.min(at + length, end);
    let items: Item[] | undefined;
    try {
      items = await readOrCut({ start: new Date(at), end: new Date(until) }, read);
    } catch (error) {
      const shorter = Math.max(slowest, Math.ceil((until - at) / 2));
      if (error instanceof TimedOut && shorter < until - at)
        yield { items: [], next: { at, length: shorter, most: shorter } };
      throw error;
    }
    if (items === undefined) {
      length = Math.ceil((until - at) / 2);
      if (until - at <= least)
        throw new ServerFault(
          'TooLarge',
          `The calendar has more items around ${new Date(at).toISOString()} than can be read.`,
        );
      continue;
    }
    at = until;
    if (items.length < mostItems / 4) length = Math.min(most, 2 * length);
    yield { items, next: at < end ? { at, length, most } : null };
  }
}

/** Treats an answer with too many bytes as one with too many items. */
function readOrCut<Item>(
  slice: ReadingWindow,
  read: (slice: ReadingWindow) => Promise<Item[] | undefined>,
): Promise<Item[] | undefined> {
  return read(slice).catch((error: unknown) => {
    if (error instanceof ServerFault && error.fault === 'TooLarge') return undefined;
    throw error;
  });
}
