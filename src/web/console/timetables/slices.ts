/** Long work in slices, so that the page stays alive. */

const sliceMs = 12;

/** @returns a function to await often: it gives way to the page once a slice is over */
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
