/**
 * How a resource is occupied. Every writer of bookings that takes room locks the rows of its resources first, in the order
 * of their ids, as imports do: what it then finds free stays free until it commits. The exclusion constraint is the last
 * guard.
 */
import { sql } from 'kysely';
import pLimit, { type LimitFunction } from 'p-limit';
import { isDisplay, mayBookAnytime, maySee } from '../access.ts';
import type { Viewer } from '../context.ts';
import { type Database, stateIn, type Transaction } from '../db/database.ts';
import { heldByOthers, transactWithin } from '../db/lock-timeout.ts';
import { Conflict, InvalidInput, Unavailable } from '../errors.ts';
import { isExcluded, isLockTimeout } from '../flow/database-errors.ts';
import { transactAgain } from '../flow/retry.ts';
import { listOpenIntervals } from '../opening-hours/service.ts';
import { type BookingKind, occupiedOnly } from './booking.ts';
import { type Alternative, Occupied, type RoomConflict } from './occupied.ts';

/** A resource, as far as its bookings must know it. */
export type BookableRoom = {
  id: number;
  name: string;
  locationId: number;
  /** IANA zone of the location. */
  timeZone: string;
  capacity: number | null;
  kind: string;
  /** Null: no check-in. */
  checkInMinutes: number | null;
  active: boolean;
};

/** A place that a booking is to have; it occupies `[start - setup, end + teardown)`. */
export type Wanted = {
  resourceId: number;
  start: Date;
  end: Date;
  setupMinutes: number;
  teardownMinutes: number;
};

const mostConflicts = 100;
/** Of each of several wanted bookings: enough to see what is in its way. */
const mostPerWanted = 10;

const minute = 60_000;

/** From when to when a booking occupies its resource. */
export function occupiedBy({ start, end, setupMinutes, teardownMinutes }: Omit<Wanted, 'resourceId'>): {
  from: Date;
  to: Date;
} {
  return {
    from: new Date(start.getTime() - setupMinutes * minute),
    to: new Date(end.getTime() + teardownMinutes * minute),
  };
}

/**
 * The resources in the order of their ids.
 * @throws InvalidInput for one that the tenant does not have
 */
export function readRooms(db: Database, mandatorId: number, ids: readonly number[]): Promise<BookableRoom[]> {
  return selectRooms(db, mandatorId, ids, sql``);
}

/**
 * The resources in the order of their ids, which nobody else books, changes or imports lessons into until the
 * transaction ends.
 * @throws InvalidInput for one that the tenant does not have
 */
export function lockRooms(trx: Transaction, mandatorId: number, ids: readonly number[]): Promise<BookableRoom[]> {
  return selectRooms(trx, mandatorId, ids, sql`for no key update of resource`);
}

async function selectRooms(
  db: Database,
  mandatorId: number,
  ids: readonly number[],
  locking: ReturnType<typeof sql>,
): Promise<BookableRoom[]> {
  // bigint: an id that no resource can have is an unknown one.
  const { rows } = await sql<BookableRoom>`
    select resource.id, resource.name, resource.location_id as "locationId", location.time_zone as "timeZone",
      resource.capacity, resource.kind, resource.check_in_minutes as "checkInMinutes", resource.active
    from resource
    join location on location.mandator_id = resource.mandator_id and location.id = resource.location_id
    where resource.mandator_id = ${mandatorId} and resource.id = any (${ids}::bigint[])
    order by resource.id ${locking}`.execute(db);
  if (rows.length < new Set(ids).size) throw unknownResource();
  return rows;
}

function unknownResource(): InvalidInput {
  const message = 'ResourceId: there is no resource of this id.';
  return new InvalidInput(message, [{ field: 'ResourceId', pointer: '/ResourceId', code: 'UnknownResource', message }]);
}

type Found = {
  id: number;
  resourceId: number;
  kind: string;
  subject: string | null;
  isPrivate: boolean;
  organizerId: number | null;
  createdBy: number | null;
  from: Date;
  to: Date;
  wantedStart: Date;
};

/**
 * What stands in the way of each wanted booking, in their order; private ones as the viewer may see them, and for a display
 * all alike. One query. Of one wanted booking the first 100, of each of several the first 10.
 * @param wanted of resources of the viewer's tenant
 * @param except bookings that do not count, because they are to be moved away themselves
 */
export async function findConflicts(
  db: Database | Transaction,
  viewer: Viewer,
  wanted: readonly Wanted[],
  except: readonly number[] = [],
): Promise<RoomConflict[]> {
  const places = wanted.map(occupiedBy);
  // Place by place: joined, all bookings of the rooms would be compared with all places. `offset 0`, because an index that
  // has them in their order, from the oldest on, would be taken for the limit otherwise.
  const { rows } = await sql<Found>`
    select way.id, way.resource_id as "resourceId", way.kind, way.subject, way.is_private as "isPrivate",
      way.organizer_id as "organizerId", coalesce(way.created_by, lesson.created_by) as "createdBy",
      lower(way.occupied) as from, upper(way.occupied) as to, wanted.start as "wantedStart"
    from unnest(${wanted.map(({ resourceId }) => resourceId)}::int[], ${wanted.map(({ start }) => start)}::timestamptz[],
      ${places.map(({ from }) => from)}::timestamptz[], ${places.map(({ to }) => to)}::timestamptz[])
      with ordinality as wanted(resource_id, start, opens, closes, position)
    cross join lateral (
      select * from (
        select * from booking
        where booking.resource_id = wanted.resource_id and booking.mandator_id = ${viewer.mandatorId}
          and booking.status in ('Confirmed', 'Tentative') and booking.occupied && tstzrange(wanted.opens, wanted.closes)
          and booking.id <> all (${except}::bigint[])
        offset 0
      ) as overlapping
      order by lower(occupied) limit ${wanted.length > 1 ? mostPerWanted : mostConflicts}
    ) as way
    left join lateral (
      select job.created_by
      from lesson join lesson_job as job on job.mandator_id = lesson.mandator_id and job.id = lesson.job
      where lesson.mandator_id = ${viewer.mandatorId} and lesson.booking_id = way.id and way.is_private
      order by lesson.job, lesson.lektion_id limit 1
    ) as lesson on true
    order by wanted.position, lower(way.occupied)`.execute(db);
  return rows.map(({ id, resourceId, kind, subject, isPrivate, organizerId, createdBy, ...row }) => {
    const owners = {
      organizer: organizerId === null ? null : { personId: organizerId },
      createdBy: createdBy === null ? null : { personId: createdBy },
    };
    const isShown = !isDisplay(viewer) && maySee(viewer, { isPrivate, ...owners });
    return {
      bookingId: id,
      resourceId,
      kind,
      subject: isShown ? subject : occupiedOnly.subject,
      start: row.from,
      end: row.to,
      wantedStart: row.wantedStart,
    };
  });
}

/** For bookings that are in the way of wanted ones; tells of the first 100. */
export function roomOccupied(conflicts: readonly RoomConflict[], alternatives: readonly Alternative[] = []): Occupied {
  const count = conflicts.length;
  return new Occupied(
    `The resource is occupied: ${count === 1 ? 'a booking is' : `${count} bookings are`} in the way; choose another time or another resource.`,
    conflicts.slice(0, mostConflicts),
    alternatives,
  );
}

/**
 * Whether [start, end) lies within opening hours (contract 5.1), on the clocks of the resource's own location; setup and
 * teardown may lie outside. A resource without known hours is always open. Admins and Blocks are not checked.
 * @throws InvalidInput code OutsideOpeningHours that names the first one which does not
 */
export async function checkOpeningHours(
  db: Database,
  viewer: Viewer,
  wanted: readonly Wanted[],
  kind: BookingKind,
): Promise<void> {
  if (mayBookAnytime(viewer) || kind === 'Block' || wanted.length === 0) return;
  const isOpen = await readOpenness(db, viewer.mandatorId, wanted);
  const closed = wanted.find((each) => !isOpen(each));
  if (!closed) return;
  const message = `Start: the resource is not open from ${closed.start.toISOString()} to ${closed.end.toISOString()}; look at its opening hours.`;
  throw new InvalidInput(message, [{ field: 'Start', pointer: '/Start', code: 'OutsideOpeningHours', message }]);
}

/** Reads the opening hours around all of `places`, of which it then tells whether they are open throughout. */
export async function readOpenness(
  db: Database,
  mandatorId: number,
  places: readonly Pick<Wanted, 'resourceId' | 'start' | 'end'>[],
): Promise<(place: Pick<Wanted, 'resourceId' | 'start' | 'end'>) => boolean> {
  const ids = [...new Set(places.map(({ resourceId }) => resourceId))];
  const from = new Date(Math.min(...places.map(({ start }) => start.getTime())));
  const to = new Date(Math.max(...places.map(({ end }) => end.getTime())));
  const open = await listOpenIntervals(db, mandatorId, ids, from, to);
  return ({ resourceId, start, end }) =>
    open.get(resourceId)?.some((stretch) => stretch.start <= start && end <= stretch.end) ?? true;
}

/** Of one tenant in one process; more are refused at once instead of left waiting. */
const mostWaiting = 200;
/** Writers of one tenant that are in the database at once: the others leave their connections to everybody else. */
const mostWriters = 4;
const openWriters = () => new Map<number, LimitFunction>();
/** `lock_timeout` of a writer: it then queues again, so that writers of other rooms go on while an import holds its rooms. */
const lockTimeoutMs = 200;
/** How long a writer tries to get its rooms: clients wait no longer. */
const roomsTimeoutMs = 30_000;

function writersOf(db: Database, mandatorId: number): LimitFunction {
  const tenants = stateIn(db, openWriters);
  const limit = tenants.get(mandatorId) ?? pLimit(mostWriters);
  tenants.set(mandatorId, limit);
  return limit;
}

/**
 * Runs a write of bookings in a transaction. At most 4 of a tenant are at it in this process; who does not get a lock at
 * once goes to the end of the queue, so that waiting for an import takes neither the connections nor the turns of others.
 * Repeated once after a deadlock, and when the exclusion constraint refuses what `work` had found to be free, so that it
 * sees what is in the way.
 * @throws Conflict when the constraint refuses it twice; Unavailable when the rooms or bookings were held for 30 seconds,
 * and when 200 wait already; whatever `work` throws
 */
export async function writeBookings<T>(
  db: Database,
  { mandatorId }: Viewer,
  work: (trx: Transaction) => Promise<T>,
): Promise<T> {
  const limit = writersOf(db, mandatorId);
  if (limit.pendingCount >= mostWaiting)
    throw new Unavailable(
      `${mostWaiting} changes of bookings of this tenant are waiting already; send the same request again.`,
    );
  try {
    return await transactAgain(roomsTimeoutMs, () => limit(() => transactWithin(db, lockTimeoutMs, work)));
  } catch (error) {
    if (isLockTimeout(error)) throw heldByOthers('The resource');
    if (isExcluded(error))
      throw new Conflict('Another booking of the resource was made at this moment; send the same request again.');
    throw error;
  }
}
