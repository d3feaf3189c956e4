import type { ArgBuilder, InputRef, ObjectRef } from '@pothos/core';
import {
  defaultLimit,
  keyAt,
  type List,
  lengthOf,
  mostPerPage,
  type Page,
  type PageRequest,
  type SortKey,
  toCursor,
} from '../db/paging.ts';
import { Malformed } from '../errors.ts';
import type { Builder, Types } from './builder.ts';

/** `first` and `after`, or `last` and `before`, of a list field. */
export function pageArguments(t: ArgBuilder<Types>) {
  return {
    first: t.int({
      description: `The most nodes of the page: ${defaultLimit} by default; values above ${mostPerPage} count as ${mostPerPage}.`,
      validate: { min: 1 },
    }),
    after: t.string({
      description: 'A cursor of this list, such as `endCursor` of the previous page: the page begins after it.',
    }),
    last: t.int({
      description: `To read backward: the last nodes, as many as this; values above ${mostPerPage} count as ${mostPerPage}. Not together with \`first\`.`,
      validate: { min: 1 },
    }),
    before: t.string({
      description: 'A cursor of this list, such as `startCursor` of the next page: the page ends before it.',
    }),
  };
}

/** The arguments of a list with a filter. */
export function filteredPage<Filter>(t: ArgBuilder<Types>, filter: InputRef<Filter>) {
  return { filter: t({ type: filter, description: 'The filter of the list.' }), ...pageArguments(t) };
}

type Given<Value> = Value | null | undefined;
type PageArguments = {
  first?: Given<number>;
  after?: Given<string>;
  last?: Given<number>;
  before?: Given<string>;
};

const bothEnds = 'first, last: give one of them, `first` to read forward and `last` to read backward.';
const misplaced = (name: string) => `${name}: pass a cursor of this list as it stands, or none for the first page.`;

/** @throws Malformed for a cursor that was not made for this list, and for `first` together with `last` */
export function pageOf<Key extends SortKey>(
  list: Pick<List<unknown, Key>, 'name' | 'key'>,
  { first, after, last, before }: PageArguments,
): PageRequest<Key> {
  const isBackward = (last ?? undefined) !== undefined;
  if (isBackward && (first ?? undefined) !== undefined) throw new Malformed(bothEnds);
  return {
    limit: lengthOf(last ?? first),
    after: keyAt(list, after, misplaced('after')),
    before: keyAt(list, before, misplaced('before')),
    isBackward,
  };
}

/** The cost of a page: its read, and its fields for each node that it may hold. */
export function pageCost({ first, last }: PageArguments) {
  return { field: 10, multiplier: lengthOf(last ?? first) };
}

/** The cost of a stream that begins with a list, in frames as long as a page may be. */
export const listFrameCost = pageCost({ first: mostPerPage });

/** The arguments on which the cost of a page depends. */
export const pageSizes = ['first', 'last'];

/**
 * The connection type of a node type: a page of a list with its cursors.
 * @param isCounted whether lists of these nodes are counted
 */
export function connectionType<Node extends object>(
  builder: Builder,
  node: ObjectRef<Types, Node>,
  list: Pick<List<Node, SortKey>, 'name' | 'keyOf'>,
  { isCounted = false }: { isCounted?: boolean } = {},
) {
  // Pothos cannot infer types from a generic node.
  const type = node as unknown as ObjectRef<Types, object>;
  const cursorOf = (item: object) => toCursor(list, item as Node);
  const edge = builder.objectRef<object>(`${node.name}Edge`).implement({
    description: 'A node and its position in the list.',
    fields: (t) => ({
      cursor: t.string({ description: 'The position of this node.', resolve: cursorOf }),
      node: t.field({ type, description: 'The node itself.', resolve: (item) => item }),
    }),
  });
  const connection = builder.objectRef<Page<object>>(`${node.name}Connection`).implement({
    description: 'One page of a list.',
    fields: (t) => ({
      ...(isCounted && {
        totalCount: t.int({
          nullable: true,
          description: 'The number of nodes on all pages; null if counting costs more than reading a page.',
          resolve: async ({ count }) => (await count?.()) ?? null,
        }),
      }),
      nodes: t.field({
        type: [type],
        complexity: { field: 1, multiplier: 1 },
        description: 'The nodes of this page.',
        resolve: ({ items }) => items,
      }),
      edges: t.field({
        type: [edge],
        complexity: { field: 1, multiplier: 1 },
        description: 'The nodes of this page, each with its cursor.',
        resolve: ({ items }) => items,
      }),
      pageInfo: t.field({
        type: 'PageInfo',
        description: 'Where this page begins and ends.',
        resolve: ({ items, hasNext, hasPrevious }) => {
          const last = items.at(-1);
          const [first] = items;
          return {
            hasNextPage: hasNext,
            hasPreviousPage: hasPrevious,
            startCursor: first ? cursorOf(first) : null,
            endCursor: last ? cursorOf(last) : null,
          };
        },
      }),
    }),
  });
  return connection as unknown as ObjectRef<Types, Page<Node>>;
}
