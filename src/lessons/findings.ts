/**
 * What is wrong with a staged batch (errors), or worth knowing (warnings): each kind is one query that yields rows
 * (severity, index, lektion_index, rank, field, code, message); all of them are numbered and stored in one statement,
 * in the order of the body.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { BatchKey } from './batch.ts';
import {
  fieldFindings,
  jobFields,
  knownJobMembers,
  knownLessonMembers,
  lessonFields,
  lessonList,
  rawColumns,
  sentName,
} from './fields.ts';
import { outsideOpeningHours } from './staging.ts';

type Finding = RawBuilder<unknown>;

/** The body once more, as sent: only where something has to be said about it. */
async function stageBody(trx: Transaction, batch: BatchKey): Promise<void> {
  await sql`
    create temporary table body_job on commit drop as
    select index, body, ${lessonList} as list, ${sentName(sql`body`, sql`'LektionList'`)} as list_name,
      ${rawColumns(sql`body`, jobFields)}
    from batch_job where mandator_id = ${batch.mandatorId} and batch_id = ${batch.id}`.execute(trx);
  await sql`
    create temporary table body_lesson on commit drop as
    select index, number - 1 as lektion_index, lesson, ${rawColumns(sql`lesson`, lessonFields)}
    from body_job cross join jsonb_array_elements(case when jsonb_typeof(list) = 'array' then list else '[]' end)
      with ordinality as elements (lesson, number)`.execute(trx);
  await sql`analyze staged_job, staged_lesson, body_job, body_lesson`.execute(trx);
}

const severity = { error: sql`'Error' as severity`, warning: sql`'Warning' as severity` };
const none = sql`null::bigint as lektion_index`;
/** A name as messages show it: cut, and never null, which would swallow the message. */
const named = (text: RawBuilder<unknown>) => sql`coalesce(left(${text}, 80), '(none)')`;
const span = (range: RawBuilder<unknown>) =>
  sql`to_char(lower(${range}), 'YYYY-MM-DD HH24:MI') || '-' || to_char(upper(${range}), 'HH24:MI') || ' UTC'`;

const fieldErrors: Finding[] = [
  sql`select ${severity.error}, index, ${none}, rank, field, code, message
      from body_job cross join lateral ${fieldFindings(jobFields, 'body_job')} where code is not null`,
  sql`select ${severity.error}, index, ${none}, 90, 'LektionList',
        case when coalesce(list, 'null') = 'null' or list = '[]' then 'MissingField' else 'InvalidType' end,
        case when coalesce(list, 'null') = 'null' then 'LektionList is missing'
             when list = '[]' then 'LektionList is empty; a job needs at least one lesson'
             else 'LektionList must be an array of lessons, not ' || left(list::text, 80) end
      from body_job where coalesce(jsonb_typeof(list), '') <> 'array' or list = '[]'`,
  sql`select ${severity.error}, index, lektion_index, 0, null, 'InvalidType', 'a lesson must be an object, not ' || left(lesson::text, 80)
      from body_lesson where jsonb_typeof(lesson) <> 'object'`,
  sql`select ${severity.error}, index, lektion_index, rank, field, code, message
      from body_lesson cross join lateral ${fieldFindings(lessonFields, 'body_lesson')}
      where code is not null and jsonb_typeof(lesson) = 'object'`,
  sql`select ${severity.error}, index, lektion_index, 2, 'Ende', 'InvalidTime',
        case when ende <= beginn then 'Ende must be after Beginn' else 'a lesson may last 24 hours at most' end
      from staged_lesson where ende <= beginn or ende - beginn > interval '24 hours'`,
];

const referenceErrors: Finding[] = [
  sql`select ${severity.error}, index, lektion_index, 3, 'RessourceName',
        case when matches = 0 then 'UnknownResource' else 'AmbiguousResource' end,
        case when matches = 0 then 'Unknown resource: ' || ${named(sql`ressource_name`)} || coalesce(' in ' || left(job.standort, 80), '')
             else 'More than one location has a resource ' || ${named(sql`ressource_name`)} || '; name the location in the job''s Standort' end
      from staged_lesson join staged_job as job using (index) where matches <> 1`,
  sql`select ${severity.error}, index, lektion_index, 4, 'RessourceId', 'InconsistentIdentifiers',
        'RessourceId ' || ressource_id || ' is not ' || ${named(sql`ressource_name`)} || ', which is ' || resource_id
      from staged_lesson where matches = 1 and ressource_id <> resource_id`,
];

const duplicateErrors = ({ mandatorId }: BatchKey): Finding[] => [
  sql`select ${severity.error}, index, ${none}, 0, 'JobID', 'DuplicateJobId', 'Duplicate JobId: ' || job_id
      from (select index, job_id, row_number() over (partition by job_id order by index) as occurrence from staged_job
            where job_id is not null) as job
      where occurrence > 1 or exists (
        select from lesson_job where lesson_job.mandator_id = ${mandatorId} and lesson_job.job_id = job.job_id)`,
  sql`select ${severity.error}, index, lektion_index, 0, 'LektionId', 'DuplicateLektionId', 'Duplicate LektionId: ' || lektion_id
      from (select index, lektion_index, lektion_id,
              row_number() over (partition by index, lektion_id order by lektion_index) as occurrence
            from staged_lesson where lektion_id is not null) as lesson
      where occurrence > 1`,
];

const conflictErrors = ({ mandatorId }: BatchKey): Finding[] => [
  // The later of two lessons of the body is told; the sweep by time finds it in one pass.
  sql`select ${severity.error}, lesson.index, lesson.lektion_index, 3, 'RessourceName', 'ResourceConflict',
        ${named(sql`lesson.ressource_name`)} || ' is needed twice: with lesson ' || ${named(sql`other.lektion_id`)} || ' of job '
        || ${named(sql`job.job_id`)} || ', ' || ${span(sql`tstzrange(other.beginn, other.ende)`)}
      from (
        select *, max(ende) over (partition by resource_id order by beginn, row
                                  rows between unbounded preceding and 1 preceding) as taken_until
        from staged_lesson where not refused and booking_id is not null and not shares
      ) as lesson
      cross join lateral (
        select index, lektion_id, beginn, ende from staged_lesson as other
        where other.resource_id = lesson.resource_id and other.ende = lesson.taken_until and other.beginn <= lesson.beginn
          and other.row <> lesson.row and not other.refused and other.booking_id is not null and not other.shares
        limit 1
      ) as other
      left join staged_job as job on job.index = other.index
      where lesson.beginn < taken_until`,
  sql`select ${severity.error}, lesson.index, lesson.lektion_index, 3, 'RessourceName', 'ResourceConflict',
        ${named(sql`lesson.ressource_name`)} || ' is occupied ' || ${span(sql`booking.occupied`)} || ' by booking ' || booking.id
        || coalesce(' (lesson ' || left(taken.lektion_id, 80) || ' of job ' || left(taken.job_id, 80) || ')', '')
      from staged_lesson as lesson
      join staged_job as job on job.index = lesson.index
      cross join lateral (
        select id, occupied from booking
        where booking.resource_id = lesson.resource_id and booking.mandator_id = ${mandatorId}
          and booking.status in ('Confirmed', 'Tentative') and booking.occupied && tstzrange(lesson.beginn, lesson.ende)
          -- A job that is there already is a duplicate; that its own lessons are in the way says nothing more.
          and not exists (
            select from lesson as own
            join lesson_job on lesson_job.mandator_id = own.mandator_id and lesson_job.id = own.job
            where own.mandator_id = booking.mandator_id and own.booking_id = booking.id and lesson_job.job_id = job.job_id)
        limit 1
      ) as booking
      left join lateral (
        select lektion_id, job_id from lesson as planned
        join lesson_job on lesson_job.mandator_id = planned.mandator_id and lesson_job.id = planned.job
        where planned.mandator_id = ${mandatorId} and planned.booking_id = booking.id limit 1
      ) as taken on true
      where not lesson.refused and lesson.booking_id is not null and not lesson.shares`,
];

/** Members of one object that are told; a body could be full of them. */
const unknownShown = 20;
const unknownMembers = (object: RawBuilder<unknown>, known: string[]) => sql`
  cross join lateral (
    select name from jsonb_object_keys(case when jsonb_typeof(${object}) = 'object' then ${object} else '{}' end) as name
    where name <> all (${sql.lit(`{${known.join(',')}}`)}::text[]) limit ${sql.lit(unknownShown)}
  ) as unknown`;

const unknownFieldWarnings: Finding[] = [
  sql`select ${severity.warning}, index, ${none}, 99, name, 'UnknownField', ${named(sql`name`)} || ' is not a field of a job and was left out'
      from body_job ${unknownMembers(sql`body`, knownJobMembers)}`,
  sql`select ${severity.warning}, index, lektion_index, 99, name, 'UnknownField', ${named(sql`name`)} || ' is not a field of a lesson and was left out'
      from body_lesson ${unknownMembers(sql`lesson`, knownLessonMembers)}`,
];

const assumedUtcWarnings: Finding[] = (['Beginn', 'Ende'] as const).map((field) => {
  const assumed = sql.id(`${field.toLowerCase()}_assumed_utc`);
  return sql`select ${severity.warning}, index, lektion_index, 1, ${sql.lit(field)}, 'AssumedUtc',
      ${sql.lit(`${field} has no offset and was read as UTC; write it with Z`)}
    from staged_lesson where ${assumed} and ${sql.id(field.toLowerCase())} is not null`;
});

const pastLessonWarning: Finding = sql`
  select ${severity.warning}, index, lektion_index, 2, 'Ende', 'PastLesson', 'the lesson is already over'
  from staged_lesson where ende < now()`;

const outsideOpeningHoursWarning: Finding = sql`
  select ${severity.warning}, index, lektion_index, 1, 'Beginn', 'OutsideOpeningHours',
    ${named(sql`ressource_name`)} || ' is not open all the time from Beginn to Ende'
  from staged_lesson ${outsideOpeningHours('staged_lesson')} where not refused`;

export type Counts = { errors: number; warnings: number };

/**
 * Works out and stores what there is to say of `staged_lesson`: every warning, and with `diagnose` every error.
 * @param wanted.hours whether opening hours are laid out
 */
export async function recordFindings(
  trx: Transaction,
  batch: BatchKey,
  wanted: { diagnose: boolean; hours: boolean },
): Promise<Counts> {
  const kinds = [
    ...(wanted.diagnose
      ? [...fieldErrors, ...referenceErrors, ...duplicateErrors(batch), ...conflictErrors(batch)]
      : []),
    ...unknownFieldWarnings,
    ...assumedUtcWarnings,
    pastLessonWarning,
    ...(wanted.hours ? [outsideOpeningHoursWarning] : []),
  ];
  await stageBody(trx, batch);
  await sql`create index on staged_lesson (resource_id, ende, beginn)`.execute(trx);
  const { rows } = await sql<Counts>`
    with finding (severity, index, lektion_index, rank, field, code, message) as (
      ${sql.join(kinds, sql` union all `)}
    ), stored as (
      insert into batch_error (mandator_id, batch_id, number, severity, index, job_id, lektion_index, lektion_id, field, code, message, pointer)
      select ${batch.mandatorId}, ${batch.id},
        row_number() over (order by finding.index, finding.lektion_index nulls first, rank, field, code),
        severity, finding.index, left(job.job_id #>> '{}', 128), finding.lektion_index, left(lesson.lektion_id #>> '{}', 128),
        left(field, 200), code, message,
        '/' || finding.index
        || case when finding.lektion_index is null then '' else '/' || job.list_name || '/' || finding.lektion_index end
        || case when field is null then '' else '/' || replace(replace(left(case
             when code = 'UnknownField' then field
             when finding.lektion_index is null then ${sentName(sql`job.body`, sql`field`)}
             else ${sentName(sql`lesson.lesson`, sql`field`)} end, 200), '~', '~0'), '/', '~1') end
      from finding
      join body_job as job on job.index = finding.index
      left join body_lesson as lesson on lesson.index = finding.index and lesson.lektion_index = finding.lektion_index
      returning severity
    )
    select count(*) filter (where severity = 'Error')::int as errors, count(*) filter (where severity = 'Warning')::int as warnings
    from stored`.execute(trx);
  return rows[0] ?? { errors: 0, warnings: 0 };
}

const linesShown = 50;

/** ErrorMessages: a line per error with its place, the first 50, then how many more (contract 4.4). */
export async function errorMessages(trx: Transaction, batch: BatchKey, errors: number): Promise<string> {
  const rows = await trx
    .selectFrom('batch_error')
    .select(['message', 'code', 'index', 'job_id', 'lektion_index', 'lektion_id'])
    .where('mandator_id', '=', batch.mandatorId)
    .where('batch_id', '=', batch.id)
    .where('severity', '=', 'Error')
    .orderBy('number')
    .limit(linesShown)
    .execute();
  const lines = rows.map((row) => {
    if (row.code === 'DuplicateJobId') return row.message;
    const name = (id: string | null) => (id === null ? '' : ` "${id}"`);
    const lesson = row.lektion_index === null ? '' : `, lesson ${row.lektion_index}${name(row.lektion_id)}`;
    return `${row.message} (job ${row.index}${name(row.job_id)}${lesson})`;
  });
  if (errors > lines.length) lines.push(`... and ${errors - lines.length} more`);
  return lines.join('\n');
}
