import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase, poolOf } from '../../src/db/database.ts';
import { runPrepared } from '../../src/db/prepared.ts';
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
