/** SQL conditions on rows of `booking` that depend on the viewer. */
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
 * An aggregate over the lessons of a booking with their `sender`: who counts as its creator. That is the sender of the
 * first lesson; for a private booking, the sender of its private lessons. If these have several senders, it is nobody,
 * because each sender may see only their own.
 */
export const senderOfLessons = sql<number | null>`case
  when min(sender) filter (where privat) is not distinct from max(sender) filter (where privat)
  then (array_agg(sender order by privat desc, job, lektion_id))[1] end`;

/** `maySee` as SQL, for viewers other than displays: a filter by content must not reveal what `maySee` hides. */
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
