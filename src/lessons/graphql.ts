import type { z } from 'zod';
import { Conflict, InvalidInput, LimitExceeded, Malformed, NotFound } from '../errors.ts';
import { type AddTypes, type Builder, typeNamed } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { bodyType, enumType, type MemberType, recordFields, recordType } from '../graphql/record.ts';
import { resolveFrame } from '../graphql/streams.ts';
import { textArgument } from '../graphql/texts.ts';
import { idempotencyKey } from '../input.ts';
import { createBatch } from './acceptance.ts';
import { type Batch, batchList, errorList, type Operation } from './batch.ts';
import { asBody, jobSchemas, lessonSchemas, lessonStatus } from './bodies.ts';
import { longestName } from './fields.ts';
import * as lessons from './service.ts';
import { type Booking, getBooking, jobList, type Lesson, lessonList, listJobs, listLessons } from './timetable.ts';
import { batchTopic, watchBatch, watchBatches } from './watch.ts';
import * as wire from './wire.ts';

/** A Batch is what the service gives; its errors are read when they are asked for. */
function addBatch(builder: Builder) {
  const importStatus = enumType(builder, wire.importStatus);
  const operation = enumType(builder, wire.operation);
  const conflictRule = enumType(builder, wire.conflictRule);
  const author = typeNamed('PersonReference');
  const members = new Map<z.ZodType, MemberType>([
    [wire.importStatus, importStatus],
    [wire.operation, operation],
    [wire.failureKind, enumType(builder, wire.failureKind)],
    [wire.severity, enumType(builder, wire.severity)],
    [wire.personReference, author],
  ]);
  const omitted = recordType(builder, 'OmittedErrors', wire.omittedErrors, (omission: object) => omission, members);
  members.set(wire.omittedErrors, omitted);
  const lessonError = recordType(builder, 'LessonError', wire.lessonError, wire.toErrorEntry, members);
  const lessonErrors = connectionType(builder, lessonError, errorList);
  const record = wire.batchRecord.omit({ BatchId: true, Errors: true });
  const batch = builder.objectRef<Batch>('Batch').implement({
    description: 'One import request: all of its jobs, or nothing.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The BatchId.' }),
      ...recordFields(t, record, (row) => wire.toBatchRecord(row, []), members),
      onConflict: t.field({
        type: conflictRule,
        description: 'What becomes of lessons whose room is occupied.',
        resolve: (row) => row.onConflict,
      }),
      progress: t.float({
        nullable: true,
        description: '0 to 1; null while the number of lessons is not known.',
        resolve: ({ lessonCount, processedCount }) =>
          lessonCount === null ? null : lessonCount === 0 ? 1 : processedCount / lessonCount,
      }),
      errors: t.field({
        type: lessonErrors,
        args: pageArguments(t.arg),
        complexity: pageCost,
        description: 'Errors and warnings, in the order of what was sent.',
        resolve: (row, args, { context, viewer }) =>
          lessons.listErrors(context.db, viewer, row.id, pageOf(errorList, args)),
      }),
    }),
  });
  return { batch, importStatus, operation, conflictRule, members };
}

type BatchTypes = ReturnType<typeof addBatch>;

function addQueries(builder: Builder, { batch, importStatus, operation }: BatchTypes): void {
  const filter = builder.inputType('BatchFilter', {
    description: 'Which batches; members that are left out do not count.',
    fields: (t) => ({
      importStatus: t.field({
        type: [importStatus],
        description: 'In one of these states; the two running ones when left out.',
        validate: { minLength: 1 },
      }),
      operation: t.field({ type: operation, description: 'Of this operation.' }),
      jobID: t.string({ description: 'That name this JobID.', validate: textArgument(128) }),
      createdAfter: t.field({ type: 'DateTime', description: 'Accepted after this instant.' }),
      createdBefore: t.field({ type: 'DateTime', description: 'Accepted before this instant.' }),
      mine: t.boolean({ description: 'Only those of the person who asks.' }),
    }),
  });
  const batches = connectionType(builder, batch, batchList);
  builder.queryFields((t) => ({
    batch: t.field({
      type: batch,
      nullable: true,
      args: { id: t.arg.id({ required: true, description: 'The BatchId.' }) },
      description: 'One batch; null when this tenant has none of that id.',
      resolve: (_root, { id }, { context, viewer }) => lessons.findBatch(context.db, viewer, id),
    }),
    batches: t.field({
      type: batches,
      args: { filter: t.arg({ type: filter, description: 'Which ones.' }), ...pageArguments(t.arg) },
      complexity: pageCost,
      description: 'The batches of the tenant, newest first; without a filter the running ones.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        lessons.listBatches(
          context.db,
          viewer,
          {
            importStatus: wanted?.importStatus ?? undefined,
            operation: wanted?.operation ?? undefined,
            jobId: wanted?.jobID ?? undefined,
            createdAfter: wanted?.createdAfter ?? undefined,
            createdBefore: wanted?.createdBefore ?? undefined,
            mine: wanted?.mine ?? undefined,
          },
          pageOf(batchList, page),
        ),
    }),
  }));
}

function addTimetable(builder: Builder, { members }: BatchTypes): void {
  const ofBookings = new Map<z.ZodType, MemberType>([
    [wire.lessonOrigin, typeNamed('LessonOrigin')],
    [lessonStatus, typeNamed('LessonStatus')],
  ]);
  const lesson = builder.objectRef<Lesson>('Lesson').implement({
    description: wire.lessonRecord.description ?? '',
    fields: (t) => ({
      ...recordFields(t, wire.lessonRecord, wire.toLessonRecord, ofBookings),
      booking: t.field({
        type: typeNamed<Booking>('Booking'),
        description: 'Its booking, which coupled lessons share.',
        resolve: ({ bookingId }, _args, { context, viewer }) => getBooking(context.db, viewer, bookingId),
      }),
    }),
  });
  const job = recordType(builder, 'LessonJob', wire.jobRecord, wire.toJobRecord, members);
  const lessonConnection = connectionType(builder, lesson, lessonList);
  const jobConnection = connectionType(builder, job, jobList);
  const filter = builder.inputType('LessonFilter', {
    description: 'Which lessons; members that are left out do not count.',
    fields: (t) => ({
      jobID: t.string({ description: 'Of the job of this JobID.', validate: textArgument(128) }),
      ressourceName: t.string({
        description: 'In rooms of this name, in whatever case.',
        validate: textArgument(longestName),
      }),
      from: t.field({ type: 'DateTime', description: 'That end after this instant.' }),
      to: t.field({ type: 'DateTime', description: 'That begin before this instant.' }),
    }),
  });
  builder.queryFields((t) => ({
    lessonJobs: t.field({
      type: jobConnection,
      args: {
        jobID: t.arg.string({ description: 'Only the job of this JobID.', validate: textArgument(128) }),
        ...pageArguments(t.arg),
      },
      complexity: pageCost,
      description: 'The jobs of the tenant without their lessons, newest first.',
      resolve: (_root, { jobID, ...page }, { context, viewer }) =>
        listJobs(context.db, viewer, { jobId: jobID ?? undefined }, pageOf(jobList, page)),
    }),
    lessons: t.field({
      type: lessonConnection,
      args: { filter: t.arg({ type: filter, description: 'Which ones.' }), ...pageArguments(t.arg) },
      complexity: pageCost,
      description:
        'The lessons of the tenant in order of beginn; of a private one only Admins and who sent it see the content.',
      resolve: (_root, { filter: wanted, ...page }, { context, viewer }) =>
        listLessons(
          context.db,
          viewer,
          {
            jobId: wanted?.jobID ?? undefined,
            resourceName: wanted?.ressourceName ?? undefined,
            from: wanted?.from ?? undefined,
            to: wanted?.to ?? undefined,
          },
          pageOf(lessonList, page),
        ),
    }),
  }));
}

/** What each operation takes: the body of REST in camel case. */
function addJobInputs(builder: Builder, { conflictRule }: BatchTypes) {
  const job = (operation: Operation, name: string, lessonName: string) => {
    const lesson = bodyType(builder, lessonName, lessonSchemas[operation]);
    return bodyType(builder, name, jobSchemas[operation], new Map([[lessonSchemas[operation], lesson]]));
  };
  const jobs = {
    Create: job('Create', 'LessonJobInput', 'LessonInput'),
    Update: job('Update', 'LessonJobChangeInput', 'LessonChangeInput'),
    Delete: job('Delete', 'LessonJobDeletionInput', 'LessonKeyInput'),
  };
  const options = builder.inputType('BatchOptions', {
    description: 'How a batch is taken.',
    fields: (t) => ({
      idempotencyKey: t.string({
        description: 'The same key and jobs within 24 hours give the same batch again.',
        validate: { schema: idempotencyKey },
      }),
      validateOnly: t.boolean({
        description: 'The same checks and the same errors as without it, and nothing is written.',
      }),
      onConflict: t.field({
        type: conflictRule,
        description: 'Fail when left out; a deletion has no conflicts and does not take it.',
      }),
    }),
  });
  return { jobs, options };
}

function addMutations(builder: Builder, types: BatchTypes): void {
  const { batch } = types;
  const { jobs, options } = addJobInputs(builder, types);
  const holder = (name: string, description: string) =>
    builder.objectRef<{ batch: Batch }>(name).implement({
      description,
      fields: (t) => ({
        batch: t.field({ type: batch, description: 'The batch.', resolve: (held) => held.batch }),
      }),
    });
  const accepted = holder('BatchAccepted', 'Stored and queued; its work goes on in the background.');
  const cancelled = holder('BatchCancelled', 'Cancelled, or about to stop at its next step.');
  const result = builder.errorUnion('SubmitBatchResult', {
    description: 'What came of a batch.',
    types: [accepted, InvalidInput, LimitExceeded],
    resolveType: () => accepted,
  });
  const submit = (name: string, operation: Operation, description: string) =>
    builder.mutationField(name, (t) =>
      t.field({
        type: result,
        args: {
          jobs: t.arg({
            type: [jobs[operation]],
            required: true,
            description: 'The jobs.',
            validate: { minLength: 1 },
          }),
          options: t.arg({ type: options, description: 'How they are taken.' }),
        },
        description: `${description} Faults of the data are reported by the batch, not here.`,
        resolve: async (_root, args, { context, viewer, requestId }) => {
          if (operation === 'Delete' && args.options?.onConflict)
            throw new InvalidInput('options.onConflict: a deletion has no conflicts; leave it out.');
          const { batchId } = await createBatch(context, viewer, {
            operation,
            body: asBody(args.jobs),
            validateOnly: args.options?.validateOnly ?? undefined,
            onConflict: args.options?.onConflict ?? undefined,
            idempotencyKey: args.options?.idempotencyKey ?? undefined,
            requestId,
          }).catch((error: unknown) => {
            throw error instanceof Malformed ? new InvalidInput(error.message, error.errors) : error;
          });
          return { batch: await lessons.getBatch(context.db, viewer, batchId) };
        },
      }),
    );
  submit('createLessonJobs', 'Create', 'Sends lessons to be created.');
  submit('updateLessonJobs', 'Update', 'Sends changes of jobs and their lessons.');
  submit('deleteLessonJobs', 'Delete', 'Sends jobs or lessons to be deleted.');
  builder.mutationFields((t) => ({
    cancelBatch: t.field({
      type: cancelled,
      errors: {
        types: [Conflict, NotFound],
        union: { name: 'CancelBatchResult', description: 'What came of it.' },
      },
      args: { id: t.arg.id({ required: true, description: 'The BatchId.' }) },
      description: 'Cancels a batch that has not ended.',
      resolve: async (_root, { id }, { context, viewer }) => ({
        batch: await lessons.cancelBatch(context.db, viewer, id),
      }),
    }),
  }));
}

function addSubscriptions(builder: Builder, { batch, importStatus }: BatchTypes): void {
  builder.subscriptionFields((t) => ({
    batchStatus: t.field({
      type: batch,
      args: { batchId: t.arg.id({ required: true, description: 'The BatchId.' }) },
      description: 'The present state at once, then each change; completes after a final state.',
      subscribe: async (_root, { batchId }, call) => {
        const { id } = await lessons.getBatch(call.context.db, call.viewer, batchId);
        return call.streams.open(call, [batchTopic(call.viewer)], (changes, signal) =>
          watchBatch(call.context.db, call.viewer, id, changes, signal),
        );
      },
      resolve: resolveFrame,
    }),
    batches: t.field({
      type: batch,
      args: {
        states: t.arg({
          type: [importStatus],
          description: 'The two running states when left out.',
          validate: { minLength: 1 },
        }),
      },
      description: 'The newest 200 in these states, then each change of a batch that is or was in one of them.',
      subscribe: (_root, { states }, call) =>
        call.streams.open(call, [batchTopic(call.viewer)], (changes, signal) =>
          watchBatches(call.context.db, call.viewer, states ?? undefined, changes, signal),
        ),
      resolve: resolveFrame,
    }),
  }));
}

export const addTypes: AddTypes = (builder) => {
  const types = addBatch(builder);
  addQueries(builder, types);
  addTimetable(builder, types);
  addMutations(builder, types);
  addSubscriptions(builder, types);
};
