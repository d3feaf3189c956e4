import { z } from 'zod';
import { readId } from '../input.ts';
import { id } from '../rest/parameters.ts';
import { type DescribedAnswer, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer } from '../rest/versions.ts';
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

const localDate = (description: string) =>
  z.iso.date('must be a date such as 2026-03-28').optional().meta({ description });

const resource = z.object({ resourceId: id('The id of the resource.') });
const forAdmins = { 403: 'Only an Admin reads and changes the hours of a single resource.' };
const replaces =
  'The list replaces what the resource had; what a GET answered may be sent back with changes. `If-Match` names the version that the change is meant for.';

function ownAnswer(description: string, body: z.ZodType, item: object): Record<number, DescribedAnswer> {
  const record = { ResourceId: 5, Version: 12, Items: [{ ...own, ...item }] };
  return { 200: { description, body, example: record, headers: ['ETag'] } };
}
const rulesAnswer = ownAnswer('The rules of the resource itself.', wire.ownRules, rule);
const exceptionsAnswer = ownAnswer('The exceptions of the resource itself.', wire.ownExceptions, exception);

export const routes = [
  route({
    method: 'GET',
    path: `${path}/all/:locationId`,
    summary: 'Read the opening hours of a location',
    description:
      'When the resources of a location are open, in UTC. Opening hours are fixed clock times that belong to no zone: they are converted with the clocks of the person who asks, or of the location that `X-timezone-locationId` names. A display is told those of its own rooms.',
    headers: ['X-timezone-locationId'],
    params: z.object({ locationId: id('The id of the location.') }),
    query: z.strictObject({
      From: localDate('The first local date; today in the zone used when left out.'),
      To: localDate('The last local date, at most the 366th; six days after `From` when left out.'),
    }),
    answers: { 200: { description: 'The opening hours.', body: wire.openingHours, example } },
    handle: async ({ db }, { viewer, params, query, headers }) => {
      const named = headers['x-timezone-locationid'];
      const found = await hours.listForLocation(db, viewer, params.locationId, {
        from: query.From,
        to: query.To,
        timezoneLocationId: named === undefined ? undefined : readId(String(named).trim()),
      });
      return { status: 200, body: wire.toOpeningHours(found) };
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:resourceId/rules`,
    summary: 'Read the opening rules of a resource',
    description: 'The weekly hours that a resource has itself; without any, those of its location count.',
    params: resource,
    answers: rulesAnswer,
    problems: forAdmins,
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toOwnRules(await hours.getRules(db, viewer, params.resourceId))),
  }),
  route({
    method: 'PUT',
    path: `${path}/:resourceId/rules`,
    summary: 'Replace the opening rules of a resource',
    description: replaces,
    headers: ['If-Match'],
    params: resource,
    body: { schema: wire.rulesBody, example: { Items: [rule] } },
    answers: rulesAnswer,
    problems: forAdmins,
    handle: async ({ db }, { viewer, requestId, params, body, headers }) => {
      const rules = body.Items.map(hours.toNewRule);
      return recordAnswer(
        wire.toOwnRules(
          await hours.replaceRules(db, { viewer, requestId }, params.resourceId, readIfMatch(headers), rules),
        ),
      );
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:resourceId/exceptions`,
    summary: 'Read the opening exceptions of a resource',
    description: 'The dates on which a resource has other hours, besides those of its location.',
    params: resource,
    answers: exceptionsAnswer,
    problems: forAdmins,
    handle: async ({ db }, { viewer, params }) =>
      recordAnswer(wire.toOwnExceptions(await hours.getExceptions(db, viewer, params.resourceId))),
  }),
  route({
    method: 'PUT',
    path: `${path}/:resourceId/exceptions`,
    summary: 'Replace the opening exceptions of a resource',
    description: replaces,
    headers: ['If-Match'],
    params: resource,
    body: { schema: wire.exceptionsBody, example: { Items: [exception] } },
    answers: exceptionsAnswer,
    problems: forAdmins,
    handle: async ({ db }, { viewer, requestId, params, body, headers }) => {
      const exceptions = body.Items.map(hours.toNewException);
      return recordAnswer(
        wire.toOwnExceptions(
          await hours.replaceExceptions(db, { viewer, requestId }, params.resourceId, readIfMatch(headers), exceptions),
        ),
      );
    },
  }),
];
