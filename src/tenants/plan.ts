/** Writes the changes that applying a tenant file makes, and records them in the audit. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { recordOperatorActs } from '../acts.ts';
import type { Transaction } from '../db/database.ts';
import { Conflict } from '../errors.ts';
import { isDuplicate } from '../flow/database-errors.ts';
import { applyCalendars, type WrittenSource } from '../holidays/service.ts';
import { applyHours, type WrittenHours } from '../opening-hours/service.ts';
import type { FileDifference, FilePlan, Planned } from './differences.ts';
import { actsOn, tenantActs } from './file-acts.ts';
import { applyMembers } from './groups.ts';
import {
  calendarNoun,
  columnOf,
  groupNoun,
  isHours,
  locationNoun,
  type Noun,
  personNoun,
  policyNoun,
  resourceNoun,
} from './nouns.ts';
import { movesIn, openIds, type PlannedIds } from './planned-ids.ts';
import type { StoredTenant } from './stored-tenant.ts';
import type { TenantFile } from './tenant-file.ts';

/** Writes records after those that they refer to. The caller has locked everything that the file names. */
export async function writePlan(
  trx: Transaction,
  mandatorId: number,
  file: TenantFile,
  plan: FilePlan,
  stored: StoredTenant | undefined,
): Promise<void> {
  const { locations, resources, persons, codesMove, groups, policies } = plan;
  const ids = openIds(stored);
  if (plan.tenant.changes.length > 0) await writeMandator(trx, mandatorId, file);
  await writeRecords(trx, mandatorId, { noun: locationNoun, ids, records: locations });
  if (codesMove.length > 0) await releaseTeacherCodes(trx, mandatorId, codesMove);
  await writeRecords(trx, mandatorId, { noun: personNoun, ids, records: persons });
  await writeRecords(trx, mandatorId, { noun: groupNoun, ids, records: groups });
  await writeMembers(trx, mandatorId, groups, ids);
  await writeRecords(trx, mandatorId, { noun: policyNoun, ids, records: policies });
  await writeRecords(trx, mandatorId, { noun: resourceNoun, ids, records: resources }, ({ location }) => ({
    location_id: ids.of(location),
  }));
  const owners = [
    ...locations.map((record) => ({ record, locationId: ids.of(record), resourceId: null })),
    ...resources.map((record) => ({ record, locationId: ids.of(record.location), resourceId: ids.of(record) })),
  ];
  await applyHours(
    trx,
    mandatorId,
    owners.map(({ record, ...owner }) => ({ ...owner, hours: hoursOf(record) })),
  );
  const written = [...locations, ...resources, ...persons, ...groups, ...policies];
  const acts = [
    ...written.flatMap((record) => actsOn(record, ids)),
    ...(await applyCalendars(trx, mandatorId, plan.calendars.filter(isNews).map(calendarOf(ids)))),
  ];
  await recordOperatorActs(trx, mandatorId, `apply ${randomUUID()}`, [...tenantActs(plan.tenant, mandatorId), ...acts]);
}

const hoursOf = ({ changes }: Planned): Partial<WrittenHours> =>
  Object.fromEntries(changes.filter(({ member }) => isHours(member)).map(({ member, new: list }) => [member, list]));

const isNews = ({ fate }: Planned) => fate !== 'unchanged';

/** Those changed members that say where the holidays of a calendar come from. */
export const sourceIn = (changes: readonly FileDifference[]): Partial<WrittenSource> =>
  Object.fromEntries(
    changes
      .filter(({ member }) => member === 'Url' || member === 'Holidays')
      .map(({ member, new: to }) => [member, to]),
  );

const calendarOf =
  (ids: PlannedIds) =>
  ({ stored, members, changes }: Planned) => ({
    id: stored?.id,
    name: members['Name'] as string,
    closes: members['Closes'] as boolean,
    locationId: ids.ofNames(calendarNoun, 'Location', members['Location']) as number | null,
    source: sourceIn(changes),
  });

async function writeMembers(
  trx: Transaction,
  mandatorId: number,
  groups: readonly Planned[],
  ids: PlannedIds,
): Promise<void> {
  const moved = groups.filter(({ changes }) => changes.some(({ member }) => member === 'Members'));
  const moves = moved.map((group) => ({ groupId: ids.of(group), ...movesIn(group, ids) }));
  const counted = moved.filter(
    ({ fate, changes }) => fate === 'changed' && !changes.some(({ member }) => member === 'Name'),
  );
  await applyMembers(trx, mandatorId, moves, counted.map(ids.of));
}

/** Two persons never have the same TeacherCode, not even between two rows of one statement. */
async function releaseTeacherCodes(trx: Transaction, mandatorId: number, ids: readonly number[]): Promise<void> {
  await trx
    .updateTable('person')
    .set({ teacher_code: null })
    .where('mandator_id', '=', mandatorId)
    .where('id', 'in', ids)
    .execute();
}

async function writeMandator(trx: Transaction, mandatorId: number, file: TenantFile): Promise<void> {
  const { Name, Parameters, Colour, Logo } = file;
  const given = Object.entries(Parameters);
  const set = Object.fromEntries(given.filter(([, value]) => value !== null));
  const cleared = given.filter(([, value]) => value === null).map(([name]) => name);
  await sql`
    update mandator set name = coalesce(${Name ?? null}, name),
      colour = case when ${Colour === undefined} then colour else ${Colour ?? null} end,
      logo = case when ${Logo === undefined} then logo else ${Logo ?? null} end,
      parameters = (parameters || ${JSON.stringify(set)}::jsonb) - ${cleared}::text[]
    where id = ${mandatorId}`.execute(trx);
}

/**
 * Inserts the new records and updates the changed ones, with one statement for each of the two.
 * @param ids the ids of the records that these refer to; the ids of the new records are added
 * @param more the columns that are not members
 * @throws Conflict when another caller has just made one of the new records
 */
async function writeRecords<Record extends Planned>(
  trx: Transaction,
  mandatorId: number,
  { noun, ids, records }: { noun: Noun; ids: PlannedIds; records: readonly Record[] },
  more: (record: Record) => object = () => ({}),
): Promise<void> {
  const columnsOf = (record: Record) => ({
    ...more(record),
    ...Object.fromEntries(
      noun.members.map((member) => [columnOf(member), ids.ofNames(noun, member, record.members[member])]),
    ),
  });
  const table = sql.table(noun.table);
  const rows = (some: readonly object[]) =>
    sql`jsonb_populate_recordset(null::${table}, ${JSON.stringify(some)}) as row`;
  const fresh = records.filter(({ fate }) => fate === 'created');
  if (fresh.length > 0) {
    const columns = Object.keys(columnsOf(fresh[0]!)).map((column) => sql.ref(column));
    const { rows: made } = await sql<{ id: number }>`
      insert into ${table} (mandator_id, ${sql.join(columns)})
      select ${mandatorId}, ${sql.join(columns)} from ${rows(fresh.map(columnsOf))}
      returning id`
      .execute(trx)
      .catch(refuseDuplicate(noun));
    for (const [index, record] of fresh.entries()) ids.add(record, made[index]!.id);
  }
  const stale = records.filter(
    (one) => one.fate === 'changed' && one.changes.some(({ member }) => noun.members.includes(member)),
  );
  if (stale.length > 0) {
    const set = noun.members.map((member) => sql`${sql.ref(columnOf(member))} = row.${sql.ref(columnOf(member))}`);
    const changed = stale.map((record) => ({ id: record.stored!.id, ...columnsOf(record) }));
    await sql`
      update ${table} as stored set ${sql.join(set)} from ${rows(changed)}
      where stored.mandator_id = ${mandatorId} and stored.id = row.id`
      .execute(trx)
      .catch(refuseDuplicate(noun));
  }
}

const refuseDuplicate =
  ({ kind, name }: Noun) =>
  (error: unknown): never => {
    throw isDuplicate(error)
      ? new Conflict(
          `A ${kind.toLowerCase()} with a ${name} of the file, or with a TeacherCode of it, has just been written; apply the file again.`,
        )
      : error;
  };
