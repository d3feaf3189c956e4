import type { AddTypes } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { enumType, recordType } from '../graphql/record.ts';
import { actList, listActs, type RecordedAct } from './service.ts';
import * as wire from './wire.ts';

export const addTypes: AddTypes = (builder) => {
  enumType(builder, wire.auditSubject);
  recordType(builder, 'MemberChange', wire.memberChange);
  const act = recordType<RecordedAct>(builder, 'Act', wire.act, wire.toAct);
  const filter = filterType(
    builder,
    'ActFilter',
    'Which acts; members that are left out do not count.',
    wire.actFilter,
  );
  builder.queryField('audit', (t) =>
    t.field({
      type: connectionType(builder, act, actList),
      args: { filter: t.arg({ type: filter, description: 'Which ones.' }), ...pageArguments(t.arg) },
      complexity: pageCost,
      description: 'What Admins have done, the latest first; for Admins.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        listActs(context.db, viewer, given(wanted), pageOf(actList, page)),
    }),
  );
};
