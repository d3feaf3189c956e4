/** Bookings of mail items, which the synchronisation with the mail server alone writes. */
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';

/** Cancels those of these bookings that are active. */
export async function cancelMailItems(
  trx: Transaction,
  mandatorId: number,
  bookingIds: readonly number[],
): Promise<void> {
  if (bookingIds.length === 0) return;
  await sql`
    update booking set status = 'Cancelled', version = version + 1, changed_at = now()
    where mandator_id = ${mandatorId} and id = any (${bookingIds}::bigint[]) and kind = 'MailItem'
      and status in ('Confirmed', 'Tentative')`.execute(trx);
}
