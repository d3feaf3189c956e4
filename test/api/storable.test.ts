/**
 * What PostgreSQL cannot hold is told to whoever sends it, wherever it stands, also without a credential: the places come
 * from the OpenAPI document.
 */
import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { toCursor } from '../../src/db/paging.ts';
import { mostLongId } from '../../src/storable.ts';
import { documentFile } from '../_util/contract.ts';
import { pairDevice } from '../_util/displays.ts';
import { masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Operation = { parameters?: { name?: string }[] };
const { paths } = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
};
/** Every list, by its path below the tenant, with an id of nothing in the place of each id. */
const lists = Object.entries(paths)
  .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'Cursor'))
  .map(([template]) => template.replace('/{mandator}', ''));

let service: Service;
let admin: ReturnType<typeof masterData>;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(() => service.stop());

const feed = (mandator: string, resource: string) =>
  fetch(`${service.url}/${mandator}/api/v1.0/resources/${resource}/calendar.ics?token=x`);

test.each([
  ['tenant', 'sch%00ool', '1'],
  ['resource', 'school', '1%00'],
])('U+0000 in the %s of a calendar feed: 401 without a token that counts', async (_of, mandator, resource) => {
  expect((await feed(mandator, resource)).status).toBe(401);
});

describe('a cursor past what ids may be', () => {
  test.each(lists)('%s: the fault of whoever sends it, or the end of the list', async (template) => {
    const id = String(service.tenant.resources[0]!.id);
    const address = `${service.url}/school${template.replaceAll(/\{\w+\}/g, id)}`;
    const headers = { Authorization: `Bearer ${admin.token}` };
    const [name = ''] = /[\w-]+$/.exec(template) ?? [];
    const keys = [2 ** 31, mostLongId, 2 ** 63, -1, ['9'.repeat(18), mostLongId], ['1', mostLongId, '\0']];
    for (const key of keys) {
      const cursor = toCursor({ name, keyOf: () => key }, undefined);
      const { status } = await fetch(`${address}?Cursor=${cursor}`, { headers });
      expect({ key, isFault: status >= 500 }).toEqual({ key, isFault: false });
    }
  });
});

test('a version past those that there are is nobody’s: 412, also where a display extends', async () => {
  const sign = await pairDevice(service, admin, { MayBook: true });
  const start = Math.floor(Date.now() / 60_000) * 60_000;
  const { body: booking } = await sign.post('/bookings', {
    ResourceId: service.tenant.resources[0]!.id,
    Subject: 'Now',
    Start: new Date(start).toISOString(),
    End: new Date(start + 1_800_000).toISOString(),
  });
  const extend = (version: unknown) =>
    sign.post(`/bookings/${booking['Id']}/extend`, { Minutes: 15 }, { 'If-Match': `"${version}"` });
  expect((await extend(9_999_999_999)).status).toBe(412);
  expect((await extend(booking['Version'])).status).toBe(200);
});
