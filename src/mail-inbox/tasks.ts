import { minute } from '../time/durations.ts';
import type { Sweep } from '../worker/task.ts';
import { forgetOldNotifications, forgetRefusedNotifications } from './service.ts';

export const sweeps: readonly Sweep[] = [
  {
    name: 'forget old mail notifications',
    every: minute,
    isAlone: true,
    run: ({ work, config, signal }) => forgetOldNotifications(work, config.Limits.NotificationDays, signal),
  },
  {
    name: 'forget refused mail notifications',
    every: minute,
    isAlone: true,
    run: ({ work, signal }) => forgetRefusedNotifications(work, undefined, signal),
  },
];
