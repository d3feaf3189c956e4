/**
 * Input types derived from the bodies of REST: the same members under GraphQL's names, checked by the same schemas,
 * which report all faults at once. GraphQL checks the types before.
 */
import type { InputRef } from '@pothos/core';
import { z } from 'zod';
import { type Fields, toFields } from '../fields.ts';
import { nounOf } from '../nouns.ts';
import { isStorable, notStorable } from '../storable.ts';
import type { Builder } from './builder.ts';
import { faultOf, idValue, malformedFaultOf, plainValue } from './ids.ts';
import { describeMember, inWords, nameOf } from './names.ts';
import { bare, describe, typeOf } from './record.ts';

type Path = readonly (string | number)[];
type Report = (path: Path, message: string, code: string) => void;

const elementOf = (schema: z.ZodType) => (schema as z.ZodArray<z.ZodType>).element;
const shapeOf = (schema: z.ZodType) => (schema as z.ZodObject<Record<string, z.ZodType>>).shape;

/** A value of an input as a body of REST has it: with REST's names, ids as numbers, and instants as texts. */
export function asSent(wrapped: z.ZodType, value: unknown, report: Report = () => {}, path: Path = []): unknown {
  const schema = bare(wrapped);
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'string') {
    if (!isStorable(value)) report(path, `a text ${notStorable}`, 'Malformed');
    const noun = nounOf(schema);
    if (!noun) return value;
    const fault = faultOf(noun, value);
    const malformed = malformedFaultOf(noun, value);
    if (fault) report(path, fault, 'InvalidValue');
    else if (malformed) report(path, malformed, 'InvalidType');
    return plainValue(noun, value);
  }
  if (Array.isArray(value))
    return schema.def.type === 'array'
      ? value.map((item, index) => asSent(elementOf(schema), item, report, [...path, index]))
      : value;
  if (typeof value !== 'object' || value === null || schema.def.type !== 'object') return value;
  const given = value as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(shapeOf(schema))
      .map(([member, inner]) => [member, inner, nameOf(member)] as const)
      .filter(([, , name]) => given[name] !== undefined)
      .map(([member, inner, name]) => [member, asSent(inner, given[name], report, [...path, name])]),
  );
}

/**
 * Checks a value of GraphQL by a schema of REST, for `validate` of an argument or an input. The output is that of the schema;
 * the issues have GraphQL's names.
 */
export function judgedBy<Schema extends z.core.$ZodType>(
  schema: Schema,
): { schema: z.ZodType<NonNullable<z.output<Schema>>> } {
  const judge = z.unknown().transform((value, context) => {
    const wrong = new Set<string>();
    const report: Report = (path, message, code) => {
      wrong.add(path.join('.'));
      context.addIssue({ code: 'custom', path: [...path], message, params: { code } });
    };
    const read = z.safeParse(schema, asSent(schema as unknown as z.ZodType, value, report));
    if (read.success) return read.data;
    for (const issue of read.error.issues) {
      const path = issue.path.map((part) => (typeof part === 'string' ? nameOf(part) : part));
      if (!wrong.has(path.join('.'))) context.issues.push({ ...issue, path } as z.core.$ZodRawIssue);
    }
    return z.NEVER;
  });
  return { schema: judge as unknown as z.ZodType<NonNullable<z.output<Schema>>> };
}

/** The check of an id in a part that is not checked together with a body. */
function idCheck(schema: z.ZodType): object {
  const noun = bare(schema).def.type === 'array' ? undefined : nounOf(schema);
  return noun ? { validate: { schema: idValue(noun) } } : {};
}

/** An input type with the members of a part of a body, which is checked together with the body. */
export function partType<Schema extends z.ZodObject>(
  builder: Builder,
  name: string,
  schema: Schema,
  parts: ReadonlyMap<z.core.$ZodType, InputRef<object>> = new Map(),
  options: object = {},
): InputRef<z.output<Schema>> {
  return builder.inputType(name, {
    description: inWords(schema.description ?? ''),
    ...options,
    fields: (t) =>
      Object.fromEntries(
        Object.entries(shapeOf(schema)).map(([member, inner]) => [
          nameOf(member),
          t.field({
            type: typeOf(bare(inner), (part) => parts.get(part) ?? enumOf(part)) as 'String',
            // A member that is required and may be null is checked by the schema: GraphQL has no such type.
            required: (!inner.isOptional() && !inner.isNullable()) as false,
            description: describeMember(member, describe(inner)),
            ...('validate' in options ? {} : idCheck(inner)),
          }),
        ]),
      ),
  }) as unknown as InputRef<z.output<Schema>>;
}

/** The name of an enumeration, which is the id of its schema. */
function enumOf(schema: z.ZodType): string | undefined {
  return schema.def.type === 'enum' ? schema.meta()?.id : undefined;
}

/** An input type with the members of a body; resolvers get the output of the schema. */
export const bodyType = <Schema extends z.ZodObject>(
  builder: Builder,
  name: string,
  schema: Schema,
  parts?: ReadonlyMap<z.core.$ZodType, InputRef<object>>,
): InputRef<Fields<z.output<Schema>>> =>
  partType(builder, name, schema, parts, {
    validate: judgedBy(schema.transform(toFields) as unknown as Schema),
  }) as unknown as InputRef<Fields<z.output<Schema>>>;
