/**
 * The errors of a staged batch: each kind is a query of rows (severity, index, lektion_index, rank, field, code, message).
 * The same batch always gives the same messages.
 */
import { type RawBuilder, sql } from 'kysely';
import { mostCoupled } from '../bookings/service.ts';
import type { BatchKey, JobOperation, Running } from './batch.ts';
import { bookingsInTheWay } from './conflicts.ts';
import { fieldFindings, fieldsOf, shown } from './fields.ts';
import { isJoining, live } from './plan.ts';
import { mayChangeJob, seesPart } from './sight.ts';
import { hasWrongEnd, roomOf } from './staging.ts';

export type FaultQuery = RawBuilder<unknown>;

export const severity = { error: sql`'Error' as severity`, warning: sql`'Warning' as severity` };
export const none = sql`null::bigint as lektion_index`;
/** A name as messages show it: cut, and never null, since null would make the whole message null. */
export const named = (text: RawBuilder<unknown>) => sql`coalesce(left(${text}, 80), '(none)')`;
const span = (range: RawBuilder<unknown>) =>
  sql`to_char(lower(${range}), 'YYYY-MM-DD HH24:MI') || '-' || to_char(upper(${range}), 'HH24:MI') || ' UTC'`;

/** For each operation: the fault of a job whose LektionList is missing, and the message for a missing or empty one. */
const lists: Record<JobOperation, { missing: FaultQuery; remedy: string; empty: string }> = {
  Create: {
    missing: sql`coalesce(list, 'null') = 'null'`,
    remedy: 'LektionList is missing',
    empty: 'LektionList is empty; a job needs at least one lesson',
  },
  Update: {
    missing: sql`list = 'null' or (list is null and replace_list = 'true')`,
    remedy: 'LektionList is missing; leave it out only where ReplaceLektionList is not true',
    empty: 'LektionList is empty; leave it out to change the job alone, and delete a job with jobs/delete',
  },
  Delete: {
    missing: sql`false`,
    remedy: '',
    empty: 'LektionList is empty; leave it out to delete the whole job',
  },
};

function fieldErrors(operation: JobOperation): FaultQuery[] {
  const fields = fieldsOf[operation];
  const { missing, remedy, empty } = lists[operation];
  return [
    sql`select ${severity.error}, index, ${none}, rank, field, code, message
        from body_job cross join lateral ${fieldFindings(fields.job, 'body_job', sql`true`)} where code is not null`,
    sql`select ${severity.error}, index, ${none}, 90, 'LektionList',
          case when ${missing} or list = '[]' then 'MissingField' else 'InvalidType' end,
          case when ${missing} then ${sql.lit(remedy)} when list = '[]' then ${sql.lit(empty)}
               else 'LektionList must be an array of lessons, not ' || ${shown(sql`list`)} end
        from body_job where ${missing} or jsonb_typeof(list) not in ('array', 'null') or list = '[]'`,
    sql`select ${severity.error}, index, lektion_index, 0, null, 'InvalidType', 'a lesson must be an object, not ' || ${shown(sql`lesson`)}
        from body_lesson where jsonb_typeof(lesson) <> 'object'`,
    sql`select ${severity.error}, index, lektion_index, rank, field, code, message
        from body_lesson cross join lateral ${fieldFindings(fields.lesson, 'body_lesson', sql`body_lesson.is_new`)}
        where code is not null and jsonb_typeof(lesson) = 'object'`,
    sql`select ${severity.error}, index, lektion_index, 2, 'Ende', 'InvalidTime',
          case when ende <= beginn then 'Ende must be after Beginn' else 'a lesson may last 24 hours at most' end
        from staged_lesson where action <> 'delete' and ${hasWrongEnd}`,
  ];
}

/** Whether the sent job names an unknown location, in which none of its rooms can be found. */
const hasWrongStandort = ({ mandatorId }: BatchKey) => sql`(coalesce(job.standort, '') <> ''
  and exists (select from body_job where body_job.index = job.index and jsonb_typeof(body_job.standort) = 'string')
  and not exists (
    select from location where location.mandator_id = ${mandatorId} and location.name_key = name_key(job.standort)))`;

const referenceErrors = (batch: BatchKey): FaultQuery[] => [
  sql`select ${severity.error}, index, ${none}, 3, 'Standort', 'UnknownResource', 'Unknown location: ' || ${named(sql`standort`)}
      from staged_job as job
      where ${hasWrongStandort(batch)} and exists (
        select from staged_lesson where staged_lesson.index = job.index and matches <> 1 and ressource_name is not null)`,
  sql`select ${severity.error}, index, lektion_index, 3, 'RessourceName',
        case when lesson.matches = 0 then 'UnknownResource' else 'AmbiguousResource' end,
        case when lesson.matches = 0 then case when has_retired then 'Retired' else 'Unknown' end || ' resource: '
               || ${named(sql`ressource_name`)} || coalesce(' in ' || left(job.standort, 80), '')
               || case when has_retired then '; name another room' else '' end
             else 'More than one location has a resource ' || ${named(sql`ressource_name`)} || '; name the location in the job''s Standort' end
      from staged_lesson as lesson join staged_job as job using (index) ${roomOf(sql`ressource_name`)}
      where lesson.matches <> 1 and ressource_name is not null and not ${hasWrongStandort(batch)}`,
  sql`select ${severity.error}, index, lektion_index, 4, 'RessourceId', 'InconsistentIdentifiers',
        'RessourceId ' || ressource_id || ' is not ' || ${named(sql`ressource_name`)} || ', which is ' || resource_id
      from staged_lesson where matches = 1 and ressource_id <> resource_id`,
];

/** Whether ReplaceLektionList has a wrong type. Then only that is reported, not that the job is unknown. */
const hasWrongReplaceList = sql`exists (
  select from body_job where body_job.index = job.index and jsonb_typeof(replace_list) not in ('boolean', 'null'))`;

/** If a batch has an unknown JobID several times, only the first is reported as unknown: the others are duplicates. */
const unknownErrors = (batch: Running): FaultQuery[] => [
  sql`select ${severity.error}, index, ${none}, 0, 'JobID', 'UnknownJobId', 'Unknown JobId: ' || job_id
        || case when ${seesPart(batch, sql`job.job_id`)}
             then ' has lessons in rooms that you do not see; ask an Importer or an Admin to change it'
             else ${batch.createMissing ? sql`'; CreateMissing creates it where its ReplaceLektionList is true'` : sql`''`} end
      from (select index, job, job_id, row_number() over (partition by job_id order by index) as occurrence
            from staged_job where job_id is not null) as job
      where job is null and occurrence = 1 ${batch.createMissing ? sql`and not ${hasWrongReplaceList}` : sql``}`,
  sql`select ${severity.error}, index, lektion_index, 0, 'LektionId', 'UnknownLektionId',
        'Unknown LektionId: ' || lektion_id || ' is not in job ' || left(job_id, 80)
      from staged_lesson join staged_job as job using (index, job)
      where lektion_id is not null and stored_booking is null and not whole`,
];

const disclosureErrors: FaultQuery = sql`
  select ${severity.error}, index, lektion_index, 11, 'Privat', 'Forbidden',
    'only the sender of job ' || left(job.job_id, 80) || ' and Admins may make this lesson public'
  from staged_lesson as lesson
  join staged_job as job using (index, job)
  where discloses`;

/** A JobID is unique in the tenant, so it is reported as taken even if the sender may not see the job that has it. */
const duplicateErrors = (batch: Running): FaultQuery[] => [
  sql`select ${severity.error}, index, ${none}, 0, 'JobID', 'DuplicateJobId',
        'Duplicate JobId: ' || job_id || case
          when may_change then ' (it is stored already; jobs/update changes it)'
          when may_change is not null then ' (it is taken by a job that you do not see, or not all of it; choose another JobID)'
          else '' end
      from (select index, job_id, row_number() over (partition by job_id order by index) as occurrence,
              (select ${mayChangeJob(batch)} from lesson_job as stored
                where stored.mandator_id = ${batch.mandatorId} and stored.job_id = staged_job.job_id
                  and staged_job.is_new and staged_job.job is not null) as may_change
            from staged_job where job_id is not null) as job
      where occurrence > 1 or may_change is not null`,
  sql`select ${severity.error}, index, lektion_index, 0, 'LektionId', 'DuplicateLektionId', 'Duplicate LektionId: ' || lektion_id
      from (select index, lektion_index, lektion_id,
              row_number() over (partition by index, lektion_id order by lektion_index) as occurrence
            from staged_lesson where lektion_id is not null and lektion_index is not null) as lesson
      where occurrence > 1`,
];

const wantedRoom = sql`${named(sql`lesson.ressource_name`)}`;

/** Claims that overlap an earlier one, found in one pass in order of time. Repeated jobs are reported as duplicates. */
const overlappingClaims = sql`
  select lesson.index, lesson.lektion_index, ${wantedRoom} || ' is needed twice: with lesson ' || ${named(sql`other.lektion_id`)}
    || ' of job ' || ${named(sql`job.job_id`)} || ', ' || ${span(sql`way.occupied`)} as message
  from (
    select *, max(ende) over (partition by resource_id order by beginn, row
                              rows between unbounded preceding and 1 preceding) as taken_until
    from room_claim
  ) as claim
  cross join lateral (
    select row, occupied from room_claim as other
    where other.resource_id = claim.resource_id and other.ende = claim.taken_until and other.beginn <= claim.beginn
      and other.row <> claim.row
    order by row limit 1
  ) as way
  join staged_lesson as lesson on lesson.row = claim.row
  join staged_lesson as other on other.row = way.row
  left join staged_job as job on job.index = other.index
  left join staged_job as own on own.index = lesson.index
  where claim.beginn < taken_until and (own.job_id = job.job_id and own.index <> job.index) is not true`;

/** The first booking, other than `own`, in a room and time that a lesson needs: a message, and the job it belongs to. */
export const occupant = (
  batch: BatchKey,
  resource: RawBuilder<unknown>,
  occupied: RawBuilder<unknown>,
  own: RawBuilder<unknown>,
) => sql`
  select ' is occupied ' || ${span(sql`booking.occupied`)} || ' by booking ' || booking.id
      || coalesce(' (lesson ' || left(planned.lektion_id, 80) || ' of job ' || left(planned.job_id, 80) || ')', '') as message,
    planned.job_id
  from (
    select id, occupied from (
      select booking.id, booking.occupied ${bookingsInTheWay(batch, resource, occupied)}
        and booking.id is distinct from ${own}
      -- Filtered before they are sorted: the index in this order would be read for all bookings of the room.
      offset 0
    ) as found
    order by lower(occupied), id limit 1
  ) as booking
  left join lateral (
    select lektion_id, job_id from lesson
    join lesson_job on lesson_job.mandator_id = lesson.mandator_id and lesson_job.id = lesson.job
    where lesson.mandator_id = ${batch.mandatorId} and lesson.booking_id = booking.id
    -- Of coupled lessons, prefers one that stays: another may be the one that needs the room.
    order by exists (
      select from staged_lesson as staged left join lesson_plan using (row)
      where staged.job = lesson.job and staged.lektion_id = lesson.lektion_id and ${isJoining}), job_id, lektion_id
    limit 1
  ) as planned on true`;

const conflictErrors = (batch: Running): FaultQuery[] => [
  sql`select ${severity.error}, index, lektion_index, 3, 'RessourceName', 'ResourceConflict', message
      from (${overlappingClaims}) as overlap`,
  // A job that is stored already is reported as a duplicate, not as a conflict with its own lessons.
  sql`select ${severity.error}, lesson.index, lesson.lektion_index, 3, 'RessourceName', 'ResourceConflict', ${wantedRoom} || way.message
      from (
        select index, lektion_index, ressource_name, job.job_id, is_new, claim.resource_id, occupied, booking
        from room_claim as claim join staged_lesson using (row) join staged_job as job using (index)
        -- Joined before the lookups: otherwise the condition below would compare each booking with all jobs.
        offset 0
      ) as lesson
      cross join lateral (${occupant(batch, sql`lesson.resource_id`, sql`lesson.occupied`, sql`lesson.booking`)}) as way
      where way.job_id is distinct from lesson.job_id or not is_new`,
];

/** A job that is reported as a duplicate. */
const isDuplicate = ({ mandatorId }: BatchKey) => sql`(
  row_number() over (partition by job_id order by index) > 1 or is_new and exists (
    select from lesson_job as stored where stored.mandator_id = ${mandatorId} and stored.job_id = staged_job.job_id))`;

/** Bookings with too many coupled lessons, each once: at the first lesson of the batch that is too many. */
const crowdedBookings = (batch: BatchKey): FaultQuery => sql`
  select ${severity.error}, index, lektion_index, 3, 'KopplungId', 'LimitExceeded',
    'KopplungId ' || ${named(sql`kopplung_id`)} || ' couples ' || staying + cardinality(joining) || ' lessons in '
      || ${named(sql`ressource_name`)} || ' at one time; at most ${sql.raw(String(mostCoupled))} may share a booking'
  from (
    select lesson_plan.booking, array_agg(row order by row) as joining
    from lesson_plan join coupled_lesson using (row) join staged_lesson using (row)
    join (select index, ${isDuplicate(batch)} as is_duplicate from staged_job) as job using (index)
    where ${isJoining} and not is_duplicate
    group by 1
  ) as joined
  cross join lateral (
    select count(*)::int as staying from lesson as sharer
    where sharer.mandator_id = ${batch.mandatorId} and sharer.booking_id = joined.booking and not exists (
      select from staged_lesson as staged left join lesson_plan using (row)
      where staged.job = sharer.job and staged.lektion_id = sharer.lektion_id and ${live} and ${isJoining})
  ) as stored
  join staged_lesson as lesson on lesson.row = joining[greatest(${mostCoupled}::int + 1 - staying, 1)]
  where staying + cardinality(joining) > ${mostCoupled}`;

export function errorsOf(batch: Running): FaultQuery[] {
  const { operation } = batch;
  return [
    ...fieldErrors(operation),
    ...(operation === 'Delete' ? [] : [...referenceErrors(batch), ...conflictErrors(batch), crowdedBookings(batch)]),
    ...(operation === 'Create' ? [] : unknownErrors(batch)),
    ...(operation === 'Update' ? [disclosureErrors] : []),
    ...duplicateErrors(batch),
  ];
}
