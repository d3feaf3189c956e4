import { z } from 'zod';
import type { Context } from '../context.ts';
import { readPage } from '../db/paging.ts';
import { requestBody } from '../rest/body.ts';
import { type Call, readIdempotencyKey, route } from '../rest/route.ts';
import { type Batch, importStatuses, isTerminal, operations } from './batch.ts';
import * as lessons from './service.ts';
import { waitForBatch } from './watch.ts';
import { toBatchEntry, toBatchRecord, toErrorEntry } from './wire.ts';

const path = '/v2.0/jobs';
const errorsInline = 100;

const batchParams = z.object({ batchId: z.string() });
const paging = {
  Limit: z.coerce.number('must be a whole number').int().min(1).optional(),
  Cursor: z.string().max(200).optional(),
};
const instant = z.iso.datetime({ offset: true, error: 'must be a date-time such as 2027-02-01T08:00:00Z' });

/** How long a poller should wait, by the age of the batch: 2, 5, 10, 20, 30 s (specification section 8). */
function retryAfter({ createdAt, importStatus }: Batch): Record<string, string> {
  if (isTerminal(importStatus)) return {};
  const age = (Date.now() - createdAt.getTime()) / 1_000;
  const seconds = [
    { below: 10, wait: 2 },
    { below: 30, wait: 5 },
    { below: 120, wait: 10 },
    { below: 600, wait: 20 },
  ].find(({ below }) => age < below);
  return { 'Retry-After': String(seconds?.wait ?? 30) };
}

async function batchAnswer(context: Context, { viewer }: Pick<Call, 'viewer'>, batch: Batch) {
  const errors =
    batch.errorCount + batch.warningCount > 0
      ? (await lessons.listErrors(context.db, viewer, batch.id, { limit: errorsInline, after: undefined }))
          .items
      : [];
  return { status: 200, body: toBatchRecord(batch, errors), headers: retryAfter(batch) };
}

export const routes = [
  route({
    method: 'POST',
    path: `${path}/create`,
    handle: async (context, { viewer, request, requestId }) => {
      const accepted = await lessons.createBatch(context, viewer, {
        operation: 'Create',
        body: requestBody(request),
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
  }),
  route({
    method: 'GET',
    path: `${path}/batches`,
    query: z.strictObject({
      ...paging,
      ImportStatus: z.enum([...importStatuses, 'All']).optional(),
      Operation: z.enum(operations).optional(),
      JobID: z.string().max(128).optional(),
      CreatedAfter: instant.optional(),
      CreatedBefore: instant.optional(),
      Mine: z.stringbool({ truthy: ['true'], falsy: ['false'] }).optional(),
    }),
    handle: async (context, { viewer, query }) => {
      const page = await lessons.listBatches(
        context.db,
        viewer,
        {
          importStatus:
            query.ImportStatus && query.ImportStatus !== 'All' ? [query.ImportStatus] : query.ImportStatus,
          operation: query.Operation,
          jobId: query.JobID,
          createdAfter: query.CreatedAfter ? new Date(query.CreatedAfter) : undefined,
          createdBefore: query.CreatedBefore ? new Date(query.CreatedBefore) : undefined,
          mine: query.Mine,
        },
        readPage(query.Limit, query.Cursor),
      );
      return { status: 200, body: { Items: page.items.map(toBatchEntry), NextCursor: page.nextCursor } };
    },
  }),
  route({
    method: 'GET',
    path: `${path}/batches/:batchId`,
    params: batchParams,
    query: z.strictObject({
      WaitSeconds: z.coerce.number('must be a number').int().min(0).max(30).default(0),
    }),
    handle: async (context, call) => {
      const batch = await waitForBatch(
        context,
        call.viewer,
        call.params.batchId,
        call.query.WaitSeconds,
        call.signal,
      );
      return await batchAnswer(context, call, batch);
    },
  }),
  route({
    method: 'GET',
    path: `${path}/batches/:batchId/errors`,
    params: batchParams,
    query: z.strictObject(paging),
    handle: async (context, { viewer, params, query }) => {
      const page = await lessons.listErrors(
        context.db,
        viewer,
        params.batchId,
        readPage(query.Limit, query.Cursor),
      );
      return { status: 200, body: { Items: page.items.map(toErrorEntry), NextCursor: page.nextCursor } };
    },
  }),
  route({
    method: 'POST',
    path: `${path}/batches/:batchId/cancel`,
    params: batchParams,
    handle: async (context, call) =>
      await batchAnswer(
        context,
        call,
        await lessons.cancelBatch(context.db, call.viewer, call.params.batchId),
      ),
  }),
];
