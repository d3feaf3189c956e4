/**
 * Runs a tenant's batches, oldest first, one at a time. Short batches have a lane of their own, so that long ones of other
 * tenants do not delay them. The tenant's advisory lock and the work share one database session: when the worker dies,
 * both end together. `recoverBatches` then queues the batch, and another worker starts it again from its stored body.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { heldLocks } from '../db/advisory-locks.ts';
import type { Database } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { dropExpiredKeys } from '../db/idempotency.ts';
import { rests } from '../db/resting.ts';
import type { DB } from '../db/tables.ts';
import { isCancelled, isOutage } from '../flow/database-errors.ts';
import { lockClasses } from '../flow/locks.ts';
import { inTrace, untraced } from '../tracing.ts';
import { unlockAll, workFor } from '../worker/leases.ts';
import { isWaiting } from '../worker/queue.ts';
import type { BatchKey, Running } from './batch.ts';
import { importBatch } from './import.ts';
import { batchTasks, cancelText, fail, nudge } from './lifecycle.ts';
import { findNext, isDue, isOpen, isWorkedOn } from './next.ts';
import { Cancelled, HandedOver, type ImportContext } from './progress.ts';
import { giveUp, isSetback, mostAttempts, pauseOfStart, recordTrouble, unheard } from './setbacks.ts';

/**
 * Runs the tenant's oldest open batch, unless another worker does or it is not due, and queues the next run if more are
 * open. The short lane passes a long batch to the long lane.
 */
export async function runNextBatch(context: ImportContext, mandatorId: number, lane: 'short' | 'long'): Promise<void> {
  const done = await context.work.connection().execute(async (session) => {
    try {
      if (!(await tryLock(session, mandatorId, context.runner))) return 'nothing';
      const next = await findNext(context.work, mandatorId);
      if (!next?.isDue) return 'nothing';
      if (next.isLong && lane === 'short') return 'moved';
      const batch = await startBatch(session, next);
      if (batch) await inTrace(context.traces, 'import batch', spanOf(batch), () => runBatch(context, session, batch));
      return 'worked';
    } finally {
      // A lost connection has lost the lock too.
      await unlockAll(session).catch(() => {});
    }
  });
  // After the unlock: the next run finds the lock free, and a batch whose run was turned away at the lock is found here.
  if (done === 'moved') await context.work.transaction().execute((trx) => nudge(trx, mandatorId, 'long'));
  // The next batch belongs to a trace of its own.
  if (done === 'worked') await untraced(() => nudgeOpen(context.work, mandatorId));
}

/** Held until the session unlocks or ends; it ends with its runner. */
async function tryLock(session: Kysely<DB>, mandatorId: number, runner: string): Promise<boolean> {
  await workFor(session, runner);
  const { rows } = await sql<{
    free: boolean;
  }>`select pg_try_advisory_lock(${lockClasses.batches}, ${mandatorId}) as free`.execute(session);
  return rows[0]?.free === true;
}

async function nudgeOpen(db: Database, mandatorId: number): Promise<void> {
  const next = await findNext(db, mandatorId);
  if (next?.isDue) await db.transaction().execute((trx) => nudge(trx, mandatorId, next.isLong ? 'long' : 'short'));
}

/** The ended batches that one statement deletes; each may have many errors. */
const forgottenAtOnce = 20;

/** Deletes batches that ended long ago, with their errors, and the answers to keys; what was imported stays. */
export async function forgetOldBatches({
  work,
  config,
  signal,
}: Pick<ImportContext, 'work' | 'config' | 'signal'>): Promise<void> {
  await dropExpiredKeys(work);
  for (let some = forgottenAtOnce; some === forgottenAtOnce && !signal.aborted; ) {
    const { numAffectedRows } = await sql`
      delete from batch where (mandator_id, id) in (
        select mandator_id, id from batch
        where finished_at < ${daysAgo(config.Limits.BatchDays)} and not ${rests(sql`batch.mandator_id`)}
        order by finished_at limit ${forgottenAtOnce} for update skip locked)`.execute(work);
    some = Number(numAffectedRows);
  }
}

/** Queues the tenants whose next batch is due and has no worker: its process died, or its job was lost. */
export async function recoverBatches(db: Database): Promise<void> {
  const { rows } = await sql<{ mandatorId: number }>`
    select mandator_id as "mandatorId" from (
      select distinct on (mandator_id) mandator_id, ${isDue} as due from batch
      where ${isOpen}
      order by mandator_id, arrival) as next
    where due and not ${rests(sql`next.mandator_id`)} and not ${isWaiting(sql`${sql.lit(`${batchTasks.long}:`)} || mandator_id`)} and not ${isWorkedOn}`.execute(
    db,
  );
  for (const { mandatorId } of rows) await db.transaction().execute((trx) => nudge(trx, mandatorId));
}

async function startBatch(session: Kysely<DB>, next: BatchKey): Promise<Running | undefined> {
  const { rows } = await sql<Running>`
    update batch set attempts = attempts + 1, fence = fence + 1, started_at = coalesce(started_at, now()), trouble = ${unheard},
      -- In case this process dies. Only attempts count, not the setbacks of an outage that may be over.
      not_before = now() + ${pauseOfStart(sql`attempts`)}
    where mandator_id = ${next.mandatorId} and id = ${next.id}
      -- It may have been cancelled since it was found.
      and ${isOpen}
    returning mandator_id as "mandatorId", id, operation, validate_only as "validateOnly", on_conflict as "onConflict",
      take_over as "takeOver", create_missing as "createMissing",
      replaces_quelle as "replacesQuelle", replaces_since as "replacesSince", allow_removal as "allowRemoval",
      created_by as "createdBy", attempts, fence, job_count as "jobCount", request_id as "requestId", trace_parent as "traceParent", cancel_requested as "cancelRequested",
      pg_backend_pid() as pid`.execute(session);
  return rows[0];
}

/** Joins the trace of the request that sent the batch: a queue job may have been queued by the request of another batch. */
const spanOf = ({ id, operation, jobCount, requestId, traceParent: parent }: Running) =>
  ({
    kind: 'CONSUMER',
    attributes: {
      'roomgate.batch': id,
      'roomgate.operation': operation,
      'roomgate.jobs': jobCount,
      'roomgate.request_id': requestId,
    },
    parent,
  }) as const;

async function runBatch(context: ImportContext, session: Kysely<DB>, batch: Running): Promise<void> {
  const log = context.log.child({
    batchId: batch.id,
    mandatorId: batch.mandatorId,
    requestId: batch.requestId,
  });
  // The processes of the earlier starts died, and could not record why.
  if (batch.attempts > mostAttempts) {
    log.error('batch given up');
    return await session.transaction().execute((trx) => giveUp(trx, batch));
  }
  try {
    if (batch.cancelRequested) throw new Cancelled();
    const outcome = await session
      .transaction()
      .execute((trx) => untilStopped(context, batch, () => importBatch(context, trx, batch)));
    log.info({ outcome }, 'batch ended');
  } catch (error) {
    if (error instanceof Cancelled) {
      await session.transaction().execute((trx) => fail(trx, batch, 'Cancelled', cancelText));
      log.info('batch cancelled');
    } else if (error instanceof HandedOver) {
      await sql`
        update batch set attempts = attempts - 1, not_before = null
        where mandator_id = ${batch.mandatorId} and id = ${batch.id}`.execute(session);
      log.info('batch handed over');
    } else {
      const level = isSetback(error) ? 'warn' : 'error';
      log[level]({ err: (error as Error).stack }, 'batch came to nothing; it starts again later');
      await record(context, batch, error);
    }
  }
}

/** Retries for about two seconds if the database does not answer. After that, the start counts as an attempt. */
async function record({ work }: ImportContext, batch: Running, error: unknown): Promise<void> {
  for (const pause of [100, 400, 1_500, 0]) {
    try {
      return await recordTrouble(work, batch, error);
    } catch (failure) {
      if (!isOutage(failure)) throw failure;
      await sleep(pause);
    }
  }
}

/** How often cancellation is checked for; the import also checks between its statements. */
const lookEveryMs = 1_000;

/**
 * Does the work in this transaction. When the process stops or the batch is cancelled, the running statement is
 * cancelled, again and again until the work has ended, as a statement may take minutes or wait for a lock. A COMMIT is
 * never cancelled: one that waits for a standby would be acknowledged at once, and be lost with the primary.
 * @throws HandedOver, Cancelled when the work was cut short
 */
async function untilStopped<T>(context: ImportContext, batch: Running, work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const unwanted = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: over.signal }).catch(() => {});
  async function look(): Promise<void> {
    for (await pause(lookEveryMs); !over.signal.aborted && !unwanted.signal.aborted; await pause(lookEveryMs))
      if (await isCancelRequested(context.work, batch).catch(() => false)) unwanted.abort();
  }
  async function interrupt(): Promise<void> {
    for (; !over.signal.aborted; await pause(100))
      // Only while the session is ours: PostgreSQL reuses the ids of backends that have ended.
      await sql`
        select pg_cancel_backend(pid) from ${heldLocks(lockClasses.batches)} as held
        where number = ${batch.mandatorId} and pid = ${batch.pid}`
        .execute(context.work)
        .catch(() => {});
  }
  const looking = look();
  let interrupting: Promise<void> | undefined;
  const cut = AbortSignal.any([context.signal, unwanted.signal]);
  const stop = () => {
    interrupting ??= interrupt();
  };
  cut.addEventListener('abort', stop, { signal: over.signal });
  if (cut.aborted) stop();
  try {
    return await work();
  } catch (error) {
    if (cut.aborted && isCancelled(error)) throw context.signal.aborted ? new HandedOver() : new Cancelled();
    throw error;
  } finally {
    over.abort();
    await Promise.all([looking, interrupting]);
  }
}

async function isCancelRequested(db: Database, batch: BatchKey): Promise<boolean> {
  const row = await db
    .selectFrom('batch')
    .select('cancel_requested')
    .where('mandator_id', '=', batch.mandatorId)
    .where('id', '=', batch.id)
    .executeTakeFirst();
  return row?.cancel_requested === true;
}
