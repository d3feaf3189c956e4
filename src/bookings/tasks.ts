import { hour, minute } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import {
  countNoShows,
  declineOverdue,
  forgetOldBookings,
  forgetOldUndos,
  hasNoShows,
  hasOverdue,
  releaseNoShows,
} from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'release no-shows',
    isDue: () => hasNoShows,
    async run({ work, log }) {
      const released = await releaseNoShows(work);
      if (released > 0) log.info({ released }, 'no-shows released');
    },
    figures: {
      roomgate_no_shows_overdue: {
        help: 'Bookings past their check-in limit that are not released yet',
        read: countNoShows,
      },
    },
  },
  {
    name: 'decline overdue requests',
    isDue: () => hasOverdue,
    async run({ work, log }) {
      const declined = await declineOverdue(work);
      if (declined > 0) log.info({ declined }, 'overdue requests declined');
    },
  },
  { name: 'forget old undos', every: 10 * minute, isAlone: true, run: ({ work }) => forgetOldUndos(work) },
  {
    name: 'forget old bookings',
    every: hour,
    isAlone: true,
    async run(context) {
      const forgotten = await forgetOldBookings(context);
      if (forgotten > 0) context.log.info({ forgotten }, 'old bookings forgotten');
    },
  },
];
