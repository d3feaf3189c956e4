/** Cancellation of a booking, or of what is left of its series. */
import { sql } from 'kysely';
import { checkBooker } from '../access.ts';
import type { Versions, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { checkVersion } from '../records.ts';
import { type Booking, isActive, type Scope } from './booking.ts';
import { checkIsActive, checkNotOver, holdBookings } from './held.ts';
import { writeBookings } from './occupation.ts';
import { getBooking } from './reading.ts';

/**
 * Cancels a booking, or with a scope the rest of its series; bookings that are over stay as they are. Repeating it changes
 * nothing, whatever version it names.
 * @throws Conflict when all the bookings are over or released; Forbidden, NotFound, PreconditionFailed
 */
export async function cancelBooking(
  db: Database,
  viewer: Viewer,
  id: number,
  versions: Versions,
  scope: Scope,
): Promise<Booking> {
  checkBooker(viewer);
  // A cancellation occupies nothing, so it does not lock the resources. After a deadlock with an import that displaces
  // bookings of the same series, one of the two transactions is repeated.
  await writeBookings(db, viewer, async (trx) => {
    const { named, meant, now } = await holdBookings(trx, viewer, id, scope);
    const others = meant.filter((booking) => booking.id !== id);
    if (named.status !== 'Cancelled') {
      checkVersion(named, versions);
      if (others.length === 0) {
        checkIsActive(named);
        checkNotOver(named, now);
      }
    }
    const ids = meant.filter((booking) => isActive(booking)).map((booking) => booking.id);
    if (ids.length > 0)
      await sql`
        update booking set status = 'Cancelled', version = version + 1, changed_at = now()
        where mandator_id = ${viewer.mandatorId} and id = any (${ids}::bigint[])`.execute(trx);
  });
  return await getBooking(db, viewer, id);
}
