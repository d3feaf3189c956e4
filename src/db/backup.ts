/**
 * The whole database as a file: what PostgreSQL's COPY tells of all tables at one moment, compressed. The first line is JSON and says
 * what it is, a line of JSON before the rows of each table how they are called; the last one has a sum over all before it. Secrets
 * are in it as they are stored: hashed or sealed with the Pepper, which is not in it.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { z } from 'zod';
import { Conflict, InvalidInput } from '../errors.ts';
import { codeOf } from '../flow/database-errors.ts';
import { connecting } from './database.ts';
import { PrimaryClient } from './hosts.ts';
import { linesOf } from './lines.ts';

export const head = z.object({
  Roomgate: z.literal('backup'),
  Format: z.literal(1),
  /** The release that has written it. */
  Version: z.string(),
  WrittenAt: z.string(),
  /** Those of the schema, in their order, and how many the queue library has applied. */
  Migrations: z.array(z.string()).min(1),
  Queue: z.int(),
  Sequences: z.record(z.string(), z.string()),
});
export const table = z.object({ Table: z.string(), Columns: z.array(z.string()) });
export const end = z.object({ End: z.literal(true), Rows: z.int(), Sum: z.string() });

export type Backup = z.output<typeof head>;

/** How COPY ends the rows of a table in a file. */
export const endOfRows = '\\.';

export async function connect(url: string): Promise<pg.Client> {
  const client = new PrimaryClient({ ...connecting(url), application_name: 'roomgate backup' });
  client.on('error', () => {});
  await client.connect();
  // The reader of a pipe, or a disk, may take its time.
  await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0');
  return client;
}

type StoredTable = { name: string; columns: string[] };

/** The tables with data of their own, as SQL names them; those of the migrations say what the schema is. */
export async function listTables(client: pg.Client): Promise<StoredTable[]> {
  const { rows } = await client.query<StoredTable>(`
    select class.oid::regclass::text as name,
      array(
        select quote_ident(attname) from pg_attribute
        where attrelid = class.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum
      ) as columns
    from pg_class class
    where class.relnamespace in ('public'::regnamespace, 'graphile_worker'::regnamespace)
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
  // Not of one moment, but not before that of the rows: no id is given twice.
  const sequences = await client.query<{ name: string; last: string }>(`
    select format('%I.%I', schemaname, sequencename) as name, last_value::text as last from pg_sequences
    where schemaname in ('public', 'graphile_worker') and last_value is not null`);
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

/** The text of a backup. @param told gets the number of rows */
async function* textOf(url: string, version: string, told: (rows: number) => void): AsyncGenerator<Buffer> {
  const client = await connect(url);
  const sum = createHash('sha256');
  const summed = (text: Buffer) => {
    sum.update(text);
    return text;
  };
  const line = (record: unknown) => Buffer.from(`${JSON.stringify(record)}\n`);
  try {
    // A migration gives way meanwhile: the lock comes before the moment that all of this tells of.
    await client.query('begin isolation level repeatable read; lock table kysely_migration in share mode');
    yield summed(line((await describe(client, version)) satisfies z.input<typeof head>));
    let written = 0;
    for (const { name, columns } of await listTables(client)) {
      yield summed(line({ Table: name, Columns: columns } satisfies z.input<typeof table>));
      const rows = client.query(copyTo(`copy ${name} (${columns.join(', ')}) to stdout`));
      for await (const chunk of rows) yield summed(chunk as Buffer);
      written += rows.rowCount;
      yield summed(Buffer.from(`${endOfRows}\n`));
    }
    yield line({ End: true, Rows: written, Sum: sum.digest('hex') } satisfies z.input<typeof end>);
    told(written);
  } catch (error) {
    if (codeOf(error) === '42P01')
      throw new Conflict('There is nothing to back up: this database has no schema yet. Run "roomgate migrate".');
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Writes the database to `target`: a file, which is there completely or not at all, or a stream, which stays open.
 * @returns how many rows it has
 * @throws Conflict when the file is there already
 */
export async function writeBackup(url: string, version: string, target: string | Writable): Promise<number> {
  let rows = 0;
  const text = Readable.from(textOf(url, version, (count) => (rows = count)));
  if (typeof target !== 'string') {
    await pipeline(text, createGzip(), target, { end: false });
    return rows;
  }
  if (fs.existsSync(target)) throw new Conflict(`${target} is there already; name another file, or remove it.`);
  const part = `${target}.${process.pid}.part`;
  try {
    await pipeline(text, createGzip(), fs.createWriteStream(part, { mode: 0o600, flush: true }));
    // Unlike a rename it replaces nothing that has appeared meanwhile.
    fs.linkSync(part, target);
  } finally {
    fs.rmSync(part, { force: true });
  }
  return rows;
}

const damaged = (file: string, what: string) => new InvalidInput(`${file}: ${what}. Nothing was changed.`);

export function read<Shape extends z.ZodType>(shape: Shape, line: string | undefined): z.output<Shape> | undefined {
  try {
    return shape.safeParse(JSON.parse(line ?? '')).data;
  } catch {
    return undefined;
  }
}

/** The lines of the file. @throws InvalidInput when it cannot be read, or is cut off */
export async function* readLines(file: string): AsyncGenerator<string> {
  const source = fs.createReadStream(file);
  const input = createGunzip();
  source.on('error', (error) => input.destroy(error)).pipe(input);
  try {
    yield* linesOf(input);
  } catch (error) {
    throw damaged(file, `it cannot be read, is cut off or damaged, or is no backup: ${(error as Error).message}`);
  } finally {
    source.destroy();
    input.destroy();
  }
}

/** Reads the whole file once. @throws InvalidInput when it is not a backup, or not as it was written */
export async function inspectBackup(file: string): Promise<Backup> {
  const sum = createHash('sha256');
  let first: Backup | undefined;
  let before: string | undefined;
  for await (const line of readLines(file)) {
    if (before === undefined) first = read(head, line);
    else sum.update(before).update('\n');
    if (!first) throw damaged(file, 'it is not a backup of roomgate');
    before = line;
  }
  if (!first) throw damaged(file, 'it is empty');
  const last = read(end, before);
  if (!last) throw damaged(file, 'it is cut off');
  if (last.Sum !== sum.digest('hex')) throw damaged(file, 'it is not as it was written');
  return first;
}
