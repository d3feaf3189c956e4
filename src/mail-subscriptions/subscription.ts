import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { Turns } from '../flow/turns.ts';

/** What background work is given. */
export type Work = Pick<Context, 'config' | 'log'> & {
  /** Connections without a statement timeout. */
  work: Database;
  /** Aborted when the process is to stop. */
  signal: AbortSignal;
};

/** What a job is given that asks mail servers. */
export type Job = Work & {
  /** Who does it, as leases know it. */
  runner: string;
  turns: Turns;
};

/** Whose mail server it is. */
export type Tenant = { mandatorId: number; mandator: string };

/** Of a subscription; from the fifth on it never changes again, and another takes its place. */
export const subscriptionStates = [
  'Provisioning',
  'AwaitingFirstPush',
  'Active',
  'Suspect',
  'Dead',
  'Failed',
  'Replaced',
  'Disabled',
] as const;
export type SubscriptionState = (typeof subscriptionStates)[number];
