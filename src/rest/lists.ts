/** Describes and answers lists of records (contract 2). */
import { z } from 'zod';
import { longestCursor, mostPerPage, type Page } from '../db/paging.ts';
import type { RestAnswer } from './answers.ts';

/** The schema of a page of `items`. A list that is always one page gives its own `most`. */
export function listOf(items: z.core.$ZodType, id: string, most = mostPerPage) {
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

/** Describes the answer with a page. @param example a page, or one item of it */
export const pageAnswer = (description: string, body: z.core.$ZodType, example: object) => ({
  description,
  body,
  example: 'Items' in example ? example : { Items: [example], NextCursor: null },
  headers: ['ETag' as const],
});

/** @param more further members of the page */
export function listAnswer<T>(page: Page<T>, toRecord: (item: T) => object, more: object = {}): RestAnswer {
  return { status: 200, body: { Items: page.items.map(toRecord), NextCursor: page.nextCursor, ...more } };
}
