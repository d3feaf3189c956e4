/**
 * Records by their ids, read together: what is asked for while the event loop handles one round of requests, by whomever
 * and of whatever tenant, is one prepared statement. REST and GraphQL share it. Nothing is kept once it is answered.
 */
import { type AliasedRawBuilder, CompiledQuery, sql } from 'kysely';
import type { Database } from './database.ts';
import { runPrepared, type Statement } from './prepared.ts';

/** What is asked for, as a table to join; `position` counts from 1 and tells whom a row is for. */
export type Asked = AliasedRawBuilder<{ askedMandator: number; askedId: number; position: number }, 'asked'>;

/**
 * A record of a tenant by its id; undefined when the tenant has none. The object may be shared by several callers.
 * @param id a whole number that fits into a bigint: another one would be everybody's error
 */
export type ReadById<Row> = (db: Database, mandatorId: number, id: number) => Promise<Row | undefined>;

type Waiting<Row> = {
  mandatorId: number;
  id: number;
  answer: PromiseWithResolvers<Row | undefined>;
};
type Gathering<Row> = { waiting: Map<string, Waiting<Row>>; scheduled: boolean; running: number };

/** Statements of one kind that run at a time in one process; meanwhile the next one gathers. */
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
  /** Without its position, which is taken off and not left out of a copy: a copy would cost as much as the row did. */
  function recordOf(row: Positioned): Row {
    delete (row as { position?: number }).position;
    return row;
  }
  const gatherings = new WeakMap<Database, Gathering<Row>>();
  let statement: Statement | undefined;

  function statementOf(db: Database): Statement {
    const asked = unnested([], []).as<'asked'>(sql`asked("askedMandator", "askedId", position)`);
    statement ??= { name, sql: select(db, asked as Asked).compile().sql };
    return statement;
  }

  async function run(db: Database, some: readonly Waiting<Row>[]): Promise<void> {
    try {
      const rows = await runPrepared<Positioned>(db, statementOf(db), [
        some.map(({ mandatorId }) => mandatorId),
        some.map(({ id }) => id),
      ]);
      for (const row of rows) {
        const { answer } = some[row.position - 1] as Waiting<Row>;
        answer.resolve(recordOf(row));
      }
      for (const { answer } of some) answer.resolve(undefined);
    } catch (error) {
      for (const { answer } of some) answer.reject(error);
    }
  }

  function runSoon(db: Database, gathering: Gathering<Row>): void {
    if (gathering.scheduled || gathering.running === mostAtOnce || gathering.waiting.size === 0) return;
    gathering.scheduled = true;
    setImmediate(async () => {
      const some = [...gathering.waiting.values()];
      // A map that is cleared would keep what it held reachable until the next full collection.
      gathering.waiting = new Map();
      gathering.scheduled = false;
      gathering.running++;
      await run(db, some);
      gathering.running--;
      runSoon(db, gathering);
    });
  }

  return async (db, mandatorId, id) => {
    if (db.isTransaction) {
      const { rows } = await db.executeQuery(
        CompiledQuery.raw(statementOf(db).sql, [[mandatorId], [id]]) as CompiledQuery<Positioned>,
      );
      return rows[0] && recordOf(rows[0]);
    }
    let gathering = gatherings.get(db);
    if (!gathering) {
      gathering = { waiting: new Map(), scheduled: false, running: 0 };
      gatherings.set(db, gathering);
    }
    const key = `${mandatorId} ${id}`;
    let one = gathering.waiting.get(key);
    if (!one) gathering.waiting.set(key, (one = { mandatorId, id, answer: Promise.withResolvers() }));
    runSoon(db, gathering);
    return await one.answer.promise;
  };
}
