/** What the background work of calendars gets. */
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { Turns } from '../flow/turns.ts';

/** The context of background work. */
export type MailWork = Pick<Context, 'config' | 'log' | 'once'> & {
  /** Connections without a statement timeout. */
  work: Database;
  /** Aborted when the process stops. */
  signal: AbortSignal;
};

/** The context of a job that asks mail servers. */
export type MailJob = MailWork & {
  /** The name of this worker's lease. */
  runner: string;
  turns: Turns;
};

/** The tenant of a mail server. */
export type MailTenant = { mandatorId: number; mandator: string };
