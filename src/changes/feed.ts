/** The stored feed: gives positions to changes, and reads stretches. */
import { type RawBuilder, sql } from 'kysely';
import { type Database, isStandby } from '../db/database.ts';
import { Conflict } from '../errors.ts';
import { isUnwritable } from '../flow/database-errors.ts';

export const changeKinds = ['Booking', 'Batch', 'Resource', 'Location', 'Display'] as const;
export type ChangeKind = (typeof changeKinds)[number];
export const changeActions = ['Created', 'Changed'] as const;
export type ChangeAction = (typeof changeActions)[number];

export type FeedChange = {
  position: number;
  kind: ChangeKind;
  /** Digits; for a batch its UUID. */
  id: string;
  action: ChangeAction;
  /**
   * For a booking: its resource at that time, and the location of that resource. A move to another resource makes a change for
   * each of the two.
   */
  resourceId: number | null;
  locationId: number | null;
  /** When its transaction began. */
  at: Date;
};

/** A change, or a conflict of a mail item, with its `micros` and its effect (sql/000060_events.sql). */
export type FeedEvent = FeedChange & { micros: number; became: string | null; mailItemId: number | null };

/** `micros`: the beginning of the change at the position, in microseconds since 1970; 0 before the first change. */
export type FeedPlace = { position: number; micros: number };

/** A stretch of the feed; `end` is the place of its last change. */
type FeedPart<Change> = { changes: Change[]; end: FeedPlace; hasMore: boolean };
export type FeedStretch = FeedPart<FeedChange>;

/** Rows that get positions in one statement, some milliseconds for which other readers of the tenant wait. */
const placedAtOnce = 2_000;

/** @returns false while the primary is read-only; changes with a position can still be read */
async function place(db: Database, mandatorId: number): Promise<boolean> {
  try {
    await sql`select place_changes(${mandatorId}, ${placedAtOnce})`.execute(db);
    return true;
  } catch (error) {
    if (isUnwritable(error) && !isStandby(db)) return false;
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

/** The query for the beginning and the end of the feed. */
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
 * The present end of the feed: changes committed from now on come after it, earlier ones do not. While the database is
 * read-only, changes without a position come after it too.
 */
export async function findEnd(db: Database, mandatorId: number): Promise<FeedPlace> {
  for (;;) {
    const { rows } = await stateOf(mandatorId).execute(db);
    const { last, lastMicros, unplaced } = rows[0] as State;
    if (!unplaced || !(await place(db, mandatorId))) return { position: last, micros: lastMicros };
  }
}

/** A change with its own micros, the state of its feed, and the micros of the change at the wanted position. */
type Row = State & FeedEvent & { seenMicros: number | null };

/**
 * Reads at most `limit` changes after a place. Fewer than `limit` are all that were committed at the time of the call; while
 * the database is read-only, changes without a position are missing.
 * @throws Conflict when changes after the place have been deleted, or the place is not of this feed's history
 */
export async function readEvents(
  db: Database,
  mandatorId: number,
  { limit, after }: { limit: number; after: FeedPlace | undefined },
): Promise<FeedPart<FeedEvent>> {
  const behind = sql`${after?.position ?? null}::bigint`;
  let mayPlace = true;
  for (;;) {
    // One statement reads the state and the changes from one snapshot.
    const { rows } = await sql<Row>`
      select feed.*, change.*,
        (select ${microsOf(sql`at`)} from change where mandator_id = ${mandatorId} and position = ${behind}) as "seenMicros"
      from (${stateOf(mandatorId)}) as feed
      left join lateral (
        select position, kind, subject_id as id, action, resource_id as "resourceId", became, mail_item_id::float8 as "mailItemId", at, ${microsOf(sql`at`)} as micros,
          (select location_id from resource
            where resource.mandator_id = change.mandator_id and resource.id = change.resource_id) as "locationId"
        from change
        -- Positions have no gaps, so that a range of positions limits the rows, whatever the planner's statistics.
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
      changes: told.map(({ position, kind, id, action, resourceId, locationId, at, micros, became, mailItemId }) => ({
        position,
        kind,
        id,
        action,
        resourceId,
        locationId,
        at,
        micros,
        became,
        mailItemId,
      })),
      end: told.at(-1) ?? after ?? begin,
      hasMore: found.length > limit,
    };
  }
}

/** `readEvents` for readers of the API: without conflicts of mail items, and without the effects of changes. */
export async function readStretch(...asked: Parameters<typeof readEvents>): Promise<FeedStretch> {
  const { changes, ...stretch } = await readEvents(...asked);
  const told = changes.filter(({ mailItemId }) => mailItemId === null);
  return { ...stretch, changes: told.map(({ micros: _, became: __, mailItemId: ___, ...change }) => change) };
}

const remedy = 'Begin anew: get a cursor with Cursor=now, then read everything, then follow the feed from that cursor.';
export const lostHistory = () =>
  Conflict.because(
    'CursorLost',
    `Cursor: this feed has no such change at that position; the cursor may come from an earlier release, or from a database that has since been restored from a backup. ${remedy}`,
  );

/** @param seenMicros the micros of the change at that position; null if there is none @throws Conflict */
function checkKept({ position, micros }: FeedPlace, begin: FeedPlace, seenMicros: number | null): void {
  if (position < begin.position)
    throw Conflict.because('CursorLost', `Cursor: the changes after it are no longer kept. ${remedy}`);
  if (micros !== (position === begin.position ? begin.micros : seenMicros)) throw lostHistory();
}
