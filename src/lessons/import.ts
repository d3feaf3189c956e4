/**
 * Runs a tenant's batches, oldest first, one at a time. The tenant's advisory lock and the work are on one database
 * session: when the worker dies both vanish together, and another worker starts the batch again from its stored body.
 */
import { type Kysely, sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import type { DB } from '../db/tables.ts';
import * as openingHours from '../opening-hours/service.ts';
import type { BatchKey } from './batch.ts';
import { errorMessages, recordFindings } from './findings.ts';
import { cancelText, fail, move, nudge } from './service.ts';
import {
  anyOutsideOpeningHours,
  countLessons,
  insertJobs,
  insertLessons,
  joinByHash,
  lockResources,
  type Slice,
  type StagedJobs,
  stageJobs,
  stageLessons,
  stageOpeningHours,
} from './staging.ts';

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
/** A lesson of the batch is wrong by itself. */
class Refused extends Error {}

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
  const counts = await countLessons(trx, batch);
  const lessons = counts.reduce((sum, count) => sum + count, 0);
  const tooMuch = exceededLimits(context.config.Limits, batch.jobCount, lessons);
  if (tooMuch.length > 0) return await failLimits(trx, batch, tooMuch);
  const staged = await stageJobs(trx, batch);
  if (staged.faulty) return await failData(trx, batch, staged, lessons);

  await context.db
    .transaction()
    .execute((outside) => move(outside, batch, 'AwaitingLessonProcessing', { lessonCount: lessons }));
  const published = await publish(context, trx, batch, counts);
  if (!published) return await failData(trx, batch, staged, lessons);
  const hours = await layOpeningHours(trx, batch, staged.resourceIds, published.earliest, published.latest);
  const remarkable =
    staged.unknown || published.remarkable || (hours && (await anyOutsideOpeningHours(trx, batch)));
  let warningCount = 0;
  if (remarkable) {
    await stageLessons(trx, batch);
    warningCount = (await recordFindings(trx, batch, { diagnose: false, hours })).warnings;
  }
  await move(trx, batch, 'LessonsCreated', { processedCount: lessons, createdCount: lessons, warningCount });
  return 'LessonsCreated';
}

/** Cuts the body into slices of about `chunkSize` lessons: whole jobs together, a job that is larger in parts. */
export function* cutSlices(
  counts: readonly number[],
  chunkSize: number,
): Generator<Slice & { lessons: number }> {
  let firstJob = 0;
  let gathered = 0;
  for (const [job, count] of counts.entries()) {
    if (gathered > 0 && gathered + count > chunkSize) {
      yield { firstJob, lastJob: job - 1, firstLesson: 0, lastLesson: chunkSize, lessons: gathered };
      gathered = 0;
    }
    if (gathered === 0) firstJob = job;
    if (count <= chunkSize) gathered += count;
    else
      for (let firstLesson = 0; firstLesson < count; firstLesson += chunkSize) {
        const lastLesson = Math.min(count, firstLesson + chunkSize);
        yield { firstJob: job, lastJob: job, firstLesson, lastLesson, lessons: lastLesson - firstLesson };
      }
  }
  if (gathered > 0)
    yield { firstJob, lastJob: counts.length - 1, firstLesson: 0, lastLesson: chunkSize, lessons: gathered };
}

const violations = new Set(['23P01', '23505']);

type Published = { remarkable: boolean; earliest: Date; latest: Date };

/**
 * Inserts everything in the hope that it is right, as it mostly is. @returns undefined, with nothing inserted, when a
 * lesson or a constraint says no
 */
async function publish(
  context: ImportContext,
  trx: Transaction,
  batch: Running,
  counts: readonly number[],
): Promise<Published | undefined> {
  const progress = openProgress(context, batch);
  const published: Published = { remarkable: false, earliest: new Date(8.64e15), latest: new Date(-8.64e15) };
  await sql`savepoint unpublished`.execute(trx);
  try {
    await lockResources(trx, batch.mandatorId);
    await insertJobs(trx, batch);
    await joinByHash(trx, true);
    let processed = 0;
    for (const slice of cutSlices(counts, chunkSize)) {
      const noticed = await insertLessons(trx, batch, slice);
      if (noticed.refused) throw new Refused();
      published.remarkable ||= noticed.remarkable;
      if (noticed.earliest < published.earliest) published.earliest = noticed.earliest;
      if (noticed.latest > published.latest) published.latest = noticed.latest;
      processed += slice.lessons;
      await progress.report(processed);
    }
    await joinByHash(trx, false);
    await progress.settled();
    return published;
  } catch (error) {
    await progress.settled();
    if (!(error instanceof Refused) && !violations.has(String((error as { code?: string }).code)))
      throw error;
    await sql`rollback to savepoint unpublished`.execute(trx);
    return undefined;
  }
}

async function failData(
  trx: Transaction,
  batch: Running,
  staged: StagedJobs,
  lessons: number,
): Promise<Outcome> {
  await stageLessons(trx, batch);
  const { rows } = await sql<{ earliest: Date | null; latest: Date | null }>`
    select min(beginn) as earliest, max(ende) as latest from staged_lesson`.execute(trx);
  const { earliest, latest } = rows[0] ?? {};
  const hours =
    earliest && latest ? await layOpeningHours(trx, batch, staged.resourceIds, earliest, latest) : false;
  const found = await recordFindings(trx, batch, { diagnose: true, hours });
  // The conflict was with something that has gone meanwhile: the next attempt will succeed.
  if (found.errors === 0)
    throw new Error('a constraint refused the batch, but nothing is wrong with it any more');
  await fail(trx, batch, 'Data', await errorMessages(trx, batch, found.errors), {
    lessonCount: lessons,
    errorCount: found.errors,
    warningCount: found.warnings,
  });
  return 'LessonsImportFailed';
}

function exceededLimits(limits: Context['config']['Limits'], jobs: number, lessons: number): string[] {
  return [
    ...(jobs > limits.JobsPerBatch ? [`${jobs} jobs, at most ${limits.JobsPerBatch} per batch`] : []),
    ...(lessons > limits.LessonsPerBatch
      ? [`${lessons} lessons, at most ${limits.LessonsPerBatch} per batch`]
      : []),
  ];
}

async function failLimits(trx: Transaction, batch: Running, texts: string[]): Promise<Outcome> {
  const messages = texts.map((text) => `The batch has ${text}; split it.`);
  await trx
    .insertInto('batch_error')
    .values(
      messages.map((message, at) => ({
        mandator_id: batch.mandatorId,
        batch_id: batch.id,
        number: at + 1,
        severity: 'Error',
        code: 'LimitExceeded',
        message,
      })),
    )
    .execute();
  await fail(trx, batch, 'Data', messages.join('\n'), { errorCount: messages.length });
  return 'LessonsImportFailed';
}

/** Lays the rooms' opening hours beside the lessons. @returns whether any are known */
async function layOpeningHours(
  trx: Transaction,
  batch: BatchKey,
  resourceIds: number[],
  earliest: Date,
  latest: Date,
): Promise<boolean> {
  const day = 86_400_000;
  const from = new Date(Math.max(earliest.getTime() - day, Date.now() - hoursHorizonDays * day));
  const to = new Date(Math.min(latest.getTime() + day, Date.now() + hoursHorizonDays * day));
  if (from >= to) return false;
  const open = await openingHours.listOpenIntervals(trx, batch.mandatorId, resourceIds, from, to);
  if (open.size === 0) return false;
  // Rooms that keep the same hours share one list.
  const lists = Map.groupBy(open.keys(), (id) => open.get(id) ?? []);
  await stageOpeningHours(
    trx,
    [...lists].map(([intervals, ids]) => ({ intervals, resourceIds: ids })),
    from,
    to,
  );
  return true;
}
