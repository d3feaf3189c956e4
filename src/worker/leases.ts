/**
 * Session advisory locks show which runners are alive. A runner holds one under its name, and must use that session
 * every few seconds, or else PostgreSQL ends it (db/database.ts). So the lock ends when the process dies, hangs or
 * loses its network. Living runners then release the dead runner's jobs and end the sessions that worked for it, even
 * within a transaction.
 */
import { type Kysely, sql } from 'kysely';
import { heldLocks } from '../db/advisory-locks.ts';
import type { Database } from '../db/database.ts';
import type { DB } from '../db/tables.ts';
import { lockClasses } from '../flow/locks.ts';
import type { Log } from '../log.ts';

/** The most attempts that a job is recorded with: the library waits exp(attempts) seconds before the next. */
export const mostCounted = 5;

/** Shows that runners may take jobs before they hold their locks, until `endStart` or the end of the session. */
export async function beginStart(session: Kysely<DB>): Promise<void> {
  await sql`select pg_advisory_lock_shared(${lockClasses.starting}, 0)`.execute(session);
}

export async function endStart(session: Kysely<DB>): Promise<void> {
  await sql`select pg_advisory_unlock_shared(${lockClasses.starting}, 0)`.execute(session);
}

/** Takes the lock that shows a runner to be alive for as long as the session lives. */
export async function holdRunner(session: Kysely<DB>, runner: string): Promise<void> {
  await sql`select pg_advisory_lock(${lockClasses.runner}, hashtext(${runner}))`.execute(session);
}

/** Takes the lock that shows a session to work for a runner, until the session gives up its locks. */
export async function workFor(session: Kysely<DB>, runner: string): Promise<void> {
  await sql`select pg_advisory_lock_shared(${lockClasses.work}, hashtext(${runner}))`.execute(session);
}

export async function unlockAll(session: Kysely<DB>): Promise<void> {
  await sql`select pg_advisory_unlock_all()`.execute(session);
}

/** Whether all of the runners hold their locks. */
export async function areHeld(db: Database, runners: readonly string[]): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select not exists (
      select hashtext(runner) from unnest(${runners}::text[]) as runner
      except
      select number from ${heldLocks(lockClasses.runner)} as alive) as held`.execute(db);
  return rows[0]?.held === true;
}

/**
 * Ends the sessions that worked for dead runners, and releases the jobs of these runners; while a worker is starting, not those
 * of a runner that took a job less than 2 s ago. A job may have caused its worker's death, so from its second attempt on it
 * waits as after a failure. Most jobs have not, so after its first attempt a job does not wait.
 * @param own the names of the calling runners
 * @returns whether jobs were left because a worker is starting: it is then worth coming back soon
 */
export async function releaseTheDead(session: Kysely<DB>, own: readonly string[], log: Log): Promise<boolean> {
  const { rows } = await sql<{ ended: number[]; pools: string[]; isLeft: boolean }>`
    with working as materialized (select * from ${heldLocks(lockClasses.work)} as held),
    alive as materialized (select * from ${heldLocks(lockClasses.runner)} as held),
    orphan as materialized (
      -- A COMMIT that waits for a standby would return as if the standby had received it.
      select pid from working where not exists (select from alive where alive.number = working.number)
        and not exists (
          select from pg_stat_activity as session where session.pid = working.pid and session.wait_event = 'SyncRep')
    ), ended as materialized (
      select pid, pg_terminate_backend(pid) from orphan
    ), starting as materialized (select * from ${heldLocks(lockClasses.starting)} as held),
    owner as materialized (
      select locked_by as pool,
        max(locked_at) >= now() - interval '2 seconds' and exists (select from starting) as is_new
      from graphile_worker._private_jobs where locked_by <> all (${own}::text[]) group by 1
    ), dead as materialized (
      select pool from owner where not is_new and pg_try_advisory_xact_lock(${lockClasses.runner}, hashtext(pool))
    )
    select array(select pid from ended) as ended, array(select pool from dead) as pools,
      exists (select from owner where is_new and hashtext(pool) not in (select number from alive)) as "isLeft"`.execute(
    session,
  );
  const { ended, pools, isLeft } = rows[0]!;
  if (pools.length > 0) {
    await sql`
      update graphile_worker._private_jobs
      set run_at = greatest(run_at, now() + interval '1 second'
        * (exp(least(attempts, ${mostCounted + 1})) - exp(1)) * (0.75 + random() / 2))
      where locked_by = any (${pools}::text[])`.execute(session);
    // The library's own notification for jobs whose time may have changed: it makes the alarm of each worker look for them.
    await sql`
      select graphile_worker.force_unlock_workers(${pools}::text[]), pg_notify('jobs:insert', '{"count":-1}')`.execute(
      session,
    );
  }
  if (pools.length > 0 || ended.length > 0) log.warn({ pools, ended }, 'jobs of dead workers released');
  return isLeft;
}
