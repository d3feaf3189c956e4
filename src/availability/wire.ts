/** Availability on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { defaultLimit, mostPerPage } from '../db/paging.ts';
import { id, instant, recordOf, text } from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import { type FreeResource, mostDays, mostResources, type ResourceAvailability } from './service.ts';
import type { Spans } from './spans.ts';

/** As many as a window has minutes, the shortest booking. */
const mostSpans = mostDays * 24 * 60;

export const timeSpan = z
  .object({
    Start: instant('Its beginning.'),
    End: instant('Its end, which is no part of it.'),
  })
  .meta({ id: 'TimeSpan', description: 'A time without gaps.' });

const capacity = z
  .int()
  .min(0)
  .max(1_000_000)
  .nullable()
  .meta({ description: 'For how many persons; null where nobody has counted.' });

export const resourceAvailability = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    LocationId: id('location', 'The location where it is.'),
    TimeZone: text(64, 'IANA name of the zone of the location.'),
    Capacity: capacity,
    Free: z.array(timeSpan).max(mostSpans).meta({
      description:
        'When it is open and not booked, for at least `DurationMinutes`. Without known opening hours it is always open.',
    }),
    Busy: z.array(timeSpan).max(mostSpans).meta({
      description: 'What its bookings occupy, setup and teardown included; those that touch are one.',
    }),
  })
  .meta({ id: 'ResourceAvailability', description: 'When a resource can be booked.' });

/** The records of contract 5.2. Instants are texts: many are equal, and each distinct one is formatted once. */
export function toAvailabilityRecords(found: readonly ResourceAvailability[]) {
  const texts = new Map<number, string>();
  const textOf = (instant: number): string => {
    let text = texts.get(instant);
    if (text === undefined) texts.set(instant, (text = new Date(instant).toISOString()));
    return text;
  };
  const toTimeSpans = (spans: Spans) => {
    const records: { Start: string; End: string }[] = [];
    for (let at = 0; at < spans.length; at += 2)
      records.push({ Start: textOf(spans[at] as number), End: textOf(spans[at + 1] as number) });
    return records;
  };
  return found.map(({ free, busy, ...resource }) => ({
    ResourceId: resource.resourceId,
    ResourceName: resource.resourceName,
    LocationId: resource.locationId,
    TimeZone: resource.timeZone,
    Capacity: resource.capacity,
    Free: toTimeSpans(free),
    Busy: toTimeSpans(busy),
  }));
}

export const example = {
  Items: [
    {
      ResourceId: 2,
      ResourceName: 'HS 101',
      LocationId: 1,
      TimeZone: 'Europe/Zurich',
      Capacity: 120,
      Free: [
        { Start: '2027-03-01T06:00:00.000Z', End: '2027-03-01T09:00:00.000Z' },
        { Start: '2027-03-01T10:30:00.000Z', End: '2027-03-01T19:00:00.000Z' },
      ],
      Busy: [{ Start: '2027-03-01T09:00:00.000Z', End: '2027-03-01T10:30:00.000Z' }],
    },
  ],
  NextCursor: null,
};

/** Which resources, and when. */
export const availabilityQuery = z.strictObject({
  From: parameters.instant('The beginning of the time asked for.').meta({ example: '2027-03-01T00:00:00Z' }),
  To: parameters.instant(`Its end, at most ${mostDays} days later.`).meta({ example: '2027-03-08T00:00:00Z' }),
  LocationId: parameters.id('location', 'Only those of this location.').optional(),
  ResourceIds: parameters.ids('resource', mostResources, 'Only these; each must be a resource of the tenant.'),
  ...parameters.resourceFilter,
  DurationMinutes: parameters
    .whole(1, mostDays * 24 * 60)
    .optional()
    .meta({ description: 'Leaves out of `Free` what is shorter.' }),
});

export const freeResource = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    LocationId: id('location', 'The location where it is.'),
    LocationName: text(200, 'The name of the location.'),
    TimeZone: text(64, 'IANA name of the zone of the location.'),
    Kind: text(50, 'What it is: Room, Hall, Laboratory, …'),
    Capacity: capacity,
    Equipment: z.array(z.string().max(100)).max(100).meta({ description: 'What is there.' }),
    FreeUntil: instant(
      'Where a booking that begins at once must end at the latest: at the next booking or when it closes, and at most a day ahead.',
    ),
  })
  .meta({ id: 'FreeResource', description: 'A resource that is free.' });

const toFree = recordOf(freeResource);
export const toFreeRecord = ({ id: resourceId, name: resourceName, ...others }: FreeResource) =>
  toFree({ resourceId, resourceName, ...others });

export const freeExample = {
  Items: [
    {
      ResourceId: 2,
      ResourceName: 'HS 101',
      LocationId: 1,
      LocationName: 'Campus Zürich',
      TimeZone: 'Europe/Zurich',
      Kind: 'LectureHall',
      Capacity: 120,
      Equipment: ['Beamer', 'Mikrofonanlage', 'Wandtafel'],
      FreeUntil: '2027-03-01T09:00:00.000Z',
    },
  ],
  NextCursor: null,
};

const mostMinutes = 24 * 60;

/** Which resources must be free, from when on and for how long. */
export const freeQuery = z.strictObject({
  From: parameters.instant('From when on; now when left out.').optional(),
  Minutes: parameters
    .whole(1, mostMinutes)
    .optional()
    .meta({ description: 'For how many minutes at least; 30 when left out.' }),
  SetupMinutes: parameters
    .whole(0, mostMinutes)
    .optional()
    .meta({ description: 'Minutes before them that must be free as well; none when left out.' }),
  TeardownMinutes: parameters
    .whole(0, mostMinutes)
    .optional()
    .meta({ description: 'Minutes after them that must be free as well; none when left out.' }),
  LocationId: parameters.id('location', 'Only those of this location.').optional(),
  ...parameters.resourceFilter,
  Limit: parameters
    .whole(1, mostPerPage)
    .optional()
    .meta({ description: `Most resources; ${defaultLimit} when left out.` }),
});

/** With what counts when a member is left out. */
export const toFreeQuery = <Query extends object>(query: Query) => ({
  minutes: 30,
  setupMinutes: 0,
  teardownMinutes: 0,
  limit: defaultLimit,
  ...query,
});
