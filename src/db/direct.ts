/** Detects a pooler in transaction mode where a direct connection is needed, and too few connections. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { type Config, ConfigError } from '../config.ts';
import { hostsOf } from '../flow/database-urls.ts';
import type { Log } from '../log.ts';
import { mostConnections } from './connections.ts';
import { connecting, type Database } from './database.ts';
import { ownSessions, PrimaryClient } from './hosts.ts';

const answerTimeout = 4_000;
/** Milliseconds to wait for a notification. PostgreSQL sends it with the answer to a later statement, so usually none is needed. */
const hearTimeout = 1_000;

export const notDirect =
  'LISTEN receives nothing from other connections, as through PgBouncer in transaction mode, which does not support session locks either; set DatabaseUrl to a direct connection, and PooledDatabaseUrl to PgBouncer';

/** A connection outside of all pools. Its loss shows itself by the next statement. */
export function openSingle(url: string, purpose: string, answerTimeoutMs?: number): pg.Client {
  const client = new PrimaryClient({
    ...connecting(url),
    application_name: `roomgate ${purpose}`,
    ...(answerTimeoutMs && { query_timeout: answerTimeoutMs }),
  });
  client.on('error', () => {});
  return client;
}

export const openProbe = (url: string): pg.Client => openSingle(url, 'probe', answerTimeout);

/**
 * Finds the host that takes writes among several in a URL, so that the first connection of a command does not fail only
 * because it is not the first host. If none takes writes, the next connection reports why.
 */
export async function findPrimary(url: string): Promise<void> {
  for (let others = hostsOf(url).length - 1; others > 0; others--) {
    const probe = openProbe(url);
    try {
      await probe.connect();
      return;
    } catch {
      // The next one goes to the next host.
    } finally {
      probe.end().catch(() => {});
    }
  }
}

/** Whether `listener` receives a notification that another connection sends. @throws when one of them fails */
export async function hearsOthers(listener: pg.Client, url: string): Promise<boolean> {
  const channel = `roomgate_probe_${randomUUID().replaceAll('-', '')}`;
  const heard = Promise.withResolvers<boolean>();
  const hear = (notification: pg.Notification) => notification.channel === channel && heard.resolve(true);
  listener.on('notification', hear);
  const sender = openProbe(url);
  const late = new AbortController();
  try {
    await sender.connect();
    await listener.query(`listen ${channel}`);
    await sender.query(`notify ${channel}`);
    await listener.query('select');
    return await Promise.race([heard.promise, sleep(hearTimeout, false, { signal: late.signal }).catch(() => false)]);
  } finally {
    late.abort();
    listener.off('notification', hear);
    listener.query(`unlisten ${channel}`).catch(() => {});
    sender.end().catch(() => {});
  }
}

/** @throws ConfigError when the URL leads to a pooler in transaction mode */
export async function insistOnDirect(url: string): Promise<void> {
  const listener = openProbe(url);
  try {
    await listener.connect();
    if (!(await hearsOthers(listener, url))) throw new ConfigError(`DatabaseUrl: ${notDirect}`);
  } finally {
    listener.end().catch(() => {});
  }
}

const ofRole = 'the connection limit of the role';

type Room = { limit: string; most: number; free: number };

/**
 * Warns when PostgreSQL allows fewer connections than a process may need. The limit of the role is not that of the pooler, which
 * may sign in as another one.
 */
export function scarcityOf(rooms: readonly Room[], config: Parameters<typeof mostConnections>[0]): string | undefined {
  const { direct, pooled } = mostConnections(config);
  const needOf = ({ limit }: Room) => (limit === ofRole ? direct : direct + pooled);
  const narrow = rooms.find((room) => room.free < needOf(room));
  if (!narrow) return undefined;
  const { limit, most, free } = narrow;
  return `${limit} is ${most}, of which ${Math.max(0, free)} are free; this process may need ${needOf(narrow)}`;
}

/**
 * The limits that apply to the role of the session, the narrowest first; those of role and database do not bind a superuser.
 * What this process itself has is free: it is a part of what it needs.
 */
export function findRooms(db: Database): Promise<Room[]> {
  // The connection is open before its session is counted among our own.
  return db.connection().execute(async (connection) => (await roomsNow().execute(connection)).rows);
}

const roomsNow = () => sql<Room>`
    with client as (select datname, usename from pg_stat_activity
        -- Of sessions of others, only a superuser sees the type.
        where datname is not null and usename is not null and coalesce(backend_type, 'client backend') = 'client backend'
          and pid <> all (${ownSessions()}::int[])),
      bound as (
        select 'max_connections' as limit, current_setting('max_connections')::int as most,
          current_setting('superuser_reserved_connections')::int + current_setting('reserved_connections')::int as kept,
          (select count(*) from client) as used
        union all
        select ${ofRole}, rolconnlimit, 0,
          (select count(*) from client where usename = session_user)
        from pg_roles where rolname = session_user and rolconnlimit >= 0 and not rolsuper
        union all
        select 'the connection limit of the database', datconnlimit, 0,
          (select count(*) from client where datname = current_database())
        from pg_database, pg_roles
        where datname = current_database() and datconnlimit >= 0 and rolname = session_user and not rolsuper)
    select "limit", most, (most - kept - used)::int as free from bound order by free`;

/** SQL that gives a role the time-outs of requests. */
const timeoutsFor = (role: string, database: string) =>
  ['statement_timeout = 15000', 'lock_timeout = 10000', 'client_connection_check_interval = 2000']
    .map(
      (setting) =>
        `alter role ${pg.escapeIdentifier(role)} in database ${pg.escapeIdentifier(database)} set ${setting}`,
    )
    .join('; ');

type Serving = { config: Config; db: Database; log: Log };
type Standing = { system: string; started: string; database: string; role: string; timeout: string };

const foreignPool = 'leads to another database than DatabaseUrl';

/** `foreign`: requests would read and write other data than those of DatabaseUrl. */
type PoolFault = { level: 'fault' | 'warning'; text: string; remedy: string; foreign?: true };

/** What is wrong with the pooler: it does not answer, leads to another database, or its sessions have no time-outs. */
export async function findPoolFault(url: string, pooled: Database): Promise<PoolFault | undefined> {
  const standing = `
    select system_identifier::text as system, pg_postmaster_start_time()::text as started,
      current_database() as database, current_user as role,
      -- What the session began with: in a pooler's session, somebody else may have set another.
      (select reset_val from pg_settings where name = 'statement_timeout') as timeout
    from pg_control_system()`;
  const probe = openProbe(url);
  try {
    await probe.connect();
    const one = (await probe.query<Standing>(standing)).rows[0]!;
    const behind = await sql
      .raw<Standing>(standing)
      .execute(pooled)
      .catch(({ message }: Error) => message);
    if (typeof behind === 'string')
      return {
        level: 'fault',
        text: `PooledDatabaseUrl cannot be used: ${behind}`,
        remedy: 'Check that PgBouncer runs, reaches PostgreSQL and knows the user, password and database.',
      };
    const other = behind.rows[0]!;
    const remedy = 'Set both to the same one.';
    if (one.system !== other.system || one.database !== other.database)
      return {
        level: 'fault',
        text: `PooledDatabaseUrl ${foreignPool}`,
        remedy,
        foreign: true,
      };
    // With a pair of servers, the pooler may still lead to the former primary.
    if (one.started !== other.started)
      return { level: 'fault', text: 'PooledDatabaseUrl leads to another server than DatabaseUrl', remedy };
    if (other.timeout !== '0') return undefined;
    return {
      level: 'warning',
      text: 'statements outside of transactions have no time-out: the pooler drops that setting, and the role has none',
      remedy: `Run this, and then RECONNECT in PgBouncer: ${timeoutsFor(other.role, other.database)}`,
    };
  } finally {
    probe.end().catch(() => {});
  }
}

/**
 * Logs shortages and faults at the start. A pooler that is down delays no start: /readyz reports it.
 * @throws ConfigError when the pooler leads to other data
 */
export async function warnOfConnections(db: Database, { config, db: requests, log }: Serving): Promise<void> {
  const scarcity = scarcityOf(await findRooms(db), config);
  if (scarcity) log.warn({ scarcity }, 'PostgreSQL may run out of connections; see docs/operating.md#database');
  if (config.PooledDatabaseUrl === undefined) return;
  const fault = await findPoolFault(config.DatabaseUrl, requests).catch(() => undefined);
  if (fault?.foreign) throw new ConfigError(`PooledDatabaseUrl: ${foreignPool}`);
  if (!fault) return;
  const { text, remedy } = fault;
  log.warn({ fault: text, remedy }, 'PooledDatabaseUrl needs attention; see docs/deploying.md#pgbouncer');
}
