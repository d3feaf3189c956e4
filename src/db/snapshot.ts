import type { Database, Transaction } from './database.ts';

/** Reads from one snapshot, without what others commit meanwhile. */
export const readSnapshot = <Found>(db: Database, read: (trx: Transaction) => Promise<Found>): Promise<Found> =>
  db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(read);

/** Opens a snapshot for a reader that reads in pieces, and rolls it back at the end. */
export const openSnapshot = (db: Database) =>
  db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute();
