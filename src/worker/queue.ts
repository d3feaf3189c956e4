import { type RawBuilder, sql } from 'kysely';
import { heldLocks } from '../db/advisory-locks.ts';
import { type Database, openPool, type PoolOptions, poolOf, type Transaction } from '../db/database.ts';
import { isDeadlock } from '../flow/database-errors.ts';
import { lockClasses } from '../flow/locks.ts';
import { traceparentNow } from '../tracing.ts';
import { mostCounted } from './leases.ts';
import type { Sweep } from './task.ts';

/** Brings the queue's own schema up to date; safe for many processes at once. */
export async function migrateQueue(db: Database): Promise<void> {
  // Loaded here: few commands need it, and a server has it already.
  const { runMigrations } = await import('graphile-worker');
  await runMigrations({ pgPool: poolOf(db), preset: { worker: { schema: 'graphile_worker' } } });
}

type Pool = ReturnType<typeof openPool>;
type Taken = Parameters<Pool['connect']>[0];

/**
 * The library's statement that takes a job, changed to lock only the queue of that job. The original locks all free
 * queues. As each calendar has a queue, taking one job locked hundreds of queues, and other workers found neither a
 * free queue nor a job. A statement of another form, as in another release of the library, is left as it is.
 */
function lockingOneQueue(statement: unknown): unknown {
  const { text } = (statement ?? {}) as { text?: unknown };
  if (typeof text !== 'string') return statement;
  const changed = text.replace(
    /\bjobs\.job_queue_id in \(\s*select id(\s+from \S+ as job_queues\s+where) (?=job_queues\.is_available = true\s+for update\s+skip locked\s*\))/,
    'exists (select$1 job_queues.id = jobs.job_queue_id and ',
  );
  return changed === text ? statement : { ...(statement as object), text: changed };
}

/**
 * The pool of the queue library. The library releases a connection twice when it is lost during its release. The pool would
 * throw outside of any promise, which would end the process.
 *
 * A statement that PostgreSQL has ended because of a deadlock is sent again, as each is a transaction of its own. The
 * library stops for good when it cannot record the end of jobs, and it locks the rows of jobs that end together in
 * another order than transactions that queue several.
 *
 * A job is taken with the lock of its own queue alone (`lockingOneQueue`).
 */
export function openQueuePool(url: string, options: PoolOptions): Pool {
  const pool = openPool(url, options);
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...statement: unknown[]) => unknown;
    const send = (...statement: unknown[]): unknown => {
      const sent = query(...statement);
      if (!(sent instanceof Promise)) return sent;
      return sent.catch((error) => (isDeadlock(error) ? send(...statement) : Promise.reject(error)));
    };
    client.query = ((first: unknown, ...more: unknown[]) =>
      send(lockingOneQueue(first), ...more)) as typeof client.query;
  });
  const connect = pool.connect.bind(pool);
  pool.connect = ((taken?: Taken) =>
    taken
      ? connect((error, client, release) => {
          let isHeld = true;
          taken(error, client, (lost) => {
            // There is nothing to release once the pool has ended.
            if (isHeld) release?.(lost);
            isHeld = false;
          });
        })
      : connect()) as typeof pool.connect;
  return pool;
}

/**
 * Queues a task inside the caller's transaction: it runs only if the transaction commits. A waiting job with the same key
 * keeps its place and takes this payload; a running one is followed by another run. The job belongs to the caller's trace.
 */
export async function addJob(trx: Transaction, task: string, payload: object, key: string): Promise<void> {
  const traceparent = traceparentNow();
  const carried = JSON.stringify({ ...payload, ...(traceparent && { traceparent }) });
  await sql`select graphile_worker.add_job(${task}, ${carried}::json, job_key => ${key}, job_key_mode => 'preserve_run_at')`.execute(
    trx,
  );
}

/** Queues a task unless a job of the same key waits or runs, even if others do the same at that moment. */
export async function addJobOnce(db: Database, task: string, payload: object, key: string): Promise<void> {
  await sql`select graphile_worker.add_job(${task}, ${JSON.stringify(payload)}::json, job_key => ${key}, job_key_mode => 'unsafe_dedupe')`.execute(
    db,
  );
}

/** Whether a job of this key waits or runs. */
export const isQueued = (key: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select from graphile_worker._private_jobs where key = ${key} and attempts < max_attempts)`;

/** Whether a job of this key waits for its first run. */
export const isWaiting = (key: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select from graphile_worker._private_jobs where key = ${key} and locked_at is null and attempts = 0)`;

const countJobs = async (db: Database, condition: RawBuilder<boolean>) => {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from graphile_worker._private_jobs where ${condition}`.execute(db);
  return rows[0]?.n ?? 0;
};

/** Jobs that a dead worker has locked count as waiting. */
async function readLongestWait(db: Database): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select coalesce(extract(epoch from now() - min(job.run_at)), 0)::float8 as seconds
    from graphile_worker._private_jobs job left join graphile_worker._private_job_queues queue on queue.id = job.job_queue_id
    where job.attempts < job.max_attempts and job.run_at <= now() and coalesce(
      hashtext(coalesce(job.locked_by, queue.locked_by)) not in (
        select number from ${heldLocks(lockClasses.runner)} as alive), true)`.execute(db);
  return rows[0]!.seconds;
}

/** Whether a job of this key is about to begin: its time has come, and it waits for its first run. */
export const isDue = (key: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select from graphile_worker._private_jobs where key = ${key} and locked_at is null and attempts = 0 and run_at <= now())`;

/** Whether a job of this key has begun: it runs, its worker has died, or it waits after a failure. */
export const hasBegun = (key: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select from graphile_worker._private_jobs where key = ${key} and attempts > 0)`;

/** A job that is queued again while it runs loses its key to the new job. If it then fails, it would stay for ever. */
const isReplaced = sql<boolean>`key is null and locked_at is null`;
const isOvercounted = sql<boolean>`attempts > ${mostCounted} and key is not null and locked_at is null`;
const hasJobs = (condition: RawBuilder<boolean>) =>
  sql<boolean>`exists (select from graphile_worker._private_jobs where ${condition})`;

export const sweeps: readonly Sweep[] = [
  {
    name: 'complete replaced jobs',
    isDue: () => hasJobs(isReplaced),
    async run({ work }) {
      await sql`
        select graphile_worker.complete_jobs(array(
          select id from graphile_worker._private_jobs where ${isReplaced}))`.execute(work);
    },
    figures: {
      roomgate_queue_jobs_waiting: {
        help: 'Jobs that are due but not running',
        read: (db) => countJobs(db, sql`locked_at is null and run_at <= now() and is_available`),
      },
      roomgate_queue_longest_wait_seconds: {
        help: 'How long the job that has waited longest has been due, though no other job of its queue runs',
        read: readLongestWait,
      },
      roomgate_queue_jobs_failing: {
        help: 'Jobs whose last attempt has failed and that wait for the next one',
        read: (db) => countJobs(db, sql`attempts > 0 and locked_at is null and key is not null`),
      },
    },
  },
  {
    // Then no job is given up, and none waits longer than seven minutes for its next run.
    name: 'limit the recorded attempts of jobs',
    isDue: () => hasJobs(isOvercounted),
    async run({ work }) {
      await sql`update graphile_worker._private_jobs set attempts = ${mostCounted} where ${isOvercounted}`.execute(
        work,
      );
    },
  },
];
