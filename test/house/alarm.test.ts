import { EventEmitter } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { WorkerEvents } from 'graphile-worker';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { openAlarm } from '../../src/worker/alarm.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

/** An alarm over a pool that notes how many of its workers are woken, and wakes by itself only at the start. */
function openRung(patience = 2 ** 30) {
  const events: WorkerEvents = new EventEmitter();
  const never = 2 ** 30;
  const times = { lookEvery: never, askEvery: never, storm: never, patience };
  const alarm = openAlarm(events, { tasks: ['Alarming', 'Unused'], most: 8, ...times });
  const woken: number[] = [];
  let rung = Promise.withResolvers<void>();
  const nudge = (count: number) => {
    woken.push(count);
    rung.resolve();
  };
  const pool = { nudge };
  events.emit('pool:create', { workerPool: pool } as never);
  const idle: number[] = [];
  const idlePool = { nudge: (count: number) => idle.push(count) };
  events.emit('pool:create', { workerPool: idlePool } as never);
  events.emit('worker:create', { worker: { workerPool: idlePool }, tasks: { Unused: nudge } } as never);
  const stopping = new AbortController();
  const done = alarm.keepWaking(db, stopping.signal);
  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await rung.promise;
      rung = Promise.withResolvers();
    }
  }
  return {
    woken,
    /** How many workers of another pool are woken, which has another task. */
    idle,
    /** The library hears of new jobs. */
    nudge: (count: number) => pool.nudge(count),
    tell: (event: 'pool:listen:notification' | 'job:error') => events.emit(event, {} as never),
    untilWoken: (count: number) => until(() => woken.includes(count)),
    untilWokenTimes: (times: number) => until(() => woken.length >= times),
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

const addJobs = (count: number, delay: string, task = 'Alarming') =>
  sql`select graphile_worker.add_job(${task}, run_at => now() + ${delay}::interval) from generate_series(1, ${count}::int)`.execute(
    db,
  );
const forgetJobs = () =>
  sql`select graphile_worker.complete_jobs(array(select id from graphile_worker._private_jobs))`.execute(db);
const countReady = async () => {
  const { rows } = await sql<{ ready: number }>`
    select count(*)::int as ready from graphile_worker._private_jobs where run_at <= now()`.execute(db);
  return rows[0]?.ready;
};

test.each([
  ['a notification tells of jobs', 'pool:listen:notification'],
  ['a job has failed and', 'job:error'],
] as const)('workers wake when %s whose time comes later, as many as there are jobs', async (_what, event) => {
  const alarm = openRung();
  await alarm.untilWoken(1);
  await addJobs(2, '400 milliseconds');
  await addJobs(1, '1 hour');
  alarm.tell(event);
  await alarm.untilWoken(2);
  expect(await countReady()).toBe(2);
  await alarm.stop();
  expect(alarm.woken.filter((count) => count === 1)).toHaveLength(1);
  await forgetJobs();
});

test('workers wake again for jobs that they did not take, though nothing tells of them', async () => {
  await addJobs(3, '0 seconds');
  const alarm = openRung();
  await alarm.untilWoken(3);
  alarm.woken.length = 0;
  await alarm.untilWoken(3);
  await alarm.stop();
  await forgetJobs();
});

test('no more workers wake than there are places, for jobs that nothing told of', async () => {
  await addJobs(20, '0 seconds');
  const alarm = openRung();
  await alarm.untilWoken(8);
  await alarm.stop();
  expect(new Set(alarm.woken)).toEqual(new Set([8]));
  await forgetJobs();
});

test('jobs of tasks that this worker does not know, as of a newer release, wake nobody', async () => {
  await addJobs(3, '0 seconds', 'Newer');
  await addJobs(1, '400 milliseconds', 'Newer');
  await addJobs(2, '500 milliseconds');
  const alarm = openRung();
  await alarm.untilWokenTimes(2);
  await alarm.stop();
  // The first look is at the start, whatever waits.
  expect(alarm.woken).toEqual([1, 2]);
  await forgetJobs();
});

test('workers without a task to do are left alone, but for the look at the start', async () => {
  const alarm = openRung();
  await alarm.untilWoken(1);
  await addJobs(3, '0 seconds');
  alarm.tell('pool:listen:notification');
  await alarm.untilWoken(3);
  await alarm.stop();
  expect(alarm.idle).toEqual([1]);
  await forgetJobs();
});

test('all notifications wake workers while the alarm waits for an answer for too long', async () => {
  const locked = Promise.withResolvers<void>();
  const { promise: over, resolve: unlock } = Promise.withResolvers<void>();
  const locking = db.transaction().execute(async (trx) => {
    await sql`lock table graphile_worker._private_jobs`.execute(trx);
    locked.resolve();
    await over;
  });
  await locked.promise;
  const [patient, deaf] = [openRung(), openRung(-1)];
  for (const alarm of [patient, deaf]) for (let told = 1; told <= 9; told++) alarm.nudge(told);
  expect(patient.woken).toEqual([1, 2, 3, 4]);
  expect(deaf.woken).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  unlock();
  await locking;
  await Promise.all([patient.stop(), deaf.stop()]);
});

test('of a storm of notifications the first ones wake workers at once', async () => {
  const alarm = openRung();
  await alarm.untilWoken(1);
  alarm.woken.length = 0;
  for (let told = 1; told <= 9; told++) alarm.nudge(told);
  expect(alarm.woken).toEqual([1, 2, 3, 4]);
  await addJobs(5, '0 seconds');
  alarm.tell('pool:listen:notification');
  await alarm.untilWoken(5);
  await alarm.stop();
  await forgetJobs();
});
