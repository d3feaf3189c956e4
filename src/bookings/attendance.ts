/** Check-in, early release, and the release of no-shows. */
import { sql } from 'kysely';
import { checkActor } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { rests } from '../db/resting.ts';
import { Conflict } from '../errors.ts';
import type { Booking } from './booking.ts';
import { checkIsOn } from './door.ts';
import { checkIsActive, checkIsDecided, checkNotOver, type Held, holdBookings } from './held.ts';
import { readBack } from './reading.ts';
import { occupies } from './status.ts';
import { keepUndo } from './undo.ts';

/**
 * Checks a booking in; repeating it changes nothing.
 * @throws Conflict outside of the check-in time (the message names its limit), for a booking without check-in, and for one
 * that is cancelled, released, or waits for approval; Forbidden, NotFound
 */
export function checkIn(db: Database, viewer: Viewer, id: number): Promise<Booking> {
  return attend(db, viewer, id, async (trx, held, now) => {
    checkIsActive(held);
    checkIsDecided(held);
    const { checkInFrom: from, checkInUntil: until } = held;
    if (!from || !until) throw Conflict.because('NoCheckIn', 'This booking needs no check-in.');
    if (held.checkedInAt) return;
    if (now < from)
      throw Conflict.because('CheckInNotOpen', `Check-in opens at ${from.toISOString()}; come back then.`);
    if (now >= until)
      throw Conflict.because('CheckInClosed', `Check-in closed at ${until.toISOString()}; make a new booking.`);
    await sql`
      update booking set checked_in_at = now(), version = version + 1, changed_at = now()
      where mandator_id = ${viewer.mandatorId} and id = ${id}`.execute(trx);
    await keepUndo(trx, viewer, 'CheckedIn', held);
  });
}

/**
 * Frees the resource before the end of the booking; Start and End stay as planned. Repeating it changes nothing.
 * @throws Conflict for a booking that is cancelled, over, or waits for approval, and at a display for one that is neither on
 * nor waits for a check-in; Forbidden, NotFound
 */
export function releaseBooking(db: Database, viewer: Viewer, id: number): Promise<Booking> {
  return attend(db, viewer, id, async (trx, held, now) => {
    if (held.status === 'Released') return;
    checkIsActive(held);
    checkIsDecided(held);
    checkNotOver(held, now);
    checkIsOn(viewer, held, now);
    await sql`
      update booking set status = 'Released', version = version + 1, changed_at = now()
      where mandator_id = ${viewer.mandatorId} and id = ${id}`.execute(trx);
    await keepUndo(trx, viewer, 'Released', held);
  });
}

/**
 * Runs `act` with the booking locked. Neither action occupies more of the resource, so the resource is not locked and the
 * write does not queue with others: a display waits for an import only if the import displaces this booking. With a
 * single lock, no deadlock is possible.
 * @throws Unavailable when another transaction holds the booking for more than a second
 */
async function attend(
  db: Database,
  viewer: Viewer,
  id: number,
  act: (trx: Transaction, held: Held, now: Date) => Promise<void>,
): Promise<Booking> {
  checkActor(viewer);
  await transactOrGiveUp(db, 'The booking', async (trx) => {
    const { named, now } = await holdBookings(trx, viewer, id);
    await act(trx, named, now);
  });
  return await readBack(db, viewer, id);
}

/** The condition that a booking has not been checked in by its limit, by the index `booking_no_show`. */
export const isNoShow = sql<boolean>`check_in_until <= now() and checked_in_at is null and ${occupies}`;
/** SQL: whether there are no-shows to release. */
export const hasNoShows = sql<boolean>`exists (select from booking where ${isNoShow})`;

const releasedPerSweep = 1_000;

/**
 * Releases no-shows of all tenants: bookings that have not been checked in by their limit.
 *
 * The sweep locks no resource, because a release cannot violate the exclusion constraint. It skips locked bookings, which
 * are being checked in, changed or cancelled, and leaves them to the next sweep: it never waits, so it cannot deadlock.
 * A writer that has just found the booking in its way is refused as if it had come before the release.
 * @returns the number of released bookings
 */
export async function releaseNoShows(db: Database): Promise<number> {
  const { numAffectedRows } = await sql`
    with due as materialized (
      select mandator_id, id from booking where ${isNoShow} and not ${rests(sql`booking.mandator_id`)}
      order by check_in_until limit ${releasedPerSweep} for no key update skip locked
    )
    update booking set status = 'Released', version = version + 1, changed_at = now()
    from due where booking.mandator_id = due.mandator_id and booking.id = due.id`.execute(db);
  return Number(numAffectedRows ?? 0);
}

export async function countNoShows(db: Database): Promise<number> {
  const { n } = await db
    .selectFrom('booking')
    .where(isNoShow)
    .select(({ fn }) => fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return n;
}
