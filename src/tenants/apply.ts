/** Applies tenant files. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { readSnapshot } from '../db/snapshot.ts';
import { Conflict, type FieldError, InvalidInput } from '../errors.ts';
import { type HolidayReading, originOf, readingOf } from '../holidays/service.ts';
import {
  type Fate,
  type FileDifference,
  type FilePlan,
  planFile,
  type RecordChange,
  recordsOf,
} from './differences.ts';
import { columnOf, type Noun } from './nouns.ts';
import { sourceIn, writePlan } from './plan.ts';
import { namesIn } from './references.ts';
import { type KeyOf, readKeys, readStoredTenant } from './stored-tenant.ts';
import { fault, type TenantFile } from './tenant-file.ts';
import { openZoneNames } from './time-zones.ts';

/** The outcome of applying a file, or of a preview. */
export type Applied = Record<Fate, number> & { records: AppliedRecord[] };
export type AppliedRecord = RecordChange & {
  /** For a holiday calendar whose dates the file lists, if they change. */
  reading: HolidayReading | undefined;
};

/**
 * Creates or changes the tenant of a tenant file in one transaction; applying the same file again changes nothing.
 *
 * Only the members that the file names change. Records that it does not name stay. Nothing is deleted except from lists,
 * which a file always gives whole.
 * @throws InvalidInput for a zone that PostgreSQL does not know, a new record without a member that it must have, a retired
 * location with active resources, a TeacherCode that another person keeps, and a tenant that would lose its last active Admin
 */
export function applyTenantFile(db: Database, file: TenantFile): Promise<Applied> {
  return db.transaction().execute((trx) => writeTenant(trx, file));
}

/** `applyTenantFile` as a part of the caller's transaction. */
export async function writeTenant(trx: Transaction, written: TenantFile): Promise<Applied> {
  const file = await withZoneNames(trx, written);
  const names = namesIn(file);
  const keyOf = await readKeysOf(trx, file);
  const created = await createMandator(trx, file);
  const mandatorId = created ?? (await holdMandator(trx, file.Mandator));
  if (created === undefined) await holdRecords(trx, mandatorId, names, keyOf);
  // The locks need statements of their own: the snapshot of the next one then includes all earlier changes.
  const stored = created === undefined ? await readStoredTenant(trx, mandatorId) : undefined;
  const plan = planFile(file, keyOf, stored);
  await writePlan(trx, mandatorId, file, plan, stored);
  return toApplied(plan);
}

/** What `applyTenantFile` would do; it writes nothing and locks nothing. @throws as `applyTenantFile` */
export function previewTenantFile(db: Database, written: TenantFile): Promise<Applied> {
  return readSnapshot(db, async (trx) => {
    const file = await withZoneNames(trx, written);
    const keyOf = await readKeysOf(trx, file);
    const found = await trx.selectFrom('mandator').where('code', '=', file.Mandator).select('id').executeTakeFirst();
    if (!found) await insistOnServing(trx, file.Mandator);
    return toApplied(planFile(file, keyOf, found && (await readStoredTenant(trx, found.id))));
  });
}

function toApplied(plan: FilePlan): Applied {
  const records = recordsOf(plan);
  const count = (fate: Fate) => records.filter((record) => record.fate === fate).length;
  return {
    created: count('created'),
    changed: count('changed'),
    unchanged: count('unchanged'),
    records: records.map(({ kind, name, fate, changes }) => ({
      kind,
      name,
      fate,
      changes: changes.map(withoutSecret),
      reading: readingOf(sourceIn(changes)),
    })),
  };
}

/** The address of a holiday calendar may be a secret. */
function withoutSecret({ member, old, new: value }: FileDifference): FileDifference {
  const shown = (url: unknown) => (typeof url === 'string' ? `${originOf(url)}/…` : url);
  return member === 'Url' ? { member, old: shown(old), new: shown(value) } : { member, old, new: value };
}

/** The file with the names of zones as they are stored. @throws InvalidInput with each use of a zone that PostgreSQL does not know */
async function withZoneNames(trx: Transaction, file: TenantFile): Promise<TenantFile> {
  const find = await openZoneNames(trx);
  const faults: FieldError[] = [];
  const named = <Written extends { TimeZone?: string | undefined }>(list: string, records: readonly Written[]) =>
    records.map((record, index) => {
      if (record.TimeZone === undefined) return record;
      const found = find(record.TimeZone);
      if ('name' in found) return { ...record, TimeZone: found.name };
      const text = `is ${JSON.stringify(record.TimeZone)}; ${found.wrong}`;
      faults.push(fault([list, index, 'TimeZone'], 'InvalidValue', text));
      return record;
    });
  const { Locations, Persons } = file;
  const result = { ...file, Locations: named('Locations', Locations), Persons: named('Persons', Persons) };
  if (faults.length > 0) throw new InvalidInput(faults.map(({ message }) => message).join('\n'), faults);
  return result;
}

/**
 * @returns the id of the new tenant; undefined if it exists. A later check refuses one without a name, which rolls this back.
 * @throws Conflict when the tenant of this code is being moved or removed here
 */
async function createMandator(trx: Transaction, { Mandator, Name = '' }: TenantFile): Promise<number | undefined> {
  const created = await trx
    .insertInto('mandator')
    .values({ code: Mandator, name: Name })
    .onConflict((conflict) => conflict.column('code').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (created) await insistOnServing(trx, Mandator);
  return created?.id;
}

/** @throws Conflict when a tenant has this code that is not served here: it is arriving, or has left */
async function insistOnServing(trx: Transaction, code: string): Promise<void> {
  const resting = await trx.selectFrom('resting_tenant').where('code', '=', code).select('code').executeTakeFirst();
  if (resting)
    throw new Conflict(
      `The tenant ${code} is being moved or removed here; end that first, or apply the file where the tenant is served. Nothing was changed.`,
    );
}

/** Makes concurrent applications to the same tenant wait, but not foreign key checks: they only need the row to stay. */
async function holdMandator(trx: Transaction, code: string): Promise<number> {
  const { id } = await trx
    .selectFrom('mandator')
    .where('code', '=', code)
    .select('id')
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  return id;
}

type Names = readonly (readonly [noun: Noun, name: string])[];

const readKeysOf = (trx: Transaction, file: TenantFile): Promise<KeyOf> =>
  readKeys(trx, [
    ...namesIn(file).map(([, name]) => name),
    ...file.Persons.flatMap(({ TeacherCode }) => TeacherCode ?? []),
  ]);

/** Makes other changes of the file's records, and of those that it refers to, wait until the file has been applied. */
async function holdRecords(trx: Transaction, mandatorId: number, names: Names, keyOf: KeyOf): Promise<void> {
  for (const [noun, named] of Map.groupBy(names, ([one]) => one)) {
    const { table, keyFunction, name } = noun;
    const keys = named.map(([, written]) => keyOf(noun, written));
    await sql`
      select from ${sql.table(table)}
      where mandator_id = ${mandatorId} and ${sql.raw(keyFunction)}(${sql.ref(columnOf(name))}) = any(${keys})
      order by id for no key update`.execute(trx);
  }
}
