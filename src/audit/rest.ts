import { z } from 'zod';
import { readPage } from '../db/paging.ts';
import { toFields } from '../fields.ts';
import { paging } from '../query-parameters.ts';
import { listAnswer, listOf, pageAnswer } from '../rest/lists.ts';
import { route } from '../rest/route.ts';
import { actList, listActs } from './service.ts';
import { act, actFilter, example, toAct } from './wire.ts';

export const routes = [
  route({
    method: 'GET',
    path: '/v1.0/audit',
    summary: 'List acts of Admins',
    description:
      'Who has changed what of the master data, PINs and displays of the tenant, the latest first: each act with the members that it changed, and their old and new values. It holds no secrets. For Admins.',
    query: z.strictObject({ ...actFilter.shape, ...paging }),
    answers: {
      200: pageAnswer('One page of acts.', listOf(act, 'ActList'), example),
    },
    problems: { 403: 'Only an Admin reads it.' },
    handle: async ({ db }, { viewer, query }) => {
      const { Limit, Cursor, ...filter } = query;
      return listAnswer(await listActs(db, viewer, toFields(filter), readPage(actList, Limit, Cursor)), toAct);
    },
  }),
];
