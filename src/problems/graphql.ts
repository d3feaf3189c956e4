import { Forbidden, InvalidInput, LimitExceeded, NotFound, PreconditionFailed } from '../errors.ts';
import { bodyType } from '../graphql/body.ts';
import type { AddTypes } from '../graphql/builder.ts';
import { connectionType, filteredPage, listFrameCost, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { enumType, recordType } from '../graphql/record.ts';
import { resolveFrame } from '../graphql/streams.ts';
import * as problems from './service.ts';
import * as wire from './wire.ts';

export const addTypes: AddTypes = (builder) => {
  enumType(builder, wire.problemKind);
  enumType(builder, wire.problemState);
  const problem = recordType(
    builder,
    'RoomProblem',
    wire.problemRecord,
    wire.toProblemRecord,
    nodeOf('roomProblem', ({ context, viewer }, id) => problems.findProblem(context.db, viewer, id)),
  );
  const filter = filterType(builder, 'RoomProblemFilter', 'Which problems', wire.problemFilter);
  builder.queryField('roomProblems', (t) =>
    t.field({
      type: connectionType(builder, problem, problems.problemList),
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description: 'Reported problems of rooms, the latest first; for Admins.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        problems.listProblems(context.db, viewer, given(wanted), pageOf(problems.problemList, page)),
    }),
  );
  builder.subscriptionField('roomProblems', (t) =>
    t.field({
      type: [problem],
      complexity: listFrameCost,
      description:
        'First all open problems of rooms, in parts of 200; then each problem that is reported, settled or reopened, in its present state. All open ones again after a lost connection. For Admins.',
      subscribe: (_root, _args, call) =>
        call.streams.open(call, [problems.problemTopic(call.viewer)], (changes, signal) =>
          problems.watchProblems(call.context.db, call.viewer, changes, signal),
        ),
      resolve: resolveFrame,
    }),
  );
  const union = (verb: string) => ({
    name: `${verb}RoomProblemResult`,
    description: 'The problem, or why the request was refused.',
  });
  builder.mutationFields((t) => ({
    reportRoomProblem: t.field({
      type: problem,
      errors: { types: [Forbidden, InvalidInput, LimitExceeded], union: union('Report') },
      args: {
        input: t.arg({
          type: bodyType(builder, 'ReportRoomProblemInput', wire.newProblem),
          required: true,
          description: 'The problem.',
        }),
      },
      description: 'Reports a problem of a room; for a display, of a room that it shows.',
      resolve: (_root, { input }, { context, viewer }) => problems.reportProblem(context, viewer, input),
    }),
    changeRoomProblem: t.field({
      type: problem,
      errors: { types: [Forbidden, InvalidInput, NotFound, PreconditionFailed], union: union('Change') },
      args: {
        id: idArgument(t.arg, 'roomProblem', { required: true, description: 'The id of the problem.' }),
        version: t.arg.int({ required: true, description: 'The version that was read.' }),
        input: t.arg({
          type: bodyType(builder, 'ChangeRoomProblemInput', wire.problemChanges),
          required: true,
          description: 'The changes.',
        }),
      },
      description: 'Settles or reopens a problem of a room; for Admins.',
      resolve: (_root, { id, version, input }, call) =>
        problems.changeProblem(call.context.db, call, id, [version], input),
    }),
  }));
};
