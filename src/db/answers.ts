/**
 * Destroys connections that no longer answer. A network link can be cut without either side noticing: the statement
 * would wait for ever, and so would the next one on that connection.
 */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PrimaryClient } from './hosts.ts';

/** A session of PostgreSQL. The start time is needed because process ids are reused. */
export type Backend = { pid: number; started: string };

type Watched = {
  url: string;
  /** Undefined behind a pooler, which gives each transaction to another session. */
  backend: Backend | undefined;
  /** Milliseconds after which an answer is too late, as PostgreSQL has cancelled the statement by then; 0 = never. */
  answerTimeout: number;
  patience?: Patience | undefined;
};

/** Milliseconds; members that are left out have defaults. */
export type Patience = Partial<typeof usual>;

const usual = {
  /** How long a statement is silent before its backend is first checked. */
  lookAfter: 5_000,
  /** The pause between two checks. */
  lookAgain: 2_000,
  lookAtWorkAgain: 10_000,
  /** The time-out of a check itself. */
  lookTimeout: 5_000,
  /** Time after which a statement is given up while PostgreSQL cannot be asked about it. */
  mostUnknown: 60_000,
  /** How long after the last look the looking connection is kept: longer than any pause between two looks. */
  lookerKept: 15_000,
};
/** Looks in a row that must find the backend idle: after a single one the answer may still be on its way. */
const mostMisses = 2;
/** Milliseconds in which this process reads data that has already arrived: it may have been suspended itself. */
const readTime = 250;

/** By URL, the time of the last data on any watched connection. */
const heardAt = new Map<string, number>();

type LookTimes = Pick<typeof usual, 'lookTimeout' | 'lookerKept'>;

type Looker = { pool: pg.Pool; hasReached: boolean };

/** By URL, the one connection over which this process looks, for all silent statements. */
const lookers = new Map<string, Looker>();

/** By URL, how many connections are watched. The looking one ends with the last of them: it would keep the database in use. */
const watched = new Map<string, number>();

function watch(url: string, socket: Socket): void {
  watched.set(url, (watched.get(url) ?? 0) + 1);
  socket.once('close', () => {
    const left = watched.get(url)! - 1;
    watched.set(url, left);
    if (left > 0) return;
    watched.delete(url);
    heardAt.delete(url);
    void lookers.get(url)?.pool.end();
    lookers.delete(url);
  });
}

function openLooker(url: string, { lookTimeout, lookerKept }: LookTimes): Looker {
  /** Notes whether the host accepts connections: PostgreSQL or a pooler may accept one and then not answer. */
  class LookingClient extends PrimaryClient {
    constructor(config?: pg.ClientConfig) {
      super(config);
      looker.hasReached = false;
      this.connection.once('connect', () => {
        looker.hasReached = true;
      });
    }
  }
  const pool = new pg.Pool({
    connectionString: url,
    Client: LookingClient,
    application_name: 'roomgate look',
    max: 1,
    connectionTimeoutMillis: lookTimeout,
    query_timeout: lookTimeout,
    idleTimeoutMillis: lookerKept,
    allowExitOnIdle: true,
    async onConnect(client: pg.ClientBase) {
      // Ends the session if this process vanishes. Not by a connection parameter: PgBouncer refuses or drops it.
      await client.query(`set idle_session_timeout = ${2 * lookerKept}`);
    },
  });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const looker: Looker = { pool, hasReached: false };
  return looker;
}

/** Asks over another connection whether the backend is running a statement. The pool replaces a connection that fails. */
async function look(
  url: string,
  { pid, started }: Backend,
  times: LookTimes,
): Promise<'AtWork' | 'Idle' | 'Refused' | 'NoAnswer' | 'Unreachable'> {
  let looker = lookers.get(url);
  if (!looker) lookers.set(url, (looker = openLooker(url, times)));
  try {
    const { rows } = await looker.pool.query(
      `select from pg_stat_activity where pid = $1 and backend_start = $2::timestamptz
         and state in ('active', 'disabled') and wait_event_type is distinct from 'Client'`,
      [pid, started],
    );
    return rows.length > 0 ? 'AtWork' : 'Idle';
  } catch (error) {
    if (error instanceof pg.DatabaseError) return 'Refused';
    // An error with a code comes from the operating system. A pooler that is full accepts a connection and lets it wait.
    return (error as NodeJS.ErrnoException).code || !looker.hasReached ? 'Unreachable' : 'NoAnswer';
  }
}

/** Watches a connection until it ends. A statement may take as long as its backend is seen to work on it. */
export function watchAnswers(client: pg.Client, { url, backend, answerTimeout, patience }: Watched): void {
  const times = { ...usual, ...patience };
  const { lookAfter, lookAgain, lookAtWorkAgain, mostUnknown } = times;
  const socket = client.connection.stream as Socket;
  // The library does not declare it; it is false from the start of a statement to its end.
  const isOwed = () => !(client as unknown as { readyForQuery: boolean }).readyForQuery && !socket.destroyed;
  const limit = answerTimeout || Number.POSITIVE_INFINITY;
  watch(url, socket);
  socket.on('data', () => heardAt.set(url, performance.now()));
  const quiet = Math.min(lookAfter, limit);
  const pause = (ms: number) => sleep(ms, undefined, { ref: false });

  /** While other connections receive data, the database is up, and may be working on this statement. */
  const isLost = (seen: string) =>
    seen === 'Unreachable' || (seen === 'NoAnswer' && performance.now() - (heardAt.get(url) ?? 0) >= mostUnknown);

  async function wait(): Promise<void> {
    const since = performance.now() - quiet;
    const heard = socket.bytesRead;
    const isSilent = () => isOwed() && socket.bytesRead === heard;
    for (let misses = 0; isSilent(); ) {
      const waited = performance.now() - since;
      const seen = waited >= limit ? 'TooLate' : backend ? await look(url, backend, times) : 'AtWork';
      if (seen === 'AtWork') misses = 0;
      if (seen === 'Idle') misses += 1;
      if (seen === 'TooLate' || misses >= mostMisses || (waited >= mostUnknown && isLost(seen))) {
        await pause(readTime);
        const text = `Connection terminated: the database has not answered for ${Math.round(waited / 1_000)} s`;
        if (isSilent()) socket.destroy(new Error(text));
        return;
      }
      await pause(Math.min(seen === 'AtWork' ? lookAtWorkAgain : lookAgain, limit - waited));
    }
  }

  let isWaiting = false;
  // This fires repeatedly, also while no statement runs; the traffic of a statement restarts the time.
  socket.setTimeout(quiet).on('timeout', () => {
    if (isWaiting || !isOwed()) return;
    isWaiting = true;
    void wait().finally(() => {
      isWaiting = false;
      if (!socket.destroyed) socket.setTimeout(quiet);
    });
  });
}
