/** Long work of the processor in slices, between which everything else of the process has its turn. */
import { setImmediate } from 'node:timers/promises';

/** Milliseconds of a slice. */
const mostAtOnce = 5;

/** Call the returned function between two steps: it returns a promise to wait for once the slice is over. */
export function openSlices(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < mostAtOnce) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
