import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { BatchKey } from './batch.ts';

/**
 * What a booking says that coupled lessons share: the subject of the first of its lessons, whoever was written last, and
 * private as soon as one of them is. One that gets, loses or keeps a lesson that has changed is another version.
 * @param bookings a query of the ids of those in question
 * @param touched a query of the ids of those whose lessons are others now, or say something else
 * @param isRenewed whether a booking's Version has grown in this batch already
 */
export async function describeShared(
  trx: Transaction,
  { mandatorId }: BatchKey,
  bookings: RawBuilder<unknown>,
  touched: RawBuilder<unknown>,
  isRenewed: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    update booking set subject = shared.subject, is_private = shared.is_private, changed_at = now(),
      version = version + case when ${isRenewed} then 0 else 1 end
    from (
      select booking_id, (array_agg(coalesce(titel, fach) order by job, lektion_id))[1] as subject,
        bool_or(privat) as is_private
      from lesson where mandator_id = ${mandatorId} and booking_id in (${bookings})
      group by booking_id
    ) as shared
    where booking.mandator_id = ${mandatorId} and booking.id = shared.booking_id
      and ((booking.subject, booking.is_private) is distinct from (shared.subject, shared.is_private)
        or booking.id in (${touched}) and not ${isRenewed})`.execute(trx);
}
