/** Records by their ids: what is asked for in one turn of the event loop, of whatever tenant, is one prepared statement. */
import { type AliasedRawBuilder, CompiledQuery, sql } from 'kysely';
import { openGathering } from '../flow/gather.ts';
import { type Database, stateIn } from './database.ts';
import { runPrepared, type Statement } from './prepared.ts';

/** What is asked for, as a table to join; `position` counts from 1 and tells whom a row is for. */
export type Asked = AliasedRawBuilder<{ askedMandator: number; askedId: number; position: number }, 'asked'>;

/**
 * A record of a tenant by its id; undefined when the tenant has none. The object may be shared by several callers.
 * @param id a whole number that fits into a bigint: another one would be everybody's error
 */
export type ReadById<Row> = (db: Database, mandatorId: number, id: number) => Promise<Row | undefined>;

/** Statements of one kind that run at a time in one process. */
const mostAtOnce = 2;

// In sub-selects PostgreSQL cannot see how many there are: so the general plan costs no more than one for these very
// values, and is the one that it keeps.
const unnested = (mandatorIds: readonly number[], ids: readonly number[]) =>
  sql`rows from (
    unnest((select ${mandatorIds}::integer[])), unnest((select ${ids}::bigint[]))) with ordinality`;

/**
 * @param name of the prepared statement
 * @param select the records of those that are asked for, with their `position`, by an inner join
 */
export function readById<Row extends object>(
  name: string,
  select: (db: Database, asked: Asked) => { compile(): CompiledQuery<Row & { position: number }> },
): ReadById<Row> {
  type Positioned = Row & { position: number };
  type Key = { mandatorId: number; id: number };
  /** Without its position, which is taken off and not left out of a copy: a copy would cost as much as the row did. */
  function recordOf(row: Positioned): Row {
    delete (row as { position?: number }).position;
    return row;
  }
  let statement: Statement | undefined;

  function statementOf(db: Database): Statement {
    const asked = unnested([], []).as<'asked'>(sql`asked("askedMandator", "askedId", position)`);
    statement ??= { name, sql: select(db, asked as Asked).compile().sql };
    return statement;
  }

  const gather = (db: Database) =>
    openGathering<Key, Row | undefined>(async (keys) => {
      const found = await runPrepared<Positioned>(db, statementOf(db), [
        keys.map(({ mandatorId }) => mandatorId),
        keys.map(({ id }) => id),
      ]);
      const rows = new Array<Row | undefined>(keys.length);
      for (const row of found) rows[row.position - 1] = recordOf(row);
      return rows;
    }, mostAtOnce);

  return async (db, mandatorId, id) => {
    if (!db.isTransaction) return await stateIn(db, gather)(`${mandatorId} ${id}`, { mandatorId, id });
    const { rows } = await db.executeQuery(
      CompiledQuery.raw(statementOf(db).sql, [[mandatorId], [id]]) as CompiledQuery<Positioned>,
    );
    return rows[0] && recordOf(rows[0]);
  };
}
