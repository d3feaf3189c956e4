/** Publishes the progress of a running batch, and reads whether it was cancelled. */
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { Running } from './batch.ts';
import { move } from './lifecycle.ts';

export type ImportContext = Context & { work: Database; signal: AbortSignal; runner: string };

export class Cancelled extends Error {}
/** The process is stopping; another one starts the batch again. */
export class HandedOver extends Error {}
/** Others have changed what the batch has read: it starts again. */
export class Outdated extends Error {}

/** @throws Cancelled when that was requested; a failure to publish is only logged */
async function tellProgress({ work, log }: ImportContext, batch: Running, processed: number): Promise<void> {
  const told = await work
    .updateTable('batch')
    .set({ processed_count: sql<number>`greatest(processed_count, ${processed}::int)` })
    .where('mandator_id', '=', batch.mandatorId)
    .where('id', '=', batch.id)
    .where('fence', '=', batch.fence)
    .returning('cancel_requested')
    .executeTakeFirst()
    .catch((error: Error) => log.warn({ batchId: batch.id, err: error.message }, 'progress not told'));
  if (told?.cancel_requested) throw new Cancelled();
}

/**
 * Reports that the lessons are being processed. All progress is reported on a connection of its own, since the import's
 * transaction commits only at the end; the import goes on meanwhile.
 */
export function openProgress(context: ImportContext, batch: Running, lessonCount: number) {
  let reported: Promise<unknown> = move(context.work, batch, 'AwaitingLessonProcessing', { lessonCount });
  // The next await gets any error.
  reported.catch(() => {});
  return {
    /** Reports in the background; fulfilled when the previous report has arrived. */
    async report(processed: number): Promise<void> {
      await reported;
      if (context.signal.aborted) throw new HandedOver();
      reported = tellProgress(context, batch, Math.min(processed, lessonCount));
      // The next await gets any error.
      reported.catch(() => {});
    },
    /** Fulfilled when all reports have arrived. Only then may the import's transaction change the batch. */
    async settled(): Promise<void> {
      await reported;
    },
  };
}

export type ImportProgress = ReturnType<typeof openProgress>;
