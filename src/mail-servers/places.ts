/** Cursors, and how far a reading of several steps has come, as they are kept: another release may have written them. */
import type { z } from 'zod';
import { ServerFault } from './connector.ts';

/** @throws ServerFault StateLost for what is not of this form */
export function readPlace<Place>(form: z.ZodType<Place>, kept: string | null): Place | null {
  if (kept === null) return null;
  try {
    return form.parse(JSON.parse(kept));
  } catch {
    throw new ServerFault('StateLost', 'How far the reading has come is not told in a form that is known.');
  }
}
