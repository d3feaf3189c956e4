/** Texts as arguments. */
import { z } from 'zod';

/** What a text of a filter may hold. */
export const textArgument = (most: number): { schema: z.ZodType<string> } => ({
  schema: z
    .string()
    .min(1)
    .max(most)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'holds unusable characters'),
});
