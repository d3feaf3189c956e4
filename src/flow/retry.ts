import { setTimeout as sleep } from 'node:timers/promises';
import { isOutage } from '../errors.ts';
import type { Log } from '../log.ts';

/** Milliseconds after the first failure, doubled after each further one, and at most; give or take a quarter. */
const firstPause = 100;
const longestPause = 5_000;

/** Milliseconds to wait after so many failures before the one that has just happened. */
export const backOff = (failures: number): number =>
  Math.min(longestPause, firstPause * 2 ** failures) * (0.75 + Math.random() / 2);

/**
 * Does `work`, again and again for as long as the database does not answer: for whoever would rather wait than hear of that.
 * @param signal that nobody waits any more: then the last error is thrown
 * @param log is told of each outage, where there is one
 */
export async function outlast<T>(signal: AbortSignal, work: () => Promise<T>, log?: Log): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!isOutage((error as Error).cause ?? error) || signal.aborted) throw error;
      log?.warn({ err: (error as Error).message }, 'waiting for the database');
      await sleep(backOff(failures), undefined, { signal }).catch(() => {});
      if (signal.aborted) throw error;
    }
  }
}
