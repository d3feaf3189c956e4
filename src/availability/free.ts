/** Finds resources that are free from an instant on, and until when. */

import { sql } from 'kysely';
import { bookablePolicies, checkReader, limitsFor } from '../access.ts';
import { type BookingPolicy, listLimitFaults, listTimeFaults, occupies, policyOf } from '../bookings/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { Malformed } from '../errors.ts';
import { listOpenIntervals, mostListed } from '../opening-hours/service.ts';
import { type Resource, type ResourceFilter, selectResources } from '../tenants/service.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';

/** The most resources that one search examines. */
const mostLookedAt = 10_000;

export type FreeQuery = {
  /** Now when absent. */
  from?: Date | undefined;
  /** The minutes for which it must be free. */
  minutes: number;
  /** Before and after these minutes, as for a booking; they need not be within the opening hours. */
  setupMinutes: number;
  teardownMinutes: number;
  limit: number;
} & Pick<ResourceFilter, 'locationId' | 'search' | 'kind' | 'minCapacity' | 'equipment'>;

export type FreeResource = Pick<Resource, 'id' | 'name' | 'locationId' | 'kind' | 'capacity' | 'equipment'> & {
  locationName: string;
  /** IANA zone of the location. */
  timeZone: string;
  /** The latest end of a booking that begins at once; at most a day ahead, as no booking is longer. */
  freeUntil: Date;
};

type Row = Omit<FreeResource, 'freeUntil'> & { next: Date | null; policy: BookingPolicy | null };

/**
 * Lists the active resources that the caller can book from the instant on for at least `minutes`, by opening hours, bookings,
 * policies and the rules on times; quotas are not checked. The best fit comes first: the smallest capacity, then the lowest id;
 * unknown capacities come last.
 * @throws Forbidden for a display; Malformed if more than 10,000 resources match
 */
export async function listFree(
  db: Database,
  viewer: Viewer,
  { from: wanted, minutes, setupMinutes, teardownMinutes, limit, ...filter }: FreeQuery,
): Promise<FreeResource[]> {
  checkReader(viewer);
  const now = new Date();
  const from = wanted ?? now;
  const after = (count: number) => new Date(from.getTime() + count * minute);
  const [end, horizon] = [after(minutes), new Date(from.getTime() + dayLength)];
  const place = { start: from, end };
  if (listTimeFaults(viewer, 'Booking', place, now).length > 0) return [];
  const [opens, closes] = [after(-setupMinutes), new Date(horizon.getTime() + teardownMinutes * minute)];
  const resources = selectResources(db, viewer, { ...filter, active: true }, { limit: mostLookedAt, after: undefined });
  // A booking is in the way if it begins, with its setup, before the teardown ends.
  const { rows } = await sql<Row & { looked: number }>`
    with room as materialized (${resources})
    select room.id, room.name, room."locationId", room.kind, room.capacity, room.equipment, next.begins as next,
      ${policyOf} as policy,
      location.name as "locationName", location.time_zone as "timeZone", (select count(*)::int from room) as looked
    from room
    join location on location.mandator_id = ${viewer.mandatorId} and location.id = room."locationId"
    cross join lateral (
      select min(lower(booking.occupied)) as begins from booking
      where booking.resource_id = room.id and booking.occupied && tstzrange(${opens}, ${closes})
        and ${occupies}
    ) as next
    left join policy on policy.mandator_id = ${viewer.mandatorId} and policy.id = room."policyId"
    where (next.begins is null or next.begins >= ${after(minutes + teardownMinutes)})
      and (room."policyId" is null or ${bookablePolicies(viewer)})
    order by room.capacity nulls last, room.id`.execute(db);
  // Where none of those that were looked at is free, no row tells how many match.
  const looked = rows[0]?.looked ?? (await countRows(db, resources));
  if (looked > mostLookedAt)
    throw new Malformed(`More than ${mostLookedAt} resources match; name a LocationId, Kind or Search.`);
  const { personId } = viewer;
  const bookable = rows.filter((room) => listLimitFaults(viewer, room, personId, [place], now).length === 0);
  const ids = bookable.map(({ id }) => id);
  const hours = await listOpenIntervals(db, viewer.mandatorId, ids, from, horizon, mostListed);
  const free = bookable.flatMap(({ next, looked: _, policy, ...resource }) => {
    const open = hours.get(resource.id);
    const stretch = open?.find((one) => one.start <= from && one.end >= end);
    if (open && !stretch) return [];
    const { longestMinutes } = limitsFor(viewer, policy, personId);
    const ends = [
      horizon,
      stretch?.end ?? horizon,
      next ? new Date(next.getTime() - teardownMinutes * minute) : horizon,
      longestMinutes === null ? horizon : after(longestMinutes),
    ];
    return [{ ...resource, freeUntil: new Date(Math.min(...ends.map(Number))) }];
  });
  return free.slice(0, limit);
}

async function countRows(db: Database, query: ReturnType<typeof selectResources>): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from (${query}) as room`.execute(db);
  return rows[0]?.count ?? 0;
}
