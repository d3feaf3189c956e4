/**
 * Lesson jobs (API 2.0). A **job** is a named group of lessons; a **batch** is one import request of many jobs and is
 * atomic: it ends once, in LessonsCreated with everything or in LessonsImportFailed with nothing.
 *
 * Invariants: `move` is the only writer of ImportStatus, and the database refuses what is not a transition of contract
 * 4.3. A tenant's batches run one at a time in order of arrival. The batch row is the truth; the queue's job is a nudge.
 */
import { type RawBuilder, sql } from 'kysely';
import { checkBatchUser } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { type Page, type PageRequest, toPage } from '../db/paging.ts';
import { Conflict, NotFound } from '../errors.ts';
import { addJob } from '../worker/queue.ts';
import {
  type Batch,
  type BatchFilter,
  type BatchKey,
  batchList,
  errorList,
  type FailureKind,
  type ImportStatus,
  isTerminal,
  type LessonError,
  type Omission,
  openStatuses,
  selectBatches,
  selectBatchPage,
  toBatch,
} from './batch.ts';

// Other rooms see this one through its service alone.
export type { Batch };

/** The queue's tasks that work through a tenant's batches: short ones, and any in the lane of long ones. */
export const batchTask = 'ProcessLessonBatches';
export const longBatchTask = 'ProcessLongLessonBatches';

/** What names a tenant's job in the queue. */
export const keyOf = (task: string, mandatorId: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${sql.lit(`${task}:`)} || ${mandatorId}`;

/** Queues the work on a tenant's batches; once is enough for any number of them. */
export async function nudge(trx: Transaction, mandatorId: number): Promise<void> {
  await addJob(trx, batchTask, { mandatorId }, `${batchTask}:${mandatorId}`);
}

/** The same where the next one is long. */
export async function nudgeLong(trx: Transaction, mandatorId: number): Promise<void> {
  await addJob(trx, longBatchTask, { mandatorId }, `${longBatchTask}:${mandatorId}`);
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** @throws Forbidden for a display; NotFound also for another tenant's id and for what is no id at all */
export async function getBatch(db: Database, viewer: Viewer, batchId: string): Promise<Batch> {
  checkBatchUser(viewer);
  const row = uuidPattern.test(batchId)
    ? await selectBatches(db)
        .where('batch.mandator_id', '=', viewer.mandatorId)
        .where('batch.id', '=', batchId)
        .executeTakeFirst()
    : undefined;
  if (!row) throw new NotFound(`There is no batch ${batchId.slice(0, 64)}.`);
  return toBatch(row);
}

/** The batch, or null for one that does not exist for this viewer. */
export async function findBatch(db: Database, viewer: Viewer, id: string): Promise<Batch | null> {
  try {
    return await getBatch(db, viewer, id);
  } catch (error) {
    if (error instanceof NotFound) return null;
    throw error;
  }
}

/** Newest first (contract 4.4). */
export async function listBatches(
  db: Database,
  viewer: Viewer,
  filter: BatchFilter,
  page: PageRequest,
): Promise<Page<Batch>> {
  checkBatchUser(viewer);
  const rows = await selectBatchPage(db, viewer, filter, page).execute();
  return toPage(batchList, rows.map(toBatch), page.limit);
}

/** Errors and warnings in the order of the body, with what is not kept of them. @throws NotFound for an unknown batch */
export async function listErrors(
  db: Database,
  viewer: Viewer,
  batchId: string,
  page: PageRequest,
): Promise<Page<LessonError> & Pick<Batch, 'omitted'>> {
  const { omitted } = await getBatch(db, viewer, batchId);
  const rows = await db
    .selectFrom('batch_error')
    .selectAll()
    .where('mandator_id', '=', viewer.mandatorId)
    .where('batch_id', '=', batchId)
    .$if(page.after !== undefined, (query) => query.where('number', '>', sql<number>`${page.after}::bigint`))
    .orderBy('number')
    .limit(page.limit + 1)
    .execute();
  const errors = rows.map((row) => ({
    number: row.number,
    severity: row.severity as LessonError['severity'],
    index: row.index,
    jobId: row.job_id,
    lektionIndex: row.lektion_index,
    lektionId: row.lektion_id,
    field: row.field,
    code: row.code,
    message: row.message,
    pointer: row.pointer,
  }));
  return { ...toPage(errorList, errors, page.limit), omitted };
}

/**
 * Ends a waiting batch at once, and asks the worker of a running one to stop at its next step; both end in
 * LessonsImportFailed with FailureKind Cancelled. @throws NotFound, Conflict when it has ended already
 */
export async function cancelBatch(db: Database, viewer: Viewer, batchId: string): Promise<Batch> {
  const batch = await getBatch(db, viewer, batchId);
  const cancelled = await db.transaction().execute(async (trx) => {
    const row = await trx
      .updateTable('batch')
      .set({ cancel_requested: true })
      .where('mandator_id', '=', viewer.mandatorId)
      .where('id', '=', batchId)
      .where('import_status', 'in', openStatuses)
      .returning('started_at')
      .executeTakeFirst();
    if (row && !row.started_at)
      await fail(trx, { mandatorId: viewer.mandatorId, id: batchId }, 'Cancelled', cancelText);
    return row !== undefined;
  });
  if (!cancelled) throw new Conflict(`Batch ${batch.id} has already ended; an ended batch never changes.`);
  return await getBatch(db, viewer, batchId);
}

export const cancelText = 'The batch was cancelled; nothing of it was stored.';

type Outcome = {
  lessonCount?: number;
  processedCount?: number;
  createdCount?: number;
  errorCount?: number;
  warningCount?: number;
  failureKind?: FailureKind;
  errorMessages?: string;
  omitted?: readonly Omission[];
};

/** The only writer of ImportStatus. Ending a batch drops the bodies of its jobs. @returns false when it has ended meanwhile */
export async function move(
  trx: Transaction,
  batch: BatchKey & { fence?: number },
  to: ImportStatus,
  outcome: Outcome = {},
): Promise<boolean> {
  const { lessonCount, processedCount, createdCount, errorCount, warningCount } = outcome;
  const { failureKind, errorMessages, omitted } = outcome;
  const { numUpdatedRows } = await trx
    .updateTable('batch')
    .set({
      import_status: to,
      ...(lessonCount !== undefined && { lesson_count: lessonCount }),
      ...(processedCount !== undefined && { processed_count: processedCount }),
      ...(createdCount !== undefined && { created_count: createdCount }),
      ...(errorCount !== undefined && { error_count: errorCount }),
      ...(warningCount !== undefined && { warning_count: warningCount }),
      ...(failureKind !== undefined && { failure_kind: failureKind }),
      ...(errorMessages !== undefined && { error_messages: errorMessages }),
      ...(omitted !== undefined && { omitted: JSON.stringify(omitted) }),
      ...(isTerminal(to) && { finished_at: sql<Date>`clock_timestamp()` }),
    })
    .where('mandator_id', '=', batch.mandatorId)
    .where('id', '=', batch.id)
    .where('import_status', 'in', openStatuses)
    .$if(batch.fence !== undefined, (query) => query.where('fence', '=', batch.fence as number))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (isTerminal(to))
    await trx
      .updateTable('batch_job')
      .set({ body: null })
      .where('mandator_id', '=', batch.mandatorId)
      .where('batch_id', '=', batch.id)
      .execute();
  return true;
}

/** Ends a batch in LessonsImportFailed. */
export async function fail(
  trx: Transaction,
  batch: BatchKey & { fence?: number },
  failureKind: FailureKind,
  errorMessages: string,
  outcome: Outcome = {},
): Promise<void> {
  await move(trx, batch, 'LessonsImportFailed', { errorCount: 1, ...outcome, failureKind, errorMessages });
}
