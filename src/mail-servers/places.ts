/** Reads stored cursors and continuations, which another release may have written. */
import { z } from 'zod';
import { ServerFault } from './connector.ts';

/** @throws ServerFault StateLost when `kept` does not match `form` */
export function readPlace<Place>(form: z.core.$ZodType<Place>, kept: string | null): Place | null {
  if (kept === null) return null;
  try {
    return z.parse(form, JSON.parse(kept));
  } catch {
    throw new ServerFault(
      'StateLost',
      'The stored cursor has an unknown form; the calendar is read from the beginning.',
    );
  }
}
