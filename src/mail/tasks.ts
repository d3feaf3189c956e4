import type { Sweep, Task } from '../worker/task.ts';
import { alignCalendars } from './calendars.ts';

export const tasks: readonly Task[] = [];

export const sweeps: readonly Sweep[] = [
  {
    name: 'mail calendars follow the settings',
    async run({ work, config }) {
      await alignCalendars(work, config);
    },
  },
];
