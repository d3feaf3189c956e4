/** Batches as their senders see them: read, listed and cancelled. */
import { checkBatchUser, checkImporter, seesOwnBatches } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { pageById } from '../db/page-query.ts';
import { type Page, type PageRequest, toPage } from '../db/paging.ts';
import { executePrepared } from '../db/prepared.ts';
import { Conflict, NotFound } from '../errors.ts';
import {
  type Batch,
  type BatchFilter,
  batchList,
  errorList,
  type LessonError,
  openStatuses,
  selectBatches,
  selectBatchPage,
  toBatch,
} from './batch.ts';
import { cancelText, fail } from './lifecycle.ts';

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * @throws Forbidden for a display; NotFound, also for a batch of another tenant, for one that is hidden from the caller, and
 * for a malformed id
 */
export async function getBatch(db: Database, viewer: Viewer, batchId: string): Promise<Batch> {
  checkBatchUser(viewer);
  const batch = selectBatches(db)
    .where('batch.mandator_id', '=', viewer.mandatorId)
    .where('batch.id', '=', batchId)
    .$if(seesOwnBatches(viewer), (query) => query.where('batch.created_by', '=', viewer.personId));
  const [row] = uuidPattern.test(batchId) ? await executePrepared(db, 'batch', batch.compile()) : [];
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
  return toPage(batchList, rows.map(toBatch), page);
}

const selectErrors = (db: Database, { mandatorId }: Viewer, batchId: string) =>
  db
    .selectFrom('batch_error')
    .where('mandator_id', '=', mandatorId)
    .where('batch_id', '=', batchId)
    .select(['number', 'severity', 'index', 'job_id as jobID', 'lektion_index as lektionIndex'])
    .select(['lektion_id as lektionId', 'field', 'code', 'message', 'line', 'pointer'])
    .$narrowType<Pick<LessonError, 'severity'>>();

/** The first errors of a batch that the viewer has read, then the first warnings, as far as there is place for them. */
export async function firstErrors(
  db: Database,
  viewer: Viewer,
  { id, errorCount, warningCount }: Batch,
  limit: number,
): Promise<LessonError[]> {
  // Each list is in the order of the primary key and ends with the last one wanted: a batch may have 20,000.
  const first = async (severity: LessonError['severity'], most: number) =>
    most > 0
      ? await selectErrors(db, viewer, id).where('severity', '=', severity).orderBy('number').limit(most).execute()
      : [];
  const errors = await first('Error', Math.min(errorCount, limit));
  return [...errors, ...(await first('Warning', Math.min(warningCount, limit - errors.length)))];
}

/** Errors and warnings in the order of the body, and how many are not kept. @throws NotFound for an unknown batch */
export async function listErrors(
  db: Database,
  viewer: Viewer,
  batchId: string,
  page: PageRequest,
): Promise<Page<LessonError> & Pick<Batch, 'omitted'>> {
  const { omitted } = await getBatch(db, viewer, batchId);
  const errors = await selectErrors(db, viewer, batchId).$call(pageById('number', page)).execute();
  return { ...toPage(errorList, errors, page), omitted };
}

/**
 * Ends a waiting batch at once, and asks the worker of a running one to stop at its next step; both end in
 * LessonsImportFailed with FailureKind Cancelled. @throws Forbidden, NotFound, Conflict when it has ended already
 */
export async function cancelBatch(db: Database, viewer: Viewer, batchId: string): Promise<Batch> {
  checkImporter(viewer);
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
  if (!cancelled)
    throw Conflict.because('BatchEnded', `Batch ${batch.id} has already ended; an ended batch never changes.`);
  return await getBatch(db, viewer, batchId);
}
