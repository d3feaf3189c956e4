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
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { checkReader } from '../access.ts';
import type { Context, Viewer, Waiter } from '../context.ts';
import { type Database, stateIn } from '../db/database.ts';
import { isCursorOf, type List, longIdKey, readPage, toCursor } from '../db/paging.ts';
import { Conflict } from '../errors.ts';
import { isUnwritable } from '../flow/database-errors.ts';

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

/** `micros`: when the change there began, in microseconds since 1970; 0 before the first. */
export type Place = { position: number; micros: number };

/** Where to read on: behind a place, from the oldest change that is kept (undefined), or from the present end on. */
export type From = Place | 'now' | undefined;

/** A stretch of the feed, and the place up to which it goes. */
export type Stretch = { changes: Change[]; end: Place; hasMore: boolean };

type PlaceKey = readonly [position: number, micros: number];
const changeList: List<Place, PlaceKey> = {
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
): { limit: number; after: From } {
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
export const cursorAt = (place: Place) => toCursor(changeList, place);

/** Rows that get their positions at a time: some milliseconds, in which other readers of the tenant wait. */
const placedAtOnce = 2_000;

/** @returns false where nothing can be written: what has a position is told all the same */
async function place(db: Database, mandatorId: number): Promise<boolean> {
  try {
    await sql`select place_changes(${mandatorId}, ${placedAtOnce})`.execute(db);
    return true;
  } catch (error) {
    if (isUnwritable(error)) return false;
    throw error;
  }
}

const microsOf = (instant: RawBuilder<unknown>) => sql`(extract(epoch from ${instant}) * 1000000)::bigint`;

type State = {
  forgotten: number;
  forgottenMicros: number;
  last: number;
  lastMicros: number;
  /** Whether there are changes without a position. */
  unplaced: boolean;
};

/** Where the feed begins and ends. */
const stateOf = (mandatorId: number) => sql<State>`
  select changes_forgotten as forgotten, coalesce(${microsOf(sql`changes_forgotten_at`)}, 0) as "forgottenMicros",
    coalesce(final.position, changes_forgotten) as last,
    coalesce(${microsOf(sql`coalesce(final.at, changes_forgotten_at)`)}, 0) as "lastMicros",
    exists (select from change where mandator_id = ${mandatorId} and position is null) as unplaced
  from mandator
  left join lateral (
    select position, at from change where mandator_id = ${mandatorId} and position is not null
    order by position desc limit 1) as final on true
  where id = ${mandatorId}`;

/**
 * The place behind which everything stands that is committed from now on, and nothing that was committed before, but for
 * what has no position yet where nothing can be written.
 */
export async function findEnd(db: Database, mandatorId: number): Promise<Place> {
  for (;;) {
    const { rows } = await stateOf(mandatorId).execute(db);
    const { last, lastMicros, unplaced } = rows[0] as State;
    if (!unplaced || !(await place(db, mandatorId))) return { position: last, micros: lastMicros };
  }
}

/** A change with its own micros, beside the state of its feed and the micros of the change at the wanted position. */
type Row = State & Change & { micros: number; seenMicros: number | null };

/**
 * At most `limit` changes behind a place; when there are fewer, those are all that were committed when it was called, but
 * for what has no position yet where nothing can be written.
 * @throws Conflict when changes behind the place are no longer kept, or it is none of this feed's history
 */
export async function readStretch(
  db: Database,
  mandatorId: number,
  { limit, after }: { limit: number; after: Place | undefined },
): Promise<Stretch> {
  const behind = sql`${after?.position ?? null}::bigint`;
  let mayPlace = true;
  for (;;) {
    // One statement, so that all of it is seen as of one moment.
    const { rows } = await sql<Row>`
      select feed.*, change.*,
        (select ${microsOf(sql`at`)} from change where mandator_id = ${mandatorId} and position = ${behind}) as "seenMicros"
      from (${stateOf(mandatorId)}) as feed
      left join lateral (
        select position, kind, subject_id as id, action, resource_id as "resourceId", at, ${microsOf(sql`at`)} as micros,
          (select location_id from resource
            where resource.mandator_id = change.mandator_id and resource.id = change.resource_id) as "locationId"
        from change
        -- There are no gaps: so many positions are so many rows, whatever the planner knows of the table.
        where mandator_id = ${mandatorId} and position > coalesce(${behind}, feed.forgotten)
          and position <= coalesce(${behind}, feed.forgotten) + ${limit + 1}
      ) as change on true
      order by position`.execute(db);
    const feed = rows[0] as Row;
    const begin = { position: feed.forgotten, micros: feed.forgottenMicros };
    if (after) checkKept(after, begin, feed.seenMicros);
    const found = rows.filter(({ position }) => position !== null);
    if (found.length <= limit && feed.unplaced && mayPlace) {
      mayPlace = await place(db, mandatorId);
      continue;
    }
    const told = found.slice(0, limit);
    return {
      changes: told.map(({ position, kind, id, action, resourceId, locationId, at }) => ({
        position,
        kind,
        id,
        action,
        resourceId,
        locationId,
        at,
      })),
      end: told.at(-1) ?? after ?? begin,
      hasMore: found.length > limit,
    };
  }
}

const remedy = 'Begin anew: get a cursor with Cursor=now, then read everything, then follow the feed from that cursor.';
const lostHistory = () =>
  new Conflict(
    `Cursor: this feed has no such change at that place; the cursor may be of an earlier release, or of a database that has since been restored from a backup. ${remedy}`,
  );

/** @param seenMicros of the change at that position; null without one @throws Conflict */
function checkKept({ position, micros }: Place, begin: Place, seenMicros: number | null): void {
  if (position < begin.position) throw new Conflict(`Cursor: changes of that time are no longer kept. ${remedy}`);
  if (micros !== (position === begin.position ? begin.micros : seenMicros)) throw lostHistory();
}

const openUnderWay = () => new Map<string, Promise<Stretch>>();

/**
 * The next stretch behind a position, as `readStretch`. The streams of a process wake together when something has
 * changed; those that stand at one place then get one and the same stretch, read once.
 * @throws Conflict as `readStretch`
 */
export function readTogether(
  db: Database,
  mandatorId: number,
  { limit, after }: { limit: number; after: Place },
): Promise<Stretch> {
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
 * @throws Forbidden for a display; Conflict as `readStretch`; what `viewerNow` throws
 */
export async function waitForChanges(
  { db, notifications }: Pick<Context, 'db' | 'notifications'>,
  { viewer, viewerNow, signal }: Waiter,
  { limit, after }: { limit: number; after: From },
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
