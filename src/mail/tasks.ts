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
  queueWritings,
  synchroniseCalendar,
  writeCalendar,
} from './service.ts';

const calendarKey = z.object({ mandatorId: z.int().positive(), calendarId: z.int().positive() });

export const tasks: readonly Task[] = [
  defineTask({ name: 'SynchroniseMailCalendar', lane: 'outside', payload: calendarKey, run: synchroniseCalendar }),
  defineTask({ name: 'WriteMailCalendar', lane: 'outside', payload: calendarKey, run: writeCalendar }),
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
    name: 'calendars that are to be written',
    every: 30_000,
    isDue: () => hasCalendars,
    run: ({ work }) => queueWritings(work),
  },
  {
    name: 'book mail items whose room is free',
    isDue: () => hasConflicts,
    async run({ work, log }) {
      const booked = await bookConflicts(work);
      if (booked > 0) log.info({ booked }, 'mail items booked whose room had been occupied');
    },
  },
];
