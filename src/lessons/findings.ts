/**
 * The errors and warnings of a staged batch. Each kind is one query of rows (severity, index, lektion_index, rank, field,
 * code, message). One statement numbers and stores the first of them in the order of the body; the others, of which a
 * small body may have half a million, are only counted.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { lessonLimits } from '../names.ts';
import type { BatchKey, Omission, Running } from './batch.ts';
import { stageClaims } from './conflicts.ts';
import { errorsOf, type FaultQuery, named, none, occupant, severity } from './faults.ts';
import {
  fieldsOf,
  fileLineMember,
  isCancelled,
  knownJobMembers,
  knownLessonMembers,
  lessonList,
  rawColumns,
  sentName,
  textOf,
} from './fields.ts';
import { type KnownHours, outsideOpeningHours, timeOfStaged } from './hours.ts';

/** The body as it was sent; staged only for batches with errors or warnings. */
async function stageBody(trx: Transaction, batch: Running): Promise<void> {
  const fields = fieldsOf[batch.operation];
  await sql`
    create temporary table body_job on commit drop as
    select index, body, ${lessonList} as list, ${sentName(sql`body`, sql`'LektionList'`)} as list_name,
      ${rawColumns(sql`body`, fields.job)}
    from batch_job where mandator_id = ${batch.mandatorId} and batch_id = ${batch.id}`.execute(trx);
  await sql`
    create temporary table body_lesson on commit drop as
    select body.*, coalesce(staged.action = 'insert' and (${batch.operation === 'Create'} or job.whole), false) as is_new
    from (
      select index, number - 1 as lektion_index, lesson, ${rawColumns(sql`lesson`, fields.lesson)}
      from body_job cross join jsonb_array_elements(case when jsonb_typeof(list) = 'array' then list else '[]' end)
        with ordinality as elements (lesson, number)
    ) as body
    join staged_job as job using (index)
    left join staged_lesson as staged using (index, lektion_index)`.execute(trx);
  await sql`analyze body_job, body_lesson`.execute(trx);
}

/** Unknown members that are reported per object. */
const unknownShown = 20;
const unknownNames = (object: RawBuilder<unknown>, known: string[]) => sql`
  cross join lateral (
    select name from jsonb_object_keys(case when jsonb_typeof(${object}) = 'object' then ${object} else '{}' end) as name
    where name <> all (${sql.lit(`{${known.join(',')}}`)}::text[]) limit ${sql.lit(unknownShown)}
  ) as unknown`;

const unknownFieldWarnings = (batch: Running): FaultQuery[] => [
  sql`select ${severity.warning}, index, ${none}, 99, name, 'UnknownField', ${named(sql`name`)} || ' is not a field of a job and was left out'
      from body_job ${unknownNames(sql`body`, knownJobMembers(batch.operation))}`,
  sql`select ${severity.warning}, index, lektion_index, 99, name, 'UnknownField', ${named(sql`name`)} || ' is not a field of a lesson and was left out'
      from body_lesson ${unknownNames(sql`lesson`, knownLessonMembers(batch))}`,
];

const assumedUtcWarnings: FaultQuery[] = (['Beginn', 'Ende'] as const).map((field) => {
  const assumed = sql.id(`${field.toLowerCase()}_assumed_utc`);
  return sql`select ${severity.warning}, index, lektion_index, 1, ${sql.lit(field)}, 'AssumedUtc',
      ${sql.lit(`${field} has no offset and was read as UTC; write it with Z`)}
    from staged_lesson where ${assumed} and ${sql.id(field.toLowerCase())} is not null`;
});

const pastLessonWarning: FaultQuery = sql`
  select ${severity.warning}, index, lektion_index, 2, 'Ende', 'PastLesson', 'the lesson is already over'
  from staged_lesson where ende < now() and action <> 'delete' and not skipped`;

const outsideOpeningHoursWarning = (hours: KnownHours): FaultQuery => sql`
  select ${severity.warning}, index, lektion_index, 1, 'Beginn', 'OutsideOpeningHours',
    ${named(sql`ressource_name`)} || ' is not open all the time from Beginn to Ende'
  from staged_lesson ${outsideOpeningHours(hours, timeOfStaged)}
    and not refused and not skipped and action <> 'delete' and not ${isCancelled(sql`staged_lesson`)}`;

/** The booking of this lesson alone, otherwise null: a shared one may be in the way of a lesson that leaves it. */
const ownBooking = sql`case when not stored_shared then stored_booking end`;

const settledConflictWarnings = (batch: Running): FaultQuery[] => [
  sql`select ${severity.warning}, index, lektion_index, 3, 'RessourceName', 'ResourceConflict',
        ${named(sql`ressource_name`)} || coalesce(way.message, ' is needed by another lesson of the batch')
        || case when action = 'insert' then '; the lesson was left out' else '; the lesson was left as it was' end
      from staged_lesson
      left join lateral (${occupant(batch, sql`staged_lesson.resource_id`, sql`tstzrange(beginn, ende)`, ownBooking)}) as way on true
      where skipped`,
  sql`select ${severity.warning}, index, lektion_index, 3, 'RessourceName', 'ResourceConflict',
        ${named(sql`ressource_name`)} || ' was occupied by booking ' || booking_plan.id || ', which was cancelled'
      from booking_plan join staged_lesson using (row) where fate = 'displace'`,
  sql`select ${severity.warning}, index, lektion_index, 3, 'RessourceName', 'ResourceConflict',
        ${named(sql`ressource_name`)} || ' was booked by the sender; the lesson has taken over booking ' || booking_plan.id
      from booking_plan join staged_lesson using (row) where fate = 'take'`,
];

const longestKey = sql.lit(lessonLimits.key);
/** The longest stored name of a member. */
const longestName = 200;

/** Errors of one batch that are stored, and as many warnings. */
export const mostKept = 10_000;

export type Counts = { errors: number; warnings: number; omitted: Omission[] };

const all = (kinds: readonly FaultQuery[]) => sql.join(kinds, sql` union all `);
const order = sql`index, lektion_index nulls first, rank, field, code`;

/** The first findings of these kinds; the limit keeps the sort small. */
const first = (kinds: readonly FaultQuery[]) => sql`
  (select * from (${all(kinds)}) as found (severity, index, lektion_index, rank, field, code, message)
   order by ${order} limit ${sql.lit(mostKept)})`;

/** The place of a finding in the jobs that were sent. */
const memberPointer = sql`
        '/' || finding.index
        || case when finding.lektion_index is null then '' else '/' || job.list_name || '/' || finding.lektion_index end
        -- A name that is cut has no pointer: it would lead to another member.
        || case when length(field) > ${sql.lit(longestName)} then '' else coalesce('/' || replace(replace(case
             when code = 'UnknownField' then field
             when finding.lektion_index is null then ${sentName(sql`job.body`, sql`field`)}
             else ${sentName(sql`lesson.lesson`, sql`field`)} end, '~', '~0'), '/', '~1'), '') end`;

/** The line and the file of the timetable that a lesson comes from. */
const filePlace = sql`(lesson.lesson -> ${sql.lit(fileLineMember)} ->> 1)::integer,
        '/Files/' || (lesson.lesson -> ${sql.lit(fileLineMember)} ->> 0)`;

/**
 * Stores every warning of `staged_lesson`, and with `diagnose` every error.
 * @param wanted.hours the opening hours, if any are known
 * @param wanted.settled whether OnConflict was applied, which gives warnings
 */
export async function recordFindings(
  trx: Transaction,
  batch: Running,
  wanted: { diagnose: boolean; hours: KnownHours | undefined; settled: boolean },
): Promise<Counts> {
  const errors = wanted.diagnose ? errorsOf(batch) : [];
  const warnings = [
    ...(wanted.settled ? settledConflictWarnings(batch) : []),
    ...unknownFieldWarnings(batch),
    ...assumedUtcWarnings,
    pastLessonWarning,
    ...(wanted.hours ? [outsideOpeningHoursWarning(wanted.hours)] : []),
  ];
  await stageBody(trx, batch);
  if (wanted.diagnose) await stageClaims(trx, batch);
  const { rows } = await sql<Omission>`
    with finding as (
      ${sql.join([errors, warnings].filter(({ length }) => length > 0).map(first), sql` union all `)}
    ), stored as (
      insert into batch_error (mandator_id, batch_id, number, severity, index, job_id, lektion_index, lektion_id, field, code, message, line, pointer)
      select ${batch.mandatorId}, ${batch.id},
        row_number() over (order by finding.index, finding.lektion_index nulls first, rank, field, code),
        severity, finding.index, left(${textOf(sql`job.job_id`)}, ${longestKey}), finding.lektion_index, left(${textOf(sql`lesson.lektion_id`)}, ${longestKey}),
        left(field, ${sql.lit(longestName)}), code, message,
        ${batch.replacesQuelle === null ? sql`null::integer, ${memberPointer}` : filePlace}
      from finding
      join body_job as job on job.index = finding.index
      left join body_lesson as lesson on lesson.index = finding.index and lesson.lektion_index = finding.lektion_index
      returning severity, code
    )
    select severity, code, count(*)::int as count from stored group by 1, 2`.execute(trx);
  const kept = { errors: sum(rows, 'Error'), warnings: sum(rows, 'Warning') };
  if (Math.max(kept.errors, kept.warnings) < mostKept) return { ...kept, omitted: [] };
  const found = await countFindings(trx, [...errors, ...warnings]);
  const omitted = found.map(({ severity, code, count }) => {
    const stored = rows.find((row) => row.severity === severity && row.code === code)?.count ?? 0;
    return { severity, code, count: count - stored };
  });
  return {
    errors: sum(found, 'Error'),
    warnings: sum(found, 'Warning'),
    omitted: omitted.filter(({ count }) => count > 0),
  };
}

const sum = (tallies: readonly Omission[], severity: Omission['severity']) =>
  tallies.reduce((sum, tally) => sum + (tally.severity === severity ? tally.count : 0), 0);

/** The number of findings of each code. */
async function countFindings(trx: Transaction, kinds: readonly FaultQuery[]): Promise<Omission[]> {
  const { rows } = await sql<Omission>`
    select severity, code, count(*)::int as count
    from (${all(kinds)}) as found (severity, index, lektion_index, rank, field, code, message)
    group by 1, 2 order by 1, 2`.execute(trx);
  return rows;
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
