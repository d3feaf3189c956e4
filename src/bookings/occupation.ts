/**
 * Occupation of resources. A write that may occupy more of a resource, imports included, first locks the rows of its
 * resources in the order of their ids: a place that it then finds free stays free until it commits. The exclusion
 * constraint is the last guard.
 */

import { sql } from 'kysely';
import pLimit, { type LimitFunction } from 'p-limit';
import { isDisplay, mayBookAnytime, mayShow, type Policy } from '../access.ts';
import type { Viewer } from '../context.ts';
import { type Database, stateIn, type Transaction } from '../db/database.ts';
import { heldByOthers, transactWithin } from '../db/lock-timeout.ts';
import { Conflict, InvalidInput, memberFault, Unavailable } from '../errors.ts';
import { isExcluded, isLockTimeout } from '../flow/database-errors.ts';
import { transactAgain } from '../flow/retry.ts';
import { listOpenIntervals } from '../opening-hours/service.ts';
import { unknownReference } from '../records.ts';
import { policyColumns } from '../tenants/service.ts';
import { minute } from '../time/durations.ts';
import { type BookingKind, busySubject } from './booking.ts';
import { type Alternative, Occupied, type RoomConflict } from './occupied.ts';
import { amongVisible } from './sight.ts';
import { occupies } from './status.ts';

/** The members of a resource that its bookings depend on. */
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
  policy: BookingPolicy | null;
};

export type BookingPolicy = Policy & { name: string };

/** The place of a wanted booking; it occupies `[start - setup, end + teardown)`. */
export type Wanted = {
  resourceId: number;
  start: Date;
  end: Date;
  setupMinutes: number;
  teardownMinutes: number;
};

const mostConflicts = 100;
/** The limit for each of several wanted bookings. */
const mostPerWanted = 10;

/** The range in which a booking occupies its resource. */
export function occupiedBy({ start, end, setupMinutes, teardownMinutes }: Omit<Wanted, 'resourceId'>): {
  from: Date;
  to: Date;
} {
  return {
    from: new Date(start.getTime() - setupMinutes * minute),
    to: new Date(end.getTime() + teardownMinutes * minute),
  };
}

/** The given id of a resource; 0, which no resource has, if it is hidden from the viewer. */
export const idSeenBy = (viewer: Viewer, id: number): number => (mayShow(viewer, id) ? id : 0);

/** A row of the table policy as a `BookingPolicy`; null where an outer join finds none. */
export const policyOf = sql`case when policy.id is not null then json_build_object(${sql.join(
  policyColumns.map((written) => {
    const [column = '', member = column] = written.split(' as ');
    return sql`${sql.lit(member)}, ${sql.ref(`policy.${column}`)}`;
  }),
)}) end`;

/**
 * Reads the resources in the order of their ids.
 * @throws InvalidInput for an id that is not of this tenant
 */
export function readRooms(db: Database, mandatorId: number, ids: readonly number[]): Promise<BookableRoom[]> {
  return selectRooms(db, mandatorId, ids, sql``);
}

/**
 * Reads the resources and locks them until the transaction ends: meanwhile no other transaction books them, changes them
 * or imports lessons into them.
 * @throws InvalidInput for an id that is not of this tenant
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
  // bigint, so that an id beyond the range of `integer` is unknown instead of a database error.
  const { rows } = await sql<BookableRoom>`
    select resource.id, resource.name, resource.location_id as "locationId", location.time_zone as "timeZone",
      resource.capacity, resource.kind, resource.check_in_minutes as "checkInMinutes", resource.active,
      ${policyOf} as policy
    from resource
    join location on location.mandator_id = resource.mandator_id and location.id = resource.location_id
    left join policy on policy.mandator_id = resource.mandator_id and policy.id = resource.policy_id
    where resource.mandator_id = ${mandatorId} and resource.id = any (${ids}::bigint[])
    order by resource.id ${locking}`.execute(db);
  if (rows.length < new Set(ids).size) throw unknownReference('Resource');
  return rows;
}

type Found = {
  id: number;
  resourceId: number;
  kind: BookingKind;
  subject: string | null;
  isVisible: boolean | null;
  from: Date;
  to: Date;
  wantedStart: Date;
};

/**
 * Lists the bookings in the way of each wanted booking, in the order of `wanted`: the first 100 for a single wanted booking,
 * the first 10 for each of several. The subject is hidden from viewers who may not see it, and always from a display.
 * @param wanted places on resources of the viewer's tenant
 * @param except ids of bookings that do not count, because the caller moves them
 */
export async function findConflicts(
  db: Database | Transaction,
  viewer: Viewer,
  wanted: readonly Wanted[],
  except: readonly number[] = [],
): Promise<RoomConflict[]> {
  const places = wanted.map(occupiedBy);
  // The lateral join searches place by place; a plain join compares all bookings of the rooms with all places. `offset 0`
  // keeps the planner from serving the limit by an index on the order, which it would scan from the oldest booking on.
  const { rows } = await sql<Found>`
    select booking.id, booking.resource_id as "resourceId", booking.kind, booking.subject, ${amongVisible(viewer)} as "isVisible",
      lower(booking.occupied) as from, upper(booking.occupied) as to, wanted.start as "wantedStart"
    from unnest(${wanted.map(({ resourceId }) => resourceId)}::int[], ${wanted.map(({ start }) => start)}::timestamptz[],
      ${places.map(({ from }) => from)}::timestamptz[], ${places.map(({ to }) => to)}::timestamptz[])
      with ordinality as wanted(resource_id, start, occupied_from, occupied_to, position)
    cross join lateral (
      select * from (
        select * from booking
        where booking.resource_id = wanted.resource_id and booking.mandator_id = ${viewer.mandatorId}
          and ${occupies} and booking.occupied && tstzrange(wanted.occupied_from, wanted.occupied_to)
          and booking.id <> all (${except}::bigint[])
        offset 0
      ) as overlapping
      order by lower(occupied) limit ${wanted.length > 1 ? mostPerWanted : mostConflicts}
    ) as booking
    order by wanted.position, lower(booking.occupied)`.execute(db);
  return rows.map(({ id, resourceId, kind, subject, isVisible, ...row }) => {
    const isShown = isVisible && !isDisplay(viewer);
    return {
      bookingId: id,
      resourceId,
      kind,
      subject: isShown ? subject : busySubject,
      start: row.from,
      end: row.to,
      wantedStart: row.wantedStart,
    };
  });
}

/** The error for a place that is taken; it names the first 100 conflicts. */
export function roomOccupied(conflicts: readonly RoomConflict[], alternatives: readonly Alternative[] = []): Occupied {
  const count = conflicts.length;
  return new Occupied(
    `The resource is occupied: ${count === 1 ? 'a booking is' : `${count} bookings are`} in the way; choose another time or another resource.`,
    conflicts.slice(0, mostConflicts),
    alternatives,
  );
}

/**
 * Finds the places that do not lie within opening hours (contract 5.1), in the time zone of the resource's location; setup and
 * teardown may lie outside. A resource without known hours is always open. Admins and Blocks are not checked.
 */
export async function findClosed(
  db: Database,
  viewer: Viewer,
  wanted: readonly Wanted[],
  kind: BookingKind,
): Promise<Wanted[]> {
  if (mayBookAnytime(viewer) || kind === 'Block' || wanted.length === 0) return [];
  const isOpen = await readOpenness(db, viewer.mandatorId, wanted);
  return wanted.filter((each) => !isOpen(each));
}

/**
 * @param remedy what else could be done
 * @throws InvalidInput code OutsideOpeningHours, naming the first of the places and counting the others, if there are any
 */
export function refuseClosed([first, ...others]: readonly Wanted[], remedy = ''): void {
  if (!first) return;
  const more = others.length > 0 ? `, and ${others.length} more of the series are outside of its hours` : '';
  const text = `the resource is not open from ${first.start.toISOString()} to ${first.end.toISOString()}${more}; look at its opening hours${remedy}`;
  throw InvalidInput.of(memberFault('Start', 'OutsideOpeningHours', text));
}

/** Reads the opening hours around `places`. @returns a predicate: whether one of the places is open throughout */
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

/** Writes of one tenant that wait in one process; further ones are refused at once. */
const mostWaiting = 200;
/** Writes of one tenant that run at once in one process: waiting writes hold no database connection. */
const mostWriters = 4;
const openWriters = () => new Map<number, LimitFunction>();
/** `lock_timeout` of a write. The write then queues again, so that writes of other rooms go on during an import. */
const lockTimeoutMs = 200;
/** How long a write tries to lock its rooms: clients wait no longer. */
const roomsTimeoutMs = 30_000;

function writersOf(db: Database, mandatorId: number): LimitFunction {
  const tenants = stateIn(db, openWriters);
  const limit = tenants.get(mandatorId) ?? pLimit(mostWriters);
  tenants.set(mandatorId, limit);
  return limit;
}

/**
 * Runs a write of bookings in a transaction. At most 4 writes of a tenant run at once in this process. A write that does
 * not get its locks within 200 ms goes to the end of the queue, so that waiting for an import blocks no other write.
 * `work` is repeated once after a deadlock, and when the exclusion constraint refuses a place that it found free: the
 * second run sees the conflict.
 * @throws Conflict when the constraint refuses it twice; Unavailable when the rooms or bookings stay locked for 30 seconds,
 * and when 200 writes wait already; the errors of `work`
 */
export async function writeBookings<T>(
  db: Database,
  { mandatorId }: Viewer,
  work: (trx: Transaction, now: Date) => Promise<T>,
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
      throw Conflict.because(
        'Overtaken',
        'Another booking of the resource was made at this moment; send the same request again.',
      );
    throw error;
  }
}
