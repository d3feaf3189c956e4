/** Cancelling a booking, or what is left of its series. */
import { sql } from 'kysely';
import { checkBooker, checkVersion } from '../access.ts';
import type { Versions, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type Booking, isActive, type Scope } from './booking.ts';
import { checkIsActive, checkNotOver, holdBookings } from './held.ts';
import { writeBookings } from './occupation.ts';
import { getBooking } from './reading.ts';

/**
 * Cancels a booking, or with a scope what is left of its series: what is over stays as it is. Again it changes nothing,
 * whatever version it is meant for.
 * @throws Conflict when everything is over or released; Forbidden, NotFound, PreconditionFailed
 */
export async function cancelBooking(
  db: Database,
  viewer: Viewer,
  id: number,
  versions: Versions,
  scope: Scope,
): Promise<Booking> {
  checkBooker(viewer);
  // It takes no room, so it need not lock the resources first. A deadlock with an import that displaces bookings of the
  // same series is resolved by repeating one of the two.
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
