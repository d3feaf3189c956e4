/**
 * Who works, by session advisory locks. A runner holds one under its name, and has to ask something over that session every
 * few seconds, or else PostgreSQL ends it (see db/database). So it ends with the process or its link, or when the process
 * hangs; living runners then give the jobs away and end the sessions that worked for it, whatever those are in.
 */
import { type Kysely, sql } from 'kysely';
import { heldLocks } from '../db/advisory-locks.ts';
import type { Database } from '../db/database.ts';
import type { DB } from '../db/tables.ts';
import { lockClasses } from '../flow/locks.ts';
import type { Log } from '../log.ts';

/** Of a job's attempts: the library waits e to their power in seconds. */
export const mostCounted = 5;

/** Says over a session that the runner lives for as long as the session does. */
export async function holdRunner(session: Kysely<DB>, runner: string): Promise<void> {
  await sql`select pg_advisory_lock(${lockClasses.runner}, hashtext(${runner}))`.execute(session);
}

/** Says that a session works for a runner, until it gives its locks up. */
export async function workFor(session: Kysely<DB>, runner: string): Promise<void> {
  await sql`select pg_advisory_lock_shared(${lockClasses.work}, hashtext(${runner}))`.execute(session);
}

export async function unlockAll(session: Kysely<DB>): Promise<void> {
  await sql`select pg_advisory_unlock_all()`.execute(session);
}

/** Whether the database knows all of the runners to be alive. */
export async function areHeld(db: Database, runners: readonly string[]): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select not exists (
      select hashtext(runner) from unnest(${runners}::text[]) as runner
      except
      select number from ${heldLocks(lockClasses.runner)} as alive) as held`.execute(db);
  return rows[0]?.held === true;
}

/** Frees what the dead hold. @param own the names of the runners that ask */
export async function releaseTheDead(session: Kysely<DB>, own: readonly string[], log: Log): Promise<void> {
  const ended = await endSessions(session);
  const pools = await releaseJobs(session, own);
  if (ended.length > 0 || pools.length > 0) log.warn({ pools, ended }, 'jobs of dead workers released');
}

/** Ends the sessions that worked for runners that are dead. @returns the ids of their processes */
async function endSessions(session: Kysely<DB>): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`
    with working as materialized (select * from ${heldLocks(lockClasses.work)} as held),
    alive as materialized (select * from ${heldLocks(lockClasses.runner)} as held),
    orphan as materialized (
      select pid from working where not exists (select from alive where alive.number = working.number)
    )
    select pid, pg_terminate_backend(pid) from orphan`.execute(session);
  return rows.map(({ pid }) => pid);
}

/**
 * Jobs whose runner holds no lock any more are free again; a moment is left to those that are just starting. Each waits as
 * after a failure: it may be what its worker has died of.
 */
async function releaseJobs(session: Kysely<DB>, own: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ pools: string[] | null }>`
    with owner as materialized (
      select locked_by as pool from graphile_worker._private_jobs
      where locked_by <> all (${own}::text[]) group by 1 having max(locked_at) < now() - interval '2 seconds'
    ), dead as materialized (
      select pool from owner where pg_try_advisory_xact_lock(${lockClasses.runner}, hashtext(pool))
    )
    select array_agg(pool) as pools from dead`.execute(session);
  const pools = rows[0]?.pools ?? [];
  if (pools.length === 0) return pools;
  await sql`
    update graphile_worker._private_jobs
    set run_at = greatest(run_at, now() + interval '1 second' * exp(least(attempts, ${mostCounted + 1})) * (0.75 + random() / 2))
    where locked_by = any (${pools}::text[])`.execute(session);
  await sql`select graphile_worker.force_unlock_workers(${pools}::text[])`.execute(session);
  return pools;
}
