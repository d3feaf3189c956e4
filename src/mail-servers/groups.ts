import type { RemoteGroup, RemoteItem } from './connector.ts';
import { boundId } from './values.ts';

/** The result of reading an item of a mail server. */
export type ReadItem = { item: RemoteItem } | { unreadable: string };
/** `group` and `id` as they are stored. */
export type ReadOfGroup = { group: string; id: string } & ReadItem;

/** Stands for all events of a calendar without an id, so that these do not keep the others from being read. */
export const withoutId: ReadOfGroup = {
  group: 'without an id',
  id: 'without an id',
  unreadable: 'The server sends an event without an id.',
};

/** The most occurrences of one series in a window. */
export const mostOccurrences = 5_000;

/**
 * Groups items in the order of their ids, so that the same items always make the same groups. An unreadable item makes its group
 * unreadable. A second item for the same occurrence (copies share their UID) becomes a group of its own.
 */
export function groupItems(reads: readonly ReadOfGroup[]): RemoteGroup[] {
  const groups = new Map<string, RemoteGroup>();
  const taken = new Set<string>();

  function groupOf(id: string): RemoteGroup {
    const group = groups.get(id) ?? { id, items: [] };
    groups.set(id, group);
    return group;
  }

  const sorted = reads.toSorted((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0));
  for (const read of sorted) {
    if ('unreadable' in read) {
      groupOf(read.group).unreadable = read.unreadable;
      continue;
    }
    const place = `${read.item.occurrence} ${read.group}`;
    const own = taken.has(place) ? boundId(`${read.group} ${read.id}`) : read.group;
    taken.add(place);
    groupOf(own).items.push(read.item);
  }
  for (const group of groups.values()) {
    if (group.items.length > mostOccurrences)
      group.unreadable = `A series has more than ${mostOccurrences} occurrences.`;
    if (group.unreadable !== undefined) group.items = [];
  }
  return [...groups.values()];
}
