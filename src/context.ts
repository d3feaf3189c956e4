import type { Config } from './config.ts';
import { type Database, openDatabase } from './db/database.ts';
import { type Notifications, openNotifications } from './db/notifications.ts';
import { minute, openRates, type Rates } from './db/rates.ts';
import type { Log } from './log.ts';

/** What a paired door sign may do. */
export type DisplayGrant = {
  displayId: number;
  /** Whether it also books, checks in, extends and ends early. */
  mayBook: boolean;
  /** What it shows of bookings: all; their organizers only; or only that there are some. */
  privacy: 'Title' | 'Organizer' | 'BusyOnly';
  /** The rooms that it shows. */
  resourceIds: readonly number[];
};

/** Who is calling: set once at the door, passed to every service. */
export type Viewer = {
  mandatorId: number;
  mandator: string;
  personId: number;
  displayName: string;
  email: string;
  /** IANA zone of the person. */
  timeZone: string;
  role: 'Admin' | 'User' | 'Display';
  /** The PIN behind the credential; null with an outside identity provider. */
  pinId: number | null;
  /** Of a paired door sign, whose role then is Display; null for everybody else. */
  display: DisplayGrant | null;
  /** Names the credential without giving it away: what limits per token are counted by. */
  credential: string;
  /** When the credential ends by itself; streams end then. */
  expiresAt: Date;
};

/** Who changes something, in which request. */
export type Act = { viewer: Viewer; requestId: string };

/** The versions that a change is meant for; undefined for whichever there is. */
export type Versions = readonly number[] | undefined;

/** Somebody who waits for an answer, and may have lost its rights by the time at which there is one. */
export type Waiter = {
  viewer: Viewer;
  /** Who it is by now. @throws NotAuthenticated when its credential counts no longer */
  viewerNow(): Promise<Viewer>;
  /** Ends when it has gone. */
  signal(): AbortSignal;
};

/** What a caller shows of itself, as it came: of a header that was sent twice a list. */
export type Credentials = {
  authorization?: string | readonly string[] | undefined;
  apiKey?: string | readonly string[] | undefined;
  /** IP address, by which wrong PINs are counted. */
  address: string;
};

/** What every service may need; made once per process by `main`. */
export type Context = {
  config: Config;
  log: Log;
  db: Database;
  /** A few connections of their own for storing large request bodies. */
  uploads: Database;
  /** The connections over which the notifications of mail servers are recorded, which their senders wait for. */
  inbox: Database;
  notifications: Notifications;
  /** What the limits per minute count. */
  rates: Rates;
  /** The state of a room in this process: what `open` returns, which the first caller opens. */
  once<State>(open: (context: Context) => State): State;
};

/** @param rateWindow milliseconds over which limits per minute are counted */
export async function openContext(
  config: Config,
  log: Log,
  rateWindow = minute,
): Promise<Context & { close(): Promise<void> }> {
  const db = openDatabase(config.DatabaseUrl, { max: 10, log, statementTimeout: 15_000 });
  const uploads = openDatabase(config.DatabaseUrl, { max: 8, log, statementTimeout: 60_000 });
  const inbox = openDatabase(config.DatabaseUrl, { max: 3, log, statementTimeout: 2_500 });
  const notifications = openNotifications(config.DatabaseUrl, log);
  const rates = openRates(db, log, rateWindow);
  const states = new Map<unknown, unknown>();
  function once<State>(open: (context: Context) => State): State {
    if (!states.has(open)) states.set(open, open(context));
    return states.get(open) as State;
  }
  const context: Context = { config, log, db, uploads, inbox, notifications, rates, once };
  return {
    ...context,
    async close() {
      await Promise.all([notifications.close(), rates.close()]);
      await Promise.all([db.destroy(), uploads.destroy(), inbox.destroy()]);
    },
  };
}
