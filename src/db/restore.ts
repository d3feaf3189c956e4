/** Restores a backup into a new database, which then takes the place of the one that is served. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { Conflict } from '../errors.ts';
import { isForbidden } from '../flow/database-errors.ts';
import { atDatabase } from '../flow/database-urls.ts';
import { restoreLock } from '../flow/locks.ts';
import type { Log } from '../log.ts';
import { type Backup, backupShapes, connect, countQueueMigrations, inspectBackup, listTables } from './backup.ts';
import { type Database, openDatabase } from './database.ts';
import { isUnicode, likeThis, notUnicode } from './locale.ts';
import { listKnown, listTableNames, migrateTo } from './migrate.ts';
import { ourSchema } from './our-schema.ts';
import { withTableFile } from './table-file.ts';

/** Writes the rows of the file into a database of the same schema, in one transaction. */
async function load(url: string, file: string): Promise<number> {
  const client = await connect(url);
  try {
    return await withTableFile(file, backupShapes, async ({ head, tables }) => {
      const queue = await countQueueMigrations(client);
      if (head.Queue !== queue)
        throw new Conflict(
          `${file} was written by roomgate ${head.Version} with another version of its queue (${head.Queue}, not ${queue}); restore it with that release, then upgrade.`,
        );
      // Triggers and foreign keys are off: the former would record changes, the latter would require rows that come later.
      await client.query('begin; set local session_replication_role = replica');
      // Removes the rows that migrations have inserted.
      await client.query(`truncate ${(await listTables(client)).map(({ name }) => name).join(', ')}`);
      let loaded = 0;
      for await (const { table, rows } of tables) {
        async function* text() {
          for await (const some of rows) {
            loaded += some.length;
            yield `${some.join('\n')}\n`;
          }
        }
        const into = client.query(copyFrom(`copy ${table.Table} (${table.Columns.join(', ')}) from stdin`));
        await pipeline(Readable.from(text()), into);
      }
      for (const [name, last] of Object.entries(head.Sequences))
        await client.query('select setval($1::regclass, $2)', [name, last]);
      await client.query('commit');
      await client.query('analyze');
      return loaded;
    });
  } finally {
    await client.end().catch(() => {});
  }
}

/** @throws Conflict when this release does not know the schema of the backup */
function insistOnKnown(file: string, { Version, Migrations }: Backup): string {
  const known = listKnown();
  const strange = Migrations.find((name, at) => name !== known[at]);
  if (strange !== undefined)
    throw new Conflict(
      `${file} was written by roomgate ${Version}, whose schema this release does not know (${strange}); restore it with that release.`,
    );
  return Migrations.at(-1) as string;
}

export type Restore = {
  file: string;
  /** Whether existing data in the database may be discarded. */
  force: boolean;
  log: Log;
  /** Creates the tables of the queue, before the rows are written. */
  prepareQueue(db: Database): Promise<void>;
  /** Brings the schema up to date once the rows are written; throws to refuse the restore. */
  finish(db: Database): Promise<void>;
};

/**
 * Replaces the database at `url` by that of the backup. The rows are written into another database, which takes its place at
 * the end: a failure before that changes nothing. The new one has the encoding, the locale and the owner of the old one.
 * @throws InvalidInput when the file is damaged; Conflict when it does not fit, the database is used, not Unicode, or has data and
 *   not `force`, or the role may not
 */
export async function restoreBackup(
  url: string,
  { file, force, log, prepareQueue, finish }: Restore,
): Promise<Backup & { rows: number }> {
  const backup = await inspectBackup(file);
  const last = insistOnKnown(file, backup);
  const { name, options, owner, has } = await look(url);
  const admin = await connect(atDatabase(url, 'postgres'));
  const ours = pg.escapeIdentifier(name);
  const fresh = `roomgate_restore_${randomUUID().slice(0, 8)}`;
  const aside = `${fresh}_before`;
  let db: Database | undefined;
  try {
    await sweep(admin);
    if (!force && has)
      throw new Conflict(`The database ${name} has ${has}; --force discards them. Nothing was changed.`);
    await insistOnUnused(admin, name);
    await admin.query(`create database ${fresh} owner ${pg.escapeIdentifier(owner)} ${options}`);
    // What is created belongs to the owner.
    db = openDatabase(atDatabase(url, fresh), { max: 1, log, statementTimeout: 0, settings: { role: owner } });
    await insistOnUnicode(db, name);
    await migrateTo(db, last);
    await prepareQueue(db);
    const rows = await load(atDatabase(url, fresh), file);
    await finish(db);
    await db.destroy();
    db = undefined;
    await insistOnUnused(admin, name);
    await admin.query(
      `begin; alter database ${ours} rename to ${aside}; alter database ${fresh} rename to ${ours}; commit`,
    );
    await admin.query(`drop database ${aside}`);
    return { ...backup, rows };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new Conflict(
      `The role of DatabaseUrl may not do that (${(error as Error).message}): restore needs a superuser, unlike pg_dump and pg_restore. Nothing was changed.`,
    );
  } finally {
    await db?.destroy();
    await admin.query('rollback').catch(() => {});
    await admin.query(`drop database if exists ${fresh}`).catch(() => {});
    await admin.end().catch(() => {});
  }
}

/** Removes the remains of a restore that was killed. @throws Conflict while another restore is running */
async function sweep(admin: pg.Client): Promise<void> {
  const { rows } = await admin.query<{ mine: boolean }>('select pg_try_advisory_lock(hashtext($1)) as mine', [
    restoreLock,
  ]);
  if (!rows[0]?.mine) throw new Conflict('Another restore is running on this server.');
  const left = await admin.query<{ name: string }>(
    `select datname as name from pg_database where datname ~ '^roomgate_restore_[0-9a-f]{8}(_before)?$'`,
  );
  for (const { name } of left.rows) await admin.query(`drop database ${name}`);
}

type FormerDatabase = { name: string; options: string; owner: string };

/** A table that is not roomgate's. $1: the names of those that are. */
const anotherTable = `
  select class.oid::regclass::text as name from pg_class class join pg_namespace space on space.oid = relnamespace
  where relkind in ('r', 'p', 'm', 'f') and nspname !~ '^pg_' and nspname not in ('information_schema', 'graphile_worker')
    and (relnamespace is distinct from ${ourSchema} or relname <> all ($1::text[]))
    and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = class.oid and deptype = 'e')
  order by 1 limit 1`;

/**
 * @returns `options` of `create database` for a database like this one, what it `has` that would be lost, and its
 * `owner`. A superuser restores for the owner; if the owner is a superuser too, the restoring role may be that of the
 * service.
 */
async function look(url: string): Promise<FormerDatabase & { has: string | undefined }> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<FormerDatabase & { made: boolean }>(
      `select datname as name, (${likeThis}) as options, to_regclass('mandator') is not null as made,
        case when rolsuper then current_user else rolname end as owner
      from pg_database join pg_roles on pg_roles.oid = datdba where datname = current_database()`,
    );
    const { made, ...place } = rows[0]!;
    const hasTenants = made && (await client.query('select from mandator limit 1')).rowCount === 1;
    const another = (await client.query<{ name: string }>(anotherTable, [listTableNames()])).rows[0];
    const has = [...(hasTenants ? ['tenants'] : []), ...(another ? [`tables of others (${another.name})`] : [])];
    return { ...place, has: has.join(' and ') || undefined };
  } finally {
    await client.end();
  }
}

async function insistOnUnicode(db: Database, name: string): Promise<void> {
  const { rows } = await sql<{ unicode: boolean }>`select ${sql.raw(isUnicode)} as unicode`.execute(db);
  if (!rows[0]?.unicode)
    throw new Conflict(`In the database ${name} ${notUnicode.text}. Nothing was changed. ${notUnicode.remedy}`);
}

/** Sessions that are just ending get 5 s, as `drop database` gives them. */
async function insistOnUnused(admin: pg.Client, name: string): Promise<void> {
  const listUsers = async () => {
    const { rows } = await admin.query<{ who: string }>(
      `select distinct application_name as who from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [name],
    );
    return rows.map(({ who }) => who || 'no name');
  };
  const deadline = performance.now() + 5_000;
  let users = await listUsers();
  while (users.length > 0 && performance.now() < deadline) {
    await sleep(100);
    users = await listUsers();
  }
  if (users.length > 0)
    throw new Conflict(
      `The database ${name} is in use (${users.join(', ')}): stop the server and other commands first. Nothing was changed.`,
    );
}
