import { sql } from 'kysely';

/** SQL: the instant `days` days ago. */
export const daysAgo = (days: number) => sql`now() - make_interval(days => ${days})`;
