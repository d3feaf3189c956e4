/** Creation and versioned change of locations, resources and persons; none is ever deleted. */
import { checkVersion, recordAct, type Subject } from '../access.ts';
import type { Act, Versions } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { Conflict, NotFound } from '../errors.ts';
import { isDuplicate } from '../flow/database-errors.ts';

type MasterRecord = { id: number; active: boolean; version: number };

export type RecordKind = {
  table: 'location' | 'resource' | 'person';
  /** In the notation of Kysely's `select`. */
  columns: readonly string[];
  /** The message for a name or an address that is taken. */
  taken: string;
};

export const noRecord = ({ table }: RecordKind) => new NotFound(`There is no ${table} of this id.`);

/** The defined fields, by the names of their columns. */
const toColumns = (fields: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
  );

/** Typed as one of the three tables: this file uses only their common columns. */
const tableOf = ({ table }: RecordKind) => table as 'location';
const columnsOf = ({ columns }: RecordKind) => columns as readonly ['id', 'active', 'version'];

/** What the audit calls a record. */
function subjectOf({ table }: RecordKind, { id, ...record }: MasterRecord): Subject {
  if (table === 'person') return { noun: 'Person', id, personId: id };
  return { noun: table === 'location' ? 'Location' : 'Resource', id, name: (record as { name?: string }).name ?? '' };
}

const refuseDuplicate =
  ({ taken }: RecordKind) =>
  (error: unknown): never => {
    throw isDuplicate(error) ? new Conflict(taken) : error;
  };

/** @throws Conflict when the name or address is taken */
export async function insertRecord<Row extends MasterRecord>(
  trx: Transaction,
  act: Act,
  kind: RecordKind,
  fields: Omit<Row, keyof MasterRecord>,
): Promise<Row> {
  const row = await trx
    .insertInto(tableOf(kind))
    .values({ mandator_id: act.viewer.mandatorId, ...(toColumns(fields) as { name: string; time_zone: string }) })
    .returning(columnsOf(kind))
    .executeTakeFirstOrThrow()
    .catch(refuseDuplicate(kind));
  await recordAct(trx, act, `create ${kind.table}`, subjectOf(kind, row), { before: null, after: row });
  return row as MasterRecord as Row;
}

/**
 * Changes the given members.
 * @param check throws to refuse the change; gets the record as it is, which is locked
 * @throws NotFound, PreconditionFailed, Conflict; the errors of `check`
 */
export async function changeRecord<Row extends MasterRecord>(
  trx: Transaction,
  act: Act,
  kind: RecordKind,
  { id, expected }: { id: number; expected: Versions },
  changes: object,
  check: (found: Row) => Promise<void>,
): Promise<Row> {
  const { mandatorId } = act.viewer;
  const found = await trx
    .selectFrom(tableOf(kind))
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', id)
    .select(columnsOf(kind))
    // A stronger lock would block the audit of changes by this person, whose foreign key needs the row to stay.
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!found) throw noRecord(kind);
  checkVersion(found, expected);
  await check(found as MasterRecord as Row);
  const columns = toColumns(changes);
  if (Object.keys(columns).length === 0) return found as MasterRecord as Row;
  const changed = await trx
    .updateTable(tableOf(kind))
    .set(columns)
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', id)
    .returning(columnsOf(kind))
    .executeTakeFirstOrThrow()
    .catch(refuseDuplicate(kind));
  await recordAct(trx, act, `change ${kind.table}`, subjectOf(kind, changed), { before: found, after: changed });
  return changed as MasterRecord as Row;
}
