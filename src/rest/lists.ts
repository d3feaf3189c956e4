/** Describes and answers lists of records (contract 2). */
import { z } from 'zod';
import type { Context, Viewer } from '../context.ts';
import {
  type List,
  longestCursor,
  mostPerPage,
  type Page,
  type PageRequest,
  readPage,
  type SortKey,
} from '../db/paging.ts';
import { type Fields, toFields } from '../fields.ts';
import { paging } from '../query-parameters.ts';
import type { RestAnswer } from './answers.ts';
import { type DescribedAnswer, type Route, route } from './route.ts';

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

type ListRoute<Row, Key extends SortKey, Params extends z.core.$ZodType, Filter extends z.ZodObject> = Pick<
  Route<Params>,
  'path' | 'summary' | 'description' | 'params' | 'problems'
> & {
  /** The members of the query beside `paging`. */
  filter?: Filter | undefined;
  page: DescribedAnswer;
  of: List<Row, Key>;
  run(
    db: Context['db'],
    viewer: Viewer,
    filter: Fields<z.output<Filter>>,
    page: PageRequest<Key>,
    params: z.output<Params>,
  ): Promise<Page<Row>>;
  toRecord(row: Row): object;
};

/** The route that lists records by pages. */
export function listRoute<Row, Key extends SortKey, Params extends z.core.$ZodType, Filter extends z.ZodObject>({
  filter,
  page,
  of,
  run,
  toRecord,
  ...described
}: ListRoute<Row, Key, Params, Filter>): Route {
  return route({
    ...described,
    method: 'GET',
    query: z.strictObject({ ...filter?.shape, ...paging }),
    answers: { 200: page },
    handle: async ({ db }, { viewer, params, query: { Limit, Cursor, ...wanted } }) => {
      const asked = readPage(of, Limit, Cursor);
      return listAnswer(await run(db, viewer, toFields(wanted) as Fields<z.output<Filter>>, asked, params), toRecord);
    },
  });
}
