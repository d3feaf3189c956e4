/** What stands there of an item that was written from here. */
import type { RemoteItem, WrittenItem } from './connector.ts';

/** All times that an item may have. */
export const always = { start: new Date(0), end: new Date(Date.UTC(2200)) };

/** @param items as which it was read; whatever is not one appointment that takes the room differs from all that is written */
export function standingAs(origin: string, items: readonly RemoteItem[]): WrittenItem {
  const [found, ...others] = items;
  const isSingle = found && others.length === 0 && found.occurrence === '' && found.days === null;
  const stands = isSingle && !found.isCancelled && found.response !== 'Declined' && found.shownAs === 'Busy';
  const { start, end, subject, isPrivate } = found ?? { ...always, subject: null, isPrivate: false };
  return { origin, start, end, subject: stands ? (subject ?? '') : '', isPrivate };
}
