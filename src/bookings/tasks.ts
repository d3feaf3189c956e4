import type { Sweep } from '../worker/task.ts';
import { countNoShows, forgetOldUndos, releaseNoShows } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'release no-shows',
    async run({ work, log }) {
      const released = await releaseNoShows(work);
      if (released > 0) log.info({ released }, 'no-shows released');
    },
    figures: {
      roomgate_no_shows_overdue: {
        help: 'Bookings past the limit of their check-in that are not released yet',
        read: countNoShows,
      },
    },
  },
  { name: 'forget old undos', run: ({ work }) => forgetOldUndos(work) },
];
