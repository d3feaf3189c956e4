/**
 * The only writer of opening_rule and opening_exception, apart from cells/, which copies and removes whole tenants. An Admin
 * or a tenant file replaces a list of a location or a resource as a whole, with new ids; the greatest id is the version of the
 * list, 0 that of an empty one. When a resource moves to another location, its lists go along and keep their ids.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { checkAdmin } from '../access.ts';
import { type AuditAction, recordAct } from '../acts.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { checkVersion, noRecord } from '../records.ts';
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

/** A location (`resourceId` null) or a resource. */
type Owner = { locationId: number; resourceId: number | null };
/** All rules or all exceptions of an owner. */
export type OwnHours<Item> = Owner & { version: number; items: Item[] };

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

/** Identifies an owner: the location itself, or its resource. */
const ownerKey = ({ locationId, resourceId }: Owner) => `${locationId} ${resourceId}`;

/** Reads the own hours of each location and resource of a tenant, in the form of a tenant file. */
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

/** Replaces the given lists, for a tenant file. The caller has locked the locations and resources. */
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

/** Moves the own hours of a resource to another location, as clock times. */
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

/** Whose hours are read or replaced: a resource, or a location itself. */
export type HoursOwner = { resourceId: number } | { locationId: number };

const isResource = (owner: HoursOwner): owner is { resourceId: number } => 'resourceId' in owner;

const unknown = (owner: HoursOwner) => noRecord(isResource(owner) ? 'resource' : 'location');

/** @param hold locks the owner until the transaction ends @throws NotFound, also for an owner of another tenant */
async function getOwner(
  db: Database,
  { mandatorId }: Viewer,
  owner: HoursOwner,
  { hold }: { hold: boolean } = { hold: false },
): Promise<Owner & { name: string }> {
  const found = isResource(owner)
    ? await db
        .selectFrom('resource')
        .where('mandator_id', '=', mandatorId)
        .where('id', '=', owner.resourceId)
        .select(['location_id as locationId', 'id as resourceId', 'name'])
        .$if(hold, (query) => query.forNoKeyUpdate())
        .executeTakeFirst()
    : await db
        .selectFrom('location')
        .where('mandator_id', '=', mandatorId)
        .where('id', '=', owner.locationId)
        .select(['id as locationId', sql<null>`null`.as('resourceId'), 'name'])
        .$if(hold, (query) => query.forNoKeyUpdate())
        .executeTakeFirst();
  if (!found) throw unknown(owner);
  return found;
}

/** One of the two lists of an owner. */
type OwnList<Stored, New> = {
  action: AuditAction<'Location'> & AuditAction<'Resource'>;
  /** The name of the list in the audit. */
  member: string;
  read(db: Database, mandatorId: number, owner: Owner): Promise<Stored[]>;
  write(trx: Transaction, mandatorId: number, owners: readonly Owned<New>[]): Promise<void>;
};

const ruleList: OwnList<StoredRule, OpeningRule> = {
  action: 'replace opening rules',
  member: 'OpeningRules',
  read: (db, mandatorId, { locationId, resourceId }) =>
    db
      .selectFrom(storedRules(mandatorId).as('rule'))
      .where('locationId', '=', locationId)
      .where('resourceId', 'is not distinct from', resourceId)
      .selectAll()
      .orderBy('id')
      .execute(),
  write: writeRules,
};

const exceptionList: OwnList<StoredException, NewException> = {
  action: 'replace opening exceptions',
  member: 'OpeningExceptions',
  read: (db, mandatorId, { locationId, resourceId }) =>
    db
      .selectFrom(storedExceptions(mandatorId).as('exception'))
      .where('locationId', '=', locationId)
      .where('resourceId', 'is not distinct from', resourceId)
      .selectAll()
      .orderBy('id')
      .execute(),
  write: writeExceptions,
};

/** An item without its ids. */
const ownMembers = ({ id: _, locationId: __, resourceId: ___, ...members }: StoredRule | StoredException) => members;

async function readList<Stored extends StoredRule | StoredException>(
  { read }: OwnList<Stored, never>,
  db: Database,
  viewer: Viewer,
  { locationId, resourceId }: Owner,
): Promise<OwnHours<Stored>> {
  const items = await read(db, viewer.mandatorId, { locationId, resourceId });
  return { locationId, resourceId, version: items.at(-1)?.id ?? 0, items };
}

/**
 * Replaces a list; an equal list stays as it is. Changes of the same owner take turns, also with a tenant file. @throws
 * Unavailable while an import has locked the resource
 */
function replaceList<Stored extends StoredRule | StoredException, New>(
  list: OwnList<Stored, New>,
  db: Database,
  act: Act,
  owner: HoursOwner,
  expected: Versions,
  items: readonly New[],
): Promise<OwnHours<Stored>> {
  const { viewer } = act;
  checkAdmin(viewer);
  return transactOrGiveUp(db, isResource(owner) ? 'The resource' : 'The location', async (trx) => {
    // The lock needs a statement of its own: the snapshot of the next one then includes all earlier changes.
    const { name, ...held } = await getOwner(trx, viewer, owner, { hold: true });
    const before = await readList(list, trx, viewer, held);
    checkVersion(before, expected);
    if (isDeepStrictEqual(before.items.map(ownMembers), items)) return before;
    await list.write(trx, viewer.mandatorId, [{ ...held, items }]);
    const after = await readList(list, trx, viewer, held);
    await recordAct(
      trx,
      act,
      list.action,
      isResource(owner)
        ? { noun: 'Resource', id: owner.resourceId, name }
        : { noun: 'Location', id: owner.locationId, name },
      {
        before: { [list.member]: before.items.map(ownMembers) },
        after: { [list.member]: after.items.map(ownMembers) },
      },
    );
    return after;
  });
}

/** Reads the rules of the owner itself: of a resource without those of its location. @throws Forbidden, NotFound */
export async function getRules(db: Database, viewer: Viewer, owner: HoursOwner): Promise<OwnHours<StoredRule>> {
  checkAdmin(viewer);
  return await readList(ruleList, db, viewer, await getOwner(db, viewer, owner));
}

/** Reads the exceptions of the owner itself. @throws Forbidden, NotFound */
export async function getExceptions(
  db: Database,
  viewer: Viewer,
  owner: HoursOwner,
): Promise<OwnHours<StoredException>> {
  checkAdmin(viewer);
  return await readList(exceptionList, db, viewer, await getOwner(db, viewer, owner));
}

/**
 * Replaces all rules of the owner itself; for a resource without any, the rules of its location apply.
 * @throws Forbidden, NotFound, PreconditionFailed
 */
export const replaceRules = (
  db: Database,
  act: Act,
  owner: HoursOwner,
  expected: Versions,
  rules: readonly OpeningRule[],
): Promise<OwnHours<StoredRule>> => replaceList(ruleList, db, act, owner, expected, rules);

/**
 * Replaces all exceptions of the owner itself; for a resource the exceptions of its location still apply.
 * @throws Forbidden, NotFound, PreconditionFailed
 */
export const replaceExceptions = (
  db: Database,
  act: Act,
  owner: HoursOwner,
  expected: Versions,
  exceptions: readonly NewException[],
): Promise<OwnHours<StoredException>> => replaceList(exceptionList, db, act, owner, expected, exceptions);
