/** How far a reading of several steps has come, as it is kept: another release may have written it. */
import type { z } from 'zod';
import { ServerFault } from './connector.ts';

/** @throws ServerFault StateLost for what is not of this form */
export function readPlace<Place>(form: z.ZodType<Place>, continuation: string | null): Place | null {
  if (continuation === null) return null;
  try {
    return form.parse(JSON.parse(continuation));
  } catch {
    throw new ServerFault('StateLost', 'How far the reading has come is not told in a form that is known.');
  }
}
