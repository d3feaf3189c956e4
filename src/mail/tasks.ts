import { z } from 'zod';
import { defineTask, type Sweep, type Task } from '../worker/task.ts';
import { alignCalendars, calendarSettings } from './calendars.ts';
import { bookConflicts } from './conflicts.ts';
import { mailFigures } from './figures.ts';
import { manageSubscriptions, manageTask, sweepSubscriptions } from './management.ts';
import { pollCalendars } from './polling.ts';
import { provisionSubscription, provisionTask } from './provisioning.ts';
import { forgetOldNotifications, forgetRefusedNotifications } from './retention.ts';
import { forgetOldSubscriptions } from './subscriptions.ts';
import { synchroniseCalendar } from './sync.ts';

export const tasks: readonly Task[] = [
  defineTask({
    name: 'SynchroniseMailCalendar',
    lane: 'outside',
    payload: z.object({ mandatorId: z.int().positive(), calendarId: z.int().positive() }),
    run: synchroniseCalendar,
  }),
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

/** Of what nobody waits for. */
const every = 60_000;

export const sweeps: readonly Sweep[] = [
  {
    name: 'mail calendars follow the settings',
    follows: calendarSettings,
    run: ({ work, config, log }) => alignCalendars(work, config, log),
    figures: mailFigures,
  },
  { name: 'mail calendars that are due', run: ({ work, config }) => pollCalendars(work, config) },
  {
    name: 'book mail items whose room is free',
    async run({ work, log }) {
      const booked = await bookConflicts(work);
      if (booked > 0) log.info({ booked }, 'mail items booked that had found their room occupied');
    },
  },
  {
    name: 'mail subscriptions follow the settings and the time',
    follows: calendarSettings,
    run: sweepSubscriptions,
  },
  { name: 'forget old mail subscriptions', every, run: ({ work }) => forgetOldSubscriptions(work) },
  { name: 'forget old mail notifications', every, run: ({ work }) => forgetOldNotifications(work) },
  { name: 'forget refused mail notifications', every, run: ({ work }) => forgetRefusedNotifications(work) },
];
