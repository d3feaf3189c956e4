/** Background work on the feed: gives positions to changes that no reader has placed yet, and deletes old changes. */
import { type RawBuilder, sql } from 'kysely';
import pLimit from 'p-limit';
import { type Database, stateIn } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { rests } from '../db/resting.ts';
import { findEnd } from './feed.ts';

/** Rows of a tenant that one statement deletes. */
const forgottenAtOnce = 5_000;

/** For how many tenants changes get positions at a time, so that none waits for the imports of all the others. */
const placedTogether = 4;

/**
 * All changes with an id up to `placed` have positions. `last` is the last id that the previous round saw assigned;
 * `ends` is later than every transaction that can have got one of the ids up to `awaited`.
 */
type Placed = { placed: number; last: number; awaited?: { id: number; ends: string } | undefined };

const openPlaced = (): Placed => ({ placed: 0, last: 0 });

const lastGiven = sql`coalesce(pg_sequence_last_value(pg_get_serial_sequence('change', 'id')::regclass), 0)`;

/**
 * The changes of a tenant without positions. Ids up to `placed` are passed over: until PostgreSQL cleans it up, the index
 * of changes without positions keeps the entries of those that have got one, thousands of pages after an import.
 */
const unplacedOf = (db: Database, mandatorId: RawBuilder<unknown>) => sql`
  select from change
  where change.mandator_id = ${mandatorId} and position is null and change.id > ${stateIn(db, openPlaced).placed}`;

/** SQL: whether a tenant has changes without positions. */
export const hasUnplaced = (db: Database, mandatorId: RawBuilder<unknown>) =>
  sql<boolean>`exists (${unplacedOf(db, mandatorId)})`;

/** SQL: whether there may be changes without positions. */
export function mayHaveUnplaced(db: Database): RawBuilder<unknown> {
  const { placed, last, awaited } = stateIn(db, openPlaced);
  return awaited || placed !== last ? sql`true` : sql`${lastGiven} <> ${last}::bigint`;
}

/**
 * Gives positions to all changes that have none. An id counts as seen only once every transaction that was running when
 * it was given out has ended: until then it may still be committed, long after later ids.
 */
export async function placeChanges(db: Database, signal: AbortSignal): Promise<void> {
  const state = stateIn(db, openPlaced);
  const unplaced = unplacedOf(db, sql`mandator.id`);
  const { rows } = await sql<{ last: number; begun: string; areOver: boolean | null; tenants: number[] }>`
    select ${lastGiven} as last,
      pg_snapshot_xmax(pg_current_snapshot())::text as begun,
      pg_snapshot_xmin(pg_current_snapshot()) >= ${state.awaited?.ends ?? null}::xid8
        and not exists (select from mandator where exists (${unplaced} and change.id <= ${state.awaited?.id ?? null}))
        as "areOver",
      array(select id from mandator where exists (${unplaced}) and not ${rests(sql`mandator.id`)}) as tenants`.execute(
    db,
  );
  const { last, begun, areOver, tenants } = rows[0]!;
  // A database that was restored begins again.
  if (last < state.last) Object.assign(state, { placed: 0, awaited: undefined });
  if (state.awaited && areOver) {
    state.placed = state.awaited.id;
    state.awaited = undefined;
  }
  // The last id that the previous statement saw: the one of this statement may belong to a transaction younger than its snapshot.
  if (!state.awaited && state.last > state.placed) state.awaited = { id: state.last, ends: begun };
  state.last = last;
  await pLimit(placedTogether).map(tenants, async (mandatorId) => {
    if (!signal.aborted) await findEnd(db, mandatorId);
  });
}

/** Deletes changes that are older than so many days, the oldest first, in portions of a tenant. */
export async function forgetOldChanges(db: Database, days: number, signal?: AbortSignal): Promise<void> {
  const isOld = sql<boolean>`at < ${daysAgo(days)}`;
  const { rows } = await sql<{ mandatorId: number }>`
    select mandator.id as "mandatorId" from mandator, lateral (
      select at from change where mandator_id = mandator.id and position is not null order by position limit 1) as oldest
    where ${isOld}`.execute(db);
  const forgetSome = async (mandatorId: number) => {
    const { numAffectedRows = 0n } = await sql`
      with oldest as materialized (
        select position, at, ${isOld} as is_old from change
        where mandator_id = ${mandatorId} and position is not null order by position limit ${forgottenAtOnce}
      ), forgotten as (
        update mandator set changes_forgotten = old.last, changes_forgotten_at = old.at
        from (
          select max(position) as last, (array_agg(at order by position desc))[1] as at from oldest
          where position < coalesce((select min(position) from oldest where not is_old), position + 1)
        ) as old
        where id = ${mandatorId} and old.last > changes_forgotten and not ${rests(sql`mandator.id`)}
        returning changes_forgotten as last
      )
      delete from change using forgotten where mandator_id = ${mandatorId} and position <= forgotten.last`.execute(db);
    return Number(numAffectedRows);
  };
  for (const { mandatorId } of rows) while (!signal?.aborted && (await forgetSome(mandatorId)) === forgottenAtOnce);
}

/** Metrics of the feeds of all tenants. */
export const changeFigures = {
  roomgate_oldest_unplaced_change_seconds: {
    help: 'Age of the oldest change that has no position in its feed yet',
    async read(db: Database) {
      const { age } = await db
        .selectFrom('change')
        .where('position', 'is', null)
        .select(sql<number>`coalesce(extract(epoch from now() - min(at)), 0)::float8`.as('age'))
        .executeTakeFirstOrThrow();
      return age;
    },
  },
};
