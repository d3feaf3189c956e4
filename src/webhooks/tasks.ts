import { z } from 'zod';
import { minute } from '../time/durations.ts';
import { defineTask, type Sweep, type Task } from '../worker/task.ts';
import {
  deliverEvents,
  deliverTask,
  forgetDeliveries,
  giveTimes,
  hasDue,
  queueDue,
  webhookFigures,
} from './service.ts';

export const tasks: readonly Task[] = [
  defineTask({
    name: deliverTask,
    lane: 'events',
    payload: z.object({ mandatorId: z.int().positive(), webhookId: z.int().positive() }),
    run: deliverEvents,
  }),
];

export const sweeps: readonly Sweep[] = [
  {
    name: 'send events',
    isPrompt: true,
    isDue: ({ work }) => hasDue(work),
    run: ({ work }) => queueDue(work),
    figures: webhookFigures,
  },
  { name: 'give times to waiting events', every: 10 * minute, isAlone: true, run: ({ work }) => giveTimes(work) },
  {
    name: 'forget old deliveries of events',
    every: minute,
    isAlone: true,
    run: ({ work, signal }) => forgetDeliveries(work, signal),
  },
];
