/** The present content of items that were written from here. */
import type { RemoteItem, WrittenItem } from './connector.ts';

/** The window of all times that an item may have. */
export const always = { start: new Date(0), end: new Date(Date.UTC(2200)) };

/**
 * @param items the items that were read of the object. If they are not one appointment that occupies the room, the result differs
 * from every item that we write.
 */
export function standingAs(origin: string, items: readonly RemoteItem[]): WrittenItem {
  const [found, ...others] = items;
  const isSingle = found && others.length === 0 && found.occurrence === '' && found.days === null;
  const stands = isSingle && !found.isCancelled && found.response !== 'Declined' && found.shownAs === 'Busy';
  const { start, end, subject, isPrivate } = found ?? { ...always, subject: null, isPrivate: false };
  return { origin, start, end, subject: stands ? (subject ?? '') : '', isPrivate };
}
