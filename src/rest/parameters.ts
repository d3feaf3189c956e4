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

/** Of a list (contract 2). */
export const paging = {
  Limit: z.coerce
    .number('must be a whole number')
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
