import { z } from 'zod';
import type { Context } from '../context.ts';
import { id } from '../query-parameters.ts';
import { type Route, route } from '../rest/route.ts';
import { deviceRoutes, path } from './device-rest.ts';
import * as displays from './service.ts';
import * as wire from './wire.ts';

export { pairingRoutes, pairingsPath } from './device-rest.ts';

const longestPoll = 300;
const shortestPoll = 10;

const polledSnapshot = z
  .object({
    ...wire.displaySnapshot.shape,
    NextPollSeconds: z.int().min(shortestPoll).max(longestPoll).meta({
      description: 'Seconds until the next call: soon after `NextChangeAt`, and at most 5 minutes.',
    }),
  })
  .meta({ id: 'PolledSnapshot', description: 'Everything that a sign shows of its room, for signs that poll.' });

function secondsToPoll({ serverTime, nextChangeAt }: displays.RoomSnapshot): number {
  const wait = Math.ceil(((nextChangeAt ?? Number.POSITIVE_INFINITY) - serverTime) / 1_000);
  return Math.min(longestPoll, Math.max(shortestPoll, wait));
}

export const routes: Route[] = [
  ...deviceRoutes,
  route({
    method: 'GET',
    path: `${path}/:resourceId/snapshot`,
    summary: 'Read what a sign shows',
    description:
      'A room in its present state, with its plan for today and two more days, for electronic paper and other signs that poll; the GraphQL subscription `display` streams the same. A display reads its own rooms, within its level of privacy. The ETag is the `Cursor`: with `If-None-Match` the answer is 304 as long as the room looks the same, whatever `ServerTime` is. `Retry-After` has the seconds until the next call, on a 304 as well.',
    params: z.object({ resourceId: id('resource', 'The Id of the room.') }),
    answers: {
      200: {
        description: 'The snapshot.',
        body: polledSnapshot,
        example: wire.examples.snapshot,
        headers: ['ETag', 'Retry-After'],
      },
    },
    handle: async (context, { viewer, params }) => {
      const snapshot = await displays.readSnapshot(context, viewer, params.resourceId);
      const nextPoll = secondsToPoll(snapshot);
      displays.hear(context, viewer, { dueInSeconds: nextPoll });
      return {
        status: 200,
        headers: { ETag: `"${snapshot.cursor}"`, 'Retry-After': String(nextPoll) },
        body: { ...wire.toSnapshotRecord(snapshot), NextPollSeconds: nextPoll },
      };
    },
  }),
];

/** For /metrics. */
export const figures = (context: Context) => ({
  roomgate_display_rooms_watched: {
    help: 'Rooms that door signs and boards watch through this process',
    read: () => displays.figuresOf(context).watched,
  },
  roomgate_display_reads_total: {
    help: 'Statements that have read plans of rooms for displays since the process started',
    read: () => displays.figuresOf(context).statements,
  },
  roomgate_display_rooms_read_total: {
    help: 'Rooms that those statements were to read',
    read: () => displays.figuresOf(context).roomsRead,
  },
});
