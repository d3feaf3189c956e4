/** Numeric ids as arguments, which GraphQL writes as strings. */
import { z } from 'zod';
import { readId, readLongId } from '../input.ts';

type Argument = { schema: z.ZodType<string> };

const readBy = (read: (text: string) => number): Argument => ({
  schema: z.string().refine((text) => read(text) > 0, 'must be an id'),
});

/** For filters, which refuse text that is no id. */
export const idArgument: Argument = readBy(readId);
/** The same for ids of bookings and series. */
export const longIdArgument: Argument = readBy(readLongId);
