/**
 * The whole database as a file (table-file.ts): PostgreSQL's COPY of all tables in one snapshot. It contains secrets as they
 * are stored: hashed or sealed with the Pepper, which it does not contain.
 */
import type { Writable } from 'node:stream';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { z } from 'zod';
import { Conflict } from '../errors.ts';
import { codeOf } from '../flow/database-errors.ts';
import { openSingle } from './direct.ts';
import { isOurSequence, ourSchema } from './our-schema.ts';
import { inspectTableFile, type TablePart, type TableText, writeTableFile } from './table-file.ts';

const head = z.object({
  Roomgate: z.literal('backup'),
  Format: z.literal(1),
  /** The release that has written it. */
  Version: z.string(),
  WrittenAt: z.string(),
  /** The migrations of the schema, in order, and the number of those that the queue library has applied. */
  Migrations: z.array(z.string()).min(1),
  Queue: z.int(),
  Sequences: z.record(z.string(), z.string()),
});
const table = z.object({ Table: z.string(), Columns: z.array(z.string()) });

export type Backup = z.output<typeof head>;

export const backupShapes = { head, table, name: 'a backup' };

export async function connect(url: string): Promise<pg.Client> {
  const client = openSingle(url, 'backup');
  await client.connect();
  // The reader of a pipe, or a disk, may be slow; and one session of a restore waits for another that writes.
  await client.query(`select set_config(name, '0', false)
    from unnest('{statement,transaction,idle_in_transaction_session,idle_session}'::text[]) as bounded,
      concat(bounded, '_timeout') as name
    where current_setting(name, true) is not null`);
  return client;
}

type StoredTable = { name: string; columns: string[] };

/** The tables to back up, as SQL names them: all but those of the migrations, which describe the schema. */
export async function listTables(client: pg.Client): Promise<StoredTable[]> {
  const { rows } = await client.query<StoredTable>(`
    select class.oid::regclass::text as name,
      array(
        select quote_ident(attname) from pg_attribute
        where attrelid = class.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum
      ) as columns
    from pg_class class
    where class.relnamespace in (${ourSchema}, 'graphile_worker'::regnamespace)
      and class.relkind = 'r' and class.relpersistence = 'p'
      and class.relname not in ('kysely_migration', 'kysely_migration_lock', 'migrations')
    order by 1`);
  return rows;
}

export async function countQueueMigrations(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ last: number }>('select max(id) as last from graphile_worker.migrations');
  return Number(rows[0]?.last);
}

async function describe(client: pg.Client, version: string): Promise<Backup> {
  const migrations = await client.query<{ name: string }>('select name from kysely_migration order by name');
  // Not from the snapshot, but read after it was taken, so no id is given twice.
  const sequences = await client.query<{ name: string; last: string }>(`
    select case when ${isOurSequence} then quote_ident(sequencename) else format('%I.%I', schemaname, sequencename) end as name,
      last_value::text as last
    from pg_sequences where (${isOurSequence} or schemaname = 'graphile_worker') and last_value is not null`);
  return {
    Roomgate: 'backup',
    Format: 1,
    Version: version,
    WrittenAt: new Date().toISOString(),
    Migrations: migrations.rows.map(({ name }) => name),
    Queue: await countQueueMigrations(client),
    Sequences: Object.fromEntries(sequences.rows.map(({ name, last }) => [name, last])),
  };
}

async function* contentOf(url: string, version: string): AsyncGenerator<TableText> {
  const client = await connect(url);
  let written = 0;
  async function* copies(): AsyncGenerator<TablePart> {
    for (const { name, columns } of await listTables(client)) {
      const rows = client.query(copyTo(`copy ${name} (${columns.join(', ')}) to stdout`));
      // If the output fails, nobody reads this stream to its end, and the connection is closed before that.
      rows.on('error', () => {});
      yield { table: { Table: name, Columns: columns } satisfies z.input<typeof table>, rows };
      written += rows.rowCount;
    }
  }
  try {
    // Keeps migrations out: the lock is taken before the snapshot.
    await client.query('begin isolation level repeatable read; lock table kysely_migration in share mode');
    yield { head: await describe(client, version), tables: copies(), rows: () => written };
  } catch (error) {
    if (codeOf(error) === '42P01')
      throw new Conflict('There is nothing to back up: this database has no schema yet. Run "roomgate migrate".');
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Writes the database to `target`: a file, which appears complete or not at all, or a stream, which stays open.
 * @returns the number of rows
 * @throws Conflict when the file exists
 */
export const writeBackup = (url: string, version: string, target: string | Writable): Promise<number> =>
  writeTableFile(target, contentOf(url, version));

/** Reads the whole file once. @throws InvalidInput when it is not a backup, truncated or damaged */
export const inspectBackup = (file: string): Promise<Backup> => inspectTableFile(file, backupShapes);
