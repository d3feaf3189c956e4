/**
 * The feed of changes (contract 5.2). A **change** says that a booking, batch, resource, location or display was made or
 * changed, or that a display is silent or back; its **position** is its place in the feed of its tenant.
 *
 * Invariants: triggers write a change in the transaction that makes it; its position is given after the commit, so that
 * whoever has read up to a position finds all that comes to be seen later behind it, however long its transaction took.
 * Of two changes of one record the later one stands later. Positions up to `changes_forgotten` are no longer kept.
 */
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Context, Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type List, longIdKey, type PageRequest, readPage, toCursor } from '../db/paging.ts';
import { Conflict } from '../errors.ts';
import { checkReader } from '../tenants/service.ts';

export const changeKinds = ['Booking', 'Batch', 'Resource', 'Location', 'Display'] as const;
export type ChangeKind = (typeof changeKinds)[number];
export const changeActions = ['Created', 'Changed'] as const;
export type ChangeAction = (typeof changeActions)[number];

export type Change = {
  position: number;
  kind: ChangeKind;
  /** Digits, or of a batch its UUID. */
  id: string;
  action: ChangeAction;
  /** Of a booking: its resource then, and the location of that; a booking that moves has a change for each of the two. */
  resourceId: number | null;
  locationId: number | null;
  /** When its transaction began. */
  at: Date;
};

/** `nextCursor` is where the feed goes on, also when there is nothing more yet. */
export type ChangePage = { items: Change[]; nextCursor: string; hasMore: boolean };

/** Where to read on: behind a position, from the oldest change that is kept (undefined), or from the present end on. */
export type From = number | 'now' | undefined;

/** A stretch of the feed, and the position up to which it goes. */
export type Stretch = { changes: Change[]; end: number; hasMore: boolean };

type Place = { position: number };
const changeList: List<Place> = { name: 'changes', key: longIdKey, keyOf: ({ position }) => position };

/** @throws Malformed for a cursor that we did not make */
export function readChangePage(
  limit: number | undefined,
  cursor: string | null | undefined,
): { limit: number; after: From } {
  if (cursor === 'now') return { ...readPage(changeList, limit, undefined), after: 'now' };
  return readPage(changeList, limit, cursor);
}

/** The cursor of all that comes after a position. */
export const cursorAt = (position: number) => toCursor(changeList, { position });

/** Rows that get their positions at a time: some milliseconds, in which other readers of the tenant wait. */
const placedAtOnce = 2_000;

const place = (db: Database, mandatorId: number) =>
  sql`select place_changes(${mandatorId}, ${placedAtOnce})`.execute(db);

/** What `changes_forgotten` and the last position are, and whether there are changes without a position. */
const stateOf = (mandatorId: number) => sql<{ forgotten: number; last: number; unplaced: boolean }>`
  select changes_forgotten as forgotten,
    greatest(changes_forgotten, (select max(position) from change where mandator_id = ${mandatorId})) as last,
    exists (select from change where mandator_id = ${mandatorId} and position is null) as unplaced
  from mandator where id = ${mandatorId}`;

/** The position behind which everything stands that is committed from now on, and nothing that was committed before. */
export async function findEnd(db: Database, mandatorId: number): Promise<number> {
  for (;;) {
    const { rows } = await stateOf(mandatorId).execute(db);
    const { last, unplaced } = rows[0] as (typeof rows)[number];
    if (!unplaced) return last;
    await place(db, mandatorId);
  }
}

/**
 * At most `limit` changes behind a position; when there are fewer, those are all that were committed when it was called.
 * @throws Conflict when changes behind the position are no longer kept, or it is none of this feed
 */
export async function readStretch(
  db: Database,
  mandatorId: number,
  { limit, after }: PageRequest,
): Promise<Stretch> {
  const behind = sql`${after ?? null}::bigint`;
  for (;;) {
    // One statement, so that all of it is seen as of one moment.
    const { rows } = await sql<Change & { forgotten: number; last: number; unplaced: boolean }>`
      select feed.*, change.*
      from (${stateOf(mandatorId)}) as feed
      left join lateral (
        select position, kind, subject_id as id, action, resource_id as "resourceId", at,
          (select location_id from resource
            where resource.mandator_id = change.mandator_id and resource.id = change.resource_id) as "locationId"
        from change
        -- There are no gaps: so many positions are so many rows, whatever the planner knows of the table.
        where mandator_id = ${mandatorId} and position > coalesce(${behind}, feed.forgotten)
          and position <= coalesce(${behind}, feed.forgotten) + ${limit + 1}
      ) as change on true
      order by position`.execute(db);
    const { forgotten, last, unplaced } = rows[0] as (typeof rows)[number];
    checkKept(after ?? forgotten, forgotten, last);
    const found = rows
      .filter(({ position }) => position !== null)
      .map(({ forgotten: _forgotten, last: _last, unplaced: _unplaced, ...change }) => change);
    if (found.length <= limit && unplaced) {
      await place(db, mandatorId);
      continue;
    }
    const changes = found.slice(0, limit);
    return { changes, end: changes.at(-1)?.position ?? after ?? forgotten, hasMore: found.length > limit };
  }
}

/** @throws Conflict */
function checkKept(after: number, forgotten: number, last: number): void {
  const remedy =
    'Begin anew: get a cursor with Cursor=now, then read everything, then follow the feed from that cursor.';
  if (after < forgotten) throw new Conflict(`Cursor: changes of that time are no longer kept. ${remedy}`);
  if (after > last)
    throw new Conflict(`Cursor: this feed does not reach as far as the cursor says. ${remedy}`);
}

const underWay = new WeakMap<Database, Map<string, Promise<Stretch>>>();

/**
 * The next stretch behind a position, as `readStretch`. The streams of a process wake together when something has
 * changed; those that stand at one place then get one and the same stretch, read once.
 * @throws Conflict as `readStretch`
 */
export function readTogether(
  db: Database,
  mandatorId: number,
  { limit, after }: { limit: number; after: number },
): Promise<Stretch> {
  const stretches = underWay.get(db) ?? new Map<string, Promise<Stretch>>();
  underWay.set(db, stretches);
  const key = `${mandatorId} ${after} ${limit}`;
  const joined = stretches.get(key);
  if (joined) return joined;
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
  { limit, after }: { limit: number; after: From },
): Promise<ChangePage> {
  checkReader(viewer);
  const { mandatorId } = viewer;
  const behind = after === 'now' ? await findEnd(db, mandatorId) : after;
  const { changes, end, hasMore } = await readStretch(db, mandatorId, { limit, after: behind });
  return { items: changes, nextCursor: cursorAt(end), hasMore };
}

/**
 * The next changes as soon as there are some, or none after `seconds`.
 * @throws Forbidden for a display; Conflict as `readStretch`
 */
export async function waitForChanges(
  { db, notifications }: Pick<Context, 'db' | 'notifications'>,
  viewer: Viewer,
  { limit, after }: { limit: number; after: From },
  seconds: number,
  signal: AbortSignal,
): Promise<ChangePage> {
  checkReader(viewer);
  if (seconds === 0) return await listChanges(db, viewer, { limit, after });
  const { mandatorId } = viewer;
  const behind = after === 'now' ? await findEnd(db, mandatorId) : after;
  const topics = changeKinds.map((kind) => `${kind.toLowerCase()}:${mandatorId}`);
  const news = await notifications.subscribe(...topics);
  const over = AbortSignal.any([signal, notifications.stopping, AbortSignal.timeout(seconds * 1_000)]);
  over.addEventListener('abort', news.close, { once: true });
  try {
    for (;;) {
      const page = await listChanges(db, viewer, { limit, after: behind });
      // Of a batch more is announced than the feed tells.
      if (page.items.length > 0 || over.aborted || !(await news.next())) return page;
    }
  } finally {
    news.close();
  }
}
