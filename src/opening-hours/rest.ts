import { z } from 'zod';
import type { Act, Context, Versions, Viewer } from '../context.ts';
import { isLargeFor } from '../flow/large-answers.ts';
import { LargeJson } from '../http/large-json.ts';
import { date, id } from '../query-parameters.ts';
import { type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer } from '../rest/versions.ts';
import { readId } from '../storable.ts';
import * as hours from './service.ts';
import * as wire from './wire.ts';

const path = '/v1.0/opening-hours';

const rule = { Weekdays: [1, 2, 3, 4, 5], Opens: '09:00', Closes: '18:00', ValidFrom: null, ValidTo: null };
const exception = {
  FromDate: '2026-12-24',
  ToDate: '2027-01-03',
  Closed: true,
  Periods: [],
  Reason: 'Ferien',
};
const own = { Id: 12, LocationId: 1, ResourceId: 5 };
const example = {
  LocationId: 1,
  LocationName: 'Campus Zürich',
  TimeZone: 'Europe/Zurich',
  TimeZoneSource: 'Location',
  From: '2026-03-28',
  To: '2026-03-28',
  Resources: [
    {
      ResourceId: 5,
      ResourceName: 'HS 101',
      Weekly: [{ ...own, ...rule, Weekdays: [1, 2, 3, 4, 5, 6] }],
      Exceptions: [],
      Intervals: [
        {
          LocalDate: '2026-03-28',
          Opens: '09:00',
          Closes: '18:00',
          Start: '2026-03-28T08:00:00Z',
          End: '2026-03-28T17:00:00Z',
          Source: 'Weekly',
          ClockChange: false,
        },
      ],
    },
  ],
};

/** Whose lists the routes are about, by its place in the path. */
type Place = {
  noun: 'resource' | 'location';
  path: string;
  params: z.ZodObject<{ id: z.core.$ZodType<number> }>;
  ownerOf(id: number): hours.HoursOwner;
};
const ofResource: Place = {
  noun: 'resource',
  path: `${path}/:id`,
  params: z.object({ id: id('resource', 'The id of the resource.') }),
  ownerOf: (resourceId) => ({ resourceId }),
};
const ofLocation: Place = {
  noun: 'location',
  path: `${path}/locations/:id`,
  params: z.object({ id: id('location', 'The id of the location.') }),
  ownerOf: (locationId) => ({ locationId }),
};

const replaces =
  'The list replaces the stored one; the list of a GET may be sent back with changes. `If-Match` names the version that was read.';

/** The routes by which an Admin reads and replaces one of the two lists of a resource or a location. */
function ownRoutes<Item, Body extends z.core.$ZodType>(
  { noun: of, path, params, ownerOf }: Place,
  list: {
    noun: 'rule' | 'exception';
    description: string;
    example: object;
    record: z.core.$ZodType;
    toRecord(own: hours.OwnHours<Item>): { Version: number };
    body: Body;
    get(db: Db, viewer: Viewer, owner: hours.HoursOwner): Promise<hours.OwnHours<Item>>;
    replace(
      db: Db,
      act: Act,
      owner: hours.HoursOwner,
      versions: Versions,
      body: z.output<Body>,
    ): Promise<hours.OwnHours<Item>>;
  },
): Route[] {
  const { noun, description, example, record, toRecord, body, get, replace } = list;
  const itself = of === 'resource' ? own : { ...own, ResourceId: null };
  const { Id: _, ...owner } = itself;
  const shared = {
    path: `${path}/${noun}s`,
    params,
    answers: {
      200: {
        description: `The ${noun}s of the ${of} itself.`,
        body: record,
        example: { ...owner, Version: 12, Items: [{ ...itself, ...example }] },
        headers: ['ETag' as const],
      },
    },
    problems: { 403: 'Only an Admin may read and change the own hours of a resource or a location.' },
  };
  return [
    route({
      method: 'GET',
      ...shared,
      summary: `Read the opening ${noun}s of a ${of}`,
      description,
      handle: async ({ db }, { viewer, params }) => recordAnswer(toRecord(await get(db, viewer, ownerOf(params.id)))),
    }),
    route({
      method: 'PUT',
      ...shared,
      summary: `Replace the opening ${noun}s of a ${of}`,
      description: replaces,
      headers: ['If-Match'],
      body: { schema: body, example: { Items: [example] } },
      handle: async ({ db }, call) =>
        recordAnswer(toRecord(await replace(db, call, ownerOf(call.params.id), readIfMatch(call.headers), call.body))),
    }),
  ];
}

type Db = Context['db'];

export const routes: Route[] = [
  route({
    method: 'GET',
    path: `${path}/all/:locationId`,
    isLarge: ({ From, To }) => isLargeFor(hours.usualRooms * hours.daysAsked({ from: From, to: To })),
    summary: 'Read the opening hours of a location',
    description:
      "When the resources of a location are open, in UTC. Opening hours are clock times without a zone: they are converted with the clocks of the caller's time zone, or of the location that `X-timezone-locationId` names. A display sees only the hours of its own rooms.",
    headers: ['X-timezone-locationId'],
    params: z.object({ locationId: id('location', 'The id of the location.') }),
    query: z.strictObject({
      From: date('The first local date; by default today, in the zone used.'),
      To: date(
        `The last local date, at most 366 days in all; by default six days after \`From\`. The days of all resources together are at most ${hours.mostRoomDays}, and their rules, exceptions, periods and intervals at most ${hours.mostEntries}.`,
      ),
    }),
    answers: { 200: { description: 'The opening hours.', body: wire.openingHours, example } },
    handle: async ({ db }, { viewer, params, query, headers }) => {
      const named = headers['x-timezone-locationid'];
      const found = await hours.listForLocation(db, hours.openAsker(viewer), params.locationId, {
        from: query.From,
        to: query.To,
        timezoneLocationId: named === undefined ? undefined : readId(String(named).trim()),
      });
      const body = new LargeJson(await wire.toOpeningHours(found));
      return { status: 200, headers: { ETag: `"${await wire.versionOf(found)}"` }, body };
    },
  }),
  ...[ofResource, ofLocation].flatMap((place) => [
    ...ownRoutes(place, {
      noun: 'rule',
      description:
        place.noun === 'resource'
          ? 'The weekly hours of the resource itself; without any, those of its location apply.'
          : 'The weekly hours of a location, which apply to resources without their own.',
      example: rule,
      record: wire.ownRules,
      toRecord: wire.toOwnRules,
      body: wire.rulesBody,
      get: hours.getRules,
      replace: (db, act, owner, versions, { Items }) =>
        hours.replaceRules(db, act, owner, versions, Items.map(hours.toNewRule)),
    }),
    ...ownRoutes(place, {
      noun: 'exception',
      description:
        place.noun === 'resource'
          ? 'The dates on which a resource has other hours; the exceptions of its location apply too.'
          : 'The dates on which the resources of a location have other hours.',
      example: exception,
      record: wire.ownExceptions,
      toRecord: wire.toOwnExceptions,
      body: wire.exceptionsBody,
      get: hours.getExceptions,
      replace: (db, act, owner, versions, { Items }) =>
        hours.replaceExceptions(db, act, owner, versions, Items.map(hours.toNewException)),
    }),
  ]),
];
