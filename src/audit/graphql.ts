import { lowerFirst } from '../fields.ts';
import type { AddTypes } from '../graphql/builder.ts';
import { connectionType, filteredPage, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { globalId, readGlobalId } from '../graphql/ids.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { enumType, recordFields, recordType } from '../graphql/record.ts';
import { readId } from '../storable.ts';
import { actList, findAct, listActs, type RecordedAct } from './service.ts';
import * as wire from './wire.ts';

const nounOfSubject = (subject: NonNullable<RecordedAct['subject']>) =>
  lowerFirst(subject) as Uncapitalize<typeof subject>;

type Sent = Omit<Parameters<typeof listActs>[2], 'subjectId'> & { subjectId?: string };

/** A global id contains its noun. */
function readFilter({ subjectId, ...filter }: Sent): Parameters<typeof listActs>[2] {
  if (subjectId === undefined) return filter;
  const { noun, id } = readGlobalId(subjectId) ?? { id: subjectId };
  const subject = noun ? wire.auditSubject.options.find((one) => nounOfSubject(one) === noun) : filter.subject;
  const wrong = (noun && !subject) || (filter.subject && filter.subject !== subject);
  return { ...filter, ...(subject && { subject }), subjectId: wrong ? 0 : readId(id) };
}

export const addTypes: AddTypes = (builder) => {
  enumType(builder, wire.auditSubject);
  recordType(builder, 'MemberChange', wire.memberChange);
  const act = builder.objectRef<RecordedAct>('Act').implement({
    ...nodeOf('act', ({ context, viewer }, id) => findAct(context.db, viewer, id)),
    description: wire.act.description ?? '',
    fields: (t) => ({
      ...recordFields(t, wire.act.omit({ SubjectId: true }), wire.toAct),
      subjectId: t.id({
        nullable: true,
        description: 'The id of the record that it was about; null if its kind is unknown.',
        resolve: ({ subject, subjectId }) => subject && globalId(nounOfSubject(subject), subjectId),
      }),
    }),
  });
  const filter = filterType(builder, 'ActFilter', 'Which acts', wire.actFilter.omit({ SubjectId: true }), (t) => ({
    subjectId: t.id({
      description: 'Only acts about the record with this id; if it is an id of REST, name the `subject` too.',
    }),
  }));
  builder.queryField('audit', (t) =>
    t.field({
      type: connectionType(builder, act, actList),
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description: 'The acts of Admins, the latest first; for Admins.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        listActs(context.db, viewer, readFilter(given(wanted)), pageOf(actList, page)),
    }),
  );
};
