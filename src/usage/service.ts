/**
 * Figures of use (docs/usage.md): of rooms, of the hours of a week, and of locations and weeks.
 *
 * Terms: a room is **open** in its opening hours, less its blocks. A booking **holds** its room while it occupies it, setup and
 * teardown included; one that was released does so until its release, and a cancelled one never has. All is counted in the
 * local dates, weekdays and hours of the location, in whole minutes.
 */
import { checkUsageReader } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { Malformed, parameterFault } from '../errors.ts';
import { listOpenIntervals, mostListed } from '../opening-hours/service.ts';
import { listAllLocations, type ResourceFilter, selectResources } from '../tenants/service.ts';
import { addDays, dateText, dayLength, mondayOf, readDate } from '../time/days.ts';
import { checkDays } from '../time/period.ts';
import { startOfDate, zoneFor } from '../time/zones.ts';
import { type AskedTime, type Grouping, noUse, selectUse, type Use } from './query.ts';

export type { Use } from './query.ts';

export const mostResources = 500;
export const mostDays = 366;
/** The most resources times days of a query. */
export const mostRoomDays = 30_000;

export type UsageQuery = {
  /** Local dates of each location, inclusive. */
  from: string;
  to: string;
  /** Only these resources, also retired ones; all active ones if left out. */
  resourceIds?: readonly number[] | undefined;
} & Pick<ResourceFilter, 'locationId' | 'search' | 'kind' | 'minCapacity' | 'equipment'>;

export type ResourceUse = { resourceId: number; resourceName: string; locationId: number; use: Use };
/** @property weekday 1 is Monday, 7 Sunday */
export type HourUse = { weekday: number; hour: number; use: Use };
/** @property week the date of its Monday */
export type WeekUse = { locationId: number; locationName: string; week: string; use: Use };

type Room = { id: number; name: string; locationId: number };
/** The dates and the resources of a query. */
export type UsageOf = Pick<UsageQuery, 'from' | 'to'> & { rooms: readonly Room[] };

/** The use of each resource, by its id. */
export async function listResourceUse(db: Database, viewer: Viewer, of: UsageOf): Promise<ResourceUse[]> {
  const found = await readUse(db, viewer, of, 'resource');
  return of.rooms.map(({ id, name, locationId }) => ({
    resourceId: id,
    resourceName: name,
    locationId,
    use: found.get(`${id}`) ?? noUse,
  }));
}

/** The use in each of the 168 hours of a week, of all resources together. */
export async function listHourUse(db: Database, viewer: Viewer, of: UsageOf): Promise<HourUse[]> {
  const found = await readUse(db, viewer, of, 'hour');
  return Array.from({ length: 7 * 24 }, (_, index) => {
    const [weekday, hour] = [Math.floor(index / 24) + 1, index % 24];
    return { weekday, hour, use: found.get(`${weekday} ${hour}`) ?? noUse };
  });
}

/** The use of each location in each week that begins on a Monday; the first and the last may be parts. */
export async function listWeekUse(db: Database, viewer: Viewer, of: UsageOf): Promise<WeekUse[]> {
  const found = await readUse(db, viewer, of, 'week');
  const named = new Set(of.rooms.map(({ locationId }) => locationId));
  const locations = (await listAllLocations(db, viewer)).filter(({ id }) => named.has(id));
  const first = mondayOf(readDate(of.from));
  const weeks: string[] = [];
  for (let day = first; day <= readDate(of.to); day += 7) weeks.push(dateText(day));
  return locations.flatMap(({ id, name }) =>
    weeks.map((week) => ({
      locationId: id,
      locationName: name,
      week,
      use: found.get(`${id} ${week}`) ?? noUse,
    })),
  );
}

/**
 * The dates and the resources of a query, by id. @throws Forbidden unless the caller is an Admin; Malformed for invalid dates,
 * more than 366 days, more than 500 resources, or too many days of too many resources
 */
export async function findUsageOf(db: Database, viewer: Viewer, query: UsageQuery): Promise<UsageOf> {
  checkUsageReader(viewer);
  const { from, to, resourceIds: ids, ...filter } = query;
  checkDays({ from, to }, mostDays);
  const days = readDate(to) - readDate(from) + 1;
  const rooms = await selectResources(
    db,
    viewer,
    { ...filter, ids, active: ids ? undefined : true },
    { limit: mostResources, after: undefined },
  ).execute();
  if (rooms.length > mostResources) throw Malformed.of(tooMany);
  if (rooms.length * days > mostRoomDays) {
    const text = `${days} days of ${rooms.length} resources are more than the maximum of ${mostRoomDays}; ask in parts, or for fewer resources`;
    throw Malformed.of(parameterFault('To', 'InvalidValue', text));
  }
  return { from, to, rooms };
}

const tooMany = {
  field: null,
  pointer: null,
  code: 'LimitExceeded',
  message: `More than ${mostResources} resources match; name a LocationId or fewer ResourceIds.`,
};

async function readUse(
  db: Database,
  viewer: Viewer,
  { from, to, rooms }: UsageOf,
  step: Grouping,
): Promise<Map<string, Use>> {
  if (rooms.length === 0) return new Map();
  const zones = new Map((await listAllLocations(db, viewer)).map(({ id, timeZone }) => [id, timeZone]));
  const asked = [...new Set(rooms.map(({ locationId }) => locationId))].map((locationId): AskedTime => {
    const timeZone = zones.get(locationId) as string;
    const [begins, ends] = [startOfDate(from, timeZone), startOfDate(addDays(to, 1), timeZone)];
    return { locationId, ends, offsets: zoneFor(timeZone).offsetsIn(begins.getTime(), ends.getTime()) };
  });
  // In any zone; the query clips it to the dates of each location.
  const [first, last] = [readDate(from) * dayLength, readDate(to) * dayLength];
  const open = await listOpenIntervals(
    db,
    viewer.mandatorId,
    rooms.map(({ id }) => id),
    new Date(first - 2 * dayLength),
    new Date(last + 3 * dayLength),
    mostListed,
  );
  return await selectUse(db, viewer.mandatorId, { rooms, asked, open, step });
}
