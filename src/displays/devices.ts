/** Paired devices: Admins list, change and revoke them; each reads itself. */
import { sql } from 'kysely';
import { checkAdmin, getOwnDisplay } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Context, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { pageById, readCounted } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { countPerParent, readPerParent, type SelectOfParent } from '../db/per-parent.ts';
import { lockRow } from '../db/row-lock.ts';
import { Conflict } from '../errors.ts';
import { changeHeld, getterOf, type HeldKind, holdRecord, newTo } from '../records.ts';
import { changeDisplayPerson, holdActiveLocation } from '../tenants/service.ts';
import type { DeviceHealth, Display } from './display.ts';
import { hear } from './hearing.ts';
import { checkResources, checkSomeRoom } from './rooms.ts';

export type DisplayChanges = Partial<Pick<Display, 'name' | 'resourceIds' | 'locationId' | 'mayBook' | 'privacy'>>;

export const displayList: List<Pick<Display, 'id'>> = { name: 'displays', key: idKey, keyOf: ({ id }) => id };

const selectDevices = (db: Database, { mandatorId }: Viewer) =>
  db
    .selectFrom('display')
    .innerJoin('person', (join) =>
      join.onRef('person.mandator_id', '=', 'display.mandator_id').onRef('person.id', '=', 'display.person_id'),
    )
    .where('display.mandator_id', '=', mandatorId)
    .select(['display.id', 'person.name', 'display.person_id as personId', 'display.location_id as locationId'])
    .select(['may_book as mayBook', 'privacy', 'display.created_at as createdAt', 'expires_at as expiresAt'])
    .select(['revoked_at as revokedAt', 'heard_at as heardAt', 'silent_since as silentSince', 'health'])
    .select([
      'display.version',
      sql<number[]>`array(
        select resource_id from display_resource as given
        where given.mandator_id = display.mandator_id and given.display_id = display.id order by 1)`.as('resourceIds'),
      // All rooms that it shows: those given one by one, and those that its location has now.
      sql<Display['resources']>`(
        select coalesce(jsonb_agg(jsonb_build_object('id', room.id, 'name', room.name) order by room.name_key, room.id), '[]')
        from resource as room
        where room.mandator_id = display.mandator_id and (room.location_id = display.location_id and room.active
          or room.id in (
            select resource_id from display_resource as given
            where given.mandator_id = display.mandator_id and given.display_id = display.id)))`.as('resources'),
      sql<Display['look']>`(
        select jsonb_build_object('colour', colour, 'logo', left(encode(sha256(convert_to(logo, 'UTF8')), 'hex'), 22))
        from mandator where id = ${mandatorId})`.as('look'),
      sql<number | null>`floor(extract(epoch from now() - heard_at))::int`.as('ageSeconds'),
    ])
    .$narrowType<Pick<Display, 'privacy'>>();

function toDisplay({ health: stored, ...display }: Omit<Display, 'health'> & { health: unknown }): Display {
  const health = stored as (Omit<DeviceHealth, 'startedAt'> & { startedAt: string | null }) | null;
  const { startedAt = null } = health ?? {};
  return {
    ...display,
    health: health && { ...health, startedAt: startedAt === null ? null : new Date(startedAt) },
  };
}

/** All displays of the tenant by id, revoked ones too. @throws Forbidden */
export async function listDevices(db: Database, viewer: Viewer, page: PageRequest): Promise<Page<Display>> {
  checkAdmin(viewer);
  const list = selectDevices(db, viewer);
  const read = await readCounted(db, displayList, page, (part) => list.$call(pageById('display.id', part)));
  return { ...read, items: read.items.map(toDisplay) };
}

type StoredDisplay = Omit<Display, 'health'> & { health: unknown };
const ofResource: SelectOfParent<Viewer, null, number, StoredDisplay> = (db, parent, { viewer, page }) =>
  selectDevices(db, viewer)
    .where(
      sql<boolean>`exists (
        select from resource as room
        where room.mandator_id = display.mandator_id and room.id = ${parent}
          and (room.location_id = display.location_id and room.active or exists (
            select from display_resource as given
            where given.mandator_id = display.mandator_id and given.display_id = display.id
              and given.resource_id = room.id)))`,
    )
    .$call(pageById('display.id', page));
const devicesOf = { read: readPerParent(ofResource), count: countPerParent(ofResource) };

/** The displays that show a resource, revoked ones too, for all resources that are asked about together. @throws Forbidden */
export async function listDevicesOf(
  db: Database,
  viewer: Viewer,
  resourceId: number,
  page: PageRequest,
): Promise<Page<Display>> {
  checkAdmin(viewer);
  const rows = await devicesOf.read(db, { viewer, parent: resourceId, asked: { filter: null, page } });
  const count = () => devicesOf.count(db, { viewer, parent: resourceId, asked: null });
  return { ...toPage(displayList, rows.map(toDisplay), page), count };
}

/** The displays with these ids, by id; unknown ids are left out. @throws Forbidden */
export async function listDevicesById(db: Database, viewer: Viewer, ids: readonly number[]): Promise<Display[]> {
  checkAdmin(viewer);
  const rows = await selectDevices(db, viewer)
    .where('display.id', '=', sql<number>`any (${ids}::integer[])`)
    .orderBy('display.id')
    .execute();
  return rows.map(toDisplay);
}

/** @throws Forbidden */
export async function listAllDevices(db: Database, viewer: Viewer): Promise<Display[]> {
  checkAdmin(viewer);
  const rows = await selectDevices(db, viewer).orderBy('display.id').execute();
  return rows.map(toDisplay);
}

async function findDevice(db: Database, viewer: Viewer, id: number): Promise<Display | undefined> {
  const row = await selectDevices(db, viewer).where('display.id', '=', id).executeTakeFirst();
  return row && toDisplay(row);
}

const readDevice = getterOf('display', findDevice);

/** @throws Forbidden; NotFound, also for another tenant's */
export async function getDevice(db: Database, viewer: Viewer, id: number): Promise<Display> {
  checkAdmin(viewer);
  return await readDevice(db, viewer, id);
}

/** The device that calls. @throws Forbidden */
export async function getOwnDevice(context: Context, viewer: Viewer): Promise<Display> {
  const id = getOwnDisplay(viewer);
  hear(context, viewer);
  return await readDevice(context.db, viewer, id);
}

/** The device that calls; null for a person. */
export async function findOwnDevice(context: Context, viewer: Viewer): Promise<Display | null> {
  return viewer.display ? await getOwnDevice(context, viewer) : null;
}

/** Stores the health that a device reports. @throws Forbidden for callers that are not devices */
export async function reportHealth(context: Context, viewer: Viewer, health: DeviceHealth): Promise<Display> {
  const id = getOwnDisplay(viewer);
  hear(context, viewer);
  await context.db
    .updateTable('display')
    .set({ health: JSON.stringify(health), heard_at: sql`coalesce(heard_at, now())` })
    .where('mandator_id', '=', viewer.mandatorId)
    .where('id', '=', id)
    .execute();
  return await readDevice(context.db, viewer, id);
}

/**
 * Changes the given members. The database announces the change, so that every process applies it at once.
 * @throws Forbidden, NotFound, PreconditionFailed; InvalidInput for unknown rooms, or if no room would be left; Conflict for
 * retired rooms and a revoked display
 */
export function changeDevice(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  changes: DisplayChanges,
): Promise<Display> {
  checkAdmin(act.viewer);
  const { mandatorId } = act.viewer;
  return db.transaction().execute((trx) =>
    changeHeld(trx, act, displays, { id, expected }, async (found) => {
      if (found.revokedAt) throw Conflict.because('DisplayRevoked', 'The display is revoked; pair the device again.');
      const { name = found.name, locationId = found.locationId } = changes;
      const { mayBook = found.mayBook, privacy = found.privacy } = changes;
      const given = changes.resourceIds && [...new Set(changes.resourceIds)].sort((one, other) => one - other);
      const resourceIds = given ?? found.resourceIds;
      checkSomeRoom(resourceIds, locationId);
      // Before the rooms, as tenant files lock them.
      if (changes.locationId) await holdActiveLocation(trx, mandatorId, changes.locationId);
      if (given) await giveResources(trx, mandatorId, id, given);
      const settings = { name, resourceIds, locationId, mayBook, privacy };
      if (Object.keys(newTo(found, settings)).length === 0) return found;
      if (name !== found.name) await changeDisplayPerson(trx, mandatorId, found.personId, { name });
      await trx
        .updateTable('display')
        .set({ version: found.version + 1, location_id: locationId, may_book: mayBook, privacy })
        .where('mandator_id', '=', mandatorId)
        .where('id', '=', id)
        .execute();
      return await readDevice(trx, act.viewer, id);
    }),
  );
}

/** A display as the subject of an act in the audit. */
export const subjectOf = ({ id, name }: Display) => ({ noun: 'Display' as const, id, name });

/** The settings of a display that an Admin chooses. */
export function settingsOf({ name, resources, locationId, mayBook, privacy }: Display) {
  return { name, resources: resources.map((resource) => resource.name), locationId, mayBook, privacy };
}

const displays: HeldKind<Display> = {
  noun: 'display',
  lock: async (trx, viewer, id) => {
    // The lock needs a statement of its own, since the other reads rows of other tables too.
    await lockRow(trx, 'display', viewer.mandatorId, id);
    return await findDevice(trx, viewer, id);
  },
  subjectOf,
  auditedMembers: settingsOf,
};

async function giveResources(
  trx: Transaction,
  mandatorId: number,
  displayId: number,
  resourceIds: readonly number[],
): Promise<void> {
  await checkResources(trx, mandatorId, resourceIds);
  await sql`
    delete from display_resource
    where mandator_id = ${mandatorId} and display_id = ${displayId} and resource_id <> all (${resourceIds}::integer[])`.execute(
    trx,
  );
  await sql`
    insert into display_resource (mandator_id, display_id, resource_id)
    select ${mandatorId}, ${displayId}, unnest(${resourceIds}::integer[]) on conflict do nothing`.execute(trx);
}

/**
 * Ends a display, its token, its streams and its person, on every process. Repeating it is no error.
 * @throws Forbidden; NotFound, also for another tenant's
 */
export function revokeDevice(db: Database, act: Act, id: number): Promise<Display> {
  checkAdmin(act.viewer);
  const { mandatorId } = act.viewer;
  return db.transaction().execute(async (trx) => {
    const found = await holdRecord(displays.lock(trx, act.viewer, id), displays.noun, undefined);
    if (found.revokedAt) return found;
    await trx
      .updateTable('display')
      .set({ revoked_at: sql`now()`, silent_since: null })
      .where('mandator_id', '=', mandatorId)
      .where('id', '=', id)
      .execute();
    await changeDisplayPerson(trx, mandatorId, found.personId, { active: false });
    await recordAct(trx, act, 'revoke display', subjectOf(found));
    return await readDevice(trx, act.viewer, id);
  });
}
