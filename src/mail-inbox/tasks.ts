import type { Sweep } from '../worker/task.ts';
import { forgetOldNotifications, forgetRefusedNotifications } from './service.ts';

const every = 60_000;

export const sweeps: readonly Sweep[] = [
  {
    name: 'forget old mail notifications',
    every,
    isAlone: true,
    run: ({ work, config }) => forgetOldNotifications(work, config.Limits.NotificationDays),
  },
  {
    name: 'forget refused mail notifications',
    every,
    isAlone: true,
    run: ({ work }) => forgetRefusedNotifications(work),
  },
];
