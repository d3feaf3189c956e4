/**
 * Wakes the runners for jobs that the library announces too early or not at all: delayed jobs whose time comes, and jobs whose
 * notification was lost. One statement for all places replaces the polling of each place for jobs.
 *
 * In a storm, the pools do not look for a job at each notification: each would ask for as many places as there are new
 * jobs, whatever their tasks and times. Instead the alarm wakes only the pools that have a task to do.
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
 * Milliseconds after which it asks again while jobs wait. A pool records the end of a job only after it has looked for the next one,
 * so it can miss a job of the same queue.
 */
const waitingAsk = 300;
/**
 * Milliseconds between a notification and the query that it causes. A notification wakes the pools at once, too, except in a storm,
 * when notifications are gathered.
 */
const gatherFor = 100;
/** Up to so many notifications in so many milliseconds wake a pool at once; the alarm also hears the others. */
const [mostAtOnce, usualStorm] = [4, 1_000];
/** Milliseconds after which an alarm without an answer is deaf: every notification then wakes the pools. */
const usualPatience = 1_000;
/** The most due jobs whose tasks are inspected. If there are more, any pool may have some. */
const mostSorted = 1_000;

type AlarmedJobs = { tasks: readonly string[]; most: number };

type Ready = Readonly<Record<string, number>>;

/**
 * How many jobs can be taken now, by task, and milliseconds until the next one can. Jobs of other tasks, such as those of a newer
 * release, wait for another worker.
 */
async function askJobs(db: Database, tasks: readonly string[]): Promise<{ ready: Ready; next: number | null }> {
  const isTakeable = sql`is_available and task_id = any (array(
    select id from graphile_worker._private_tasks where identifier = any (${tasks}::text[])))`;
  const { rows } = await sql<{ ready: Ready; next: number | null }>`
    select (
      select coalesce(json_object_agg(identifier, due.n), '{}') from (
        select task_id, count(*)::int as n from (
          select task_id from graphile_worker._private_jobs where ${isTakeable} and run_at <= now() limit ${mostSorted}::int) as job
        group by task_id) as due
      join graphile_worker._private_tasks as task on task.id = task_id) as ready,
      (select ceil(extract(epoch from min(run_at) - now()) * 1000)::float8 from graphile_worker._private_jobs
       where ${isTakeable} and run_at > now()) as next`.execute(db);
  return rows[0]!;
}

const sum = (counts: Iterable<number>) => [...counts].reduce((all, one) => all + one, 0);

/** A pool: how the library wakes some of its workers, and its tasks. */
type Woken = { wake(count: number): void; tasks: ReadonlySet<string> };

/** Lets only the first notifications of a storm wake the pool directly. */
function calm(pool: WorkerPool, withinMs: number, isDeaf: () => boolean): (count: number) => void {
  const nudge = pool.nudge.bind(pool);
  let times: number[] = [];
  pool.nudge = (count) => {
    const now = performance.now();
    times = times.filter((time) => time > now - withinMs);
    if (times.length >= mostAtOnce && !isDeaf()) return;
    times.push(now);
    nudge(count);
  };
  return nudge;
}

export type Alarm = { keepWaking(db: Database, signal: AbortSignal): Promise<void> };

/** Call it before the first pool is made. @param options.tasks the names that the pools know; `most`: how many jobs a pool runs at a time */
export function openAlarm(
  events: WorkerEvents,
  {
    tasks,
    most,
    lookEvery = usualLook,
    askEvery = usualAsk,
    storm = usualStorm,
    patience = usualPatience,
  }: AlarmedJobs & { lookEvery?: number; askEvery?: number; storm?: number; patience?: number },
): Alarm {
  const pools = new Map<WorkerPool, Woken>();
  let heard = Promise.withResolvers<void>();
  let askedAt = Number.POSITIVE_INFINITY;
  const isDeaf = () => performance.now() - askedAt > patience;
  events.on('pool:create', ({ workerPool }) =>
    pools.set(workerPool, { wake: calm(workerPool, storm, isDeaf), tasks: new Set(tasks) }),
  );
  events.on('worker:create', ({ worker: { workerPool }, tasks }) => {
    const pool = pools.get(workerPool);
    if (pool) pool.tasks = new Set(Object.keys(tasks));
  });
  // A new job may have to wait for its time, and a failed one has.
  for (const event of ['pool:listen:notification', 'job:error'] as const) events.on(event, () => heard.resolve());

  /** Wakes as many workers of each pool as it has jobs, and `least` in any case. */
  function wake(ready: Ready, least: 0 | 1): void {
    const isCut = sum(Object.values(ready)) === mostSorted;
    for (const pool of pools.values()) {
      const own = isCut ? most : sum([...pool.tasks].map((task) => ready[task] ?? 0));
      const count = Math.max(least, Math.min(own, most));
      try {
        if (count > 0) pool.wake(count);
      } catch {
        // It has just stopped.
      }
    }
  }
  return {
    /** Until the signal aborts. */
    async keepWaking(db, signal) {
      for (let lookAt = 0; !signal.aborted; ) {
        heard = Promise.withResolvers();
        // While the database is out of reach, the looks of the pools show when it is back.
        askedAt = performance.now();
        const asked = await askJobs(db, tasks).catch(() => undefined);
        askedAt = Number.POSITIVE_INFINITY;
        const { ready = {}, next = null } = asked ?? {};
        const isLate = performance.now() >= lookAt;
        wake(ready, isLate || !asked ? 1 : 0);
        if (isLate) lookAt = performance.now() + lookEvery;
        const areWaiting = !asked || Object.keys(ready).length > 0;
        const askIn = Math.min(next ?? askEvery, areWaiting ? waitingAsk : askEvery);
        const wait = Math.min(lookAt - performance.now(), askIn - gatherFor);
        const waiting = new AbortController();
        await Promise.race([pause(Math.max(0, wait), AbortSignal.any([signal, waiting.signal])), heard.promise]);
        waiting.abort();
        await pause(gatherFor, signal);
      }
    },
  };
}
