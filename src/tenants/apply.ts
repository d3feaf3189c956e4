/** Applies tenant files. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { recordOperatorActs } from '../acts.ts';
import type { Database, Transaction } from '../db/database.ts';
import { Conflict, InvalidInput } from '../errors.ts';
import { codeOf } from '../flow/database-errors.ts';
import { applyHours, type WrittenHours } from '../opening-hours/service.ts';
import {
  type Fate,
  type FileKeys,
  type FilePlan,
  type Planned,
  planFile,
  type RecordChange,
  recordsOf,
} from './differences.ts';
import { actsOn, tenantActs } from './file-acts.ts';
import { columnOf, isHours, locationNoun, type Noun, personNoun, resourceNoun } from './nouns.ts';
import { readKeys, readStoredTenant } from './stored-tenant.ts';
import { fault, type TenantFile } from './tenant-file.ts';
import { findUnknownZones } from './time-zones.ts';

/** What became of the records of a file, or would: the tenant, its locations, resources and persons. */
export type Applied = Record<Fate, number> & { records: RecordChange[] };

/**
 * Creates or changes the tenant of a tenant file in one transaction; applying the same file again changes nothing.
 *
 * Only the members that the file names change. Records that it does not name stay, and nothing is deleted but from a list,
 * which is always a whole one.
 * @throws InvalidInput for a zone that PostgreSQL does not know, a new record without a member that it must have, a retired
 * location with active resources, and a tenant that would lose its last active Admin
 */
export function applyTenantFile(db: Database, file: TenantFile): Promise<Applied> {
  return db.transaction().execute((trx) => writeTenant(trx, file));
}

/** `applyTenantFile` as a part of the caller's transaction. */
export async function writeTenant(trx: Transaction, file: TenantFile): Promise<Applied> {
  await checkTimeZones(trx, file);
  const keys = await readFileKeys(trx, file);
  const created = await createMandator(trx, file);
  const mandatorId = created ?? (await holdMandator(trx, file.Mandator));
  if (created === undefined) await holdRecords(trx, mandatorId, keys);
  // The locks need statements of their own: the snapshot of the next one then includes all earlier changes.
  const stored = created === undefined ? await readStoredTenant(trx, mandatorId) : undefined;
  const plan = planFile(file, keys, stored);
  await writePlan(trx, mandatorId, file, plan);
  return toApplied(plan);
}

/** What `applyTenantFile` would do; it writes nothing and locks nothing. @throws what that throws */
export function previewTenantFile(db: Database, file: TenantFile): Promise<Applied> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await checkTimeZones(trx, file);
      const keys = await readFileKeys(trx, file);
      const found = await trx.selectFrom('mandator').where('code', '=', file.Mandator).select('id').executeTakeFirst();
      return toApplied(planFile(file, keys, found && (await readStoredTenant(trx, found.id))));
    });
}

function toApplied(plan: FilePlan): Applied {
  const records = recordsOf(plan);
  const count = (fate: Fate) => records.filter((record) => record.fate === fate).length;
  return {
    created: count('created'),
    changed: count('changed'),
    unchanged: count('unchanged'),
    records: records.map(({ kind, name, fate, changes }) => ({ kind, name, fate, changes })),
  };
}

/** @throws InvalidInput with each use of a zone that PostgreSQL does not know */
async function checkTimeZones(trx: Transaction, file: TenantFile): Promise<void> {
  const places = (['Locations', 'Persons'] as const).flatMap((list) =>
    file[list].flatMap(({ TimeZone }, index) => (TimeZone ? [{ path: [list, index, 'TimeZone'], TimeZone }] : [])),
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

const readFileKeys = async (trx: Transaction, { Locations, Persons }: TenantFile): Promise<FileKeys> => ({
  locations: await readKeys(
    trx,
    locationNoun,
    Locations.map(({ Name }) => Name),
  ),
  resources: await readKeys(
    trx,
    resourceNoun,
    Locations.flatMap(({ Resources }) => Resources.map(({ Name }) => Name)),
  ),
  persons: await readKeys(
    trx,
    personNoun,
    Persons.map(({ Email }) => Email),
  ),
});

/** @returns its id; undefined where there is one already. Without a name it is refused later, and nothing of it stays. */
async function createMandator(trx: Transaction, { Mandator, Name = '' }: TenantFile): Promise<number | undefined> {
  const created = await trx
    .insertInto('mandator')
    .values({ code: Mandator, name: Name })
    .onConflict((conflict) => conflict.column('code').doNothing())
    .returning('id')
    .executeTakeFirst();
  return created?.id;
}

/** Makes a concurrent application of the same tenant wait, but no foreign key check: those only need the row to stay. */
async function holdMandator(trx: Transaction, code: string): Promise<number> {
  const { id } = await trx
    .selectFrom('mandator')
    .where('code', '=', code)
    .select('id')
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  return id;
}

/** Makes changes of the records of the file wait until they are written. */
async function holdRecords(trx: Transaction, mandatorId: number, keys: FileKeys): Promise<void> {
  const named = [
    [locationNoun, keys.locations],
    [resourceNoun, keys.resources],
    [personNoun, keys.persons],
  ] as const;
  for (const [{ table, keyFunction, name }, ofFile] of named)
    await sql`
      select from ${sql.table(table)}
      where mandator_id = ${mandatorId} and ${sql.raw(keyFunction)}(${sql.ref(columnOf(name))}) = any(${ofFile})
      order by id for no key update`.execute(trx);
}

async function writePlan(trx: Transaction, mandatorId: number, file: TenantFile, plan: FilePlan): Promise<void> {
  if (plan.tenant.changes.length > 0) await writeMandator(trx, mandatorId, file);
  const locationIds = await writeRecords(trx, mandatorId, locationNoun, plan.locations);
  const idOfLocation = new Map(plan.locations.map((location, index) => [location, locationIds[index]!]));
  const resourceIds = await writeRecords(trx, mandatorId, resourceNoun, plan.resources, (resource) => ({
    location_id: idOfLocation.get(resource.location),
  }));
  const personIds = await writeRecords(trx, mandatorId, personNoun, plan.persons);
  const owners = [
    ...plan.locations.map((record, index) => ({ record, locationId: locationIds[index]!, resourceId: null })),
    ...plan.resources.map((record, index) => ({
      record,
      locationId: idOfLocation.get(record.location)!,
      resourceId: resourceIds[index]!,
    })),
  ];
  await applyHours(
    trx,
    mandatorId,
    owners.map(({ record, ...owner }) => ({ ...owner, hours: hoursOf(record) })),
  );
  const written = [
    ...plan.locations.map((record, index) => ({ record, id: locationIds[index]! })),
    ...plan.resources.map((record, index) => ({ record, id: resourceIds[index]! })),
    ...plan.persons.map((record, index) => ({ record, id: personIds[index]! })),
  ];
  const acts = written.flatMap(({ record, id }) => actsOn(record, id));
  await recordOperatorActs(trx, mandatorId, `apply ${randomUUID()}`, [...tenantActs(plan.tenant, mandatorId), ...acts]);
}

const hoursOf = ({ changes }: Planned): Partial<WrittenHours> =>
  Object.fromEntries(changes.filter(({ member }) => isHours(member)).map(({ member, new: list }) => [member, list]));
async function writeMandator(trx: Transaction, mandatorId: number, { Name, Parameters }: TenantFile): Promise<void> {
  const given = Object.entries(Parameters);
  const set = Object.fromEntries(given.filter(([, value]) => value !== null));
  const cleared = given.filter(([, value]) => value === null).map(([name]) => name);
  await sql`
    update mandator set name = coalesce(${Name ?? null}, name),
      parameters = (parameters || ${JSON.stringify(set)}::jsonb) - ${cleared}::text[]
    where id = ${mandatorId}`.execute(trx);
}

/**
 * Inserts the new records and updates the changed ones, a statement each.
 * @param more columns beside those of the members
 * @returns the id of each record, in order
 * @throws Conflict when somebody has made one of the new records just now
 */
async function writeRecords<Record extends Planned>(
  trx: Transaction,
  mandatorId: number,
  noun: Noun,
  records: readonly Record[],
  more: (record: Record) => object = () => ({}),
): Promise<number[]> {
  const columnsOf = (record: Record) => ({
    ...more(record),
    ...Object.fromEntries(noun.members.map((member) => [columnOf(member), record.members[member]])),
  });
  const table = sql.table(noun.table);
  const rows = (some: readonly object[]) =>
    sql`jsonb_populate_recordset(null::${table}, ${JSON.stringify(some)}) as row`;
  const fresh = records.filter(({ fate }) => fate === 'created');
  const made = new Map<Record, number>();
  if (fresh.length > 0) {
    const columns = Object.keys(columnsOf(fresh[0]!)).map((column) => sql.ref(column));
    const { rows: ids } = await sql<{ id: number }>`
      insert into ${table} (mandator_id, ${sql.join(columns)})
      select ${mandatorId}, ${sql.join(columns)} from ${rows(fresh.map(columnsOf))}
      returning id`
      .execute(trx)
      .catch(refuseDuplicate(noun));
    for (const [index, record] of fresh.entries()) made.set(record, ids[index]!.id);
  }
  const stale = records.filter((one) => one.fate === 'changed' && one.changes.some(({ member }) => !isHours(member)));
  if (stale.length > 0) {
    const set = noun.members.map((member) => sql`${sql.ref(columnOf(member))} = row.${sql.ref(columnOf(member))}`);
    const changed = stale.map((record) => ({ id: record.stored!.id, ...columnsOf(record) }));
    await sql`
      update ${table} as stored set ${sql.join(set)} from ${rows(changed)}
      where stored.mandator_id = ${mandatorId} and stored.id = row.id`
      .execute(trx)
      .catch(refuseDuplicate(noun));
  }
  return records.map((record) => made.get(record) ?? record.stored!.id);
}

const refuseDuplicate =
  ({ kind, name }: Noun) =>
  (error: unknown): never => {
    throw codeOf(error) === '23505'
      ? new Conflict(
          `A ${kind.toLowerCase()} with a ${name} of the file has just been made, or a TeacherCode is another person’s; apply the file again, or change the code.`,
        )
      : error;
  };
