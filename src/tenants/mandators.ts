/** The tenants themselves, and their parameters. */
import { sql } from 'kysely';
import { commandLine, recordOperatorActs } from '../acts.ts';
import type { Database } from '../db/database.ts';
import { NotFound } from '../errors.ts';
import { type Parameters, readParameterName, readParameterValue, withDefaults } from './parameters.ts';
export type TenantSummary = { code: string; name: string; resources: number; persons: number };

/** Lists the tenants of the installation, for its operator, with the numbers of active resources and persons. */
export async function listTenants(db: Database): Promise<TenantSummary[]> {
  const count = (table: 'resource' | 'person') =>
    sql<number>`(select count(*)::int from ${sql.table(table)} as counted
                 where counted.mandator_id = mandator.id and counted.active)`;
  return await db
    .selectFrom('mandator')
    .select(['code', 'name', count('resource').as('resources'), count('person').as('persons')])
    .orderBy('code')
    .execute();
}

const mostNamed = 10;

export const noTenantYet = 'There is no tenant yet; create one with: roomgate apply FILE';

/** The code of the tenant, if the installation has exactly one. @throws NotFound with the codes of several */
export async function getOnlyTenant(db: Database): Promise<string> {
  const codes = await db
    .selectFrom('mandator')
    .select('code')
    .orderBy('code')
    .limit(mostNamed + 1)
    .execute();
  const [only] = codes;
  if (only && codes.length === 1) return only.code;
  const named = codes.slice(0, mostNamed).map(({ code }) => code);
  if (codes.length > mostNamed) named.push('...');
  throw new NotFound(
    only ? `There are several tenants (${named.join(', ')}): name one with --mandator CODE.` : noTenantYet,
  );
}

/** A tenant by its code, in any case. @throws NotFound */
export async function getMandator(
  db: Database,
  code: string,
): Promise<{ mandatorId: number; code: string; name: string; parameters: Parameters }> {
  const mandator = await db
    .selectFrom('mandator')
    .where('code', '=', code.toLowerCase())
    .select(['id as mandatorId', 'code', 'name', 'parameters'])
    .executeTakeFirst();
  if (!mandator) throw noMandator(code);
  return { ...mandator, parameters: withDefaults(mandator.parameters) };
}

/**
 * Sets one parameter of a tenant; every process uses the new value at once.
 * @param name in any case; `value` as written on a command line
 * @throws NotFound; InvalidInput with the known parameters, or with the allowed values
 */
export async function setParameter(
  db: Database,
  code: string,
  name: string,
  value: string,
): Promise<Partial<Parameters>> {
  const known = readParameterName(name);
  const change = { [known]: readParameterValue(known, value) };
  await db.transaction().execute(async (trx) => {
    const mandator = trx
      .selectFrom('mandator')
      .where('code', '=', code.toLowerCase())
      .select(['id', 'name', 'parameters']);
    const found = await mandator.forNoKeyUpdate().executeTakeFirst();
    if (!found) throw noMandator(code);
    const { id, name } = found;
    await trx
      .updateTable('mandator')
      .set({ parameters: sql`parameters || ${JSON.stringify(change)}::jsonb` })
      .where('id', '=', id)
      .execute();
    const before = { [known]: withDefaults(found.parameters)[known] };
    if (before[known] === change[known]) return;
    const subject = { noun: 'Tenant', id, name } as const;
    await recordOperatorActs(trx, id, commandLine, [
      { action: 'change tenant', subject, record: { before, after: change } },
    ]);
  });
  return change;
}

export const noMandator = (code: string) =>
  new NotFound(`There is no tenant ${JSON.stringify(code)}; create it with: roomgate apply FILE`);
