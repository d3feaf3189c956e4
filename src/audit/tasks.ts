import type { Sweep } from '../worker/task.ts';
import { forgetOldActs } from './service.ts';

const hour = 3_600_000;

export const sweeps: readonly Sweep[] = [
  {
    name: 'forget old acts',
    every: hour,
    isAlone: true,
    run: ({ work, config }) => forgetOldActs(work, config.Limits.AuditDays),
  },
];
