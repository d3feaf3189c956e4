import SchemaBuilder, { type EnumRef, type ObjectRef } from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import ErrorsPlugin from '@pothos/plugin-errors';
import { GraphQLError, type ValueNode, valueFromASTUntyped } from 'graphql';
import { z } from 'zod';
import type { Context } from '../context.ts';
import type { CallPlace } from '../flow/large-answers.ts';
import ArgumentsPlugin from './arguments.ts';
import CostsPlugin from './costs.ts';
import FaultsPlugin from './faults.ts';
import type { Caller } from './holders.ts';
import type { Resolved } from './resolved.ts';
import type { Streams } from './streams.ts';
import type { WrittenLists } from './written-lists.ts';

/** The context of every resolver: the caller, the request, and a function that opens a stream. */
export type GraphqlCall = Caller & {
  context: Context;
  requestId: string;
  streams: Streams;
  /** Resolvers of large answers take it first; absent in subscriptions. */
  place?: CallPlace;
  /** What a plan has found before it gave up. */
  resolved?: Resolved;
  /** The lists that the executor does not complete. */
  lists?: WrittenLists;
};

/** What a room's `graphql.ts` exports: adds its types and fields to the schema. */
export type AddTypes = (builder: Builder) => void;

export type Builder = ReturnType<typeof createBuilder>;
/** The type parameters of the builder's schema. */
export type Types = Builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never;

const instant = z.iso.datetime();

function readInstant(value: unknown): Date {
  const read = instant.safeParse(value);
  if (!read.success)
    throw new GraphQLError('DateTime: write RFC 3339 in UTC with a Z, for example 2026-03-28T08:00:00Z.');
  return new Date(read.data);
}

function readDate(value: unknown): string {
  const read = z.iso.date().safeParse(value);
  if (!read.success) throw new GraphQLError('Date: write a date of the calendar, for example 2026-03-28.');
  return read.data;
}

/** Reads a literal with `read`; its error names the place in the document. */
const ofLiteral =
  <Value>(read: (value: unknown) => Value) =>
  (node: ValueNode): Value => {
    try {
      return read(valueFromASTUntyped(node));
    } catch (error) {
      throw new GraphQLError((error as Error).message, { nodes: node });
    }
  };

/** A reference by name to a type that another room adds. */
export const typeNamed = <Source extends object>(name: string) => name as unknown as ObjectRef<Types, Source>;
/** The same for an enumeration. */
export const enumNamed = <Value extends string>(name: string) => name as unknown as EnumRef<Types, Value>;

/** The builder of the schema with its scalars. It is the only one, as the types of plugins are global. */
export function createBuilder() {
  const builder = new SchemaBuilder<{
    Context: GraphqlCall;
    DefaultFieldNullability: false;
    Objects: {
      PageInfo: {
        hasNextPage: boolean;
        hasPreviousPage: boolean;
        startCursor: string | null;
        endCursor: string | null;
      };
    };
    Scalars: {
      Date: { Input: string; Output: string };
      DateTime: { Input: Date; Output: Date | string };
      ID: { Input: string; Output: string | number };
    };
  }>({
    // The outermost first: ArgumentsPlugin's errors go to FaultsPlugin, which renames members, and then to ErrorsPlugin.
    plugins: [ErrorsPlugin, FaultsPlugin, ArgumentsPlugin, ComplexityPlugin, CostsPlugin],
    defaultFieldNullability: false,
    errors: { directResult: true, defaultTypes: [] },
    // limits.ts checks the cost, before execution and for subscriptions too.
    complexity: { disabled: true },
  });
  builder.queryType({ description: 'Everything that can be read.' });
  builder.mutationType({ description: 'Everything that can be changed.' });
  builder.subscriptionType({ description: 'What can be watched, over SSE and over WebSocket.' });
  builder.scalarType('DateTime', {
    description: 'An instant: RFC 3339 in UTC with a Z.',
    // Some resolvers return the text.
    serialize: (value) => (typeof value === 'string' ? value : value.toISOString()),
    parseValue: readInstant,
    parseLiteral: ofLiteral(readInstant),
  });
  builder.scalarType('Date', {
    description: 'A local date, without a time and without a zone: YYYY-MM-DD.',
    serialize: (value) => value,
    parseValue: readDate,
    parseLiteral: ofLiteral(readDate),
  });
  builder.objectType('PageInfo', {
    description: 'Where a page ends, and whether there is more.',
    fields: (t) => ({
      hasNextPage: t.exposeBoolean('hasNextPage', {
        description: 'Whether another page follows; before a cursor always.',
      }),
      hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
        description: 'Whether another page precedes: after a cursor always, since that was made of an item there.',
      }),
      startCursor: t.exposeString('startCursor', {
        nullable: true,
        description: 'For `before` of the page that precedes; null on an empty page.',
      }),
      endCursor: t.exposeString('endCursor', {
        nullable: true,
        description: 'For `after` of the next page; null on an empty page.',
      }),
    }),
  });
  return builder;
}
