import fs from 'node:fs';
import path from 'node:path';
import { type DatabaseIntrospector, sql } from 'kysely';
import {
  DEFAULT_MIGRATION_LOCK_TABLE,
  DEFAULT_MIGRATION_TABLE,
  type Migration,
  type MigrationResult,
  Migrator,
} from 'kysely/migration';
import { ConfigError } from '../config.ts';
import { isDeadlock, isForbidden, isLockTimeout, isSchemaless, refusalOf } from '../flow/database-errors.ts';
import { backOff, doubledPause, pause } from '../flow/retry.ts';
import type { Log } from '../log.ts';
import type { Database, Transaction } from './database.ts';
import { isUnicode, notUnicode } from './locale.ts';

const directory = path.join(import.meta.dirname, '..', '..', 'sql');

/**
 * Milliseconds for which a migration waits for a lock: at its first try, and at most. Requests for the same table queue behind
 * it for that time. It is less than PostgreSQL's deadlock_timeout, so if a migration and a request wait for each other,
 * the migration gives way.
 */
const lockWaits = { firstMs: 200, longestMs: 800 };

const readFile = (migration: string) => fs.readFileSync(path.join(directory, `${migration}.sql`), 'utf8');

function readMigrations(wait: () => number): Record<string, Migration> {
  const files = fs.readdirSync(directory).filter((file) => file.endsWith('.sql'));
  return Object.fromEntries(
    files.map((file) => {
      const name = path.basename(file, '.sql');
      // All statements of the file are one simple query, inside the migrator's transaction.
      const up = async (db: Database) => {
        const text = readFile(name);
        await sql`set local lock_timeout = ${sql.lit(wait())}`.execute(db);
        await sql.raw(text).execute(db);
      };
      return [name, { up }];
    }),
  );
}

/**
 * A database whose introspection shows only the migrator's own tables. The migrator looks for them each time, and Kysely would
 * read all columns of all tables, which takes longer than most migrations.
 */
function knowingOwnTables(db: Database): Database {
  const own = [DEFAULT_MIGRATION_TABLE, DEFAULT_MIGRATION_LOCK_TABLE];
  const introspection: DatabaseIntrospector = {
    getSchemas: async () => [],
    async getTables() {
      const { rows } = await sql<{ name: string }>`
        select name from unnest(${own}::text[]) as own(name) where to_regclass(name) is not null`.execute(db);
      return rows.map(({ name }) => ({ name, isView: false, isForeign: false, columns: [] }));
    },
  };
  return Object.defineProperty(db.withoutPlugins(), 'introspection', { value: introspection });
}

const migratorOf = (db: Database, wait = () => lockWaits.firstMs) =>
  new Migrator({ db: knowingOwnTables(db), provider: { getMigrations: async () => readMigrations(wait) } });

/** The names of the applied migrations, in the order in which they were applied. */
async function listExecuted(db: Database): Promise<string[]> {
  const { rows: made } = await sql`select where to_regclass('kysely_migration') is not null`.execute(db);
  if (made.length === 0) return [];
  const { rows } = await sql<{ name: string; at: string }>`
    select name, timestamp as at from kysely_migration order by name`.execute(db);
  return rows.sort((one, other) => Date.parse(one.at) - Date.parse(other.at)).map(({ name }) => name);
}

/** The names of this release's migrations, in the order in which they are applied. */
export const listKnown = () => Object.keys(readMigrations(() => lockWaits.firstMs)).sort();

/** The names of all tables that migrations make, and of those that keep account of migrations. */
export const listTableNames = (): string[] => [
  DEFAULT_MIGRATION_TABLE,
  DEFAULT_MIGRATION_LOCK_TABLE,
  ...listKnown().flatMap((name) =>
    [...readFile(name).matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, table = '']) => table),
  ),
];

const wayOutOfDisorder =
  'Restore a backup from before that migration, or start the program that has applied it; a release applies its migrations in the order of their names.';

/** Finds a migration that can no longer be applied because a later one already was; in the words of the doctor. */
export async function findDisorder(db: Database): Promise<{ text: string; remedy: string } | undefined> {
  const known = listKnown();
  const executed = (await listExecuted(db)).filter((name) => known.includes(name));
  const at = executed.findIndex((name, index) => name !== known[index]);
  return at < 0
    ? undefined
    : {
        text: `the database was migrated in another order: it has applied ${executed[at]} before ${known[at]}`,
        remedy: wayOutOfDisorder,
      };
}

/** The last migration that a later release has applied, if any, and whether this release can still use the schema. */
export async function findNewer(db: Database): Promise<{ applied: string; fits: boolean } | undefined> {
  const executed = await listExecuted(db);
  const known = listKnown();
  const applied = executed
    .filter((name) => !known.includes(name))
    .sort()
    .at(-1);
  if (applied === undefined) return undefined;
  if (known.some((name) => !executed.includes(name))) return { applied, fits: false };
  const floor = await sql<{ migration: string }>`select migration from schema_floor`.execute(db);
  return { applied, fits: known.includes(String(floor.rows[0]?.migration)) };
}

/**
 * Whether a later release has migrated this database in a way that this release can still use.
 * @throws ConfigError when this release cannot use it
 */
async function isNewerButFit(db: Database, log: Log): Promise<boolean> {
  const newer = await findNewer(db);
  if (!newer) return false;
  const { applied, fits } = newer;
  if (!fits)
    throw new ConfigError(
      `DatabaseUrl: the database was migrated by a newer release, up to ${applied}; start that release`,
    );
  log.warn(
    { applied },
    'the database was migrated by a newer release; this one can use it, since it only added things',
  );
  return true;
}

/**
 * Applies the next migration under `sql/`, completely or not at all. It gives way to transactions that hold its locks, and
 * retries until it succeeds.
 * @returns its name; undefined when there is none, or the signal aborts
 */
export async function migrateNext(db: Database, log: Log, signal?: AbortSignal): Promise<string | undefined> {
  for (let tries = 0; !signal?.aborted; tries++) {
    const wait = doubledPause(tries, lockWaits);
    const { error, results = [] } = await migratorOf(db, () => wait).migrateUp();
    const [result] = results;
    if (!error) return result?.migrationName;
    if (!isLockTimeout(error) && !isDeadlock(error)) throw failure(error, result);
    log.warn({ migration: result?.migrationName }, 'a migration is waiting for a lock; requests go first');
    await pause(backOff(tries, { firstMs: 200 }), signal);
  }
  return undefined;
}

/** Applies a migration in a transaction of the caller, and does not record it. */
export async function apply(trx: Transaction, name: string): Promise<void> {
  await readMigrations(() => lockWaits.longestMs)[name]?.up(trx);
}

/** Brings an empty database to the schema that the migration `last` has left. */
export async function migrateTo(db: Database, last: string): Promise<void> {
  const { error, results = [] } = await migratorOf(db, () => lockWaits.longestMs).migrateTo(last);
  if (error) throw failure(error, results.at(-1));
}

function failure(error: unknown, result: MigrationResult | undefined): Error {
  if (error instanceof ConfigError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  if (isForbidden(error)) return new ConfigError(refusalOf(error));
  if (isSchemaless(error))
    return new ConfigError(
      `DatabaseUrl: the search_path of its role or database names no schema that exists (${reason}). Create one, or reset that ` +
        'setting ("alter role … reset search_path", "alter role … in database … reset search_path")',
    );
  return new Error(result ? `migration ${result.migrationName}: ${reason}` : `migrations: ${reason}`, {
    cause: error,
  });
}

/** A database that has tenants already is left to the doctor. */
async function insistOnUnicode(db: Database): Promise<void> {
  const { rows } = await sql<{ unicode: boolean }>`select ${sql.raw(isUnicode)} as unicode`.execute(db);
  if (!rows[0]?.unicode) throw new ConfigError(`DatabaseUrl: ${notUnicode.text}. ${notUnicode.remedy}`);
}

/**
 * Applies the new migrations under `sql/`; several processes take turns. They are applied one by one, so that requests
 * go first; in an empty database, which has no requests, all at once.
 * @returns the names of the migrations that this process has applied
 * @throws ConfigError when a later release has migrated the database so that this one cannot use it, or in another order, and
 * when it is empty and cannot hold every name
 */
export async function migrate(db: Database, log: Log, signal?: AbortSignal): Promise<string[]> {
  if (await isNewerButFit(db, log)) return [];
  const disorder = await findDisorder(db);
  if (disorder) throw new ConfigError(`DatabaseUrl: ${disorder.text}. ${disorder.remedy}`);
  const executed = await listExecuted(db);
  if (listKnown().every((name) => executed.includes(name))) return [];
  if (executed.length === 0) {
    await insistOnUnicode(db);
    const { error, results = [] } = await migratorOf(db, () => lockWaits.longestMs).migrateToLatest();
    // After an error none is applied; applying them one by one finds the one that fails.
    if (!error) return results.map(({ migrationName }) => migrationName);
  }
  const applied: string[] = [];
  const next = () => migrateNext(db, log, signal);
  for (let name = await next(); name; name = await next()) applied.push(name);
  return applied;
}

/** The names of the migrations that are not applied yet. */
export async function pendingMigrations(db: Database): Promise<string[]> {
  const migrations = await migratorOf(db).getMigrations();
  return migrations.filter(({ executedAt }) => !executedAt).map(({ name }) => name);
}
