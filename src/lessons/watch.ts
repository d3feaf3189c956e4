/** Watching batches: a stream reads at its start, and again at each notification (docs/architecture.md#three-flows). */
import { isDeepStrictEqual } from 'node:util';
import type { Context, Viewer, Waiter } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { TopicChange } from '../db/notifications.ts';
import { mostPerPage } from '../db/paging.ts';
import { outlast } from '../flow/retry.ts';
import { type Batch, type BatchFilter, type ImportStatus, isTerminal } from './batch.ts';
import { findBatch, getBatch, listBatches } from './batches.ts';

/** The topic of all inserts and updates of a tenant's batches, with the BatchId as key. */
export const batchTopic = (viewer: Viewer) => `batch:${viewer.mandatorId}`;

/** How long a poller should wait, by the age of a batch in seconds (specification section 8). */
const pollingSteps = [
  { belowSeconds: 10, waitSeconds: 2 },
  { belowSeconds: 30, waitSeconds: 5 },
  { belowSeconds: 120, waitSeconds: 10 },
  { belowSeconds: 600, waitSeconds: 20 },
];
const longestWaitSeconds = 30;

/** Seconds until the first of these batches should be polled again; undefined when all have ended. */
export function secondsToWait(batches: readonly Batch[]): number | undefined {
  const waits = batches
    .filter(({ importStatus }) => !isTerminal(importStatus))
    .map(({ createdAt }) => {
      const age = (Date.now() - createdAt.getTime()) / 1_000;
      return pollingSteps.find(({ belowSeconds }) => age < belowSeconds)?.waitSeconds ?? longestWaitSeconds;
    });
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

/**
 * The batch as it is, or as soon as it changes within `seconds` (contract 4.4).
 * @throws NotFound; what `viewerNow` throws
 */
export async function waitForBatch(
  context: Context,
  { viewer, viewerNow, signal }: Waiter,
  batchId: string,
  seconds: number,
): Promise<Batch> {
  if (seconds === 0) return await getBatch(context.db, viewer, batchId);
  const changes = await context.notifications.subscribe(batchTopic(viewer));
  try {
    const batch = await getBatch(context.db, viewer, batchId);
    if (isTerminal(batch.importStatus)) return batch;
    const over = AbortSignal.any([signal(), context.notifications.stopping, AbortSignal.timeout(seconds * 1_000)]);
    if (over.aborted) return batch;
    over.addEventListener('abort', changes.close, { once: true });
    for (let change = await changes.next(); change; change = await changes.next()) {
      if (!change.all && !change.keys.has(batch.id)) continue;
      const now = await getBatch(context.db, await viewerNow(), batchId);
      // The notified change may have been read already.
      if (!isDeepStrictEqual(now, batch)) return now;
    }
    return await getBatch(context.db, await viewerNow(), batchId);
  } finally {
    changes.close();
  }
}

/** The batch now and after each visible change, until it has ended or `signal` aborts. */
export async function* watchBatch(
  db: Database,
  viewer: Viewer,
  id: string,
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  let last: Batch | undefined;
  for await (const { all, keys } of changes) {
    // When another batch ends, this one may move up in the queue.
    if (!all && !keys.has(id) && (last?.queuePosition ?? 0) <= 1) continue;
    const batch = await outlast(signal, () => getBatch(db, viewer, id));
    if (!isDeepStrictEqual(batch, last)) yield batch;
    if (isTerminal(batch.importStatus)) return;
    last = batch;
  }
}

/** The newest batches in these states, then each change of a batch that is or was in one of them. */
export async function* watchBatches(
  db: Database,
  viewer: Viewer,
  states: ImportStatus[] | undefined,
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  const list = (importStatus: BatchFilter['importStatus'], limit = mostPerPage) =>
    outlast(signal, async () => (await listBatches(db, viewer, { importStatus }, { limit, after: undefined })).items);
  const isWanted = ({ importStatus }: Batch) => (states ? states.includes(importStatus) : !isTerminal(importStatus));
  // Every batch was in AwaitingLessonCreation, and in AwaitingLessonProcessing if it has a LessonCount.
  const wasWanted = ({ lessonCount }: Batch) =>
    !states ||
    states.includes('AwaitingLessonCreation') ||
    (states.includes('AwaitingLessonProcessing') && lessonCount !== null);
  const watched = new Map<string, Batch>();
  let newestAtStart: number | undefined;
  for await (const { all, keys } of changes) {
    const isFirst = newestAtStart === undefined;
    newestAtStart ??= (await list('All', 1))[0]?.arrival ?? 0;
    // Open batches are few, and their places in the queue change together.
    const batches = await list(isFirst ? states : all ? 'All' : undefined);
    const listed = new Set(batches.map(({ id }) => id));
    const open = watched.values().filter(({ importStatus }) => !isTerminal(importStatus));
    for (const id of new Set([...keys, ...open.map((batch) => batch.id)])) {
      const batch = listed.has(id) ? null : await outlast(signal, () => findBatch(db, viewer, id));
      if (batch) batches.push(batch);
    }
    for (const batch of batches.sort((one, other) => one.arrival - other.arrival)) {
      const last = watched.get(batch.id);
      const isNew = keys.has(batch.id) || batch.arrival > newestAtStart;
      if (!last && !isWanted(batch) && !(isNew && wasWanted(batch))) continue;
      watched.set(batch.id, batch);
      if (!isDeepStrictEqual(batch, last)) yield batch;
    }
    // Ended batches are remembered as long as a list may return them again.
    const ended = [...watched.values()].filter(({ importStatus }) => isTerminal(importStatus));
    for (const { id } of ended.slice(0, -mostPerPage)) watched.delete(id);
  }
}
