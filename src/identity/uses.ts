/**
 * When credentials were used last. A use is recorded about once a minute at most; of a session that ends soon, more often. A
 * credential that another transaction has locked, such as an erasure, is passed over: the next use is recorded.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import { unlessLocked } from '../db/row-lock.ts';

/** SQL: whether a use now is to be recorded. */
export const isNewUse = (lastUsedAt: RawBuilder<unknown>) =>
  sql<boolean>`coalesce(${lastUsedAt} < now() - interval '1 minute', true)`;

/**
 * Waits for the statement that records a use. If it fails, the call goes on: the database or the tenant may take no writes, and
 * reads are answered all the same.
 */
export async function recordUse({ log }: Pick<Context, 'log'>, statement: Promise<unknown>): Promise<void> {
  try {
    await statement;
  } catch (error) {
    log.warn({ err: String(error) }, 'the use of a credential could not be recorded');
  }
}

/** Records that a PIN was exchanged or sent. */
export const recordPinUse = (
  context: Pick<Context, 'db' | 'log'>,
  { mandatorId, pinId }: { mandatorId: number; pinId: number },
): Promise<void> =>
  recordUse(
    context,
    context.db
      .updateTable('pin')
      .set({ last_used_at: sql`now()` })
      .where('mandator_id', '=', mandatorId)
      .where('id', '=', unlessLocked('pin', mandatorId, pinId))
      .execute(),
  );
