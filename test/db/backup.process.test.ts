/** A rehearsal: an installation is lost in the middle of its work, and is restored from its backup. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { inspectBackup, writeBackup } from '../../src/db/backup.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { listKnown, migrate, migrateTo, pendingMigrations } from '../../src/db/migrate.ts';
import { rehearse } from '../../src/db/rehearsal.ts';
import { restoreBackup } from '../../src/db/restore.ts';
import { atDatabase } from '../../src/flow/database-urls.ts';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { type Server, startServer } from '../../src/server.ts';
import { migrateQueue } from '../../src/worker/queue.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';
import { longWindow, testConfig } from '../_util/service.ts';
import { ask } from '../_util/streaming.ts';
import { tokenFor } from '../_util/token.ts';
import { makeCalendar, sparing, waiting } from '../mail/_util/rows.ts';

const main = path.join(import.meta.dirname, '..', '..', 'src', 'main.js');
const log = openLog('silent');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'backup-'));
const file = path.join(folder, 'roomgate.backup');
const mailbox = 'aula@mail.example';
const subject = 'Sitzung\u2028Teil\t2 \\. \\N \r Ü';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let server: Server | undefined;

beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(async () => {
  await releaseAll();
  await server?.stop();
  await database?.drop();
  fs.rmSync(folder, { recursive: true });
});

async function start(): Promise<string> {
  const settings = { BaseUrl: 'http://rooms.example', IdpUrl: 'http://rooms.example', ...sparing(mailbox) };
  server = await startServer(testConfig(database.url, settings), log, { rateWindow: longWindow });
  await server.ready;
  return `http://127.0.0.1:${server.context.config.Port}`;
}

/** The command line, as a process of its own. */
function roomgate(words: readonly string[], settings: Record<string, string | undefined> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
    env: { PATH: process.env['PATH'], DatabaseUrl: database.url, Pepper: pepper, ...settings },
    encoding: 'utf8',
  });
  return { status, text: stdout + stderr };
}

/** The lines between the first, which has the time, and the last, which has the sum. */
const contentOf = (name: string) => gunzipSync(fs.readFileSync(name)).toString().split('\n').slice(1, -2);

async function withDatabase<T>(work: (db: Database) => Promise<T>, url = database.url): Promise<T> {
  const db = openDatabase(url, { max: 1, log, statementTimeout: 0 });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

/** A session ends some time after its connection, which may be more than a restore waits for. */
const untilUnused = (url = database.url) =>
  until('nobody uses the database', async () => {
    const name = new URL(url).pathname.slice(1);
    const users = await ask(atDatabase(url, 'postgres'), `select from pg_stat_activity where datname = '${name}'`);
    return users.length === 0;
  });

/** Restores the backup, as a process of its own, once nobody uses the database. */
async function restoreByForce(settings: Record<string, string | undefined> = {}, ...options: string[]) {
  await untilUnused();
  return roomgate(['restore', file, '--force', ...options], settings);
}

const countBookings = (db: Database) =>
  db
    .selectFrom('booking')
    .select(({ fn }) => fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();

/** Databases that a restore has made, and not removed. */
const leftovers = async () =>
  await withDatabase(
    async (db) => (await sql`select from pg_database where datname like 'roomgate_restore_%'`.execute(db)).rows.length,
  );

test('an installation comes back as it was at its backup, and continues', async () => {
  let url = await start();
  const { db } = server!.context;
  const tenant = await makeTenant(db);
  const { mandatorId } = tenant;
  const room = tenant.resources[0]!.id;
  const [booking] = await insertBookings(db, mandatorId, room);
  await db.updateTable('booking').set({ subject }).where('id', '=', booking!).execute();
  const calendar = await makeCalendar(
    db,
    { mandatorId, resourceId: room },
    { mailbox },
    `cursor = 'read so far', ${waiting}`,
  );
  const { pin } = await createPin(db, pepper, { mandatorId, personId: tenant.person('Importer').id });
  const token = await tokenFor(url, pin);
  const get = async (place: string) => {
    const init = { headers: { Authorization: `Bearer ${token}` } };
    const response = await fetch(`${url}/${tenant.code}/api/v1.0/${place}`, init);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const known = String((await get('changes?Cursor=now')).body['NextCursor']);

  // A batch waits in the middle of its work.
  const release = await hold(db, (trx) =>
    sql`select from resource where mandator_id = ${mandatorId} for update`.execute(trx),
  );
  const client = () => lessonClient({ url, tenant }, token);
  const reaches = async (batchId: string, status: string) =>
    await until(
      `${batchId} is ${status}`,
      async () => (await client().get(`/batches/${batchId}`)).ImportStatus === status,
    );
  const accepted = await client().post(makeJobs(3, { prefix: 'lost' }));
  const { BatchId } = (await accepted.json()) as { BatchId: string };
  await reaches(BatchId, 'AwaitingLessonProcessing');

  const rows = await writeBackup(database.url, '0.1.0', file);
  expect(rows).toBeGreaterThan(10);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(fs.readdirSync(folder)).toEqual(['roomgate.backup']);
  await expect(writeBackup(database.url, '0.1.0', file)).rejects.toThrow('already exists');
  expect(gunzipSync(fs.readFileSync(file)).includes(pepper)).toBe(false);

  // What happens after the backup is lost.
  await release();
  await reaches(BatchId, 'LessonsCreated');
  await insertBookings(db, mandatorId, room, { first: 10 });
  const lost = String((await get('changes?Cursor=now')).body['NextCursor']);
  expect(roomgate(['restore', file])).toEqual({ status: 1, text: expect.stringContaining('--force discards them') });
  expect(roomgate(['restore', file, '--force'])).toEqual({ status: 1, text: expect.stringContaining('is in use') });
  await server!.stop();
  server = undefined;
  const before = await withDatabase(countBookings);

  expect(await restoreByForce({ Pepper: undefined })).toEqual({
    status: 78,
    text: expect.stringContaining('Pepper: is missing'),
  });
  const another = { Pepper: 'of another installation, 32 letters' };
  expect(await restoreByForce(another)).toEqual({
    status: 78,
    text: expect.stringContaining('Pepper: is not that of the backup'),
  });
  expect(await withDatabase(countBookings)).toEqual(before);
  expect((await restoreByForce(another, '--forget-pepper')).status).toBe(0);
  expect(await withDatabase((db) => db.selectFrom('pepper').selectAll().execute())).toEqual([]);
  const live = (db: Database) => db.selectFrom('pin').select('id').where('revoked_at', 'is', null).execute();
  expect(await withDatabase(live)).toEqual([]);
  expect(await restoreByForce()).toEqual({
    status: 0,
    text: expect.stringMatching(`^${rows} rows restored, as of \\S+ \\(roomgate 0\\.1\\.0\\)\\.\n$`),
  });
  expect(await leftovers()).toBe(0);
  const pipe = new PassThrough();
  const [again] = await Promise.all([buffer(pipe), writeBackup(database.url, '0.1.0', pipe).finally(() => pipe.end())]);
  fs.writeFileSync(path.join(folder, 'again'), again);
  expect(contentOf(path.join(folder, 'again'))).toEqual(contentOf(file));
  const left = new Writable({ write: (_chunk, _encoding, done) => done(new Error('the reader has left')) });
  await expect(writeBackup(database.url, '0.1.0', left)).rejects.toThrow(
    'The output cannot be written: the reader has',
  );
  expect(roomgate(['backup', path.join(folder, 'other')], another)).toEqual({
    status: 0,
    text: expect.stringContaining('which is not the Pepper of this database'),
  });

  url = await start();
  const restored = server!.context.db;
  await reaches(BatchId, 'LessonsCreated');
  expect((await get(`bookings/${booking}`)).status).toBe(200);
  const kept = await restored.selectFrom('booking').select('subject').where('id', '=', booking!).executeTakeFirst();
  expect(kept).toEqual({ subject });
  expect(await get(`changes?Cursor=${known}`)).toMatchObject({ status: 200, body: { HasMore: false } });
  expect(await get(`changes?Cursor=${lost}`)).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('restored from a backup') },
  });
  const read = await restored.selectFrom('mail_calendar').select(['id', 'cursor']).executeTakeFirst();
  expect(read).toEqual({ id: calendar, cursor: 'read so far' });
  const [later] = await insertBookings(restored, mandatorId, room, { first: 20 });
  expect(later).toBeGreaterThan(booking!);
});

describe('a file is refused before anything is changed', () => {
  const restore = (name: string) =>
    restoreBackup(database.url, {
      file: name,
      force: true,
      log,
      prepareQueue: () => Promise.reject(new Error('too far')),
      finish: () => Promise.reject(new Error('too far')),
    });

  test.each<[string, (whole: Buffer, text: string) => Buffer | undefined, string]>([
    ['that is not there', () => undefined, 'no such file or directory'],
    ['that is cut off', (whole) => whole.subarray(0, whole.length / 2), 'is truncated or damaged'],
    ['that is nothing of the kind', () => Buffer.from('-- PostgreSQL database dump'), 'is not a backup'],
    ['that is empty', () => gzipSync(''), 'it is empty'],
    ['of a tenant alone', () => gzipSync('{"Roomgate":"tenant","Version":1}\n'), 'it is not a backup of roomgate'],
    ['without its end', (_, text) => gzipSync(text.slice(0, -100)), 'it is truncated'],
    ['that somebody has changed', (_, text) => gzipSync(text.replace('Sitzung', 'Zitsung')), 'it has been changed'],
  ])('%s', async (name, make, message) => {
    const bytes = make(fs.readFileSync(file), gunzipSync(fs.readFileSync(file)).toString());
    const broken = path.join(folder, name);
    if (bytes) fs.writeFileSync(broken, bytes);
    await expect(restore(broken)).rejects.toThrow(message);
    await expect(inspectBackup(broken)).rejects.toThrow('Nothing was changed.');
  });
});

test('a backup of an earlier schema is brought up to date; one of a later schema is refused', async () => {
  const empty = await cloneDatabase();
  const old = path.join(folder, 'old');
  try {
    const known = listKnown();
    const url = empty.url;
    await withDatabase(async (db) => {
      await sql`drop schema public cascade; create schema public; drop schema graphile_worker cascade`.execute(db);
      await migrateTo(db, known.at(-2)!);
      await migrateQueue(db);
      await sql`insert into mandator (code, name) values ('old', 'Old')`.execute(db);
    }, url);
    await writeBackup(url, '0.0.9', old);
    await withDatabase((db) => sql`insert into kysely_migration values ('999999_later', '2030')`.execute(db), url);
    await writeBackup(url, '9.9.9', path.join(folder, 'later'));
    const restore = async (name: string) => {
      await untilUnused(url);
      return await restoreBackup(url, {
        file: name,
        force: true,
        log,
        prepareQueue: migrateQueue,
        finish: async (db) => void (await migrate(db, log)),
      });
    };
    await expect(restore(path.join(folder, 'later'))).rejects.toThrow('written by roomgate 9.9.9, whose schema');
    expect((await restore(old)).Version).toBe('0.0.9');
    await withDatabase(async (db) => {
      expect(await pendingMigrations(db)).toEqual([]);
      expect(await db.selectFrom('mandator').select('code').execute()).toEqual([{ code: 'old' }]);
    }, url);
  } finally {
    await empty.drop();
  }
});

test('who may not is told what it needs, and nothing is changed', async () => {
  const copy = await cloneDatabase();
  const role = `weak_${randomUUID().slice(0, 8)}`;
  const weak = new URL(copy.url);
  [weak.username, weak.password] = [role, 'weak'];
  const file = path.join(folder, 'refused');
  try {
    await writeBackup(copy.url, '0.1.0', file);
    await expect(writeBackup(copy.url, '0.1.0', path.join(folder, 'none', 'x'))).rejects.toThrow('cannot be written');
    await withDatabase(async (db) => {
      await sql
        .raw(`create role ${role} login password 'weak'; grant select on all tables in schema public to ${role}`)
        .execute(db);
      const last = listKnown().at(-1);
      await sql`delete from kysely_migration where name = ${last}`.execute(db);
    }, copy.url);
    const restoring = restoreBackup(weak.href, {
      file,
      force: true,
      log,
      prepareQueue: migrateQueue,
      finish: async () => {},
    });
    await expect(restoring).rejects.toThrow('restore needs a superuser');
    await withDatabase((db) => expect(migrate(db, log)).rejects.toThrow('Make it the owner'), weak.href);
    await expect(rehearse(weak.href, log)).rejects.toThrow('createdb');
  } finally {
    await withDatabase((db) => sql.raw(`drop owned by ${role}; drop role ${role}`).execute(db), copy.url);
    await copy.drop();
  }
});
