/**
 * The files that were dropped, and what was corrected in them: kept in this browser for the person until they are imported, or
 * for a day. The files are written once, as they are; the rest with each change.
 */
import { mandator } from '../client.ts';
import { person } from '../session.ts';
import type { Mapping } from './columns.ts';
import type { Reading } from './reading.ts';

export type JobMembers = { Bezeichnung?: unknown; Quelle?: unknown; Standort?: unknown; Bemerkung?: unknown };

export type Format = 'Csv' | 'Untis' | 'ICalendar' | 'Json';

/** The rows of a file, as they are shown. */
export type Sheet = {
  name: string;
  /** Empty where the file has none. */
  headers: readonly string[];
  rows: readonly (readonly string[])[];
  /** The line of each row; none of JSON. */
  lines: readonly number[];
  /** Null: each line is one cell. */
  separator: string | null;
  /** The line of the headers. */
  headLine: number;
};

export type KeptFile = { name: string; content: Blob };

export type Work = {
  /** Of a CSV. */
  mapping: Mapping;
  reading: Reading;
  locationId: string;
  /** By file, row and column: `0 12 3`. */
  corrected: Readonly<Record<string, string>>;
  /** Grows with each change: what was sent is known by it. */
  version: number;
  /** What is about to be sent, written before it is: sent again with its key, it is the same batch. */
  sending?: (Sent & { key: string }) | undefined;
  /** The batch under way. */
  sent?: (Sent & { batchId: string }) | undefined;
  /** What came of the last one; without a batch where the files could not be read. */
  result?: (Sent & Result) | undefined;
  /** What was wrong, but for what was corrected since. */
  faults: readonly RowFault[];
  /** Rows that were corrected since, by file and row: they stay in sight. */
  touched: readonly string[];
};
type Sent = { isCheck: boolean; version: number };
type Result = {
  batchId?: string | undefined;
  isRight: boolean;
  warnings: number;
  omitted: number;
  /** Faults that belong to no row. */
  others: readonly string[];
  /** What is missing in the settings. */
  missing?: readonly string[];
};
export type RowFault = { sheet: number; row: number; column: number; code: string; message: string };
export type Draft = {
  format: Format;
  files: readonly KeptFile[];
  sheets: readonly Sheet[];
  /** What JSON says of its jobs. */
  jobs?: Readonly<Record<string, JobMembers>> | undefined;
  work: Work;
};

/** Whether something was sent as the draft is now. */
export const isCurrent = (work: Work, sent: { version: number } | undefined): boolean => sent?.version === work.version;

export const cellAt = ({ sheets, work }: Draft, sheet: number, row: number, column: number): string =>
  work.corrected[`${sheet} ${row} ${column}`] ?? sheets[sheet]?.rows[row]?.[column] ?? '';

const dayMs = 86_400_000;
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

const key = () => `${mandator} ${person.value?.id}`;

/** What is kept; undefined without anything, and where this browser keeps nothing. */
export async function readKept(): Promise<{ files: readonly KeptFile[]; work: Work } | undefined> {
  try {
    const found = await transact<Work & { savedAt: number }>('readonly', (store) => store('work').get(key()));
    if (!found) return undefined;
    const { savedAt, ...work } = found;
    const files = await transact<readonly KeptFile[]>('readonly', (store) => store('file').get(key()));
    if (Date.now() - savedAt <= dayMs && Array.isArray(files)) return { files, work };
    await forgetDraft();
    return undefined;
  } catch {
    return undefined;
  }
}

/** @returns whether they are kept now */
export async function keepFiles(files: readonly KeptFile[]): Promise<boolean> {
  try {
    await transact('readwrite', (store) => store('file').put(files, key()));
    return true;
  } catch {
    return false;
  }
}

export async function keepWork(work: Work): Promise<boolean> {
  try {
    await transact('readwrite', (store) => store('work').put({ ...work, savedAt: Date.now() }, key()));
    return true;
  } catch {
    return false;
  }
}

export async function forgetDraft(): Promise<void> {
  await transact('readwrite', (store) => {
    store('file').delete(key());
    return store('work').delete(key());
  }).catch(() => undefined);
}
