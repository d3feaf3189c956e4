/** Growing pauses in SQL, as flow/retry.ts computes them in a process: intervals after a failure that follows `failures` others. */
import { type RawBuilder, sql } from 'kysely';

/** @param first the pause after the first failure, such as `30 seconds` */
export const doubledPause = (failures: RawBuilder<unknown>, first: string, longest: string): RawBuilder<unknown> =>
  sql`least(${first}::interval * 2 ^ least(${failures}, 20), ${longest}::interval)`;

/** The same with a jitter of a quarter, so that those that failed together do not try again together. */
export const pauseAfter = (failures: RawBuilder<unknown>, first: string, longest: string): RawBuilder<unknown> =>
  sql`${doubledPause(failures, first, longest)} * (0.75 + random() / 2)`;

/** The instant in so many milliseconds. */
export const inMs = (ms: number) => sql<Date>`now() + make_interval(secs => ${ms / 1_000})`;
