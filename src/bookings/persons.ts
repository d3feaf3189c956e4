/** Erases persons from bookings. */
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';

/**
 * Erases copies of the name and address. All bookings that showed the name get a new version, which the feed reports.
 * @param id with `email`, null for a person who has been erased before
 * @param taught bookings of lessons that name the person
 */
export async function forgetOrganizer(
  trx: Transaction,
  mandatorId: number,
  { id, email, taught }: { id: number | null; email: string | null; taught: readonly number[] },
): Promise<void> {
  const named = sql`lower(organizer_email) = lower(${email})`;
  await sql`
    update booking set version = version + 1, changed_at = now(),
      organizer_name = case when ${named} then null else organizer_name end,
      organizer_email = case when ${named} then null else organizer_email end
    where mandator_id = ${mandatorId}
      and (organizer_id = ${id} or created_by = ${id} or decided_by = ${id} or ${named} or id = any (${taught}::bigint[]))`.execute(
    trx,
  );
}
