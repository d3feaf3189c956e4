/**
 * Global ids: `<noun>_<id in REST>`, opaque to clients. Arguments that take one also take an id of REST, so that clients need
 * not convert it.
 */
import type { ArgBuilder, ArgumentRef, ObjectFieldBuilder } from '@pothos/core';
import { z } from 'zod';
import { type IdNoun, type IdOf, nounOf, nouns } from '../nouns.ts';
import { readId } from '../storable.ts';
import type { Types } from './builder.ts';

export const globalId = (noun: IdNoun, id: number | string): string => `${noun}_${id}`;

/** The noun and the id in REST of a global id; undefined for any other text. */
export function readGlobalId(text: string): { noun: IdNoun; id: string } | undefined {
  const end = text.indexOf('_');
  const noun = text.slice(0, Math.max(0, end));
  return Object.hasOwn(nouns, noun) ? { noun: noun as IdNoun, id: text.slice(end + 1) } : undefined;
}

const inWords = (noun: IdNoun) => noun.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** The fault of a text that is the global id of another noun; undefined for others. */
export function faultOf(noun: IdNoun, text: string): string | undefined {
  const named = readGlobalId(text)?.noun ?? noun;
  return named === noun ? undefined : `must be the id of a ${inWords(noun)}; this is that of a ${inWords(named)}`;
}

/** The id in REST, as a text, of either id. */
function plainText(noun: IdNoun, text: string): string {
  const read = readGlobalId(text);
  return read?.noun === noun ? read.id : text;
}

/** The same id as in a body of REST: a number, if JSON writes it with the same digits. */
export function plainValue(noun: IdNoun, text: string): number | string {
  const plain = plainText(noun, text);
  return nouns[noun] !== 'text' && String(Number(plain)) === plain ? Number(plain) : plain;
}

/** The fault of a text that cannot be an id of the noun; undefined for others. */
export const malformedFaultOf = (noun: IdNoun, text: string): string | undefined =>
  nouns[noun] !== 'text' && typeof plainValue(noun, text) === 'string'
    ? `must be the id of a ${inWords(noun)}`
    : undefined;

/** The id in REST; 0, which no record has, for a malformed id. */
export function plainId<Name extends IdNoun>(noun: Name, text: string): IdOf<Name> {
  const plain = plainText(noun, text);
  const most: number | 'text' = nouns[noun];
  if (most === 'text') return plain as IdOf<Name>;
  return readId(plain, most) as IdOf<Name>;
}

/** Reads either id as the id in REST, as a text. */
export const idText = (noun: IdNoun) =>
  z.string().transform((text, context) => {
    const fault = faultOf(noun, text);
    if (fault) context.addIssue({ code: 'custom', message: fault });
    return plainText(noun, text);
  });

/** Reads either id as it is written in a body of REST. */
export const idValue = (noun: IdNoun) => idText(noun).transform((text) => plainValue(noun, text));

/** An argument that takes either id of a record; resolvers get the one in REST, as `plainId` gives it. */
export function idArgument<Name extends IdNoun, Required extends boolean = false>(
  t: ArgBuilder<Types>,
  noun: Name,
  { description, required }: { description: string; required?: Required },
) {
  const schema = idText(noun).transform((text) => plainId(noun, text));
  const argument = t.id({ description, required: required === true, validate: { schema: schema as never } });
  type Value = Required extends true ? IdOf<Name> : IdOf<Name> | null | undefined;
  return argument as unknown as ArgumentRef<Types, Value>;
}

type Ids = number | string | null | readonly (number | string)[];
const globalIds = (noun: IdNoun, ids: Ids) =>
  typeof ids === 'object' ? (ids?.map((id) => globalId(noun, id)) ?? null) : globalId(noun, ids);

/** Reads a member of a record: ids as global ones, everything else as it is. */
export function readMember(schema: z.ZodType): (value: unknown) => unknown {
  const noun = nounOf(schema);
  return noun ? (ids) => globalIds(noun, ids as Ids) : (value) => value;
}

/** The fields `id` and `restId` of a record. */
export function idFields<Source extends object>(
  t: ObjectFieldBuilder<Types, Source>,
  noun: IdNoun,
  idOf: (source: Source) => number | string,
  description = '',
) {
  return {
    id: t.id({ description, resolve: (source) => globalId(noun, idOf(source)) }),
    restId: t.string({ description: 'The same as REST has it.', resolve: (source) => String(idOf(source)) }),
  };
}

/** A field with the id of another record. */
export function idField<Source extends object>(
  t: ObjectFieldBuilder<Types, Source>,
  noun: IdNoun,
  idOf: (source: Source) => number | string | null,
  options: { description: string; nullable?: boolean },
) {
  return t.id({
    description: options.description,
    nullable: (options.nullable ?? false) as false,
    resolve: (source) => globalIds(noun, idOf(source)) as string,
  });
}
