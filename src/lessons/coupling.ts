import { type RawBuilder, sql } from 'kysely';
import { mostCoupled } from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import type { BatchKey } from './batch.ts';

/**
 * Writes the bookings that coupled lessons share: with the subject of the first lesson, and private if any of them is.
 * A booking that gains, loses or keeps a changed lesson gets a new version.
 * @param bookings a query of the ids of these bookings
 * @param touched a query of the ids of those whose lessons have changed
 * @param isRenewed whether this batch has raised the version already
 * @param joined a query of the ids of those that have gained a lesson
 * @returns whether one of these has more lessons than may share a booking
 */
export async function describeShared(
  trx: Transaction,
  { mandatorId }: BatchKey,
  {
    bookings,
    touched,
    isRenewed,
    joined,
  }: Record<'bookings' | 'touched' | 'isRenewed' | 'joined', RawBuilder<unknown>>,
): Promise<boolean> {
  const { rows } = await sql<{ isCrowded: boolean }>`
    with shared as materialized (
      select booking_id, (array_agg(coalesce(titel, fach) order by job, lektion_id))[1] as subject,
        bool_or(privat) as is_private, count(*) as lessons
      from lesson where mandator_id = ${mandatorId} and booking_id in (${bookings})
      group by booking_id
    ), described as (
      update booking set subject = shared.subject, is_private = shared.is_private, changed_at = now(),
        version = version + case when ${isRenewed} then 0 else 1 end
      from shared
      where booking.mandator_id = ${mandatorId} and booking.id = shared.booking_id
        and ((booking.subject, booking.is_private) is distinct from (shared.subject, shared.is_private)
          or booking.id in (${touched}) and not ${isRenewed})
    )
    select exists (
      select from shared where lessons > ${mostCoupled} and booking_id in (${joined})) as "isCrowded"`.execute(trx);
  return rows[0]?.isCrowded === true;
}
