import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type Transaction as KyselyTransaction,
  PostgresDialect,
  PostgresDriver,
  type TransactionSettings,
} from 'kysely';
import pg from 'pg';
import { ConfigError } from '../config.ts';
import { uncontained } from '../containment.ts';
import type { Log } from '../log.ts';
import { untraced } from '../tracing.ts';
import { type Backend, type Patience, watchAnswers } from './answers.ts';
import { PrimaryClient } from './hosts.ts';
import type { Refusals } from './refusals.ts';
import { SharedPool } from './shared-pool.ts';
import { runSpanned } from './statement-spans.ts';
import type { DB } from './tables.ts';

export type Database = Kysely<DB>;
export type Transaction = KyselyTransaction<DB>;

const readTimestamp = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ) as (text: string) => Date;

/** Timestamps of the years 1000 to 9999 in a UTC session, parsed five times as fast as by the library. */
function readInstant(text: string): Date {
  const digits = (from: number, to: number) => {
    let value = 0;
    for (let at = from; at < to; at++) value = value * 10 + text.charCodeAt(at) - 48;
    return value;
  };
  const isUsual = text.length >= 22 && text.charCodeAt(0) > 48 && text.charCodeAt(4) === 45 && text.endsWith('+00');
  if (!isUsual) return readTimestamp(text);
  // The first three of up to six decimals.
  const fraction =
    text.length > 22 ? digits(20, Math.min(23, text.length - 3)) * 10 ** Math.max(0, 26 - text.length) : 0;
  return new Date(
    Date.UTC(digits(0, 4), digits(5, 7) - 1, digits(8, 10), digits(11, 13), digits(14, 16), digits(17, 19), fraction),
  );
}

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === pg.types.builtins.TIMESTAMPTZ) return readInstant;
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
  settings?: Record<string, number | string>;
  /** How long to wait for answers (answers.ts). */
  patience?: Patience;
  /**
   * Whether there may be a pooler in transaction mode. Each transaction may run in another session, so nothing is set
   * or prepared in sessions. Transactions set their own time-outs; a single statement has those of its role.
   */
  pooled?: boolean;
  /** Counts refused writes; absent for read-only pools. */
  refusals?: Refusals;
  /** For a standby: when its server was started. A connection that leads to another server fails. */
  standby?: string;
};

/** The oldest PostgreSQL with the features that the queries use. */
export const leastPostgres = 16;

/** Milliseconds after which PostgreSQL ends an idle session and frees its locks. */
const idleTimeout = 30_000;
/** Milliseconds after which a pool closes an idle connection: before PostgreSQL does, and after the queue's next look for jobs. */
const idleInPool = 20_000;

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

/** Overrides settings of the role or the database by which statements or long work would fail. */
const workSettings = {
  // After waiting for a lock, a statement continues with what the holder has written.
  default_transaction_isolation: 'read committed',
  // Imports, backups and migrations have no limit. Unknown to PostgreSQL 16.
  transaction_timeout: 0,
  statement_timeout: 0,
  lock_timeout: 0,
} as const;

/**
 * Milliseconds to wait for a free connection, or for a new one to be set up; as long as a statement waits for a lock. It bounds the
 * wait on a dead network. It is far longer than a process on a busy machine may take to read an answer, for example while its first
 * request loads a part of the program.
 */
const connectTimeout = 10_000;

/** How to open a connection. */
export const connecting = (url: string) => ({
  connectionString: url,
  application_name: 'roomgate',
  connectionTimeoutMillis: connectTimeout,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/**
 * Sets up a new session. Not by connection parameters: PgBouncer refuses or drops them. Settings that this PostgreSQL does not have
 * are left out; our own, which have a dot in their names, are unknown until they are set.
 * @throws ConfigError when PostgreSQL is too old
 */
export async function setUpSession(
  client: pg.ClientBase,
  settings: Record<string, number | string> = {},
): Promise<Backend> {
  const entries = Object.entries({ ...workSettings, ...leaseSettings, ...settings });
  const listOf = (texts: unknown[]) => `array[${texts.map((text) => pg.escapeLiteral(String(text))).join(', ')}]`;
  // In the same message: the time-out of the role may be too short for what follows.
  const [, { rows }] = (await client.query({
    text: `
      set statement_timeout = 0;
      with version as (select current_setting('server_version_num')::int / 10000 as version),
        setting as (select set_config(name, value, false)
          from unnest(${listOf(entries.map(([name]) => name))}, ${listOf(entries.map(([, value]) => value))}) as setting (name, value), version
          where version >= ${leastPostgres} and (name like '%.%' or current_setting(name, true) is not null))
      select pid, backend_start::text as started, version
      from version, pg_stat_get_activity(pg_backend_pid()), (select count(*) from setting) as done`,
    query_timeout: connectTimeout,
  } as pg.QueryConfig)) as unknown as [unknown, pg.QueryResult<Backend & { version: number }>];
  const { version, ...backend } = rows[0]!;
  if (version >= leastPostgres) return backend;
  throw new ConfigError(
    `DatabaseUrl: PostgreSQL ${version} is too old; roomgate needs PostgreSQL ${leastPostgres} or newer`,
  );
}

/**
 * @throws if this is another server: a URL may lead to several, but only this one is known to have replayed far enough
 */
async function insistOnServer(client: pg.ClientBase, started: string): Promise<void> {
  const { rows } = await client.query<{ started: string }>('select pg_postmaster_start_time()::text as started');
  if (rows[0]?.started !== started)
    throw Object.assign(new Error('the URL leads to another server than before'), { code: '57P03' });
}

/** The time-outs of a statement. One that cannot get its lock fails while the client is still waiting. */
const timeoutsOf = ({ statementTimeout }: Pick<PoolOptions, 'statementTimeout'>) => ({
  statement_timeout: statementTimeout,
  lock_timeout: Math.min(statementTimeout, 10_000),
});

/** Begins each transaction with its time-outs, in one message. */
class PooledDriver extends PostgresDriver {
  readonly #timeouts: string;

  constructor(pool: pg.Pool, options: PoolOptions) {
    super({ pool });
    this.#timeouts = Object.entries({ ...timeoutsOf(options), idle_in_transaction_session_timeout: idleTimeout })
      .map(([name, value]) => `; set local ${name} = ${value}`)
      .join('');
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    { isolationLevel = workSettings.default_transaction_isolation, accessMode }: TransactionSettings,
  ): Promise<void> {
    const access = accessMode ? ` ${accessMode}` : '';
    await connection.executeQuery(
      CompiledQuery.raw(`begin isolation level ${isolationLevel}${access}${this.#timeouts}`),
    );
  }
}

/**
 * The events of a pooled connection belong neither to the contained work (containment.ts) nor to the trace that
 * happened to open it; its statements belong to the trace of the caller.
 */
class PooledClient extends PrimaryClient {
  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): unknown {
    return uncontained(() => untraced(() => (callback ? super.connect(callback) : super.connect())));
  }

  /** `never` stands for the result of any of the library's signatures. */
  override query(...given: unknown[]): never {
    return runSpanned(this, super.query as (...given: unknown[]) => unknown, given) as never;
  }
}

/** A pool on `url`. Its errors are logged, never thrown: the query that used the connection gets its own error. */
export function openPool(url: string, options: PoolOptions): pg.Pool {
  const { max, log, statementTimeout, settings, patience, pooled, refusals, standby } = options;
  const onError = (error: Error) => log.warn({ err: error.message }, 'database connection lost');
  const sessionSettings = { ...timeoutsOf(options), ...settings };
  const pool = new SharedPool({
    ...connecting(url),
    Client: PooledClient,
    max,
    types,
    idleTimeoutMillis: idleInPool,
    async onConnect(client: pg.ClientBase) {
      const backend = pooled ? undefined : await setUpSession(client, sessionSettings);
      if (standby !== undefined) await insistOnServer(client, standby);
      const answerTimeout = statementTimeout + Math.min(statementTimeout / 5, 3_000);
      refusals?.hear(client as pg.Client);
      watchAnswers(client as pg.Client, { url, backend, answerTimeout, patience });
    },
  });
  pool.on('error', onError);
  // A connection that is lost while checked out reports on the client alone, and would end the process.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

/** Our additions to an open Kysely. */
type PoolAndStates = { pool: pg.Pool; states: Map<object, unknown>; pooled: boolean; standby: boolean };

function openedOf(db: Database & Partial<PoolAndStates>): PoolAndStates {
  const { pool, states, pooled = false, standby = false } = db;
  if (!pool || !states) throw new Error('Only a database of openDatabase has a pool; a transaction has a connection.');
  return { pool, states, pooled, standby };
}

export const poolOf = (db: Database): pg.Pool => openedOf(db).pool;

/** Whether there may be a pooler in transaction mode. */
export const isPooled = (db: Database): boolean => openedOf(db).pooled;

/** Whether it is a standby, where nothing can be written. */
export const isStandby = (db: Database): boolean => openedOf(db).standby;

/**
 * The state of a module for an open database, such as the requests that it gathers. The first call creates it; it is
 * dropped with the database.
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
  const own: PoolAndStates = {
    pool,
    states: new Map(),
    pooled: options.pooled === true,
    standby: options.standby !== undefined,
  };
  const dialect = new PostgresDialect({ pool });
  if (own.pooled) dialect.createDriver = () => new PooledDriver(pool, options);
  const db = Object.assign(new Kysely<DB>({ dialect }), own);
  const destroy = db.destroy.bind(db);
  db.destroy = async () => {
    await destroy();
    // Kysely ends the pool only if it has used it; prepared statements use the pool directly.
    if (!pool.ending) await pool.end();
  };
  return db;
}

/** Works over one connection, for which no statement is too long: a migration may wait longer than any request. */
export async function withDatabase<Done>(url: string, log: Log, work: (db: Database) => Promise<Done>): Promise<Done> {
  const db = openDatabase(url, { max: 1, log, statementTimeout: 0 });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}
