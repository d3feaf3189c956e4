import { z } from 'zod';
import { defineTask, type Sweep } from '../worker/task.ts';
import { batchFigures } from './batch.ts';
import { forgetOldBatches, recoverBatches, runNextBatch } from './runs.ts';
import { batchTask, longBatchTask } from './service.ts';

const payload = z.object({ mandatorId: z.int().positive() });

export const tasks = [
  defineTask({
    name: batchTask,
    lane: 'short',
    payload,
    run: (context, { mandatorId }) => runNextBatch(context, mandatorId, 'short'),
    figures: batchFigures,
  }),
  defineTask({
    name: longBatchTask,
    lane: 'long',
    payload,
    run: (context, { mandatorId }) => runNextBatch(context, mandatorId, 'long'),
  }),
];

export const sweeps: readonly Sweep[] = [
  { name: 'recover batches', run: ({ work }) => recoverBatches(work) },
  { name: 'forget old batches', run: forgetOldBatches },
];
