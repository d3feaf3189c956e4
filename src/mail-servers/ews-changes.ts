/**
 * Reads changes that Exchange reports by ids. Items that were written from here and have not changed since are not fetched;
 * appointments of others are fetched by their ids. Everything else needs a view, as Exchange reports only the master of a series.
 */
import type { KnownItems, RemoteGroup } from './connector.ts';
import { type FoundItem, groupFound, groupOf, isAlone } from './ews-items.ts';
import type { EwsChanges, EwsView } from './ews-view.ts';
import { boundId } from './values.ts';

/** If others have changed more items than this, a view of all items costs less. */
const mostAskedFor = 200;

type Taken = { groups: RemoteGroup[]; removed: string[]; unchanged?: string[] };

/**
 * Returns a function that reads changes; it returns null if all items must be viewed instead.
 * `isView`: all items have just been viewed, so only what was written from here since is missing.
 */
export function openEwsChanges(view: EwsView) {
  return async function takeChanges(
    mailbox: string,
    { changed, removed }: EwsChanges,
    { known, isView }: { known: KnownItems | undefined; isView: boolean },
    signal: AbortSignal,
  ): Promise<Taken | null> {
    if (changed.length + removed.length === 0) return { groups: [], removed: [] };
    if (!known) return null;
    const written = await known.written([...changed.map(({ id }) => id), ...removed]);
    const isOwn = ({ id, changeKey }: EwsChanges['changed'][number]) =>
      changeKey !== null && written.get(id) === changeKey;
    const foreign = changed.filter((one) => !isOwn(one));
    const unchanged = changed.filter(isOwn).map(({ id }) => id);
    if (foreign.length + removed.length === 0) return { groups: [], removed: [], unchanged };
    if (isView || foreign.length > mostAskedFor) return null;
    const found = await view.get(
      mailbox,
      foreign.map(({ id }) => id),
      signal,
    );
    if (!found?.every(isAlone)) return null;
    const gone = removed.filter((id) => !written.has(id)).map(boundId);
    if (!(await areSingle(found, gone, known))) return null;
    return { groups: groupFound(found), removed: removed.map(boundId), unchanged };
  };
}

/**
 * Whether these items and ids are single appointments: nothing else is stored for them, and none of the ids can be of a series.
 * @param gone ids of removed items that were not written from here
 */
async function areSingle(found: readonly FoundItem[], gone: readonly string[], known: KnownItems): Promise<boolean> {
  const groups = new Map(found.map((one) => [groupOf(one), boundId(one.id)]));
  if (groups.size < found.length) return false;
  const stored = await known.stored([...gone, ...groups.values()], [...groups.keys()]);
  const left = new Set(gone);
  const others = stored.filter(({ id, isGone }) => !isGone && !left.has(id));
  if (others.some(({ id, group, occurrence }) => occurrence !== '' || groups.get(group) !== id)) return false;
  for (const { id } of stored) left.delete(id);
  return left.size === 0 || !(await known.hasSeries());
}
