import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import { ConfigError } from '../config.ts';
import { type Finding, findingsOf, ok } from '../finding.ts';
import { codeOf, isForbidden, isOutage, isUnwritable, ownership } from '../flow/database-errors.ts';
import { type Database, isPooled, leastPostgres } from './database.ts';
import { findPoolFault, hearsOthers, openProbe } from './direct.ts';
import { isUnicode, notUnicode } from './locale.ts';
import { findDisorder, findNewer, pendingMigrations } from './migrate.ts';
import { causeOf, causes } from './refusals.ts';
import { examineZoneRules } from './zone-rules.ts';

const mostPostgres = 18;
const useSupported = `Use PostgreSQL ${leastPostgres} to ${mostPostgres}.`;
const directConnection =
  'Set DatabaseUrl to a direct connection, and PooledDatabaseUrl to PgBouncer: its transaction mode does not support LISTEN and session locks.';

async function examineServer(db: Database): Promise<Finding[]> {
  const asked = Date.now();
  const { rows } = await sql<{ version: number; now: Date; extension: boolean; unicode: boolean }>`
    select current_setting('server_version_num')::int / 10000 as version, clock_timestamp() as now,
      exists (select from pg_extension where extname = 'btree_gist') as extension,
      ${sql.raw(isUnicode)} as unicode`.execute(db);
  const server = rows[0]!;
  const skew = Math.round((server.now.getTime() - (asked + Date.now()) / 2) / 100) / 10;
  return [
    server.version <= mostPostgres
      ? ok('Database', `PostgreSQL ${server.version} answers`)
      : {
          check: 'Database',
          level: 'warning',
          text: `PostgreSQL ${server.version} is not a version that roomgate is tested with`,
          remedy: useSupported,
        },
    server.extension
      ? ok('Extension', 'btree_gist is installed')
      : {
          check: 'Extension',
          level: 'fault',
          text: 'btree_gist is missing, which prevents overlapping bookings',
          remedy: 'Run "roomgate migrate"; if its role may not, have an administrator run: create extension btree_gist',
        },
    server.unicode
      ? ok('Locale', 'names are compared correctly beyond ASCII')
      : { check: 'Locale', level: 'fault', ...notUnicode },
    Math.abs(skew) < 2
      ? ok('Clock', 'this machine and the database agree')
      : {
          check: 'Clock',
          level: Math.abs(skew) < 30 ? 'warning' : 'fault',
          text: `the clock of the database is ${Math.abs(skew)} s ${skew > 0 ? 'ahead of' : 'behind'} this machine's`,
          remedy: 'Synchronise both machines with NTP.',
        },
  ];
}

const confirming =
  'Check the load of PostgreSQL and, if synchronous_standby_names is set, that such a standby follows: each COMMIT waits for it.';

/** Writes a megabyte into a temporary table: if the disk is full, that fails, although small changes may succeed. */
async function examineWrites(db: Database): Promise<Finding> {
  try {
    await db.transaction().execute(async (trx) => {
      await sql`create temp table doctor_filler on commit drop as
        select repeat('x', 1000) as filler from generate_series(1, 1000)`.execute(trx);
    });
    return ok('Writes', 'the database takes them');
  } catch (error) {
    if (!isOutage(error)) throw error;
    const { message } = error as Error;
    if (!isUnwritable(error))
      return { check: 'Writes', level: 'fault', text: `not confirmed: ${message}`, remedy: confirming };
    const { text, remedy } = causes[causeOf(error)];
    return { check: 'Writes', level: 'fault', text: `refused, as ${text}: ${message}`, remedy };
  }
}

type Blocker = { pid: number; program: string; role: string; state: string; waiting: number; seconds: number };

/** Finds the session that others have waited for longest. Waits for advisory locks are normal and not counted. */
async function examineLocks(db: Database): Promise<Finding> {
  const { rows } = await sql<Blocker>`
    with waiting as (
      select pid, extract(epoch from clock_timestamp() - min(waitstart))::int as seconds from pg_locks
      where not granted and locktype <> 'advisory' and waitstart < clock_timestamp() - interval '2 seconds'
        and pid in (select pid from pg_stat_activity where datname = current_database())
      group by pid)
    select blocker.pid, coalesce(application_name, '') as program, usename as role, coalesce(state, 'hidden') as state,
      count(*)::int as waiting, max(seconds) as seconds
    from waiting cross join lateral (select distinct unnest(pg_blocking_pids(waiting.pid)) as pid) as blocker
      join pg_stat_activity as activity on activity.pid = blocker.pid
    where blocker.pid not in (select pid from waiting)
    group by blocker.pid, application_name, usename, state order by seconds desc limit 1`.execute(db);
  const [first] = rows;
  if (!first) return ok('Waits', 'no statement waits for a lock of another session');
  const { pid, program, role, state, waiting, seconds } = first;
  return {
    check: 'Waits',
    level: 'warning',
    text: `statements wait for locks of session ${pid} (${program || 'no name'} of ${role}, ${state}): ${waiting}, the longest for ${seconds} s`,
    remedy: `If it is stuck, end its transaction: select pg_terminate_backend(${pid})`,
  };
}

async function examineMigrations(db: Database): Promise<Finding> {
  try {
    return await compareMigrations(db);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const text = `the role of DatabaseUrl may not read them: ${(error as Error).message}`;
    return { check: 'Migrations', level: 'fault', text, remedy: `${ownership}.` };
  }
}

async function compareMigrations(db: Database): Promise<Finding> {
  const disorder = await findDisorder(db);
  if (disorder) return { check: 'Migrations', level: 'fault', ...disorder };
  const newer = await findNewer(db);
  if (newer)
    return newer.fits
      ? ok('Migrations', `applied by a newer release, up to ${newer.applied}; this release can use them`)
      : {
          check: 'Migrations',
          level: 'fault',
          text: `applied by a newer release, up to ${newer.applied}; this release cannot use them`,
          remedy: 'Start that release, or restore a backup from before it.',
        };
  const pending = await pendingMigrations(db);
  if (pending.length === 0) return ok('Migrations', 'current');
  return {
    check: 'Migrations',
    level: 'fault',
    text: `not applied: ${pending.join(', ')}`,
    remedy: 'Run "roomgate migrate".',
  };
}

/** Uses two sessions: a single one could not detect a pooler between us and the database. */
async function examineSessions(url: string): Promise<Finding[]> {
  const [one, other] = [openProbe(url), openProbe(url)];
  const key = randomInt(2 ** 31);
  try {
    await Promise.all([one.connect(), other.connect()]);
    const listens = await hearsOthers(one, url);
    await one.query('select pg_advisory_lock($1)', [key]);
    const { rows } = await other.query('select pg_try_advisory_lock($1) as taken', [key]);
    return [
      listens
        ? ok('Notifications', 'LISTEN and NOTIFY work')
        : {
            check: 'Notifications',
            level: 'fault',
            text: 'LISTEN receives nothing: subscriptions and waiting polls do not see changes',
            remedy: directConnection,
          },
      rows[0].taken === false
        ? ok('Locks', 'session advisory locks work')
        : {
            check: 'Locks',
            level: 'fault',
            text: 'a session advisory lock does not exclude others: dead workers cannot be told from live ones',
            remedy: directConnection,
          },
    ];
  } finally {
    await Promise.all([one, other].map((client) => client.end().catch(() => {})));
  }
}

async function examinePool(url: string, pooled: Database): Promise<Finding> {
  const fault = await findPoolFault(url, pooled);
  return fault
    ? { check: 'Pooler', level: fault.level, text: fault.text, remedy: fault.remedy }
    : ok('Pooler', 'leads to this database, and its statements have a time-out');
}

/**
 * Examines the database of an installation. It never throws: a failure is a finding too.
 * @param examineMore examines what other modules store there; called only when the schema is current
 */
export async function diagnose(
  url: string,
  db: Database,
  examineMore: (db: Database) => Promise<Finding[]> = async () => [],
): Promise<Finding[]> {
  let server: Finding[];
  try {
    server = await examineServer(db);
  } catch (error) {
    if (error instanceof ConfigError)
      return [{ check: 'Database', level: 'fault', text: error.message, remedy: useSupported }];
    const pool = isPooled(db) ? await examinePool(url, db).catch(() => undefined) : undefined;
    if (pool && pool.level !== 'ok') return [{ ...pool, check: 'Database' }];
    const { code, message } = error as { code?: string; message: string };
    const remedy =
      codeOf(error) === '53300'
        ? 'Raise max_connections, or the limit of the role or database; docs/operating.md#database has the numbers.'
        : 'Check that PostgreSQL runs and that DatabaseUrl names its host, port, user and database.';
    return [{ check: 'Database', level: 'fault', text: `cannot be reached: ${message || code}`, remedy }];
  }
  const writes = await findingsOf('Writes', () => examineWrites(db));
  const waits = await findingsOf('Waits', () => examineLocks(db));
  const migrations = await findingsOf('Migrations', () => examineMigrations(db));
  const sessions = await findingsOf('Sessions', () => examineSessions(url));
  const pool = isPooled(db) ? await findingsOf('Pooler', () => examinePool(url, db)) : [];
  const findings = [...server, ...writes, ...waits, ...migrations, ...sessions, ...pool];
  if (migrations.some(({ level }) => level !== 'ok')) return findings;
  return [...findings, ...(await examineMore(db)), ...(await findingsOf('Time zones', () => examineZoneRules(db)))];
}
