import { z } from 'zod';
import { Malformed } from '../errors.ts';
import { mostId, mostLongId } from '../storable.ts';

/** One page of a list; `nextCursor` is null on the last page (contract 2) and on an empty one. */
export type Page<T> = {
  items: T[];
  nextCursor: string | null;
  hasNext: boolean;
  hasPrevious: boolean;
  /** Counts the whole list; present if that takes one scan of an index. */
  count?: () => Promise<number>;
};

/** The value of a list's sort key, which is unique in the list: a number, or the key's parts in order. */
export type SortKey = number | readonly (number | string)[];

/** A list with cursors. They hold the item's `key`, and the list's `name`, so that those of other lists are refused. */
export type List<Item, Key extends SortKey = number> = {
  name: string;
  key: z.core.$ZodType<Key>;
  keyOf(item: Item): Key;
};

/** The key of a list that is sorted by an integer id. */
export const idKey = z.int().min(0).max(mostId);
/** The key of a list that is sorted by a bigint id. */
export const longIdKey = z.int().min(0).max(mostLongId);

/** The part of a key that is a timestamptz, in microseconds. */
export const instantKey = z.string().regex(/^(-\d{1,17}|\d{1,18})$/);

/** At most `limit` of the items between two keys: the first ones, or the last ones when it is read backward. */
export type PageRequest<Key extends SortKey = number> = {
  limit: number;
  after?: Key | undefined;
  before?: Key | undefined;
  isBackward?: boolean;
};

/** Whole lists, to be counted. */
export const wholeList: PageRequest<never> = { limit: 2_000_000_000 };

export const defaultLimit = 50;
export const mostPerPage = 200;
/** In characters: a sort key holds at most one text of 128 characters, and JSON may take six bytes for each. */
export const longestCursor = 1_200;

const prefixOf = ({ name }: { name: string }) => `r1:${name}:`;

function readCursor<Key extends SortKey>(
  list: Pick<List<unknown, Key>, 'name' | 'key'>,
  cursor: string,
): Key | undefined {
  const written = Buffer.from(cursor, 'base64url').toString();
  const prefix = prefixOf(list);
  try {
    return written.startsWith(prefix) ? z.parse(list.key, JSON.parse(written.slice(prefix.length))) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the cursor was made for this list. */
export const isCursorOf = (
  list: Pick<List<unknown, SortKey>, 'name' | 'key'>,
  cursor: string | null | undefined,
): boolean => Boolean(cursor) && readCursor(list, cursor as string) !== undefined;

/** The number of items on a page: the default if no limit is given, and at most the maximum. */
export const lengthOf = (limit: number | null | undefined): number => Math.min(limit ?? defaultLimit, mostPerPage);

/** @param remedy what to send instead @throws Malformed for a cursor that was not made for this list */
export function keyAt<Key extends SortKey>(
  list: Pick<List<unknown, Key>, 'name' | 'key'>,
  cursor: string | null | undefined,
  remedy: string,
): Key | undefined {
  const key = cursor ? readCursor(list, cursor) : undefined;
  if (cursor && key === undefined) throw new Malformed(remedy);
  return key;
}

/** A page of REST. @throws Malformed for a cursor that was not made for this list */
export const readPage = <Key extends SortKey>(
  list: Pick<List<unknown, Key>, 'name' | 'key'>,
  limit: number | undefined,
  cursor: string | null | undefined,
): PageRequest<Key> => ({
  limit: lengthOf(limit),
  after: keyAt(list, cursor, 'Cursor: pass a cursor of this list unchanged, or none for the first page.'),
});

export function toCursor<Item>(list: Pick<List<Item, SortKey>, 'name' | 'keyOf'>, item: Item): string {
  return Buffer.from(prefixOf(list) + JSON.stringify(list.keyOf(item))).toString('base64url');
}

/**
 * Makes a page of items that were read in its direction with `limit + 1`: the extra one only shows that there are more.
 * There always is an item on the other side of a cursor: the one it was made from.
 */
export function toPage<Item>(
  list: Pick<List<NoInfer<Item>, SortKey>, 'name' | 'keyOf'>,
  read: Item[],
  { limit, after, before, isBackward = false }: PageRequest<SortKey>,
): Page<Item> {
  const items = read.slice(0, limit);
  if (isBackward) items.reverse();
  const hasMore = read.length > limit;
  const hasNext = isBackward ? before !== undefined : hasMore;
  const last = items.at(-1);
  return {
    items,
    nextCursor: hasNext && last !== undefined ? toCursor(list, last) : null,
    hasNext,
    hasPrevious: isBackward ? hasMore : after !== undefined,
  };
}
