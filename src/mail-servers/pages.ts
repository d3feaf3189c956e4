/** Merges the pages of a reading, and bounds them. */
import { type CalendarChanges, type CalendarPage, type RemoteGroup, ServerFault } from './connector.ts';
import { groupItems, type ReadOfGroup } from './groups.ts';

const mostItems = 20_000;
const mostPages = 2_000;

/** @throws ServerFault for more items than a reading may have */
export function checkItemCount(items: number): void {
  if (items > mostItems)
    throw new ServerFault('TooLarge', `The calendar has more than ${mostItems} items; ask for fewer days.`);
}

/** @param pages how many were read @param isKnown whether the next one was read before @throws ServerFault if there is no end */
export function checkNextPage(origin: string, pages: number, isKnown: boolean): void {
  if (isKnown || pages >= mostPages)
    throw new ServerFault('TooLarge', `${origin} refers to further pages without an end.`);
}

/** Drops the pages before the last one that restarts the reading. */
export function withoutVoid<Page extends Pick<CalendarPage, 'restarts'>>(pages: readonly Page[]): Page[] {
  return pages.slice(
    Math.max(
      0,
      pages.findLastIndex(({ restarts }) => restarts === true),
    ),
  );
}

/** Merges pages in their order; the last entry of each group wins. */
export function mergePages(
  pages: readonly Pick<CalendarPage, 'groups' | 'removed' | 'unchanged' | 'isSlice' | 'restarts'>[],
): Pick<CalendarChanges, 'groups' | 'removed' | 'unchanged'> {
  const groups = new Map<string, RemoteGroup>();
  const removed = new Set<string>();
  const sliced = new Map<string, ReadOfGroup>();
  const valid = withoutVoid(pages);
  for (const page of valid) {
    for (const id of page.removed) {
      groups.delete(id);
      removed.add(id);
    }
    for (const group of page.groups) {
      for (const { id } of [group, ...group.items]) removed.delete(id);
      if (page.isSlice) for (const read of readsOf(group)) sliced.set(read.id, read);
      else groups.set(group.id, group);
    }
  }
  const unchanged = valid.flatMap((page) => page.unchanged ?? []).filter((id) => !removed.has(id));
  return {
    groups: [...groups.values(), ...groupItems([...sliced.values()])],
    removed: [...removed],
    ...(unchanged.length > 0 && { unchanged }),
  };
}

/** The items of a group, to be grouped again with those of other slices. */
function readsOf({ id: group, items, unreadable }: RemoteGroup): ReadOfGroup[] {
  if (unreadable !== undefined) return [{ group, id: `! ${group}`, unreadable }];
  return items.map((item) => ({ group, id: item.id, item }));
}
