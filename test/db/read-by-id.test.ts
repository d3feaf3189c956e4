import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { readById } from '../../src/db/read-by-id.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { cloneDatabase } from '../_util/postgres.ts';

type Name = { name: string; capacity: number | null };

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
/** Of one connection, so that a test can look at its statements. */
let db: Database;
let one: Awaited<ReturnType<typeof makeTenant>>;
let other: Awaited<ReturnType<typeof makeTenant>>;

const reader = (name: string) => readById<Name>(name, (from) => from('resource').select(['name', 'capacity']));
const read = reader('resource of the test');
const idOf = ({ resources }: typeof one, at: number) => resources[at]?.id as number;

/** The texts and names of what `work` sends to PostgreSQL by name. */
async function namedQueries(work: () => Promise<unknown>): Promise<(string | undefined)[]> {
  const queries = jest.spyOn(pg.Pool.prototype, 'query');
  await work();
  const names = queries.mock.calls.map(([query]) => (query as unknown as { name?: string }).name);
  queries.mockRestore();
  return names;
}

beforeAll(async () => {
  clone = await cloneDatabase();
  db = openDatabase(clone.url, { max: 1, log: openLog('silent'), statementTimeout: 5_000 });
  one = await makeTenant(db, { code: 'one', rooms: ['A', 'B'] });
  other = await makeTenant(db, { code: 'other', rooms: ['C', 'D'] });
});

afterAll(async () => {
  await db.destroy();
  await clone.drop();
});

describe('records by id', () => {
  test('of several tenants are read by one statement, and each caller gets its own', async () => {
    let answers: (Name | undefined)[] = [];
    const names = await namedQueries(async () => {
      answers = await Promise.all([
        read(db, one.mandatorId, idOf(one, 0)),
        read(db, other.mandatorId, idOf(other, 1)),
        read(db, one.mandatorId, idOf(one, 1)),
        read(db, one.mandatorId, idOf(one, 0)),
      ]);
    });
    expect(names).toHaveLength(1);
    expect(answers).toEqual([
      { name: 'A', capacity: null },
      { name: 'D', capacity: null },
      { name: 'B', capacity: null },
      { name: 'A', capacity: null },
    ]);
  });

  test('are undefined when they are unknown or of another tenant', async () => {
    const asked = [read(db, one.mandatorId, 2 ** 31 - 1), read(db, one.mandatorId, idOf(other, 0))];
    expect(await Promise.all(asked)).toEqual([undefined, undefined]);
  });

  test('are read afresh: what was written is seen by the next read', async () => {
    const rename = (name: string) => db.updateTable('resource').set({ name }).where('id', '=', idOf(one, 1)).execute();
    await rename('B 2');
    expect(await read(db, one.mandatorId, idOf(one, 1))).toEqual({ name: 'B 2', capacity: null });
    await rename('B');
    expect(await read(db, one.mandatorId, idOf(one, 1))).toEqual({ name: 'B', capacity: null });
  });

  test('in a transaction are those of the transaction', async () => {
    await db.transaction().execute(async (trx) => {
      await trx.updateTable('resource').set({ name: 'A 2' }).where('id', '=', idOf(one, 0)).execute();
      expect(await read(trx, one.mandatorId, idOf(one, 0))).toEqual({ name: 'A 2', capacity: null });
      await trx.updateTable('resource').set({ name: 'A' }).where('id', '=', idOf(one, 0)).execute();
    });
  });

  test('are planned once, for whatever number of them', async () => {
    await sql`insert into resource (mandator_id, location_id, name)
      select ${one.mandatorId}, ${one.locationId}, 'many ' || n from generate_series(1, 2000) as n`.execute(db);
    await sql`analyze resource`.execute(db);
    const name = 'planned once';
    const readPlanned = reader(name);
    for (let round = 0; round < 8; round++) await readPlanned(db, one.mandatorId, idOf(one, 0));
    const { rows } = await sql<{ generic: number; custom: number }>`
      select generic_plans::int as generic, custom_plans::int as custom from pg_prepared_statements
      where name like ${`${name} %`}`.execute(db);
    // PostgreSQL looks at five plans before it keeps one.
    expect(rows).toEqual([{ generic: 3, custom: 5 }]);
  });

  test('are read after a migration has changed the type of a column', async () => {
    await read(db, one.mandatorId, idOf(one, 0));
    await sql`alter table resource rename column capacity to seats`.execute(db);
    await sql`alter table resource add column capacity bigint`.execute(db);
    const asked = [read(db, one.mandatorId, idOf(one, 0)), read(db, other.mandatorId, idOf(other, 0))];
    expect(await Promise.all(asked)).toEqual([
      { name: 'A', capacity: null },
      { name: 'C', capacity: null },
    ]);
    expect(await read(db, one.mandatorId, idOf(one, 1))).toEqual({ name: 'B', capacity: null });
  });

  test('an error reaches everybody who waits, and no later one', async () => {
    await sql`alter table resource rename to hidden`.execute(db);
    const asked = [read(db, one.mandatorId, idOf(one, 0)), read(db, other.mandatorId, idOf(other, 0))];
    const outcomes = await Promise.allSettled(asked);
    await sql`alter table hidden rename to resource`.execute(db);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await read(db, one.mandatorId, idOf(one, 0))).toEqual({ name: 'A', capacity: null });
  });
});
