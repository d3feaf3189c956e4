/**
 * What the resolvers of a query have found. A plan that gives up leaves it to GraphQL's own executor, so that a query of which one
 * field fails asks the database no more than any other.
 */
import { type FieldNode, type GraphQLSchema, isObjectType } from 'graphql';
import type { Context } from '../context.ts';
import { DomainError } from '../errors.ts';
import type { WrittenLists } from './written-lists.ts';

/** Of one call, by the places of fields in the document, and by their parents. */
export class Resolved {
  #db: Context['db'] | undefined;
  readonly #found = new Map<FieldNode | undefined, Map<unknown, PromiseLike<unknown>>>();

  /** For one database only: reads at the primary after a standby has failed must not use data of the standby. */
  startAt({ db }: Context): void {
    this.#db = db;
    this.#found.clear();
  }

  keep(node: FieldNode, parent: unknown, value: PromiseLike<unknown>): void {
    const ofNode = this.#found.get(node);
    if (ofNode) ofNode.set(parent, value);
    else this.#found.set(node, new Map([[parent, value]]));
  }

  find({ db }: Context, node: FieldNode | undefined, parent: unknown): PromiseLike<unknown> | undefined {
    return db === this.#db ? this.#found.get(node)?.get(parent) : undefined;
  }
}

/** Whether the executor would have got the same error: others may come of what only a plan does, or may be over. */
export const isLasting = (error: unknown): boolean => error instanceof DomainError;

type Call = { context: Context; resolved?: Resolved; lists?: WrittenLists };

/** Lets the executor take what has been resolved, and leave lists that write themselves as they are, where a call has these. */
export function takeResolved(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const { resolve } = field;
      if (!resolve) continue;
      field.resolve = (parent, args, call: Call, info) => {
        const found =
          call.resolved?.find(call.context, info.fieldNodes[0], parent) ?? resolve(parent, args, call, info);
        return call.lists ? call.lists.replace(found, info) : found;
      };
    }
  }
  return schema;
}
