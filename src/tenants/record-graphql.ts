import type { InputRef, ObjectRef } from '@pothos/core';
import type { z } from 'zod';
import type { Act, Context, Versions } from '../context.ts';
import { Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed } from '../errors.ts';
import { type Fields, upperFirst } from '../fields.ts';
import { bodyType } from '../graphql/body.ts';
import type { Builder, Types } from '../graphql/builder.ts';
import { idArgument } from '../graphql/ids.ts';

type Body = z.ZodObject & z.core.$ZodType<object>;

type RecordChanges<New extends Body, Changes extends Body> = {
  create: {
    schema: New;
    run(db: Context['db'], act: Act, fields: Fields<z.output<New>>): Promise<object>;
  };
  change: {
    schema: Changes;
    run(
      db: Context['db'],
      act: Act,
      id: number,
      versions: Versions,
      changes: Fields<z.output<Changes>>,
    ): Promise<object>;
  };
  /** Absent for what is retired and never deleted. */
  remove?: (db: Context['db'], act: Act, id: number, versions: Versions) => Promise<object>;
};

/** Adds the mutations that create and change records of one kind, with the body schemas of REST. */
export function addChanges<New extends Body, Changes extends Body>(
  builder: Builder,
  noun: 'location' | 'resource' | 'person' | 'group' | 'policy',
  // biome-ignore lint/suspicious/noExplicitAny: of whatever source
  record: ObjectRef<Types, any>,
  { create, change, remove }: RecordChanges<New, Changes>,
): void {
  const type: ObjectRef<Types, object> = record;
  const Noun = upperFirst(noun);
  const input = (verb: string, schema: Body): InputRef<object> => bodyType(builder, `${verb}${Noun}Input`, schema);
  const result = (verb: string) => ({
    name: `${verb}${Noun}Result`,
    description: `The ${noun}, or why the request was refused.`,
  });
  builder.mutationField(`create${Noun}`, (t) =>
    t.field({
      type,
      errors: { types: [Conflict, Forbidden, InvalidInput], union: result('Create') },
      args: {
        input: t.arg({ type: input('Create', create.schema), required: true, description: 'The record to create.' }),
      },
      description: `Creates a ${noun}, for Admins.`,
      resolve: (_root, args, call) => create.run(call.context.db, call, args.input as Fields<z.output<New>>),
    }),
  );
  builder.mutationField(`change${Noun}`, (t) =>
    t.field({
      type,
      errors: {
        types: [Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed],
        union: result('Change'),
      },
      args: {
        id: idArgument(t.arg, noun, { required: true, description: `The id of the ${noun}.` }),
        version: t.arg.int({ required: true, description: 'The version that was read.' }),
        input: t.arg({
          type: input('Change', change.schema),
          required: true,
          description: 'The changes.',
        }),
      },
      description: `Changes a ${noun}, for Admins.`,
      resolve: (_root, { id, version, input }, call) =>
        change.run(call.context.db, call, id, [version], input as Fields<z.output<Changes>>),
    }),
  );
  if (!remove) return;
  builder.mutationField(`delete${Noun}`, (t) =>
    t.field({
      type,
      errors: { types: [Conflict, Forbidden, NotFound, PreconditionFailed], union: result('Delete') },
      args: {
        id: idArgument(t.arg, noun, { required: true, description: `The id of the ${noun}.` }),
        version: t.arg.int({ required: true, description: 'The version that was read.' }),
      },
      description: `Deletes a ${noun} that nothing refers to any more, for Admins; returns it as it was.`,
      resolve: (_root, { id, version }, call) => remove(call.context.db, call, id, [version]),
    }),
  );
}
