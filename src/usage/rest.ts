import type { z } from 'zod';
import type { Context, Viewer } from '../context.ts';
import { toFields } from '../fields.ts';
import { listOf, pageAnswer } from '../rest/lists.ts';
import { type Route, route } from '../rest/route.ts';
import * as usage from './service.ts';
import * as wire from './wire.ts';

function usageRoute<Found>(list: {
  path: string;
  summary: string;
  description: string;
  id: string;
  most: number;
  record: z.core.$ZodType;
  example: object;
  run(db: Context['db'], viewer: Viewer, of: usage.UsageOf): Promise<Found[]>;
  toRecord(found: Found): object;
}): Route {
  return route({
    method: 'GET',
    path: `/v1.0/usage/${list.path}`,
    summary: list.summary,
    description: `${list.description} Counted in the local dates and hours of each location, relative to its present opening hours; for the future, present bookings count. All on one page, for at most ${usage.mostResources} resources, otherwise 400. For Admins.`,
    query: wire.usageQuery,
    answers: {
      200: pageAnswer('The figures.', listOf(list.record, list.id, list.most), list.example),
    },
    problems: { 403: 'Only an Admin may read usage figures.' },
    handle: async ({ db }, { viewer, query }) => {
      const found = await list.run(db, viewer, await usage.findUsageOf(db, viewer, toFields(query)));
      return { status: 200, body: { Items: found.map(list.toRecord), NextCursor: null } };
    },
  });
}

/** The weeks of as many locations as there may be resources. */
const mostWeeks = usage.mostResources * 54;

export const routes = [
  usageRoute({
    path: 'resources',
    summary: 'Read how much each resource is used',
    description: 'Occupied minutes, no-shows and early releases of each resource, by id.',
    id: 'ResourceUseList',
    most: usage.mostResources,
    record: wire.resourceUse,
    example: wire.examples.resource,
    run: usage.listResourceUse,
    toRecord: wire.toResourceUse,
  }),
  usageRoute({
    path: 'hours',
    summary: 'Read in which hours of the week the resources are used',
    description: 'The same for all these resources together, by weekday and hour: always 168 items, from Monday on.',
    id: 'HourUseList',
    most: 7 * 24,
    record: wire.hourUse,
    example: wire.examples.hour,
    run: usage.listHourUse,
    toRecord: wire.toHourUse,
  }),
  usageRoute({
    path: 'weeks',
    summary: 'Read how much each location is used in each week',
    description:
      'The same for all these resources of each location, by week; the first and the last week may be incomplete.',
    id: 'WeekUseList',
    most: mostWeeks,
    record: wire.weekUse,
    example: wire.examples.week,
    run: usage.listWeekUse,
    toRecord: wire.toWeekUse,
  }),
];
