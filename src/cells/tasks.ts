import { minute } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import { liftGuards } from './service.ts';

export const sweeps: readonly Sweep[] = [
  { name: 'forget ended freezes', every: 10 * minute, isAlone: true, run: ({ work }) => liftGuards(work) },
];
