/**
 * The hours that a resource has itself, as an Admin reads and replaces them. They are written as a whole and with new
 * ids each time, by tenant files too: the greatest id is the version of a list, 0 that of an empty one.
 */
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import { checkAdmin, checkVersion, recordAct } from '../access.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { NotFound } from '../errors.ts';
import type { OpeningRule } from './local-hours.ts';
import { type StoredException, type StoredRule, storedExceptions, storedRules } from './stored.ts';

/** All rules or all exceptions of a resource. */
export type OwnHours<Item> = { resourceId: number; version: number; items: Item[] };
export type NewException = Omit<StoredException, 'id' | 'locationId' | 'resourceId'>;

type Read<Item> = (db: Database, viewer: Viewer, resourceId: number) => Promise<OwnHours<Item>>;

const resourceOf = (db: Database, { mandatorId }: Viewer, id: number) =>
  db.selectFrom('resource').where('mandator_id', '=', mandatorId).where('id', '=', id);

const unknown = () => new NotFound('There is no resource of this id.');

/** @throws NotFound, also for another tenant's */
function asOwn<Item extends { id: number }>(found: { id: number; items: Item[] } | undefined): OwnHours<Item> {
  if (!found) throw unknown();
  return { resourceId: found.id, version: found.items.at(-1)?.id ?? 0, items: found.items };
}

const readRules: Read<StoredRule> = async (db, viewer, resourceId) => {
  const rules = storedRules(viewer.mandatorId)
    .where('opening_rule.resource_id', '=', resourceId)
    .orderBy('opening_rule.id');
  return asOwn(
    await resourceOf(db, viewer, resourceId)
      .select(['id', jsonArrayFrom(rules).as('items')])
      .executeTakeFirst(),
  );
};

const readExceptions: Read<StoredException> = async (db, viewer, resourceId) => {
  const exceptions = storedExceptions(viewer.mandatorId)
    .where('opening_exception.resource_id', '=', resourceId)
    .orderBy('opening_exception.id');
  return asOwn(
    await resourceOf(db, viewer, resourceId)
      .select(['id', jsonArrayFrom(exceptions).as('items')])
      .executeTakeFirst(),
  );
};

/** The rules of a resource itself, without its location's. @throws Forbidden, NotFound */
export async function getRules(db: Database, viewer: Viewer, resourceId: number): Promise<OwnHours<StoredRule>> {
  checkAdmin(viewer);
  return readRules(db, viewer, resourceId);
}

/** The same for its exceptions. @throws Forbidden, NotFound */
export async function getExceptions(
  db: Database,
  viewer: Viewer,
  resourceId: number,
): Promise<OwnHours<StoredException>> {
  checkAdmin(viewer);
  return readExceptions(db, viewer, resourceId);
}

type Change<Item> = {
  act: Act;
  /** What is kept of it. */
  action: string;
  resourceId: number;
  expected: Versions;
  read: Read<Item>;
  /** Puts the new ones in the place of the old ones. */
  write(trx: Transaction, key: { mandator_id: number; location_id: number; resource_id: number }): Promise<void>;
};

/**
 * Changes of one resource wait for each other, and for a tenant file.
 * @throws Unavailable while an import holds the resource
 */
function replaceOwn<Item>(
  db: Database,
  { act, action, resourceId, expected, read, write }: Change<Item>,
): Promise<OwnHours<Item>> {
  const { viewer } = act;
  checkAdmin(viewer);
  return transactOrGiveUp(db, 'The resource', async (trx) => {
    // First and by itself: what is read behind it is what stands when the lock is held.
    const resource = await resourceOf(trx, viewer, resourceId)
      .select('location_id')
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!resource) throw unknown();
    checkVersion(await read(trx, viewer, resourceId), expected);
    await write(trx, { mandator_id: viewer.mandatorId, resource_id: resourceId, ...resource });
    await recordAct(trx, act, action, resourceId);
    return await read(trx, viewer, resourceId);
  });
}

/**
 * Puts these rules in the place of all that the resource has itself; with none, those of its location count.
 * @throws Forbidden, NotFound, PreconditionFailed
 */
export async function replaceRules(
  db: Database,
  act: Act,
  resourceId: number,
  expected: Versions,
  rules: readonly OpeningRule[],
): Promise<OwnHours<StoredRule>> {
  const write: Change<StoredRule>['write'] = async (trx, key) => {
    await trx
      .deleteFrom('opening_rule')
      .where('mandator_id', '=', key.mandator_id)
      .where('resource_id', '=', key.resource_id)
      .execute();
    if (rules.length === 0) return;
    const rows = rules.map(({ weekdays, opens, closes, validFrom, validTo }) => ({
      ...key,
      weekdays: [...weekdays],
      opens,
      closes,
      valid_from: validFrom,
      valid_to: validTo,
    }));
    await trx.insertInto('opening_rule').values(rows).execute();
  };
  return await replaceOwn(db, {
    act,
    action: 'replace opening rules',
    resourceId,
    expected,
    read: readRules,
    write,
  });
}

/**
 * Puts these exceptions in the place of all that the resource has itself; those of its location go on to count.
 * @throws Forbidden, NotFound, PreconditionFailed
 */
export async function replaceExceptions(
  db: Database,
  act: Act,
  resourceId: number,
  expected: Versions,
  exceptions: readonly NewException[],
): Promise<OwnHours<StoredException>> {
  const write: Change<StoredException>['write'] = async (trx, key) => {
    await trx
      .deleteFrom('opening_exception')
      .where('mandator_id', '=', key.mandator_id)
      .where('resource_id', '=', key.resource_id)
      .execute();
    if (exceptions.length === 0) return;
    const rows = exceptions.map(({ fromDate, toDate, closed, periods, reason }) => ({
      ...key,
      from_date: fromDate,
      to_date: toDate,
      closed,
      reason,
      periods: JSON.stringify(periods),
    }));
    await trx.insertInto('opening_exception').values(rows).execute();
  };
  return await replaceOwn(db, {
    act,
    action: 'replace opening exceptions',
    resourceId,
    expected,
    read: readExceptions,
    write,
  });
}
