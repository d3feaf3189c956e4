/** Policies of resources: Admins write them; persons who may see the resources of a policy may read it. */
import { sql } from 'kysely';
import { checkAdmin, checkReader, maySeePolicy, type Policy, seenPolicies } from '../access.ts';
import type { Act, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { pageById, readCounted } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest } from '../db/paging.ts';
import { readById } from '../db/read-by-id.ts';
import { InvalidInput } from '../errors.ts';
import { upperFirst } from '../fields.ts';
import { getterOf } from '../records.ts';
import { changeRecord, deleteRecord, insertRecord, type RecordKind } from './records.ts';

export type PolicyRecord = Policy & { name: string; version: number };
export type NewPolicy = Omit<PolicyRecord, 'id' | 'version'>;
export type PolicyChanges = Partial<NewPolicy>;
export type PolicyFilter = { name?: string | undefined };

export const policyList: List<PolicyRecord> = { name: 'policies', key: idKey, keyOf: ({ id }) => id };

/** The columns of a policy without its version, in the notation of Kysely's `select`. */
export const policyColumns = [
  'id',
  'name',
  'may_see as maySee',
  'may_book as mayBook',
  'needs_approval as needsApproval',
  'may_skip_approval as maySkipApproval',
  'may_decide as mayDecide',
  'may_book_for_others as mayBookForOthers',
  'lead_minutes as leadMinutes',
  'ahead_days as aheadDays',
  'longest_minutes as longestMinutes',
  'quota_minutes_per_week as quotaMinutesPerWeek',
  'quota_bookings_per_week as quotaBookingsPerWeek',
] as const;
const columns = [...policyColumns, 'version'] as const;
const kind: RecordKind & { noun: 'policy' } = {
  table: 'policy',
  noun: 'policy',
  columns,
  used: 'A resource has this policy; give it another policy, or none, first.',
};

/** The lists of groups of a policy. */
const lists = ['maySee', 'mayBook', 'maySkipApproval', 'mayDecide', 'mayBookForOthers'] as const;

const policyById = readById<PolicyRecord>('policy by id', (from) => from('policy').select(columns));

/** The policies of the tenant by id, without those whose resources the caller may not see. @throws Forbidden for a display */
export async function listPolicies(
  db: Database,
  viewer: Viewer,
  { name }: PolicyFilter,
  page: PageRequest,
): Promise<Page<PolicyRecord>> {
  checkReader(viewer);
  const list = db
    .selectFrom('policy')
    .where('mandator_id', '=', viewer.mandatorId)
    .where(seenPolicies(viewer))
    .select(columns)
    .$if(name !== undefined, (query) => query.where('name_key', '=', sql<string>`name_key(${name})`));
  return await readCounted(db, policyList, page, (part) => list.$call(pageById('id', part)));
}

/** @throws Forbidden for a display */
export async function findPolicy(db: Database, viewer: Viewer, id: number): Promise<PolicyRecord | undefined> {
  checkReader(viewer);
  const found = await policyById(db, viewer.mandatorId, id);
  return found && maySeePolicy(viewer, found) ? found : undefined;
}

/** @throws Forbidden for a display; NotFound, also for a policy whose resources are hidden */
export const getPolicy = getterOf(kind.noun, findPolicy);

/** @throws Forbidden; Conflict when the name is taken; InvalidInput for an unknown group */
export function createPolicy(db: Database, act: Act, fields: NewPolicy): Promise<PolicyRecord> {
  checkAdmin(act.viewer);
  return db.transaction().execute(async (trx) => {
    await checkGroups(trx, act.viewer.mandatorId, fields);
    return await insertRecord<PolicyRecord>(trx, act, kind, fields);
  });
}

/**
 * Changes the given members; a list replaces the whole list, and null clears a rule. The rights of callers change at once, on
 * every process.
 * @throws Forbidden, NotFound, PreconditionFailed; Conflict when the name is taken; InvalidInput for an unknown group
 */
export function changePolicy(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  changes: PolicyChanges,
): Promise<PolicyRecord> {
  checkAdmin(act.viewer);
  return db.transaction().execute((trx) =>
    changeRecord<PolicyRecord>(trx, act, kind, { id, expected }, changes, async () => {
      await checkGroups(trx, act.viewer.mandatorId, changes);
      return {};
    }),
  );
}

/** @throws Forbidden, NotFound, PreconditionFailed; Conflict while a resource has the policy */
export function deletePolicy(db: Database, act: Act, id: number, expected: Versions): Promise<PolicyRecord> {
  checkAdmin(act.viewer);
  return db.transaction().execute((trx) => deleteRecord<PolicyRecord>(trx, act, kind, { id, expected }));
}

/** Locks the groups against deletion until the transaction ends. @throws InvalidInput naming each unknown group */
async function checkGroups(trx: Transaction, mandatorId: number, changes: PolicyChanges): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    select id from person_group
    where mandator_id = ${mandatorId} and id = any (${lists.flatMap((list) => changes[list] ?? [])}::bigint[])
    for key share`.execute(trx);
  const known = new Set(rows.map(({ id }) => id));
  const faults = lists.flatMap((list) =>
    (changes[list] ?? []).flatMap((id, at) => {
      const field = upperFirst(list);
      const message = `${field}[${at}]: there is no group ${id}.`;
      return known.has(id) ? [] : [{ field, pointer: `/${field}/${at}`, code: 'UnknownGroup', message }];
    }),
  );
  if (faults.length > 0) throw new InvalidInput(faults[0]!.message, faults.slice(0, 100), faults.length);
}
