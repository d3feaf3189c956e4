import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import pg from 'pg';
import { type Database, openDatabase } from '../../src/db/database.ts';
import type { DB } from '../../src/db/tables.ts';
import { openLog } from '../../src/log.ts';
import { beginStart, holdRunner, releaseTheDead, unlockAll } from '../../src/worker/leases.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 3, log: openLog('silent'), statementTimeout: 0 });
});
afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

/** A job that was taken so many seconds ago, by a worker that has died if nobody holds its lock. */
async function take(pool: string, secondsAgo: number, attempts = 1): Promise<void> {
  await sql`select graphile_worker.add_job('task', json_build_object('pool', ${pool}::text))`.execute(db);
  await sql`
    update graphile_worker._private_jobs
    set locked_by = ${pool}, locked_at = now() - make_interval(secs => ${secondsAgo}), attempts = ${attempts}
    where locked_by is null`.execute(db);
}

/** The jobs that are nobody's, by who had taken them, and how many seconds after they were made they may begin again. */
async function listFree(): Promise<{ pool: string; after: number; isDue: boolean }[]> {
  const { rows } = await sql<{ pool: string; after: number; isDue: boolean }>`
    select payload ->> 'pool' as pool, extract(epoch from run_at - created_at)::float8 as after, run_at <= now() as "isDue"
    from graphile_worker._private_jobs where locked_by is null order by 1`.execute(db);
  return rows;
}

const release = (own: string[] = []) =>
  db.connection().execute((session) => releaseTheDead(session, own, openLog('silent')));
const alongside = async (begin: (session: Kysely<DB>) => Promise<void>, work: () => Promise<void>) =>
  await db.connection().execute(async (session) => {
    await begin(session);
    await work();
    await unlockAll(session);
  });

beforeEach(() => sql`delete from graphile_worker._private_jobs`.execute(db));

test('a job of a dead worker is released at once, and every worker is told', async () => {
  const listener = new pg.Client(database.url);
  await listener.connect();
  const heard: (string | undefined)[] = [];
  listener.on('notification', ({ payload }) => heard.push(payload));
  await take('dead', 0);
  await listener.query('listen "jobs:insert"');
  expect(await release()).toBe(false);
  expect(await listFree()).toMatchObject([{ pool: 'dead', isDue: true }]);
  await until('the workers are told', () => heard.length > 0);
  await listener.end();
});

test('a job that may have caused several deaths waits, longer each time', async () => {
  for (const attempts of [2, 3]) await take(`${attempts}`, 0, attempts);
  await release();
  const [second, third] = (await listFree()).map(({ after }) => after);
  // Three quarters of exp(attempts) - exp(1) at least.
  expect(second).toBeGreaterThan(3.5);
  expect(third).toBeGreaterThan(13);
});

test('a living worker keeps its jobs, and so does the one that asks', async () => {
  await take('own', 9);
  await take('alive', 9);
  await alongside(
    (session) => holdRunner(session, 'alive'),
    async () => expect(await release(['own'])).toBe(false),
  );
  expect(await listFree()).toEqual([]);
});

test('while a worker is starting, jobs that were just taken may be its own: they are looked at again soon', async () => {
  // As if by a clock that is ahead: the test may take its time.
  await take('starting', -3_600);
  await take('dead', 3);
  await alongside(beginStart, async () => {
    expect(await release()).toBe(true);
    expect(await listFree()).toMatchObject([{ pool: 'dead' }]);
  });
  expect(await release()).toBe(false);
  expect(await listFree()).toMatchObject([{ pool: 'dead' }, { pool: 'starting' }]);
});
