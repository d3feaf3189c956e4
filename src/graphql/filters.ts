/** Input types derived from the queries of REST's lists: both APIs take the same members within the same bounds. */
import type { InputFieldBuilder, InputRef } from '@pothos/core';
import { z } from 'zod';
import { type Fields, lowerFirst } from '../fields.ts';
import { nounOf } from '../nouns.ts';
import { storableText } from '../storable.ts';
import { type Builder, type Types, typeNamed } from './builder.ts';
import { idText } from './ids.ts';
import { describeMember, nameOf } from './names.ts';
import { describe } from './record.ts';

/** A query may hold several ids in one text, separated by commas; an item of a list may not. */
const aloneInText = z.string().refine((text) => !text.includes(','), 'must be an id');

type Member = { type: unknown; schema?: z.ZodType };

/** The schema of the items, if a query parameter is read as a list. */
function itemOf(query: z.ZodType): z.ZodType | undefined {
  if (query instanceof z.ZodArray) return query.element as z.ZodType;
  if (!(query instanceof z.ZodPipe)) return undefined;
  return itemOf(query.out as z.ZodType) ?? itemOf(query.in as z.ZodType);
}

/** The type of a member, and the schema that checks it further. Instants, flags and enumerations need no schema. */
function memberOf(query: z.ZodType): Member {
  const schema = query instanceof z.ZodOptional ? (query.unwrap() as z.ZodType) : query;
  const { id, type } = { ...schema.meta(), ...query.meta() } as z.GlobalMeta & { type?: string };
  const noun = nounOf(schema);
  if (noun && type === 'integer')
    return { type: 'ID', schema: idText(noun).pipe(schema as z.ZodType<unknown, string>) };
  if (type === 'boolean') return { type: 'Boolean' };
  const item = itemOf(schema);
  if (item instanceof z.ZodEnum) return { type: [typeNamed(item.meta()?.id ?? '')], schema };
  if (type === 'array')
    return noun
      ? { type: ['ID'], schema: z.array(aloneInText.pipe(idText(noun))).pipe(schema as z.ZodType<unknown, string[]>) }
      : { type: ['String'], schema: z.array(storableText).pipe(schema as z.ZodType<unknown, string[]>) };
  if (schema instanceof z.ZodEnum) return { type: typeNamed(id ?? '') };
  if (schema instanceof z.ZodNumber) return { type: 'Int', schema };
  if (schema instanceof z.ZodPipe && schema.def.in instanceof z.ZodISODateTime) return { type: 'DateTime' };
  if (schema instanceof z.ZodISODate) return { type: 'Date' };
  if (schema instanceof z.ZodString) return { type: 'String', schema: storableText.pipe(schema) };
  throw new Error(`GraphQL has no type for a query of ${schema.def.type}.`);
}

/**
 * An input type with the members of a query under GraphQL's names; resolvers get REST's names in camel case, ids as
 * numbers.
 * @param what the filter selects, in words
 * @param others members that GraphQL takes in another form
 */
export function filterType<Query extends z.ZodObject, Others extends object = object>(
  builder: Builder,
  name: string,
  what: string,
  { shape }: Query,
  others: (t: InputFieldBuilder<Types, 'InputObject'>) => object = () => ({}),
): InputRef<Fields<z.output<Query>> & Others> {
  const members = Object.entries(shape as Record<string, z.ZodType>).map(([member, query]) => ({
    member,
    query,
    name: nameOf(member),
    ...memberOf(query),
  }));
  const judge = z.looseObject(
    Object.fromEntries(members.flatMap(({ name, schema }) => (schema ? [[name, schema.nullish()]] : []))),
  );
  const fields = new Map(members.map(({ name, member }) => [name, lowerFirst(member)]));
  const named = (sent: object) =>
    Object.fromEntries(Object.entries(sent).map(([name, value]) => [fields.get(name) ?? name, value]));
  return builder.inputType(name, {
    description: `${what}; members that are left out do not count.`,
    validate: { schema: judge.transform(named) as unknown as z.ZodType<Record<string, string>> },
    fields: (t) => ({
      ...others(t),
      ...Object.fromEntries(
        members.map(({ name, member, query, type }) => [
          name,
          t.field({
            type: type as 'String',
            required: !query.isOptional() as false,
            description: describeMember(member, describe(query)),
          }),
        ]),
      ),
    }),
  }) as unknown as InputRef<Fields<z.output<Query>> & Others>;
}
