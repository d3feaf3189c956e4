import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { Database } from './database.ts';

const directory = path.join(import.meta.dirname, '..', '..', 'sql');

function readMigrations(): Record<string, Migration> {
  const names = fs.readdirSync(directory).filter((file) => file.endsWith('.sql'));
  return Object.fromEntries(
    names.map((name) => {
      const text = fs.readFileSync(path.join(directory, name), 'utf8');
      // One simple query of many statements, inside the migrator's transaction.
      return [path.basename(name, '.sql'), { up: async (db) => void (await sql.raw(text).execute(db)) }];
    }),
  );
}

const migratorOf = (db: Database) =>
  new Migrator({ db, provider: { getMigrations: async () => readMigrations() } });

/** The migrator takes a migration that it does not know for damage; it comes from a later release. */
function newerThanThis(reason: string): string | undefined {
  const [, name] = /previously executed migration (\S+) is missing/.exec(reason) ?? [];
  return name && `the database is that of a newer release, which has applied ${name}; start that release`;
}

/** Applies what is new under `sql/`, all or nothing; of several processes one works and the others wait. */
export async function migrate(db: Database): Promise<string[]> {
  const { error, results = [] } = await migratorOf(db).migrateToLatest();
  if (error) {
    const failed = results.find(({ status }) => status === 'Error');
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      newerThanThis(reason) ??
        (failed ? `migration ${failed.migrationName}: ${reason}` : `migrations: ${reason}`),
      {
        cause: error,
      },
    );
  }
  return results.map(({ migrationName }) => migrationName);
}

/** The names of the migrations that this program knows and the database has not seen. */
export async function pendingMigrations(db: Database): Promise<string[]> {
  const migrations = await migratorOf(db).getMigrations();
  return migrations.filter(({ executedAt }) => !executedAt).map(({ name }) => name);
}
