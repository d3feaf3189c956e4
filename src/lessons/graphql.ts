import { z } from 'zod';
import { Conflict, InvalidInput, LimitExceeded, Malformed, NotFound } from '../errors.ts';
import type { AddTypes, Builder } from '../graphql/builder.ts';
import { connectionType, pageArguments, pageCost, pageOf } from '../graphql/connection.ts';
import { resolveFrame } from '../graphql/streams.ts';
import { type Batch, failureKinds, importStatuses, type LessonError, operations } from './batch.ts';
import * as lessons from './service.ts';
import { batchTopic, findBatch, watchBatch, watchBatches } from './watch.ts';

/** What an id, a key or a name may hold: PostgreSQL takes no U+0000 and no half of a surrogate pair. */
const plain = (most: number): { schema: z.ZodType<string> } => ({
  schema: z
    .string()
    .min(1)
    .max(most)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'holds unusable characters'),
});

/** A Batch is what the service gives; its errors are read when they are asked for. */
function addBatch(builder: Builder) {
  const importStatus = builder.enumType('ImportStatus', {
    description: 'The state of a batch; the last two are final.',
    values: importStatuses,
  });
  const operation = builder.enumType('JobOperation', {
    description: 'What a batch does with its jobs.',
    values: operations,
  });
  const failureKind = builder.enumType('FailureKind', {
    description: 'Why a batch failed: its data, something technical, or it was cancelled.',
    values: failureKinds,
  });
  const severity = builder.enumType('Severity', {
    description: 'An error fails the batch, a warning does not.',
    values: ['Error', 'Warning'] as const,
  });
  const lessonError = builder.objectRef<LessonError>('LessonError').implement({
    description: 'One error or warning of a batch.',
    fields: (t) => ({
      severity: t.field({ type: severity, description: 'Error or warning.', resolve: (row) => row.severity }),
      index: t.exposeInt('index', { nullable: true, description: 'Which job, counted from 0.' }),
      jobID: t.exposeString('jobId', { nullable: true, description: 'The JobID, when it has one.' }),
      lektionIndex: t.exposeInt('lektionIndex', {
        nullable: true,
        description: 'Which lesson of its job, counted from 0.',
      }),
      lektionId: t.exposeString('lektionId', {
        nullable: true,
        description: 'The LektionId, when it has one.',
      }),
      field: t.exposeString('field', { nullable: true, description: 'The faulty member, as REST names it.' }),
      code: t.exposeString('code', { description: 'The kind of fault, for programs (contract 4.1).' }),
      message: t.exposeString('message', { description: 'For people.' }),
      pointer: t.exposeString('pointer', {
        nullable: true,
        description: 'JSON pointer into the body, as REST would have taken it.',
      }),
    }),
  });
  const lessonErrors = connectionType(builder, lessonError, ({ number }) => number);
  const author = builder.objectRef<Batch['createdBy']>('PersonReference').implement({
    description: 'A person, as others see it.',
    fields: (t) => ({
      personId: t.exposeID('personId', { description: 'The id of the person.' }),
      displayName: t.exposeString('displayName', { description: 'As it is shown.' }),
    }),
  });
  const batch = builder.objectRef<Batch>('Batch').implement({
    description: 'One import request: all of its jobs, or nothing.',
    fields: (t) => ({
      id: t.exposeID('id', { description: 'The BatchId.' }),
      operation: t.field({
        type: operation,
        description: 'What it does with its jobs.',
        resolve: (row) => row.operation,
      }),
      importStatus: t.field({
        type: importStatus,
        description: 'Where it stands.',
        resolve: (row) => row.importStatus,
      }),
      jobCount: t.exposeInt('jobCount', { description: 'How many jobs were sent.' }),
      lessonCount: t.exposeInt('lessonCount', {
        nullable: true,
        description: 'How many lessons; known from AwaitingLessonProcessing on.',
      }),
      processedCount: t.exposeInt('processedCount', { description: 'Lessons done so far; never falls.' }),
      createdCount: t.exposeInt('createdCount', { description: 'Lessons that were created.' }),
      progress: t.float({
        nullable: true,
        description: '0 to 1; null while the number of lessons is not known.',
        resolve: ({ lessonCount, processedCount }) =>
          lessonCount === null ? null : lessonCount === 0 ? 1 : processedCount / lessonCount,
      }),
      errorCount: t.exposeInt('errorCount', { description: 'How many errors.' }),
      warningCount: t.exposeInt('warningCount', { description: 'How many warnings.' }),
      errorMessages: t.exposeString('errorMessages', {
        nullable: true,
        description: 'The first 50 errors, one in a line.',
      }),
      errors: t.field({
        type: lessonErrors,
        args: pageArguments(t.arg),
        complexity: pageCost,
        description: 'Errors and warnings, in the order of what was sent.',
        resolve: (row, args, { context, viewer }) =>
          lessons.listErrors(context.db, viewer, row.id, pageOf(args)),
      }),
      failureKind: t.field({
        type: failureKind,
        nullable: true,
        description: 'Why it failed; null unless it did.',
        resolve: (row) => row.failureKind,
      }),
      validateOnly: t.exposeBoolean('validateOnly', { description: 'Whether it only checks.' }),
      queuePosition: t.exposeInt('queuePosition', {
        nullable: true,
        description: '1 for the batch that runs or is next; null once it has ended.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was accepted.' }),
      startedAt: t.expose('startedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When its work began.',
      }),
      finishedAt: t.expose('finishedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it reached a final state.',
      }),
      createdBy: t.field({
        type: author,
        description: 'Who sent it.',
        resolve: (row) => row.createdBy,
      }),
    }),
  });
  return { batch, importStatus, operation };
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
      jobID: t.string({ description: 'That name this JobID.', validate: plain(128) }),
      createdAfter: t.field({ type: 'DateTime', description: 'Accepted after this instant.' }),
      createdBefore: t.field({ type: 'DateTime', description: 'Accepted before this instant.' }),
      mine: t.boolean({ description: 'Only those of the person who asks.' }),
    }),
  });
  const batches = connectionType(builder, batch, ({ arrival }) => arrival);
  builder.queryFields((t) => ({
    batch: t.field({
      type: batch,
      nullable: true,
      args: { id: t.arg.id({ required: true, description: 'The BatchId.' }) },
      description: 'One batch; null when this tenant has none of that id.',
      resolve: (_root, { id }, { context, viewer }) => findBatch(context.db, viewer, id),
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
          pageOf(page),
        ),
    }),
  }));
}

/** Every member may be missing: what is missing or wrong is an error of the batch, as in REST, never of the call. */
function addJobInputs(builder: Builder) {
  const lesson = builder.inputType('LessonInput', {
    description: 'A lesson; its fields are those of REST (contract 4.1).',
    fields: (t) => ({
      lektionId: t.string({ description: 'Required; unique inside its job.' }),
      beginn: t.string({ description: 'Required; ISO 8601, UTC.' }),
      ende: t.string({ description: 'Required; ISO 8601, UTC, after beginn.' }),
      ressourceName: t.string({ description: 'Required; the name of the room.' }),
      ressourceId: t.int({ description: 'The id of the room; must agree with its name.' }),
      titel: t.string({ description: 'Title.' }),
      fach: t.string({ description: 'Subject.' }),
      bemerkung: t.string({ description: 'Remark.' }),
      klassen: t.stringList({ description: 'Classes.' }),
      lehrpersonen: t.stringList({ description: 'Teachers.' }),
      status: t.string({ description: 'Geplant (default), Vertretung or Entfaellt.' }),
      kopplungId: t.string({
        description: 'Lessons that share it, their room and their time share one booking.',
      }),
      privat: t.boolean({ description: 'Whether its content is hidden from others.' }),
    }),
  });
  const job = builder.inputType('LessonJobInput', {
    description: 'A named group of lessons; its fields are those of REST (contract 4.1).',
    fields: (t) => ({
      jobID: t.string({ description: 'Required; never used before in this tenant.' }),
      bezeichnung: t.string({ description: 'Designation.' }),
      quelle: t.string({ description: 'Where the job comes from.' }),
      standort: t.string({ description: 'The location of its rooms, where two share a name.' }),
      bemerkung: t.string({ description: 'Remark.' }),
      lektionList: t.field({ type: [lesson], description: 'Required; at least one lesson.' }),
    }),
  });
  const options = builder.inputType('BatchOptions', {
    description: 'How a batch is taken.',
    fields: (t) => ({
      idempotencyKey: t.string({
        description: 'The same key and jobs within 24 hours give the same batch again.',
        validate: plain(255),
      }),
    }),
  });
  return { job, options };
}

/** The bytes that REST would have taken: the same members in Pascal case. */
async function* asBody(jobs: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(withPascalKeys(jobs)));
}

function withPascalKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPascalKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key.charAt(0).toUpperCase() + key.slice(1),
      withPascalKeys(member),
    ]),
  );
}

function addMutations(builder: Builder, { batch }: BatchTypes): void {
  const { job, options } = addJobInputs(builder);
  const holder = (name: string, description: string) =>
    builder.objectRef<{ batch: Batch }>(name).implement({
      description,
      fields: (t) => ({
        batch: t.field({ type: batch, description: 'The batch.', resolve: (held) => held.batch }),
      }),
    });
  const accepted = holder('BatchAccepted', 'Stored and queued; its work goes on in the background.');
  const cancelled = holder('BatchCancelled', 'Cancelled, or about to stop at its next step.');
  builder.mutationFields((t) => ({
    createLessonJobs: t.field({
      type: accepted,
      errors: {
        types: [InvalidInput, LimitExceeded],
        union: { name: 'SubmitBatchResult', description: 'What came of a batch.' },
      },
      args: {
        jobs: t.arg({ type: [job], required: true, description: 'The jobs.', validate: { minLength: 1 } }),
        options: t.arg({ type: options, description: 'How they are taken.' }),
      },
      description: 'Sends lessons to be created. Faults of the data are reported by the batch, not here.',
      resolve: async (_root, args, { context, viewer, requestId }) => {
        const { batchId } = await lessons
          .createBatch(context, viewer, {
            operation: 'Create',
            body: asBody(args.jobs),
            idempotencyKey: args.options?.idempotencyKey ?? undefined,
            requestId,
          })
          .catch((error: unknown) => {
            throw error instanceof Malformed ? new InvalidInput(error.message, error.errors) : error;
          });
        return { batch: await lessons.getBatch(context.db, viewer, batchId) };
      },
    }),
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
        return call.streams.open(call, [batchTopic(call.viewer)], (changes) =>
          watchBatch(call.context.db, call.viewer, id, changes),
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
      description:
        'The newest 200 in these states, then each change of a batch that is or was in one of them.',
      subscribe: (_root, { states }, call) =>
        call.streams.open(call, [batchTopic(call.viewer)], (changes) =>
          watchBatches(call.context.db, call.viewer, states ?? undefined, changes),
        ),
      resolve: resolveFrame,
    }),
  }));
}

export const addTypes: AddTypes = (builder) => {
  const types = addBatch(builder);
  addQueries(builder, types);
  addMutations(builder, types);
  addSubscriptions(builder, types);
};
