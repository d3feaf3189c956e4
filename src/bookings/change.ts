/** Bookings that get another place, time or text: one, or what is left of a series. */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'kysely';
import { checkActor, checkBooker, checkVersion, mayBookAnytime } from '../access.ts';
import type { Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { Conflict, InvalidInput, PreconditionFailed } from '../errors.ts';
import { suggestAlternatives } from './alternatives.ts';
import type { Booking, BookingChanges, ConflictHandling, Scope } from './booking.ts';
import { checkInAfter, checkInOf } from './check-in.ts';
import { checkEndAtDoor, checkIsOn, inReach } from './door.ts';
import { checkIsActive, checkNotOver, type Held, type Holding, holdBookings } from './held.ts';
import {
  type BookableRoom,
  checkOpeningHours,
  findConflicts,
  lockRooms,
  occupiedBy,
  roomOccupied,
  type Wanted,
  writeBookings,
} from './occupation.ts';
import type { RoomConflict } from './occupied.ts';
import { getBooking, readBack } from './reading.ts';
import { areOnSameDate, atSameClock } from './recurrence.ts';
import { checkActive, checkApart, checkTimes } from './rules.ts';
import { isExtendedAlready, keepUndo } from './undo.ts';

const minute = 60_000;

type PlannedChange = {
  id: number;
  versions: Versions;
  scope: Scope;
  conflictHandling: ConflictHandling;
  /** Undefined when the change takes no room; else the resource that it names, if it names one. */
  room: { resourceId: number | undefined } | undefined;
  /** What is to become of the booking that is named. */
  changesOf(named: Held, now: Date): BookingChanges;
};

type Refused = { conflicts: RoomConflict[]; places: Wanted[] };

/**
 * Changes a booking, or with a scope what is left of its series: the active ones that are not over, all of them or this
 * one and those that start later. A new time then is a clock time: each keeps its local date and gets the local times of
 * the one that is named. What a booking has already changes nothing, and its version stays.
 * @param options.conflictHandling Skip leaves those of a series as they are whose new place is occupied
 * @throws Forbidden, NotFound, PreconditionFailed; InvalidInput for times that cannot be, and for a series on another date;
 * Conflict with what is in the way and what would be possible instead, for what is cancelled or released, for an inactive
 * resource, and for another place of what is over unless the viewer is an Admin
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
  if (!('conflicts' in outcome)) return await getBooking(db, viewer, id);
  // Looked for when the rooms are no longer locked.
  const [first, ...others] = outcome.places as [Wanted, ...Wanted[]];
  throw roomOccupied(outcome.conflicts, await suggestAlternatives(db, viewer, first, others));
}

/**
 * Ends a booking later than it would; who names the version can repeat it without extending twice.
 * @throws Conflict with what is in the way, for what is over, cancelled or released, and at a display for what is neither on
 * nor to be checked in; InvalidInput when it would be too long or reach beyond opening hours; Forbidden, NotFound,
 * PreconditionFailed
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

/** A booking as it is and as it becomes. */
type OldAndNew = { old: Held; to: Held };

/** @returns the booking as it was; or what is in the way, with nothing written */
async function change(
  trx: Transaction,
  viewer: Viewer,
  { id, versions, scope, conflictHandling, room, changesOf }: PlannedChange,
): Promise<Refused | { named: Held }> {
  const rooms = room ? await lockPlaces(trx, viewer, id, scope, room.resourceId) : [];
  const holding = await holdBookings(trx, viewer, id, scope);
  const { named, meant, now } = holding;
  checkVersion(named, versions);
  checkIsActive(named);
  if (meant.length === 0) checkNotOver(named, now);
  const steps = planSteps(rooms, holding, changesOf(named, now), scope);
  const moved = steps.filter(isMoved);
  await checkPlaces(trx, viewer, rooms, moved, now);
  const { free, conflicts } = await findFree(trx, viewer, moved, conflictHandling);
  const possible = [...steps.filter((step) => !isMoved(step)), ...free];
  if (conflicts.length > 0 && (conflictHandling === 'Fail' || possible.length === 0))
    return { conflicts, places: moved.map(({ to }) => to) };
  await write(
    trx,
    viewer,
    possible.map(({ to }) => to),
  );
  return { named };
}

/** The resources that the bookings of a change leave and take. */
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
    where named.mandator_id = ${mandatorId} and named.id = ${id}::bigint ${inReach(viewer, 'named')}`.execute(trx);
  // Of a booking that there is not, nothing is to be said before that.
  const wanted = resourceId === undefined || rows.length === 0 ? [] : [resourceId];
  return await lockRooms(trx, mandatorId, [...rows.map((row) => row.id), ...wanted]);
}

function roomOf(rooms: readonly BookableRoom[], resourceId: number): BookableRoom {
  const room = rooms.find(({ id }) => id === resourceId);
  if (!room) throw new Conflict('A booking got another resource at this moment; send the same request again.');
  return room;
}

/**
 * What is to change in which of the bookings that are meant; those that have it all already are left out.
 * @throws InvalidInput when a series is to move to another date
 */
function planSteps(
  rooms: readonly BookableRoom[],
  { named, meant, now }: Holding,
  changes: BookingChanges,
  scope: Scope,
): OldAndNew[] {
  const { start, end, resourceId } = { ...named, ...changes };
  const hasNewTimes = !isSame(start, named.start) || !isSame(end, named.end);
  if (hasNewTimes && scope !== 'This' && named.seriesId !== null) {
    const { timeZone } = roomOf(rooms, resourceId);
    if (!areOnSameDate(named.start, start, timeZone)) throw otherDate();
  }
  const timesOf = (old: Held, timeZone: string) =>
    old.id === named.id ? { start, end } : atSameClock(old.start, start, end, timeZone);
  const steps = meant.map((old) => {
    const to = { ...old, ...changes, start: old.start, end: old.end };
    if (hasNewTimes) Object.assign(to, timesOf(old, roomOf(rooms, to.resourceId).timeZone));
    const checkInSince = (since: Date) => checkInOf(roomOf(rooms, to.resourceId), to.kind, to, since);
    Object.assign(to, checkInAfter(old, to, now, checkInSince));
    return { old, to };
  });
  return steps.filter(({ old, to }) => !isDeepStrictEqual(old, to));
}

const isSame = (one: Date, other: Date) => one.getTime() === other.getTime();

function otherDate(): InvalidInput {
  const message =
    'Start: must stay on its local date, because the rule of the series says the days; cancel the following bookings and make another series.';
  return new InvalidInput(message, [{ field: 'Start', pointer: '/Start', code: 'OtherDate', message }]);
}

/** Whether it occupies another place. */
function isMoved({ old, to }: OldAndNew): boolean {
  const places = [old, to].map((booking) => ({ ...occupiedBy(booking), resourceId: booking.resourceId }));
  return hasOtherTimes({ old, to }) || !isDeepStrictEqual(places[0], places[1]);
}

const hasOtherTimes = ({ old, to }: OldAndNew) => !isSame(old.start, to.start) || !isSame(old.end, to.end);

/** @throws InvalidInput, Conflict for what no booking may be */
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
    checkActive(roomOf(rooms, to.resourceId));
    if (!mayBookAnytime(viewer)) checkNotOver(old, now);
  }
  // As of a series that is made: its first decides.
  const timed = moved.filter(hasOtherTimes).map(({ to }) => to);
  const [earliest] = timed.toSorted((one, other) => one.start.getTime() - other.start.getTime());
  if (earliest) checkTimes(viewer, earliest.kind, earliest, now);
  checkApart(moved.map(({ to }) => to));
  const opened = moved.filter((step) => hasOtherTimes(step) || step.old.resourceId !== step.to.resourceId);
  await checkOpeningHours(
    trx,
    viewer,
    opened.map(({ to }) => to),
    first.to.kind,
  );
}

/** Those whose new place is free, and what is in the way of the others, which stay and so may be in the way themselves. */
async function findFree(
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

/** All in one statement, after which the exclusion constraint looks at them: bookings of a series may take each other's places. */
async function write(trx: Transaction, { mandatorId }: Viewer, bookings: readonly Held[]): Promise<void> {
  if (bookings.length === 0) return;
  const rows = bookings.map((booking) => ({ ...booking, ...occupiedBy(booking) }));
  await sql`
    update booking set resource_id = new."resourceId", occupied = tstzrange(new.from, new.to), status = new.status,
      subject = new.subject, description = new.description, is_private = new."isPrivate",
      setup_minutes = new."setupMinutes", teardown_minutes = new."teardownMinutes",
      check_in_from = new."checkInFrom", check_in_until = new."checkInUntil", version = version + 1, changed_at = now()
    from jsonb_to_recordset(${JSON.stringify(rows)}) as new(
      id bigint, "resourceId" integer, "from" timestamptz, "to" timestamptz, status text, subject text, description text,
      "isPrivate" boolean, "setupMinutes" smallint, "teardownMinutes" smallint,
      "checkInFrom" timestamptz, "checkInUntil" timestamptz)
    where booking.mandator_id = ${mandatorId} and booking.id = new.id`.execute(trx);
}
