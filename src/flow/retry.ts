/** Retries within a process: their back-off, and the loops that use it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log.ts';
import { isLockTimeout, isOutage, isOvertaken } from './database-errors.ts';

/** The pause after the first failure, and the longest one. */
export type Pauses = { firstMs?: number; longestMs?: number };

/** Milliseconds to wait after a failure that follows `failures` others: doubled each time. In SQL: db/pauses.ts. */
export const doubledPause = (failures: number, { firstMs = 100, longestMs = 5_000 }: Pauses = {}): number =>
  Math.min(longestMs, firstMs * 2 ** failures);

/** The same with a jitter of a quarter, so that those that failed together do not try again together. */
export const backOff = (failures: number, pauses?: Pauses): number =>
  doubledPause(failures, pauses) * (0.75 + Math.random() / 2);

/** Waits for `ms` or until the signal aborts; never throws. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  sleep(ms, undefined, signal && { signal }).catch(() => {});

/**
 * Retries `work` while the database is unavailable, for callers that would rather wait than fail.
 * @param signal ends the retries: the last error is thrown
 * @param log gets a line for each failure
 */
export async function outlast<T>(signal: AbortSignal, work: () => Promise<T>, log?: Log): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!isOutage((error as Error).cause ?? error) || signal.aborted) throw error;
      log?.warn({ err: (error as Error).message }, 'waiting for the database');
      await pause(backOff(failures), signal);
      if (signal.aborted) throw error;
    }
  }
}

/**
 * Repeats `work`, whether it returns or throws, with growing pauses until the signal aborts.
 * @param wellAfterMs a run that took longer than this counts as a success: the pauses start from the first again
 */
export async function keepDoing(
  signal: AbortSignal,
  work: () => Promise<void>,
  { onError, wellAfterMs, ...pauses }: Pauses & { onError: (error: Error) => void; wellAfterMs: number },
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const since = performance.now();
    await work().catch(onError);
    if (performance.now() - since > wellAfterMs) failures = 0;
    await pause(backOff(failures, pauses), signal);
  }
}

/**
 * Runs a transaction that gives way to other writers. It is retried for `mostMs` milliseconds while others hold a lock that it
 * needs, and once if another writer was faster.
 * @param transact a transaction with a short `lock_timeout`
 * @throws the error of the last run
 */
export async function transactAgain<T>(mostMs: number, transact: () => Promise<T>): Promise<T> {
  const until = Date.now() + mostMs;
  for (let isAgain = false; ; ) {
    try {
      return await transact();
    } catch (error) {
      const isHeld = isLockTimeout(error);
      if (isHeld ? Date.now() >= until : isAgain || !isOvertaken(error)) throw error;
      isAgain ||= !isHeld;
    }
  }
}
