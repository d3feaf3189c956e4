/** Creation, versioned change and deletion of master data; locations, resources and persons are never deleted. */
import { sql } from 'kysely';
import { type AuditAction, recordAct, type Subject } from '../acts.ts';
import type { Act, Versions } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { Conflict } from '../errors.ts';
import { upperFirst } from '../fields.ts';
import { isReferred, refuseDuplicate } from '../flow/database-errors.ts';
import { holdRecord, lockOne, nameTaken, newTo } from '../records.ts';

type MasterRecord = { id: number; version: number };
/** A new record has no id and no version, is active and has not been erased. */
type Given = 'id' | 'version' | 'active' | 'erasedAt';

export type RecordKind = {
  table: 'location' | 'resource' | 'person' | 'person_group' | 'policy';
  noun: 'location' | 'resource' | 'person' | 'group' | 'policy';
  /** In the notation of Kysely's `select`. */
  columns: readonly string[];
  /** The error for what another record has already, by the constraint, unless that is a name alone. */
  taken?: (constraint: string) => Conflict;
  /** For records that keep their names when they are retired: the column within which names are unique. */
  namesIn?: 'mandator_id' | 'location_id';
  /** The message for the deletion of a record that another one needs. */
  used?: string;
};

/** The defined fields, by the names of their columns. */
const toColumns = (fields: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  );

/** Typed as one of the tables: this file uses only their common columns. */
const tableOf = ({ table }: RecordKind) => table as 'person_group';
const columnsOf = ({ columns }: RecordKind) => columns as readonly ['id', 'version'];

const refuseTaken = ({ noun, taken = nameTaken(noun) }: RecordKind) => refuseDuplicate(taken);

/**
 * A retired record is in few lists: who is not told of it looks in vain for the one that has the name. Asked before the write,
 * after whose refusal the transaction can read nothing.
 * @param row the record as it is to be, by its columns; without an id if it is new
 * @throws Conflict when a retired one has the name
 */
async function refuseNameOfRetired(trx: Transaction, mandatorId: number, kind: RecordKind, row: object): Promise<void> {
  const { noun, namesIn } = kind;
  if (namesIn === undefined) return;
  const {
    id = 0,
    name,
    ...columns
  } = { mandator_id: mandatorId, ...row } as Record<string, number | string | undefined>;
  const found = await trx
    .selectFrom(tableOf(kind))
    .where('mandator_id', '=', mandatorId)
    .where('name_key', '=', sql<string>`name_key(${name}::text)`)
    .where('id', '<>', Number(id))
    .where(sql<boolean>`not active`)
    .where(sql.ref(namesIn), '=', columns[namesIn])
    .select('id')
    .executeTakeFirst();
  if (!found) return;
  throw Conflict.because(
    'NameOfRetired',
    `The retired ${noun} ${found.id} has this name: set that ${noun} to active again, or give it another name first.`,
    'Name',
  );
}

/** A record as the subject of an act in the audit. */
function subjectOf({ table, noun }: RecordKind, { id, ...record }: MasterRecord): Subject {
  if (table === 'person') return { noun: 'Person', id, personId: id };
  return { noun: upperFirst(noun) as 'Resource', id, name: (record as { name?: string }).name ?? '' };
}

/**
 * @param told what the audit records besides the columns
 * @throws Conflict when the name or address is taken
 */
export async function insertRecord<Row extends MasterRecord>(
  trx: Transaction,
  act: Act,
  kind: RecordKind,
  fields: Omit<Row, Given>,
  told: object = {},
): Promise<Row> {
  const columns = toColumns(fields);
  await refuseNameOfRetired(trx, act.viewer.mandatorId, kind, columns);
  const row = await trx
    .insertInto(tableOf(kind))
    .values({ mandator_id: act.viewer.mandatorId, ...(columns as { name: string }) })
    .returning(columnsOf(kind))
    .executeTakeFirstOrThrow()
    .catch(refuseTaken(kind));
  await recordAct(trx, act, `create ${kind.noun}`, subjectOf(kind, row), { before: null, after: { ...row, ...told } });
  return row as MasterRecord as Row;
}

type Which = { id: number; expected: Versions };

/** @throws NotFound, PreconditionFailed */
function hold(trx: Transaction, mandatorId: number, kind: RecordKind, { id, expected }: Which): Promise<MasterRecord> {
  const one = trx.selectFrom(tableOf(kind)).where('mandator_id', '=', mandatorId).where('id', '=', id);
  return holdRecord(lockOne(one.select(columnsOf(kind))), kind.noun, expected);
}

/**
 * Changes the given members. Values that the record already has change nothing, and the audit does not record them.
 * @param check gets the locked record as it is, and throws to refuse the change. It may return further columns to set, and
 * what the audit records besides the columns, or the name of an act that the audit records without its members
 * @throws NotFound, PreconditionFailed, Conflict; the errors of `check`
 */
export async function changeRecord<Row extends MasterRecord>(
  trx: Transaction,
  act: Act,
  kind: RecordKind,
  which: Which,
  changes: object,
  check: (found: Row) => Promise<{ columns?: object; told?: object; action?: AuditAction }>,
): Promise<Row> {
  const { mandatorId } = act.viewer;
  const found = await hold(trx, mandatorId, kind, which);
  const { columns: more = {}, told = {}, action } = await check(found as Row);
  const columns = { ...more, ...toColumns(newTo(found, changes)) };
  if (Object.keys(columns).length === 0) return found as Row;
  if ('name' in columns || 'location_id' in columns)
    await refuseNameOfRetired(trx, mandatorId, kind, { ...toColumns(found), ...columns });
  const changed = await trx
    .updateTable(tableOf(kind))
    .set(columns)
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', which.id)
    .returning(columnsOf(kind))
    .executeTakeFirstOrThrow()
    .catch(refuseTaken(kind));
  const record = action === undefined ? { before: found, after: { ...changed, ...told } } : undefined;
  await recordAct(trx, act, action ?? `change ${kind.noun}`, subjectOf(kind, changed), record);
  return changed as MasterRecord as Row;
}

/** @throws NotFound, PreconditionFailed; Conflict while another record needs this one */
export async function deleteRecord<Row extends MasterRecord>(
  trx: Transaction,
  act: Act,
  kind: RecordKind & { noun: 'group' | 'policy' },
  which: Which,
): Promise<Row> {
  const { mandatorId } = act.viewer;
  const found = await hold(trx, mandatorId, kind, which);
  await trx
    .deleteFrom(tableOf(kind))
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', which.id)
    .execute()
    .catch((error: unknown) => {
      throw isReferred(error) ? Conflict.because('InUse', kind.used ?? `The ${kind.noun} is in use.`) : error;
    });
  await recordAct(trx, act, `delete ${kind.noun}`, subjectOf(kind, found));
  return found as Row;
}
