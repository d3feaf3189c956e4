/** Locations: all callers but displays read them; Admins create, change and retire them. */
import { sql } from 'kysely';
import { checkAdmin, checkReader } from '../access.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { pageById } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { readById } from '../db/read-by-id.ts';
import { Conflict } from '../errors.ts';
import { finderOf, getterOf, unknownReference } from '../records.ts';
import { changeRecord, insertRecord, type RecordKind } from './records.ts';
import { withZoneName } from './time-zones.ts';

export type Location = { id: number; name: string; timeZone: string; active: boolean; version: number };

export type LocationChanges = Partial<Pick<Location, 'name' | 'timeZone' | 'active'>>;

export const locationList: List<Location> = { name: 'locations', key: idKey, keyOf: ({ id }) => id };

const columns = ['id', 'name', 'time_zone as timeZone', 'active', 'version'] as const;
const kind: RecordKind = {
  table: 'location',
  noun: 'location',
  columns,
  namesIn: 'mandator_id',
};

const locationsOf = (db: Database, { mandatorId }: Pick<Viewer, 'mandatorId'>) =>
  db.selectFrom('location').where('mandator_id', '=', mandatorId).select(columns);

const locationById = readById<Location>('location by id', (from) => from('location').select(columns));

/** The locations of the tenant by id, including retired ones. @throws Forbidden for a display */
export async function listLocations(
  db: Database,
  viewer: Viewer,
  filter: { active?: boolean | undefined },
  page: PageRequest,
): Promise<Page<Location>> {
  checkReader(viewer);
  const { active } = filter;
  const rows = await locationsOf(db, viewer)
    .$if(active !== undefined, (query) => query.where('active', '=', active as boolean))
    .$call(pageById('id', page))
    .execute();
  return toPage(locationList, rows, page);
}

/** All locations of the tenant by id. @throws Forbidden for a display */
export async function listAllLocations(db: Database, viewer: Viewer): Promise<Location[]> {
  checkReader(viewer);
  return await locationsOf(db, viewer).orderBy('id').execute();
}

/** @throws Forbidden for a display */
export const findLocation = finderOf(locationById, checkReader);

/** @throws Forbidden for a display; NotFound */
export const getLocation = getterOf(kind.noun, findLocation);

/** Reads a location and locks it against changes until the transaction ends; undefined for one that is not of this tenant. */
export const holdLocation = (trx: Transaction, mandatorId: number, id: number): Promise<Location | undefined> =>
  locationsOf(trx, { mandatorId }).where('id', '=', sql<number>`${id}::bigint`).forShare().executeTakeFirst();

/** @throws InvalidInput without a location; Conflict for a retired one */
export function checkActive(location: Location | undefined): Location {
  if (!location) throw unknownReference('Location');
  if (!location.active)
    throw Conflict.because('InactiveLocation', 'The location is not active; set it to active first.', 'LocationId');
  return location;
}

/** As `holdLocation`. @throws InvalidInput for a location that is not of this tenant; Conflict for a retired one */
export const holdActiveLocation = async (trx: Transaction, mandatorId: number, id: number): Promise<Location> =>
  checkActive(await holdLocation(trx, mandatorId, id));

/** @throws Forbidden, Conflict; InvalidInput for a zone that PostgreSQL does not know */
export async function createLocation(
  db: Database,
  act: Act,
  fields: Pick<Location, 'name' | 'timeZone'>,
): Promise<Location> {
  checkAdmin(act.viewer);
  const named = await withZoneName(db, fields);
  return await db.transaction().execute((trx) => insertRecord<Location>(trx, act, kind, named));
}

/**
 * Changes the given members; a location is never deleted, only retired.
 * @throws Forbidden, NotFound, PreconditionFailed; InvalidInput for a zone that PostgreSQL does not know; Conflict when the
 * name is taken, or when the change would retire a location with active resources
 */
export async function changeLocation(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  changes: LocationChanges,
): Promise<Location> {
  checkAdmin(act.viewer);
  const named = await withZoneName(db, changes);
  return await db.transaction().execute((trx) =>
    changeRecord<Location>(trx, act, kind, { id, expected }, named, async (found) => {
      if (changes.active === false && found.active) await checkDeserted(trx, act.viewer.mandatorId, id);
      return {};
    }),
  );
}

/** @throws Conflict while the location has active resources */
async function checkDeserted(trx: Transaction, mandatorId: number, locationId: number): Promise<void> {
  const { count } = await trx
    .selectFrom('resource')
    .where('mandator_id', '=', mandatorId)
    .where('location_id', '=', locationId)
    .where('active', '=', true)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  if (count > 0)
    throw Conflict.because(
      'HasActiveResources',
      `The location still has ${count} active resources; set these to inactive first.`,
    );
}
