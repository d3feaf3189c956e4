import { toFields } from '../fields.ts';
import { isLargeFor } from '../flow/large-answers.ts';
import { LargeJson } from '../http/large-json.ts';
import { listOf, pageAnswer } from '../rest/lists.ts';
import { forDisplays, route } from '../rest/route.ts';
import { listAvailability, listFree, mostDays, mostResources, openSlabs, roomDaysOf, SpanWriter } from './service.ts';
import * as wire from './wire.ts';

export const routes = [
  route({
    method: 'GET',
    path: '/v1.0/availability',
    isLarge: ({ From, To, ResourceIds }) => isLargeFor(roomDaysOf({ from: From, to: To, resourceIds: ResourceIds })),
    summary: 'Read when resources can be booked',
    description: `The active resources by id, each with its free and booked times between \`From\` and \`To\`, all on one page. Separate several \`ResourceIds\` by commas, or repeat the parameter; repeat \`Equipment\`. At most ${mostResources} resources and ${mostDays} days of the years 1900 to 2999, otherwise 400.`,
    query: wire.availabilityQuery,
    answers: {
      200: pageAnswer(
        'The resources.',
        listOf(wire.resourceAvailability, 'ResourceAvailabilityList', mostResources),
        wire.example,
      ),
    },
    problems: { 403: forDisplays },
    handle: async ({ db, once }, { viewer, query }) => {
      const wanted = toFields(query);
      const writer = new SpanWriter(once(openSlabs));
      const found = await listAvailability(db, viewer, wanted, writer);
      const answer = { Items: wire.toAvailabilityRecords(wanted, found), NextCursor: null };
      const body = new LargeJson(answer, () => writer.giveBack());
      return { status: 200, headers: { ETag: `"${await wire.versionOf(found)}"` }, body };
    },
  }),
  route({
    method: 'GET',
    path: '/v1.0/availability/free',
    summary: 'Find resources that are free now',
    description:
      'The active resources that are open and not booked from now or another instant on, for at least the given minutes, and that the caller can book then, quotas aside; none for a time at which the caller cannot book at all. The best fit comes first: the smallest capacity, and unknown capacities last. Repeat `Equipment` for several values.',
    query: wire.freeQuery,
    answers: {
      200: pageAnswer(
        'The resources, each with the end of its free time.',
        listOf(wire.freeResource, 'FreeResourceList'),
        wire.freeExample,
      ),
    },
    problems: { 403: forDisplays },
    handle: async ({ db }, { viewer, query }) => {
      const found = await listFree(db, viewer, wire.toFreeQuery(toFields(query)));
      return { status: 200, body: { Items: found.map(wire.toFreeRecord), NextCursor: null } };
    },
  }),
];
