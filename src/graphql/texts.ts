import type { z } from 'zod';
import { storableText } from '../storable.ts';

/** A text argument, such as a key, a name or the text of a filter. */
export const textArgument = (most: number): { schema: z.ZodType<string> } => ({
  schema: storableText.min(1).max(most),
});
