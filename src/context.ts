import { createRequire } from 'node:module';
import type { Config } from './config.ts';
import { connections } from './db/connections.ts';
import { type Database, openDatabase } from './db/database.ts';
import { type Notifications, openNotifications } from './db/notifications.ts';
import { openRates, type Rates } from './db/rates.ts';
import { openRefusals, type Refusals } from './db/refusals.ts';
import { openStandbys, type Standbys } from './db/standbys.ts';
import type { Log } from './log.ts';
import type { Traces } from './tracing.ts';

/** The release. */
export const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** What a paired door sign may do. */
export type DisplayGrant = {
  displayId: number;
  /** Whether it also books, checks in, extends bookings and ends them early. */
  mayBook: boolean;
  /** What it shows of a booking: its title, its organizer only, or only that the room is taken. */
  privacy: 'Title' | 'Organizer' | 'BusyOnly';
  /** The rooms that it shows. */
  resourceIds: readonly number[];
};

/** The caller: identified once where the call comes in, then passed to every service. */
export type Viewer = {
  mandatorId: number;
  mandator: string;
  personId: number;
  displayName: string;
  email: string;
  /** IANA zone of the person. */
  timeZone: string;
  role: 'Admin' | 'Importer' | 'User' | 'Display';
  /** Whether the tenant lets Users send lessons (parameter UsersMayImport); absent: it does not. */
  usersMayImport?: boolean;
  /** The groups of the person. */
  groupIds: readonly number[];
  /** The rooms that policies hide from the person; none for a display, whose rooms an Admin has chosen. */
  hiddenRooms: readonly number[];
  /** The PIN behind the credential; null with an outside identity provider. */
  pinId: number | null;
  /** The grant of a paired door sign, whose role is Display; null for every other caller. */
  display: DisplayGrant | null;
  /** Identifies the credential without revealing it. */
  credential: string;
  /** The session of a browser; absent for every other credential. */
  sessionId?: number;
  /** The token of a calendar address, which calendar programs fetch for others; absent for every other credential. */
  calendarTokenId?: number;
  /** When the credential expires; its streams end then. */
  expiresAt: Date;
};

/** The caller and the request of a change. */
export type Act = {
  viewer: Viewer;
  requestId: string;
  /** The operator at the command line acts with the rights of the viewer, whom the audit does not name then. */
  isOfOperator?: true;
};

/** The versions that a change applies to; undefined for any. */
export type Versions = readonly number[] | undefined;

/** A caller that waits for an answer, and may lose its rights meanwhile. */
export type Waiter = {
  viewer: Viewer;
  /** The caller as it is now. @throws NotAuthenticated when its credential is no longer valid */
  viewerNow(): Promise<Viewer>;
  /** Aborts when the caller has disconnected. */
  signal(): AbortSignal;
};

/** The session that a cookie names; `fault`: why it is not accepted in this call. */
export type SessionCredential = { id: string } | { fault: string };

/** The credentials of a request as sent; a header that was sent twice is a list. */
export type Credentials = {
  authorization?: string | readonly string[] | undefined;
  apiKey?: string | readonly string[] | undefined;
  session?: SessionCredential | undefined;
  /** The caller's IP address, by which wrong PINs are counted. */
  address: string;
};

/** What a process has opened for its services; made once per process. */
export type Context = {
  config: Config;
  log: Log;
  db: Database;
  /** A pool of its own, whose statements may take a minute, for storing large request bodies and for erasing persons. */
  uploads: Database;
  /** A pool of its own for recording notifications, for which mail servers wait. */
  inbox: Database;
  notifications: Notifications;
  /** The counts behind the limits per minute. */
  rates: Rates;
  /** What PostgreSQL has refused to write. */
  refusals: Refusals;
  /** Hot standbys for reads; absent if there are none. */
  standbys?: Standbys | undefined;
  /** Absent if no traces are recorded. */
  traces?: Traces | undefined;
  /** The state of a room in this process: what `open` returned at the first call with it. */
  once<State>(open: (context: Context) => State): State;
};

/**
 * Runs a read, if possible at a standby; it may be run twice.
 * @param work must not wait for changes, or keep what it reads for others
 */
export const reading = <T>(context: Context, work: (context: Context) => Promise<T>): Promise<T> =>
  context.standbys ? context.standbys.read((db) => work(db ? { ...context, db } : context)) : work(context);

/** @param rateWindow milliseconds of the window in which limits per minute are counted; one minute by default */
export async function openContext(
  config: Config,
  log: Log,
  rateWindow?: number,
): Promise<Context & { close(): Promise<void> }> {
  const url = config.PooledDatabaseUrl ?? config.DatabaseUrl;
  const refusals = openRefusals(log);
  const common = { log, refusals, pooled: config.PooledDatabaseUrl !== undefined };
  const db = openDatabase(url, { ...common, max: connections.requests, statementTimeout: 15_000 });
  const uploads = openDatabase(url, { ...common, max: connections.uploads, statementTimeout: 60_000 });
  const inbox = openDatabase(url, { ...common, max: connections.inbox, statementTimeout: 2_500 });
  const notifications = openNotifications(config.DatabaseUrl, log);
  const rates = openRates(db, log, rateWindow);
  const standbys = config.Role === 'Worker' ? undefined : openStandbys(config, db, log);
  const states = new Map<unknown, unknown>();
  function once<State>(open: (context: Context) => State): State {
    if (!states.has(open)) states.set(open, open(context));
    return states.get(open) as State;
  }
  const context: Context = { config, log, db, uploads, inbox, notifications, rates, refusals, standbys, once };
  return {
    ...context,
    async close() {
      await Promise.all([notifications.close(), rates.close(), standbys?.close()]);
      await Promise.all([db.destroy(), uploads.destroy(), inbox.destroy()]);
    },
  };
}
