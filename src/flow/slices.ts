/** Splits long computations into slices, between which the event loop can do other work. */

/** The milliseconds of a slice. */
const mostAtOnce = 5;

/** All computations that wait for a slice. Each turn of the event loop continues only one: all together would block it. */
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
