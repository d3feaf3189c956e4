/** The states of a batch: how it is queued, and the only ways in which ImportStatus changes. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { addJob } from '../worker/queue.ts';
import {
  type BatchKey,
  type FailureKind,
  type ImportStatus,
  isTerminal,
  type Omission,
  openStatuses,
} from './batch.ts';

/** The queue's tasks that run a tenant's batches, one for each lane. */
export const batchTasks = { short: 'ProcessLessonBatches', long: 'ProcessLongLessonBatches' } as const;

/** Queues the work on a tenant's batches, once for any number of them. */
export async function nudge(
  trx: Transaction,
  mandatorId: number,
  lane: keyof typeof batchTasks = 'short',
): Promise<void> {
  await addJob(trx, batchTasks[lane], { mandatorId }, `${batchTasks[lane]}:${mandatorId}`);
}

export const cancelText = 'The batch was cancelled; nothing of it was stored.';

type BatchResult = {
  lessonCount?: number;
  processedCount?: number;
  createdCount?: number;
  changedCount?: number;
  movedCount?: number;
  removedCount?: number;
  errorCount?: number;
  warningCount?: number;
  failureKind?: FailureKind;
  errorMessages?: string;
  omitted?: readonly Omission[];
};

/** A batch as `move` found it. A later request to cancel waits for the move, and is refused if the batch has ended. */
type MovedBatch = { cancel_requested: boolean };

/**
 * The only writer of ImportStatus, in one statement. A batch that ends drops the bodies of its jobs.
 * @returns undefined when the batch has ended already, or another worker has started it since
 */
export async function move(
  db: Database,
  batch: BatchKey & { fence?: number },
  to: ImportStatus,
  outcome: BatchResult = {},
): Promise<MovedBatch | undefined> {
  const moving = db
    .updateTable('batch')
    .set({
      import_status: to,
      lesson_count: outcome.lessonCount,
      processed_count: outcome.processedCount,
      created_count: outcome.createdCount,
      changed_count: outcome.changedCount,
      moved_count: outcome.movedCount,
      removed_count: outcome.removedCount,
      error_count: outcome.errorCount,
      warning_count: outcome.warningCount,
      failure_kind: outcome.failureKind,
      error_messages: outcome.errorMessages,
      omitted: outcome.omitted && JSON.stringify(outcome.omitted),
      finished_at: isTerminal(to) ? sql<Date>`clock_timestamp()` : undefined,
    })
    .where('mandator_id', '=', batch.mandatorId)
    .where('id', '=', batch.id)
    .where('import_status', 'in', openStatuses)
    .$if(batch.fence !== undefined, (query) => query.where('fence', '=', batch.fence as number))
    .returning('cancel_requested');
  if (!isTerminal(to)) return await moving.executeTakeFirst();
  return await db
    .with('moved', () => moving)
    .with('dropped', (query) =>
      query
        .updateTable('batch_job')
        .set({ body: null })
        .where('mandator_id', '=', batch.mandatorId)
        .where('batch_id', '=', batch.id)
        .where(sql<boolean>`exists (select from moved)`),
    )
    .selectFrom('moved')
    .select('cancel_requested')
    .executeTakeFirst();
}

/** Ends a batch in LessonsImportFailed. */
export async function fail(
  trx: Transaction,
  batch: BatchKey & { fence?: number },
  failureKind: FailureKind,
  errorMessages: string,
  outcome: BatchResult = {},
): Promise<MovedBatch | undefined> {
  return await move(trx, batch, 'LessonsImportFailed', { errorCount: 1, ...outcome, failureKind, errorMessages });
}
