import { toFields } from '../fields.ts';
import { listOf } from '../rest/lists.ts';

import { route } from '../rest/route.ts';
import { listAvailability, mostDays, mostResources } from './service.ts';
import { availabilityQuery, example, resourceAvailability, toAvailabilityRecords } from './wire.ts';

export const routes = [
  route({
    method: 'GET',
    path: '/v1.0/availability',
    summary: 'Read when resources can be booked',
    description: `The active resources by their ids, each with when it is free and when it is booked between \`From\` and \`To\`; all of them on one page. Several \`ResourceIds\` are separated by commas or sent one by one, several \`Equipment\` are sent one by one. At most ${mostResources} resources and ${mostDays} days: past them 400.`,
    query: availabilityQuery,
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
