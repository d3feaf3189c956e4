/** Lists of records (contract 2): how they are described and answered. */
import { z } from 'zod';
import { longestCursor, mostPerPage, type Page } from '../db/paging.ts';
import type { RestAnswer } from './route.ts';

/** A page of `items`, or all of them where a list has one page alone: then `most` says how many. */
export function listOf(items: z.ZodType, id: string, most = mostPerPage) {
  return z
    .object({
      Items: z.array(items).max(most).meta({ description: 'The items of this page.' }),
      NextCursor: z
        .string()
        .max(longestCursor)
        .nullable()
        .meta({ description: '`Cursor` of the next page; null at the end of the list.' }),
    })
    .meta({ id, description: 'One page of a list.' });
}

/** @param more members that a page has besides */
export function listAnswer<T>(page: Page<T>, toRecord: (item: T) => object, more: object = {}): RestAnswer {
  return { status: 200, body: { Items: page.items.map(toRecord), NextCursor: page.nextCursor, ...more } };
}
