import { z } from 'zod';
import { defineTask, type Sweep, type Task } from '../worker/task.ts';
import {
  alignCalendars,
  bookConflicts,
  followedSettings,
  hasCalendars,
  hasConflicts,
  mailFigures,
  mayDeviate,
  openFaultLog,
  pollCalendars,
  synchroniseCalendar,
} from './service.ts';

export const tasks: readonly Task[] = [
  defineTask({
    name: 'SynchroniseMailCalendar',
    lane: 'outside',
    payload: z.object({ mandatorId: z.int().positive(), calendarId: z.int().positive() }),
    run: synchroniseCalendar,
  }),
];

export const sweeps: readonly Sweep[] = [
  {
    name: 'mail calendars follow the settings',
    follows: followedSettings,
    isDue: ({ config }) => mayDeviate(config),
    run: ({ work, config, once }) => alignCalendars(work, config, once(openFaultLog)),
    figures: mailFigures,
  },
  { name: 'mail calendars that are due', isDue: () => hasCalendars, run: pollCalendars },
  {
    name: 'book mail items whose room is free',
    isDue: () => hasConflicts,
    async run({ work, log }) {
      const booked = await bookConflicts(work);
      if (booked > 0) log.info({ booked }, 'mail items booked whose room had been occupied');
    },
  },
];
