/** Reads stored cursors and continuations, which another release may have written. */
import type { z } from 'zod';
import { ServerFault } from './connector.ts';

/** @throws ServerFault StateLost when `kept` does not match `form` */
export function readPlace<Place>(form: z.ZodType<Place>, kept: string | null): Place | null {
  if (kept === null) return null;
  try {
    return form.parse(JSON.parse(kept));
  } catch {
    throw new ServerFault(
      'StateLost',
      'The stored cursor has an unknown form; the calendar is read from the beginning.',
    );
  }
}
