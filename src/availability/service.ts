/**
 * Availability of resources (contract 5.2). A resource is **busy** while active bookings occupy it, setup and teardown
 * included; it is **free** while it is open and not busy. Both are clipped to the requested window.
 */

import { type RawBuilder, sql } from 'kysely';
import { checkReader, inReach } from '../access.ts';
import { occupies } from '../bookings/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { answerPerParent } from '../db/per-parent.ts';
import { executePrepared } from '../db/prepared.ts';
import { Malformed, parameterFault } from '../errors.ts';
import { openSlices } from '../flow/slices.ts';
import { listOpenIntervals, mostListed, type OpenStretch } from '../opening-hours/service.ts';
import { type ResourceFilter, selectResources } from '../tenants/service.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { checkPeriod, checkYears } from '../time/period.ts';
import { type Spans, SpanWriter } from './spans.ts';

export { type FreeResource, listFree } from './free.ts';
export { openSlabs, SpanWriter } from './spans.ts';

export const mostResources = 500;
export const mostDays = 92;

/** The most days of resources that a query is about. */
export const roomDaysOf = ({ from, to, resourceIds }: Pick<AvailabilityQuery, 'from' | 'to' | 'resourceIds'>): number =>
  (resourceIds?.length ?? mostResources) * Math.ceil((to.getTime() - from.getTime()) / dayLength);

export type AvailabilityQuery = {
  from: Date;
  to: Date;
  /** Each must be a resource of the tenant; the answer has those of them that match the other members. */
  resourceIds?: readonly number[] | undefined;
  /** The shortest time that counts as free; when absent, any. */
  durationMinutes?: number | undefined;
} & Pick<ResourceFilter, 'locationId' | 'search' | 'kind' | 'minCapacity' | 'equipment'>;

export type ResourceAvailability = {
  resourceId: number;
  resourceName: string;
  locationId: number;
  /** IANA zone of the location. */
  timeZone: string;
  capacity: number | null;
  free: Spans;
  busy: Spans;
};

/**
 * Lists the active resources that match the query, by id. A resource without known opening hours is always open.
 * @throws Forbidden for a display; Malformed for a window that is in unusual years, ends before it begins or is longer than 92
 * days, for more than 500 resources, and, in the same words, for an unknown id and for one of another tenant
 * @param writer allocates the spans
 */
export async function listAvailability(
  db: Database,
  viewer: Viewer,
  query: AvailabilityQuery,
  writer = new SpanWriter(),
): Promise<ResourceAvailability[]> {
  checkReader(viewer);
  checkYears(query);
  checkPeriod(query, mostDays);
  const { from, to, resourceIds, durationMinutes } = query;
  if (resourceIds && resourceIds.length > mostResources) throw tooMany();
  const rows = await executePrepared(db, 'availability', selectBusy(db, viewer, query).compile(db));
  if (rows.length > mostResources) throw tooMany();
  if (resourceIds && rows.length < resourceIds.length) await checkIds(db, viewer, resourceIds);
  const [begin, end] = [from.getTime(), to.getTime()];
  const pause = openSlices();
  // Parsed at once: the texts would outlive the wait for the hours, and then cost more to collect.
  const booked: { resource: Omit<ResourceAvailability, 'free' | 'busy'>; busy: Spans }[] = [];
  for (const { occupied, ...resource } of rows.splice(0)) {
    booked.push({ resource, busy: writer.clip(writer.readRanges(occupied ?? ''), begin, end) });
    const paused = pause();
    if (paused !== undefined) await paused;
  }
  const ids = booked.map(({ resource }) => resource.resourceId);
  const hours = await listOpenIntervals(db, viewer.mandatorId, ids, from, to, mostListed);
  const always = Float64Array.of(begin, end);
  const openSpans = new Map<OpenStretch[], Spans>();
  const openOf = (id: number): Spans => {
    const stretches = hours.get(id);
    if (!stretches) return always;
    let spans = openSpans.get(stretches);
    if (!spans) {
      const whole = stretches.flatMap(({ start, end }) => [start.getTime(), end.getTime()]);
      openSpans.set(stretches, (spans = writer.clip(Float64Array.from(whole), begin, end)));
    }
    return spans;
  };
  const least = Math.max(1, (durationMinutes ?? 0) * minute);
  const found: ResourceAvailability[] = [];
  for (const { resource, busy } of booked) {
    found.push({ ...resource, busy, free: writer.subtract(openOf(resource.resourceId), busy, least) });
    const paused = pause();
    if (paused !== undefined) await paused;
  }
  return found;
}

type When = Pick<AvailabilityQuery, 'from' | 'to' | 'durationMinutes'>;

const availabilityOf = answerPerParent<Viewer, When, number, ResourceAvailability>(
  async (db, resourceIds, { viewer, asked }) => {
    const found = await listAvailability(db, viewer, { ...asked, resourceIds });
    return new Map(found.map((resource) => [resource.resourceId, resource]));
  },
);

/**
 * The availability of a resource; calls of the same turn share one query. Undefined for an inactive resource. @throws as
 * `listAvailability`
 */
export const findAvailability = (
  db: Database,
  viewer: Viewer,
  resourceId: number,
  when: When,
): Promise<ResourceAvailability | undefined> => availabilityOf(db, { viewer, parent: resourceId, asked: when });

type Row = Omit<ResourceAvailability, 'free' | 'busy'> & { occupied: string | null };

/**
 * The query for the resources, each with the ranges of its active bookings in the form that `readRanges` takes, which costs
 * PostgreSQL and us less than texts and multiranges. The subquery has no condition on the tenant: the foreign key guarantees it,
 * and without that column an index-only scan of the exclusion constraint suffices.
 */
export function selectBusy(
  db: Database,
  viewer: Viewer,
  { from, to, resourceIds: ids, ...wanted }: AvailabilityQuery,
): RawBuilder<Row> {
  const { locationId, search, kind, minCapacity, equipment } = wanted;
  const filter = { ids, locationId, search, kind, minCapacity, equipment, active: true };
  const resources = selectResources(db, viewer, filter, { limit: mostResources, after: undefined });
  return sql<Row>`
    select room.id as "resourceId", room.name as "resourceName", room."locationId", location.time_zone as "timeZone",
      room.capacity, busy.occupied
    from ${resources} as room
    join location on location.mandator_id = ${viewer.mandatorId} and location.id = room."locationId"
    cross join lateral (
      select encode(string_agg(
        timestamptz_send(lower(booking.occupied)) || timestamptz_send(upper(booking.occupied)), ''), 'base64') as occupied
      from booking
      where booking.resource_id = room.id and booking.occupied && tstzrange(${from}, ${to})
        and ${occupies}
    ) as busy
    order by room.id`;
}

function tooMany(): Malformed {
  const message = `More than ${mostResources} resources match; name a LocationId, MinCapacity, Equipment or fewer ResourceIds.`;
  return Malformed.of({ field: null, pointer: null, code: 'LimitExceeded', message });
}

async function checkIds(db: Database, viewer: Viewer, ids: readonly number[]): Promise<void> {
  const known = await db
    .selectFrom('resource')
    .where('mandator_id', '=', viewer.mandatorId)
    .where(sql<boolean>`id = any (${ids}::integer[]) ${inReach(viewer, 'id')}`)
    .select('id')
    .execute();
  const ofTenant = new Set(known.map(({ id }) => id));
  const unknown = ids.filter((id) => !ofTenant.has(id));
  if (unknown.length > 0)
    throw Malformed.of(
      parameterFault('ResourceIds', 'UnknownResource', `there is no resource with the id ${unknown.join(', ')}`),
    );
}
