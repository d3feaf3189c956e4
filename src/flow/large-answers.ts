/** Large answers under way. Each holds memory until its reader has taken it, which may be slow. */
import { openPlaces } from './places.ts';

/** The places of a process. There is no limit for all tenants together, which those with slow readers could exhaust. */
export const openLargeAnswers = () =>
  openPlaces({
    of: 'large answers',
    all: Number.POSITIVE_INFINITY,
    perTenant: 64,
    perPerson: 32,
    mostWaiting: 64,
    waitMs: 10_000,
  });
