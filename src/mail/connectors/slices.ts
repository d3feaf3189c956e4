/** Views that servers cut off are read in slices of time, each whole. */
import { ServerFault, type Window } from './connector.ts';

const day = 86_400_000;
const [first, least] = [61 * day, 15 * 60_000];
/** Of one calendar. */
const mostItems = 50_000;

/**
 * Everything of a window, each id once. `read` answers undefined for a slice with more than the server gives at once: it is
 * halved then.
 * @throws ServerFault TooLarge
 */
export async function readInSlices<Item extends { id: string }>(
  window: Window,
  read: (slice: Window) => Promise<Item[] | undefined>,
): Promise<Item[]> {
  const items = new Map<string, Item>();

  async function add({ start, end }: Window): Promise<void> {
    const length = end.getTime() - start.getTime();
    const found = length > first ? undefined : await readOrCut({ start, end }, read);
    if (found === undefined) {
      if (length <= least)
        throw new ServerFault(
          'TooLarge',
          `The calendar has more items around ${start.toISOString()} than can be read.`,
        );
      const middle = new Date(start.getTime() + (length > first ? first : Math.ceil(length / 2)));
      await add({ start, end: middle });
      await add({ start: middle, end });
      return;
    }
    for (const item of found) items.set(item.id, item);
    if (items.size > mostItems)
      throw new ServerFault('TooLarge', `The calendar has more than ${mostItems} items in the window.`);
  }

  await add(window);
  return [...items.values()];
}

/** An answer of too many bytes is one of too many items. */
function readOrCut<Item>(
  slice: Window,
  read: (slice: Window) => Promise<Item[] | undefined>,
): Promise<Item[] | undefined> {
  return read(slice).catch((error: unknown) => {
    if (error instanceof ServerFault && error.fault === 'TooLarge') return undefined;
    throw error;
  });
}
