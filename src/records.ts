/** Records of a tenant with an id and a version: how they are found, held and changed. Each room writes its own tables. */
import { isDeepStrictEqual } from 'node:util';
import { recordAct, type Subject } from './acts.ts';
import type { Act, Versions, Viewer } from './context.ts';
import type { Database, Transaction } from './db/database.ts';
import type { ReadById } from './db/read-by-id.ts';
import { Conflict, InvalidInput, memberFault, NotFound, PreconditionFailed } from './errors.ts';

type Versioned = { version: number };
type Find<Row> = (db: Database, viewer: Viewer, id: number) => Promise<Row | undefined>;
type Get<Row> = (db: Database, viewer: Viewer, id: number) => Promise<Row>;
/** A query for one record. */
type One<Row> = { forNoKeyUpdate(): { executeTakeFirst(): Promise<Row | undefined> } };

type DeletedNoun = 'holiday calendar' | 'timetable profile' | 'webhook';

export type HeldKind<Row, Noun = DeletedNoun | 'display' | 'room problem'> = {
  /** The name of the record for people. */
  noun: Noun;
  /** Reads a record and locks it against changes and deletion until the transaction ends. */
  lock(trx: Transaction, viewer: Viewer, id: number): Promise<Row | undefined>;
  subjectOf(row: Row): Subject;
  /** The members that the audit records. */
  auditedMembers(row: Row): object;
};
type Which = { id: number; expected: Versions };

/** @throws PreconditionFailed when the record has changed since it was read */
export function checkVersion({ version }: { version: number }, expected: Versions): void {
  if (expected && !expected.includes(version))
    throw new PreconditionFailed(
      'The record has changed since you read it; read it again and repeat the change on that version.',
    );
}

/** Makes the error for a name that another record has. */
export const nameTaken = (noun: string) => (): Conflict =>
  Conflict.because('NameTaken', `Another ${noun} has this name already; choose another.`, 'Name');

/** The error for an id that is unknown, or another tenant's. */
export const noRecord = (noun: string) => new NotFound(`There is no ${noun} of this id.`);
/** A member names a record that this tenant does not have. */
export const unknownReference = (noun: 'Location' | 'Resource') =>
  InvalidInput.of(memberFault(`${noun}Id`, `Unknown${noun}`, `there is no ${noun.toLowerCase()} of this id`));

/** Reads by id for those who may. @param check throws for all others */
export const finderOf =
  <Row>(byId: ReadById<Row>, check: (viewer: Viewer) => void): Find<Row> =>
  async (db, viewer, id) => {
    check(viewer);
    return await byId(db, viewer.mandatorId, id);
  };

/** As `find`, but throws NotFound for an id that is unknown, or another tenant's. */
export const getterOf =
  <Row>(noun: string, find: Find<Row>): Get<Row> =>
  async (db, viewer, id) => {
    const found = await find(db, viewer, id);
    if (!found) throw noRecord(noun);
    return found;
  };

/** Runs the query of a record and locks it. A stronger lock would block the audit, whose foreign key needs a person's row to stay. */
export const lockOne = <Row>(one: One<Row>): Promise<Row | undefined> => one.forNoKeyUpdate().executeTakeFirst();

/** The locked record. @throws NotFound, PreconditionFailed */
export async function holdRecord<Row extends Versioned>(
  locked: Promise<Row | undefined>,
  noun: string,
  expected: Versions,
): Promise<Row> {
  const found = await locked;
  if (!found) throw noRecord(noun);
  checkVersion(found, expected);
  return found;
}

/** The fields that differ from those of the record. */
export const newTo = (found: object, fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => !isDeepStrictEqual(value, (found as Record<string, unknown>)[name]),
    ),
  );

/**
 * Holds a record, changes it, and records that in the audit if its version has changed.
 * @param write gets the record before the change, and returns it after the change
 * @throws NotFound, PreconditionFailed; the errors of `write`
 */
export async function changeHeld<Row extends Versioned>(
  trx: Transaction,
  act: Act,
  { noun, lock, subjectOf, auditedMembers }: HeldKind<Row>,
  { id, expected }: Which,
  write: (found: Row) => Promise<Row>,
): Promise<Row> {
  const found = await holdRecord(lock(trx, act.viewer, id), noun, expected);
  const changed = await write(found);
  if (changed.version === found.version) return changed;
  const record = { before: auditedMembers(found), after: auditedMembers(changed) };
  await recordAct(trx, act, `change ${noun}`, subjectOf(changed), record);
  return changed;
}

/**
 * Holds a record, deletes it, and records that in the audit.
 * @returns the record as it was
 * @throws NotFound, PreconditionFailed; the errors of `remove`
 */
export async function deleteHeld<Row extends Versioned>(
  trx: Transaction,
  act: Act,
  { noun, lock, subjectOf }: HeldKind<Row, DeletedNoun>,
  { id, expected }: Which,
  remove: () => Promise<unknown>,
): Promise<Row> {
  const found = await holdRecord(lock(trx, act.viewer, id), noun, expected);
  await remove();
  await recordAct(trx, act, `delete ${noun}`, subjectOf(found));
  return found;
}
