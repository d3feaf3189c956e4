/** Parameters of path and query that routes of several rooms have. */
import { z } from 'zod';
import { longestCursor, mostPerPage } from '../db/paging.ts';

const mostId = 2 ** 31 - 1;

/** A numeric id in a path or a query: digits alone, so that `0x10` or `1e2` names nothing. */
export const id = (description: string) =>
  z
    .string()
    .max(10)
    .refine((text) => /^[1-9]\d*$/.test(text) && Number(text) <= mostId, 'must be an id')
    .transform(Number)
    .meta({ type: 'integer', minimum: 1, maximum: mostId, description });

export const flag = (description: string) =>
  z
    .stringbool({ truthy: ['true'], falsy: ['false'], error: 'must be true or false' })
    .optional()
    .meta({ type: 'boolean', description });

const wrongInstant =
  'must be a date-time such as 2027-02-01T08:00:00Z; in a query the + of an offset is written %2B';

export const instant = (description: string) =>
  z.iso
    .datetime({ offset: true, error: wrongInstant, abort: true })
    .max(40)
    // An offset may lead out of the years that RFC 3339 can write, in which an answer could not tell it.
    .refine((written) => /^\d{4}-/.test(new Date(written).toISOString()), 'must be in a year from 0 to 9999')
    .transform((written) => new Date(written))
    .meta({ description });

/** Which resources. */
export const resourceFilter = {
  MinCapacity: z.coerce
    .number('must be a whole number from 0 to 1000000')
    .int()
    .min(0)
    .max(1_000_000)
    .optional()
    .meta({ description: 'Only those for at least so many persons.' }),
  Equipment: z
    .preprocess((sent) => [sent].flat(), z.array(z.string().min(1).max(100)).max(20))
    .optional()
    .meta({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 100 },
      maxItems: 20,
      description: 'Only those that have this; sent several times, that have all of it.',
    }),
};

/** Of a list (contract 2). */
export const paging = {
  Limit: z.coerce
    .number(`must be a whole number from 1 to ${mostId}`)
    .int()
    .min(1)
    .max(mostId)
    .optional()
    .meta({
      description: `Most items of the page; 50 when left out, and above ${mostPerPage} as ${mostPerPage}.`,
    }),
  Cursor: z
    .string()
    .max(longestCursor)
    .optional()
    .meta({ description: 'The `NextCursor` of the page before.' }),
};

/** Of a read that may wait (contract 4.4). */
export const waitSeconds = (description: string) =>
  z.coerce
    .number('must be a whole number from 0 to 30')
    .int()
    .min(0)
    .max(30)
    .default(0)
    .meta({ description });
