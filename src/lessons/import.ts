/** The import of one batch in one transaction: from its stored body to lessons and bookings, or to errors. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { Malformed } from '../errors.ts';
import { isDuplicate, isExcluded } from '../flow/database-errors.ts';
import type { Running } from './batch.ts';
import { settleConflicts } from './conflicts.ts';
import { describeCoupled, insertJobs, insertLessons, sentJobs } from './creation.ts';
import { recordDifference } from './difference.ts';
import { type Counts, errorMessages, recordFindings } from './findings.ts';
import { anyOutsideOpeningHours, hoursNotCompared, type KnownHours, readOpeningHours, timeOfSent } from './hours.ts';
import { fail, move } from './lifecycle.ts';
import { exceededLimits, recordBatchWarnings, recordLimits } from './limits.ts';
import { beginPlan, carryOut, type DescribedPlan, describePlan, endPlan, planBookings } from './plan.ts';
import { Cancelled, type ImportContext, type ImportProgress, Outdated, openProgress } from './progress.ts';
import { beginReading, beginWriting, endWriting, type ReadJobs, readJobs } from './reading.ts';
import { anyEntering, anyRefused, stageLessons } from './staged-lessons.ts';
import {
  countLessons,
  countUnlisted,
  joinByHash,
  type LessonSlice,
  lockResources,
  lookUpByKey,
  removesMany,
  stageJobs,
} from './staging.ts';

/** Lessons between two reports of progress. */
const chunkSize = 5_000;

type BatchOutcome = 'LessonsCreated' | 'LessonsImportFailed';

/**
 * A running batch. `counts` has the number of lessons of each job, and `listed` is their sum. `beside` has connections
 * for reading while the transaction waits for locks.
 */
type BatchWork = {
  trx: Transaction;
  beside: Database;
  batch: Running;
  counts: readonly number[];
  listed: number;
  jobs: ReadJobs;
  stage: Stage;
  /** Warnings about the batch as a whole. */
  batchWarnings: Set<string>;
};

/** @throws Cancelled, HandedOver, Outdated; anything else is a technical reason to try again */
export async function importBatch(context: ImportContext, trx: Transaction, batch: Running): Promise<BatchOutcome> {
  await beginReading(trx, batch);
  const counts = await countLessons(trx, batch);
  const listed = counts.reduce((sum, count) => sum + count, 0);
  const tooMuch = exceededLimits(context.config.Limits, batch.jobCount, listed);
  if (tooMuch.length > 0) return await failLimits(trx, batch, tooMuch);
  const jobs = await readJobs(trx, batch);
  const lessonCount = listed + (batch.operation === 'Delete' ? await countUnlisted(trx, batch) : 0);
  const work: BatchWork = {
    trx,
    beside: context.work,
    batch,
    counts,
    listed,
    jobs,
    stage: openStage(trx, batch, listed),
    batchWarnings: new Set(),
  };
  if (jobs.faulty) return await failData(work, lessonCount);

  const progress = openProgress(context, batch, lessonCount);
  if (batch.replacesQuelle !== null) await work.stage.lessons();
  const tooMany = await removesMany(trx, batch);
  if (tooMany !== undefined && !batch.validateOnly) {
    await progress.settled();
    return await failLimits(trx, batch, [tooMany]);
  }
  const published = await publish(progress, work);
  await progress.settled();
  if (!published) return await failData(work, lessonCount);
  const { warnings, omitted } = await recordWarnings(work, published);
  // A dry run continues, as it may find more.
  if (tooMany !== undefined) work.batchWarnings.add(tooMany);
  const warningCount = warnings + (await recordBatchWarnings(trx, batch, work.batchWarnings));
  if (batch.validateOnly) await recordDifference(trx, batch);
  const written = batch.validateOnly ? {} : writtenCounts(published);
  await end(move(trx, batch, 'LessonsCreated', { processedCount: lessonCount, ...written, warningCount, omitted }));
  return 'LessonsCreated';
}

/** @throws Cancelled when that was requested before the end */
async function end(moving: ReturnType<typeof move>): Promise<void> {
  if ((await moving)?.cancel_requested) throw new Cancelled();
}

/** Staging tables that only some batches need; each is made on demand. */
function openStage(trx: Transaction, batch: Running, listed: number) {
  let lessons: Promise<void> | undefined;
  let plan: Promise<void> | undefined;
  const stage = {
    lessons: () => (lessons ??= stageAll()),
    plan: () => (plan ??= makePlan()),
    get isSettled() {
      return plan !== undefined && (batch.onConflict !== 'Fail' || batch.takeOver);
    },
  };
  async function stageAll(): Promise<void> {
    if (batch.operation === 'Create') {
      await joinByHash(trx, false);
      await stageJobs(trx, batch);
    }
    await stageLessons(trx, batch, listed);
  }
  async function makePlan(): Promise<void> {
    await stage.lessons();
    // From here on nobody else changes which rooms are free.
    const retired = await lockResources(
      trx,
      batch.mandatorId,
      sql`select resource_id from staged_lesson union select stored_resource from staged_lesson`,
    );
    if (await anyEntering(trx, retired)) throw new Outdated('a room was retired meanwhile');
    await planBookings(trx, batch);
    if (batch.onConflict !== 'Fail') await settleConflicts(trx, batch);
  }
  return stage;
}

type Stage = ReturnType<typeof openStage>;

/** What a batch has written. `remarkable`: there are warnings; `hours`: the opening hours of its rooms, if any are known. */
type Published = Pick<DescribedPlan, 'inserted' | 'changed' | 'moved' | 'removed' | 'remarkable'> & {
  hours: KnownHours | undefined;
};

const writtenCounts = ({ inserted, changed, moved, removed }: Published) => ({
  createdCount: inserted,
  changedCount: changed,
  movedCount: moved,
  removedCount: removed,
});

/** A lesson of the batch is wrong by itself. */
class Refused extends Error {}

/** @returns undefined, with nothing written, when a lesson is faulty or a constraint refuses it */
async function publish(progress: ImportProgress, work: BatchWork): Promise<Published | undefined> {
  const { trx, batch, stage } = work;
  if (batch.operation === 'Create') {
    const { ids } = work.jobs.rooms;
    const reading = hoursOf(work.beside, work, { ...timeOfSent(work.jobs), resourceIds: ids });
    // The next await gets any error.
    reading.catch(() => {});
    // The locks outlive the savepoint, so that a conflict still exists when it is reported.
    const retired = await lockResources(trx, batch.mandatorId, sql`select unnest(${ids}::integer[])`);
    if (retired.length > 0) throw new Outdated('a room was retired meanwhile');
    const hours = await reading;
    const published = await attempt(progress, work, () => create(progress, work, hours));
    if (published || (batch.onConflict === 'Fail' && !batch.takeOver)) return published;
  }
  await stage.lessons();
  if (await anyRefused(trx)) return undefined;
  await stage.plan();
  return await attempt(progress, work, () => carryOutPlan(progress, work));
}

/** The opening hours, if any are known and they are not too many. */
async function hoursOf(
  db: Database,
  { batch, jobs, batchWarnings }: BatchWork,
  when: Parameters<typeof readOpeningHours>[2],
): Promise<KnownHours | undefined> {
  if (!jobs.knowsHours) return undefined;
  try {
    const hours = await readOpeningHours(db, batch, when);
    // An earlier attempt may have asked for more.
    batchWarnings.delete(hoursNotCompared);
    return hours;
  } catch (error) {
    if (!(error instanceof Malformed && error.errors.some(({ code }) => code === 'LimitExceeded'))) throw error;
    batchWarnings.add(hoursNotCompared);
    return undefined;
  }
}

/** Runs `write` in a savepoint, rolled back when it is refused or the batch only validates. @returns undefined when refused */
async function attempt<T>(
  progress: ImportProgress,
  { trx, batch }: BatchWork,
  write: () => Promise<T>,
): Promise<T | undefined> {
  const undo = () => sql`rollback to savepoint unwritten`.execute(trx);
  await beginWriting(trx);
  try {
    const written = await write();
    await progress.settled();
    if (batch.validateOnly) await undo();
    return written;
  } catch (error) {
    await progress.settled();
    if (!(error instanceof Refused) && !isExcluded(error) && !isDuplicate(error)) throw error;
    await undo();
    return undefined;
  }
}

/** The fast path: see creation. */
async function create(
  progress: ImportProgress,
  { trx, batch, counts, listed, jobs }: BatchWork,
  hours: KnownHours | undefined,
): Promise<Published> {
  let [inserted, remarkable, coupled] = [0, jobs.unknown, false];
  await insertJobs(trx, batch, sentJobs(batch));
  for (const slice of cutSlices(counts, chunkSize)) {
    const noticed = await insertLessons(trx, batch, slice, { rooms: jobs.rooms, hours });
    if (noticed.refused) throw new Refused();
    coupled ||= noticed.coupled;
    remarkable ||= noticed.remarkable;
    inserted += slice.lessons;
    // The end of the batch reports the last ones.
    if (inserted < listed) await progress.report(inserted);
  }
  if (coupled) {
    await joinByHash(trx, false);
    if (await describeCoupled(trx, batch)) throw new Refused();
  }
  return { inserted, changed: 0, moved: 0, removed: 0, remarkable, hours };
}

/** Cuts the body into slices of at most `chunkSize` lessons: whole jobs, or a part of one larger job. */
export function* cutSlices(counts: readonly number[], chunkSize: number): Generator<LessonSlice & { lessons: number }> {
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

/** The planned path: changes stored lessons, and works around occupied rooms. */
async function carryOutPlan(progress: ImportProgress, work: BatchWork): Promise<Published> {
  const { trx, batch } = work;
  const plan = await describePlan(trx);
  if (batch.operation === 'Create' || batch.createMissing) await insertJobs(trx, batch, sql`staged_job`);
  await beginPlan(trx, batch);
  await lookUpByKey(trx, true);
  for (let first = 1; first <= plan.rows; first += chunkSize) {
    const last = first + chunkSize - 1;
    await carryOut(trx, batch, first, last);
    if (last < plan.rows) await progress.report(last);
  }
  await lookUpByKey(trx, false);
  if (await endPlan(trx, batch)) throw new Refused();
  const hours = await hoursOf(trx, work, plan);
  const remarkable =
    work.jobs.unknown || plan.remarkable || (hours !== undefined && (await anyOutsideOpeningHours(trx, hours)));
  return { ...plan, remarkable, hours };
}

async function recordWarnings({ trx, batch, stage }: BatchWork, { remarkable, hours }: Published): Promise<Counts> {
  if (batch.validateOnly) await stage.lessons();
  if (!remarkable) return { errors: 0, warnings: 0, omitted: [] };
  await endWriting(trx);
  await stage.lessons();
  return await recordFindings(trx, batch, { diagnose: false, hours, settled: stage.isSettled });
}

async function failData(work: BatchWork, lessonCount: number): Promise<BatchOutcome> {
  const { trx, batch, stage } = work;
  await stage.plan();
  const hours = await hoursOf(trx, work, await describePlan(trx));
  const found = await recordFindings(trx, batch, { diagnose: true, hours, settled: false });
  if (found.errors === 0) throw new Outdated('a constraint refused the batch, but nothing is wrong with it any more');
  const messages = await errorMessages(trx, batch, found.errors);
  const warningCount = found.warnings + (await recordBatchWarnings(trx, batch, work.batchWarnings));
  const counts = { lessonCount, errorCount: found.errors, warningCount, omitted: found.omitted };
  await end(fail(trx, batch, 'Data', messages, counts));
  return 'LessonsImportFailed';
}

async function failLimits(trx: Transaction, batch: Running, messages: string[]): Promise<BatchOutcome> {
  await recordLimits(trx, batch, 'Error', messages, 1);
  await end(fail(trx, batch, 'Data', messages.join('\n'), { errorCount: messages.length }));
  return 'LessonsImportFailed';
}
