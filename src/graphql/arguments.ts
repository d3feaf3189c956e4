/**
 * Checks the arguments of fields by the zod schemas that the library's plugin has collected. That plugin would check them
 * asynchronously, which takes several promises for each field and zod's slower way; none of our schemas needs to wait.
 */
import SchemaBuilder, { type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import { PothosZodPlugin } from '@pothos/plugin-zod';
import type { GraphQLFieldResolver } from 'graphql';
import { z } from 'zod';
import { invalidArguments } from '../input.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      arguments: ArgumentsPlugin<Types>;
    }
  }
}

const pluginName = 'arguments';

export type Resolver<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>;

/** Calls a resolver with checked arguments. */
function checking<Types extends SchemaTypes>(
  resolver: Resolver<Types>,
  { args }: PothosOutputFieldConfig<Types>,
): Resolver<Types> {
  const schemas = Object.entries(args).flatMap(([name, { extensions }]) =>
    extensions?.['validator'] ? [[name, extensions['validator'] as z.ZodType] as const] : [],
  );
  if (schemas.length === 0) return resolver;
  const schema = z.looseObject(Object.fromEntries(schemas));
  return (parent, sent, call, info) => {
    const checked = schema.safeParse(sent);
    if (!checked.success) throw invalidArguments(checked.error, sent);
    return resolver(parent, checked.data, call, info);
  };
}

class ArgumentsPlugin<Types extends SchemaTypes> extends PothosZodPlugin<Types> {
  /** The library's types allow `validate` on a field, for all of its arguments together, which `checking` would not see. */
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (field.pothosOptions.validate !== undefined)
      throw new Error(`${field.parentType}.${field.name}: validate its arguments, or their input type, not the field.`);
    return field;
  }

  override wrapResolve(resolver: Resolver<Types>, field: PothosOutputFieldConfig<Types>): Resolver<Types> {
    return checking(resolver, field);
  }

  override wrapSubscribe(
    subscribe: Resolver<Types> | undefined,
    field: PothosOutputFieldConfig<Types>,
  ): Resolver<Types> | undefined {
    return subscribe && checking(subscribe, field);
  }
}

SchemaBuilder.registerPlugin(pluginName, ArgumentsPlugin);

export default pluginName;
