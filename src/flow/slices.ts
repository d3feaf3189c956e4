/** Long work of the processor in slices, between which everything else of the process has its turn. */

/** Milliseconds of a slice. */
const mostAtOnce = 5;

/** Who waits for a slice, of whatever work: one goes on in each turn of the event loop, or all together would be one long turn. */
const waiting: (() => void)[] = [];

function goOn(): void {
  const next = waiting.shift();
  if (waiting.length > 0) setImmediate(goOn);
  next?.();
}

function waitForTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn);
  });
}

/** Call the returned function between two steps: it returns a promise to wait for, at first and once a slice is over. */
export function openSlices(): () => Promise<void> | undefined {
  let since = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - since < mostAtOnce) return undefined;
    return waitForTurn().then(() => {
      since = performance.now();
    });
  };
}
