import type { Sweep } from '../worker/task.ts';
import { displayFigures, findSilent, forgetPairings } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'find silent displays',
    async run({ work, log }) {
      await findSilent(work, log);
    },
    figures: displayFigures,
  },
  { name: 'forget old pairings', every: 10_000, run: ({ work }) => forgetPairings(work) },
];
