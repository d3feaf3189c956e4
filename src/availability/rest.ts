import { toFields } from '../fields.ts';
import { LargeJson } from '../http/large-json.ts';
import { listOf, pageAnswer } from '../rest/lists.ts';
import { route } from '../rest/route.ts';
import { listAvailability, listFree, mostDays, mostResources, openSlabs, SpanWriter } from './service.ts';
import * as wire from './wire.ts';

export const routes = [
  route({
    method: 'GET',
    path: '/v1.0/availability',
    summary: 'Read when resources can be booked',
    description: `The active resources by their ids, each with when it is free and when it is booked between \`From\` and \`To\`; all of them on one page. Several \`ResourceIds\` are separated by commas or sent one by one, several \`Equipment\` are sent one by one. At most ${mostResources} resources and ${mostDays} days: past them 400.`,
    query: wire.availabilityQuery,
    answers: {
      200: pageAnswer(
        'The resources.',
        listOf(wire.resourceAvailability, 'ResourceAvailabilityList', mostResources),
        wire.example,
      ),
    },
    problems: { 403: 'A display reads the status of its own resources only.' },
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
      'The active resources that are open and not booked from now on, or from another instant, for at least so many minutes; the nearest fit first: the smallest capacity, and last what nobody has counted. Several `Equipment` are sent one by one.',
    query: wire.freeQuery,
    answers: {
      200: pageAnswer(
        'The resources, each with until when.',
        listOf(wire.freeResource, 'FreeResourceList'),
        wire.freeExample,
      ),
    },
    problems: { 403: 'A display reads the status of its own resources only.' },
    handle: async ({ db }, { viewer, query }) => {
      const found = await listFree(db, viewer, wire.toFreeQuery(toFields(query)));
      return { status: 200, body: { Items: found.map(wire.toFreeRecord), NextCursor: null } };
    },
  }),
];
