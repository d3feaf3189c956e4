import { z } from 'zod';
import { hour, minute } from '../time/durations.ts';
import { defineTask, type Sweep } from '../worker/task.ts';
import {
  batchFigures,
  batchTasks,
  forgetOldBatches,
  forgetOldLessons,
  hasOpen,
  recoverBatches,
  runNextBatch,
} from './service.ts';

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
  { name: 'forget old batches', every: minute, isAlone: true, run: forgetOldBatches },
  { name: 'forget old lessons', every: hour, isAlone: true, run: forgetOldLessons },
];
