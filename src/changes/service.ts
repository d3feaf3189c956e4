/**
 * The feed of changes (contract 5.2). A **change** says that a booking, batch, resource, location or display was made or
 * changed, or that a display is silent or back; its **position** is its place in the feed of its tenant.
 *
 * Invariants: triggers write a change in the transaction that makes it; its position is given after the commit, so that
 * whoever has read up to a position finds all that comes to be seen later behind it, however long its transaction took.
 * Of two changes of one record the later one stands later. Positions up to `changes_forgotten` are no longer kept. A
 * **place** is a position with the instant of the change there, which proves that it is of this history: a database that was
 * restored from a backup gives the positions of what it has lost to other changes.
 */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { checkReader } from '../access.ts';
import type { Context, Viewer, Waiter } from '../context.ts';
import { type Database, stateIn } from '../db/database.ts';
import { isCursorOf, type List, longIdKey, readPage, toCursor } from '../db/paging.ts';
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
  type FeedPlace,
  type FeedStretch,
  findEnd,
  readStretch,
} from './feed.ts';
export { changeFigures, forgetOldChanges, placeChanges } from './upkeep.ts';

/** `nextCursor` is where the feed goes on, also when there is nothing more yet. */
export type ChangePage = { items: FeedChange[]; nextCursor: string; hasMore: boolean };

/** Where to read on: behind a place, from the oldest change that is kept (undefined), or from the present end on. */
export type FeedStart = FeedPlace | 'now' | undefined;

type PlaceKey = readonly [position: number, micros: number];
const changeList: List<FeedPlace, PlaceKey> = {
  name: 'changes',
  key: z.tuple([longIdKey, longIdKey]),
  keyOf: ({ position, micros }) => [position, micros],
};
/** As cursors were that did not name their history. */
const formerList = { name: 'changes', key: longIdKey };

/** @throws Malformed for a cursor that we did not make; Conflict for one that names no history */
export function readChangePage(
  limit: number | undefined,
  cursor: string | null | undefined,
): { limit: number; after: FeedStart } {
  if (cursor === 'now') return { ...readPage(changeList, limit, undefined), after: 'now' };
  if (isCursorOf(formerList, cursor)) throw lostHistory();
  const page = readPage(changeList, limit, cursor);
  const [position, micros] = page.after ?? [];
  return {
    limit: page.limit,
    after: position === undefined || micros === undefined ? undefined : { position, micros },
  };
}

/** The cursor of all that comes after a place. */
export const cursorAt = (place: FeedPlace) => toCursor(changeList, place);

const openUnderWay = () => new Map<string, Promise<FeedStretch>>();

/**
 * The next stretch behind a position, as `readStretch`. The streams of a process wake together when something has
 * changed; those that stand at one place then get one and the same stretch, read once.
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
    // What began before a later change may not have seen it.
    stretches.delete(key);
    return readStretch(db, mandatorId, { limit, after });
  });
  stretches.set(key, stretch);
  return stretch;
}

/** @throws Forbidden for a display; Conflict as `readStretch` */
export async function listChanges(
  db: Database,
  viewer: Viewer,
  { limit, after }: { limit: number; after: FeedStart },
): Promise<ChangePage> {
  checkReader(viewer);
  const { mandatorId } = viewer;
  const behind = after === 'now' ? await findEnd(db, mandatorId) : after;
  const { changes, end, hasMore } = await readStretch(db, mandatorId, { limit, after: behind });
  return { items: changes, nextCursor: cursorAt(end), hasMore };
}

/**
 * The next changes as soon as there are some, or none after `seconds`.
 * @throws Forbidden for a display; Conflict as `readStretch`; what `viewerNow` throws
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
  const behind = after === 'now' ? await findEnd(db, mandatorId) : after;
  const topics = changeKinds.map((kind) => `${kind.toLowerCase()}:${mandatorId}`);
  const news = await notifications.subscribe(...topics);
  const over = AbortSignal.any([signal(), notifications.stopping, AbortSignal.timeout(seconds * 1_000)]);
  over.addEventListener('abort', news.close, { once: true });
  try {
    for (let asking = viewer; ; asking = await viewerNow()) {
      const page = await listChanges(db, asking, { limit, after: behind });
      // Of a batch more is announced than the feed tells.
      if (page.items.length > 0 || over.aborted || !(await news.next())) return page;
    }
  } finally {
    news.close();
  }
}

/** Of a resource how it is now, of a booking that of its resource at that time. */
export async function findResourceOf(
  db: Database,
  viewer: Viewer,
  { kind, id, resourceId }: FeedChange,
): Promise<Resource | null> {
  const wanted = kind === 'Resource' ? Number(id) : resourceId;
  return wanted === null ? null : await getResource(db, viewer, wanted);
}

/** Of a location how it is now. */
export const findLocationOf = async (
  db: Database,
  viewer: Viewer,
  { kind, id }: FeedChange,
): Promise<Location | null> => (kind === 'Location' ? await getLocation(db, viewer, Number(id)) : null);
