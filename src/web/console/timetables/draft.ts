/**
 * A file that was dropped, and what was corrected in it: kept in this browser for the person until it is imported, or for a day.
 * The rows are written once; the rest with each change.
 */
import { mandator } from '../client.ts';
import { person } from '../session.ts';
import type { Mapping } from './columns.ts';

export type JobMembers = { Bezeichnung?: unknown; Quelle?: unknown; Standort?: unknown; Bemerkung?: unknown };

export type DroppedFile = {
  name: string;
  headers: readonly string[];
  rows: readonly (readonly string[])[];
  /** What JSON says of its jobs; undefined for CSV. */
  jobs?: Readonly<Record<string, JobMembers>> | undefined;
};

export type Work = {
  mapping: Mapping;
  /** Whether each class is a job, or the file is one. */
  jobBy: 'class' | 'file';
  jobKey: string;
  locationId: string;
  /** By row and column: `12 3`. */
  corrected: Readonly<Record<string, string>>;
  /** Grows with each change: what was sent is known by it. */
  version: number;
  /** What is about to be sent, written before it is: sent again with its key, it is the same batch. */
  sending?: (Sent & { key: string }) | undefined;
  /** The batch under way. */
  sent?: (Sent & { batchId: string }) | undefined;
  /** What came of the last one. */
  result?: Sent & { batchId: string; isRight: boolean; warnings: number; omitted: number };
  /** What was wrong, but for what was corrected since. */
  faults: readonly RowFault[];
  /** Rows that were corrected since: they stay in sight. */
  touched: readonly number[];
};
type Sent = { isCheck: boolean; version: number };
export type RowFault = { row: number; column: number; code: string; message: string };
export type Draft = { file: DroppedFile; work: Work };

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
export async function readDraft(): Promise<Draft | undefined> {
  try {
    const found = await transact<Work & { savedAt: number }>('readonly', (store) => store('work').get(key()));
    if (!found) return undefined;
    const { savedAt, ...work } = found;
    if (Date.now() - savedAt > dayMs) {
      await forgetDraft();
      return undefined;
    }
    const file = await transact<DroppedFile>('readonly', (store) => store('file').get(key()));
    return file && { file, work };
  } catch {
    return undefined;
  }
}

/** @returns whether it is kept now */
export async function keepFile(file: DroppedFile): Promise<boolean> {
  try {
    await transact('readwrite', (store) => store('file').put(file, key()));
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
