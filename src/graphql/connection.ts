import type { ArgBuilder, ObjectRef } from '@pothos/core';
import {
  defaultLimit,
  type List,
  mostPerPage,
  type Page,
  type PageRequest,
  readPage,
  type SortKey,
  toCursor,
} from '../db/paging.ts';
import type { Builder, Types } from './builder.ts';

/** `first` and `after` of a list field. */
export function pageArguments(t: ArgBuilder<Types>) {
  return {
    first: t.int({
      description: `How many at most; ${defaultLimit} when left out, and above ${mostPerPage} as ${mostPerPage}.`,
      validate: { min: 1 },
    }),
    after: t.string({ description: 'The `endCursor` of the page before.' }),
  };
}

type PageArguments = { first?: number | null | undefined; after?: string | null | undefined };

/** @throws Malformed for a cursor that was not made for this list */
export function pageOf<Key extends SortKey>(
  list: Pick<List<unknown, Key>, 'name' | 'key'>,
  { first, after }: PageArguments,
): PageRequest<Key> {
  return readPage(list, first ?? undefined, after);
}

/** The cost of a page: its read, and its fields for each node that it may hold. */
export function pageCost({ first }: PageArguments) {
  return { field: 10, multiplier: Math.min(first ?? defaultLimit, mostPerPage) };
}

/** The connection type of a node type: a page of a list with its cursors. */
export function connectionType<Node extends object>(
  builder: Builder,
  node: ObjectRef<Types, Node>,
  list: Pick<List<Node, SortKey>, 'name' | 'keyOf'>,
) {
  // Pothos cannot infer types from a generic node.
  const type = node as unknown as ObjectRef<Types, object>;
  const cursorOf = (item: object) => toCursor(list, item as Node);
  const edge = builder.objectRef<object>(`${node.name}Edge`).implement({
    description: 'A node and where it stands in its list.',
    fields: (t) => ({
      cursor: t.string({ description: 'Where this node stands.', resolve: cursorOf }),
      node: t.field({ type, description: 'The node itself.', resolve: (item) => item }),
    }),
  });
  const connection = builder.objectRef<Page<object>>(`${node.name}Connection`).implement({
    description: 'One page of a list.',
    fields: (t) => ({
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
        description: 'Where this page ends.',
        resolve: ({ items, nextCursor }) => {
          const last = items.at(-1);
          const [first] = items;
          return {
            hasNextPage: nextCursor !== null,
            // Pages are read forwards only: what lies before is not looked for.
            hasPreviousPage: false,
            startCursor: first ? cursorOf(first) : null,
            endCursor: last ? cursorOf(last) : null,
          };
        },
      }),
    }),
  });
  return connection as unknown as ObjectRef<Types, Page<Node>>;
}
