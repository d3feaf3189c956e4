import { z } from 'zod';
import { paging, waitSeconds } from '../query-parameters.ts';
import { type Route, route } from '../rest/route.ts';
import * as examples from './examples.ts';
import { readChangePage, waitForChanges } from './service.ts';
import { changePage, toChangePage } from './wire.ts';

export const routes: Route[] = [
  route({
    method: 'GET',
    path: '/v1.0/changes',
    summary: 'Follow the changes',
    description:
      'What has changed of bookings, batches, resources, locations and displays, in the order in which it came to be seen; kept for 30 days, unless the operator says otherwise. Without `Cursor` it begins with the oldest that is kept; `Cursor=now` gives the present end, for whoever then reads everything and follows from there. Nothing is missed and nothing told twice to who goes on with each `NextCursor`.',
    query: z.strictObject({
      ...paging,
      Cursor: paging.Cursor.meta({
        description: 'The `NextCursor` of the answer before, or `now` for the present end.',
      }),
      WaitSeconds: waitSeconds('Answer as soon as something has changed, or after these seconds with nothing.'),
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
      403: 'A display reads the status of its own resources only.',
      409: 'Changes behind the cursor are no longer kept, or were lost when the database was restored from a backup, or the cursor is of an earlier release; begin anew with `Cursor=now`.',
    },
    handle: async (context, call) => {
      const { Limit, Cursor, WaitSeconds } = call.query;
      const page = await waitForChanges(context, call, readChangePage(Limit, Cursor), WaitSeconds);
      return { status: 200, body: toChangePage(page) };
    },
  }),
];
