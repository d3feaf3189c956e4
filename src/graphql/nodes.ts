/** `node` and `nodes` give any record by its global id. Each room says with its type how a record of its noun is found. */
import type { GraphQLSchema } from 'graphql';
import { NotFound } from '../errors.ts';
import { upperFirst } from '../fields.ts';
import type { IdNoun, IdOf } from '../nouns.ts';
import type { Builder, GraphqlCall } from './builder.ts';
import { plainId, readGlobalId } from './ids.ts';

const mostNodes = 100;

type Found = object | null | undefined;
type FindNode = (call: GraphqlCall, id: string) => Promise<Found>;

/**
 * The options of a type that make its records nodes. The type has the name of the noun.
 * @param find has the rights of the noun's own query
 */
export function nodeOf<Name extends IdNoun>(
  noun: Name,
  find: (call: GraphqlCall, id: IdOf<Name>) => Promise<Found>,
): object {
  const findNode: FindNode = (call, id) => find(call, plainId(noun, id));
  return { interfaces: ['Node'], extensions: { findNode } };
}

/** Null for a malformed or unknown id, and for a record that is not a node. */
async function findNode(schema: GraphQLSchema, call: GraphqlCall, id: string, names: WeakMap<object, string>) {
  const named = readGlobalId(id);
  const name = named && upperFirst(named.noun);
  const find = name && (schema.getType(name)?.extensions['findNode'] as FindNode | undefined);
  if (!named || !find) return null;
  const found = await find(call, named.id).catch((error: unknown) => {
    if (error instanceof NotFound) return null;
    throw error;
  });
  if (found) names.set(found, name);
  return found ?? null;
}

/** Adds the interface `Node`, and the queries `node` and `nodes`. */
export function addNodes(builder: Builder): void {
  /** The types of the records that were found. */
  const names = new WeakMap<object, string>();
  const node = builder.interfaceRef<object>('Node').implement({
    description: 'A record with an id that is unique in the graph.',
    fields: (t) => ({ id: t.id({ description: 'Its id in the graph.', resolve: () => '' }) }),
    resolveType: (found) => names.get(found),
  });
  builder.queryFields((t) => ({
    node: t.field({
      type: node,
      nullable: true,
      args: { id: t.arg.id({ required: true, description: 'An `id` of the graph.' }) },
      complexity: 10,
      description:
        'A record by its id, with the rights of its own query; null where there is none for the caller. Of a noun that the caller may not read at all: FORBIDDEN.',
      resolve: (_root, { id }, call, { schema }) => findNode(schema, call, id, names),
    }),
    nodes: t.field({
      type: [node],
      nullable: { list: false, items: true },
      args: {
        ids: t.arg.idList({
          required: true,
          description: `Ids of the graph, ${mostNodes} at most.`,
          validate: { maxLength: mostNodes },
        }),
      },
      complexity: ({ ids }) => ({ field: 10 * ids.length, multiplier: ids.length }),
      description: 'The same of several, in the order of the ids.',
      resolve: (_root, { ids }, call, { schema }) => ids.map((id) => findNode(schema, call, id, names)),
    }),
  }));
}
