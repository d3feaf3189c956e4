/** Limits how many requests begin in a second. */
import { setTimeout as sleep } from 'node:timers/promises';

/** @returns a function that resolves when its caller may begin; at once when the signal aborts */
export function openPace(perSecond: number): (signal: AbortSignal) => Promise<void> {
  let next = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    const now = performance.now();
    const begin = Math.max(next, now);
    next = begin + 1_000 / perSecond;
    // An aborted caller gets the error from its request.
    if (begin > now) await sleep(begin - now, undefined, { signal }).catch(() => {});
  };
}
