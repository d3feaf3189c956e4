/**
 * The bookings of a resource that have not begun, for its retirement. Lessons and mail items stay, because the
 * timetable and the mail server own them. Callers of `cancelUpcoming` and `moveUpcoming` lock the resources first
 * (`lockRooms`).
 */
import { sql } from 'kysely';
import type { Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import type { ConflictHandling } from './booking.ts';
import { findFree } from './change.ts';
import { holdUpcoming, writeHeld } from './held.ts';
import type { BookableRoom } from './occupation.ts';
import type { RoomConflict } from './occupied.ts';
import { occupies } from './status.ts';
import { stepTo } from './steps.ts';

/** Numbers of bookings that have not begun and occupy the resource. */
export type Upcoming = {
  bookings: number;
  /** Series with at least one of these bookings. */
  series: number;
  blocks: number;
  lessons: number;
  mailItems: number;
  /** When the last one ends, teardown included. */
  lastEnd: Date | null;
  /** A hash that changes with the bookings that are counted. */
  digest: string;
};

export async function countUpcoming(db: Database, mandatorId: number, resourceId: number): Promise<Upcoming> {
  const of = (kind: string) => sql`count(*) filter (where kind = ${kind})::int`;
  const { rows } = await sql<Upcoming>`
    select ${of('Booking')} as bookings, count(distinct series_id)::int as series, ${of('Block')} as blocks,
      ${of('Lesson')} as lessons, ${of('MailItem')} as "mailItems", max(upper(occupied)) as "lastEnd",
      md5(coalesce(string_agg(id || ' ' || version, ',' order by id), '')) as digest
    from booking where mandator_id = ${mandatorId} and resource_id = ${resourceId}
      and ${occupies} and lower(occupied) > now()`.execute(db);
  return rows[0] as Upcoming;
}

/** Cancels the bookings and blocks that persons have made. @returns how many */
export async function cancelUpcoming(trx: Transaction, mandatorId: number, resourceId: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update booking set status = 'Cancelled', version = version + 1, changed_at = now()
    where mandator_id = ${mandatorId} and resource_id = ${resourceId} and kind in ('Booking', 'Block')
      and ${occupies} and lower(occupied) > now()`.execute(trx);
  return Number(numAffectedRows ?? 0);
}

/**
 * Moves the bookings that persons have made to another resource, each at its time; blocks stay.
 * @returns how many it moved, and the bookings in the way; with conflicts and `Fail` the caller rolls back
 */
export async function moveUpcoming(
  trx: Transaction,
  viewer: Viewer,
  from: BookableRoom,
  to: BookableRoom,
  conflictHandling: ConflictHandling,
): Promise<{ moved: number; conflicts: RoomConflict[] }> {
  const held = await holdUpcoming(trx, viewer.mandatorId, from.id);
  const steps = held.map(({ now, ...old }) => stepTo(viewer, [to], old, { ...old, resourceId: to.id }, now));
  const { free, conflicts } = await findFree(trx, viewer, steps, conflictHandling);
  if (conflicts.length === 0 || conflictHandling === 'Skip')
    await writeHeld(
      trx,
      viewer,
      free.map((step) => step.to),
    );
  return { moved: free.length, conflicts };
}
