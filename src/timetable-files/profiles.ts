/** Profiles store, under a name, how the files of a timetable are read. The only writer of timetable_profile. */
import { sql } from 'kysely';
import { checkImporter } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { pageById, readCounted } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest } from '../db/paging.ts';
import { readById } from '../db/read-by-id.ts';
import { checkRecordLimit } from '../db/record-limit.ts';
import { InvalidInput, memberFault } from '../errors.ts';
import { refuseDuplicate } from '../flow/database-errors.ts';
import { changeHeld, deleteHeld, finderOf, getterOf, type HeldKind, lockOne, nameTaken } from '../records.ts';
import type { Format, reading, TimetableRequest } from './wire.ts';

/** The members of a request that a profile may give. */
export type KeptReading = Pick<TimetableRequest, keyof typeof reading> & { Format?: Format | null | undefined };
export type Profile = { id: number; name: string; reading: KeptReading; version: number };

/** The most profiles of a tenant, and the most bytes of one: a list returns all of them whole. */
export const mostProfiles = 50;
const mostBytes = 131_072;

export const profileList: List<Profile> = { name: 'timetable profiles', key: idKey, keyOf: ({ id }) => id };

const columns = ['id', 'name', 'version', sql<KeptReading>`reading`.as('reading')] as const;
const profilesOf = (db: Database, { mandatorId }: Viewer) =>
  db.selectFrom('timetable_profile').where('mandator_id', '=', mandatorId).select(columns);

const profiles: HeldKind<Profile, 'timetable profile'> = {
  noun: 'timetable profile',
  lock: (trx, viewer, id) => lockOne(profilesOf(trx, viewer).where('id', '=', id)),
  subjectOf: ({ id, name }) => ({ noun: 'TimetableProfile', id, name }),
  auditedMembers: ({ name, reading: kept }) => ({ name, ...kept }),
};
const refuseTaken = refuseDuplicate(nameTaken(profiles.noun));

const ofName = (name: string) => sql<boolean>`name_key = name_key(${name})`;

/** The profiles of the tenant by id. @throws Forbidden */
export async function listProfiles(
  db: Database,
  viewer: Viewer,
  { name }: { name?: string | undefined },
  page: PageRequest,
): Promise<Page<Profile>> {
  checkImporter(viewer);
  const list = profilesOf(db, viewer).$if(name !== undefined, (query) => query.where(ofName(name as string)));
  return await readCounted(db, profileList, page, (part) => list.$call(pageById('id', part)));
}

const profileById = readById<Profile>('timetable profile by id', (from) => from('timetable_profile').select(columns));

/** @throws Forbidden */
export const findProfile = finderOf(profileById, checkImporter);

/** @throws Forbidden, NotFound */
export const getProfile = getterOf(profiles.noun, findProfile);

export type NewProfile = { name: string; reading: KeptReading };

/** Removes empty members, which mean the same as absent ones. */
const withoutEmpty = (kept: KeptReading): KeptReading => {
  const isSaid = (value: unknown) => value != null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => isSaid(value))) as KeptReading;
};

/** @throws InvalidInput for a profile that is too large */
function writeReading(kept: KeptReading): string {
  const text = JSON.stringify(withoutEmpty(kept));
  if (Buffer.byteLength(text) <= mostBytes) return text;
  throw new InvalidInput(`A profile may have at most ${mostBytes} bytes: send Rooms with the files instead.`);
}

/** @throws Forbidden, Conflict, InvalidInput */
export function createProfile(db: Database, act: Act, { name, reading: kept }: NewProfile): Promise<Profile> {
  const { viewer } = act;
  checkImporter(viewer);
  return transactOrGiveUp(db, 'The tenant', async (trx) => {
    await checkRecordLimit(trx, viewer.mandatorId, {
      table: 'timetable_profile',
      noun: 'timetable profiles',
      most: mostProfiles,
    });
    const made = await trx
      .insertInto('timetable_profile')
      .values({ mandator_id: viewer.mandatorId, name, reading: writeReading(kept) })
      .returning(columns)
      .executeTakeFirstOrThrow()
      .catch(refuseTaken);
    const record = { before: null, after: profiles.auditedMembers(made) };
    await recordAct(trx, act, 'create timetable profile', profiles.subjectOf(made), record);
    return made;
  });
}

/**
 * Changes the given members, each as a whole; null removes one. Sending what is already stored changes nothing.
 * @throws Forbidden, NotFound, PreconditionFailed, Conflict, InvalidInput
 */
export function changeProfile(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  { name, reading: changes }: Partial<NewProfile>,
): Promise<Profile> {
  const { viewer } = act;
  checkImporter(viewer);
  return db.transaction().execute((trx) =>
    changeHeld(trx, act, profiles, { id, expected }, (found) =>
      trx
        .updateTable('timetable_profile')
        .set({
          name: name ?? found.name,
          reading: writeReading({ ...found.reading, ...changes }),
        })
        .where('mandator_id', '=', viewer.mandatorId)
        .where('id', '=', id)
        .returning(columns)
        .executeTakeFirstOrThrow()
        .catch(refuseTaken),
    ),
  );
}

/** Deletes a profile; what was imported with it stays. @throws Forbidden, NotFound, PreconditionFailed */
export function deleteProfile(db: Database, act: Act, id: number, expected: Versions): Promise<Profile> {
  const { viewer } = act;
  checkImporter(viewer);
  return db
    .transaction()
    .execute((trx) =>
      deleteHeld(trx, act, profiles, { id, expected }, () =>
        trx.deleteFrom('timetable_profile').where('mandator_id', '=', viewer.mandatorId).where('id', '=', id).execute(),
      ),
    );
}

type Lists = 'Periods' | 'Rooms' | 'SharedRooms';
/** A request completed by its profile; a list that neither of them has is empty. */
export type CompleteRequest = Omit<TimetableRequest, Lists> &
  Pick<KeptReading, 'Format'> & { [List in Lists]: NonNullable<KeptReading[List]> };

/** Adds the members of its profile to a request. @throws InvalidInput for a profile that does not exist */
export async function completeRequest(db: Database, viewer: Viewer, asked: TimetableRequest): Promise<CompleteRequest> {
  const kept = asked.Profile ? await findReading(db, viewer, asked.Profile) : {};
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  const { Periods = [], Rooms = [], SharedRooms = [], ...rest } = { ...kept, ...(given as TimetableRequest) };
  return { ...rest, Periods, Rooms, SharedRooms };
}

async function findReading(db: Database, viewer: Viewer, name: string): Promise<KeptReading> {
  const found = await profilesOf(db, viewer).where(ofName(name)).executeTakeFirst();
  if (found) return found.reading;
  const text = `there is no timetable profile ${name}; correct the name, or create it first`;
  throw InvalidInput.of(memberFault('Profile', 'UnknownProfile', text));
}
