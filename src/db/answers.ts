/**
 * Throws connections away whose answers do not come. A link can be cut without either side being told: who waits on it
 * would wait for ever, and so would whoever gets the connection next.
 */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** A session of PostgreSQL; the id of a process alone is given again. */
export type Backend = { pid: number; started: string };

type Watched = {
  url: string;
  backend: Backend;
  /** Milliseconds after which no answer comes any more, since PostgreSQL has cancelled the statement; 0 = never. */
  answerTimeout: number;
  /** Milliseconds after which a statement is given up of which nothing can be found out. */
  mostUnknown?: number;
};

/** Milliseconds of silence before anybody looks, and between two looks. */
const lookAfter = 5_000;
const lookAgain = 2_000;
const lookAtWorkAgain = 10_000;
const lookTimeout = 5_000;
/** Milliseconds after the last look at which its connection is closed: longer than any pause between two. */
const lookerKept = 15_000;
/** Looks in a row that must agree: at one of them the answer may be on its way. */
const mostMisses = 2;
/** Milliseconds for a process that was stopped itself to read what has come meanwhile. */
const readTime = 250;

/** By URL, when anything last came over a watched connection. */
const heardAt = new Map<string, number>();

type Looker = { pool: pg.Pool; hasReached: boolean };

/** By URL, the one connection over which this process looks, however many statements are silent. */
const lookers = new Map<string, Looker>();

function openLooker(url: string): Looker {
  /** Tells a host that takes no connection from a PostgreSQL, or a pooler before it, that takes one and says nothing. */
  class LookingClient extends pg.Client {
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
    // It keeps no process alive.
    allowExitOnIdle: true,
    async onConnect(client: pg.ClientBase) {
      // Should this process vanish. Not by a parameter of the connection: PgBouncer refuses or drops it.
      await client.query(`set idle_session_timeout = ${2 * lookerKept}`);
    },
  });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const looker: Looker = { pool, hasReached: false };
  return looker;
}

/** Looks over a connection beside the watched one whether a statement of the backend runs; one that fails is replaced. */
async function look(
  url: string,
  { pid, started }: Backend,
): Promise<'AtWork' | 'Idle' | 'Refused' | 'NoAnswer' | 'Unreachable'> {
  let looker = lookers.get(url);
  if (!looker) lookers.set(url, (looker = openLooker(url)));
  try {
    const { rows } = await looker.pool.query(
      `select from pg_stat_activity where pid = $1 and backend_start = $2::timestamptz
         and state in ('active', 'disabled') and wait_event_type is distinct from 'Client'`,
      [pid, started],
    );
    return rows.length > 0 ? 'AtWork' : 'Idle';
  } catch (error) {
    if (error instanceof pg.DatabaseError) return 'Refused';
    // A code is what the operating system says. A pooler whose places are all taken has a connection wait.
    return (error as NodeJS.ErrnoException).code || !looker.hasReached ? 'Unreachable' : 'NoAnswer';
  }
}

/** Watches a connection to its end. A statement may take its time for as long as its backend is seen to work on it. */
export function watchAnswers(client: pg.Client, { url, backend, answerTimeout, mostUnknown = 60_000 }: Watched): void {
  const socket = client.connection.stream as Socket;
  // The library does not declare it; it is false from the start of a statement to its end.
  const isOwed = () => !(client as unknown as { readyForQuery: boolean }).readyForQuery && !socket.destroyed;
  const limit = answerTimeout || Number.POSITIVE_INFINITY;
  socket.on('data', () => heardAt.set(url, performance.now()));
  const quiet = Math.min(lookAfter, limit);
  const pause = (ms: number) => sleep(ms, undefined, { ref: false });

  /** As long as others hear, the database is there, and at work for all that anybody knows. */
  const isLost = (seen: string) =>
    seen === 'Unreachable' || (seen === 'NoAnswer' && performance.now() - (heardAt.get(url) ?? 0) >= mostUnknown);

  async function wait(): Promise<void> {
    const since = performance.now() - quiet;
    const heard = socket.bytesRead;
    const isSilent = () => isOwed() && socket.bytesRead === heard;
    for (let misses = 0; isSilent(); ) {
      const waited = performance.now() - since;
      const seen = waited < limit ? await look(url, backend) : 'TooLate';
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
  // Again and again, also while nothing is owed: each statement starts the time anew.
  socket.setTimeout(quiet).on('timeout', () => {
    if (isWaiting || !isOwed()) return;
    isWaiting = true;
    void wait().finally(() => {
      isWaiting = false;
      if (!socket.destroyed) socket.setTimeout(quiet);
    });
  });
}
