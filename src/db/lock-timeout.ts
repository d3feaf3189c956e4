/** Transactions that wait for locks only briefly: an import holds its rooms, and the bookings that it cancels, until it ends. */
import { sql } from 'kysely';
import { Unavailable } from '../errors.ts';
import { isLockTimeout } from '../flow/database-errors.ts';
import type { Database, Transaction } from './database.ts';

/** For longer no caller waits while it holds a connection. */
const longestWaitMs = 1_000;

/** @param what is locked, as a sentence begins: `The resource` */
export const heldByOthers = (what: string): Unavailable =>
  new Unavailable(
    `${what} is held by another change, such as an import of lessons that has not ended; send the same request again.`,
  );

/** Runs a transaction in which no statement waits longer for a lock than `waitMs`; one that does throws (`isLockTimeout`). */
export function transactWithin<T>(db: Database, waitMs: number, work: (trx: Transaction) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = ${sql.lit(waitMs)}`.execute(trx);
    return await work(trx);
  });
}

/**
 * Runs a transaction that gives up when others hold `what` for more than a second.
 * @throws Unavailable then, and whatever `work` throws
 */
export async function transactOrGiveUp<T>(
  db: Database,
  what: string,
  work: (trx: Transaction) => Promise<T>,
): Promise<T> {
  try {
    return await transactWithin(db, longestWaitMs, work);
  } catch (error) {
    throw isLockTimeout(error) ? heldByOthers(what) : error;
  }
}
