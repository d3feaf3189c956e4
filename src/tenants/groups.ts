/** Groups of persons, which policies name: Admins read and write them, and persons read their own. */
import { sql } from 'kysely';
import { checkAdmin, checkPersonReader } from '../access.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { pageById, readCounted } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest } from '../db/paging.ts';
import { type IdOfParent, pagePerParent } from '../db/per-parent.ts';
import { readById } from '../db/read-by-id.ts';
import { type FieldError, InvalidInput } from '../errors.ts';
import { finderOf, getterOf } from '../records.ts';
import { changeRecord, deleteRecord, insertRecord, type RecordKind } from './records.ts';

export type Group = { id: number; name: string; version: number };

/** Ids of persons; a person in both lists is removed. */
export type MembersMoved = {
  addMembers?: readonly number[] | undefined;
  removeMembers?: readonly number[] | undefined;
};
export type NewGroup = Pick<Group, 'name'> & MembersMoved;
export type GroupChanges = Partial<Pick<Group, 'name'>> & MembersMoved;
export type GroupFilter = { personId?: number | undefined; name?: string | undefined };

export const groupList: List<Group> = { name: 'groups', key: idKey, keyOf: ({ id }) => id };

const columns = ['id', 'name', 'version'] as const;
const kind: RecordKind & { noun: 'group' } = {
  table: 'person_group',
  noun: 'group',
  columns,
  used: 'A policy names this group; remove it from the policies first.',
};

const groupById = readById<Group>('group by id', (from) => from('person_group').select(columns));

/** The groups of the tenant by id. @throws Forbidden unless the caller is an Admin or asks for its own groups */
export async function listGroups(
  db: Database,
  viewer: Viewer,
  filter: GroupFilter,
  page: PageRequest,
): Promise<Page<Group>> {
  checkPersonReader(viewer, filter.personId);
  return await readCounted(db, groupList, page, (part) => selectGroups(db, viewer, filter, part));
}

const groupsOf = pagePerParent<Viewer, null, Group>(groupList, (db, parent, { viewer, page }) =>
  selectGroups(db, viewer, { personId: parent }, page),
);

/** `listGroups` of a person, read for all persons of the same turn together. @throws Forbidden as `listGroups` */
export async function listGroupsOf(
  db: Database,
  viewer: Viewer,
  personId: number,
  page: PageRequest,
): Promise<Page<Group>> {
  checkPersonReader(viewer, personId);
  return await groupsOf(db, viewer, personId, { filter: null, page });
}

type SoughtGroups = Omit<GroupFilter, 'personId'> & { personId?: IdOfParent | undefined };

/** The query of `listGroups`. */
function selectGroups(db: Database, viewer: Viewer, { personId, name }: SoughtGroups, page: PageRequest) {
  const isIn = sql<boolean>`exists (
    select from person_group_member as member
    where member.mandator_id = person_group.mandator_id and member.group_id = person_group.id
      and member.person_id = ${personId})`;
  return db
    .selectFrom('person_group')
    .where('mandator_id', '=', viewer.mandatorId)
    .select(columns)
    .$if(personId !== undefined, (query) => query.where(isIn))
    .$if(name !== undefined, (query) => query.where('name_key', '=', sql<string>`name_key(${name})`))
    .$call(pageById('id', page));
}

/** @throws Forbidden */
export const findGroup = finderOf(groupById, checkAdmin);

/** @throws Forbidden, NotFound */
export const getGroup = getterOf(kind.noun, findGroup);

/** @throws Forbidden; Conflict when the name is taken; InvalidInput for a person who is unknown or erased */
export function createGroup(db: Database, act: Act, { name, ...members }: NewGroup): Promise<Group> {
  checkAdmin(act.viewer);
  return transactOrGiveUp(db, 'The group or one of its persons', async (trx) => {
    refuseFaults(await holdPersons(trx, act.viewer.mandatorId, members));
    const group = await insertRecord<Group>(trx, act, kind, { name }, members);
    await moveMembers(trx, act.viewer.mandatorId, [{ groupId: group.id, ...members }]);
    return group;
  });
}

/**
 * Changes the name and the members; the rights of the members change at once, on every process.
 * @throws Forbidden, NotFound, PreconditionFailed; Conflict when the name is taken; InvalidInput for a person
 * who is unknown or erased
 */
export function changeGroup(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  { name, ...members }: GroupChanges,
): Promise<Group> {
  checkAdmin(act.viewer);
  return transactOrGiveUp(db, 'The group or one of its persons', async (trx) => {
    const faults = await holdPersons(trx, act.viewer.mandatorId, members);
    return await changeRecord<Group>(trx, act, kind, { id, expected }, { name }, async () => {
      refuseFaults(faults);
      const hasMoved = await moveMembers(trx, act.viewer.mandatorId, [{ groupId: id, ...members }]);
      // A change of only the members also gives the group a new version.
      return hasMoved ? { columns: { version: sql`person_group.version + 1` }, told: members } : {};
    });
  });
}

/** @throws Forbidden, NotFound, PreconditionFailed; Conflict while a policy names the group */
export function deleteGroup(db: Database, act: Act, id: number, expected: Versions): Promise<Group> {
  checkAdmin(act.viewer);
  return db.transaction().execute((trx) => deleteRecord<Group>(trx, act, kind, { id, expected }));
}

type Moves = readonly (MembersMoved & { groupId: number })[];

/** @param moves of persons of the tenant in groups that the caller holds @returns whether anything has changed */
async function moveMembers(trx: Transaction, mandatorId: number, moves: Moves): Promise<boolean> {
  const rows = moves.map(({ groupId, addMembers = [], removeMembers = [] }) => ({
    groupId,
    addMembers,
    removeMembers,
  }));
  const move = sql`jsonb_to_recordset(${JSON.stringify(rows)})
    as move("groupId" integer, "addMembers" bigint[], "removeMembers" bigint[])`;
  const added = await sql`
    insert into person_group_member (mandator_id, group_id, person_id)
    select ${mandatorId}, "groupId", id from ${move}, unnest("addMembers") as id
    where id <> all ("removeMembers")
    on conflict do nothing`.execute(trx);
  const removed = await sql`
    delete from person_group_member using ${move}
    where mandator_id = ${mandatorId} and group_id = "groupId" and person_id = any ("removeMembers")`.execute(trx);
  return Boolean(added.numAffectedRows || removed.numAffectedRows);
}

/**
 * Moves the members of groups of a tenant file.
 * @param counted the ids of the groups whose versions no other change raises
 */
export async function applyMembers(
  trx: Transaction,
  mandatorId: number,
  moves: Moves,
  counted: readonly number[],
): Promise<void> {
  if (moves.length > 0) await moveMembers(trx, mandatorId, moves);
  if (counted.length > 0)
    await sql`
      update person_group set version = version + 1
      where mandator_id = ${mandatorId} and id = any (${counted}::integer[])`.execute(trx);
}

/**
 * Locks the persons who are to join, so that none is erased before it is a member. Persons come before groups, as tenant files
 * lock them, so that neither waits for the other.
 * @returns what is wrong: each person that is unknown or has been erased
 */
async function holdPersons(
  trx: Transaction,
  mandatorId: number,
  { addMembers: ids = [] }: MembersMoved,
): Promise<FieldError[]> {
  if (ids.length === 0) return [];
  const rows = await trx
    .selectFrom('person')
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', sql<number>`any (${ids}::bigint[])`)
    .select(['id', 'erased_at as erasedAt'])
    .orderBy('id')
    .forShare()
    .execute();
  const known = new Map(rows.map(({ id, erasedAt }) => [id, erasedAt]));
  return ids.flatMap((id, at) => {
    const pointer = `/AddMembers/${at}`;
    const erasedAt = known.get(id);
    if (erasedAt === null) return [];
    const [code, fault] = erasedAt
      ? ['ErasedPerson', `the person ${id} has been erased`]
      : ['UnknownPerson', `there is no person ${id}`];
    return [{ field: 'AddMembers', pointer, code, message: `AddMembers[${at}]: ${fault}.` }];
  });
}

/** @throws InvalidInput */
function refuseFaults(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw new InvalidInput(faults[0]!.message, faults.slice(0, 100), faults.length);
}
