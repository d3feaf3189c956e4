/** Numeric ids as arguments; GraphQL writes them as texts. */
import { z } from 'zod';
import { readId } from '../input.ts';

/** For a filter, where what is no id is a fault. */
export const idArgument: { schema: z.ZodType<string> } = {
  schema: z.string().refine((text) => readId(text) > 0, 'must be an id'),
};
