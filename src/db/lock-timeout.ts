/** Transactions that do not wait long for a lock: an import holds its rooms, and what it cancels there, until it ends. */
import { sql } from 'kysely';
import { Unavailable } from '../errors.ts';
import type { Database, Transaction } from './database.ts';

/** Milliseconds for which a caller may be kept waiting together with a connection. */
const patience = 1_000;

/** Whether it was thrown because a lock was not to be had in time. */
export const isLockTimeout = (error: unknown): boolean => (error as { code?: unknown }).code === '55P03';

/** @param what is locked, as a sentence begins with it */
export const heldByOthers = (what: string): Unavailable =>
  new Unavailable(
    `${what} is held by another change, such as an import of lessons that has not ended; send the same request again.`,
  );

/** Runs a transaction in which no statement waits longer for a lock than so many milliseconds (see `isLockTimeout`). */
export function transactWithin<T>(
  db: Database,
  milliseconds: number,
  work: (trx: Transaction) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = ${sql.lit(milliseconds)}`.execute(trx);
    return await work(trx);
  });
}

/**
 * Runs a transaction that gives up when others hold `what` for more than a second.
 * @throws Unavailable then; whatever `work` throws
 */
export async function transactOrGiveUp<T>(
  db: Database,
  what: string,
  work: (trx: Transaction) => Promise<T>,
): Promise<T> {
  try {
    return await transactWithin(db, patience, work);
  } catch (error) {
    throw isLockTimeout(error) ? heldByOthers(what) : error;
  }
}
