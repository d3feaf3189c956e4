/**
 * The words of this room. A **calendar** is a room's folder on the mail server; a **subscription** is the mail server's
 * promise to notify us of it; a **notification** is one such message: it marks the calendar dirty and is believed in nothing
 * else; a **reading** asks the mail server with our own credentials what is there, and a **mail item** is what was found.
 */
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

export const serverKinds = ['Ews', 'Graph', 'CalDav'] as const;
export type ServerKind = (typeof serverKinds)[number];

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

/** How a sender speaks. */
export type Dialect = 'Ews' | 'Graph' | 'Jmap';

export type NotificationKind = 'Change' | 'Status' | 'Lifecycle' | 'Fault' | 'Handshake' | 'Unknown';
export type Verdict = 'Accepted' | 'Duplicate' | 'Rejected' | 'Unrecognised' | 'Handshake';

/** Who said that a calendar may have changed. */
export type DirtyBy = 'Push' | 'Poll' | 'Request';

/** Why a reading has failed. */
export const faults = ['Unreachable', 'AccessLost', 'Throttled', 'StateLost', 'Unreadable', 'TooLarge'] as const;
export type Fault = (typeof faults)[number];

/** Workers that die in a row while they read a calendar; after that it rests. */
export const mostDeaths = 3;
