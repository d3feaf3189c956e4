/**
 * The results of a query's resolvers. A plan that gives up passes them to GraphQL's own executor, so a query with a
 * failing field costs the database no more than any other.
 */
import { type FieldNode, type GraphQLSchema, isObjectType } from 'graphql';
import type { Context } from '../context.ts';
import { DomainError } from '../errors.ts';
import type { WrittenLists } from './written-lists.ts';

/** The results of one call, by the places of fields in the document, and by their parents. */
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

/** Whether the executor would get the same error: other errors may be caused by the plan, or be temporary. */
export const isLasting = (error: unknown): boolean => error instanceof DomainError;

type Call = { context: Context; resolved?: Resolved; lists?: WrittenLists };

/** Lets the executor use a call's resolved values, and leave its lists that write themselves as they are. */
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
