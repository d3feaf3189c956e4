/** Batches over GraphQL; for sending them see import-graphql.ts, for the timetable timetable-graphql.ts. */
import type { EnumRef, ObjectRef } from '@pothos/core';
import { judgedBy } from '../graphql/body.ts';
import { type AddTypes, type Builder, type Types, typeNamed } from '../graphql/builder.ts';
import { connectionType, filteredPage, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { filterType } from '../graphql/filters.ts';
import { given } from '../graphql/given.ts';
import { idArgument, idFields } from '../graphql/ids.ts';
import { inNames, nameOf } from '../graphql/names.ts';
import { nodeOf } from '../graphql/nodes.ts';
import { describe, enumType, recordFields, recordType } from '../graphql/record.ts';
import { resolveFrame } from '../graphql/streams.ts';
import { addImports } from './import-graphql.ts';
import * as lessons from './service.ts';
import { addTimetable } from './timetable-graphql.ts';
import * as wire from './wire.ts';

/** The source of a Batch is the service's record; its errors are read only when a query selects them. */
function addBatch(builder: Builder, conflictRule: EnumRef<Types, lessons.ConflictRule>) {
  recordType(builder, 'OmittedErrors', wire.omittedErrors);
  enumType(builder, wire.differenceKind);
  recordType(builder, 'LessonPlace', wire.differences.lessonPlace);
  recordType(builder, 'LessonDifference', wire.differences.lessonDifference, (row: { Fields: string[] }) => ({
    ...row,
    Fields: row.Fields.map(nameOf),
  }));
  const difference = recordType(builder, 'BatchDifference', wire.differences.batchDifference, wire.toDifference);
  const lessonError = recordType(builder, 'LessonError', wire.lessonError, (error: lessons.LessonError) => {
    const { Field, Pointer, ...others } = wire.toErrorEntry(error);
    return {
      ...others,
      Field: Field && nameOf(Field),
      Pointer: Pointer && `/${error.line === null ? 'jobs' : 'input'}${inNames(Pointer)}`,
    };
  });
  const lessonErrors = connectionType(builder, lessonError, lessons.errorList);
  const record = wire.batchRecord.omit({ BatchId: true, Errors: true, Difference: true });
  return builder.objectRef<lessons.Batch>('Batch').implement({
    ...nodeOf('batch', ({ context, viewer }, id) => lessons.findBatch(context.db, viewer, id)),
    description: 'One import request: all of its jobs, or nothing.',
    fields: (t) => ({
      ...idFields(t, 'batch', ({ id }) => id, 'The BatchId.'),
      ...recordFields(t, record, (row) => wire.toBatchRecord(row, [])),
      onConflict: t.field({
        type: conflictRule,
        description: 'What happens to lessons whose room is occupied.',
        resolve: (row) => row.onConflict,
      }),
      progress: t.float({
        nullable: true,
        description: '0 to 1; null while the number of lessons is not known.',
        resolve: ({ lessonCount, processedCount }) =>
          lessonCount === null ? null : lessonCount === 0 ? 1 : processedCount / lessonCount,
      }),
      difference: t.field({
        type: difference,
        nullable: true,
        complexity: { field: 1, multiplier: 20 },
        description: 'What a dry run without errors would change; null for any other batch.',
        resolve: ({ id, validateOnly }, _args, { context, viewer: { mandatorId } }) =>
          validateOnly ? lessons.readDifference(context.db, { mandatorId, id }) : null,
      }),
      errors: t.field({
        type: lessonErrors,
        args: pageArguments(t.arg),
        complexity: pageCost,
        description: 'Errors and warnings, in the order of what was sent.',
        resolve: (row, args, { context, viewer }) =>
          lessons.listErrors(context.db, viewer, row.id, pageOf(lessons.errorList, args)),
      }),
    }),
  });
}

type BatchType = ObjectRef<Types, lessons.Batch>;
type StatusType = ReturnType<typeof enumType<lessons.Batch['importStatus']>>;

function addQueries(builder: Builder, batch: BatchType): void {
  const filter = filterType(builder, 'BatchFilter', 'Which batches', wire.batchFilter);
  builder.objectField(typeNamed<{ kind: string; id: string }>('Change'), 'batch', (t) =>
    t.field({
      type: batch,
      nullable: true,
      complexity: 10,
      description: 'For a change of a batch: its present state; null once it is deleted.',
      resolve: ({ kind, id }, _args, { context, viewer }) =>
        kind === 'Batch' ? lessons.findBatch(context.db, viewer, id) : null,
    }),
  );
  const batches = connectionType(builder, batch, lessons.batchList);
  builder.queryFields((t) => ({
    batch: t.field({
      type: batch,
      nullable: true,
      args: { id: idArgument(t.arg, 'batch', { required: true, description: 'The BatchId.' }) },
      description: 'One batch; null if this tenant has none with this id.',
      resolve: (_root, { id }, { context, viewer }) => lessons.findBatch(context.db, viewer, id),
    }),
    batches: t.field({
      type: batches,
      args: filteredPage(t.arg, filter),
      complexity: pageCost,
      description:
        'The batches of the tenant, newest first; without a filter, the running ones. A caller from whom resources are hidden gets only its own.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        lessons.listBatches(context.db, viewer, given(wanted), pageOf(lessons.batchList, page)),
    }),
  }));
}

function addSubscriptions(builder: Builder, batch: BatchType, importStatus: StatusType): void {
  const states = wire.batchFilter.shape.ImportStatus;
  builder.subscriptionFields((t) => ({
    batchStatus: t.field({
      type: batch,
      args: { batchId: idArgument(t.arg, 'batch', { required: true, description: 'The BatchId.' }) },
      description: 'The present state at once, then each change; completes after a final state.',
      subscribe: async (_root, { batchId }, call) => {
        const { id } = await lessons.getBatch(call.context.db, call.viewer, batchId);
        return call.streams.open(call, [lessons.batchTopic(call.viewer)], (changes, signal) =>
          lessons.watchBatch(call.context.db, call.viewer, id, changes, signal),
        );
      },
      resolve: resolveFrame,
    }),
    batches: t.field({
      type: batch,
      args: {
        states: t.arg({
          type: [importStatus],
          description: describe(states),
          validate: judgedBy(states),
        }),
      },
      description: 'The newest 200 in these states, then each change of a batch that is or was in one of them.',
      subscribe: (_root, { states }, call) =>
        call.streams.open(call, [lessons.batchTopic(call.viewer)], (changes, signal) =>
          lessons.watchBatches(call.context.db, call.viewer, states ?? undefined, changes, signal),
        ),
      resolve: resolveFrame,
    }),
  }));
}

export const addTypes: AddTypes = (builder) => {
  const importStatus = enumType(builder, wire.importStatus);
  enumType(builder, wire.operation);
  const conflictRule = enumType(builder, wire.conflictRule);
  enumType(builder, wire.failureKind);
  enumType(builder, wire.severity);
  const batch = addBatch(builder, conflictRule);
  addQueries(builder, batch);
  addSubscriptions(builder, batch, importStatus);
  addImports(builder, batch, conflictRule);
  addTimetable(builder);
};
