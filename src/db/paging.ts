import { z } from 'zod';
import { Malformed } from '../errors.ts';

/** One page of a list; `nextCursor` is null at its end (contract 2). */
export type Page<T> = { items: T[]; nextCursor: string | null };

/** The value of a list's sort key, by which each item has one place: a number, or the key's parts in their order. */
export type SortKey = number | readonly (number | string)[];

/** `after` is where the previous page ended. */
export type PageRequest<Key extends SortKey = number> = { limit: number; after: Key | undefined };

export const defaultLimit = 50;
export const mostPerPage = 200;
/** Characters: a sort key holds at most one text of 128 characters, of which JSON may make six bytes each. */
export const longestCursor = 1_200;

const prefix = 'r1:';
const number = z.int().min(0);

function readCursor(cursor: string, key: z.ZodType): unknown {
  const written = Buffer.from(cursor, 'base64url').toString();
  try {
    return written.startsWith(prefix) ? key.parse(JSON.parse(written.slice(prefix.length))) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param key what the list sorts by
 * @throws Malformed for a cursor that we did not make
 */
export function readPage<Key extends SortKey = number>(
  limit: number | undefined,
  cursor: string | null | undefined,
  key: z.ZodType<Key> = number as z.ZodType<SortKey> as z.ZodType<Key>,
): PageRequest<Key> {
  const after = cursor ? (readCursor(cursor, key) as Key | undefined) : undefined;
  if (cursor && after === undefined)
    throw new Malformed(
      'Cursor: pass the NextCursor of the previous page as it stands, or none for the first.',
    );
  return { limit: Math.min(limit ?? defaultLimit, mostPerPage), after };
}

export function toCursor(key: SortKey): string {
  return Buffer.from(prefix + JSON.stringify(key)).toString('base64url');
}

/** Cuts rows that were read with `limit + 1` into a page. */
export function toPage<T>(rows: T[], limit: number, keyOf: (row: T) => SortKey): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, nextCursor: more ? toCursor(keyOf(last)) : null };
}
