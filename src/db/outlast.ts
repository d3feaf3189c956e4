import { setTimeout as sleep } from 'node:timers/promises';
import { isOutage } from '../errors.ts';

/** Milliseconds after the first failure, doubled after each further one, and at most. */
const firstPause = 100;
const longestPause = 5_000;

/**
 * Reads, again and again for as long as the database does not answer: for whoever would rather wait than hear of that.
 * @param signal that nobody waits any more: then the last error is thrown
 */
export async function outlast<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await read();
    } catch (error) {
      if (!isOutage(error) || signal.aborted) throw error;
      const pause = Math.min(longestPause, firstPause * 2 ** failures) * (0.75 + Math.random() / 2);
      await sleep(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) throw error;
    }
  }
}
