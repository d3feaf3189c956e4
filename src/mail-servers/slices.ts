/** Views that servers cut off, or are slow to give, are read in slices of time, each whole. */
import { z } from 'zod';
import { dayLength } from '../time/days.ts';
import { type ReadingWindow, ServerFault } from './connector.ts';
import { TimedOut } from './faults.ts';

const [longest, least, slowest] = [61 * dayLength, 15 * 60_000, dayLength];

/** Where the reading of a window goes on, how long its next slice is, and may become; in milliseconds. */
export const slicePlace = z.strictObject({ at: z.number(), length: z.number(), most: z.number() });
export type SlicePlace = z.infer<typeof slicePlace>;

export type TimeSlice<Item> = { items: Item[]; next: SlicePlace | null };

export const firstSlice = ({ start }: ReadingWindow): SlicePlace => ({
  at: start.getTime(),
  length: longest,
  most: longest,
});

/**
 * The slices of a window from `place` on; what lies in two of them is in both. `read` answers undefined for a slice with more
 * than the server gives at once, which is halved then. One that the server does not give in time is halved, too, but for the
 * next attempt: this one ends, for a server that does not answer at all must not be waited for again and again.
 * @param mostItems that the server gives at once
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

/** An answer of too many bytes is one of too many items. */
function readOrCut<Item>(
  slice: ReadingWindow,
  read: (slice: ReadingWindow) => Promise<Item[] | undefined>,
): Promise<Item[] | undefined> {
  return read(slice).catch((error: unknown) => {
    if (error instanceof ServerFault && error.fault === 'TooLarge') return undefined;
    throw error;
  });
}
