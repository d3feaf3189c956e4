/**
 * Makes GraphQL types from the schemas of REST's records: the same members in camel case, with the same values and
 * descriptions.
 */
import type { EnumRef, FieldRef, ObjectFieldBuilder, ObjectRef } from '@pothos/core';
import { z } from 'zod';
import { lowerFirst } from '../fields.ts';
import { nounOf } from '../nouns.ts';
import type { Builder, Types } from './builder.ts';
import { idFields, readMember } from './ids.ts';
import { describeMember, inWords, nameOf, typeNameOf } from './names.ts';

/** Types of members whose names are not the ids of their schemas. */
export type Members = ReadonlyMap<z.core.$ZodType, MemberType>;
// biome-ignore lint/suspicious/noExplicitAny: of whatever source
export type MemberType = ObjectRef<Types, any> | EnumRef<Types, any> | 'Int';

/** An enumeration, by default named by the id of its schema. */
export function enumType<Value extends string>(builder: Builder, schema: z.core.$ZodType<Value>, name?: string) {
  const { id = '', description = '' } = z.globalRegistry.get(schema) ?? {};
  const { options } = schema as unknown as { options: Value[] };
  return builder.enumType(name ?? id, { description, values: options });
}

const scalars: Record<string, 'String' | 'Int' | 'Boolean' | 'DateTime'> = {
  string: 'String',
  number: 'Int',
  boolean: 'Boolean',
  enum: 'String',
  date: 'DateTime',
};

const formats: Record<string, 'Date' | 'DateTime'> = { date: 'Date', datetime: 'DateTime' };

type Definition = { innerType: z.ZodType; element: z.ZodType; in: z.ZodType };
const definitionOf = (schema: z.ZodType) => schema.def as unknown as Definition;

/** A schema without its optional, nullable and default wrappers and its transformations. */
export function bare(schema: z.ZodType): z.ZodType {
  if (schema.def.type === 'pipe') return bare(definitionOf(schema).in);
  const isWrapped = ['optional', 'nullable', 'default'].includes(schema.def.type);
  return isWrapped ? bare(definitionOf(schema).innerType) : schema;
}

const fitsInt = (schema: z.ZodType) =>
  schema.def.type !== 'number' || ((schema as z.ZodNumber).maxValue ?? Infinity) < 2 ** 31;

/** The result of `find` for a schema, or else for one of the schemas from which `meta` has derived it. */
function findFor(schema: z.ZodType, find: (schema: z.ZodType) => unknown): unknown {
  const parent = schema._zod.parent as z.ZodType | undefined;
  return find(schema) ?? (parent && findFor(parent, find));
}

/** The name of the type whose schema this is. */
function nameOfType(schema: z.ZodType): string | undefined {
  const id = schema.meta()?.id;
  return id && typeNameOf(id);
}

/** @param find returns the type of a schema that is not a scalar */
export function typeOf(schema: z.ZodType, find: (schema: z.ZodType) => unknown): unknown {
  const { type } = schema.def;
  if (type === 'array') return [typeOf(definitionOf(schema).element, find)];
  const known = findFor(schema, find);
  if (known) return known;
  if (nounOf(schema)) return 'ID';
  if (!fitsInt(schema)) throw new Error('Numbers beyond the 32 bits of Int are ids: say of which noun.');
  return formats[(schema as z.ZodISODate).format ?? ''] ?? scalars[type];
}

/** The description of a schema, or of the schema that it wraps. */
export function describe(schema: z.ZodType): string {
  const { innerType, in: sent } = definitionOf(schema);
  const inner = innerType ?? sent;
  return schema.description ?? (inner ? describe(inner) : '');
}

/** The extension of a field that only reads its parent: a function that returns the value. */
export const readsRecord = 'readsRecord';

/** Keeps the last record: the fields of an object are resolved one after another, so its record is made only once. */
function madeOnce<Source extends object>(toRecord: (source: Source) => object): (source: Source) => object {
  let last: { source: Source; record: object } | undefined;
  return (source) => {
    if (last?.source !== source) last = { source, record: toRecord(source) };
    return last.record;
  };
}

/**
 * The fields of a record; `toRecord` returns it as REST does. Only the record's own id is called `id`, since caches tell records
 * apart by it; the id of another noun is called after that noun, such as `bookingId`. A member whose schema has an id has the
 * type of that name, which any room may add.
 */
export function recordFields<Source extends object>(
  t: ObjectFieldBuilder<Types, Source>,
  { shape }: z.ZodObject,
  toRecord: (source: Source) => object,
  members: Members = new Map(),
  ownNoun?: string,
) {
  const recordOf = madeOnce(toRecord);
  const fieldsOf = ([name, schema]: [string, z.ZodType]) => {
    const memberOf = (source: Source) => (recordOf(source) as Record<string, unknown>)[name];
    const noun = nounOf(schema);
    if (name === 'Id' && noun) {
      const { id, restId } = idFields(t, noun, memberOf as () => number, describe(schema));
      return (ownNoun ?? noun) === noun ? { id, restId } : { [`${noun}Id`]: id, restId };
    }
    const readValue = readMember(schema);
    const read = (source: Source) => readValue(memberOf(source)) as string;
    const field = t.field({
      type: typeOf(bare(schema), (member) => members.get(member) ?? nameOfType(member)) as 'String',
      nullable: (schema.isNullable() || schema.def.type === 'optional') as false,
      description: describeMember(name, describe(schema)),
      // A plan calls this instead of the resolver.
      extensions: { [readsRecord]: read },
      resolve: read,
    });
    return { [nameOf(name)]: field };
  };
  return Object.assign({}, ...Object.entries(shape as Record<string, z.ZodType>).map(fieldsOf)) as Record<
    string,
    FieldRef<Types, string>
  >;
}

/** A record as an object type. Without `toRecord` the source is the record itself. */
export function recordType<Source extends object>(
  builder: Builder,
  name: string,
  schema: z.ZodObject,
  toRecord: (source: Source) => object = (source) => source,
  { members, ...options }: { members?: Members } & object = {},
): ObjectRef<Types, Source> {
  return builder.objectRef<Source>(name).implement({
    ...options,
    description: inWords(schema.description ?? ''),
    fields: (t) => recordFields(t, schema, toRecord, members, lowerFirst(name)),
  });
}
