/** What is random or measured is done a little by `npm test`, which proves each rule, and at length by `npm run test:long`. */

/** Said by jest.long.config.js. */
export const isLong = (globalThis as { isLong?: boolean }).isLong === true;

export const times = (short: number, long: number) => (isLong ? long : short);

/** Of the dice; `TEST_SEED` plays the same again. */
export const seed = Number(process.env['TEST_SEED'] ?? (isLong ? Date.now() % 1_000_000 : 0));
