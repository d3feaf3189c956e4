import { z } from 'zod';
import { minute } from '../time/durations.ts';
import { defineTask, type Sweep, type Task } from '../worker/task.ts';
import {
  followedSettings,
  forgetOldSubscriptions,
  manageSubscriptions,
  manageTask,
  mayDeviate,
  provisionSubscription,
  provisionTask,
  sweepSubscriptions,
} from './service.ts';

export const tasks: readonly Task[] = [
  defineTask({
    name: provisionTask,
    lane: 'outside',
    payload: z.object({ mandatorId: z.int().positive(), calendarId: z.int().positive() }),
    run: provisionSubscription,
  }),
  defineTask({
    name: manageTask,
    lane: 'outside',
    payload: z.object({ mandatorId: z.int().positive() }),
    run: (context, { mandatorId }) => manageSubscriptions(context, mandatorId),
  }),
];

export const sweeps: readonly Sweep[] = [
  {
    name: 'mail subscriptions follow the settings and the time',
    follows: followedSettings,
    isDue: ({ config }) => mayDeviate(config),
    run: sweepSubscriptions,
  },
  {
    name: 'forget old mail subscriptions',
    every: minute,
    isAlone: true,
    run: ({ work }) => forgetOldSubscriptions(work),
  },
];
