/** Limits how many requests begin in a second, of which some go before others. */
import { setTimeout as sleep } from 'node:timers/promises';

/** The longest time by which requests that do not wait delay those that do; and how long these pause after a refusal. */
const [longestDebtMs, refusedRestMs] = [2_000, 2_000];

type RequestPace = {
  /** Counts a request that begins at once. Those that wait then begin later. */
  count(): void;
  /** Resolves when the request may begin; at once when the signal aborts. */
  wait(signal: AbortSignal): Promise<void>;
  /** The server has refused a request as one too many: those that wait leave the next ones to those that do not. */
  refused(): void;
};

export function openPace(perSecond: number): RequestPace {
  const intervalMs = 1_000 / perSecond;
  let [next, restsUntil] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  // An aborted caller gets the error from its request.
  const sleepUntil = (at: number, signal: AbortSignal) =>
    sleep(at - performance.now(), undefined, { signal }).catch(() => {});
  return {
    count() {
      const now = performance.now();
      next = Math.max(next, Math.min(Math.max(next, now) + intervalMs, now + longestDebtMs));
    },
    async wait(signal) {
      const now = performance.now();
      const begin = Math.max(next, restsUntil, now);
      next = begin + intervalMs;
      if (begin > now) await sleepUntil(begin, signal);
      while (performance.now() < restsUntil && !signal.aborted) await sleepUntil(restsUntil, signal);
    },
    refused() {
      restsUntil = performance.now() + refusedRestMs;
    },
  };
}
