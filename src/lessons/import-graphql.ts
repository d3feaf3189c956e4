/** Imports over GraphQL: sends jobs and cancels batches. */
import type { EnumRef, ObjectRef } from '@pothos/core';
import { Conflict, Forbidden, InvalidInput, LimitExceeded, Malformed, NotFound } from '../errors.ts';
import { idempotencyKey } from '../fields.ts';
import { asSent, partType } from '../graphql/body.ts';
import type { Builder, Types } from '../graphql/builder.ts';
import { given } from '../graphql/given.ts';
import { idArgument } from '../graphql/ids.ts';
import * as lessons from './service.ts';
import * as wire from './wire.ts';

/** What each operation takes: the body of REST in camel case. */
function jobInput(builder: Builder, operation: lessons.JobOperation, name: string, lessonName: string) {
  const lesson = partType(builder, lessonName, wire.lessonSchemas[operation]);
  return partType(builder, name, wire.jobSchemas[operation], new Map([[wire.lessonSchemas[operation], lesson]]));
}

export function addImports(
  builder: Builder,
  batch: ObjectRef<Types, lessons.Batch>,
  conflictRule: EnumRef<Types, lessons.ConflictRule>,
): void {
  const options = builder.inputType('BatchOptions', {
    description: 'How a batch is processed.',
    fields: (t) => ({
      idempotencyKey: t.string({
        description: 'The same key and jobs within 24 hours return the same batch again.',
        validate: { schema: idempotencyKey },
      }),
      validateOnly: t.boolean({
        description: 'Whether to report the same errors as a real run, but write nothing.',
      }),
      onConflict: t.field({
        type: conflictRule,
        description: 'Fail if left out; refused for deletions, which have no conflicts.',
      }),
      takeOverBookings: t.boolean({
        description:
          'For creations only: whether a lesson takes over a booking of the sender with the same room, start and end.',
      }),
      createMissing: t.boolean({
        description:
          'For updates only: whether jobs that do not exist yet are created, if their `replaceLessons` is true.',
      }),
    }),
  });
  const holder = (name: string, description: string) =>
    builder.objectRef<{ batch: lessons.Batch }>(name).implement({
      description,
      fields: (t) => ({
        batch: t.field({ type: batch, description: 'The batch.', resolve: (held) => held.batch }),
      }),
    });
  const accepted = holder('BatchAccepted', 'Stored and queued; its work goes on in the background.');
  const cancelled = holder('BatchCancelled', 'Cancelled, or about to stop at its next step.');
  const result = builder.errorUnion('SubmitBatchResult', {
    description: 'The accepted batch, or why it was refused.',
    types: [accepted, Conflict, Forbidden, InvalidInput, LimitExceeded],
    resolveType: () => accepted,
  });

  function submit(
    name: string,
    operation: lessons.JobOperation,
    inputs: [job: string, lesson: string],
    summary: string,
  ) {
    const job = jobInput(builder, operation, ...inputs);
    builder.mutationField(name, (t) =>
      t.field({
        type: result,
        args: {
          jobs: t.arg({ type: [job], required: true, description: 'The jobs, at least one.' }),
          options: t.arg({ type: options, description: 'How they are processed.' }),
        },
        description: `${summary} Faults of the data are reported by the batch, not here.`,
        resolve: async (_root, args, { context, viewer, requestId }) => {
          const wanted = given(args.options);
          if (operation === 'Delete' && wanted.onConflict)
            throw new InvalidInput('options.onConflict: a deletion has no conflicts; leave it out.');
          if (operation !== 'Create' && wanted.takeOverBookings)
            throw new InvalidInput('options.takeOverBookings: only new lessons take bookings over; leave it out.');
          if (operation !== 'Update' && wanted.createMissing)
            throw new InvalidInput('options.createMissing: only changes create what is missing; leave it out.');
          const { batchId } = await lessons
            .createBatch(context, viewer, {
              operation,
              body: wire.asBody(args.jobs.map((job) => asSent(wire.jobSchemas[operation], job))),
              ...wanted,
              requestId,
            })
            .catch((error: unknown) => {
              if (!(error instanceof Malformed)) throw error;
              const none = {
                field: 'jobs',
                pointer: '',
                code: 'InvalidValue',
                message: 'must have at least one job',
              };
              throw new InvalidInput(error.message, args.jobs.length === 0 ? [none] : error.errors);
            });
          return { batch: await lessons.getBatch(context.db, viewer, batchId) };
        },
      }),
    );
  }
  submit('createLessonJobs', 'Create', ['LessonJobInput', 'LessonInput'], 'Sends lessons to be created.');
  submit(
    'updateLessonJobs',
    'Update',
    ['LessonJobChangeInput', 'LessonChangeInput'],
    'Sends changes of jobs and their lessons.',
  );
  submit(
    'deleteLessonJobs',
    'Delete',
    ['LessonJobDeletionInput', 'LessonKeyInput'],
    'Sends jobs or lessons to be deleted.',
  );
  builder.mutationField('cancelBatch', (t) =>
    t.field({
      type: cancelled,
      errors: {
        types: [Conflict, Forbidden, NotFound],
        union: { name: 'CancelBatchResult', description: 'The batch, or why the request was refused.' },
      },
      args: { id: idArgument(t.arg, 'batch', { required: true, description: 'The BatchId.' }) },
      description: 'Cancels a batch that has not ended.',
      resolve: async (_root, { id }, { context, viewer }) => ({
        batch: await lessons.cancelBatch(context.db, viewer, id),
      }),
    }),
  );
}
