/** Erases persons from bookings. */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { keysOf } from '../db/name-keys.ts';

/** By which addresses a mail server names a person, and by which names if it gives no address. */
export type OrganizerNames = { emails: readonly string[]; names: readonly string[] };

/** The condition that the organizer of a row, as the mail server names it, is this person. */
export const isOrganizer = ({ emails, names }: OrganizerNames): RawBuilder<boolean> => sql`(
  lower(organizer_email) = any (array(select lower(email) from unnest(${emails}::text[]) as email))
  or organizer_email is null and name_key(organizer_name) = any (${keysOf(names)}))`;

/**
 * Erases copies of the name and address. All bookings that showed the name get a new version, which the feed reports.
 * Bookings of lessons name no person themselves, and so are found by their ids alone: a tenant may have millions.
 * @param id null for a person who has been erased before
 * @param taught bookings of lessons that name the person
 * @returns how many bookings have a new version
 */
export async function forgetOrganizer(
  trx: Transaction,
  mandatorId: number,
  { id, organizer, taught }: { id: number | null; organizer: OrganizerNames; taught: readonly number[] },
): Promise<number> {
  const named = isOrganizer(organizer);
  const { numAffectedRows } = await sql`
    update booking set version = version + 1, changed_at = now(),
      organizer_name = case when ${named} then null else organizer_name end,
      organizer_email = case when ${named} then null else organizer_email end
    where mandator_id = ${mandatorId} and (
      kind <> 'Lesson' and (organizer_id = ${id} or created_by = ${id} or decided_by = ${id} or ${named})
      or id = any (${taught}::bigint[]))`.execute(trx);
  return Number(numAffectedRows);
}
