/**
 * The feed of changes (contract 5.2). A **change** records that a booking, batch, resource, location or display was created
 * or changed, or that a display is silent or back; its **position** is its number in the feed of its tenant.
 *
 * Invariants: triggers write a change in the same transaction as the record; it gets its position after the commit. So a
 * change that becomes visible later always has a greater position, however long its transaction took. Changes of one record
 * keep their order. Changes up to the position `changes_forgotten` have been deleted. A **place** is a position with the
 * instant of the change there, which proves that it is of this history: a database restored from a backup gives the
 * positions of lost changes to others.
 */
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { z } from 'zod';
import { checkReader, mayShow } from '../access.ts';
import type { Context, Viewer, Waiter } from '../context.ts';
import { type Database, stateIn } from '../db/database.ts';
import { isCursorOf, keyAt, type List, lengthOf, longIdKey, toCursor } from '../db/paging.ts';
import { getLocation, getResource, type Location, type Resource } from '../tenants/service.ts';
import {
  changeKinds,
  type FeedChange,
  type FeedPlace,
  type FeedStretch,
  findEnd,
  lostHistory,
  readStretch,
} from './feed.ts';

export {
  changeActions,
  changeKinds,
  type FeedChange,
  type FeedEvent,
  type FeedPlace,
  type FeedStretch,
  findEnd,
  readEvents,
  readStretch,
} from './feed.ts';
export { changeFigures, forgetOldChanges, hasUnplaced, mayHaveUnplaced, placeChanges } from './upkeep.ts';

/** `nextCursor` continues the feed, also when there are no further changes yet. */
export type ChangePage = { items: FeedChange[]; nextCursor: string; hasMore: boolean };

/** Where to start reading: after a place, at the oldest kept change (undefined), or at the present end. */
export type FeedStart = FeedPlace | 'now' | undefined;

type PlaceKey = readonly [position: number, micros: number];
const changeList: List<FeedPlace, PlaceKey> = {
  name: 'changes',
  key: z.tuple([longIdKey, longIdKey]),
  keyOf: ({ position, micros }) => [position, micros],
};
/** Cursors of earlier releases, which have a position without an instant. */
const formerList = { name: 'changes', key: longIdKey };

const wrongCursor = 'Cursor: pass a cursor of the feed of changes unchanged, or "now" for changes from now on.';

/** @throws Malformed for a cursor that is not of this feed; Conflict for one of an earlier release */
export function readChangePage(
  limit: number | undefined,
  cursor: string | null | undefined,
): { limit: number; after: FeedStart } {
  if (cursor === 'now') return { limit: lengthOf(limit), after: 'now' };
  if (isCursorOf(formerList, cursor)) throw lostHistory();
  const [position, micros] = keyAt(changeList, cursor, wrongCursor) ?? [];
  return {
    limit: lengthOf(limit),
    after: position === undefined || micros === undefined ? undefined : { position, micros },
  };
}

export const cursorAt = (place: FeedPlace) => toCursor(changeList, place);

const openUnderWay = () => new Map<string, Promise<FeedStretch>>();

/**
 * Shares one `readStretch` among the streams of a process that wait at the same place: a change wakes all of them at once.
 * @throws Conflict as `readStretch`
 */
export function readTogether(
  db: Database,
  mandatorId: number,
  { limit, after }: { limit: number; after: FeedPlace },
): Promise<FeedStretch> {
  const stretches = stateIn(db, openUnderWay);
  const key = `${mandatorId} ${after.position} ${after.micros} ${limit}`;
  const joined = stretches.get(key);
  if (joined !== undefined) return joined;
  const stretch = setImmediate().then(() => {
    // A later caller must not join this read: it may miss the change that woke that caller.
    stretches.delete(key);
    return readStretch(db, mandatorId, { limit, after });
  });
  stretches.set(key, stretch);
  return stretch;
}

/** Whether the caller may see the resource of the change; for a booking, its resource at that time. */
const isShown = (viewer: Viewer, { kind, id, resourceId }: FeedChange): boolean => {
  const resource = kind === 'Resource' ? Number(id) : resourceId;
  return resource === null || mayShow(viewer, resource);
};

/** Those of the batches that the viewer has sent. */
async function ownBatchesAmong(db: Database, viewer: Viewer, changes: readonly FeedChange[]): Promise<Set<string>> {
  const ids = changes.filter(({ kind }) => kind === 'Batch').map(({ id }) => id);
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('batch')
    .where('mandator_id', '=', viewer.mandatorId)
    .where('created_by', '=', viewer.personId)
    .where('id', '=', sql<string>`any (${ids}::uuid[])`)
    .select('id')
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/**
 * `readStretch` without what is hidden from the caller, so a stretch may be empty although more follows. A caller from whom
 * resources are hidden gets no displays, as they may hang in hidden rooms, and no batches of others.
 */
async function readSeen(db: Database, viewer: Viewer, place: Parameters<typeof readStretch>[2]): Promise<FeedStretch> {
  const stretch = await readStretch(db, viewer.mandatorId, place);
  if (viewer.hiddenRooms.length === 0) return stretch;
  const own = await ownBatchesAmong(db, viewer, stretch.changes);
  const changes = stretch.changes.filter((change) =>
    change.kind === 'Batch' ? own.has(change.id) : change.kind !== 'Display' && isShown(viewer, change),
  );
  return { ...stretch, changes };
}

const toChangePage = ({ changes, end, hasMore }: FeedStretch): ChangePage => ({
  items: changes,
  nextCursor: cursorAt(end),
  hasMore,
});

/** @throws Forbidden for a display; Conflict as `readStretch` */
export async function listChanges(
  db: Database,
  viewer: Viewer,
  { limit, after }: { limit: number; after: FeedStart },
): Promise<ChangePage> {
  checkReader(viewer);
  const behind = after === 'now' ? await findEnd(db, viewer.mandatorId) : after;
  return toChangePage(await readSeen(db, viewer, { limit, after: behind }));
}

/**
 * Waits for the next changes; returns none after `seconds`.
 * @throws Forbidden for a display; Conflict as `readStretch`; the errors of `viewerNow`
 */
export async function waitForChanges(
  { db, notifications }: Pick<Context, 'db' | 'notifications'>,
  { viewer, viewerNow, signal }: Waiter,
  { limit, after }: { limit: number; after: FeedStart },
  seconds: number,
): Promise<ChangePage> {
  checkReader(viewer);
  if (seconds === 0) return await listChanges(db, viewer, { limit, after });
  const { mandatorId } = viewer;
  let behind = after === 'now' ? await findEnd(db, mandatorId) : after;
  const topics = changeKinds.map((kind) => `${kind.toLowerCase()}:${mandatorId}`);
  const news = await notifications.subscribe(...topics);
  const over = AbortSignal.any([signal(), notifications.stopping, AbortSignal.timeout(seconds * 1_000)]);
  over.addEventListener('abort', news.close, { once: true });
  try {
    for (let asking = viewer; ; asking = await viewerNow()) {
      checkReader(asking);
      const stretch = await readSeen(db, asking, { limit, after: behind });
      behind = stretch.end;
      if (stretch.changes.length > 0 || over.aborted) return toChangePage(stretch);
      // A batch sends notifications that have no change in the feed; the loop then waits on.
      if (!stretch.hasMore && !(await news.next())) return toChangePage(stretch);
    }
  } finally {
    news.close();
  }
}

/** The changed resource in its present state; for a booking, its resource at the time of the change. */
export async function findResourceOf(
  db: Database,
  viewer: Viewer,
  { kind, id, resourceId }: FeedChange,
): Promise<Resource | null> {
  const wanted = kind === 'Resource' ? Number(id) : resourceId;
  return wanted === null ? null : await getResource(db, viewer, wanted);
}

/** The changed location in its present state. */
export const findLocationOf = async (
  db: Database,
  viewer: Viewer,
  { kind, id }: FeedChange,
): Promise<Location | null> => (kind === 'Location' ? await getLocation(db, viewer, Number(id)) : null);
