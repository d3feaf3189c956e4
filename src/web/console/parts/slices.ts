/** Splits long computations into slices, so that the page stays responsive. */

const sliceMs = 12;

/** @returns a function to await often: it yields to the page once a slice is over */
export function openSlices(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < sliceMs) return undefined;
    return new Promise((resolve) =>
      setTimeout(() => {
        began = performance.now();
        resolve();
      }),
    );
  };
}
