/** Resources: all callers but displays read them; Admins create, change and retire them. */
import { sql } from 'kysely';
import { checkAdmin, checkReader, inReach, mayShow } from '../access.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { pageById, readCounted } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest } from '../db/paging.ts';
import { type IdOfParent, pagePerParent } from '../db/per-parent.ts';
import { readById } from '../db/read-by-id.ts';
import { keepRow } from '../db/row-lock.ts';
import { Conflict, InvalidInput, memberFault } from '../errors.ts';
import { moveHours } from '../opening-hours/service.ts';
import { getterOf } from '../records.ts';
import { checkActive, holdActiveLocation, holdLocation } from './locations.ts';
import { changeRecord, insertRecord, type RecordKind } from './records.ts';

export type Resource = {
  id: number;
  locationId: number;
  name: string;
  kind: string;
  /** Number of persons; null when unknown. */
  capacity: number | null;
  equipment: string[];
  mailbox: string | null;
  /** Minutes after its start by which a booking must be checked in, or it is released; null: no check-in. */
  checkInMinutes: number | null;
  /** What is written to its calendar on the mail server, and which side wins there; null: as the tenant says. */
  calendarWriting: 'Off' | 'Busy' | 'Full' | null;
  calendarEdits: 'PutBack' | 'TakeOver' | null;
  /** Whether items of that calendar are declined if the room is taken here; null: as the tenant says. */
  declineConflicts: boolean | null;
  /** The policy of the resource; null: everybody of the tenant sees and books it. */
  policyId: number | null;
  active: boolean;
  version: number;
};

export type NewResource = Omit<Resource, 'id' | 'active' | 'version'>;
export type ResourceChanges = Partial<Omit<Resource, 'id' | 'version'>>;

export type ResourceFilter = {
  ids?: readonly number[] | undefined;
  locationId?: number | undefined;
  /** Kind, equipment and name are compared by `name_key`. */
  kind?: string | undefined;
  minCapacity?: number | undefined;
  /** Only resources with all of this equipment. */
  equipment?: readonly string[] | undefined;
  name?: string | undefined;
  /** Beginnings of words of the name, location, kind and equipment. */
  search?: string | undefined;
  active?: boolean | undefined;
};

export const resourceList: List<Resource> = { name: 'resources', key: idKey, keyOf: ({ id }) => id };

const columns = [
  'id',
  'location_id as locationId',
  'name',
  'kind',
  'capacity',
  'equipment',
  'mailbox',
  'check_in_minutes as checkInMinutes',
  'calendar_writing as calendarWriting',
  'calendar_edits as calendarEdits',
  'decline_conflicts as declineConflicts' as const,
  'policy_id as policyId',
  'active',
  'version',
] as const;
const kind: RecordKind = {
  table: 'resource',
  noun: 'resource',
  columns,
  namesIn: 'location_id',
  taken: () =>
    Conflict.because('NameTaken', 'Another resource of this location has this name already; choose another.', 'Name'),
};

const resourceById = readById<Resource>('resource by id', (from) => from('resource').select(columns));

/** The resources of the tenant by id, without those that policies hide from the caller. @throws Forbidden for a display */
export async function listResources(
  db: Database,
  viewer: Viewer,
  filter: ResourceFilter,
  page: PageRequest,
): Promise<Page<Resource>> {
  checkReader(viewer);
  return await readCounted(db, resourceList, page, (part) => selectResources(db, viewer, filter, part));
}

const resourcesOf = pagePerParent<Viewer, ResourceFilter, Resource>(
  resourceList,
  (db, parent, { viewer, filter, page }) => selectResources(db, viewer, { ...filter, locationId: parent }, page),
);

/** `listResources` of a location, read for all locations of the same turn together. @throws Forbidden for a display */
export async function listResourcesOf(
  db: Database,
  viewer: Viewer,
  locationId: number,
  filter: ResourceFilter,
  page: PageRequest,
): Promise<Page<Resource>> {
  checkReader(viewer);
  return await resourcesOf(db, viewer, locationId, { filter, page });
}

type SoughtResources = Omit<ResourceFilter, 'locationId'> & { locationId?: IdOfParent | undefined };

/**
 * The query of `listResources`. Location and name have an index; other filters scan the rows of the tenant in the order of
 * the primary key.
 */
export function selectResources(
  db: Database,
  viewer: Viewer,
  { ids, locationId, kind, minCapacity, equipment, name, search, active }: SoughtResources,
  page: PageRequest,
) {
  const hasAll = sql<boolean>`not exists (
    select from unnest(${equipment ?? []}::text[]) as wanted
    where name_key(wanted) not in (select name_key(one) from unnest(equipment) as one))`;
  const isFound = sql<boolean>`search_key || (
      select location.search_key from location
      where location.mandator_id = resource.mandator_id and location.id = resource.location_id)
    like all (search_patterns(${search}))`;
  return db
    .selectFrom('resource')
    .where('mandator_id', '=', viewer.mandatorId)
    .where(sql<boolean>`true ${inReach(viewer, 'resource.id')}`)
    .select(columns)
    .$narrowType<Pick<Resource, 'calendarWriting' | 'calendarEdits'>>()
    .$if(search !== undefined, (query) => query.where(isFound))
    .$if(ids !== undefined, (query) => query.where('id', '=', sql<number>`any (${ids}::integer[])`))
    .$if(locationId !== undefined, (query) => query.where('location_id', '=', locationId as IdOfParent))
    .$if(name !== undefined, (query) => query.where('name_key', '=', sql<string>`name_key(${name})`))
    .$if(kind !== undefined, (query) => query.where(sql`name_key(kind)`, '=', sql`name_key(${kind})`))
    .$if(minCapacity !== undefined, (query) => query.where('capacity', '>=', minCapacity as number))
    .$if(active !== undefined, (query) => query.where('active', '=', active as boolean))
    .$if((equipment ?? []).length > 0, (query) => query.where(hasAll))
    .$call(pageById('id', page));
}

/** @throws Forbidden for a display */
export async function findResource(db: Database, viewer: Viewer, id: number): Promise<Resource | undefined> {
  checkReader(viewer);
  return mayShow(viewer, id) ? await resourceById(db, viewer.mandatorId, id) : undefined;
}

/** @throws Forbidden for a display; NotFound, also for a resource that is hidden from the caller */
export const getResource = getterOf(kind.noun, findResource);

/** Locks the policy against deletion until the transaction ends. @throws InvalidInput for one that is not of this tenant */
async function checkPolicy(trx: Transaction, mandatorId: number, policyId: number | null | undefined): Promise<void> {
  if (policyId == null || (await keepRow(trx, 'policy', mandatorId, policyId))) return;
  throw InvalidInput.of(memberFault('PolicyId', 'UnknownPolicy', 'there is no policy of this id'));
}

/** @throws Forbidden, InvalidInput, Conflict */
export function createResource(db: Database, act: Act, fields: NewResource): Promise<Resource> {
  checkAdmin(act.viewer);
  return db.transaction().execute(async (trx) => {
    await holdActiveLocation(trx, act.viewer.mandatorId, fields.locationId);
    await checkPolicy(trx, act.viewer.mandatorId, fields.policyId);
    return await insertRecord<Resource>(trx, act, kind, fields);
  });
}

/**
 * Changes the given members; null clears a member. A resource is never deleted, only retired. At another location its
 * bookings keep their instants, and its own opening hours their clock times.
 * @throws Forbidden, NotFound, PreconditionFailed; InvalidInput for a location or a policy that is not of this tenant; Conflict when the
 * name is taken or the location is retired; Unavailable while an import has locked the resource
 */
export function changeResource(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  changes: ResourceChanges,
): Promise<Resource> {
  checkAdmin(act.viewer);
  return transactOrGiveUp(db, 'The resource', (trx) => writeChanges(trx, act, id, expected, changes));
}

/** Sets a resource to inactive, in the caller's transaction. @throws NotFound, PreconditionFailed */
export const retireResource = (trx: Transaction, act: Act, id: number, expected: Versions): Promise<Resource> =>
  writeChanges(trx, act, id, expected, { active: false });

/** The id of the location of a resource that is not active. */
async function findLocationOfRetired(trx: Transaction, mandatorId: number, id: number): Promise<number | undefined> {
  const found = await trx
    .selectFrom('resource')
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', id)
    .where('active', '=', false)
    .select('location_id as locationId')
    .executeTakeFirst();
  return found?.locationId;
}

/** `changeResource` as a part of the caller's transaction. */
async function writeChanges(
  trx: Transaction,
  act: Act,
  id: number,
  expected: Versions,
  changes: ResourceChanges,
): Promise<Resource> {
  const { mandatorId } = act.viewer;
  const { locationId } = changes;
  const needed = locationId ?? (changes.active ? await findLocationOfRetired(trx, mandatorId, id) : undefined);
  // Before the resource, as tenant files lock them.
  const held = needed === undefined ? undefined : await holdLocation(trx, mandatorId, needed);
  return await changeRecord<Resource>(trx, act, kind, { id, expected }, changes, async (found) => {
    if (locationId !== undefined && locationId !== found.locationId) {
      checkActive(held);
      await moveHours(trx, mandatorId, id, locationId);
    } else if (changes.active && !found.active)
      // It may have been moved or retired just before.
      checkActive(held?.id === found.locationId ? held : await holdLocation(trx, mandatorId, found.locationId));
    await checkPolicy(trx, mandatorId, changes.policyId);
    return {};
  });
}
