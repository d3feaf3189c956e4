import { minute } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import { sweepSessions } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'forget ended sessions',
    every: 10 * minute,
    isAlone: true,
    run: ({ work, config }) => sweepSessions(work, config),
  },
];
