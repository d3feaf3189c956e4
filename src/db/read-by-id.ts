/** Reads records by their ids: one prepared statement for all reads of one turn of the event loop, whatever their tenants. */
import { type AliasedRawBuilder, CompiledQuery, type SelectQueryBuilder, sql } from 'kysely';
import { openGathering } from '../flow/gather.ts';
import { type Database, stateIn } from './database.ts';
import { runPrepared, type Statement } from './prepared.ts';
import type { DB } from './tables.ts';

/** `position` is the place of a request among the wanted ids, from 1. */
type AskedId = { askedMandator: number; askedId: number; position: number };
/** The wanted ids as a table to join. */
export type Asked = AliasedRawBuilder<AskedId, 'asked'>;
/** Selects from the wanted rows of a table that has a tenant and an id in its key. */
type FromWanted = <Table extends keyof DB>(
  table: Table,
) => SelectQueryBuilder<DB & { asked: AskedId }, Table | 'asked', { position: number }>;
type Selection<Row> = { compile(): CompiledQuery<Row & { position: number }> };

/**
 * Reads a record of a tenant by its id; undefined when the tenant has none. Several callers may share the object.
 * @param id a whole number that fits into a bigint; another one would fail the reads of all callers in that turn
 */
export type ReadById<Row> = (db: Database, mandatorId: number, id: number) => Promise<Row | undefined>;

/** Statements of one name that run at a time in one process. */
const mostAtOnce = 2;

// The sub-selects hide the number of ids from PostgreSQL. So the generic plan seems no more expensive than a plan for
// these values, and PostgreSQL keeps it.
const unnested = (mandatorIds: readonly number[], ids: readonly number[]) =>
  sql`rows from (
    unnest((select ${mandatorIds}::integer[])), unnest((select ${ids}::bigint[]))) with ordinality`;

function fromWanted(db: Database, asked: Asked): FromWanted {
  // The types are those of one table; all of them have these columns.
  const from = (table: 'location') =>
    db
      .selectFrom(asked)
      .innerJoin(table, (join) =>
        join.onRef('mandator_id', '=', 'asked.askedMandator').onRef('id', '=', 'asked.askedId'),
      )
      .select('position');
  return from as unknown as FromWanted;
}

/**
 * @param name of the prepared statement
 * @param select selects the columns of the wanted records; or builds the whole query, with `position`, joining `asked`
 */
export function readById<Row extends object>(
  name: string,
  select: (from: FromWanted, db: Database, asked: Asked) => Selection<Row>,
): ReadById<Row> {
  type Positioned = Row & { position: number };
  type Key = { mandatorId: number; id: number };
  /** Removes the position from the row itself: a copy without it would cost as much as reading the row. */
  function recordOf(row: Positioned): Row {
    delete (row as { position?: number }).position;
    return row;
  }
  let statement: Statement | undefined;

  function statementOf(db: Database): Statement {
    const asked = unnested([], []).as<'asked'>(sql`asked("askedMandator", "askedId", position)`) as Asked;
    statement ??= { name, sql: select(fromWanted(db, asked), db, asked).compile().sql };
    return statement;
  }

  const gather = (db: Database) =>
    openGathering<Key, Row | undefined>(
      async (keys) => {
        const found = await runPrepared<Positioned>(db, statementOf(db), [
          keys.map(({ mandatorId }) => mandatorId),
          keys.map(({ id }) => id),
        ]);
        const rows = new Array<Row | undefined>(keys.length);
        for (const row of found) rows[row.position - 1] = recordOf(row);
        return rows;
      },
      { mostAtOnce },
    );

  return async (db, mandatorId, id) => {
    if (!db.isTransaction) return await stateIn(db, gather)(`${mandatorId} ${id}`, { mandatorId, id });
    const { rows } = await db.executeQuery(
      CompiledQuery.raw(statementOf(db).sql, [[mandatorId], [id]]) as CompiledQuery<Positioned>,
    );
    return rows[0] && recordOf(rows[0]);
  };
}
