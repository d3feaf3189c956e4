import { minute } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import { changeFigures, forgetOldChanges, mayHaveUnplaced, placeChanges } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'place changes',
    isDue: ({ work }) => mayHaveUnplaced(work),
    run: ({ work, signal }) => placeChanges(work, signal),
    figures: changeFigures,
  },
  {
    name: 'forget old changes',
    every: 5 * minute,
    isAlone: true,
    run: ({ work, config, signal }) => forgetOldChanges(work, config.Limits.ChangeDays, signal),
  },
];
