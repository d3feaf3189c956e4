/** Undo of a display's last act on a booking, for touches by mistake. */
import { type RawBuilder, sql } from 'kysely';
import { checkUndoer, inReach } from '../access.ts';
import type { Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { rests } from '../db/resting.ts';
import { Conflict } from '../errors.ts';
import type { Booking } from './booking.ts';
import { checkNotOver, type Held, holdBookings } from './held.ts';
import { findConflicts, lockRooms, occupiedBy, roomOccupied, writeBookings } from './occupation.ts';
import { checkQuotas } from './quota.ts';
import { readBack } from './reading.ts';
import { checkActive } from './rules.ts';

type DoorAction = 'Booked' | 'CheckedIn' | 'Extended' | 'Released';

/**
 * Whether the display has already extended the booking by `minutes` from one of `versions`: the call is then a repetition,
 * whose first answer may have been lost.
 */
export async function isExtendedAlready(
  db: Database,
  { mandatorId, personId, display }: Viewer,
  id: number,
  versions: Versions,
  minutes: number,
): Promise<boolean> {
  if (!display || !versions) return false;
  const { rows } = await sql`
    select from booking_undo as undo
    join booking on booking.mandator_id = undo.mandator_id and booking.id = undo.booking_id
    where undo.mandator_id = ${mandatorId} and undo.booking_id = ${id}::bigint and undo.person_id = ${personId}
      and undo.action = 'Extended' and undo.version = booking.version and undo.version - 1 = any (${versions}::integer[])
      and upper(booking.occupied) = upper(undo.occupied) + make_interval(mins => ${minutes})`.execute(db);
  return rows.length > 0;
}

const undoSeconds = 60;

/**
 * Records an act of a display for `undoBooking`, in the transaction of the act; does nothing for other viewers.
 * @param before the booking before the act; for a new booking its id, with version 0
 */
export async function keepUndo<Act extends DoorAction>(
  trx: Transaction,
  { mandatorId, personId, display }: Viewer,
  action: Act,
  before: Act extends 'Booked' ? Pick<Held, 'id' | 'version'> : Held,
): Promise<void> {
  if (!display) return;
  const { from, to } = action === 'Extended' ? occupiedBy(before as Held) : {};
  const status = action === 'Released' ? (before as Held).status : null;
  await sql`
    insert into booking_undo (mandator_id, booking_id, person_id, version, action, occupied, status)
    values (${mandatorId}, ${before.id}, ${personId}, ${before.version + 1}, ${action},
      ${from ? sql`tstzrange(${from}, ${to})` : null}, ${status})
    on conflict (mandator_id, booking_id) do update set person_id = excluded.person_id, version = excluded.version,
      action = excluded.action, occupied = excluded.occupied, status = excluded.status, at = excluded.at, undone_at = null`.execute(
    trx,
  );
}

type Undo = { personId: number; version: number; action: DoorAction; isFresh: boolean; isUndone: boolean };

/**
 * Undoes this display's last act on a booking, within a minute and if nothing has changed the booking since: a new booking
 * is cancelled, a check-in is removed, an extension ends, and a released booking is active again if its place is still
 * free and its organizer within the quota. Repeating it changes nothing.
 * @param versions the version after the act; undefined for any
 * @throws Conflict when there is nothing to undo, when it is too late, and with the bookings in the way; Forbidden, NotFound
 */
export async function undoBooking(db: Database, viewer: Viewer, id: number, versions: Versions): Promise<Booking> {
  checkUndoer(viewer);
  await writeBookings(db, viewer, async (trx) => {
    const resourceId = await findRoomToRetake(trx, viewer, id);
    const rooms = resourceId === undefined ? [] : await lockRooms(trx, viewer.mandatorId, [resourceId]);
    const { named, now } = await holdBookings(trx, viewer, id);
    const undo = await findUndo(trx, viewer, id, versions);
    if (undo.isUndone) return;
    if (named.version !== undo.version) throw changedSince();
    if (!undo.isFresh)
      throw Conflict.because(
        'UndoTooLate',
        `This was done more than ${undoSeconds} seconds ago and cannot be undone; end the booking early, or ask its organizer.`,
      );
    if (undo.action === 'CheckedIn') checkStillOpen(named, now);
    if (undo.action === 'Booked') checkNotOver(named, now);
    if (undo.action === 'Released') {
      const [room] = rooms;
      if (room?.id !== named.resourceId) throw changedSince();
      checkActive(room);
      checkNotOver(named, now);
      if (!named.checkedInAt) checkStillOpen(named, now);
      const conflicts = await findConflicts(trx, viewer, [named]);
      if (conflicts.length > 0) throw roomOccupied(conflicts);
      await checkQuotas(trx, viewer, rooms, [{ old: null, to: named }]);
    }
    await restore(trx, viewer, id, undo.action);
  });
  return await readBack(db, viewer, id);
}

const changedSince = () =>
  Conflict.because('ChangedSince', 'This booking has been changed since, so the earlier action cannot be undone.');

/** @throws Conflict when the check-in limit has passed, so that the booking would be a no-show */
function checkStillOpen({ checkInUntil }: Held, now: Date): void {
  if (checkInUntil && checkInUntil <= now)
    throw Conflict.because(
      'CheckInClosed',
      `Check-in closed at ${checkInUntil.toISOString()}, so this can no longer be undone.`,
    );
}

/** The room to lock before the booking: the undo of a release occupies the room again. */
async function findRoomToRetake(trx: Transaction, viewer: Viewer, id: number): Promise<number | undefined> {
  const { rows } = await sql<{ resourceId: number }>`
    select booking.resource_id as "resourceId"
    from booking_undo as undo
    join booking on booking.mandator_id = undo.mandator_id and booking.id = undo.booking_id
    where undo.mandator_id = ${viewer.mandatorId} and undo.booking_id = ${id}::bigint
      and undo.action = 'Released' and undo.undone_at is null ${inReach(viewer, 'booking.resource_id')}`.execute(trx);
  return rows[0]?.resourceId;
}

/** @throws Conflict when this display has not acted on the booking, or another display or change came later */
async function findUndo(
  trx: Transaction,
  { mandatorId, personId }: Viewer,
  id: number,
  versions: Versions,
): Promise<Undo> {
  const { rows } = await sql<Undo>`
    select person_id as "personId", version, action, at > now() - make_interval(secs => ${undoSeconds}) as "isFresh",
      undone_at is not null as "isUndone"
    from booking_undo where mandator_id = ${mandatorId} and booking_id = ${id}`.execute(trx);
  const [undo] = rows;
  if (undo?.personId !== personId)
    throw Conflict.because(
      'NothingToUndo',
      undo
        ? 'Another display was the last to act on this booking; undo it there.'
        : 'This display has done nothing with this booking that can be undone.',
    );
  if (versions && !versions.includes(undo.version)) throw changedSince();
  return undo;
}

const former: Record<DoorAction, RawBuilder<unknown>> = {
  Booked: sql`status = 'Cancelled'`,
  CheckedIn: sql`checked_in_at = null`,
  // The check-in limit must not lie after the former end.
  Extended: sql`occupied = undo.occupied, check_in_until = case when check_in_until is not null then
    least(check_in_until, upper(undo.occupied) - make_interval(mins => teardown_minutes)) end`,
  Released: sql`status = undo.status`,
};

async function restore(trx: Transaction, { mandatorId }: Viewer, id: number, action: DoorAction): Promise<void> {
  await sql`
    update booking set ${former[action]}, version = booking.version + 1, changed_at = now()
    from booking_undo as undo
    where undo.mandator_id = ${mandatorId} and undo.booking_id = ${id}
      and booking.mandator_id = undo.mandator_id and booking.id = undo.booking_id`.execute(trx);
  await sql`
    update booking_undo set undone_at = now() where mandator_id = ${mandatorId} and booking_id = ${id}`.execute(trx);
}

/** Deletes acts that can no longer be undone. */
export async function forgetOldUndos(db: Database): Promise<void> {
  await sql`
    delete from booking_undo where at < now() - interval '1 hour' and not ${rests(sql`booking_undo.mandator_id`)}`.execute(
    db,
  );
}
