/** Texts as arguments. */
import type { z } from 'zod';
import { storableText } from '../storable.ts';

/** An id, a key, a name, or what a filter looks for. */
export const textArgument = (most: number): { schema: z.ZodType<string> } => ({
  schema: storableText.min(1).max(most),
});
