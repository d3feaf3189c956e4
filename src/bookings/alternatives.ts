/** Alternatives to a wanted booking whose place is occupied: other resources, other times. */

import { sql } from 'kysely';
import { bookablePolicies, inReach, isDisplay, limitsFor } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { listOpenIntervals } from '../opening-hours/service.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import {
  type BookableRoom,
  occupiedBy,
  policyOf,
  readOpenness,
  readRooms,
  roomOccupied,
  type Wanted,
} from './occupation.ts';
import type { Alternative, Occupied, RoomConflict } from './occupied.ts';
import { listLimitFaults } from './rules.ts';
import { occupies } from './status.ts';

const mostAlternatives = 5;
const mostResources = 3;
/** The most free resources whose opening hours are checked. */
const mostCandidates = 20;
/** Occurrences times resources that one query checks, some tenths of a second: a long series tries fewer resources. */
const mostPlaces = 10_000;
const daysAhead = 7;

/** A write that met conflicts, and the places that it wanted. */
export type RefusedOccupation = { conflicts: RoomConflict[]; places: Wanted[] };

/** The refusal of a write. Call it after the transaction, when the rooms are no longer locked: it searches alternatives. */
export async function refuseOccupied(
  db: Database,
  viewer: Viewer,
  { conflicts, places }: RefusedOccupation,
): Promise<Occupied> {
  // Alternatives would reveal other rooms to a display.
  if (isDisplay(viewer)) return roomOccupied(conflicts);
  const [first, ...others] = places as [Wanted, ...Wanted[]];
  return roomOccupied(conflicts, await suggestAlternatives(db, viewer, first, others));
}

/**
 * Suggests up to 5 places. First come up to 3 other active resources of the location that are open and free at the same
 * time, of the same kind and at least the same capacity (nearest first), then the next times within 7 days at which the
 * resource itself is open and free. All are within the rights of the viewer and the limits of policies; quotas are not checked.
 * @param others the other bookings of the series: a resource must be free for these too; no other times are suggested
 */
async function suggestAlternatives(
  db: Database,
  viewer: Viewer,
  wanted: Wanted,
  others: readonly Wanted[],
): Promise<Alternative[]> {
  const resources = await findResources(db, viewer, [wanted, ...others]);
  if (others.length > 0) return resources;
  const times = await findTimes(db, viewer, wanted, new Date());
  return [...resources, ...times].slice(0, mostAlternatives);
}

async function findResources(db: Database, viewer: Viewer, series: readonly Wanted[]): Promise<Alternative[]> {
  const { mandatorId } = viewer;
  const [{ resourceId, start, end }] = series as [Wanted];
  const places = series.map(occupiedBy);
  // The inner query sorts and limits, so that `not exists` checks no more resources than needed.
  const { rows } = await sql<Pick<BookableRoom, 'id' | 'name' | 'timeZone' | 'policy'>>`
    select id, name, "timeZone", policy from (
      select other.id, other.name, other.capacity - room.capacity as spare, location.time_zone as "timeZone",
        ${policyOf} as policy
      from resource as room
      join resource as other on other.mandator_id = room.mandator_id and other.location_id = room.location_id
        and other.id <> room.id
      join location on location.mandator_id = other.mandator_id and location.id = other.location_id
      left join policy on policy.mandator_id = other.mandator_id and policy.id = other.policy_id
      where room.mandator_id = ${mandatorId} and room.id = ${resourceId}
        and other.active ${inReach(viewer, 'other.id')} and name_key(other.kind) = name_key(room.kind)
        and (room.capacity is null or other.capacity >= room.capacity)
        and (other.policy_id is null or ${bookablePolicies(viewer)})
      order by spare nulls last, other.id
      limit ${Math.ceil(mostPlaces / places.length)}
    ) as other
    where not exists (
      select from unnest(${places.map(({ from }) => from)}::timestamptz[], ${places.map(({ to }) => to)}::timestamptz[])
        as place(occupied_from, occupied_to)
      cross join lateral (
        select from booking
        where booking.resource_id = other.id and booking.mandator_id = ${mandatorId}
          and ${occupies} and booking.occupied && tstzrange(place.occupied_from, place.occupied_to)
        limit 1
      ) as way
    )
    order by spare nulls last, id
    limit ${mostCandidates}`.execute(db);
  if (rows.length === 0) return [];
  const inRoom = (id: number) => series.map((place) => ({ ...place, resourceId: id }));
  const isOpen = await readOpenness(
    db,
    mandatorId,
    rows.flatMap(({ id }) => inRoom(id)),
  );
  return rows
    .filter(({ id }) => inRoom(id).every(isOpen))
    .filter((room) => listLimitFaults(viewer, room, viewer.personId, series, new Date()).length === 0)
    .slice(0, mostResources)
    .map(({ id, name }) => ({ resourceId: id, resourceName: name, start, end }));
}

/** Finds the earliest possible start in each gap between the bookings of the resource. */
async function findTimes(db: Database, viewer: Viewer, wanted: Wanted, now: Date): Promise<Alternative[]> {
  const { mandatorId } = viewer;
  const { resourceId, setupMinutes, teardownMinutes } = wanted;
  const length = wanted.end.getTime() - wanted.start.getTime();
  const [room] = (await readRooms(db, mandatorId, [resourceId])) as [BookableRoom];
  const lead = (limitsFor(viewer, room.policy, viewer.personId).leadMinutes ?? 0) * minute;
  // A search that begins now begins at the next whole minute.
  const first = Math.max(wanted.start.getTime(), Math.ceil((now.getTime() + lead) / minute) * minute);
  const last = first + daysAhead * dayLength;
  const [open, { rows }] = await Promise.all([
    listOpenIntervals(db, mandatorId, [resourceId], new Date(first), new Date(last + length)),
    sql<{ from: Date; to: Date }>`
      select lower(occupied) as from, upper(occupied) as to from booking
      where resource_id = ${resourceId} and mandator_id = ${mandatorId}
        and ${occupies} and occupied && tstzrange(
          ${new Date(first - setupMinutes * minute)}, ${new Date(last + length + teardownMinutes * minute)})
      order by lower(occupied)`.execute(db),
  ]);
  const taken = rows.map(({ from, to }) => ({ from: from.getTime(), to: to.getTime() }));
  const isWithinLimits = (start: number) =>
    listLimitFaults(viewer, room, viewer.personId, [{ start: new Date(start), end: new Date(start + length) }], now)
      .length === 0;
  const starts = (open.get(resourceId) ?? [always]).flatMap((stretch) => {
    let start = Math.max(Number(stretch.start), first);
    const found: number[] = [];
    for (const { from, to } of [...taken, forever]) {
      const end = start + length;
      if (end > Number(stretch.end) || start > last) break;
      if (end + teardownMinutes * minute <= from) found.push(start);
      start = Math.max(start, to + setupMinutes * minute);
    }
    return found;
  });
  return starts
    .filter(isWithinLimits)
    .slice(0, mostAlternatives)
    .map((start) => ({
      resourceId,
      resourceName: room.name,
      start: new Date(start),
      end: new Date(start + length),
    }));
}

const always = { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };
const forever = { from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY };
