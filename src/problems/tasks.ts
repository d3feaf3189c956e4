import type { Sweep } from '../worker/task.ts';
import { forgetProblems, problemFigures } from './service.ts';

const hour = 3_600_000;

export const sweeps: readonly Sweep[] = [
  {
    name: 'forget settled problems of rooms',
    every: hour,
    isAlone: true,
    run: ({ work, config }) => forgetProblems(work, config.Limits.ProblemDays),
    figures: problemFigures,
  },
];
