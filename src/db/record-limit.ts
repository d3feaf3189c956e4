import { sql } from 'kysely';
import { Conflict } from '../errors.ts';
import type { Transaction } from './database.ts';
import { lockTenant } from './row-lock.ts';

/**
 * Refuses a record beyond the limit of a tenant. Creations take turns, as each locks the tenant, so that the count is exact.
 * @param trx by `transactOrGiveUp`: an erasure, too, locks the tenant
 * @param of the table of the records, and their name in messages
 * @throws Conflict
 */
export async function checkRecordLimit(
  trx: Transaction,
  mandatorId: number,
  { table, noun, most }: { table: 'holiday_calendar' | 'timetable_profile' | 'webhook'; noun: string; most: number },
): Promise<void> {
  await lockTenant(trx, mandatorId);
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from ${sql.table(table)} where mandator_id = ${mandatorId}`.execute(trx);
  if ((rows[0]?.count ?? 0) >= most)
    throw Conflict.because('TooMany', `A tenant has at most ${most} ${noun}; delete one that is no longer needed.`);
}
