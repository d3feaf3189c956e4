/** Numeric ids as arguments; GraphQL writes them as texts. */
import { z } from 'zod';
import { readId, readLongId } from '../input.ts';

type Argument = { schema: z.ZodType<string> };

const readBy = (read: (text: string) => number): Argument => ({
  schema: z.string().refine((text) => read(text) > 0, 'must be an id'),
});

/** For a filter, where what is no id is a fault. */
export const idArgument: Argument = readBy(readId);
/** The same for bookings and their series. */
export const longIdArgument: Argument = readBy(readLongId);
