/**
 * Opening hours: **rules** that repeat weekly and **exceptions** for dates, both in local clock times that belong to no
 * zone (specification 2.5, contract 5.1). Rules of a resource beat those of its location; for a date that exceptions of
 * both cover, the resource's counts, and of several the one of the fewest days.
 */
import { sql } from 'kysely';
import { mayShow, mayShowSome, roomsShown } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type FieldError, Malformed, NotFound } from '../errors.ts';
import { addDays, dayLength } from '../time/days.ts';
import { localDateOf } from '../time/zones.ts';
import { type OpenInterval, openIntervals } from './local-hours.ts';
import {
  hoursByResource,
  keyOf,
  readHours,
  type StoredException,
  type StoredHours,
  type StoredRule,
} from './stored.ts';

export { applyHours, getExceptions, getRules, type OwnHours, replaceExceptions, replaceRules } from './change.ts';
export { hoursMembers, toNewException, toNewRule, type WrittenHours } from './schema.ts';
export type { StoredException, StoredRule };

/** An unbroken time of being open. */
export type OpenStretch = { start: Date; end: Date };

/**
 * When resources are open around [from, to], in the zones of their own locations: whole stretches, also beyond its edges,
 * in order, with nothing between two that touch. Resources with the same hours share one array.
 *
 * A resource that is closed throughout has an empty array; one for which no hours are known, because neither it nor its
 * location has a rule, is absent.
 */
export async function listOpenIntervals(
  db: Database,
  mandatorId: number,
  resourceIds: readonly number[],
  from: Date,
  to: Date,
): Promise<Map<number, OpenStretch[]>> {
  const open = new Map<number, OpenStretch[]>();
  for (const location of await readHours(db, mandatorId, { resourceIds })) {
    const { timeZone, resources } = location;
    const firstDate = localDateOf(new Date(from.getTime() - dayLength), timeZone);
    const lastDate = localDateOf(to, timeZone);
    const hoursOf = hoursByResource(location);
    const convert = remember((hours) => merge(openIntervals(hours, timeZone, firstDate, lastDate), from, to));
    for (const { id } of resources) {
      const hours = hoursOf(id);
      if (hours.rules.length > 0) open.set(id, convert(hours));
    }
  }
  return open;
}

/** Does the work once for hours that are the same. */
function remember<Made>(make: (hours: StoredHours) => Made): (hours: StoredHours) => Made {
  const made = new Map<string, Made>();
  return (hours) => {
    const key = keyOf(hours);
    const known = made.get(key) ?? make(hours);
    made.set(key, known);
    return known;
  };
}

/** Joins those of `intervals`, in order of their start, that overlap or touch, and keeps what reaches into [from, to]. */
function merge(intervals: readonly OpenStretch[], from: Date, to: Date): OpenStretch[] {
  const stretches: OpenStretch[] = [];
  for (const { start, end } of intervals) {
    const last = stretches.at(-1);
    if (last && start <= last.end) last.end = end > last.end ? end : last.end;
    else stretches.push({ start, end });
  }
  return stretches.filter(({ start, end }) => start <= to && end >= from);
}

/** The hours of a location's active resources, converted to UTC with the clocks of `timeZone`. */
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
    /** The rules that count for it. */
    weekly: StoredRule[];
    /** Those of its exceptions that touch the dates; one on the day after may cut the last night. */
    exceptions: StoredException[];
    intervals: OpenInterval[];
  }[];
};

export type HoursQuery = {
  /** Local dates; today in the zone used when left out. */
  from?: string | undefined;
  /** Six days after `from` when left out. */
  to?: string | undefined;
  /** The location whose zone is used. */
  timezoneLocationId?: number | undefined;
};

/**
 * The opening hours of a location in the zone of the location that `timezoneLocationId` names, else of the viewer, else
 * of the location itself (specification 2.5, contract 5.1). A display is told those of its own rooms, and of locations
 * where it has some.
 * @throws NotFound for an unknown location and for another tenant's alike; Malformed for dates that cannot be and, with
 * one text, for a `timezoneLocationId` that is none of this tenant
 */
export async function listForLocation(
  db: Database,
  viewer: Viewer,
  locationId: number,
  query: HoursQuery,
): Promise<LocationHours> {
  const [[location], named] = await Promise.all([
    readHours(db, viewer.mandatorId, { locationId }),
    query.timezoneLocationId === undefined ? undefined : readZone(db, viewer, query.timezoneLocationId),
  ]);
  const resources = location?.resources.filter(({ id }) => mayShow(viewer, id)) ?? [];
  const ids = resources.map(({ id }) => id);
  if (!location || !mayShowSome(viewer, ids)) throw new NotFound('There is no location of this id.');
  const timeZone = named ?? (viewer.timeZone || location.timeZone);
  const { from, to } = readDates(query, timeZone);
  const hoursOf = hoursByResource(location);
  const convert = remember((hours) => openIntervals(hours, timeZone, from, to));
  return {
    locationId: location.id,
    locationName: location.name,
    timeZone,
    timeZoneSource: named === undefined && viewer.timeZone ? 'Person' : 'Location',
    from,
    to,
    resources: resources.map(({ id, name }) => {
      const hours = hoursOf(id);
      return {
        resourceId: id,
        resourceName: name,
        weekly: hours.rules,
        exceptions: hours.exceptions.filter(({ fromDate, toDate }) => fromDate <= addDays(to, 1) && from <= toDate),
        intervals: convert(hours),
      };
    }),
  };
}

/** @throws Malformed that does not tell an unknown id from another tenant's */
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
    throw new Malformed('The location named for the time zone (X-timezone-locationId) is none of this tenant.');
  return found.time_zone;
}

const mostDays = 366;

/** @throws Malformed with every fault */
function readDates(query: HoursQuery, timeZone: string): { from: string; to: string } {
  const faults: FieldError[] = [];
  const fault = (field: string, text: string) =>
    faults.push({ field, pointer: null, code: 'InvalidValue', message: `${field}: ${text}.` });
  for (const [field, date] of [
    ['From', query.from],
    ['To', query.to],
  ] as const)
    if (date !== undefined && !('1900' < date && date < '3000')) fault(field, 'must be in a year from 1900 to 2999');
  const from = query.from ?? localDateOf(new Date(), timeZone);
  const to = query.to ?? addDays(from, 6);
  if (to < from) fault('To', `must not be before From, which is ${from}`);
  else if (addDays(from, mostDays) <= to) fault('To', `must be at most ${mostDays} days from From, both included`);
  if (faults.length > 0) throw new Malformed(faults.map(({ message }) => message).join(' '), faults);
  return { from, to };
}
