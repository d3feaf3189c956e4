/** How jobs are taken from queues. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Logger, run } from 'graphile-worker';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { holdRunner, unlockAll } from '../../src/worker/leases.ts';
import { openQueuePool, sweeps } from '../../src/worker/queue.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
});
afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

const add = (queue: string, later = '0 s') =>
  sql`select graphile_worker.add_job('say', json_build_object('queue', ${queue}::text), queue_name => ${queue},
    run_at => now() + ${later}::interval)`.execute(db);

/** Runs the jobs of a runner of the library until so many have ended. */
async function runJobs(count: number, work: (queue: string) => Promise<void>): Promise<void> {
  const pgPool = openQueuePool(database.url, { max: 4, log: openLog('silent'), statementTimeout: 10_000 });
  const all = Promise.withResolvers<void>();
  let ended = 0;
  const runner = await run({
    pgPool,
    preset: { worker: { schema: 'graphile_worker', concurrentJobs: 3, logger: new Logger(() => () => {}) } },
    noHandleSignals: true,
    taskList: {
      say: async (payload) => {
        await work((payload as { queue: string }).queue);
        if (++ended === count) all.resolve();
      },
    },
  });
  await all.promise;
  await runner.stop();
  await pgPool.end();
}

test('a job is taken with the lock of its own queue, and not of all that are free', async () => {
  await add('idle', '1 day');
  await add('own');
  await runJobs(1, async () => {});
  const { rows } = await sql`
    select queue_name as name, xmax::text <> '0' as "wasLocked" from graphile_worker._private_job_queues order by 1`.execute(
    db,
  );
  expect(rows).toEqual([
    { name: 'idle', wasLocked: false },
    { name: 'own', wasLocked: expect.any(Boolean) },
  ]);
});

test('jobs of one queue run one after the other, and beside those of others', async () => {
  for (const queue of ['one', 'one', 'other']) await add(queue);
  const running: string[] = [];
  const seen: string[][] = [];
  const both = Promise.withResolvers<void>();
  await runJobs(3, async (queue) => {
    running.push(queue);
    seen.push(running.toSorted());
    if (running.length === 2) both.resolve();
    await both.promise;
    running.splice(running.indexOf(queue), 1);
  });
  expect(seen).toContainEqual(['one', 'other']);
  expect(seen).not.toContainEqual(['one', 'one']);
});

test('the longest wait is that of a job that may run: its time has come, and no living worker runs it or another of its queue', async () => {
  const readWait = async () => Number(await sweeps[0]!.figures!['roomgate_queue_longest_wait_seconds']!.read(db));
  const hours = async () => Math.floor((await readWait()) / 3_600);
  await add('later', '1 hour');
  expect(await readWait()).toBe(0);
  for (const later of ['-3 hours', '-2 hours']) await add('busy', later);
  await add('free', '-1 hour');
  await sql`
    update graphile_worker._private_job_queues set locked_at = now(), locked_by = 'runner' where queue_name = 'busy'`.execute(
    db,
  );
  await sql`
    update graphile_worker._private_jobs set locked_at = now(), locked_by = 'runner', attempts = 1
    where run_at < now() - interval '150 minutes'`.execute(db);
  await db.connection().execute(async (session) => {
    await holdRunner(session, 'runner');
    expect(await hours()).toBe(1);
    await unlockAll(session);
  });
  expect(await hours()).toBe(3);
});
