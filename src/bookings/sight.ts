/** Conditions on rows of the table booking that depend on who asks. */
import { type RawBuilder, sql } from 'kysely';
import { groupsOfDecider, maySeeAll } from '../access.ts';
import type { Viewer } from '../context.ts';
import { isRequested } from './status.ts';

/** The condition that a booking is a request about which the viewer may decide. */
export function isDecidable(viewer: Viewer): RawBuilder<boolean> {
  const groupIds = groupsOfDecider(viewer);
  if (groupIds === null) return isRequested;
  return sql`${isRequested} and exists (
    select from resource as room
    join policy on policy.mandator_id = room.mandator_id and policy.id = room.policy_id
    where room.mandator_id = ${viewer.mandatorId} and room.id = booking.resource_id and policy.may_decide && ${groupIds}::integer[])`;
}

/**
 * Who has created a booking of lessons, on its rows of lesson with the `sender` of each: the sender of the first. If it is private,
 * the sender of its private lessons, or nobody if they are of several: each of them may see only those of their own.
 */
export const senderOfLessons = sql<number | null>`case
  when min(sender) filter (where privat) is not distinct from max(sender) filter (where privat)
  then (array_agg(sender order by privat desc, job, lektion_id))[1] end`;

/** The condition of `maySee` for a viewer who is no display: a filter by content must not reveal what `maySee` hides. */
export function amongVisible(viewer: Viewer): RawBuilder<boolean> {
  if (maySeeAll(viewer)) return sql`true`;
  const { personId } = viewer;
  return sql`(not booking.is_private or booking.organizer_id = ${personId} or booking.created_by = ${personId}
    or booking.decided_by = ${personId} or ${isDecidable(viewer)}
    or booking.kind = 'Lesson' and ${personId} = (
      select ${senderOfLessons} from (
        select privat, job, lektion_id, lesson_job.created_by as sender from lesson
        join lesson_job on lesson_job.mandator_id = lesson.mandator_id and lesson_job.id = lesson.job
        where lesson.mandator_id = booking.mandator_id and lesson.booking_id = booking.id) as lesson))`;
}
