/** Path and query parameters that routes of several rooms share. */
import { z } from 'zod';
import { longestCursor, mostPerPage } from './db/paging.ts';
import { sentInstant } from './fields.ts';
import { type IdNoun, naming, nouns } from './nouns.ts';
import { mostId, readId } from './storable.ts';

const idUpTo = (most: number, description: string) =>
  z
    .string()
    .refine((text) => readId(text, most) > 0, 'must be an id')
    .transform(Number)
    .meta({ type: 'integer', minimum: 1, maximum: most, description });

/** A numeric id of the noun in a path or a query. */
export const id = (noun: IdNoun, description: string) => naming(noun, idUpTo(Number(nouns[noun]), description));
/** An id whose noun is given by another parameter. */
export const anyId = (description: string) => idUpTo(mostId, description);

/** A whole number in a query. The message names `most` only if it is below the maximum of all numbers. */
export const whole = (least: number, most: number) => {
  const error = `must be a whole number from ${least} ${most === mostId ? 'on' : `to ${most}`}`;
  return z.coerce.number(error).int(error).min(least, error).max(most, error);
};

export const flag = (description: string) =>
  z
    .stringbool({ truthy: ['true'], falsy: ['false'], error: 'must be true or false' })
    .optional()
    .meta({ type: 'boolean', description });

const wrongInstant = 'must be a date-time such as 2027-02-01T08:00:00Z; in a query the + of an offset is written %2B';

export const date = (description: string) => z.iso.date().optional().meta({ description });

export const instant = (description: string) => sentInstant(wrongInstant).meta({ description });

/**
 * Several values of one parameter without duplicates: separated by commas, or repeated. @param items the JSON schema of one value
 */
const several = <Item extends z.core.$ZodType>(
  item: Item,
  items: object,
  most: number,
  description: string,
  least = 0,
) =>
  z
    .preprocess((sent) => [sent].flat().flatMap((text) => String(text).split(',')), z.array(item).min(least).max(most))
    .transform((values) => [...new Set(values)])
    .optional()
    .meta({ type: 'array', items, maxItems: most, description });

/** Several ids of 32 bits. */
export const ids = (noun: IdNoun, most: number, description: string) =>
  several(id(noun, 'An id.'), { type: 'integer', format: 'int32', minimum: 1, maximum: mostId }, most, description);

/** Several values of an enumeration. */
export const oneOf = <Values extends z.util.EnumLike>(values: z.ZodEnum<Values>, description: string, least = 0) =>
  several(values, { type: 'string', enum: values.options }, values.options.length, description, least);

/** The order of a list. */
export const sortOrder = z
  .enum(['Ascending', 'Descending'])
  .meta({ id: 'SortOrder', description: 'From the earliest to the latest, or the reverse.' });

/** A text search; the caller describes what is searched. */
export const search = (description: string) =>
  z
    .string()
    .max(100)
    .regex(/[\p{L}\p{N}]/u, 'must contain a letter or a digit')
    .optional()
    .meta({
      description: `${description} Each word must be the beginning of a word there, regardless of case and accents.`,
    });

/** Filters of resources. */
export const resourceFilter = {
  Search: search('Only resources whose name, location, kind and equipment contain these words.'),
  Kind: z.string().min(1).max(50).optional().meta({ description: 'Only resources of this kind, regardless of case.' }),
  MinCapacity: whole(0, 1_000_000).optional().meta({ description: 'Only resources for at least this many persons.' }),
  Equipment: z
    .preprocess((sent) => [sent].flat(), z.array(z.string().min(1).max(100)).max(20))
    .optional()
    .meta({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 100 },
      maxItems: 20,
      description: 'Only resources with all of this equipment.',
    }),
};

/** The parameters of a list (contract 2). */
export const paging = {
  Limit: whole(1, mostId)
    .optional()
    .meta({
      description: `The page size; 50 by default. Values above ${mostPerPage} count as ${mostPerPage}.`,
    }),
  Cursor: z.string().max(longestCursor).optional().meta({ description: 'The `NextCursor` of the previous page.' }),
};

/** The parameter of a read that may wait (contract 4.4). */
export const waitSeconds = (description: string) => whole(0, 30).default(0).meta({ description });
