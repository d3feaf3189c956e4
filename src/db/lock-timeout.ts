/**
 * Transactions that wait only briefly for locks: an import locks its rooms, and the bookings that it cancels, to its end; an
 * erasure its person and the tenant.
 */
import { sql } from 'kysely';
import { Unavailable } from '../errors.ts';
import { isLockTimeout } from '../flow/database-errors.ts';
import type { Database, Transaction } from './database.ts';

/** The longest wait of a caller for a lock; it holds a connection meanwhile. */
const longestWaitMs = 1_000;

/** @param what is locked, as the beginning of a sentence: `The resource` */
export const heldByOthers = (what: string): Unavailable =>
  new Unavailable(
    `${what} is locked by another change, such as an import of lessons or an erasure that has not ended; send the same request again.`,
  );

/**
 * Runs a transaction whose statements wait at most `waitMs` for a lock, and then throw (`isLockTimeout`).
 * @param work gets the time of the database as well, at which the transaction began
 */
export function transactWithin<T>(
  db: Database,
  waitMs: number,
  work: (trx: Transaction, now: Date) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ now: Date }>`
      select set_config('lock_timeout', ${String(waitMs)}, true), now() as now`.execute(trx);
    return await work(trx, rows[0]!.now);
  });
}

/**
 * Runs a transaction that waits at most a second for a lock.
 * @throws Unavailable when others hold `what` for longer, and the errors of `work`
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
