import { minute } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import { forgetEndedFreezes } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'forget ended freezes',
    every: 10 * minute,
    isAlone: true,
    run: ({ work, signal }) => forgetEndedFreezes(work, signal),
  },
];
