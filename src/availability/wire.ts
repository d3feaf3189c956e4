/** Availability on the wire: REST in Pascal case, GraphQL in camel case. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { defaultLimit, mostPerPage } from '../db/paging.ts';
import { id, instant, recordOf, text } from '../fields.ts';
import { openSlices } from '../flow/slices.ts';
import { TextList } from '../http/large-json.ts';
import * as parameters from '../query-parameters.ts';
import { type FreeResource, mostDays, mostResources, type ResourceAvailability } from './service.ts';
import { openSpanRows, SpanText } from './span-text.ts';
import type { Spans } from './spans.ts';

/** As many as a window has minutes, since no booking is shorter. */
const mostSpans = mostDays * 24 * 60;

export const timeSpan = z
  .object({
    Start: instant('Its beginning.'),
    End: instant('The end, which is not included.'),
  })
  .meta({ id: 'TimeSpan', description: 'A continuous time.' });

const capacity = z
  .int()
  .min(0)
  .max(1_000_000)
  .nullable()
  .meta({ description: 'For how many persons; null if unknown.' });

export const resourceAvailability = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    LocationId: id('location', 'The location of the resource.'),
    TimeZone: text(64, 'The IANA time zone of the location.'),
    Capacity: capacity,
    Free: z.array(timeSpan).max(mostSpans).meta({
      description:
        'When it is open and not booked, for at least `DurationMinutes`. Without known opening hours it is always open.',
    }),
    Busy: z.array(timeSpan).max(mostSpans).meta({
      description: 'When bookings occupy it, setup and teardown included; adjacent times are joined.',
    }),
  })
  .meta({ id: 'ResourceAvailability', description: 'When a resource can be booked.' });

const spanMembers = Object.keys(timeSpan.shape).map((name) => ({ name, of: name }));

/** A hash of the records, for the ETag. It is computed from the spans, which have a quarter of the length of the text. */
export async function versionOf(found: readonly ResourceAvailability[]): Promise<string> {
  const sum = createHash('sha1');
  const pause = openSlices();
  let heads = '';
  for (const { free, busy, ...resource } of found) {
    heads += JSON.stringify([resource, free.length, busy.length]);
    sum.update(free).update(busy);
    const paused = pause();
    if (paused !== undefined) await paused;
  }
  return sum.update(heads).digest('base64url');
}

/**
 * The records of contract 5.2.
 * @param memory that of the spans, if nobody else reads them: it is returned once the answer was sent
 */
export function toAvailabilityRecords(
  window: { from: Date; to: Date },
  found: readonly ResourceAvailability[],
  memory?: { giveBack(): void },
) {
  const rows = openSpanRows(window);
  const giveBack = () => memory?.giveBack();
  const listOf = (spans: Spans) => new TextList(spanMembers, new SpanText(spans, rows, giveBack));
  return found.map(({ free, busy, ...resource }) => ({
    ResourceId: resource.resourceId,
    ResourceName: resource.resourceName,
    LocationId: resource.locationId,
    TimeZone: resource.timeZone,
    Capacity: resource.capacity,
    Free: listOf(free),
    Busy: listOf(busy),
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

export const availabilityQuery = z.strictObject({
  From: parameters.instant('The beginning of the window.').meta({ example: '2027-03-01T00:00:00Z' }),
  To: parameters
    .instant(`The end of the window, at most ${mostDays} days later.`)
    .meta({ example: '2027-03-08T00:00:00Z' }),
  LocationId: parameters.id('location', 'Only resources of this location.').optional(),
  ResourceIds: parameters.ids('resource', mostResources, 'Only these; each must be a resource of the tenant.'),
  ...parameters.resourceFilter,
  DurationMinutes: parameters
    .whole(1, mostDays * 24 * 60)
    .optional()
    .meta({ description: 'Leaves shorter times out of `Free`.' }),
});

export const freeResource = z
  .object({
    ResourceId: id('resource', 'The id of the resource.'),
    ResourceName: text(200, 'Its name.'),
    LocationId: id('location', 'The location of the resource.'),
    LocationName: text(200, 'The name of the location.'),
    TimeZone: text(64, 'The IANA time zone of the location.'),
    Kind: text(50, 'The kind: Room, Hall, Laboratory, …'),
    Capacity: capacity,
    Equipment: z.array(z.string().max(100)).max(100).meta({ description: 'The equipment.' }),
    FreeUntil: instant(
      'The latest end of a booking that begins at once: the next booking or closing, and at most a day ahead.',
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

export const freeQuery = z.strictObject({
  From: parameters.instant('The start; now if left out.').optional(),
  Minutes: parameters
    .whole(1, mostMinutes)
    .optional()
    .meta({ description: 'The least number of free minutes; 30 if left out.' }),
  SetupMinutes: parameters
    .whole(0, mostMinutes)
    .optional()
    .meta({ description: 'Minutes before the start that must be free too; 0 if left out.' }),
  TeardownMinutes: parameters
    .whole(0, mostMinutes)
    .optional()
    .meta({ description: 'Minutes after the end that must be free too; 0 if left out.' }),
  LocationId: parameters.id('location', 'Only resources of this location.').optional(),
  ...parameters.resourceFilter,
  Limit: parameters
    .whole(1, mostPerPage)
    .optional()
    .meta({ description: `The most resources in the answer; ${defaultLimit} if left out.` }),
});

export const toFreeQuery = <Query extends object>(query: Query) => ({
  minutes: 30,
  setupMinutes: 0,
  teardownMinutes: 0,
  limit: defaultLimit,
  ...query,
});
