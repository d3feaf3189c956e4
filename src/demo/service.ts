/** The demo tenant, for the first start on an empty database. */
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { Conflict, NotFound } from '../errors.ts';
import { createPin, pepperOf } from '../identity/service.ts';
import { type BatchRecord, openBatchClient } from '../lessons/service.ts';
import { getPerson, readTenantFile, type TenantFile, writeTenant } from '../tenants/service.ts';
import { addDays } from '../time/days.ts';
import { demoTimetable } from './timetable.ts';

export type Example = { resourceId: number; resourceName: string; locationId: number; locationName: string };

export function readDemoTenant(): TenantFile {
  return readTenantFile(JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'tenant.json'), 'utf8')));
}

/**
 * Creates the demo tenant and a PIN of the person who imports its timetable, if the database has no tenant; exactly one of
 * several processes does so. The PIN is the setting DemoPin, if set; later starts create a missing DemoPin too.
 * @returns the PIN on the first run alone
 * @throws InvalidInput for a DemoPin that is too short
 */
export async function ensureDemo({ db, config }: Context): Promise<string | undefined> {
  const file = readDemoTenant();
  const makePin = async (executor: Database) => {
    const { mandatorId, personId } = await getPerson(executor, file.Mandator, importerEmail());
    const options = { mandatorId, personId, label: 'Demo', pin: config.DemoPin };
    return await createPin(executor, pepperOf(config), options);
  };

  const made = await db.transaction().execute(async (trx) => {
    const anyTenant = () => trx.selectFrom('mandator').select('id').limit(1).executeTakeFirst();
    if (await anyTenant()) return undefined;
    // The lock waits for concurrent creations of tenants and blocks new ones.
    await sql`lock table mandator in share row exclusive mode`.execute(trx);
    if (await anyTenant()) return undefined;
    await writeTenant(trx, file);
    return await makePin(trx);
  });
  if (made) return made.pin;

  if (config.DemoPin)
    await makePin(db).catch((error: unknown) => {
      // The PIN exists already, or the database has other tenants than the demo tenant.
      if (!(error instanceof Conflict || error instanceof NotFound)) throw error;
    });
  return undefined;
}

/** The e-mail address of the person who imports the demo timetable. */
export function importerEmail(): string {
  return readDemoTenant().Persons.find(({ Role }) => Role !== 'Display')?.Email ?? '';
}

/** Whether the demo tenant exists and has no batch. */
export async function awaitsTimetable(db: Database): Promise<boolean> {
  const tenant = await db
    .selectFrom('mandator')
    .select(({ exists, selectFrom }) =>
      exists(selectFrom('batch').whereRef('batch.mandator_id', '=', 'mandator.id').select('batch.id')).as('imported'),
    )
    .where('code', '=', readDemoTenant().Mandator)
    .executeTakeFirst();
  return tenant?.imported === false;
}

/** The room of the example lesson. */
export function exampleRoom(): string {
  return readDemoTenant().Locations[0]?.Resources[0]?.Name ?? '';
}

/** The date of the example lesson, in half a year, when the room is free. */
export const exampleDate = (today: Date): string => addDays(today.toISOString().slice(0, 10), 182);

/** Finds the room of the example lesson and its location; undefined if the database has no demo tenant. */
export async function findExample(db: Database): Promise<Example | undefined> {
  const { Mandator, Locations } = readDemoTenant();
  return await db
    .selectFrom('mandator')
    .innerJoin('location', 'location.mandator_id', 'mandator.id')
    .innerJoin('resource', (join) =>
      join.onRef('resource.mandator_id', '=', 'location.mandator_id').onRef('resource.location_id', '=', 'location.id'),
    )
    .select(['resource.id as resourceId', 'resource.name as resourceName'])
    .select(['location.id as locationId', 'location.name as locationName'])
    .where('mandator.code', '=', Mandator)
    .where('location.name', '=', Locations[0]?.Name ?? '')
    .where('resource.name', '=', exampleRoom())
    .executeTakeFirst();
}

/**
 * Imports the demo timetable through the REST API and waits until the batch has ended.
 * @param onChange is called with the batch after each change
 */
export async function importTimetable(
  api: Parameters<typeof openBatchClient>[0],
  today: Date,
  onChange: (batch: BatchRecord) => void,
): Promise<BatchRecord> {
  const client = openBatchClient(api);
  const timetable = demoTimetable(today, readDemoTenant());
  const { BatchId } = await client.postJobs(
    'create',
    new Blob([JSON.stringify(timetable)], { type: 'application/json' }),
  );
  return await client.followBatch(BatchId, onChange);
}
