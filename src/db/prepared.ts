import { hash } from 'node:crypto';
import type { CompiledQuery } from 'kysely';
import { codeOf } from '../flow/database-errors.ts';
import { type Database, poolOf, stateIn } from './database.ts';

/** A statement that PostgreSQL parses and plans once per connection instead of at each call. */
export type Statement = { name: string; sql: string };

/** Counts the names that the statements of a database have had. */
const openNames = () => ({ generation: 1 });

/** A column that the statement reads has got another type since it was prepared. */
const isOutdated = (error: unknown) => codeOf(error) === '0A000';

/**
 * Runs a statement outside of any transaction. Kysely has no names for statements, so these go to the pool itself.
 * @param statement.name at most 60 characters, the same for the same SQL alone
 */
export async function runPrepared<Row extends object>(
  db: Database,
  { name, sql }: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const names = stateIn(db, openNames);
  const run = () => poolOf(db).query<Row>({ name: `${name} ${names.generation}`, text: sql, values: [...values] });
  const { generation } = names;
  try {
    return (await run()).rows;
  } catch (error) {
    if (!isOutdated(error)) throw error;
    // A migration has run under this process: from here on every connection prepares anew, under new names.
    if (names.generation === generation) names.generation++;
    return (await run()).rows;
  }
}

/**
 * Runs a query that comes in a few shapes, outside of a transaction as a prepared statement of its shape.
 * @param name of all of them, at most 40 characters
 */
export async function executePrepared<Row extends object>(
  db: Database,
  name: string,
  query: CompiledQuery<Row>,
): Promise<Row[]> {
  const { sql, parameters } = query;
  if (db.isTransaction) return (await db.executeQuery(query)).rows;
  const shape = hash('sha1', sql, 'base64url').slice(0, 16);
  return await runPrepared(db, { name: `${name} ${shape}`, sql }, parameters);
}
