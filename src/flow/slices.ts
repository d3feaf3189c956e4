/** Splits long computations into slices, between which the event loop can do other work. */
import { tenantNow } from './working.ts';

/** The milliseconds of a slice. */
const mostAtOnce = 5;

/**
 * All computations that wait for a slice, by tenant. Each turn of the event loop continues only one: all together would block it.
 * The tenants take turns, so that one with hundreds of them delays the others no more than one with a single one.
 */
const waiting = new Map<number | undefined, (() => void)[]>();

function goOn(): void {
  const [first] = waiting;
  if (!first) return;
  const [tenant, own] = first;
  const next = own.shift();
  waiting.delete(tenant);
  if (own.length > 0) waiting.set(tenant, own);
  if (waiting.size > 0) setImmediate(goOn);
  next?.();
}

function waitForTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.size === 0) setImmediate(goOn);
    const tenant = tenantNow();
    const own = waiting.get(tenant);
    if (own) own.push(resolve);
    else waiting.set(tenant, [resolve]);
  });
}

/** Call the returned function between two steps. It returns a promise to await at first, and after each slice. */
export function openSlices(): () => Promise<void> | undefined {
  let since = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - since < mostAtOnce) return undefined;
    return waitForTurn().then(() => {
      since = performance.now();
    });
  };
}
