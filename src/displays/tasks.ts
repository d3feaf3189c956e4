import { minute } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import { displayFigures, findSilent, forgetPairings, mayFindSilent } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'find silent displays',
    isDue: mayFindSilent,
    async run({ work, log }) {
      await findSilent(work, log);
    },
    figures: displayFigures,
  },
  { name: 'forget old pairings', every: minute, isAlone: true, run: ({ work }) => forgetPairings(work) },
];
