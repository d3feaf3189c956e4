import type pg from 'pg';
import type { Database } from './database.ts';

/** A statement that PostgreSQL parses and plans once per connection instead of at each call. */
export type Statement = { name: string; sql: string };

const pools = new WeakMap<Database, { pool: pg.Pool; generation: number }>();

/** Makes `runPrepared` possible on `db`, which runs on `pool`. */
export function registerPool(db: Database, pool: pg.Pool): void {
  pools.set(db, { pool, generation: 1 });
}

/** A column that the statement reads has got another type since it was prepared. */
const isOutdated = (error: unknown) => (error as { code?: unknown }).code === '0A000';

/**
 * Runs a statement outside of any transaction. Kysely has no names for statements, so these go to the pool itself.
 * @param statement.name at most 60 characters, the same for the same SQL alone
 */
export async function runPrepared<Row extends object>(
  db: Database,
  { name, sql }: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const own = pools.get(db);
  if (!own) throw new Error('runPrepared is for databases of openDatabase');
  const { generation } = own;
  const run = () =>
    own.pool.query<Row>({ name: `${name} ${own.generation}`, text: sql, values: [...values] });
  try {
    return (await run()).rows;
  } catch (error) {
    if (!isOutdated(error)) throw error;
    // A migration has run under this process: from here on every connection prepares anew, under new names.
    if (own.generation === generation) own.generation++;
    return (await run()).rows;
  }
}
