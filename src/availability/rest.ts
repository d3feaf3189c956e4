import { z } from 'zod';
import { toFields } from '../fields.ts';
import { listOf } from '../rest/lists.ts';
import { id, instant, resourceFilter, whole } from '../rest/parameters.ts';
import { route } from '../rest/route.ts';
import { listAvailability, mostDays, mostResources } from './service.ts';
import { example, resourceAvailability, toAvailabilityRecords } from './wire.ts';

const resourceIds = z
  .preprocess(
    (sent) => [sent].flat().flatMap((text) => String(text).split(',')),
    z.array(id('The id of a resource.')).max(mostResources),
  )
  .transform((ids) => [...new Set(ids)])
  .optional()
  .meta({
    type: 'array',
    items: { type: 'integer', format: 'int32', minimum: 1, maximum: 2 ** 31 - 1 },
    maxItems: mostResources,
    description: 'Only these, separated by commas or sent several times; each must be a resource of the tenant.',
  });

export const routes = [
  route({
    method: 'GET',
    path: '/v1.0/availability',
    summary: 'Read when resources can be booked',
    description: `The active resources by their ids, each with when it is free and when it is booked between \`From\` and \`To\`; all of them on one page. At most ${mostResources} resources and ${mostDays} days: past them 400.`,
    query: z.strictObject({
      From: instant('The beginning of the time asked for.').meta({ example: '2027-03-01T00:00:00Z' }),
      To: instant(`Its end, at most ${mostDays} days later.`).meta({ example: '2027-03-08T00:00:00Z' }),
      LocationId: id('Only those of this location.').optional(),
      ResourceIds: resourceIds,
      ...resourceFilter,
      DurationMinutes: whole(1, mostDays * 24 * 60)
        .optional()
        .meta({ description: 'Leaves out of `Free` what is shorter.' }),
    }),
    answers: {
      200: {
        description: 'The resources.',
        body: listOf(resourceAvailability, 'ResourceAvailabilityList', mostResources),
        example,
        headers: ['ETag'],
      },
    },
    problems: { 403: 'A display reads the status of its own resources only.' },
    handle: async ({ db }, { viewer, query }) => {
      const found = await listAvailability(db, viewer, toFields(query));
      return { status: 200, body: { Items: toAvailabilityRecords(found), NextCursor: null } };
    },
  }),
];
