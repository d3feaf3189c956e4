import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import type { Context } from '../../src/context.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { dataDirectory, startEmbeddedPostgres } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openKeys } from '../../src/identity/tokens.ts';
import { openLog } from '../../src/log.ts';
import { migrateQueue } from '../../src/worker/queue.ts';
import { pepper } from './pepper.ts';

const project = path.join(import.meta.dirname, '..', '..');
/** The folder of PostgreSQL's programs. */
export const testDirectory = path.join(dataDirectory(project), 'test');
const benchDirectory = path.join(dataDirectory(project), 'bench');
/**
 * A folder in memory, if the machine has enough of it. On a disk it takes longer to create and remove the hundreds of files of
 * a database than most tests run.
 */
export const memory = findMemory();

/**
 * A server for a test run, with one migrated template; `TEST_DATABASE_URL` names another server to test against.
 * @param options.isDurable for benches: data survive a loss of power, on a disk, as in production
 */
export async function startTestPostgres({ isDurable = false } = {}): Promise<{
  url: string;
  stop(): Promise<void>;
}> {
  const template = `template_${process.pid}_${randomBytes(3).toString('hex')}`;
  const given = process.env['TEST_DATABASE_URL'];
  const name = createHash('sha256').update(project).digest('hex').slice(0, 12);
  const inMemory = memory && path.join(memory, `roomgate-test-${name}`);
  const server = given
    ? undefined
    : isDurable
      ? await startEmbeddedPostgres(benchDirectory, 'postgres', openLog('warn'))
      : await startEmbeddedPostgres(testDirectory, 'postgres', openLog('warn'), { clusterIn: inMemory });
  const base = given ?? server?.url ?? '';
  if (server) {
    if (!isDurable) await forgetPower(base);
    await sweep(base);
  }
  await onServer(base, `create database ${template}`);
  const url = withDatabase(base, template);
  const db = openDatabase(url, { max: 1, log: openLog('warn'), statementTimeout: 0 });
  await migrate(db, openLog('warn'));
  await migrateQueue(db);
  await knowTenants(db);
  await makeSigningKey(db);
  await db.destroy();
  return {
    url,
    async stop() {
      await endKept();
      await onServer(base, `drop database if exists ${template} with (force)`);
      await server?.stop();
    },
  };
}

function findMemory(): string | undefined {
  const folder = '/dev/shm';
  try {
    const { bavail, bsize } = fs.statfsSync(folder);
    fs.accessSync(folder, fs.constants.W_OK);
    return bavail * bsize < 2 ** 31 ? undefined : folder;
  } catch {
    return undefined;
  }
}

/**
 * What the machine itself would lose at a loss of power is of no use to a test; a killed PostgreSQL loses nothing by it.
 * Nor is what a database knows of itself after minutes: none is used for as long.
 */
async function forgetPower(base: string): Promise<void> {
  for (const setting of ['fsync = off', 'full_page_writes = off', "max_wal_size = '256MB'", 'autovacuum = off'])
    await onServer(base, `alter system set ${setting}`);
  // Each of the thousands of connections would work out keys of the password, on both sides.
  const { password } = new URL(base);
  await onServer(base, `set scram_iterations = 1; alter role current_user password '${password}'`);
  const [{ hba_file: rules = '' } = {}] = await onServer(base, 'show hba_file');
  const plain = ['local all all', 'host all all all', 'host replication all all'].map((who) => `('${who} password')`);
  await onServer(base, `copy (values ${plain.join(', ')}) to '${rules}'`);
  await onServer(base, 'select pg_reload_conf()');
}

/**
 * Tells the planner that a table holds the rows of few tenants, which ANALYZE would. Without it an index on the tenant seems
 * as good as the primary key, and each row's foreign key is then looked up among all rows of the tenant.
 */
async function knowTenants(db: Database): Promise<void> {
  await sql`
    select pg_restore_attribute_stats('schemaname', 'public', 'relname', table_name::text, 'attname', 'mandator_id',
      'inherited', false, 'null_frac', 0::real, 'avg_width', 4, 'n_distinct', 1::real)
    from information_schema.columns where table_schema = 'public' and column_name = 'mandator_id'
      and current_setting('server_version_num')::integer >= 180000`.execute(db);
}

/** Makes the key that signs tokens, which takes longer than a start of the service. */
async function makeSigningKey(db: Database): Promise<void> {
  const keys = openKeys({ db, config: { IdpUrl: '' } } as Context, pepper);
  await keys.sign({ personId: 0, mandator: '', pinId: 0, clientId: '' });
}

/** Drops the databases that killed runs have left, as they would stay in memory. */
async function sweep(base: string): Promise<void> {
  const left = await onServer(base, `select datname from pg_database where datname ~ '^(test|template)_[0-9]+_'`);
  for (const { datname = '' } of left)
    if (!isAlive(Number(datname.split('_')[1])))
      await onServer(base, `drop database if exists ${datname} with (force)`);
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A fresh database of the migrated schema, for one test file. */
export async function cloneDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const template = process.env['ROOMGATE_TEST_TEMPLATE'] ?? '';
  const name = `test_${process.pid}_${randomBytes(4).toString('hex')}`;
  // What was written to the template goes to its files at the first of these; the other strategy writes all of it anew.
  await onKept(`create database ${name} template ${new URL(template).pathname.slice(1)} strategy file_copy`);
  return {
    url: withDatabase(template, name),
    drop: () => onKept(`drop database if exists ${name} with (force)`),
  };
}

/** On which this process makes and drops its databases: to open a connection takes longer than many a test. */
type Kept = { client: pg.Client; socket: net.Socket };
let kept: Promise<Kept> | undefined;
let last = Promise.resolve();

async function openKept(): Promise<Kept> {
  const socket = new net.Socket();
  const connectionString = withDatabase(process.env['ROOMGATE_TEST_TEMPLATE'] ?? '', 'postgres');
  const client = new pg.Client({ connectionString, stream: () => socket });
  const forget = () => void (kept = undefined);
  client.on('error', forget).on('end', forget);
  await client.connect();
  return { client, socket };
}

/** Runs one statement after another. Only while one runs does the connection keep the process alive. */
function onKept(statement: string): Promise<void> {
  const done = last.then(async () => {
    kept ??= openKept();
    const { client, socket } = await kept;
    socket.ref();
    await client.query(statement).finally(() => socket.unref());
  });
  last = done.catch(() => {});
  return done;
}

/** A server to which somebody is connected is not stopped. */
async function endKept(): Promise<void> {
  if (!kept) return;
  const { client, socket } = await kept;
  socket.ref();
  await client.end();
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

async function onServer(url: string, statement: string): Promise<Record<string, string>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(statement)).rows;
  } finally {
    await client.end();
  }
}
