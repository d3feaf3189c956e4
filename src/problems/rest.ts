import { z } from 'zod';
import { toFields } from '../fields.ts';
import { id } from '../query-parameters.ts';
import { listOf, listRoute, pageAnswer } from '../rest/lists.ts';
import { type Route, route } from '../rest/route.ts';
import { readIfMatch, recordAnswer } from '../rest/versions.ts';
import * as problems from './service.ts';
import * as wire from './wire.ts';

const path = '/v1.0/room-problems';
const params = z.object({ id: id('roomProblem', 'The id of the problem.') });
const forAdmins = { 403: 'Only an Admin may see and settle problems of rooms.' };

const answered = (description: string, example: object) => ({
  200: { description, body: wire.problemRecord, example, headers: ['ETag' as const] },
});

export const routes: Route[] = [
  listRoute({
    path,
    summary: 'List problems of rooms',
    description:
      'Problems that were reported at door signs, the latest first; settled ones are kept for `Limits.ProblemDays`. For Admins.',
    filter: wire.problemFilter,
    page: pageAnswer('One page of problems.', listOf(wire.problemRecord, 'RoomProblemList'), wire.example),
    problems: forAdmins,
    of: problems.problemList,
    run: problems.listProblems,
    toRecord: wire.toProblemRecord,
  }),
  route({
    method: 'POST',
    path,
    summary: 'Report a problem of a room',
    description: `For a display, about a room that it shows. Repeated with the same \`Key\`, however late, the report is stored once. A display may have at most ${problems.mostOpen} open problems; further ones are answered 429.`,
    body: { schema: wire.newProblem, example: wire.newExample },
    answers: {
      201: {
        description: 'The problem.',
        body: wire.problemRecord,
        example: wire.example,
        headers: ['Location', 'ETag'],
      },
    },
    problems: { 403: 'Only a paired display may report problems.' },
    handle: async (context, { viewer, body }) => {
      const made = await problems.reportProblem(context, viewer, toFields(body));
      const location = `${context.config.BaseUrl}/${viewer.mandator}/api${path}/${made.id}`;
      return recordAnswer(wire.toProblemRecord(made), { status: 201, location });
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Read a problem of a room',
    params,
    answers: answered('The problem.', wire.example),
    problems: forAdmins,
    handle: async ({ db }, { viewer, params: named }) =>
      recordAnswer(wire.toProblemRecord(await problems.getProblem(db, viewer, named.id))),
  }),
  route({
    method: 'PATCH',
    path: `${path}/:id`,
    summary: 'Settle a problem of a room',
    description: '`Done` settles it, `Open` reopens it; only in the version of `If-Match`.',
    headers: ['If-Match'],
    params,
    body: { schema: wire.problemChanges, example: { State: 'Done' } },
    answers: answered('The problem as it is now.', wire.settled),
    problems: forAdmins,
    handle: async ({ db }, call) => {
      const versions = readIfMatch(call.headers);
      const changed = await problems.changeProblem(db, call, call.params.id, versions, toFields(call.body));
      return recordAnswer(wire.toProblemRecord(changed));
    },
  }),
];
