import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { deleteTenant, readArchive, writeArchive } from '../../src/cells/service.ts';
import { listTenantTables, sumUp } from '../../src/cells/tables.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { makeTenant } from '../_util/factories.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
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
  await expect(writeArchive(db, 'school', file)).rejects.toThrow('is there already');
  await expect(readArchive(db, file)).rejects.toThrow('is here already');

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
    ['cut', bytes.subarray(0, bytes.length / 2), 'is cut off or damaged'],
    ['missing', undefined, 'ENOENT'],
    ['no-gzip', Buffer.from('{}'), 'is cut off or damaged'],
    ['empty', gzipSync(''), 'is not the archive of a tenant'],
    ['short', gzipSync(lines.slice(0, -200).join('\n')), 'is cut off'],
    ['strange', gzipSync([lines[0], '{"Table":"pg_class","Rows":1}', '{}'].join('\n')), 'is cut off or damaged'],
    ['older', gzipSync(lines.join('\n').replace('000078', '000000')), 'was written by another release'],
  ];
  for (const [name, content, message] of damaged) {
    const broken = path.join(folder, name);
    if (content) fs.writeFileSync(broken, content);
    await expect(readArchive(db, broken)).rejects.toThrow(message);
  }
  expect(await sql`select from mandator where code = 'school'`.execute(db)).toMatchObject({ rows: [] });

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
