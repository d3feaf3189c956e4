/**
 * The files that were dropped, and their corrections: kept in this browser for the person until they are imported, or for a day.
 * The files are written once, unchanged; the rest with each change.
 */
import { dayLength } from '../../../time/days.ts';
import { ownerKey } from '../session.ts';
import type { Mapping } from './columns.ts';
import type { Reading } from './reading.ts';

export type JobMembers = { Bezeichnung?: unknown; Quelle?: unknown; Standort?: unknown; Bemerkung?: unknown };

export type Format = 'Csv' | 'Untis' | 'ICalendar' | 'Json';

/** The rows of a file, as they are shown. */
export type Sheet = {
  name: string;
  /** Empty if the file has none. */
  headers: readonly string[];
  rows: readonly (readonly string[])[];
  /** The line of each row; empty for JSON. */
  lines: readonly number[];
  /** Null if each line is one cell. */
  separator: string | null;
  /** The line of the headers. */
  headLine: number;
};

export type KeptFile = { name: string; content: Blob };

export type Work = {
  /** The columns of a CSV. */
  mapping: Mapping;
  reading: Reading;
  locationId: string;
  /** Corrected cells by file, row and column: `0 12 3`. */
  corrected: Readonly<Record<string, string>>;
  /** Grows with each change, and tells what was sent. */
  version: number;
  /** Stored before a batch is sent: another attempt with this key makes the same batch. */
  sending?: (Sent & { key: string }) | undefined;
  /** The batch under way. */
  sent?: (Sent & { batchId: string }) | undefined;
  /** What was left out of the files that were sent last. */
  leftOut?: (Sent & LeftOut) | undefined;
  /** The result of the last batch; without a batch if the files could not be read. */
  result?: (Sent & Result) | undefined;
  /** The faults that were not corrected since. */
  faults: readonly RowFault[];
  /** Rows that were corrected since, by file and row: they stay in sight. */
  touched: readonly string[];
};
type Sent = { isCheck: boolean; version: number };
/** The number of lines, and the notices about the first of them. */
export type LeftOut = { count: number; notices: readonly string[] };
type Result = {
  batchId?: string | undefined;
  isRight: boolean;
  warnings: number;
  omitted: number;
  /** Faults that belong to no row. */
  others: readonly string[];
  /** The codes of settings that are missing. */
  missing?: readonly string[];
};
export type RowFault = { sheet: number; row: number; column: number; code: string; message: string };
export type Draft = {
  format: Format;
  files: readonly KeptFile[];
  sheets: readonly Sheet[];
  /** The members of the jobs in JSON, other than lessons. */
  jobs?: Readonly<Record<string, JobMembers>> | undefined;
  work: Work;
};

/** Whether what was sent is the present version of the draft. */
export const isCurrent = (work: Work, sent: { version: number } | undefined): boolean => sent?.version === work.version;

export const cellAt = ({ sheets, work }: Draft, sheet: number, row: number, column: number): string =>
  work.corrected[`${sheet} ${row} ${column}`] ?? sheets[sheet]?.rows[row]?.[column] ?? '';

const stores = ['file', 'work'] as const;

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open('roomgate timetables', 1);
    opening.onupgradeneeded = () => {
      for (const store of stores) opening.result.createObjectStore(store);
    };
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

async function transact<Result>(
  mode: IDBTransactionMode,
  run: (store: (name: (typeof stores)[number]) => IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const database = await openDatabase();
  try {
    return await new Promise<Result>((resolve, reject) => {
      const transaction = database.transaction([...stores], mode);
      const request = run((name) => transaction.objectStore(name));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

/** The stored draft; undefined if there is none, or this browser stores nothing. */
export async function readKept(): Promise<{ files: readonly KeptFile[]; work: Work } | undefined> {
  try {
    const found = await transact<Work & { savedAt: number }>('readonly', (store) => store('work').get(ownerKey()));
    if (!found) return undefined;
    const { savedAt, ...work } = found;
    const files = await transact<readonly KeptFile[]>('readonly', (store) => store('file').get(ownerKey()));
    if (Date.now() - savedAt <= dayLength && Array.isArray(files)) return { files, work };
    await forgetDraft();
    return undefined;
  } catch {
    return undefined;
  }
}

/** @returns whether the files are stored now */
export async function keepFiles(files: readonly KeptFile[]): Promise<boolean> {
  try {
    await transact('readwrite', (store) => store('file').put(files, ownerKey()));
    return true;
  } catch {
    return false;
  }
}

export async function keepWork(work: Work): Promise<boolean> {
  try {
    await transact('readwrite', (store) => store('work').put({ ...work, savedAt: Date.now() }, ownerKey()));
    return true;
  } catch {
    return false;
  }
}

export async function forgetDraft(): Promise<void> {
  await transact('readwrite', (store) => {
    store('file').delete(ownerKey());
    return store('work').delete(ownerKey());
  }).catch(() => undefined);
}
