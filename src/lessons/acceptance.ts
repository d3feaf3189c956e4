/** Accepts a batch (contract 4.2): receives its body, then stores and queues it in one transaction. */
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { checkImporter } from '../access.ts';
import type { Context, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { claimIdempotencyKey } from '../db/idempotency.ts';
import { LimitExceeded } from '../errors.ts';
import { lockClasses } from '../flow/locks.ts';
import { openPlaces } from '../flow/places.ts';
import { personSends } from '../http/body-memory.ts';
import { largestOf } from '../http/request-body.ts';
import { traceparentNow } from '../tracing.ts';
import { type ConflictRule, type JobOperation, openStatuses } from './batch.ts';
import { nudge } from './lifecycle.ts';
import { laneOf } from './next.ts';
import { type OpenBody, openBody } from './submission.ts';

export type NewBatch = {
  operation: JobOperation;
  /** The bytes of a JSON array of jobs. */
  body: AsyncIterable<Uint8Array>;
  /** A dry run: the same checks and errors as the real run, with nothing written. */
  validateOnly?: boolean | undefined;
  /** Fail when absent. */
  onConflict?: ConflictRule | undefined;
  /** Create only: a lesson takes over a booking of the viewer with the same room, start and end. */
  takeOverBookings?: boolean | undefined;
  /** Update only: creates unknown jobs whose ReplaceLektionList is true. */
  createMissing?: boolean | undefined;
  /** Update only: the batch lists all jobs of its source. */
  replaces?: Replaced | undefined;
  idempotencyKey?: string | undefined;
  requestId: string;
};

/** Jobs of this Quelle that a batch does not list are deleted, except for lessons that begin before `since`. */
export type Replaced = { quelle: string; since: Date | null; allowRemoval: boolean };

type AcceptedBatch = { batchId: string; importStatus: 'AwaitingLessonCreation' };

const large = { of: 'large imports', perPerson: 2, mostWaiting: 4 };

/**
 * Places of this process for large bodies. A body that is arriving holds a file; one that is being stored also holds
 * one of the 8 connections of `Context.uploads`.
 */
const openLargeImports = () => ({
  arriving: openPlaces({ ...large, all: 32, perTenant: 4, waitMs: 10_000 }),
  storing: openPlaces({ ...large, all: 8, perTenant: 3, waitMs: 60_000 }),
});

/**
 * Stores a batch and queues it in one transaction; once this returns, the batch cannot be lost. Nothing is stored unless
 * the body was read to its end.
 * @throws Malformed when the body is not a JSON array of objects, TooLarge, RequestTimeout, Conflict or InvalidInput for
 * the key, LimitExceeded, Unavailable
 */
export async function createBatch(context: Context, viewer: Viewer, wanted: NewBatch): Promise<AcceptedBatch> {
  const { operation, validateOnly = false, onConflict = 'Fail' } = wanted;
  checkImporter(viewer, onConflict);
  const { Limits } = context.config;
  const options = `${validateOnly} ${onConflict}${wanted.takeOverBookings ? ' TakeOverBookings' : ''}${wanted.createMissing ? ' CreateMissing' : ''}${wanted.replaces ? ` ${JSON.stringify(wanted.replaces)}` : ''}`;
  const body = await openBody(wanted.body, `${operation} ${options}`, {
    mostBytes: Limits.JobBodyBytes,
    mostJobs: Limits.JobsPerBatch,
    sender: personSends(viewer),
    largest: largestOf(Limits),
    log: context.log,
  });
  const accept = (db: Database) => db.transaction().execute((trx) => storeBatch(context, trx, viewer, wanted, body));
  try {
    if (body.complete) return await accept(context.db);
    const { arriving, storing } = context.once(openLargeImports);
    return await arriving.hold(viewer, async () => {
      // Refuses before the client has sent the whole body.
      await context.db.transaction().execute((trx) => claimKey(context, trx, viewer, wanted));
      await body.receive();
      return await storing.hold(viewer, () => accept(context.uploads));
    });
  } finally {
    await body.close();
  }
}

/** @throws Conflict when the key is in use, LimitExceeded when a new batch has no place in the queue */
async function claimKey({ config }: Context, trx: Transaction, viewer: Viewer, { idempotencyKey }: NewBatch) {
  const claim = idempotencyKey ? await claimIdempotencyKey<AcceptedBatch>(trx, viewer, idempotencyKey) : undefined;
  if (!claim?.answered) await checkOpenBatches(trx, viewer, config.Limits.OpenBatches);
  return claim;
}

async function storeBatch(
  context: Context,
  trx: Transaction,
  viewer: Viewer,
  wanted: NewBatch,
  body: OpenBody,
): Promise<AcceptedBatch> {
  const { operation, validateOnly = false, onConflict = 'Fail', requestId } = wanted;
  const { mandatorId } = viewer;
  const batchId = uuidv7();
  const claim = await claimKey(context, trx, viewer, wanted);
  const { jobCount, weight } = await body.store(trx, { mandatorId, id: batchId }, { store: !claim?.answered });
  const answer: AcceptedBatch = { batchId, importStatus: 'AwaitingLessonCreation' };
  const replayed = await claim?.settle(body.fingerprint(), answer);
  if (replayed) return replayed;
  // Batches that are stored at the same time are counted one after another.
  await sql`select pg_advisory_xact_lock(${lockClasses.openBatches}, ${mandatorId})`.execute(trx);
  await checkOpenBatches(trx, viewer, context.config.Limits.OpenBatches);
  await trx
    .insertInto('batch')
    .values({
      mandator_id: mandatorId,
      id: batchId,
      operation,
      validate_only: validateOnly,
      on_conflict: onConflict,
      take_over: wanted.takeOverBookings ?? false,
      create_missing: wanted.createMissing ?? false,
      replaces_quelle: wanted.replaces?.quelle ?? null,
      replaces_since: wanted.replaces?.since ?? null,
      allow_removal: wanted.replaces?.allowRemoval ?? false,
      job_count: jobCount,
      weight,
      request_id: requestId,
      trace_parent: traceparentNow() ?? null,
      created_by: viewer.personId,
    })
    .execute();
  await nudge(trx, mandatorId, laneOf(weight));
  context.log.info({ batchId, requestId, operation, jobs: jobCount }, 'batch accepted');
  return answer;
}

/** The seconds after which a place in the queue may be free. */
const retryWhenFullSeconds = 10;

/** @throws LimitExceeded when the tenant has as many open batches as it may have (contract 6) */
async function checkOpenBatches(trx: Transaction, { mandatorId }: Viewer, most: number): Promise<void> {
  const { open } = await trx
    .selectFrom('batch')
    .where('mandator_id', '=', mandatorId)
    .where('import_status', 'in', openStatuses)
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .executeTakeFirstOrThrow();
  if (open >= most)
    throw new LimitExceeded(
      `${open} batches of this tenant wait or run, and ${most} may; send this one again when one of them has ended.`,
      retryWhenFullSeconds,
    );
}
