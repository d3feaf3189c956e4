/** A list as a subscription: first all of its items, then those that change. */
import { outlast } from '../flow/retry.ts';
import type { TopicChange } from './notifications.ts';
import { mostPerPage, type Page, type PageRequest } from './paging.ts';

type Reads<Item> = {
  listPage(page: PageRequest): Promise<Page<Item>>;
  listByIds(ids: readonly number[]): Promise<Item[]>;
};

/**
 * Yields all items in parts of 200, at least one part; then those that have changed, in their present state. After a lost
 * connection it yields all of them again. It continues after outages of the database.
 * @param changes those of a topic whose keys are the ids of items
 */
export async function* followList<Item extends { id: number }>(
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
  { listPage, listByIds }: Reads<Item>,
): AsyncGenerator<Item[]> {
  for await (const { all, keys } of changes) {
    if (!all) {
      const changed = await outlast(signal, () => listByIds([...keys].map(Number)));
      if (changed.length > 0) yield changed;
      continue;
    }
    for (let after: number | undefined, isMore = true; isMore; ) {
      const page = { limit: mostPerPage, after };
      const { items, hasNext } = await outlast(signal, () => listPage(page));
      yield items;
      after = items.at(-1)?.id;
      isMore = hasNext;
    }
  }
}
