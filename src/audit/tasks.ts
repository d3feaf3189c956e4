import { hour } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import { forgetOldActs } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'forget old acts',
    every: hour,
    isAlone: true,
    run: ({ work, config, signal }) => forgetOldActs(work, config.Limits.AuditDays, signal),
  },
];
