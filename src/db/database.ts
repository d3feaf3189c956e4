import { Kysely, type Transaction as KyselyTransaction, PostgresDialect } from 'kysely';
import pg from 'pg';
import { ConfigError } from '../config.ts';
import { uncontained } from '../containment.ts';
import type { Log } from '../log.ts';
import { type Backend, watchAnswers } from './answers.ts';
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
  /** Settings of the sessions other than the usual ones. */
  settings?: Record<string, number>;
};

/** The oldest PostgreSQL that has what the queries use. */
export const leastPostgres = 16;

/** Milliseconds after which PostgreSQL ends a session that asks nothing, and frees what it has locked. */
const idleTimeout = 30_000;

/**
 * What PostgreSQL does about a process that has vanished or hangs. Its session is its lease: it ends by the clock of the
 * database, rolled back and with its locks, and nothing can be written through it any more.
 */
const leaseSettings = {
  idle_in_transaction_session_timeout: idleTimeout,
  idle_session_timeout: idleTimeout,
  // A host, or the link to it, that has vanished: within 25 s, whoever is to speak.
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
  // A dead process must not go on working in the database.
  client_connection_check_interval: 2_000,
};

/** How a connection of ours is opened; the time for that is all that a dead network gets. */
export const connecting = (url: string) => ({
  connectionString: url,
  application_name: 'roomgate',
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/**
 * Sets a new session up. Not by parameters of the connection: PgBouncer refuses or drops them.
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

/** What happens on a connection of a pool belongs to nobody who uses it, least of all to whoever was the first. */
class PooledClient extends pg.Client {
  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): unknown {
    return uncontained(() => (callback ? super.connect(callback) : super.connect()));
  }
}

/** A pool on `url`. Its errors are logged, never thrown: the query that used the connection gets its own error. */
export function openPool(url: string, { max, log, statementTimeout, settings }: PoolOptions): pg.Pool {
  const onError = (error: Error) => log.warn({ err: error.message }, 'database connection lost');
  const sessionSettings = {
    statement_timeout: statementTimeout,
    // Who cannot get a lock says so while the client still listens.
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
      watchAnswers(client as pg.Client, { url, backend, answerTimeout });
    },
  });
  pool.on('error', onError);
  // A connection that is lost while checked out reports on the client alone, and would end the process.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/** What Kysely has no place for. */
type PoolAndStates = { pool: pg.Pool; states: Map<object, unknown> };

function openedOf(db: Database & Partial<PoolAndStates>): PoolAndStates {
  const { pool, states } = db;
  if (!pool || !states) throw new Error('Only a database of openDatabase has a pool; a transaction has a connection.');
  return { pool, states };
}

export const poolOf = (db: Database): pg.Pool => openedOf(db).pool;

/**
 * What a module keeps for an open database, such as who waits for its connections. It is made by the first call, and goes with
 * the database.
 * @param make a function of the module: each has one state in each database
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
    // Kysely ends what it has used itself; prepared statements go to the pool past it.
    if (!pool.ending) await pool.end();
  };
  return db;
}
