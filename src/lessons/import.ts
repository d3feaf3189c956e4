/** One batch, from its stored body to its lessons and bookings or its errors, in one transaction. */
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import * as openingHours from '../opening-hours/service.ts';
import type { BatchKey } from './batch.ts';
import { errorMessages, recordFindings } from './findings.ts';
import { fail, move } from './service.ts';
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

/** A batch that a worker has started. */
export type Running = BatchKey & {
  attempts: number;
  jobCount: number;
  requestId: string;
  cancelRequested: boolean;
};

/** Lessons between two reports of progress. */
const chunkSize = 5_000;
/** Opening hours are looked up this many days around today; lessons beyond are not warned about. */
const hoursHorizonDays = 800;

/** Somebody has asked for the end of the batch. */
export class Cancelled extends Error {}
/** The process is stopping; the batch starts again elsewhere. */
export class HandedOver extends Error {}
/** A lesson of the batch is wrong by itself. */
class Refused extends Error {}

/** @throws Cancelled when somebody has asked for that; progress that cannot be told is no reason to fail */
async function tellProgress({ work, log }: ImportContext, batch: BatchKey, processed: number): Promise<void> {
  const told = await work
    .updateTable('batch')
    .set({ processed_count: sql<number>`greatest(processed_count, ${processed}::int)` })
    .where('mandator_id', '=', batch.mandatorId)
    .where('id', '=', batch.id)
    .returning('cancel_requested')
    .executeTakeFirst()
    .catch((error: Error) => log.warn({ batchId: batch.id, err: error.message }, 'progress not told'));
  if (told?.cancel_requested) throw new Cancelled();
}

/** Progress is told on a connection of its own, since the import's transaction commits only at the end. */
function openProgress(context: ImportContext, batch: BatchKey) {
  let reported: Promise<void> = Promise.resolve();
  return {
    /** Reports in the background; fulfilled when the report before has arrived. */
    async report(processed: number): Promise<void> {
      await reported;
      if (context.signal.aborted) throw new HandedOver();
      reported = tellProgress(context, batch, processed);
      // Whoever awaits it next gets the error; nobody may have to.
      reported.catch(() => {});
    },
    settled: () => reported,
  };
}

type Outcome = 'LessonsCreated' | 'LessonsImportFailed';

/** @throws Cancelled, HandedOver; anything else is a technical reason to try again */
export async function importBatch(
  context: ImportContext,
  trx: Transaction,
  batch: Running,
): Promise<Outcome> {
  const counts = await countLessons(trx, batch);
  const lessons = counts.reduce((sum, count) => sum + count, 0);
  const tooMuch = exceededLimits(context.config.Limits, batch.jobCount, lessons);
  if (tooMuch.length > 0) return await failLimits(trx, batch, tooMuch);
  const staged = await stageJobs(trx, batch);
  if (staged.faulty) return await failData(trx, batch, staged, lessons);

  await context.work
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
