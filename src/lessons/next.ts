/** The next batch of a tenant: whether it is due, and in which lane it runs. */
import { sql } from 'kysely';
import { heldLocks } from '../db/advisory-locks.ts';
import type { Database } from '../db/database.ts';
import { executePrepared } from '../db/prepared.ts';
import { lockClasses } from '../flow/locks.ts';
import { type BatchKey, openStatuses } from './batch.ts';
import { lessonList, member, replaceField } from './fields.ts';

/** The greatest `BodySize.weight` of a short batch, about a second's work. Lessons of replaced jobs count too. */
const shortUpTo = 1_000;

/** The lane of a batch, as far as the request determines it. */
export const laneOf = (weight: number): 'short' | 'long' => (weight > shortUpTo ? 'long' : 'short');

export const isOpen = sql<boolean>`import_status in (${sql.join(openStatuses.map((status) => sql.lit(status)))})`;
/** SQL: whether there are batches to import. */
export const hasOpen = sql<boolean>`exists (select from batch where ${isOpen})`;

/** Whether a batch waits only for a worker. The pause after a failed start does not delay a cancellation. */
export const isDue = sql<boolean>`(cancel_requested or coalesce(not_before <= now(), true))`;

/** Whether a worker is on a batch of the tenant `mandator_id`. */
export const isWorkedOn = sql<boolean>`exists (
  select from ${heldLocks(lockClasses.batches)} as held where number = mandator_id)`;

/** Whether a job loses the lessons that its batch does not list. */
const isWhole = sql`case operation
  when 'Delete' then coalesce(${lessonList}, 'null') = 'null'
  when 'Update' then ${member(sql`body`, replaceField.name)} = 'true' else false end`;

export type NextBatch = BatchKey & { isDue: boolean; isLong: boolean };

/** Finds the tenant's oldest open batch. Looks up lessons job by job: a join might read all lessons of the tenant. */
export async function findNext(db: Database, mandatorId: number): Promise<NextBatch | undefined> {
  const next = sql<NextBatch>`
    select mandator_id as "mandatorId", id, ${isDue} as "isDue",
      case
        when coalesce(weight > ${shortUpTo}, true) then true
        when operation = 'Create' then false
        else (
          select count(*) > ${shortUpTo} from (
            select from (
              select lesson_job.id from batch_job
              join lesson_job on lesson_job.mandator_id = batch_job.mandator_id and lesson_job.job_id = batch_job.job_id
              where batch_job.mandator_id = batch.mandator_id and batch_job.batch_id = batch.id and ${isWhole}
              union
              select id from lesson_job
              where mandator_id = batch.mandator_id and batch.replaces_quelle is not null and quelle = batch.replaces_quelle
            ) as whole
            cross join lateral (
              select from lesson where lesson.mandator_id = batch.mandator_id and lesson.job = whole.id offset 0) as lesson
            limit ${shortUpTo + 1}) as unlisted)
      end as "isLong"
    from batch
    where mandator_id = ${mandatorId} and ${isOpen}
    order by arrival limit 1`;
  return (await executePrepared(db, 'next batch', next.compile(db)))[0];
}
