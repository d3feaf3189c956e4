/**
 * Which jobs a person sees and may change if rooms are hidden from them. To see a job, one visible lesson is enough; to
 * change it, all must be visible. A job without lessons is in no room: only its sender sees and changes it.
 */
import { type RawBuilder, sql } from 'kysely';
import { hiddenRooms, inReach, seesAll } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Running } from './batch.ts';

type BatchSender = Pick<Running, 'mandatorId' | 'createdBy'>;

/** Whether the viewer sees a job, on the table lesson_job as `job`. */
export const seesJob = (viewer: Viewer): RawBuilder<boolean> =>
  viewer.hiddenRooms.length === 0
    ? sql`true`
    : sql`(
      exists (select from lesson where lesson.mandator_id = job.mandator_id and lesson.job = job.id
        ${inReach(viewer, 'lesson.resource_id')})
      or job.created_by = ${viewer.personId} and not exists (
        select from lesson where lesson.mandator_id = job.mandator_id and lesson.job = job.id))`;

/** The rooms that are now hidden from the sender of a batch. */
export const hiddenFrom = ({ mandatorId, createdBy }: BatchSender): RawBuilder<number[]> =>
  sql`(select ${hiddenRooms} from person where mandator_id = ${mandatorId} and id = ${createdBy})::integer[]`;

/** Whether the sender of a batch may change a job (lesson_job as `stored`); reads no lessons if the sender sees all rooms. */
export const mayChangeJob = (batch: BatchSender): RawBuilder<boolean> => sql`(${hiddenFrom(batch)} = '{}' or (
  not exists (select from lesson where lesson.mandator_id = stored.mandator_id and lesson.job = stored.id
    and lesson.resource_id = any (${hiddenFrom(batch)}))
  and (stored.created_by = ${batch.createdBy} or exists (
    select from lesson where lesson.mandator_id = stored.mandator_id and lesson.job = stored.id))))`;

/** Whether the sender, who may not change the job with this JobID, sees some of its lessons. */
export const seesPart = (batch: BatchSender, jobId: RawBuilder<unknown>): RawBuilder<boolean> => sql`exists (
  select from lesson_job as stored
  join lesson on lesson.mandator_id = stored.mandator_id and lesson.job = stored.id
  where stored.mandator_id = ${batch.mandatorId} and stored.job_id = ${jobId}
    and lesson.resource_id <> all (${hiddenFrom(batch)}))`;

/**
 * Whether a batch would publish somebody else's private lesson, which its sender may not see (`maySeePrivate`): of the
 * merged lesson, whose stored version is `stored`.
 */
export const discloses = ({ mandatorId, createdBy }: BatchSender): RawBuilder<boolean> => sql`(
  coalesce((stored).privat, false) and not coalesce(lesson.privat, false)
  and not exists (select from lesson_job where mandator_id = ${mandatorId} and id = lesson.job and created_by = ${createdBy})
  and not exists (select from person where mandator_id = ${mandatorId} and id = ${createdBy} and ${seesAll}))`;
