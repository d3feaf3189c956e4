import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { openDatabase, poolOf } from '../../src/db/database.ts';
import { executePrepared, mostShapes, runPrepared } from '../../src/db/prepared.ts';
import { openLog } from '../../src/log.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

const open = () => openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });

test.each(['has only run prepared statements', 'has run others too', 'has run none'])(
  'a database that %s keeps no connection when it is destroyed',
  async (what) => {
    const db = open();
    if (what !== 'has run none') await runPrepared(db, { name: 'one', sql: 'select 1 as one' }, []);
    if (what === 'has run others too') await sql`select 1`.execute(db);
    await db.destroy();
    expect([poolOf(db).ended, poolOf(db).totalCount]).toEqual([true, 0]);
  },
);

test('queries of ever new shapes are all answered, and sessions prepare only the first of each name', async () => {
  const db = openDatabase(database.url, { max: 1, log: openLog('silent'), statementTimeout: 0 });
  const ask = async (number: number, name = 'numbers') => {
    const query = sql<{ number: number }>`select ${sql.lit(number)}::int as number`;
    return (await executePrepared(db, name, query.compile(db)))[0]?.number;
  };
  const numbers = Array.from({ length: mostShapes + 3 }, (_, at) => at);
  for (const number of [...numbers, ...numbers]) expect(await ask(number)).toBe(number);
  await ask(1, 'others');
  const { rows } = await sql<{ name: string }>`
    select split_part(name, ' ', 1) as name from pg_prepared_statements`.execute(db);
  expect(rows.filter(({ name }) => name === 'numbers')).toHaveLength(mostShapes);
  expect(rows.filter(({ name }) => name === 'others')).toHaveLength(1);
  await db.destroy();
});

test('instants are read as the library reads them, to the millisecond', async () => {
  const written = [
    ...[
      '2027-03-01 06:00:00+00',
      '2027-12-31 23:59:59.9+00',
      '2028-02-29 00:00:00.12+00',
      '1969-12-31 23:59:59.123+00',
    ],
    ...[
      '2027-03-01 06:00:00.1239+00',
      '2027-03-01 06:00:00.999999+00',
      '1000-01-01 00:00:00+00',
      '9999-12-31 23:59:59+00',
    ],
    ...['0999-01-01 00:00:00+00', '0001-01-01 00:00:00+00', '0044-03-15 12:00:00.5+00 BC', '12027-03-01 06:00:00+00'],
    ...['infinity', '-infinity'],
  ];
  const db = open();
  const read = async (zone: string) => {
    const { rows } = await db.connection().execute(async (one) => {
      await sql`select set_config('TimeZone', ${zone}, false)`.execute(one);
      return await sql<{ at: Date | number }>`
        select at::timestamptz as at from unnest(${written}::text[]) with ordinality as written (at, number)
        order by number`.execute(one);
    });
    return rows.map(({ at }) => Number(at));
  };
  const known = written.map((text) => Number(pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ)(text)));
  for (const zone of ['UTC', 'Europe/Zurich', 'Asia/Kolkata', 'America/St_Johns'])
    expect({ zone, read: await read(zone) }).toEqual({ zone, read: known });
  await db.destroy();
});
