/** Persons read their own record; Admins read, create, change and retire all. A tenant always has an active Admin. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { checkAdmin, maySeeAll } from '../access.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { pageById, readCounted } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest } from '../db/paging.ts';
import { type IdOfParent, pagePerParent } from '../db/per-parent.ts';
import { readById } from '../db/read-by-id.ts';
import { lockTenant } from '../db/row-lock.ts';
import { Conflict, InvalidInput, memberFault, NotFound } from '../errors.ts';
import { erasedName } from '../names.ts';
import { finderOf, getterOf } from '../records.ts';
import { devicesOnly } from './display-persons.ts';
import { getMandator, noMandator } from './mandators.ts';
import { personErased, personTaken } from './person-conflicts.ts';
import { changeRecord, insertRecord, type RecordKind } from './records.ts';
import { withZoneName } from './time-zones.ts';

export type PersonRecord = {
  id: number;
  name: string;
  email: string;
  timeZone: string;
  role: Viewer['role'];
  teacherCode: string | null;
  active: boolean;
  /** When it was erased: name and address have been replaced. */
  erasedAt: Date | null;
  version: number;
};

export type NewPerson = Omit<PersonRecord, 'id' | 'active' | 'erasedAt' | 'version'>;
export type PersonChanges = Partial<Omit<PersonRecord, 'id' | 'erasedAt' | 'version'>>;

export type PersonFilter = {
  /** Beginnings of words of the name and address. */
  search?: string | undefined;
  /** Compared without regard to case. */
  email?: string | undefined;
  role?: Viewer['role'] | undefined;
  groupId?: number | undefined;
  active?: boolean | undefined;
};

export const personList: List<PersonRecord> = { name: 'persons', key: idKey, keyOf: ({ id }) => id };

const columns = [
  'id',
  'name',
  'email',
  'time_zone as timeZone',
  'role',
  'teacher_code as teacherCode',
  'active',
  'erased_at as erasedAt',
  'version',
] as const;
const kind: RecordKind = {
  table: 'person',
  noun: 'person',
  columns,
  taken: personTaken,
};

const personsOf = (db: Database, { mandatorId }: Pick<Viewer, 'mandatorId'>) =>
  db
    .selectFrom('person')
    .where('mandator_id', '=', mandatorId)
    .select(columns)
    .$narrowType<Pick<PersonRecord, 'role'>>();

const personById = readById<PersonRecord>('person by id', (from) =>
  from('person').select(columns).$narrowType<Pick<PersonRecord, 'role'>>(),
);

/** The persons of the tenant by id, including retired ones. @throws Forbidden */
export async function listPersons(
  db: Database,
  viewer: Viewer,
  filter: PersonFilter,
  page: PageRequest,
): Promise<Page<PersonRecord>> {
  checkAdmin(viewer);
  return await readCounted(db, personList, page, (part) => selectPersons(db, viewer, filter, part));
}

const membersOf = pagePerParent<Viewer, null, PersonRecord>(personList, (db, parent, { viewer, page }) =>
  selectPersons(db, viewer, { groupId: parent }, page),
);

/** `listPersons` of a group, read for all groups of the same turn together. @throws Forbidden */
export async function listMembersOf(
  db: Database,
  viewer: Viewer,
  groupId: number,
  page: PageRequest,
): Promise<Page<PersonRecord>> {
  checkAdmin(viewer);
  return await membersOf(db, viewer, groupId, { filter: null, page });
}

type Sought = Omit<PersonFilter, 'groupId'> & { groupId?: IdOfParent | undefined };

/** The query of `listPersons`. */
function selectPersons(db: Database, viewer: Viewer, filter: Sought, page: PageRequest) {
  const { search, email, role, groupId, active } = filter;
  const isMember = sql<boolean>`exists (
    select from person_group_member as member
    where member.mandator_id = person.mandator_id and member.group_id = ${groupId} and member.person_id = person.id)`;
  return personsOf(db, viewer)
    .$if(search !== undefined, (query) => query.where(sql<boolean>`search_key like all (search_patterns(${search}))`))
    .$if(email !== undefined, (query) => query.where(sql`lower(email)`, '=', sql`lower(${email})`))
    .$if(role !== undefined, (query) => query.where('role', '=', role as string))
    .$if(groupId !== undefined, (query) => query.where(isMember))
    .$if(active !== undefined, (query) => query.where('active', '=', active as boolean))
    .$call(pageById('id', page));
}

/** Lists all persons of a tenant, for the operator. @param mandator the code of the tenant, in any case @throws NotFound */
export async function listPersonsOf(db: Database, mandator: string): Promise<PersonRecord[]> {
  const { mandatorId } = await getMandator(db, mandator);
  return await personsOf(db, { mandatorId }).orderBy('id').execute();
}

const getUnchecked = getterOf<PersonRecord>(kind.noun, (db, { mandatorId }, id) => personById(db, mandatorId, id));

/** The person to whom the caller's credential belongs. */
export const getOwnPerson = (db: Database, viewer: Viewer) => getUnchecked(db, viewer, viewer.personId);

/** How lessons name a person. @throws NotFound, also for a person of another tenant */
export const getTeacherCode = async (db: Database, viewer: Viewer, personId: number): Promise<string | null> =>
  (await getUnchecked(db, viewer, personId)).teacherCode;

/** @throws Forbidden */
export const findPersonById = finderOf(personById, checkAdmin);

/** A person as an edge; undefined for a viewer who may not read it. */
export async function findPersonFor(db: Database, viewer: Viewer, id: number): Promise<PersonRecord | undefined> {
  return maySeeAll(viewer) || viewer.personId === id ? await personById(db, viewer.mandatorId, id) : undefined;
}

/** @throws Forbidden, NotFound */
export const getPersonById = getterOf(kind.noun, findPersonById);

/** @throws InvalidInput for the role Display, which only pairing gives */
function checkRole(wanted: PersonRecord['role'] | undefined, present: PersonRecord['role'] | undefined): void {
  if (wanted !== 'Display' || present === 'Display') return;
  throw InvalidInput.of(memberFault('Role', devicesOnly.code, devicesOnly.text));
}

/** @throws Forbidden, Conflict; InvalidInput for a zone that PostgreSQL does not know, and for the role Display */
export async function createPerson(db: Database, act: Act, fields: NewPerson): Promise<PersonRecord> {
  checkAdmin(act.viewer);
  checkRole(fields.role, undefined);
  const named = await withZoneName(db, fields);
  return await db.transaction().execute((trx) => insertRecord<PersonRecord>(trx, act, kind, named));
}

/**
 * Changes the given members. The loss of a role, retirement, and a new e-mail address, by which outside identity providers
 * name the person, take effect on every process at once: the database notifies them. PINs stay.
 * @throws Forbidden, NotFound, PreconditionFailed; InvalidInput for a zone that PostgreSQL does not know; Conflict when no
 * active Admin would be left, when the address is another person's, and for a person who has been erased
 */
export async function changePerson(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  changes: PersonChanges,
): Promise<PersonRecord> {
  checkAdmin(act.viewer);
  const named = await withZoneName(db, changes);
  const { mandatorId } = act.viewer;
  const mayDemote = changes.active === false || (changes.role !== undefined && changes.role !== 'Admin');
  return await transactOrGiveUp(db, 'The person', async (trx) => {
    // Two Admins must not demote or erase each other at the same time.
    if (mayDemote) await lockTenant(trx, mandatorId);
    return await changeRecord<PersonRecord>(trx, act, kind, { id, expected }, named, async ({ erasedAt, role }) => {
      if (erasedAt) throw personErased();
      checkRole(changes.role, role);
      if (mayDemote) await checkOtherAdmin(trx, mandatorId, id);
      return {};
    });
  });
}

/** An address in a domain that cannot exist. A living person may have the plain one. */
async function erasedAddress(trx: Transaction, viewer: Viewer, id: number): Promise<string> {
  const plain = `erased-${id}@erased.invalid`;
  const other = await selectPersons(trx, viewer, { email: plain }, { limit: 1 }).executeTakeFirst();
  return other ? `erased-${id}-${randomUUID()}@erased.invalid` : plain;
}

const erasedMembers = (email: string): Omit<PersonRecord, 'id' | 'version'> => ({
  name: erasedName,
  email,
  timeZone: 'UTC',
  role: 'User',
  teacherCode: null,
  active: false,
  erasedAt: new Date(),
});

/**
 * Erases the personal members of a person.
 * @returns the person as it is now, and as it was before unless it had been erased already
 * @throws NotFound, PreconditionFailed; Conflict when no active Admin would be left, and for the person of a display
 */
export async function erasePersonRecord(
  trx: Transaction,
  act: Act,
  id: number,
  expected: Versions,
): Promise<{ erased: PersonRecord; before: PersonRecord | undefined }> {
  const { mandatorId } = act.viewer;
  // As in `changePerson`.
  await lockTenant(trx, mandatorId);
  const known = await getPersonById(trx, act.viewer, id);
  if (known.erasedAt) return { erased: known, before: undefined };
  let before: PersonRecord | undefined;
  async function check(found: PersonRecord): Promise<{ action: 'erase person' }> {
    before = found;
    await checkOtherAdmin(trx, mandatorId, id);
    await checkNoDisplay(trx, mandatorId, id);
    return { action: 'erase person' };
  }
  const which = { id, expected };
  const members = erasedMembers(await erasedAddress(trx, act.viewer, id));
  const erased = await changeRecord(trx, act, kind, which, members, check);
  await leaveGroups(trx, mandatorId, id);
  return { erased, before };
}

const leaveGroups = (trx: Transaction, mandatorId: number, personId: number) =>
  trx
    .deleteFrom('person_group_member')
    .where('mandator_id', '=', mandatorId)
    .where('person_id', '=', personId)
    .execute();

/** @throws Conflict for a person that a display acts as */
async function checkNoDisplay(trx: Transaction, mandatorId: number, personId: number): Promise<void> {
  const display = await trx
    .selectFrom('display')
    .where('mandator_id', '=', mandatorId)
    .where('person_id', '=', personId)
    .select('id')
    .executeTakeFirst();
  if (display)
    throw Conflict.because(
      'PersonOfDisplay',
      `This person belongs to the display ${display.id}; revoke the display if it is no longer needed.`,
    );
}

/** @throws Conflict when the tenant has no other active Admin */
async function checkOtherAdmin(trx: Transaction, mandatorId: number, personId: number): Promise<void> {
  const other = await trx
    .selectFrom('person')
    .where('mandator_id', '=', mandatorId)
    .where('id', '<>', personId)
    .where('role', '=', 'Admin')
    .where('active', '=', true)
    .select('id')
    .limit(1)
    .executeTakeFirst();
  if (!other)
    throw Conflict.because('LastAdmin', 'The tenant would have no active Admin left; make another person Admin first.');
}

type TenantPerson = { mandatorId: number; personId: number; name: string; email: string; role: Viewer['role'] };

/** Finds an active person by tenant and e-mail address, both in any case. @throws NotFound */
export async function getPerson(db: Database, mandatorCode: string, email: string): Promise<TenantPerson> {
  const found = await db
    .selectFrom('mandator')
    .leftJoin('person', (join) =>
      join
        .onRef('person.mandator_id', '=', 'mandator.id')
        .on(sql`lower(person.email)`, '=', sql`lower(${email})`)
        .on('person.active', '=', true),
    )
    .where('mandator.code', '=', mandatorCode.toLowerCase())
    .select(['mandator.id as mandatorId', 'mandator.code', 'person.id as personId'])
    .select(['person.name', 'person.email', 'person.role'])
    .executeTakeFirst();
  if (!found) throw noMandator(mandatorCode);
  const { code, ...person } = found;
  if (person.personId === null)
    throw new NotFound(
      `Tenant ${code} has no active person ${JSON.stringify(email)}; add it to the Persons of its file and run: roomgate apply FILE`,
    );
  return person as TenantPerson;
}
