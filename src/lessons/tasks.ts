import { z } from 'zod';
import { defineTask, type Sweep } from '../worker/task.ts';
import { batchFigures, batchTasks, forgetOldBatches, hasOpen, recoverBatches, runNextBatch } from './service.ts';

const payload = z.object({ mandatorId: z.int().positive() });

export const tasks = (['short', 'long'] as const).map((lane) =>
  defineTask({
    name: batchTasks[lane],
    lane,
    payload,
    run: (context, { mandatorId }) => runNextBatch(context, mandatorId, lane),
  }),
);

export const sweeps: readonly Sweep[] = [
  { name: 'recover batches', isDue: () => hasOpen, run: ({ work }) => recoverBatches(work), figures: batchFigures },
  { name: 'forget old batches', every: 60_000, run: forgetOldBatches },
];
