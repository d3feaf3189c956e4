/**
 * Opening hours: weekly **rules** and **exceptions** for dates, both in local clock times without a zone (specification 2.5,
 * contract 5.1). Rules of a resource replace those of its location. For a date with exceptions of both, that of the
 * resource applies; among several of one owner, the one of the fewest days. Holidays close where there is no exception.
 */
import { sql } from 'kysely';
import { mayShow, mayShowSome, roomsShown } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { answerPerParent } from '../db/per-parent.ts';
import { Malformed, parameterFault } from '../errors.ts';
import { openSlices } from '../flow/slices.ts';
import { noRecord } from '../records.ts';
import { addDays, readDate } from '../time/days.ts';
import { checkDays, isUsual } from '../time/period.ts';
import { localDateOf } from '../time/zones.ts';
import { convertInParts, remember } from './conversion.ts';
import type { OpenInterval } from './local-hours.ts';
import {
  type ChosenRooms,
  type Dates,
  hoursByResource,
  type LocationOfHours,
  readHours,
  type StoredException,
  type StoredRule,
} from './stored.ts';
import { dayOf } from './stretches.ts';

export {
  applyHours,
  getExceptions,
  getRules,
  type HoursOwner,
  moveHours,
  type OwnHours,
  readWrittenHours,
  replaceExceptions,
  replaceRules,
} from './change.ts';
export { hoursMembers, toNewException, toNewRule, type WrittenHours } from './schema.ts';
export { hasRules } from './stored.ts';
export { listOpenIntervals, mostListed, type OpenStretch } from './stretches.ts';
export type { StoredException, StoredRule };

/** The hours of the active resources of a location, converted to UTC in `timeZone`. */
export type LocationHours = {
  locationId: number;
  locationName: string;
  timeZone: string;
  timeZoneSource: 'Person' | 'Location';
  /** Local dates of `timeZone`, inclusive. */
  from: string;
  to: string;
  resources: {
    resourceId: number;
    resourceName: string;
    /** The rules that apply to the resource. */
    weekly: StoredRule[];
    /** Its exceptions from `from` to the day after `to`, on which a closed one may cut the last night. */
    exceptions: StoredException[];
    intervals: OpenInterval[];
  }[];
};

export type HoursQuery = {
  /** A local date; when absent, today in the zone used. */
  from?: string | undefined;
  /** When absent, six days after `from`. */
  to?: string | undefined;
  /** The location whose zone is used. */
  timezoneLocationId?: number | undefined;
};

/** The most dates of resources in one request: five weeks of a thousand resources, or a year of a hundred. */
export const mostRoomDays = 40_000;
/** The most rules, exceptions with their periods, and intervals in the answers to one request. */
export const mostEntries = 100_000;

/** Who asks, and how much of both limits the request has left. */
export type Asker = { viewer: Viewer; roomDays: number; entries: number };
export const openAsker = (viewer: Viewer): Asker => ({ viewer, roomDays: mostRoomDays, entries: mostEntries });

const tooMuch = (text: string) => Malformed.of(parameterFault('To', 'InvalidValue', `${text}; ask in parts`));

/** @throws Malformed */
function spendRoomDays(asker: Asker, count: number): void {
  asker.roomDays -= count;
  if (asker.roomDays < 0)
    throw tooMuch(`the days of all resources together are more than the maximum of ${mostRoomDays} in one request`);
}

/** @throws Malformed */
function spendEntries(asker: Asker, count: number): void {
  asker.entries -= count;
  if (asker.entries < 0)
    throw tooMuch(
      `the rules, exceptions, periods and intervals of all resources together are more than the maximum of ${mostEntries} in one request`,
    );
}

/**
 * The hours of some resources of a location on the dates of the query, in the zone used. Resources without own hours share their
 * lists.
 * @throws Malformed for invalid dates, and beyond the limits of the request
 */
async function hoursIn(
  location: LocationOfHours,
  resources: LocationOfHours['resources'],
  query: HoursQuery,
  timeZone: string,
  asker: Asker,
): Promise<Pick<LocationHours, 'from' | 'to' | 'resources'>> {
  const { from, to } = readDates(query, timeZone);
  spendRoomDays(asker, resources.length * (readDate(to) - readDate(from) + 1));
  const dayAfter = addDays(to, 1);
  const exceptions = location.exceptions.filter(({ fromDate, toDate }) => fromDate <= dayAfter && from <= toDate);
  const hoursOf = hoursByResource({ ...location, exceptions });
  const pause = openSlices();
  const convert = remember((hours) => convertInParts(hours, timeZone, { from, to }, pause));
  const found: HoursOfResource[] = [];
  for (const [index, { id, name }] of resources.entries()) {
    const paused = index === 0 ? undefined : pause();
    if (paused !== undefined) await paused;
    const hours = hoursOf(id);
    spendEntries(asker, hours.rules.length + hours.exceptions.length);
    for (const { periods } of hours.exceptions) spendEntries(asker, periods.length);
    const intervals = await convert(hours);
    spendEntries(asker, intervals.length);
    found.push({
      resourceId: id,
      resourceName: name,
      weekly: hours.rules,
      exceptions: hours.exceptions,
      intervals,
    });
  }
  return { from, to, resources: found };
}

const zoneNamed = async (db: Database, viewer: Viewer, { timezoneLocationId: id }: HoursQuery) =>
  id === undefined ? undefined : await readZone(db, viewer, id);

/** The locations that `readHours` finds, each with the zone used. */
async function* readInZone(db: Database, viewer: Viewer, which: ChosenRooms, query: HoursQuery) {
  const locations = readHours(db, viewer.mandatorId, which, datesAround(query));
  let [next, named] = await Promise.all([locations.next(), zoneNamed(db, viewer, query)]);
  for (; !next.done; next = await locations.next()) {
    const location = next.value;
    yield { location, timeZone: named ?? (viewer.timeZone || location.timeZone) };
  }
}

/**
 * Lists the opening hours of a location in the zone of the location that `timezoneLocationId` names, else of the viewer,
 * else of the location itself (specification 2.5, contract 5.1). A display sees only its own rooms, and locations with
 * some of them.
 * @throws NotFound for an unknown location, and in the same words for one of another tenant; Malformed for invalid dates, for a
 * `timezoneLocationId` that is unknown or of another tenant, and beyond the limits of the request
 */
export async function listForLocation(
  db: Database,
  asker: Asker,
  locationId: number,
  query: HoursQuery,
): Promise<LocationHours> {
  const { viewer } = asker;
  let hours: LocationHours | undefined;
  for await (const { location, timeZone } of readInZone(db, viewer, { locationId }, query)) {
    const resources = location.resources.filter(({ id }) => mayShow(viewer, id));
    const ids = resources.map(({ id }) => id);
    if (!mayShowSome(viewer, ids)) continue;
    const { resources: some, ...dates } = await hoursIn(location, resources, query, timeZone, asker);
    hours ??= {
      locationId: location.id,
      locationName: location.name,
      timeZone,
      timeZoneSource: query.timezoneLocationId === undefined && viewer.timeZone ? 'Person' : 'Location',
      ...dates,
      resources: [],
    };
    hours.resources.push(...some);
  }
  if (!hours) throw noRecord('location');
  return hours;
}

export type HoursOfResource = LocationHours['resources'][number];

const hoursOfResources = answerPerParent<Asker, HoursQuery, number, HoursOfResource>(
  async (db, resourceIds, { viewer: asker, asked }) => {
    const { viewer } = asker;
    const found = new Map<number, HoursOfResource>();
    for await (const { location, timeZone } of readInZone(db, viewer, { resourceIds }, asked)) {
      const { resources } = await hoursIn(location, location.resources, asked, timeZone, asker);
      for (const hours of resources) found.set(hours.resourceId, hours);
    }
    return found;
  },
);

/**
 * The opening hours of a resource, as `listForLocation` gives them; calls of the same turn and asker share one query. The caller
 * has checked that the viewer may see the resource.
 */
export async function getHoursOf(
  db: Database,
  asker: Asker,
  resourceId: number,
  query: HoursQuery,
): Promise<HoursOfResource> {
  const found = await hoursOfResources(db, { viewer: asker, parent: resourceId, asked: query });
  if (!found) throw noRecord('resource');
  return found;
}

/** The dates that may be read, whatever the zone; arbitrary ones for dates that are refused later. */
function datesAround(query: HoursQuery): Dates {
  const { from = dayOf(new Date()), to = from } = query;
  if (!isUsual(from) || !isUsual(to)) return { from: '2000-01-01', to: '2000-01-01' };
  return { from: addDays(from, -1), to: addDays(to, query.to === undefined ? 8 : 2) };
}

/** @throws Malformed, in the same words for an unknown id and for one of another tenant */
async function readZone(db: Database, viewer: Viewer, locationId: number): Promise<string> {
  const shown = roomsShown(viewer);
  const found = await db
    .selectFrom('location')
    .where('mandator_id', '=', viewer.mandatorId)
    .where('id', '=', locationId)
    .$if(shown !== null, (query) =>
      query.where(
        sql<boolean>`exists (
          select from resource
          where resource.mandator_id = location.mandator_id and resource.location_id = location.id and resource.active
            and resource.id = any(${shown}))`,
      ),
    )
    .select('time_zone')
    .executeTakeFirst();
  if (!found)
    throw Malformed.of(parameterFault('X-timezone-locationId', 'InvalidValue', 'there is no location of this id'));
  return found.time_zone;
}

const mostDays = 366;
const usualDays = 7;
/** How many resources a location is taken to have before they are read. */
export const usualRooms = 100;

/** The days that a query is about, at most; not checked yet. */
export function daysAsked({ from, to }: Pick<HoursQuery, 'from' | 'to'>): number {
  if (to === undefined) return usualDays;
  return from === undefined || !isUsual(from) || !isUsual(to) ? mostDays : readDate(to) - readDate(from) + 1;
}

/** @throws Malformed with every fault */
function readDates({ from: begin, to }: HoursQuery, timeZone: string): { from: string; to: string } {
  const from = begin ?? localDateOf(new Date(), timeZone);
  checkDays({ from, to }, mostDays);
  return { from, to: to ?? addDays(from, usualDays - 1) };
}
