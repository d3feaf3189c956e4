/** Randomized tests and measurements are short in most commands and long in `npm run test:long`. */

/** Set by jest.long.config.js. */
export const isLong = (globalThis as { isLong?: boolean }).isLong === true;

export const times = (short: number, long: number) => (isLong ? long : short);

/** The seed of randomized tests; `TEST_SEED` repeats a run. */
export const seed = Number(process.env['TEST_SEED'] ?? (isLong ? Date.now() % 1_000_000 : 0));
