/** The demo tenant, for a first run without any tenant of one's own. */
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

/** The master data of the demo tenant: a tenant file like any other. */
export function readDemoTenant(): TenantFile {
  return readTenantFile(JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'tenant.json'), 'utf8')));
}

/**
 * Creates the demo tenant and a PIN of the person who imports its timetable if, and only if, the database has no tenant
 * at all; of several processes one does. The PIN is the setting DemoPin where there is one, and counts for the tenant's
 * later starts too. It is returned by the first run alone.
 * @throws InvalidInput for a DemoPin that is too short
 */
export async function ensureDemo({ db, config }: Context): Promise<{ firstRun: boolean; pin?: string }> {
  const file = readDemoTenant();
  const makePin = async (executor: Database) => {
    const { mandatorId, personId } = await getPerson(executor, file.Mandator, importerEmail());
    const options = { mandatorId, personId, label: 'Demo', pin: config.DemoPin };
    return await createPin(executor, pepperOf(config), options);
  };

  const made = await db.transaction().execute(async (trx) => {
    const anyTenant = () => trx.selectFrom('mandator').select('id').limit(1).executeTakeFirst();
    if (await anyTenant()) return undefined;
    // Waits for, and keeps out, every other creation of a tenant.
    await sql`lock table mandator in share row exclusive mode`.execute(trx);
    if (await anyTenant()) return undefined;
    await writeTenant(trx, file);
    return await makePin(trx);
  });
  if (made) return { firstRun: true, pin: made.pin };

  if (config.DemoPin)
    await makePin(db).catch((error: unknown) => {
      // It exists, or the tenants of this database are other ones.
      if (!(error instanceof Conflict || error instanceof NotFound)) throw error;
    });
  return { firstRun: false };
}

/** The email of the person who imports the demo timetable. */
export function importerEmail(): string {
  return readDemoTenant().Persons.find(({ Role }) => Role !== 'Display')?.Email ?? '';
}

/** Whether the demo tenant is there and nothing was ever imported into it. */
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

/** A room for a first lesson. */
export function exampleRoom(): string {
  return readDemoTenant().Locations[0]?.Resources[0]?.Name ?? '';
}

/** A date for a first lesson: in half a year, when the room is free. */
export const exampleDate = (today: Date): string => addDays(today.toISOString().slice(0, 10), 182);

/** The room for a first lesson, and its location, in the database; undefined where the tenants are other ones. */
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
 * Sends this week's and the next weeks' lessons of the demo tenant through the REST API, and waits until they are imported.
 * @param onChange told of the batch whenever it has changed
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
