/** `node` and `nodes` return any record by its global id. Each room's type says how a record of its noun is found. */
import type { ObjectRef, QueryFieldBuilder } from '@pothos/core';
import type { GraphQLSchema } from 'graphql';
import { NotFound } from '../errors.ts';
import { upperFirst } from '../fields.ts';
import type { IdNoun, IdOf } from '../nouns.ts';
import type { Builder, GraphqlCall, Types } from './builder.ts';
import { idArgument, plainId, readGlobalId } from './ids.ts';

const mostNodes = 100;

type RecordQuery<Name extends IdNoun, Found extends object> = {
  type: ObjectRef<Types, Found>;
  description: string;
  find: (call: GraphqlCall, id: IdOf<Name>) => Promise<Found | undefined>;
};

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

/** Null for what the tenant does not have. */
export const orNull = <Value>(found: Promise<Value>): Promise<Value | null> =>
  found.catch((error: unknown) => {
    if (error instanceof NotFound) return null;
    throw error;
  });

/** The query for one record by its id. @param find has the rights of the query */
export function recordQuery<Name extends IdNoun, Found extends object>(
  t: QueryFieldBuilder<Types, object>,
  noun: Name,
  { type, description, find }: RecordQuery<Name, Found>,
) {
  return t.field({
    // Pothos cannot infer types from a generic record, nor from an id of a generic noun.
    type: type as unknown as ObjectRef<Types, object>,
    nullable: true,
    args: { id: idArgument(t.arg, noun, { required: true, description: `The id of the ${noun}.` }) },
    description,
    resolve: async (_root, asked, call) => (await find(call, (asked as { id: IdOf<Name> }).id)) ?? null,
  });
}

/** Null for a malformed or unknown id, and for a record that is not a node. */
async function findNode(schema: GraphQLSchema, call: GraphqlCall, id: string, names: WeakMap<object, string>) {
  const named = readGlobalId(id);
  const name = named && upperFirst(named.noun);
  const find = name && (schema.getType(name)?.extensions['findNode'] as FindNode | undefined);
  if (!named || !find) return null;
  const found = await orNull(find(call, named.id));
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
