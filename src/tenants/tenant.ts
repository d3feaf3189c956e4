/** The tenant itself: all callers but displays read it; Admins change its name and the parameters that cannot lock them out. */
import { checkAdmin, checkReader } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { type FieldError, InvalidInput } from '../errors.ts';
import { checkVersion } from '../records.ts';
import { auditedLook } from './look.ts';
import { isForOperator, type ParameterName, type Parameters, withDefaults } from './parameters.ts';

export type Tenant = {
  id: number;
  mandator: string;
  name: string;
  parameters: Parameters;
  version: number;
} & Look;
/** `logo` is a data URL. */
type Look = { colour: string | null; logo: string | null };
/** Parameters that are left out stay. */
export type TenantChanges = Partial<Look> & {
  name?: string;
  parameters?: { [Name in ParameterName]?: Parameters[Name] | undefined };
};

const tenantOf = (db: Database, { mandatorId }: Viewer) =>
  db
    .selectFrom('mandator')
    .where('id', '=', mandatorId)
    .select(['id', 'code as mandator', 'name', 'parameters', 'version', 'colour', 'logo']);

type Row = Omit<Tenant, 'parameters'> & { parameters: unknown };
const toTenant = (row: Row): Tenant => ({ ...row, parameters: withDefaults(row.parameters) });

/** @throws Forbidden for a display */
export async function getTenant(db: Database, viewer: Viewer): Promise<Tenant> {
  checkReader(viewer);
  return toTenant(await tenantOf(db, viewer).executeTakeFirstOrThrow());
}

/**
 * Changes the given members; new values take effect at once, on every process.
 * @throws Forbidden, PreconditionFailed; InvalidInput for a parameter that only the operator changes
 */
export function changeTenant(
  db: Database,
  act: Act,
  expected: Versions,
  { name, parameters, colour, logo }: TenantChanges,
): Promise<Tenant> {
  const { viewer } = act;
  checkAdmin(viewer);
  return transactOrGiveUp(db, 'The tenant', async (trx) => {
    const found = toTenant(await tenantOf(trx, viewer).forNoKeyUpdate().executeTakeFirstOrThrow());
    checkVersion(found, expected);
    const wanted = {
      ...found,
      name: name ?? found.name,
      colour: colour === undefined ? found.colour : colour,
      logo: logo === undefined ? found.logo : logo,
      parameters: withDefaults({ ...found.parameters, ...parameters }),
    };
    checkOperators(viewer, found.parameters, wanted.parameters);
    if (JSON.stringify(wanted) === JSON.stringify(found)) return found;
    const row = await trx
      .updateTable('mandator')
      .set({
        name: wanted.name,
        parameters: JSON.stringify(wanted.parameters),
        colour: wanted.colour,
        logo: wanted.logo,
      })
      .where('id', '=', viewer.mandatorId)
      .returning(['id', 'code as mandator', 'name', 'parameters', 'version', 'colour', 'logo'])
      .executeTakeFirstOrThrow();
    const changed = toTenant(row);
    await recordAct(
      trx,
      act,
      'change tenant',
      { noun: 'Tenant', id: viewer.mandatorId, name: changed.name },
      { before: auditedOf(found), after: auditedOf(changed) },
    );
    return changed;
  });
}

const auditedOf = (tenant: Tenant) => ({ name: tenant.name, ...tenant.parameters, ...auditedLook(tenant) });

/** @throws InvalidInput naming each parameter of the operator that would change */
function checkOperators({ mandator }: Viewer, found: Parameters, wanted: Parameters): void {
  const faults = (Object.keys(found) as ParameterName[])
    .filter((name) => isForOperator(name) && wanted[name] !== found[name])
    .map((name): FieldError => {
      const remedy = `roomgate parameter set --mandator ${mandator} ${name} ${wanted[name]}`;
      const message = `Parameters.${name}: only the operator of this server can change it, with "${remedy}".`;
      return { field: name, pointer: `/Parameters/${name}`, code: 'OperatorOnly', message };
    });
  if (faults.length > 0) throw InvalidInput.of(...faults);
}
