/** Findings about a batch as a whole: the limits that it exceeds. */
import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { Running } from './batch.ts';

type BatchLimits = Context['config']['Limits'];

export function exceededLimits(
  { JobsPerBatch, LessonsPerBatch }: BatchLimits,
  jobs: number,
  lessons: number,
): string[] {
  return [
    ...(jobs > JobsPerBatch ? [`The batch has ${jobs} jobs, at most ${JobsPerBatch} per batch; split it.`] : []),
    ...(lessons > LessonsPerBatch
      ? [`The batch has ${lessons} lessons, at most ${LessonsPerBatch} per batch; split it.`]
      : []),
  ];
}

/** @param first the number of the first finding */
export async function recordLimits(
  trx: Transaction,
  { mandatorId, id }: Running,
  severity: 'Error' | 'Warning',
  messages: string[],
  first: number,
): Promise<void> {
  const finding = { mandator_id: mandatorId, batch_id: id, severity, code: 'LimitExceeded' };
  const findings = messages.map((message, at) => ({ ...finding, number: first + at, message }));
  await trx.insertInto('batch_error').values(findings).execute();
}

/** Stores the warnings about the batch as a whole as one, which comes before those about lessons. @returns 1, or 0 if there are none */
export async function recordBatchWarnings(
  trx: Transaction,
  batch: Running,
  warnings: ReadonlySet<string>,
): Promise<number> {
  if (warnings.size === 0) return 0;
  await recordLimits(trx, batch, 'Warning', [[...warnings].join('\n')], 0);
  return 1;
}
