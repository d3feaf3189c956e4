import { z } from 'zod';
import { paging, waitSeconds } from '../query-parameters.ts';
import { forDisplays, type Route, route } from '../rest/route.ts';
import * as examples from './examples.ts';
import { readChangePage, waitForChanges } from './service.ts';
import { changePage, toChangePage } from './wire.ts';

export const routes: Route[] = [
  route({
    method: 'GET',
    path: '/v1.0/changes',
    summary: 'Read the feed of changes',
    description:
      'Changes of bookings, batches, resources, locations and displays, in the order in which they became visible; kept for 30 days by default. Without `Cursor` it begins with the oldest change that is kept. `Cursor=now` returns a cursor for the present end: a client then reads everything, and follows the feed from there. A client that continues with each `NextCursor` gets every change exactly once.',
    query: z.strictObject({
      ...paging,
      Cursor: paging.Cursor.meta({
        description: 'The `NextCursor` of the previous answer, or `now` for the present end.',
      }),
      WaitSeconds: waitSeconds('Answers as soon as something has changed, or after these seconds without changes.'),
    }),
    answers: {
      200: {
        description: 'The next changes; none at the present end.',
        body: changePage,
        example: examples.changes,
        headers: ['ETag'],
      },
    },
    problems: {
      403: forDisplays,
      409: 'Changes after the cursor are no longer kept, or were lost when the database was restored from a backup, or the cursor comes from an earlier release; begin anew with `Cursor=now`.',
    },
    handle: async (context, call) => {
      const { Limit, Cursor, WaitSeconds } = call.query;
      const page = await waitForChanges(context, call, readChangePage(Limit, Cursor), WaitSeconds);
      return { status: 200, body: toChangePage(page) };
    },
  }),
];
