/**
 * Runs a tenant's batches, oldest first, one at a time. The tenant's advisory lock and the work are on one database
 * session: when the worker dies both vanish together, and another worker starts the batch again from its stored body.
 */
import { type Kysely, sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import type { DB } from '../db/tables.ts';
import * as openingHours from '../opening-hours/service.ts';
import { errorMessages, recordFindings } from './findings.ts';
import { type BatchKey, cancelText, fail, move, nudge } from './service.ts';
import { countLessons, insertJobs, insertLessons, lockResources, type Staged, stage } from './staging.ts';

export type ImportContext = Context & { work: Database; signal: AbortSignal };

type Running = BatchKey & {
  attempts: number;
  jobCount: number;
  createdBy: number;
  requestId: string;
  cancelRequested: boolean;
};

/** Starts of one batch before it is given up. */
const mostAttempts = 25;
/** Lessons between two reports of progress. */
const chunkSize = 5_000;
/** Opening hours are looked up this many days around today; lessons beyond are not warned about. */
const hoursHorizonDays = 800;

class Cancelled extends Error {}
class HandedOver extends Error {}

/** Works on the tenant's oldest open batch, unless another worker does, and queues the next run if more are open. */
export async function runNextBatch(context: ImportContext, mandatorId: number): Promise<void> {
  const worked = await context.work.connection().execute(async (session) => {
    if (!(await tryLock(session, mandatorId))) return false;
    try {
      const batch = await startNext(session, mandatorId);
      if (batch) await runBatch(context, session, batch);
      return true;
    } finally {
      // Should the connection be gone, so is the lock.
      await unlock(session, mandatorId).catch(() => {});
    }
  });
  // Asked only now: who was turned away at the lock before has its batch seen here.
  if (worked) await nudgeOpen(context.db, mandatorId);
}

const lockClass = 7_001;

async function tryLock(session: Kysely<DB>, mandatorId: number): Promise<boolean> {
  const { rows } = await sql<{
    free: boolean;
  }>`select pg_try_advisory_lock(${lockClass}, ${mandatorId}) as free`.execute(session);
  return rows[0]?.free === true;
}

async function unlock(session: Kysely<DB>, mandatorId: number): Promise<void> {
  await sql`select pg_advisory_unlock(${lockClass}, ${mandatorId})`.execute(session);
}

async function nudgeOpen(db: Database, mandatorId: number): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const open = await trx
      .selectFrom('batch')
      .select('id')
      .where('mandator_id', '=', mandatorId)
      .where('import_status', 'in', ['AwaitingLessonCreation', 'AwaitingLessonProcessing'])
      .limit(1)
      .executeTakeFirst();
    if (open) await nudge(trx, mandatorId);
  });
}

/** Queues again the tenants whose batches are open while no worker is on them: its process died, or its job was lost. */
export async function recoverBatches(db: Database): Promise<void> {
  const { rows } = await sql<{ mandatorId: number }>`
    select distinct mandator_id as "mandatorId" from batch
    where import_status in ('AwaitingLessonCreation', 'AwaitingLessonProcessing')
      and not exists (select from pg_locks where locktype = 'advisory' and classid = ${lockClass} and objid = mandator_id and granted
                      and database = (select oid from pg_database where datname = current_database()))`.execute(
    db,
  );
  for (const { mandatorId } of rows) await db.transaction().execute((trx) => nudge(trx, mandatorId));
}

async function startNext(session: Kysely<DB>, mandatorId: number): Promise<Running | undefined> {
  const { rows } = await sql<Running>`
    update batch set attempts = attempts + 1, started_at = coalesce(started_at, now())
    where mandator_id = ${mandatorId} and id = (
      select id from batch
      where mandator_id = ${mandatorId} and import_status in ('AwaitingLessonCreation', 'AwaitingLessonProcessing')
      order by arrival limit 1)
    returning mandator_id as "mandatorId", id, attempts, job_count as "jobCount",
      request_id as "requestId", cancel_requested as "cancelRequested"`.execute(session);
  return rows[0];
}

async function runBatch(context: ImportContext, session: Kysely<DB>, batch: Running): Promise<void> {
  const log = context.log.child({
    batchId: batch.id,
    mandatorId: batch.mandatorId,
    requestId: batch.requestId,
  });
  const end = (kind: 'Technical' | 'Cancelled', text: string) =>
    session.transaction().execute((trx) => fail(trx, batch, kind, text));
  try {
    if (batch.cancelRequested) throw new Cancelled();
    const outcome = await session.transaction().execute((trx) => importBatch(context, trx, batch));
    log.info({ outcome }, 'batch ended');
  } catch (error) {
    if (error instanceof Cancelled) {
      await end('Cancelled', cancelText);
      log.info('batch cancelled');
    } else if (error instanceof HandedOver) {
      await sql`update batch set attempts = attempts - 1 where mandator_id = ${batch.mandatorId} and id = ${batch.id}`.execute(
        session,
      );
      throw error;
    } else if (batch.attempts >= mostAttempts) {
      log.error({ err: (error as Error).stack }, 'batch given up');
      await end(
        'Technical',
        `The import failed ${batch.attempts} times for a technical reason and was given up; nothing of it was stored. Send it again later, and quote BatchId ${batch.id} when you report it.`,
      );
    } else throw error;
  }
}

/** Progress is told on a connection of its own, since the import's transaction commits only at the end. */
function openProgress(context: ImportContext, batch: BatchKey) {
  let reported: Promise<void> = Promise.resolve();
  return {
    /** Reports in the background; fulfilled when the report before has arrived. */
    async report(processed: number): Promise<void> {
      await reported;
      if (context.signal.aborted)
        throw new HandedOver('the worker is stopping; the batch starts again elsewhere');
      reported = (async () => {
        const row = await context.db
          .updateTable('batch')
          .set({ processed_count: sql<number>`greatest(processed_count, ${processed}::int)` })
          .where('mandator_id', '=', batch.mandatorId)
          .where('id', '=', batch.id)
          .returning('cancel_requested')
          .executeTakeFirst();
        if (row?.cancel_requested) throw new Cancelled();
      })();
      // Whoever awaits it next gets the error; nobody may have to.
      reported.catch(() => {});
    },
    settled: () => reported,
  };
}

type Outcome = 'LessonsCreated' | 'LessonsImportFailed';

async function importBatch(context: ImportContext, trx: Transaction, batch: Running): Promise<Outcome> {
  const limits = context.config.Limits;
  const lessons = await countLessons(trx, batch);
  const tooMany = [
    ...(batch.jobCount > limits.JobsPerBatch
      ? [`${batch.jobCount} jobs, at most ${limits.JobsPerBatch} per batch`]
      : []),
    ...(lessons > limits.LessonsPerBatch
      ? [`${lessons} lessons, at most ${limits.LessonsPerBatch} per batch`]
      : []),
  ];
  if (tooMany.length > 0) return await failLimits(trx, batch, tooMany);
  const staged = await stage(trx, batch);
  const hours = await stageOpeningHours(trx, batch, staged);
  const warnings = { unknown: staged.unknown, assumedUtc: staged.assumedUtc, past: staged.past, hours };
  if (staged.faulty) return await failData(trx, batch, staged, warnings);

  await context.db
    .transaction()
    .execute((outside) => move(outside, batch, 'AwaitingLessonProcessing', { lessonCount: staged.lessons }));
  if (!(await publish(context, trx, batch, staged.lessons)))
    return await failData(trx, batch, staged, warnings);
  const found = await recordFindings(trx, batch, { diagnose: false, ...warnings });
  await move(trx, batch, 'LessonsCreated', {
    processedCount: staged.lessons,
    createdCount: staged.lessons,
    warningCount: found.warnings,
  });
  return 'LessonsCreated';
}

const violations = new Set(['23P01', '23505']);

/** Inserts everything, in chunks. @returns false, with nothing inserted, when a constraint says no */
async function publish(
  context: ImportContext,
  trx: Transaction,
  batch: Running,
  lessons: number,
): Promise<boolean> {
  const progress = openProgress(context, batch);
  await sql`savepoint unpublished`.execute(trx);
  try {
    await lockResources(trx, batch.mandatorId);
    await insertJobs(trx, batch);
    if (lessons > chunkSize) await sql`create index on staged_lesson (row)`.execute(trx);
    for (let first = 1; first <= lessons; first += chunkSize) {
      await insertLessons(trx, batch, first, first + chunkSize - 1);
      await progress.report(Math.min(lessons, first + chunkSize - 1));
    }
    await progress.settled();
    return true;
  } catch (error) {
    await progress.settled();
    if (!violations.has(String((error as { code?: string }).code))) throw error;
    await sql`rollback to savepoint unpublished`.execute(trx);
    return false;
  }
}

async function failData(
  trx: Transaction,
  batch: Running,
  staged: Staged,
  warnings: { unknown: boolean; assumedUtc: boolean; past: boolean; hours: boolean },
): Promise<Outcome> {
  const found = await recordFindings(trx, batch, { diagnose: true, ...warnings });
  // The conflict was with something that has gone meanwhile: the next attempt will succeed.
  if (found.errors === 0)
    throw new Error('a constraint refused the batch, but nothing is wrong with it any more');
  await fail(trx, batch, 'Data', await errorMessages(trx, batch, found.errors), {
    lessonCount: staged.lessons,
    errorCount: found.errors,
    warningCount: found.warnings,
  });
  return 'LessonsImportFailed';
}

async function failLimits(trx: Transaction, batch: Running, texts: string[]): Promise<Outcome> {
  await trx
    .insertInto('batch_error')
    .values(
      texts.map((text, at) => ({
        mandator_id: batch.mandatorId,
        batch_id: batch.id,
        number: at + 1,
        severity: 'Error',
        code: 'LimitExceeded',
        message: `The batch has ${text}; split it.`,
      })),
    )
    .execute();
  await fail(
    trx,
    batch,
    'Data',
    texts.map((text) => `LimitExceeded: the batch has ${text}; split it.`).join('\n'),
    {
      errorCount: texts.length,
    },
  );
  return 'LessonsImportFailed';
}

/** Lays the rooms' opening hours beside the lessons. @returns whether any are known */
async function stageOpeningHours(trx: Transaction, batch: BatchKey, staged: Staged): Promise<boolean> {
  if (!staged.earliest || !staged.latest) return false;
  const day = 86_400_000;
  const from = new Date(Math.max(staged.earliest.getTime() - day, Date.now() - hoursHorizonDays * day));
  const to = new Date(Math.min(staged.latest.getTime() + day, Date.now() + hoursHorizonDays * day));
  if (from >= to) return false;
  const open = await openingHours.listOpenIntervals(trx, batch.mandatorId, staged.resourceIds, from, to);
  if (open.size === 0) return false;
  // Rooms that keep the same hours share one list, which is written once.
  const lists = [...new Set(open.values())];
  const ranges = lists.map(
    (intervals) =>
      `{${intervals.map(({ start, end }) => `[${start.toISOString()},${end.toISOString()})`).join(',')}}`,
  );
  await sql`
    create temporary table open_hours on commit drop as
    select room.resource_id, list.hours::tstzmultirange as hours, ${from}::timestamptz as known_from, ${to}::timestamptz as known_to
    from unnest(${[...open.keys()]}::int[], ${[...open.values()].map((list) => lists.indexOf(list) + 1)}::int[]) as room (resource_id, list)
    join unnest(${ranges}::text[]) with ordinality as list (hours, number) on list.number = room.list`.execute(
    trx,
  );
  return true;
}
