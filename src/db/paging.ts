import { Malformed } from '../errors.ts';

/** One page of a list; `nextCursor` is null at its end (contract 2). */
export type Page<T> = { items: T[]; nextCursor: string | null };

/** `after` is where the previous page ended: the value of the list's sort key. */
export type PageRequest = { limit: number; after: number | undefined };

export const defaultLimit = 50;
export const mostPerPage = 200;

const prefix = 'r1:';

/** @throws Malformed for a cursor that we did not make */
export function readPage(limit: number | undefined, cursor: string | null | undefined): PageRequest {
  const after = cursor ? Buffer.from(cursor, 'base64url').toString('latin1') : undefined;
  if (after !== undefined && !(after.startsWith(prefix) && /^\d{1,15}$/.test(after.slice(prefix.length))))
    throw new Malformed(
      'Cursor: pass the NextCursor of the previous page as it stands, or none for the first.',
    );
  return {
    limit: Math.min(limit ?? defaultLimit, mostPerPage),
    after: after === undefined ? undefined : Number(after.slice(prefix.length)),
  };
}

export function toCursor(key: number): string {
  return Buffer.from(`${prefix}${key}`).toString('base64url');
}

/** Cuts rows that were read with `limit + 1` into a page. */
export function toPage<T>(rows: T[], limit: number, keyOf: (row: T) => number): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { items, nextCursor: more ? toCursor(keyOf(last)) : null };
}
