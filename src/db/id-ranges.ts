/** Ids of their own for each cell (setting Cell), so that a tenant that moves brings none that is taken. */
import { sql } from 'kysely';
import { ConfigError } from '../config.ts';
import type { Database } from './database.ts';

/** How many ids a cell has, by the type of the column: 200 cells of them fit. */
const ranges = { integer: 10_000_000, bigint: 1_000_000_000_000 } as const;

/**
 * Lets the ids of new rows begin where those of this cell do. Cell 0 has the first ones, as every installation that names none.
 * @throws ConfigError when the database is that of a later cell
 */
export async function startIdsOf(db: Database, cell: number): Promise<void> {
  if (cell === 0) return;
  const { rows } = await sql<{ sequence: string; last: number | null; type: keyof typeof ranges }>`
    select quote_ident(sequencename) as sequence, last_value::float8 as last, data_type::text as type
    from pg_sequences where schemaname = 'public'`.execute(db);
  for (const { sequence, last, type } of rows) {
    const first = cell * ranges[type];
    if ((last ?? 0) >= first + ranges[type])
      throw new ConfigError(
        `Cell: is ${cell}, but the database has given ids of cell ${Math.floor((last ?? 0) / ranges[type])}; set that`,
      );
    if ((last ?? 0) < first) await sql`select setval(${sequence}::regclass, ${first})`.execute(db);
  }
}
