/** Respells the faults that services find in a body of REST: GraphQL's names, and pointers that begin at the arguments. */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { DomainError, type FieldError } from '../errors.ts';
import { inNames, nameOf } from './names.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      faults: FaultsPlugin<Types>;
    }
  }
}

const pluginName = 'faults';

/** Arguments that are the body of REST as a whole; others are members of it. */
const bodies = ['input', 'jobs'];

function respell(fault: FieldError, body: string): void {
  const { field, pointer, message } = fault;
  if (pointer !== null) fault.pointer = `${body}${inNames(pointer)}`;
  if (field === null) return;
  fault.field = nameOf(field);
  if (message.startsWith(`${field}: `)) fault.message = `${fault.field}${message.slice(field.length)}`;
}

/** Queries that whoever is authenticated may ask. Any other may be refused, and is null then, so that the others are answered. */
const alwaysAnswered = new Set(['me', 'serverTime', 'tenant']);

class FaultsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (field.kind !== 'Query' || alwaysAnswered.has(field.name)) return field;
    return { ...field, type: { ...field.type, nullable: true } };
  }

  override wrapResolve(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { args }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (Object.keys(args).length === 0) return resolver;
    const body = bodies.find((name) => name in args);
    return async (...call) => {
      try {
        return await resolver(...call);
      } catch (error) {
        if (error instanceof DomainError) for (const fault of error.errors) respell(fault, body ? `/${body}` : '');
        throw error;
      }
    };
  }
}

SchemaBuilder.registerPlugin(pluginName, FaultsPlugin);

export default pluginName;
