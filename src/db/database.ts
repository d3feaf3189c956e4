import { Kysely, type Transaction as KyselyTransaction, PostgresDialect } from 'kysely';
import pg from 'pg';
import { ConfigError } from '../config.ts';
import { uncontained } from '../containment.ts';
import type { Log } from '../log.ts';
import { type Backend, type Patience, watchAnswers } from './answers.ts';
import type { DB } from './tables.ts';

export type Database = Kysely<DB>;
export type Transaction = KyselyTransaction<DB>;

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    // Our bigint ids stay far below 2^53.
    if (oid === pg.types.builtins.INT8) return Number;
    // A local date has no zone and must not become an instant.
    if (oid === pg.types.builtins.DATE) return String;
    return pg.types.getTypeParser(oid, format as 'text') as (value: string) => unknown;
  },
};

export type PoolOptions = {
  max: number;
  log: Log;
  /** Milliseconds after which PostgreSQL cancels a statement; 0 = never. */
  statementTimeout: number;
  /** Session settings beside the usual ones. */
  settings?: Record<string, number>;
  /** With answers that do not come. */
  patience?: Patience;
};

/** The oldest PostgreSQL that has what the queries use. */
export const leastPostgres = 16;

/** Milliseconds after which PostgreSQL ends an idle session and frees its locks. */
const idleTimeout = 30_000;

/**
 * Makes PostgreSQL end the sessions of a process that has vanished or hangs. A session is a lease: when the database ends it,
 * its transaction is rolled back, its locks are freed, and nothing more can be written through it.
 */
const leaseSettings = {
  idle_in_transaction_session_timeout: idleTimeout,
  idle_session_timeout: idleTimeout,
  // Detects within 25 s that a host or the link to it has vanished, whichever side is to send next.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
  // Stops the statement of a process that has died.
  client_connection_check_interval: 2_000,
};

/** How to open a connection; the time-out bounds the wait on a dead network. */
export const connecting = (url: string) => ({
  connectionString: url,
  application_name: 'roomgate',
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/**
 * Sets up a new session. Not by connection parameters: PgBouncer refuses or drops them.
 * @throws ConfigError when PostgreSQL is too old
 */
export async function setUpSession(client: pg.ClientBase, settings: Record<string, number> = {}): Promise<Backend> {
  const entries = Object.entries({ ...leaseSettings, ...settings });
  const { rows } = await client.query<Backend & { version: number }>({
    text: `
      with version as (select current_setting('server_version_num')::int / 10000 as version),
        setting as (select set_config(name, value, false)
          from unnest($1::text[], $2::text[]) as setting (name, value), version where version >= $3)
      select pid, backend_start::text as started, version
      from version, pg_stat_get_activity(pg_backend_pid()), (select count(*) from setting) as done`,
    values: [entries.map(([name]) => name), entries.map(([, value]) => String(value)), leastPostgres],
    query_timeout: 5_000,
  } as pg.QueryConfig);
  const { version, ...backend } = rows[0]!;
  if (version >= leastPostgres) return backend;
  throw new ConfigError(
    `DatabaseUrl: PostgreSQL ${version} is too old; roomgate needs PostgreSQL ${leastPostgres} or newer`,
  );
}

/** The events of a pooled connection do not belong to the contained work (containment.ts) that happened to open it. */
class PooledClient extends pg.Client {
  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): unknown {
    return uncontained(() => (callback ? super.connect(callback) : super.connect()));
  }
}

/** A pool on `url`. Its errors are logged, never thrown: the query that used the connection gets its own error. */
export function openPool(url: string, { max, log, statementTimeout, settings, patience }: PoolOptions): pg.Pool {
  const onError = (error: Error) => log.warn({ err: error.message }, 'database connection lost');
  const sessionSettings = {
    statement_timeout: statementTimeout,
    // A statement that cannot get its lock fails while the client is still waiting.
    lock_timeout: Math.min(statementTimeout, 10_000),
    ...settings,
  };
  const pool = new pg.Pool({
    ...connecting(url),
    Client: PooledClient,
    max,
    types,
    async onConnect(client: pg.ClientBase) {
      const backend = await setUpSession(client, sessionSettings);
      const answerTimeout = statementTimeout + Math.min(statementTimeout / 5, 3_000);
      watchAnswers(client as pg.Client, { url, backend, answerTimeout, patience });
    },
  });
  pool.on('error', onError);
  // A connection that is lost while checked out reports on the client alone, and would end the process.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/** What we add to an open Kysely. */
type PoolAndStates = { pool: pg.Pool; states: Map<object, unknown> };

function openedOf(db: Database & Partial<PoolAndStates>): PoolAndStates {
  const { pool, states } = db;
  if (!pool || !states) throw new Error('Only a database of openDatabase has a pool; a transaction has a connection.');
  return { pool, states };
}

export const poolOf = (db: Database): pg.Pool => openedOf(db).pool;

/**
 * The state of a module for an open database, such as the requests that it gathers. The first call makes it; it goes with the
 * database.
 * @param make also the key of the state: pass the same function each time
 */
export function stateIn<State>(db: Database, make: (db: Database) => State): State {
  const { states } = openedOf(db);
  let state = states.get(make) as State | undefined;
  if (state === undefined) states.set(make, (state = make(db)));
  return state;
}

export function openDatabase(url: string, options: PoolOptions): Database {
  const pool = openPool(url, options);
  const own: PoolAndStates = { pool, states: new Map() };
  const db = Object.assign(new Kysely<DB>({ dialect: new PostgresDialect({ pool }) }), own);
  const destroy = db.destroy.bind(db);
  db.destroy = async () => {
    await destroy();
    // Kysely ends the pool only if it has used it; prepared statements use the pool directly.
    if (!pool.ending) await pool.end();
  };
  return db;
}
