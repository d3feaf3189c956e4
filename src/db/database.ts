import { Kysely, type Transaction as KyselyTransaction, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Log } from '../log.ts';
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

type PoolOptions = {
  max: number;
  log: Log;
  /** Milliseconds after which PostgreSQL cancels a statement; 0 = never. */
  statementTimeout: number;
  /** Milliseconds after which a connection that does not answer is given up; absent = when the network says so. */
  answerTimeout?: number;
};

/** A pool on `url`. Its errors are logged, never thrown: the query that used the connection gets its own error. */
export function openPool(url: string, options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    types,
    application_name: 'roomgate',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    statement_timeout: options.statementTimeout,
    ...(options.answerTimeout !== undefined && { query_timeout: options.answerTimeout }),
    // Who cannot get a lock says so while the client still listens.
    lock_timeout: options.statementTimeout && Math.min(options.statementTimeout, 10_000),
    // A dead process must not go on working, and holding its locks, in the database.
    options: '-c client_connection_check_interval=2s',
  });
  const onError = (error: Error) => options.log.warn({ err: error.message }, 'database connection lost');
  pool.on('error', onError);
  // A connection that is lost while checked out reports on the client alone, and would end the process.
  pool.on('connect', (client) => client.on('error', onError));
  return pool;
}

const pools = new WeakMap<Database, pg.Pool>();

/** What a database of `openDatabase` runs on. */
export function poolOf(db: Database): pg.Pool {
  const pool = pools.get(db);
  if (!pool) throw new Error('Only a database of openDatabase has a pool; a transaction has a connection.');
  return pool;
}

export function openDatabase(url: string, options: PoolOptions): Database {
  const pool = openPool(url, options);
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  pools.set(db, pool);
  const destroy = db.destroy.bind(db);
  db.destroy = async () => {
    await destroy();
    // Kysely ends what it has used itself; prepared statements go to the pool past it.
    if (!pool.ending) await pool.end();
  };
  return db;
}
