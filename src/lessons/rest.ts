import { z } from 'zod';
import type { Context } from '../context.ts';
import { readPage } from '../db/paging.ts';
import { NotFound } from '../errors.ts';
import { toFields } from '../fields.ts';
import { lessonLimits } from '../names.ts';
import { flag, paging, waitSeconds } from '../query-parameters.ts';
import { requestBody } from '../rest/body.ts';
import { listAnswer, listOf, listRoute } from '../rest/lists.ts';
import { type DescribedAnswer, type RestCall, readIdempotencyKey, route } from '../rest/route.ts';
import { storableText } from '../storable.ts';
import * as lessons from './service.ts';
import * as wire from './wire.ts';

const path = '/v2.0/jobs';

const batchParams = z.object({ batchId: z.uuid().meta({ description: 'The BatchId of the 202.' }) });
const key = (description: string) => storableText.min(1).max(lessonLimits.key).meta({ description });
const forDisplays = { 403: 'A display reads no lessons.' };
const forImporters = {
  403: 'Only an Importer or an Admin sends and cancels lessons, and `OnConflict=Displace` is for them alone; Users send lessons where the tenant parameter `UsersMayImport` is true.',
};

const lessonErrorList = listOf(wire.lessonError, 'LessonErrorList')
  .extend({ OmittedErrors: wire.batchRecord.shape.OmittedErrors })
  .meta({ id: 'LessonErrorList', description: 'One page of a list, and what is not kept of it.' });

function retryAfter(batches: readonly lessons.Batch[]): Record<string, string> {
  const seconds = lessons.secondsToWait(batches);
  return seconds === undefined ? {} : { 'Retry-After': String(seconds) };
}

/** Instants are texts, which `JSON.stringify` writes in a fifth of the time of dates. */
const toLesson = (lesson: lessons.Lesson) =>
  wire.toLessonRecord({ ...lesson, beginn: lesson.beginn.toISOString(), ende: lesson.ende.toISOString() });

async function batchAnswer(context: Context, { viewer }: Pick<RestCall, 'viewer'>, batch: lessons.Batch) {
  const errors = await lessons.firstErrors(context.db, viewer, batch, wire.errorsInline);
  const difference = batch.validateOnly
    ? await lessons.readDifference(context.db, { mandatorId: viewer.mandatorId, id: batch.id })
    : null;
  return { status: 200, body: wire.toBatchRecord(batch, errors, difference), headers: retryAfter([batch]) };
}

const described = (description: string, body: z.core.$ZodType, example: unknown): DescribedAnswer => ({
  description,
  body,
  example,
  headers: ['ETag'],
});

const validateOnly = {
  ValidateOnly: flag('Reports the same errors as a real run, but writes nothing.'),
};
const submitOptions = {
  ...validateOnly,
  OnConflict: wire.conflictRule.optional().meta({
    description: 'What happens to lessons whose room is occupied; Fail if left out.',
  }),
};

const createOptions = {
  ...submitOptions,
  TakeOverBookings: flag(
    'A lesson takes over a booking of the sender with the same room, Beginn and Ende, with a warning instead of a conflict.',
  ),
};
const updateOptions = {
  ...submitOptions,
  CreateMissing: flag(
    'Creates jobs that do not exist yet, if their `ReplaceLektionList` is true. Sending the same body again then updates them.',
  ),
};
const optionsOf = { Create: createOptions, Update: updateOptions, Delete: validateOnly };

function submitRoute(operation: lessons.JobOperation, texts: { summary: string; description: string }) {
  const query: z.core.$ZodType<{
    ValidateOnly?: boolean | undefined;
    OnConflict?: lessons.ConflictRule | undefined;
    TakeOverBookings?: boolean | undefined;
    CreateMissing?: boolean | undefined;
  }> = z.strictObject(optionsOf[operation]);
  return route({
    method: 'POST',
    path: `${path}/${operation.toLowerCase()}`,
    summary: texts.summary,
    description: `${texts.description} A batch is atomic: any error leaves nothing of it behind. Once the body is a JSON array of objects in UTF-8 that can be stored (without U+0000 and halves of surrogate pairs), faults of the data are the batch's, never a 400: it ends in LessonsImportFailed with all of them. Unknown members are ignored, with a warning.`,
    headers: ['Idempotency-Key'],
    query,
    body: { ...wire.bodies[operation], streamed: true },
    answers: {
      202: {
        description: 'Stored and queued; `Location` is where the status of the batch is.',
        body: wire.acceptedBatch,
        example: wire.examples.accepted,
        headers: ['Location', 'Retry-After'],
      },
    },
    problems: forImporters,
    handle: async (context, { viewer, query, request, requestId }) => {
      const accepted = await lessons.createBatch(context, viewer, {
        operation,
        body: requestBody(request, context.config.Limits, context.config.Limits.JobBodyBytes, lessons.jobsTooLarge),
        validateOnly: query.ValidateOnly,
        onConflict: query.OnConflict,
        takeOverBookings: query.TakeOverBookings,
        createMissing: query.CreateMissing,
        idempotencyKey: readIdempotencyKey(request),
        requestId,
      });
      return {
        status: 202,
        body: { BatchId: accepted.batchId, ImportStatus: accepted.importStatus },
        headers: {
          Location: `${context.config.BaseUrl}/${viewer.mandator}/api${path}/batches/${accepted.batchId}`,
          'Retry-After': '2',
        },
      };
    },
  });
}

export const routes = [
  submitRoute('Create', {
    summary: 'Send jobs with new lessons',
    description:
      'Takes an array of jobs and answers at once; the lessons are created in the background. A JobID that exists already or comes twice fails the batch.',
  }),
  submitRoute('Update', {
    summary: 'Change jobs and their lessons',
    description:
      'Changes the lessons that a job lists; with `ReplaceLektionList` the list is complete: lessons that the job does not have yet are added, its other lessons are deleted. A member that is left out stays as it is, null clears it.',
  }),
  submitRoute('Delete', {
    summary: 'Delete jobs or lessons',
    description: 'Deletes the lessons that a job lists, or the whole job when it lists none.',
  }),
  listRoute({
    path,
    summary: 'List jobs',
    description: 'The jobs of the tenant without their lessons, newest first.',
    filter: wire.jobFilter,
    page: described('One page of jobs.', listOf(wire.jobRecord, 'JobList'), wire.examples.jobs),
    problems: forDisplays,
    of: lessons.jobList,
    run: lessons.listJobs,
    toRecord: wire.toJobRecord,
  }),
  listRoute({
    path: '/v2.0/lessons',
    summary: 'List lessons',
    description:
      'The lessons of the tenant in order of Beginn. Several values of `Status` are separated by commas or sent one by one. Only Admins and the sender of its job see the content of a private lesson; for others, Titel is Belegt and the rest of the content null.',
    filter: wire.lessonFilter.extend({ Order: wire.lessonOrder }),
    page: described('One page of lessons.', listOf(wire.lessonRecord, 'LessonList'), wire.examples.lessons),
    problems: forDisplays,
    of: lessons.lessonList,
    run: lessons.listLessons,
    toRecord: toLesson,
  }),
  route({
    method: 'GET',
    path: '/v2.0/lessons/:JobID/:LektionId',
    summary: 'Read a lesson',
    description: 'One lesson of a job. If it is private, others see only that its room is taken.',
    params: z.object({ JobID: key('The JobID of its job.'), LektionId: key('Its id in the job.') }),
    answers: { 200: described('The lesson.', wire.lessonRecord, wire.examples.lessons.Items[0]) },
    problems: forDisplays,
    handle: async ({ db }, { viewer, params }) => {
      const found = await lessons.findLesson(db, viewer, { jobID: params.JobID, lektionId: params.LektionId });
      if (!found) throw new NotFound('There is no lesson of this LektionId in a job of this JobID.');
      return { status: 200, body: toLesson(found) };
    },
  }),
  route({
    method: 'GET',
    path: `${path}/batches`,
    summary: 'List batches',
    description:
      'The batches of the tenant, newest first: the running and queued ones, or by `ImportStatus`. An entry is the record without its errors.',
    query: wire.batchQuery.extend(paging),
    answers: {
      200: {
        ...described('One page of batches.', listOf(wire.batchEntry, 'BatchList'), wire.examples.batches),
        headers: ['ETag', 'Retry-After'],
      },
    },
    problems: forDisplays,
    handle: async (context, { viewer, query }) => {
      const { importStatus: wanted, ...others } = toFields(query);
      const importStatus = wanted?.includes('All') ? 'All' : (wanted as lessons.Batch['importStatus'][] | undefined);
      const filter = { ...others, importStatus } as const;
      const request = readPage(lessons.batchList, query.Limit, query.Cursor);
      const page = await lessons.listBatches(context.db, viewer, filter, request);
      return { ...listAnswer(page, wire.toBatchEntry), headers: retryAfter(page.items) };
    },
  }),
  route({
    method: 'GET',
    path: `${path}/batches/:batchId`,
    summary: 'Read a batch',
    description:
      'A batch with its first errors. Poll after `Retry-After` seconds, or let the server wait for the next change with `WaitSeconds`, until `ImportStatus` is LessonsCreated or LessonsImportFailed.',
    params: batchParams,
    query: z.strictObject({
      WaitSeconds: waitSeconds('Answer as soon as the batch changes, or after these seconds with its present state.'),
    }),
    answers: {
      200: {
        ...described('The batch.', wire.batchRecord, wire.examples.batch),
        headers: ['ETag', 'Retry-After'],
      },
    },
    problems: forDisplays,
    handle: async (context, call) => {
      const { params, query } = call;
      const batch = await lessons.waitForBatch(context, call, params.batchId, query.WaitSeconds);
      return await batchAnswer(context, call, batch);
    },
  }),
  route({
    method: 'GET',
    path: `${path}/batches/:batchId/errors`,
    summary: 'List the errors of a batch',
    description: `The errors and warnings of a batch, in the order of the body that was sent: the first ${wire.mostKept} of each. \`OmittedErrors\` says on every page how many more there are.`,
    params: batchParams,
    query: z.strictObject(paging),
    answers: {
      200: described('One page of errors.', lessonErrorList, wire.examples.errors),
    },
    problems: forDisplays,
    handle: async ({ db }, { viewer, params, query }) => {
      const page = readPage(lessons.errorList, query.Limit, query.Cursor);
      const { omitted, ...found } = await lessons.listErrors(db, viewer, params.batchId, page);
      return listAnswer(found, wire.toErrorEntry, { OmittedErrors: omitted.map(wire.toOmissionEntry) });
    },
  }),
  route({
    method: 'POST',
    path: `${path}/batches/:batchId/cancel`,
    summary: 'Cancel a batch',
    description:
      'Ends a batch that waits at once; one that runs stops at its next step. Both end in LessonsImportFailed with `FailureKind` Cancelled, and nothing of them is stored.',
    params: batchParams,
    answers: {
      200: {
        description: 'The batch: cancelled, or about to stop.',
        body: wire.batchRecord,
        example: wire.examples.cancelledBatch,
        headers: ['Retry-After'],
      },
    },
    problems: { ...forImporters, 409: 'The batch has already ended; an ended batch never changes.' },
    handle: async (context, call) =>
      await batchAnswer(context, call, await lessons.cancelBatch(context.db, call.viewer, call.params.batchId)),
  }),
];
