import type { Sweep } from '../worker/task.ts';
import { hasDueCalendars, readDueCalendars } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'read holiday calendars',
    every: 10_000,
    isDue: () => hasDueCalendars,
    run: ({ work, config, signal }) => readDueCalendars(work, config.Holidays, signal),
  },
];
