/** On a server whose own locale knows only ASCII: the database that takes the place of another one has its locale. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { writeBackup } from '../../src/db/backup.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { listKnown, migrate } from '../../src/db/migrate.ts';
import { rehearse } from '../../src/db/rehearsal.ts';
import { restoreBackup } from '../../src/db/restore.ts';
import { atDatabase } from '../../src/flow/database-urls.ts';
import { openLog } from '../../src/log.ts';
import { migrateQueue } from '../../src/worker/queue.ts';
import { type DatabaseServer, startDatabaseServer } from '../_util/database-server.ts';
import { ask } from '../_util/streaming.ts';

const log = openLog('silent');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'backup-'));
const file = path.join(folder, 'roomgate.backup');
let server: DatabaseServer;

beforeAll(async () => {
  server = await startDatabaseServer();
  // As `initdb --locale=C --encoding=SQL_ASCII` leaves it.
  const ascii = "encoding = pg_char_to_encoding('SQL_ASCII'), datcollate = 'C', datctype = 'C'";
  await ask(server.url, `update pg_database set ${ascii} where datname = 'template0'`);
  await withDatabase(server.url, async (db) => {
    await migrate(db, log);
    await migrateQueue(db);
    await sql`insert into mandator (code, name) values ('muni', 'Ärztehaus')`.execute(db);
  });
  await writeBackup(server.url, '0.1.0', file);
});
afterAll(async () => {
  await server?.remove();
  fs.rmSync(folder, { recursive: true });
});

async function withDatabase(url: string, work: (db: Database) => Promise<void>): Promise<void> {
  const db = openDatabase(url, { max: 1, log, statementTimeout: 0 });
  try {
    await work(db);
  } finally {
    await db.destroy();
  }
}

/** @returns the URL of a new database */
async function create(options: string): Promise<string> {
  const name = `rooms_${randomUUID().slice(0, 8)}`;
  await ask(server.url, `create database ${name} template template0 encoding 'UTF8' ${options}`);
  return atDatabase(server.url, name);
}

const restore = (url: string) =>
  restoreBackup(url, {
    file,
    force: false,
    log,
    prepareQueue: migrateQueue,
    finish: async (db) => void (await migrate(db, log)),
  });

const describeDatabase = (url: string) =>
  ask(
    url,
    `select pg_encoding_to_char(encoding) as encoding, datlocprovider, datcollate, datctype, datlocale, daticurules
     from pg_database where datname = current_database()`,
  );

test.each([
  ["lc_collate 'C' lc_ctype 'C.UTF-8'"],
  ["locale_provider builtin builtin_locale 'C.UTF-8'"],
  ["locale_provider icu icu_locale 'de-AT' icu_rules '&V << w <<< W'"],
])('a restore, with %s', async (options) => {
  const url = await create(options);
  const before = await describeDatabase(url);
  await restore(url);
  expect(await describeDatabase(url)).toEqual(before);
  expect(await ask(url, "select name from mandator where lower(name) = 'ärztehaus'")).toEqual([{ name: 'Ärztehaus' }]);
});

test('a rehearsal of migrations', async () => {
  const last = listKnown().at(-1)!;
  await ask(server.url, `delete from kysely_migration where name = '${last}'`);
  expect(await rehearse(server.url, log)).toMatchObject([{ migration: last }]);
});

test('a locale that knows only ASCII is refused, and nothing is changed', async () => {
  const url = await create('');
  const identity = () => ask(url, 'select oid from pg_database where datname = current_database()');
  const before = await identity();
  await expect(restore(url)).rejects.toThrow(
    /lower\('Ä'\) is not 'ä'.*Nothing was changed\. Create the database again/,
  );
  expect(await identity()).toEqual(before);
  expect(await ask(url, "select from pg_database where datname like 'roomgate_restore_%'")).toEqual([]);
});
