/**
 * The only writer of opening_rule and opening_exception: replaces the lists of a resource for an Admin, and those of a
 * tenant file. Every write replaces a list as a whole, with new ids; the greatest id is the version of the list, 0 that of
 * an empty one.
 */
import { type RawBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { checkAdmin, checkVersion } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { NotFound } from '../errors.ts';
import type { OpeningRule } from './local-hours.ts';
import {
  type NewException,
  toNewException,
  toNewRule,
  toWrittenException,
  toWrittenRule,
  type WrittenHours,
} from './schema.ts';
import { type StoredException, type StoredRule, storedExceptions, storedRules } from './stored.ts';

/** All rules or all exceptions of a resource. */
export type OwnHours<Item> = { resourceId: number; version: number; items: Item[] };

/** A location (`resourceId` null) or a resource. */
type Owner = { locationId: number; resourceId: number | null };
type Owned<Item> = Owner & { items: readonly Item[] };

/** The owners as SQL rows, each with its list as `items`. */
const ownerRows = (owners: readonly Owned<unknown>[]) =>
  sql`jsonb_to_recordset(${JSON.stringify(owners)}) as owner("locationId" integer, "resourceId" integer, items jsonb)`;
// `=` allows a hash join; `is not distinct from` compares every pair of rows.
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

/** The location that has hours itself, or its resource. */
const ownerKey = ({ locationId, resourceId }: Owner) => `${locationId} ${resourceId}`;

/** Reads the hours that each location and resource of a tenant has itself, as a tenant file writes them. */
export async function readWrittenHours(db: Database, mandatorId: number): Promise<(owner: Owner) => WrittenHours> {
  const { rules, exceptions } = await db
    .selectNoFrom([
      jsonArrayFrom(storedRules(mandatorId).orderBy('opening_rule.id')).as('rules'),
      jsonArrayFrom(storedExceptions(mandatorId).orderBy('opening_exception.id')).as('exceptions'),
    ])
    .executeTakeFirstOrThrow();
  const rulesOf = Map.groupBy(rules, ownerKey);
  const exceptionsOf = Map.groupBy(exceptions, ownerKey);
  return (owner) => ({
    OpeningRules: (rulesOf.get(ownerKey(owner)) ?? []).map(toWrittenRule),
    OpeningExceptions: (exceptionsOf.get(ownerKey(owner)) ?? []).map(toWrittenException),
  });
}

/** Replaces the lists that are given, for a tenant file. The caller holds the locations and resources. */
export async function applyHours(
  trx: Transaction,
  mandatorId: number,
  owners: readonly (Owner & { hours: Partial<WrittenHours> })[],
): Promise<void> {
  const rules = owners.flatMap(({ hours, ...owner }) =>
    hours.OpeningRules ? [{ ...owner, items: hours.OpeningRules.map(toNewRule) }] : [],
  );
  const exceptions = owners.flatMap(({ hours, ...owner }) =>
    hours.OpeningExceptions ? [{ ...owner, items: hours.OpeningExceptions.map(toNewException) }] : [],
  );
  if (rules.length > 0) await writeRules(trx, mandatorId, rules);
  if (exceptions.length > 0) await writeExceptions(trx, mandatorId, exceptions);
}

/** Takes the hours of a resource itself along to another location, as clock times. */
export async function moveHours(
  trx: Transaction,
  mandatorId: number,
  resourceId: number,
  locationId: number,
): Promise<void> {
  for (const table of ['opening_rule', 'opening_exception'] as const)
    await trx
      .updateTable(table)
      .set({ location_id: locationId })
      .where('mandator_id', '=', mandatorId)
      .where('resource_id', '=', resourceId)
      .execute();
}

const resourceOf = (db: Database, { mandatorId }: Viewer, id: number) =>
  db.selectFrom('resource').where('mandator_id', '=', mandatorId).where('id', '=', id);

const unknown = () => new NotFound('There is no resource of this id.');

/** One of the two lists of a resource; `select` is a column of a query on `resource`. */
type OwnList<Stored, New> = {
  action: string;
  /** What the audit calls the list. */
  member: string;
  select(mandatorId: number, resourceId: number): RawBuilder<Stored[]>;
  write(trx: Transaction, mandatorId: number, owners: readonly Owned<New>[]): Promise<void>;
};

const ruleList: OwnList<StoredRule, OpeningRule> = {
  action: 'replace opening rules',
  member: 'OpeningRules',
  select: (mandatorId, resourceId) =>
    jsonArrayFrom(
      storedRules(mandatorId).where('opening_rule.resource_id', '=', resourceId).orderBy('opening_rule.id'),
    ),
  write: writeRules,
};

const exceptionList: OwnList<StoredException, NewException> = {
  action: 'replace opening exceptions',
  member: 'OpeningExceptions',
  select: (mandatorId, resourceId) =>
    jsonArrayFrom(
      storedExceptions(mandatorId)
        .where('opening_exception.resource_id', '=', resourceId)
        .orderBy('opening_exception.id'),
    ),
  write: writeExceptions,
};

/** An item without its ids. */
const ownMembers = ({ id: _, locationId: __, resourceId: ___, ...members }: StoredRule | StoredException) => members;

/** @throws NotFound, also for a resource of another tenant */
async function readList<Stored extends StoredRule | StoredException>(
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
 * Replaces a list. Changes of the same resource wait for each other, and for a tenant file.
 * @throws Unavailable while an import has locked the resource
 */
function replaceList<Stored extends StoredRule | StoredException, New>(
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
    // The lock needs a statement of its own: the snapshot of the next one then includes all earlier changes.
    const found = await resourceOf(trx, viewer, resourceId)
      .select(['location_id as locationId', 'name'])
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!found) throw unknown();
    const { locationId, name } = found;
    const before = await readList(list, trx, viewer, resourceId);
    checkVersion(before, expected);
    await list.write(trx, viewer.mandatorId, [{ locationId, resourceId, items }]);
    const after = await readList(list, trx, viewer, resourceId);
    await recordAct(
      trx,
      act,
      list.action,
      { noun: 'Resource', id: resourceId, name },
      {
        before: { [list.member]: before.items.map(ownMembers) },
        after: { [list.member]: after.items.map(ownMembers) },
      },
    );
    return after;
  });
}

/** Reads the rules of the resource itself, without those of its location. @throws Forbidden, NotFound */
export async function getRules(db: Database, viewer: Viewer, resourceId: number): Promise<OwnHours<StoredRule>> {
  checkAdmin(viewer);
  return await readList(ruleList, db, viewer, resourceId);
}

/** Reads the exceptions of the resource itself. @throws Forbidden, NotFound */
export async function getExceptions(
  db: Database,
  viewer: Viewer,
  resourceId: number,
): Promise<OwnHours<StoredException>> {
  checkAdmin(viewer);
  return await readList(exceptionList, db, viewer, resourceId);
}

/**
 * Replaces all rules of the resource itself; without any, the rules of its location apply.
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
 * Replaces all exceptions of the resource itself; the exceptions of its location still apply.
 * @throws Forbidden, NotFound, PreconditionFailed
 */
export const replaceExceptions = (
  db: Database,
  act: Act,
  resourceId: number,
  expected: Versions,
  exceptions: readonly NewException[],
): Promise<OwnHours<StoredException>> => replaceList(exceptionList, db, act, resourceId, expected, exceptions);
