import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Context } from '../../src/context.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { ensureDemo } from '../../src/demo/service.ts';
import { openLog } from '../../src/log.ts';
import * as tenants from '../../src/tenants/service.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;

beforeEach(async () => {
  clone = await cloneDatabase();
  db = openDatabase(clone.url, { max: 5, log: openLog('silent'), statementTimeout: 5_000 });
});
afterEach(async () => {
  await db.destroy();
  await clone.drop();
});

const contextWith = (settings: { DemoPin?: string } = {}) =>
  ({ db, config: { Pepper: 'a pepper of thirty-two characters', ...settings } }) as unknown as Context;
const listPins = () =>
  db
    .selectFrom('pin')
    .innerJoin('person', 'person.id', 'pin.person_id')
    .select(['person.email', 'person.role', 'pin.label'])
    .execute();
const listTenants = async () => (await db.selectFrom('mandator').select('code').execute()).map(({ code }) => code);

test('the first run makes the tenant and one PIN of somebody who may import', async () => {
  const pin = await ensureDemo(contextWith());
  expect(await listTenants()).toEqual(['demo']);
  expect(pin).toMatch(/^[0-9A-Z]{5}(-[0-9A-Z]{5}){3}$/);
  expect(await listPins()).toEqual([{ email: 'stundenplan@demo.example', role: 'Admin', label: 'Demo' }]);
});

test('the next run changes nothing, even where the tenant has been changed since', async () => {
  await ensureDemo(contextWith());
  await db.updateTable('mandator').set({ name: 'Ours' }).execute();
  expect(await ensureDemo(contextWith())).toBeUndefined();
  expect(await tenants.getMandator(db, 'demo')).toMatchObject({ name: 'Ours' });
  expect(await listPins()).toHaveLength(1);
});

test('a database with a tenant of its own gets no demo, with DemoPin or without', async () => {
  await tenants.applyTenantFile(db, tenants.readTenantFile({ Mandator: 'ours', Name: 'Ours' }));
  expect(await ensureDemo(contextWith())).toBeUndefined();
  expect(await ensureDemo(contextWith({ DemoPin: 'DEMO-1234' }))).toBeUndefined();
  expect([await listTenants(), await listPins()]).toEqual([['ours'], []]);
});

test('eight first runs at once are one', async () => {
  const runs = await Promise.all(Array.from({ length: 8 }, () => ensureDemo(contextWith({ DemoPin: 'DEMO-1234' }))));
  expect(runs.filter((pin) => pin !== undefined)).toEqual(['DEMO-1234']);
  expect(await listPins()).toHaveLength(1);
});

test('DemoPin fixes the PIN, and counts from a later start on too', async () => {
  await ensureDemo(contextWith());
  expect(await ensureDemo(contextWith({ DemoPin: 'DEMO-1234' }))).toBeUndefined();
  expect(await listPins()).toHaveLength(2);
  expect(await ensureDemo(contextWith({ DemoPin: 'DEMO-1234' }))).toBeUndefined();
  expect(await listPins()).toHaveLength(2);
});

test('a DemoPin that is too short leaves nothing behind', async () => {
  await expect(ensureDemo(contextWith({ DemoPin: '123' }))).rejects.toMatchObject({ code: 'InvalidInput' });
  expect(await listTenants()).toEqual([]);
});
