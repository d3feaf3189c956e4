/** Numeric ids as arguments; GraphQL writes them as texts. */
import { z } from 'zod';

const mostId = 2 ** 31 - 1;
const isId = (text: string) => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= mostId;

/** The number of an id; 0, which no record has, for what cannot be anybody's. */
export const readId = (text: string): number => (isId(text) ? Number(text) : 0);

/** For a filter, where what is no id is a fault. */
export const idArgument: { schema: z.ZodType<string> } = {
  schema: z.string().refine(isId, 'must be an id'),
};
