import { z } from 'zod';
import { defineTask, type Sweep } from '../worker/task.ts';
import { batchFigures } from './batch.ts';
import { forgetOldBatches, recoverBatches, runNextBatch } from './runs.ts';
import { batchTask } from './service.ts';

export const tasks = [
  defineTask({
    name: batchTask,
    payload: z.object({ mandatorId: z.int().positive() }),
    run: (context, { mandatorId }) => runNextBatch(context, mandatorId),
    figures: batchFigures,
  }),
];

export const sweeps: readonly Sweep[] = [
  { name: 'recover batches', run: ({ work }) => recoverBatches(work) },
  { name: 'forget old batches', run: forgetOldBatches },
];
