import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { deleteTenant, readArchive, writeArchive } from '../../src/cells/service.ts';
import { listTenantTables, sumUp } from '../../src/cells/tables.ts';
import { openDatabase } from '../../src/db/database.ts';
import { lockClasses } from '../../src/flow/locks.ts';
import { openLog } from '../../src/log.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { makeTenant } from '../_util/factories.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let folder: string;

beforeAll(async () => {
  service = await startService();
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'archive-'));
});
afterAll(async () => {
  fs.rmSync(folder, { recursive: true });
  await service?.stop();
});

/** A file of these lines, with an end that fits. */
function seal(lines: string[]): Buffer {
  const text = lines.map((line) => `${line}\n`).join('');
  const Sum = createHash('sha256').update(text).digest('hex');
  // The head and the lines around the rows are no rows.
  const Rows = lines.filter((line) => !/^(\{"(Roomgate|Table)"|\\\.$)/.test(line)).length;
  return gzipSync(`${text}${JSON.stringify({ End: true, Rows, Sum })}\n`);
}

test('a tenant is the same after it was written into a file, removed and read again', async () => {
  const { db } = service.context;
  const { tenant } = service;
  const other = await makeTenant(db, { code: 'other' });
  await insertBookings(db, other.mandatorId, other.resources[0]!.id);
  await insertBookings(db, tenant.mandatorId, tenant.resources[0]!.id, { count: 1_500, kind: 'Block' });
  // A text may have what other programs take for the end of a line.
  const subject = 'one\u2028two\rthree';
  await db.updateTable('booking').set({ subject }).where('mandator_id', '=', tenant.mandatorId).execute();
  const token = await service.signIn(tenant, 'Importer');
  await lessonClient(service, token).importJobs(makeJobs(3, { prefix: 'archived' }));
  const file = path.join(folder, 'school.gz');
  const { rows } = await writeArchive(db, 'school', file);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  await expect(writeArchive(db, 'school', file)).rejects.toThrow('already exists');
  await expect(readArchive(db, file)).rejects.toThrow(/^The tenant school exists here already\. Nothing was changed\./);
  // Another has its Id.
  await db.updateTable('mandator').set({ code: 'college' }).where('code', '=', 'school').execute();
  await expect(readArchive(db, file)).rejects.toThrow(
    `The tenant college here has the Id ${tenant.mandatorId} of school. Nothing was changed.`,
  );
  await db.updateTable('mandator').set({ code: 'school' }).where('code', '=', 'college').execute();

  const removed = await deleteTenant(db, 'school');
  expect(removed.rows).toBeGreaterThanOrEqual(1_500);
  const tables = await listTenantTables(db);
  const before = Object.values(await sumUp(db, tables, tenant.mandatorId));
  expect(before.every(({ rows: left }) => left === 0)).toBe(true);
  expect((await sumUp(db, tables, other.mandatorId))['booking']?.rows).toBe(1);

  // What is damaged is refused, and leaves nothing behind.
  const bytes = fs.readFileSync(file);
  const lines = gunzipSync(bytes).toString().split('\n');
  const damaged: [string, Buffer | undefined, string][] = [
    ['cut', bytes.subarray(0, bytes.length / 2), 'is truncated or damaged'],
    ['missing', undefined, 'no such file or directory'],
    ['no-gzip', Buffer.from('{}'), 'is truncated or damaged'],
    ['empty', gzipSync(''), 'is empty'],
    ['backup', gzipSync('{"Roomgate":"backup","Format":1}\n'), 'is not the archive of a tenant'],
    ['short', gzipSync(lines.slice(0, -200).join('\n')), 'is truncated'],
    ['strange', gzipSync([lines[0], '{"Table":"pg_class"}', '{}'].join('\n')), 'the table pg_class'],
    ['changed', gzipSync(lines.join('\n').replace('two\\rthree', 'two\\rfour')), 'it has been changed'],
    ['longer', gzipSync(`${lines.join('\n')}{}`), 'it has been changed'],
    ['older', gzipSync(lines.join('\n').replace('000078', '000000')), 'was written by another release'],
  ];
  for (const [name, content, message] of damaged) {
    const broken = path.join(folder, name);
    if (content) fs.writeFileSync(broken, content);
    await expect(readArchive(db, broken)).rejects.toThrow(message);
  }
  expect(await sql`select from mandator where code = 'school'`.execute(db)).toMatchObject({ rows: [] });

  // Nor does a file that somebody has made write for others, or half a tenant.
  const text = lines.slice(0, -2);
  const foreign = text.map((line) => line.replace(/"mandator_id": \d+/, `"mandator_id": ${other.mandatorId}`));
  const headless = text.filter((line) => !line.includes('"code": "school"'));
  const made: [string[], string][] = [
    [foreign, 'that do not belong to the tenant school'],
    [
      text.map((line) => line.replace('"code": "school"', '"code": "college"')),
      'does not contain the tenant school itself',
    ],
    [headless, 'does not contain the tenant school itself'],
  ];
  for (const [n, [content, message]] of made.entries()) {
    const forged = path.join(folder, `forged-${n}`);
    fs.writeFileSync(forged, seal(content));
    await expect(readArchive(db, forged)).rejects.toThrow(message);
  }
  expect((await sumUp(db, tables, other.mandatorId))['booking']?.rows).toBe(1);

  expect(await readArchive(db, file)).toEqual({ mandator: 'school', rows });
  const again = path.join(folder, 'again.gz');
  await writeArchive(db, 'school', again);
  const [, ...first] = lines;
  const [, ...second] = gunzipSync(fs.readFileSync(again)).toString().split('\n');
  // A batch in flight, and what sweeps do, may have added rows meanwhile.
  const kept = new Set(second);
  expect(first.filter((line) => line.includes('"kind": "Block"') && !kept.has(line))).toEqual([]);
  // Its credentials count again.
  const answer = await fetch(`${service.url}/school/api/v1.0/bookings`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(200);
});

test('a file that is not there, or a folder that is not, is told of in the words of the system alone', async () => {
  const { db } = service.context;
  const file = path.join(folder, 'nowhere', 'file');
  await expect(writeArchive(db, 'school', file)).rejects.toThrow(
    new RegExp(`^${file} cannot be written: no such file or directory\\.$`),
  );
  await expect(readArchive(db, file)).rejects.toThrow(
    new RegExp(`^${file} cannot be read: no such file or directory\\. Nothing was changed\\.$`),
  );
});

test('a tenant that is being moved or removed is neither written into a file nor read from one', async () => {
  const { db } = service.context;
  const { mandatorId } = await makeTenant(db, { code: 'resting' });
  const file = path.join(folder, 'resting.gz');
  await writeArchive(db, 'resting', file);
  await deleteTenant(db, 'resting');
  for (const state of ['Away', 'Coming']) {
    await sql`insert into resting_tenant (mandator_id, code, state) values (${mandatorId}, 'resting', ${state})`.execute(
      db,
    );
    await expect(readArchive(db, file)).rejects.toThrow('is being moved or removed here');
    await expect(writeArchive(db, 'resting', path.join(folder, state))).rejects.toThrow('is incomplete here');
    await sql`delete from resting_tenant`.execute(db);
  }
  expect(fs.readdirSync(folder).filter((name) => name.includes('part'))).toEqual([]);
  await readArchive(db, file);
});

test('a tenant that the role of the database may not remove continues to take writes', async () => {
  const { context, databaseUrl } = service;
  await makeTenant(context.db, { code: 'kept' });
  const role = `plain_${path.basename(databaseUrl)}`;
  await sql`create role ${sql.id(role)} in role current_user`.execute(context.db);
  const db = openDatabase(databaseUrl, { max: 4, log: openLog('silent'), statementTimeout: 0, settings: { role } });
  await expect(deleteTenant(db, 'kept')).rejects.toThrow('grant set on parameter session_replication_role');
  expect(await context.db.selectFrom('resting_tenant').select('code').execute()).toEqual([]);
  await db.destroy();
  await sql`drop role ${sql.id(role)}`.execute(context.db);
});

test('the ids of a restored tenant are not given again, and all its changes have a position in the feed', async () => {
  const { mandatorId, locationId, resources } = await makeTenant(service.context.db, { code: 'back' });
  const { db } = service.context;
  const numbering = await db.startTransaction().execute();
  await sql`select pg_advisory_xact_lock(${lockClasses.placedChanges}::integer, ${mandatorId}::integer)`.execute(
    numbering,
  );
  await insertBookings(db, mandatorId, resources[0]!.id, { count: 5 });
  // An Id that another cell has given.
  await sql`
    insert into resource (mandator_id, id, location_id, name) overriding system value
    values (${mandatorId}, 30000000, ${locationId}, 'of another cell')`.execute(db);
  const file = path.join(folder, 'back.gz');
  await writeArchive(db, 'back', file);
  const empty = await cloneDatabase();
  const there = openDatabase(empty.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
  try {
    await readArchive(there, file);
    const { rows: unplaced } = await sql`select from change where position is null`.execute(there);
    expect(unplaced).toEqual([]);
    const next = await makeTenant(there, { code: 'next' });
    expect(next.mandatorId).toBeGreaterThan(mandatorId);
    expect(next.resources[0]!.id).toBeGreaterThan(resources[1]!.id);
    expect(next.resources[0]!.id).toBeLessThan(10_000_000);
    await insertBookings(there, next.mandatorId, next.resources[0]!.id, { count: 5 });
  } finally {
    await there.destroy();
    await empty.drop();
    await numbering.rollback().execute();
  }
});
