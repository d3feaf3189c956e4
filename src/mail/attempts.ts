import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';

/**
 * The mail server answers again, or somebody has put something right: where the last attempt to get a subscription has
 * failed, the next one does not wait for its time; of a mail server that has asked to be left alone it does. Waits for nobody,
 * so it may be called under any locks.
 */
export async function attemptSoon(
  trx: Transaction,
  mandatorId: number,
  calendarIds: readonly number[],
): Promise<void> {
  if (calendarIds.length === 0) return;
  await sql`
    update mail_subscription set due_at = now()
    where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription as failed
      where mandator_id = ${mandatorId} and calendar_id = any (${calendarIds}::integer[]) and state = 'Failed'
        and due_at > now() and fault is distinct from 'Throttled' and not exists (
          select from mail_subscription as newer
          where newer.mandator_id = failed.mandator_id and newer.calendar_id = failed.calendar_id and newer.id > failed.id)
      order by id for no key update skip locked)`.execute(trx);
}
