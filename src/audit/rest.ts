import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
import { actList, listActs } from './service.ts';
import { act, actFilter, example, toAct } from './wire.ts';

export const routes = [
  listRoute({
    path: '/v1.0/audit',
    summary: 'List acts of Admins',
    description:
      'Who has changed what of the master data, PINs and displays of the tenant, the latest first: each act with the members that it changed, and their old and new values. It holds no secrets. For Admins.',
    filter: actFilter,
    page: pageAnswer('One page of acts.', listOf(act, 'ActList'), example),
    problems: { 403: 'Only an Admin reads it.' },
    of: actList,
    run: listActs,
    toRecord: toAct,
  }),
];
