import { hour } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import { forgetProblems, problemFigures } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'forget settled problems of rooms',
    every: hour,
    isAlone: true,
    run: ({ work, config, signal }) => forgetProblems(work, config.Limits.ProblemDays, signal),
    figures: problemFigures,
  },
];
