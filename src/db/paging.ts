import { z } from 'zod';
import { Malformed } from '../errors.ts';
import { mostId, mostLongId } from '../storable.ts';

/** One page of a list; `nextCursor` is null at its end (contract 2). */
export type Page<T> = { items: T[]; nextCursor: string | null };

/** The value of a list's sort key, by which each item has one place: a number, or the key's parts in their order. */
export type SortKey = number | readonly (number | string)[];

/** A list as its cursors know it: `name` keeps those of other lists out, `key` is what it sorts by. */
export type List<Item, Key extends SortKey = number> = {
  name: string;
  key: z.ZodType<Key>;
  keyOf(item: Item): Key;
};

/** By an id of a table whose ids are integers. */
export const idKey = z.int().min(0).max(mostId);
/** The same of bigints. */
export const longIdKey = z.int().min(0).max(mostLongId);

/** `after` is where the previous page ended. */
export type PageRequest<Key extends SortKey = number> = { limit: number; after: Key | undefined };

export const defaultLimit = 50;
export const mostPerPage = 200;
/** Characters: a sort key holds at most one text of 128 characters, of which JSON may make six bytes each. */
export const longestCursor = 1_200;

const prefixOf = ({ name }: { name: string }) => `r1:${name}:`;

function readCursor<Key extends SortKey>(
  list: Pick<List<unknown, Key>, 'name' | 'key'>,
  cursor: string,
): Key | undefined {
  const written = Buffer.from(cursor, 'base64url').toString();
  const prefix = prefixOf(list);
  try {
    return written.startsWith(prefix) ? list.key.parse(JSON.parse(written.slice(prefix.length))) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it is a cursor that we made for this list. */
export const isCursorOf = (
  list: Pick<List<unknown, SortKey>, 'name' | 'key'>,
  cursor: string | null | undefined,
): boolean => Boolean(cursor) && readCursor(list, cursor as string) !== undefined;

/** @throws Malformed for a cursor that we did not make, or made for another list */
export function readPage<Key extends SortKey>(
  list: Pick<List<unknown, Key>, 'name' | 'key'>,
  limit: number | undefined,
  cursor: string | null | undefined,
): PageRequest<Key> {
  const after = cursor ? readCursor(list, cursor) : undefined;
  if (cursor && after === undefined)
    throw new Malformed('Cursor: pass the NextCursor of the previous page as it stands, or none for the first.');
  return { limit: Math.min(limit ?? defaultLimit, mostPerPage), after };
}

/** Where an item stands in its list. */
export function toCursor<Item>(list: Pick<List<Item, SortKey>, 'name' | 'keyOf'>, item: Item): string {
  return Buffer.from(prefixOf(list) + JSON.stringify(list.keyOf(item))).toString('base64url');
}

/** Cuts items that were read with `limit + 1` into a page. */
export function toPage<Item>(
  list: Pick<List<Item, SortKey>, 'name' | 'keyOf'>,
  read: Item[],
  limit: number,
): Page<Item> {
  const items = read.slice(0, limit);
  const last = items.at(-1);
  const more = read.length > limit && last !== undefined;
  return { items, nextCursor: more ? toCursor(list, last) : null };
}
