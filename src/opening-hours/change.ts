/**
 * The hours that a resource has itself, as an Admin reads and replaces them, and those of a tenant file: the only writer of
 * opening_rule and opening_exception. A list is written as a whole and with new ids each time: the greatest id is its
 * version, 0 that of an empty one.
 */
import { type RawBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { checkAdmin, checkVersion, recordAct } from '../access.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { NotFound } from '../errors.ts';
import type { OpeningRule } from './local-hours.ts';
import { type NewException, toNewException, toNewRule, type WrittenHours } from './schema.ts';
import { keyOf, type StoredException, type StoredRule, storedExceptions, storedRules } from './stored.ts';

/** All rules or all exceptions of a resource. */
export type OwnHours<Item> = { resourceId: number; version: number; items: Item[] };

/** A location (`resourceId` null) or a resource. */
type Owner = { locationId: number; resourceId: number | null };
type Owned<Item> = Owner & { items: readonly Item[] };

/** Each with its list as `items`. */
const ownerRows = (owners: readonly Owned<unknown>[]) =>
  sql`jsonb_to_recordset(${JSON.stringify(owners)}) as owner("locationId" integer, "resourceId" integer, items jsonb)`;
// Equalities, so that both sides are hashed: `is not distinct from` would compare each with each.
const isOwned = sql`location_id = owner."locationId" and coalesce(resource_id, 0) = coalesce(owner."resourceId", 0)`;

async function writeRules(trx: Transaction, mandatorId: number, owners: readonly Owned<OpeningRule>[]): Promise<void> {
  const owner = ownerRows(owners);
  await sql`delete from opening_rule using ${owner} where mandator_id = ${mandatorId} and ${isOwned}`.execute(trx);
  await sql`
    insert into opening_rule (mandator_id, location_id, resource_id, weekdays, opens, closes, valid_from, valid_to)
    select ${mandatorId}::integer, owner."locationId", owner."resourceId", rule.*
    from ${owner}, jsonb_to_recordset(owner.items)
      as rule(weekdays smallint[], opens time, closes time, "validFrom" date, "validTo" date)`.execute(trx);
}

async function writeExceptions(
  trx: Transaction,
  mandatorId: number,
  owners: readonly Owned<NewException>[],
): Promise<void> {
  const owner = ownerRows(owners);
  await sql`delete from opening_exception using ${owner} where mandator_id = ${mandatorId} and ${isOwned}`.execute(trx);
  await sql`
    insert into opening_exception (mandator_id, location_id, resource_id, from_date, to_date, closed, periods, reason)
    select ${mandatorId}::integer, owner."locationId", owner."resourceId", exception.*
    from ${owner}, jsonb_to_recordset(owner.items)
      as exception("fromDate" date, "toDate" date, closed boolean, periods jsonb, reason text)`.execute(trx);
}

/**
 * Replaces the hours of those owners whose hours are not as a tenant file has them.
 * @returns of each owner whether its hours were replaced
 */
export async function applyHours(
  trx: Transaction,
  mandatorId: number,
  owners: readonly (Owner & { hours: WrittenHours })[],
): Promise<boolean[]> {
  const { rules, exceptions } = await trx
    .selectNoFrom([
      jsonArrayFrom(storedRules(mandatorId).orderBy('opening_rule.id')).as('rules'),
      jsonArrayFrom(storedExceptions(mandatorId).orderBy('opening_exception.id')).as('exceptions'),
    ])
    .executeTakeFirstOrThrow();
  const nameOf = ({ locationId, resourceId }: Owner) => `${locationId} ${resourceId}`;
  const rulesOf = Map.groupBy(rules, nameOf);
  const exceptionsOf = Map.groupBy(exceptions, nameOf);
  const wanted = owners.map(({ locationId, resourceId, hours }) => {
    const owner = { locationId, resourceId };
    const stored = { rules: rulesOf.get(nameOf(owner)) ?? [], exceptions: exceptionsOf.get(nameOf(owner)) ?? [] };
    const rules = hours.OpeningRules.map(toNewRule);
    const exceptions = hours.OpeningExceptions.map(toNewException);
    return { owner, rules, exceptions, differs: keyOf({ rules, exceptions }) !== keyOf(stored) };
  });
  const stale = wanted.filter(({ differs }) => differs);
  if (stale.length > 0) {
    await writeRules(
      trx,
      mandatorId,
      stale.map(({ owner, rules }) => ({ ...owner, items: rules })),
    );
    await writeExceptions(
      trx,
      mandatorId,
      stale.map(({ owner, exceptions }) => ({ ...owner, items: exceptions })),
    );
  }
  return wanted.map(({ differs }) => differs);
}

const resourceOf = (db: Database, { mandatorId }: Viewer, id: number) =>
  db.selectFrom('resource').where('mandator_id', '=', mandatorId).where('id', '=', id);

const unknown = () => new NotFound('There is no resource of this id.');

/** One of the two lists of a resource; `select` finds it from a row of resource. */
type OwnList<Stored, New> = {
  action: string;
  select(mandatorId: number, resourceId: number): RawBuilder<Stored[]>;
  write(trx: Transaction, mandatorId: number, owners: readonly Owned<New>[]): Promise<void>;
};

const ruleList: OwnList<StoredRule, OpeningRule> = {
  action: 'replace opening rules',
  select: (mandatorId, resourceId) =>
    jsonArrayFrom(
      storedRules(mandatorId).where('opening_rule.resource_id', '=', resourceId).orderBy('opening_rule.id'),
    ),
  write: writeRules,
};

const exceptionList: OwnList<StoredException, NewException> = {
  action: 'replace opening exceptions',
  select: (mandatorId, resourceId) =>
    jsonArrayFrom(
      storedExceptions(mandatorId)
        .where('opening_exception.resource_id', '=', resourceId)
        .orderBy('opening_exception.id'),
    ),
  write: writeExceptions,
};

/** @throws NotFound, also for another tenant's */
async function readList<Stored extends { id: number }>(
  { select }: OwnList<Stored, never>,
  db: Database,
  viewer: Viewer,
  resourceId: number,
): Promise<OwnHours<Stored>> {
  const found = await resourceOf(db, viewer, resourceId)
    .select(select(viewer.mandatorId, resourceId).as('items'))
    .executeTakeFirst();
  if (!found) throw unknown();
  return { resourceId, version: found.items.at(-1)?.id ?? 0, items: found.items };
}

/**
 * Changes of one resource wait for each other, and for a tenant file.
 * @throws Unavailable while an import holds the resource
 */
function replaceList<Stored extends { id: number }, New>(
  list: OwnList<Stored, New>,
  db: Database,
  act: Act,
  resourceId: number,
  expected: Versions,
  items: readonly New[],
): Promise<OwnHours<Stored>> {
  const { viewer } = act;
  checkAdmin(viewer);
  return transactOrGiveUp(db, 'The resource', async (trx) => {
    // First and by itself: what is read behind it is what stands when the lock is held.
    const resource = await resourceOf(trx, viewer, resourceId)
      .select('location_id as locationId')
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!resource) throw unknown();
    checkVersion(await readList(list, trx, viewer, resourceId), expected);
    await list.write(trx, viewer.mandatorId, [{ ...resource, resourceId, items }]);
    await recordAct(trx, act, list.action, resourceId);
    return await readList(list, trx, viewer, resourceId);
  });
}

/** The rules of a resource itself, without its location's. @throws Forbidden, NotFound */
export async function getRules(db: Database, viewer: Viewer, resourceId: number): Promise<OwnHours<StoredRule>> {
  checkAdmin(viewer);
  return await readList(ruleList, db, viewer, resourceId);
}

/** The same for its exceptions. @throws Forbidden, NotFound */
export async function getExceptions(
  db: Database,
  viewer: Viewer,
  resourceId: number,
): Promise<OwnHours<StoredException>> {
  checkAdmin(viewer);
  return await readList(exceptionList, db, viewer, resourceId);
}

/**
 * Puts these rules in the place of all that the resource has itself; with none, those of its location count.
 * @throws Forbidden, NotFound, PreconditionFailed
 */
export const replaceRules = (
  db: Database,
  act: Act,
  resourceId: number,
  expected: Versions,
  rules: readonly OpeningRule[],
): Promise<OwnHours<StoredRule>> => replaceList(ruleList, db, act, resourceId, expected, rules);

/**
 * Puts these exceptions in the place of all that the resource has itself; those of its location go on to count.
 * @throws Forbidden, NotFound, PreconditionFailed
 */
export const replaceExceptions = (
  db: Database,
  act: Act,
  resourceId: number,
  expected: Versions,
  exceptions: readonly NewException[],
): Promise<OwnHours<StoredException>> => replaceList(exceptionList, db, act, resourceId, expected, exceptions);
