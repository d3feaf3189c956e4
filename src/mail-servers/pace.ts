/** Limits how many requests begin in a second, of which some go before others. */
import { setTimeout as sleep } from 'node:timers/promises';

/** The longest time by which requests that do not wait delay those that do. */
const longestDebtMs = 2_000;

type RequestPace = {
  /** Counts a request that begins at once. Those that wait then begin later. */
  count(): void;
  /** Resolves when the request may begin; at once when the signal aborts. */
  wait(signal: AbortSignal): Promise<void>;
};

export function openPace(perSecond: number): RequestPace {
  const intervalMs = 1_000 / perSecond;
  let next = Number.NEGATIVE_INFINITY;
  return {
    count() {
      const now = performance.now();
      next = Math.max(next, Math.min(Math.max(next, now) + intervalMs, now + longestDebtMs));
    },
    async wait(signal) {
      const now = performance.now();
      const begin = Math.max(next, now);
      next = begin + intervalMs;
      // An aborted caller gets the error from its request.
      if (begin > now) await sleep(begin - now, undefined, { signal }).catch(() => {});
    },
  };
}
