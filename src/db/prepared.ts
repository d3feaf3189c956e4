import { hash } from 'node:crypto';
import type { CompiledQuery } from 'kysely';
import { codeOf } from '../flow/database-errors.ts';
import { type Database, isPooled, poolOf, stateIn } from './database.ts';

/** A statement that PostgreSQL parses and plans once per connection; behind a pooler, at each call. */
export type Statement = { name: string; sql: string };

/**
 * The generation is a part of each statement's name: a new generation makes connections prepare statements again. `shapes` are those
 * that `executePrepared` has prepared, by their common name.
 */
const openNames = () => ({ generation: 1, shapes: new Map<string, Set<string>>() });

/**
 * The most shapes of one name: each takes up to 0.6 MB in every session, and callers choose the filters of which shapes are made. They
 * do not take the places of other names.
 */
export const mostShapes = 20;

/** Whether a column that the statement reads has changed its type since it was prepared. */
const isOutdated = (error: unknown) => codeOf(error) === '0A000';

/**
 * Runs a statement outside of any transaction. Kysely cannot name statements, so this uses the pool directly.
 * @param statement.name at most 60 characters, unique to its SQL
 */
export async function runPrepared<Row extends object>(
  db: Database,
  { name, sql }: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const names = stateIn(db, openNames);
  const named = () => (isPooled(db) ? {} : { name: `${name} ${names.generation}` });
  const run = () => poolOf(db).query<Row>({ ...named(), text: sql, values: [...values] });
  const { generation } = names;
  try {
    return (await run()).rows;
  } catch (error) {
    if (!isOutdated(error)) throw error;
    // A migration has run meanwhile: from now on connections prepare the statement again, under a new name.
    if (names.generation === generation) names.generation++;
    return (await run()).rows;
  }
}

/**
 * Runs a query that has a few frequent shapes; outside of a transaction as a prepared statement of its shape, unless it comes after
 * `mostShapes` others of its name.
 * @param name shared by all shapes, at most 40 characters
 */
export async function executePrepared<Row extends object>(
  db: Database,
  name: string,
  query: CompiledQuery<Row>,
): Promise<Row[]> {
  const { sql, parameters } = query;
  if (db.isTransaction) return (await db.executeQuery(query)).rows;
  const shape = `${name} ${hash('sha1', sql, 'base64url').slice(0, 16)}`;
  const { shapes } = stateIn(db, openNames);
  const known = shapes.get(name) ?? new Set();
  if (!known.has(shape) && known.size >= mostShapes) return (await db.executeQuery(query)).rows;
  shapes.set(name, known.add(shape));
  return await runPrepared(db, { name: shape, sql }, parameters);
}
