/** Check-in, early release, and the release of no-shows. */
import { sql } from 'kysely';
import { checkActor } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { Conflict } from '../errors.ts';
import type { Booking } from './booking.ts';
import { checkIsOn } from './door.ts';
import { checkIsActive, checkNotOver, type Held, holdBookings } from './held.ts';
import { readBack } from './reading.ts';
import { keepUndo } from './undo.ts';

/**
 * Says that somebody has come; again it changes nothing.
 * @throws Conflict that says when, before and after the time for it; where nobody checks in; for what is cancelled or
 * released; Forbidden, NotFound
 */
export function checkIn(db: Database, viewer: Viewer, id: number): Promise<Booking> {
  return attend(db, viewer, id, async (trx, held, now) => {
    checkIsActive(held);
    const { checkInFrom: from, checkInUntil: until } = held;
    if (!from || !until) throw new Conflict('This booking needs no check-in.');
    if (held.checkedInAt) return;
    if (now < from) throw new Conflict(`The check-in opens at ${from.toISOString()}; come back then.`);
    if (now >= until)
      throw new Conflict(`The check-in has been closed since ${until.toISOString()}; make a new booking.`);
    await sql`
      update booking set checked_in_at = now(), version = version + 1, changed_at = now()
      where mandator_id = ${viewer.mandatorId} and id = ${id}`.execute(trx);
    await keepUndo(trx, viewer, 'CheckedIn', held);
  });
}

/**
 * Gives the resource free before the end; Start and End stay as they were planned. Again it changes nothing.
 * @throws Conflict for what is cancelled or over, and at a display for what is neither on nor to be checked in; Forbidden,
 * NotFound
 */
export function releaseBooking(db: Database, viewer: Viewer, id: number): Promise<Booking> {
  return attend(db, viewer, id, async (trx, held, now) => {
    if (held.status === 'Released') return;
    checkIsActive(held);
    checkNotOver(held, now);
    checkIsOn(viewer, held, now);
    await sql`
      update booking set status = 'Released', version = version + 1, changed_at = now()
      where mandator_id = ${viewer.mandatorId} and id = ${id}`.execute(trx);
    await keepUndo(trx, viewer, 'Released', held);
  });
}

/**
 * Locks the booking alone, not its resource, and does not queue with other writers, for it takes no room: so a display waits
 * for an import only if that displaces this very booking. Holding a single lock, it cannot deadlock.
 * @throws Unavailable when the booking is held for more than a second
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

const isNoShow = sql<boolean>`check_in_until <= now() and checked_in_at is null and status in ('Confirmed', 'Tentative')`;
/** No-shows that one sweep releases. */
const releasedAtOnce = 1_000;

/**
 * Releases the bookings, of all tenants, that nobody has checked in by their limit.
 *
 * Unlike every writer who takes room, it locks no resource first, and skips bookings that others have locked: these are
 * being checked in, changed or cancelled, and the next sweep sees the result. A release cannot violate the exclusion
 * constraint, and a sweep that never waits cannot deadlock. A writer that has just found the booking in its way is refused
 * as if it had come before the release.
 * @returns how many there were
 */
export async function releaseNoShows(db: Database): Promise<number> {
  const { numAffectedRows } = await sql`
    with due as materialized (
      select mandator_id, id from booking where ${isNoShow}
      order by check_in_until limit ${releasedAtOnce} for no key update skip locked
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
