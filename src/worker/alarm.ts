/**
 * Wakes the runners for jobs that the library announces too early or not at all: delayed jobs whose time comes, and jobs whose
 * notification was lost. One statement for all places replaces the polling of each place for jobs.
 */
import type { WorkerEvents, WorkerPool } from 'graphile-worker';
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { pause } from '../flow/retry.ts';

/** Milliseconds after which every pool looks for a job in any case; `pulse.ts` relies on it. */
const usualLook = 15_000;
/** Milliseconds after which the alarm asks the database in any case. */
const usualAsk = 5_000;
/**
 * Milliseconds after which it asks again while jobs wait. One whose queue was busy when the pools looked may have been missed: the
 * end of the job before it is recorded after the pool has looked for the next.
 */
const waitingAsk = 300;
/**
 * Milliseconds between a notification and the query that it causes. The pools look for a new job by themselves at that moment,
 * and the notifications of a storm are gathered.
 */
const gatherFor = 100;

type AlarmedJobs = { tasks: readonly string[]; most: number };

/**
 * Jobs of these tasks that can be taken now, counted up to `most`, and milliseconds until the next one can. Jobs of other tasks,
 * such as those of a newer release, wait for another worker.
 */
async function askJobs(db: Database, { tasks, most }: AlarmedJobs): Promise<{ ready: number; next: number | null }> {
  const isTakeable = sql`is_available and task_id = any (array(
    select id from graphile_worker._private_tasks where identifier = any (${tasks}::text[])))`;
  const { rows } = await sql<{ ready: number; next: number | null }>`
    select (
      select count(*)::int from (
        select from graphile_worker._private_jobs where ${isTakeable} and run_at <= now() limit ${most}::int) as job) as ready,
      (select ceil(extract(epoch from min(run_at) - now()) * 1000)::float8 from graphile_worker._private_jobs
       where ${isTakeable} and run_at > now()) as next`.execute(db);
  return rows[0]!;
}

export type Alarm = { keepWaking(db: Database, signal: AbortSignal): Promise<void> };

/** Call it before the first pool is made. @param options.tasks the names that the pools know; `most`: how many jobs a pool runs at a time */
export function openAlarm(
  events: WorkerEvents,
  { tasks, most, lookEvery = usualLook, askEvery = usualAsk }: AlarmedJobs & { lookEvery?: number; askEvery?: number },
): Alarm {
  const pools: WorkerPool[] = [];
  let heard = Promise.withResolvers<void>();
  events.on('pool:create', ({ workerPool }) => pools.push(workerPool));
  // A new job may have to wait for its time, and a failed one has.
  for (const event of ['pool:listen:notification', 'job:error'] as const) events.on(event, () => heard.resolve());

  function wake(count: number): void {
    for (const pool of pools)
      try {
        pool.nudge(count);
      } catch {
        // It has just stopped.
      }
  }
  return {
    /** Until the signal aborts. */
    async keepWaking(db, signal) {
      for (let lookAt = 0; !signal.aborted; ) {
        heard = Promise.withResolvers();
        // While the database is out of reach, the looks of the pools show when it is back.
        const { ready, next } = await askJobs(db, { tasks, most }).catch(() => ({ ready: 1, next: null }));
        const isLate = performance.now() >= lookAt;
        if (ready > 0 || isLate) wake(Math.max(1, ready));
        if (isLate) lookAt = performance.now() + lookEvery;
        const askIn = Math.min(next ?? askEvery, ready > 0 ? waitingAsk : askEvery);
        const wait = Math.min(lookAt - performance.now(), askIn - gatherFor);
        const waiting = new AbortController();
        await Promise.race([pause(Math.max(0, wait), AbortSignal.any([signal, waiting.signal])), heard.promise]);
        waiting.abort();
        await pause(gatherFor, signal);
      }
    },
  };
}
