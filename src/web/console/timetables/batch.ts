/** What people see of a batch. */
import type { BatchErrorsQuery, BatchStoryFragment, ImportStatus } from '../generated/graphql.ts';
import { type Component, html } from '../parts/html.ts';
import { t } from '../texts/timetables.ts';

export type Batch = BatchStoryFragment;
export type BatchError = NonNullable<BatchErrorsQuery['batch']>['errors']['nodes'][number];

export const states: readonly ImportStatus[] = [
  'AwaitingLessonCreation',
  'AwaitingLessonProcessing',
  'LessonsCreated',
  'LessonsImportFailed',
];

export const hasEnded = ({ importStatus }: Pick<Batch, 'importStatus'>): boolean =>
  importStatus === 'LessonsCreated' || importStatus === 'LessonsImportFailed';

/** The operation of a batch; a dry run is called a check. */
export const kindText = ({ operation, validateOnly }: Batch): string =>
  validateOnly ? t().checkOf(t().operations[operation]) : t().operations[operation];

export function stateText(batch: Batch): string {
  const { importStatus, queuePosition, failureKind, validateOnly } = batch;
  if (importStatus === 'LessonsCreated') return validateOnly ? t().isRight : t().isDone;
  if (importStatus === 'LessonsImportFailed') return t().failures[failureKind ?? 'Technical'];
  if (queuePosition !== null && queuePosition > 1) return t().waits(queuePosition);
  return batch.startedAt ? t().runs : t().waits(1);
}

/** The progress of a batch, drawn and in words. */
export const Progress: Component<{ batch: Batch }> = ({ batch }) => {
  const { lessonCount, processedCount } = batch;
  const text =
    lessonCount === null ? stateText(batch) : `${stateText(batch)}: ${t().progress(processedCount, lessonCount)}`;
  return html`
    <div class="progress">
      <progress aria-label=${t().progressOf} max=${lessonCount ?? undefined} value=${lessonCount === null ? undefined : processedCount}></progress>
      <span>${text}</span>
    </div>
  `;
};
