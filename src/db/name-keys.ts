import { sql } from 'kysely';

/** The keys by which `name_key` of PostgreSQL compares these names. */
export const keysOf = (names: readonly string[]) =>
  sql<string[]>`array(select name_key(name) from unnest(${names}::text[]) as name)`;
