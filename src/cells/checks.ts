/** What must hold in both installations while a tenant is moved; each refusal says what to do. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { ourSchema } from '../db/our-schema.ts';
import { Conflict } from '../errors.ts';
import { isSchemaMissing } from '../flow/database-errors.ts';
import { unguarded } from './guards.ts';
import { awayCode, findRest, getTenant } from './resting.ts';
import { findDifference, identify, listTenantTables, sumUp, type TenantRow, type TenantTable } from './tables.ts';

export const ownIdsRemedy =
  'Installations between which tenants move need separate ranges of ids: set Cell before the first tenant is created.';

function refuseDestination(error: Error): never {
  const why = isSchemaMissing(error)
    ? 'it has no schema of roomgate; run "roomgate migrate" with its settings'
    : error.message;
  throw new Conflict(`The database of --to cannot be used: ${why}.`);
}

/**
 * @throws Conflict when `to` does not answer or is not an installation, when both are one database, or when both are on one server,
 * whose replication would wait for itself
 */
export async function insistOnTwo(from: Database, to: Database): Promise<void> {
  const here = await identify(from);
  const there = await identify(to).catch(refuseDestination);
  if (here.database === there.database && here.server === there.server)
    throw new Conflict('--to is the database that the tenant is already in; name that of the other installation.');
  if (here.server === there.server)
    throw new Conflict(
      'Both installations are on one PostgreSQL server, so a tenant cannot be moved while it is used; use "roomgate tenant export" and "import".',
    );
  await sql`select from mandator limit 1`.execute(to).catch(refuseDestination);
}

/**
 * @returns whether the tenant is still here, has left for `to`, or is being removed for good
 * @throws Conflict when it has left for another installation
 */
export async function insistOnDestination(
  from: Database,
  to: Database,
  code: string,
): Promise<'Here' | 'Left' | 'Gone'> {
  const rest = await findRest(from, code);
  if (rest?.state === 'Coming')
    throw new Conflict(
      `The tenant ${code} is being moved here from another installation: finish or undo that move first.`,
    );
  if (rest?.state !== 'Away') return 'Here';
  if (rest.destination === null) return 'Gone';
  if (rest.destination !== (await identify(to)).database)
    throw new Conflict(`The tenant ${code} has left for a different installation; name that with --to.`);
  return 'Left';
}

export const isBeingRemoved = (code: string) =>
  new Conflict(`The tenant ${code} is being removed; run "roomgate tenant delete" again.`);

/** Checks, before anything is copied, that both can write rows without triggers. @throws Conflict */
export async function checkWriting(from: Database, to: Database): Promise<void> {
  for (const [where, db] of [
    ['Here', from],
    ['At the other installation', to],
  ] as const)
    await db
      .transaction()
      .execute(unguarded)
      .catch((error: Error) => {
        throw error instanceof Conflict ? new Conflict(`${where}: ${error.message}`) : error;
      });
}

/** Finds the tenant in the installation that it leaves; if it has been removed there already, in the other one. */
export async function findTenant(from: Database, to: Database, code: string): Promise<TenantRow> {
  return await getTenant(from, code).catch(async (error) => {
    const rest = await findRest(from, code);
    if (rest) return { id: rest.mandatorId, code };
    const found = await to.selectFrom('mandator').where('code', '=', code).select('id').executeTakeFirst();
    throw found ? new Conflict(`The tenant ${code} is no longer here: it is served at the other installation.`) : error;
  });
}

/** Whether the tenant is served at `to`. @throws Conflict when another tenant there has its Id */
export async function isServed(to: Database, { id, code }: TenantRow): Promise<boolean> {
  const found = await to.selectFrom('mandator').where('id', '=', id).select('code').executeTakeFirst();
  if (found?.code === awayCode(id))
    throw new Conflict(
      `The tenant ${code} has left the other installation, but is not removed there yet: repeat that move there, then this one.`,
    );
  if (found && found.code !== code)
    throw new Conflict(
      `The other installation has a tenant ${found.code} with the Id ${id} of this one. ${ownIdsRemedy}`,
    );
  return found !== undefined;
}

/** @throws Conflict when another tenant has the code at `to`, so that this one could not be served there */
export async function insistOnFreeCode(to: Database, { id, code }: TenantRow): Promise<void> {
  const found = await to.selectFrom('mandator').where('code', '=', code).select('id').executeTakeFirst();
  if (found && found.id !== id)
    throw new Conflict(
      `The other installation has a different tenant with the code ${code}. Abandon the move ("--undo"), which removes the copy there; then remove the tenant that is not needed ("roomgate tenant delete").`,
    );
}

/** @returns the tables of a tenant @throws Conflict when the installations differ in release or Pepper */
export async function checkSchemas(from: Database, to: Database): Promise<TenantTable[]> {
  const readFit = async (db: Database) => {
    const { rows } = await sql<{ migrations: string; pepper: string | null }>`
      select (select string_agg(name, ' ' order by name) from kysely_migration) as migrations,
        (select hash::text from pepper) as pepper`.execute(db);
    return rows[0]!;
  };
  const [here, there] = [await readFit(from), await readFit(to)];
  if (here.migrations !== there.migrations)
    throw new Conflict('The two installations run different releases; run the same one in both.');
  if (here.pepper !== there.pepper && there.pepper !== null)
    throw new Conflict(
      'The other installation has another Pepper: PINs, displays and calendar addresses of the tenant would no longer be valid. Give both the same.',
    );
  return await listTenantTables(from);
}

/** @throws Conflict when a row of the tenant has a key that another tenant uses at `to` */
export async function checkKeys(from: Database, to: Database, { id }: TenantRow): Promise<void> {
  const { rows: keys } = await sql<{ name: string; column: string }>`
    select class.relname as name, attname as column
    from pg_index join pg_class class on class.oid = indrelid
    join pg_attribute on attrelid = class.oid and attnum = indkey[0]
    where indisunique and indnkeyatts = 1 and indpred is null and indexprs is null and class.relnamespace = ${sql.raw(ourSchema)}
      and exists (select from pg_attribute tenant where tenant.attrelid = class.oid and tenant.attname = 'mandator_id')
      and class.relname not in ('resting_tenant', 'move_mark', 'mail_server')`.execute(from);
  for (const { name, column } of keys) {
    const [table, key] = [sql.table(name), sql.ref(column)];
    const { rows } = await sql<{ key: string }>`
      select ${key}::text as key from ${table} where mandator_id = ${id} and ${key} is not null`.execute(from);
    const { rows: taken } = await sql<{ key: string }>`
      select ${key}::text as key from ${table}
      where ${key}::text = any (${rows.map((row) => row.key)}) and mandator_id <> ${id} limit 1`.execute(to);
    if (taken[0])
      throw new Conflict(
        column === 'id'
          ? `The other installation has a ${name} with the Id ${taken[0].key} of this tenant. ${ownIdsRemedy}`
          : `A ${column} in ${name} of this tenant is in use at the other installation, perhaps the same PIN: replace it here first.`,
      );
  }
}

/** Compares the rows of both. @returns their number @throws Conflict when they differ */
export async function compare(from: Database, to: Database, tables: TenantTable[], { id }: TenantRow): Promise<number> {
  const [here, there] = await Promise.all([sumUp(from, tables, id), sumUp(to, tables, id)]);
  const difference = findDifference(here, there);
  if (difference)
    throw new Conflict(
      `The copy differs from the original: ${difference}. Abandon the move ("--undo"), start it again, and report this as a bug.`,
    );
  return Object.values(here).reduce((sum, { rows }) => sum + rows, 0);
}
