import { z } from 'zod';
import { defineTask } from '../worker/task.ts';
import { batchFigures } from './batch.ts';
import { forgetOldBatches, recoverBatches, runNextBatch } from './runs.ts';
import { batchTask } from './service.ts';

export const tasks = [
  defineTask({
    name: batchTask,
    payload: z.object({ mandatorId: z.int().positive() }),
    run: (context, { mandatorId }) => runNextBatch(context, mandatorId),
    figures: batchFigures,
    async recover(context) {
      await recoverBatches(context.work);
      await forgetOldBatches(context);
    },
  }),
];
