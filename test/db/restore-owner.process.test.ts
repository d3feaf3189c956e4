/** Into a database that belongs to the role of the service or that others use, and of tables in another schema. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { writeArchive } from '../../src/cells/service.ts';
import { writeBackup } from '../../src/db/backup.ts';
import { withDatabase } from '../../src/db/database.ts';
import { startIdsOf } from '../../src/db/id-ranges.ts';
import { migrate } from '../../src/db/migrate.ts';
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
  await withDatabase(server.url, log, async (db) => {
    await migrate(db, log);
    await migrateQueue(db);
    await sql`insert into mandator (code, name) values ('muni', 'Municipal school')`.execute(db);
  });
  await writeBackup(server.url, '0.1.0', file);
});
afterAll(async () => {
  await server?.remove();
  fs.rmSync(folder, { recursive: true });
});

/** @returns the URL of a new database for a superuser */
async function create(options: string): Promise<string> {
  const name = `rooms_${randomUUID().slice(0, 8)}`;
  await ask(server.url, `create database ${name} template template0 locale 'C.UTF-8' ${options}`);
  return atDatabase(server.url, name);
}

const restore = (url: string, options: { file?: string; force?: boolean } = {}) =>
  restoreBackup(url, {
    file,
    force: false,
    ...options,
    log,
    prepareQueue: migrateQueue,
    finish: async (db) => void (await migrate(db, log)),
  });

const owners = `
  select tableowner as owner from pg_tables where schemaname in ('public', 'graphile_worker')
  union select pg_get_userbyid(datdba) from pg_database where datname = current_database()`;

test('what a superuser restores belongs to the owner of the database, who can use and migrate it', async () => {
  await ask(server.url, `create role service login password 'service'`);
  const url = await create('owner service');
  await restore(url);
  expect(await ask(url, owners)).toEqual([{ owner: 'service' }]);
  const service = new URL(url);
  [service.username, service.password] = ['service', 'service'];
  await withDatabase(service.href, log, async (db) => {
    expect(await migrate(db, log)).toEqual([]);
    await sql`alter table mandator add column added int`.execute(db);
    expect(await db.selectFrom('mandator').select('code').execute()).toEqual([{ code: 'muni' }]);
  });
});

test('where the owner is a superuser, it belongs to the role that restores', async () => {
  await ask(server.url, `create role other superuser`);
  const url = await create('owner other');
  await restore(url);
  expect(await ask(url, owners)).toEqual([{ owner: new URL(url).username }]);
});

test('a database with tables of others is replaced only by force', async () => {
  const url = await create('');
  await ask(url, 'create schema wiki', 'create table wiki.page as select 1 as id');
  await expect(restore(url)).rejects.toThrow(
    'has tables of others (wiki.page); --force discards them. Nothing was changed.',
  );
  expect(await ask(url, 'select id from wiki.page')).toEqual([{ id: 1 }]);
  await restore(url, { force: true });
  expect(await ask(url, 'select code from mandator')).toEqual([{ code: 'muni' }]);
});

test('also where they are among the tables of roomgate, which has no tenant yet', async () => {
  const url = await create('');
  await withDatabase(url, log, async (db) => void (await migrate(db, log)));
  await ask(url, 'create table page as select 1 as id');
  await expect(restore(url)).rejects.toThrow(
    'has tables of others (page); --force discards them. Nothing was changed.',
  );
  await ask(url, 'drop table page');
  await restore(url);
  expect(await ask(url, 'select code from mandator')).toEqual([{ code: 'muni' }]);
});

test('a backup and the file of a tenant have the rows of tables in a schema of their own', async () => {
  const url = await create('');
  await ask(
    url,
    'create schema "Rooms"',
    `alter database ${new URL(url).pathname.slice(1)} set search_path = "Rooms", public`,
  );
  const [own, archive] = ['own.backup', 'muni.gz'].map((name) => path.join(folder, name)) as [string, string];
  await withDatabase(url, log, async (db) => {
    await migrate(db, log);
    await migrateQueue(db);
    await startIdsOf(db, 1);
    await sql`insert into mandator (code, name) values ('muni', 'Municipal school')`.execute(db);
    await sql`insert into location (mandator_id, name, time_zone) select id, 'Main', 'UTC' from mandator`.execute(db);
    // The tenant, the location and its change.
    expect(await writeArchive(db, 'muni', archive)).toMatchObject({ rows: 3 });
  });
  await writeBackup(url, '0.1.0', own);
  const other = await create('');
  await restore(other, { file: own });
  const [last] = await ask(other, `select last_value::float8 as last from location_id_seq`);
  expect(await ask(other, 'select name, id from location')).toEqual([{ name: 'Main', id: last!['last'] }]);
  expect(last!['last']).toBe(10_000_001);
});
