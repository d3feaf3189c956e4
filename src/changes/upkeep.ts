/** Background work on the feed: gives positions to changes that no reader has placed yet, and deletes old changes. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { findEnd } from './feed.ts';

const keptDays = 30;
/** Rows of a tenant that one sweep deletes. */
const forgottenAtOnce = 5_000;

/** Gives positions to all changes that have none. */
export async function placeChanges(db: Database, signal: AbortSignal): Promise<void> {
  const tenants = await db
    .selectFrom('change')
    .where('position', 'is', null)
    .select('mandator_id')
    .distinct()
    .execute();
  for (const { mandator_id } of tenants) if (!signal.aborted) await findEnd(db, mandator_id);
}

/** Deletes the oldest changes of each tenant, at most `forgottenAtOnce`, if they are older than `keptDays`. */
export async function forgetOldChanges(db: Database): Promise<void> {
  const isOld = sql<boolean>`at < now() - make_interval(days => ${keptDays})`;
  const { rows } = await sql<{ mandatorId: number }>`
    select mandator.id as "mandatorId" from mandator, lateral (
      select at from change where mandator_id = mandator.id and position is not null order by position limit 1) as oldest
    where ${isOld}`.execute(db);
  for (const { mandatorId } of rows)
    await sql`
      with oldest as materialized (
        select position, at, ${isOld} as is_old from change
        where mandator_id = ${mandatorId} and position is not null order by position limit ${forgottenAtOnce}
      ), forgotten as (
        update mandator set changes_forgotten = old.last, changes_forgotten_at = old.at
        from (
          select max(position) as last, (array_agg(at order by position desc))[1] as at from oldest
          where position < coalesce((select min(position) from oldest where not is_old), position + 1)
        ) as old
        where id = ${mandatorId} and old.last > changes_forgotten
        returning changes_forgotten as last
      )
      delete from change using forgotten where mandator_id = ${mandatorId} and position <= forgotten.last`.execute(db);
}

/** Metrics of the feeds of all tenants. */
export const changeFigures = {
  roomgate_oldest_unplaced_change_seconds: {
    help: 'Age of the oldest change that no feed tells yet',
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
