/** Applies tenant files. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { InvalidInput } from '../errors.ts';
import { applyHours, type WrittenHours } from '../opening-hours/service.ts';
import { fault, type TenantFile } from './tenant-file.ts';
import { findUnknownZones } from './time-zones.ts';

/** Counts of records: the tenant, its locations, resources and persons. */
export type Applied = { created: number; changed: number; unchanged: number };

type Written = { id: number; fate: keyof Applied };
/** A location (resourceId null) or a resource, with the hours that the file gives it. */
type HoursOwner = Written & {
  locationId: number;
  resourceId: number | null;
  hours: WrittenHours;
};

/**
 * Creates or changes the tenant of a tenant file in one transaction; applying the same file again changes nothing.
 *
 * Records and parameters that the file does not name stay; no location, resource or person is ever deleted. A named record
 * gets every member from the file, or its default if the file omits it. The opening rules and exceptions of a named
 * location or resource are replaced as a whole.
 */
export function applyTenantFile(db: Database, file: TenantFile): Promise<Applied> {
  return db.transaction().execute((trx) => writeTenant(trx, file));
}

/** `applyTenantFile` as a part of the caller's transaction. */
export async function writeTenant(trx: Transaction, file: TenantFile): Promise<Applied> {
  await checkTimeZones(trx, file);
  const mandator = await writeMandator(trx, file);
  const locations = await writeLocations(trx, mandator.id, file);
  const resources = await writeResources(trx, mandator.id, file, locations);
  const owners = [...locations, ...resources];
  const hasNewHours = await applyHours(trx, mandator.id, owners);
  const persons = await writePersons(trx, mandator.id, file);
  const applied: Applied = { created: 0, changed: 0, unchanged: 0 };
  for (const [index, { fate }] of owners.entries())
    applied[fate === 'unchanged' && hasNewHours[index] ? 'changed' : fate]++;
  for (const { fate } of [mandator, ...persons]) applied[fate]++;
  return applied;
}

/** @throws InvalidInput with each use of a zone that PostgreSQL does not know */
async function checkTimeZones(trx: Transaction, file: TenantFile): Promise<void> {
  const places = (['Locations', 'Persons'] as const).flatMap((list) =>
    file[list].map(({ TimeZone }, index) => ({ path: [list, index, 'TimeZone'], TimeZone })),
  );
  const unknown = await findUnknownZones(
    trx,
    places.map(({ TimeZone }) => TimeZone),
  );
  if (unknown.size === 0) return;
  const faults = places.flatMap(({ path, TimeZone }) => {
    const wrong = unknown.get(TimeZone);
    return wrong ? [fault(path, 'InvalidValue', `is ${JSON.stringify(TimeZone)}; ${wrong}`)] : [];
  });
  throw new InvalidInput(faults.map(({ message }) => message).join('\n'), faults);
}

async function writeMandator(trx: Transaction, file: TenantFile): Promise<Written> {
  const parameters = JSON.stringify(file.Parameters);
  const created = await trx
    .insertInto('mandator')
    .values({ code: file.Mandator, name: file.Name, parameters })
    .onConflict((conflict) => conflict.column('code').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (created) return { ...created, fate: 'created' };
  // This lock makes a concurrent apply of the same tenant wait, but no foreign key check: those only need the row to stay.
  const held = await trx
    .selectFrom('mandator')
    .where('code', '=', file.Mandator)
    .select('id')
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const changed = await sql`
    update mandator set name = ${file.Name}, parameters = parameters || ${parameters}::jsonb
    where id = ${held.id}
      and (name, parameters) is distinct from (${file.Name}, parameters || ${parameters}::jsonb)`.execute(trx);
  return { ...held, fate: changed.numAffectedRows ? 'changed' : 'unchanged' };
}

// Below, one statement writes each table: the records of the file are one JSON parameter. The statement returns a row for
// each record, in order. The upsert returns the created rows (xmax = 0: no transaction has locked or replaced them) and
// the changed ones; unchanged rows come from the table.

async function writeLocations(trx: Transaction, mandatorId: number, file: TenantFile): Promise<HoursOwner[]> {
  const { rows } = await sql<Written>`
    with file as (
      select * from rows from (jsonb_to_recordset(${JSON.stringify(file.Locations)})
        as ("Name" text, "TimeZone" text)) with ordinality as file(name, time_zone, position)
    ), upserted as (
      insert into location (mandator_id, name, time_zone)
      select ${mandatorId}::integer, name, time_zone from file order by position
      on conflict (mandator_id, name_key) do update set name = excluded.name, time_zone = excluded.time_zone
        where (location.name, location.time_zone) is distinct from (excluded.name, excluded.time_zone)
      returning id, name_key, case when xmax = 0 then 'created' else 'changed' end as fate
    )
    select coalesce(upserted.id, location.id) as id, coalesce(upserted.fate, 'unchanged') as fate
    from file
    left join upserted on upserted.name_key = name_key(file.name)
    left join location on location.mandator_id = ${mandatorId} and location.name_key = name_key(file.name)
    order by position`.execute(trx);
  return rows.map((row, index) => ({
    ...row,
    locationId: row.id,
    resourceId: null,
    hours: file.Locations[index]!,
  }));
}

async function writeResources(
  trx: Transaction,
  mandatorId: number,
  file: TenantFile,
  locations: readonly HoursOwner[],
): Promise<HoursOwner[]> {
  const resources = file.Locations.flatMap(({ Resources }, index) =>
    Resources.map((resource) => ({ ...resource, LocationId: locations[index]!.id })),
  );
  const { rows } = await sql<Written>`
    with file as (
      select * from rows from (jsonb_to_recordset(${JSON.stringify(resources)}) as (
        "LocationId" integer, "Name" text, "Kind" text, "Capacity" integer, "Equipment" text[], "Mailbox" text,
        "CheckInMinutes" smallint
      )) with ordinality as file(location_id, name, kind, capacity, equipment, mailbox, check_in_minutes, position)
    ), upserted as (
      insert into resource (mandator_id, location_id, name, kind, capacity, equipment, mailbox, check_in_minutes)
      select ${mandatorId}::integer, location_id, name, kind, capacity, equipment, mailbox, check_in_minutes
      from file order by position
      on conflict (mandator_id, name_key, location_id) do update set
        name = excluded.name, kind = excluded.kind, capacity = excluded.capacity,
        equipment = excluded.equipment, mailbox = excluded.mailbox, check_in_minutes = excluded.check_in_minutes
        where (resource.name, resource.kind, resource.capacity, resource.equipment, resource.mailbox,
            resource.check_in_minutes)
          is distinct from (excluded.name, excluded.kind, excluded.capacity, excluded.equipment, excluded.mailbox,
            excluded.check_in_minutes)
      returning id, location_id, name_key, case when xmax = 0 then 'created' else 'changed' end as fate
    )
    select coalesce(upserted.id, resource.id) as id, coalesce(upserted.fate, 'unchanged') as fate
    from file
    left join upserted
      on upserted.location_id = file.location_id and upserted.name_key = name_key(file.name)
    left join resource on resource.mandator_id = ${mandatorId}
      and resource.location_id = file.location_id and resource.name_key = name_key(file.name)
    order by position`.execute(trx);
  return rows.map((row, index) => ({
    ...row,
    locationId: resources[index]!.LocationId,
    resourceId: row.id,
    hours: resources[index]!,
  }));
}

async function writePersons(trx: Transaction, mandatorId: number, file: TenantFile): Promise<Written[]> {
  const { rows } = await sql<Written>`
    with file as (
      select * from rows from (jsonb_to_recordset(${JSON.stringify(file.Persons)})
        as ("Name" text, "Email" text, "TimeZone" text, "Role" text))
        with ordinality as file(name, email, time_zone, role, position)
    ), upserted as (
      insert into person (mandator_id, name, email, time_zone, role)
      select ${mandatorId}::integer, name, email, time_zone, role from file order by position
      on conflict (mandator_id, lower(email)) do update set
        name = excluded.name, email = excluded.email, time_zone = excluded.time_zone, role = excluded.role
        where (person.name, person.email, person.time_zone, person.role)
          is distinct from (excluded.name, excluded.email, excluded.time_zone, excluded.role)
      returning id, email, case when xmax = 0 then 'created' else 'changed' end as fate
    )
    select coalesce(upserted.id, person.id) as id, coalesce(upserted.fate, 'unchanged') as fate
    from file
    left join upserted on lower(upserted.email) = lower(file.email)
    left join person on person.mandator_id = ${mandatorId} and lower(person.email) = lower(file.email)
    order by position`.execute(trx);
  return rows;
}
