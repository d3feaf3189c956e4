/** Changes of the place, time or text of a booking, or of what is left of its series. */

import { sql } from 'kysely';
import { checkActor, checkBooker, checkMayBook, inReach, mayBookAnytime } from '../access.ts';
import type { Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { PreconditionFailed } from '../errors.ts';
import { checkVersion } from '../records.ts';
import { minute } from '../time/durations.ts';
import { type RefusedOccupation, refuseOccupied } from './alternatives.ts';
import type { Booking, BookingChanges, ConflictHandling, Scope } from './booking.ts';
import { checkEndAtDoor, checkIsOn } from './door.ts';
import { checkIsActive, checkNotOver, type Held, holdBookings, writeHeld } from './held.ts';
import {
  type BookableRoom,
  findClosed,
  findConflicts,
  idSeenBy,
  lockRooms,
  refuseClosed,
  roomOccupied,
  writeBookings,
} from './occupation.ts';
import type { RoomConflict } from './occupied.ts';
import { checkQuotas } from './quota.ts';
import { getBooking, readBack } from './reading.ts';
import { checkActive, checkApart, checkLimits, checkTimes } from './rules.ts';
import { hasOtherTimes, isMoved, isSame, type OldAndNew, planSteps, roomOf, takesMore } from './steps.ts';
import { isExtendedAlready, keepUndo } from './undo.ts';

type PlannedChange = {
  id: number;
  versions: Versions;
  scope: Scope;
  conflictHandling: ConflictHandling;
  /** Undefined when the change occupies nothing new; otherwise the resource that it names, if any. */
  room: { resourceId: number | undefined } | undefined;
  /** The changes, given the named booking as it is now. */
  changesOf(named: Held, now: Date): BookingChanges;
};

/**
 * Changes a booking, or with a scope its series: the active bookings that are not over, either all of them or this one and
 * those that start later. In a series a new time is a clock time: each booking keeps its local date and gets the local
 * times of the named one. A booking that already has the requested values keeps its version.
 * @param options.conflictHandling Skip leaves bookings of a series unchanged if their new place is occupied
 * @throws Forbidden, NotFound, PreconditionFailed; InvalidInput for invalid times, and for a series on another date;
 * Conflict with the bookings in the way and alternatives, for a booking that is cancelled or released, for an inactive
 * resource, and for a new place of a booking that is over unless the viewer is an Admin
 */
export async function changeBooking(
  db: Database,
  viewer: Viewer,
  id: number,
  versions: Versions,
  changes: BookingChanges,
  { scope, conflictHandling }: { scope: Scope; conflictHandling: ConflictHandling },
): Promise<Booking> {
  checkBooker(viewer);
  const { resourceId } = changes;
  const places = ['resourceId', 'start', 'end', 'setupMinutes', 'teardownMinutes'] as const;
  const outcome = await writeBookings(db, viewer, (trx) =>
    change(trx, viewer, {
      id,
      versions,
      scope,
      conflictHandling,
      room: places.some((member) => changes[member] !== undefined) ? { resourceId } : undefined,
      changesOf: () => changes,
    }),
  );
  if ('conflicts' in outcome) throw await refuseOccupied(db, viewer, outcome);
  return await getBooking(db, viewer, id);
}

/**
 * Moves the end of a booking later. A display that names the version can repeat the call without extending twice.
 * @throws Conflict with the bookings in the way, for a booking that is over, cancelled or released, and at a display for
 * one that is neither on nor to be checked in; InvalidInput when it would be too long or end outside of opening hours;
 * Forbidden, NotFound, PreconditionFailed
 */
export async function extendBooking(
  db: Database,
  viewer: Viewer,
  id: number,
  versions: Versions,
  minutes: number,
): Promise<Booking> {
  checkActor(viewer);
  const outcome = await writeBookings(db, viewer, async (trx) => {
    const changed = await change(trx, viewer, {
      id,
      versions,
      scope: 'This',
      conflictHandling: 'Fail',
      room: { resourceId: undefined },
      changesOf(named, now) {
        checkNotOver(named, now);
        checkIsOn(viewer, named, now);
        const end = new Date(named.end.getTime() + minutes * minute);
        checkEndAtDoor(viewer, end, now);
        return { end };
      },
    });
    if ('named' in changed) await keepUndo(trx, viewer, 'Extended', changed.named);
    return changed;
  }).catch(async (error: unknown) => {
    const isRepeated =
      error instanceof PreconditionFailed && (await isExtendedAlready(db, viewer, id, versions, minutes));
    if (!isRepeated) throw error;
    return {};
  });
  if ('conflicts' in outcome) throw roomOccupied(outcome.conflicts);
  return await readBack(db, viewer, id);
}

/** @returns the named booking as it was; or the conflicts, with nothing written */
async function change(
  trx: Transaction,
  viewer: Viewer,
  { id, versions, scope, conflictHandling, room, changesOf }: PlannedChange,
): Promise<RefusedOccupation | { named: Held }> {
  const rooms = room ? await lockPlaces(trx, viewer, id, scope, room.resourceId) : [];
  const holding = await holdBookings(trx, viewer, id, scope);
  const { named, meant, now } = holding;
  checkVersion(named, versions);
  checkIsActive(named);
  if (meant.length === 0) checkNotOver(named, now);
  const steps = planSteps(viewer, rooms, holding, changesOf(named, now), scope);
  const moved = steps.filter(isMoved);
  await checkPlaces(trx, viewer, rooms, moved, now);
  const { free, conflicts } = await findFree(trx, viewer, moved, conflictHandling);
  const possible = [...steps.filter((step) => !isMoved(step)), ...free];
  if (conflicts.length > 0 && (conflictHandling === 'Fail' || possible.length === 0))
    return { conflicts, places: moved.map(({ to }) => to) };
  await checkQuotas(trx, viewer, rooms, free);
  await writeHeld(
    trx,
    viewer,
    possible.map(({ to }) => to),
  );
  return { named };
}

/** Locks the resources that the bookings of a change leave and take. */
async function lockPlaces(
  trx: Transaction,
  viewer: Viewer,
  id: number,
  scope: Scope,
  resourceId: number | undefined,
): Promise<BookableRoom[]> {
  const { mandatorId } = viewer;
  const { rows } = await sql<{ id: number }>`
    select distinct booking.resource_id as id
    from booking as named
    join booking on booking.mandator_id = named.mandator_id
      and (booking.id = named.id ${scope === 'This' ? sql`` : sql`or booking.series_id = named.series_id`})
    where named.mandator_id = ${mandatorId} and named.id = ${id}::bigint ${inReach(viewer, 'named.resource_id')}`.execute(
    trx,
  );
  // An unknown booking is reported before an unknown resource.
  const wanted = resourceId === undefined || rows.length === 0 ? [] : [idSeenBy(viewer, resourceId)];
  return await lockRooms(trx, mandatorId, [...rows.map((row) => row.id), ...wanted]);
}

/** @throws InvalidInput, Conflict for a place that breaks the rules of bookings */
async function checkPlaces(
  trx: Transaction,
  viewer: Viewer,
  rooms: readonly BookableRoom[],
  moved: readonly OldAndNew[],
  now: Date,
): Promise<void> {
  const [first] = moved;
  if (!first) return;
  for (const { old, to } of moved) {
    checkActive(roomOf(rooms, to.resourceId), old.resourceId !== to.resourceId ? 'ResourceId' : undefined);
    if (!mayBookAnytime(viewer)) checkNotOver(old, now);
  }
  // As with a new series, the rules on times apply to its first booking.
  const timed = moved.filter(hasOtherTimes).map(({ to }) => to);
  const [earliest] = timed.toSorted((one, other) => one.start.getTime() - other.start.getTime());
  if (earliest) checkTimes(viewer, earliest.kind, earliest, now);
  checkApart(moved.map(({ to }) => to));
  const opened: OldAndNew['to'][] = [];
  for (const step of moved) {
    const { old, to } = step;
    const room = roomOf(rooms, to.resourceId);
    const starts = old.resourceId !== to.resourceId || !isSame(old.start, to.start);
    const news = { starts, times: starts || hasOtherTimes(step), takesMore: takesMore(old, to) };
    if (news.takesMore) checkMayBook(viewer, room);
    if (news.times) opened.push(to);
    checkLimits(viewer, room, to.organizerId, [to], now, news);
  }
  refuseClosed(await findClosed(trx, viewer, opened, first.to.kind));
}

/** Repeats the search: bookings that cannot move stay, and may then be in the way of other bookings of the change. */
export async function findFree(
  trx: Transaction,
  viewer: Viewer,
  moved: OldAndNew[],
  conflictHandling: ConflictHandling,
): Promise<{ free: OldAndNew[]; conflicts: RoomConflict[] }> {
  const conflicts: RoomConflict[] = [];
  let free = moved;
  while (free.length > 0) {
    const places = free.map(({ to }) => to);
    const found = await findConflicts(
      trx,
      viewer,
      places,
      places.map(({ id }) => id),
    );
    if (found.length === 0) break;
    conflicts.push(...found);
    const keyOf = (resourceId: number, start: Date) => `${resourceId} ${start.getTime()}`;
    const occupied = new Set(found.map(({ resourceId, wantedStart }) => keyOf(resourceId, wantedStart)));
    free = free.filter(({ to }) => !occupied.has(keyOf(to.resourceId, to.start)));
    if (conflictHandling === 'Fail') break;
  }
  return { free, conflicts };
}
