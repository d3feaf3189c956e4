/** Accepting a batch (contract 4.2): its body is taken in, then stored and queued in one transaction. */
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { checkBatchUser } from '../access.ts';
import type { Context, Viewer } from '../context.ts';
import { type Database, stateIn, type Transaction } from '../db/database.ts';
import { claimIdempotencyKey } from '../db/idempotency.ts';
import { LimitExceeded } from '../errors.ts';
import { lockClasses } from '../flow/locks.ts';
import { openPlaces } from '../flow/places.ts';
import { personSends } from '../http/body-memory.ts';
import { largestOf } from '../http/request-body.ts';
import { type BatchKey, type ConflictRule, type Operation, openStatuses } from './batch.ts';
import { nudge } from './service.ts';
import { type OpenBody, openBody } from './submission.ts';

export type Submission = {
  operation: Operation;
  /** The bytes of a JSON array of jobs. */
  body: AsyncIterable<Uint8Array>;
  /** The same checks and the same errors as the real run, nothing written. */
  validateOnly?: boolean | undefined;
  /** Fail when absent. */
  onConflict?: ConflictRule | undefined;
  idempotencyKey?: string | undefined;
  requestId: string;
};

export type Accepted = { batchId: string; importStatus: 'AwaitingLessonCreation' };

const large = { of: 'large imports', perPerson: 2, mostWaiting: 4 };
/**
 * Places of this process for large bodies. One that arrives holds a file; one that is stored also a connection of
 * `Context.uploads`, which has 8.
 */
const openLargePlaces = () => ({
  arriving: openPlaces({ ...large, all: 32, perTenant: 4, waitMs: 10_000 }),
  storing: openPlaces({ ...large, all: 8, perTenant: 3, waitMs: 60_000 }),
});

/**
 * Stores a batch and queues it in one transaction: when this returns, it is not lost any more. The body is read to its
 * end, or the whole is as if never sent.
 * @throws Malformed when the body is not a JSON array of objects, TooLarge, RequestTimeout, Conflict or InvalidInput for
 * the key, LimitExceeded, Unavailable
 */
export async function createBatch(context: Context, viewer: Viewer, submission: Submission): Promise<Accepted> {
  checkBatchUser(viewer);
  const { operation, validateOnly = false, onConflict = 'Fail' } = submission;
  const { JobBodyBytes, JobsPerBatch } = context.config.Limits;
  const body = await openBody(submission.body, `${operation} ${validateOnly} ${onConflict}`, {
    mostBytes: JobBodyBytes,
    mostJobs: JobsPerBatch,
    sender: personSends(viewer),
    largest: largestOf(context.config.Limits),
    log: context.log,
  });
  const accept = (db: Database) =>
    db.transaction().execute((trx) => storeBatch(context, trx, viewer, submission, body));
  try {
    if (body.complete) return await accept(context.db);
    const { arriving, storing } = stateIn(context.uploads, openLargePlaces);
    return await arriving.hold(viewer, async () => {
      // What would be refused need not be sent.
      await context.db.transaction().execute((trx) => enter(context, trx, viewer, submission));
      await body.receive();
      return await storing.hold(viewer, () => accept(context.uploads));
    });
  } finally {
    await body.close();
  }
}

/** @throws Conflict when the key is in use, LimitExceeded when a new batch has no place in the queue */
async function enter({ config }: Context, trx: Transaction, viewer: Viewer, { idempotencyKey }: Submission) {
  const claim = idempotencyKey ? await claimIdempotencyKey<Accepted>(trx, viewer, idempotencyKey) : undefined;
  if (!claim?.answered) await checkOpenBatches(trx, viewer, config.Limits.OpenBatches);
  return claim;
}

async function storeBatch(
  context: Context,
  trx: Transaction,
  viewer: Viewer,
  submission: Submission,
  body: OpenBody,
): Promise<Accepted> {
  const { operation, validateOnly = false, onConflict = 'Fail', requestId } = submission;
  const batch = { mandatorId: viewer.mandatorId, id: uuidv7() };
  const claim = await enter(context, trx, viewer, submission);
  const { jobCount, weight } = await body.store(trx, batch, { store: !claim?.answered });
  const answer: Accepted = { batchId: batch.id, importStatus: 'AwaitingLessonCreation' };
  const replayed = await claim?.settle(body.fingerprint(), answer);
  if (replayed) return replayed;
  // Of those that are stored meanwhile, one after another.
  await sql`select pg_advisory_xact_lock(${lockClasses.openBatches}, ${batch.mandatorId})`.execute(trx);
  await checkOpenBatches(trx, batch, context.config.Limits.OpenBatches);
  await trx
    .insertInto('batch')
    .values({
      mandator_id: batch.mandatorId,
      id: batch.id,
      operation,
      validate_only: validateOnly,
      on_conflict: onConflict,
      job_count: jobCount,
      weight,
      request_id: requestId,
      created_by: viewer.personId,
    })
    .execute();
  await nudge(trx, batch.mandatorId);
  const { log } = context;
  log.info({ batchId: batch.id, requestId, operation, jobs: jobCount }, 'batch accepted');
  return answer;
}

/** Seconds after which a place in the queue may be free. */
const retryWhenFull = 10;

/** @throws LimitExceeded when the tenant has as many open batches as it may have (contract 6) */
async function checkOpenBatches(
  trx: Transaction,
  { mandatorId }: Pick<BatchKey, 'mandatorId'>,
  most: number,
): Promise<void> {
  const { open } = await trx
    .selectFrom('batch')
    .where('mandator_id', '=', mandatorId)
    .where('import_status', 'in', openStatuses)
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .executeTakeFirstOrThrow();
  if (open >= most)
    throw new LimitExceeded(
      `${open} batches of this tenant wait or run, and ${most} may; send this one again when one of them has ended.`,
      retryWhenFull,
    );
}
