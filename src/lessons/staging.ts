/**
 * The body of a batch as typed rows: `staged_job` and `staged_room` (each room's name once). They are temporary tables of the
 * import's transaction; in the fast path of a Create, which makes no tables, they are parts of its statements. A row
 * with a fault is marked `faulty` or `refused`; the faults themselves are determined later, and only for a batch that
 * has any.
 */
import { type RawBuilder, sql } from 'kysely';
import { longestLesson } from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import { lessonLimits } from '../names.ts';
import type { BatchKey, JobOperation, Running } from './batch.ts';
import {
  anyFault,
  type Field,
  fieldsOf,
  finalColumns,
  jobFields,
  knownJobMembers,
  knownLessonMembers,
  lessonFields,
  lessonList,
  listOrEmpty,
  member,
  mergedColumns,
  rawColumns,
  textColumns,
  textOf,
  valueColumns,
  withoutList,
} from './fields.ts';
import { hiddenFrom, mayChangeJob } from './sight.ts';

const ofBatch = ({ mandatorId, id }: BatchKey) => sql`mandator_id = ${mandatorId} and batch_id = ${id}`;
const unknownMembers = (object: RawBuilder<unknown>, known: string[]) =>
  sql`jsonb_typeof(${object}) = 'object' and ${object} - ${sql.lit(`{${known.join(',')}}`)}::text[] <> '{}'`;

/** Consecutive lessons of the body: of whole jobs, or a part of one large job. */
export type LessonSlice = { firstJob: number; lastJob: number; firstLesson: number; lastLesson: number };

export const everything: LessonSlice = {
  firstJob: 0,
  lastJob: 2 ** 31 - 1,
  firstLesson: 0,
  lastLesson: 2 ** 31 - 1,
};

/** The number of lessons of each job: a body with too many is refused before its lessons are read. */
export async function countLessons(trx: Transaction, batch: BatchKey): Promise<number[]> {
  const { rows } = await sql<{ counts: number[] | null }>`
    select array_agg(jsonb_array_length(${listOrEmpty}) order by index) as counts
    from batch_job where ${ofBatch(batch)}`.execute(trx);
  return rows[0]?.counts ?? [];
}

/** Objects with their fields as sent, as text and as value. `offset 0` makes PostgreSQL compute each step once. */
const typedRows = (raw: RawBuilder<unknown>, fields: readonly Field[]) => sql`
  select texts.*, ${valueColumns(fields, 'texts')}
  from (select raw.*, ${textColumns(fields, 'raw')} from (${raw} offset 0) as raw offset 0) as texts
  offset 0`;

/** The jobs of a slice of the body, each read once and split into its list, which may be large, and the rest. */
export const partedJobs = (batch: BatchKey, { firstJob, lastJob }: LessonSlice) => sql`
  select index, ${withoutList} as head, ${lessonList} as list from batch_job
  where ${ofBatch(batch)} and index between ${firstJob} and ${lastJob} offset 0`;

/** The lessons of a split job. */
const elements = sql`case when jsonb_typeof(list) = 'array' then list else '[]' end`;

/** Whether a list of lessons is not valid for the operation. */
const listFaults: Record<JobOperation, RawBuilder<unknown>> = {
  Create: sql`coalesce(jsonb_typeof(list), '') <> 'array' or list = '[]'`,
  Update: sql`(list is null and replace_list_value) or (list is not null and (jsonb_typeof(list) <> 'array' or list = '[]'))`,
  Delete: sql`coalesce(list, 'null') <> 'null' and (jsonb_typeof(list) <> 'array' or list = '[]')`,
};

/** Whether the lessons that a job does not list are deleted. */
const isWhole = {
  Update: sql`coalesce(replace_list_value, false)`,
  Delete: sql`coalesce(list, 'null') = 'null'`,
};

/**
 * The rows of `staged_job`. A new job gets its id here; any other has the id of the stored job, or null if there is
 * none that its sender may change.
 */
export function jobRows(batch: Running): RawBuilder<unknown> {
  const { operation, mandatorId } = batch;
  const fields = fieldsOf[operation].job;
  const typed = typedRows(
    sql`select index, ${unknownMembers(sql`head`, knownJobMembers(operation))} as has_unknown, list,
      ${rawColumns(sql`head`, fields)}
      from (${partedJobs(batch, everything)}) as sent`,
    fields,
  );
  const faulty = sql`${anyFault(fields, 'typed')} or ${listFaults[operation]}`;
  // A job that an update creates gets its id here, like those of a Create.
  const isCreated = batch.createMissing ? sql`(${isWhole.Update} and job_id_value is not null)` : sql`false`;
  const job = sql`case when stored.id is null and ${isCreated} then nextval('lesson_job_id_seq') else stored.id end`;
  const isUnknown = sql`(stored.id is null and not ${isCreated})`;
  return operation === 'Create'
    ? sql`select index, nextval('lesson_job_id_seq') as job, true as is_new, has_unknown, false as whole,
            ${finalColumns(jobFields, 'typed')}, ${faulty} as faulty
          from (${typed}) as typed`
    : sql`select index, ${job} as job, stored.id is null as is_new, has_unknown, ${isWhole[operation]} as whole,
            ${operation === 'Update' ? mergedColumns(jobFields, 'typed', 'stored') : sql`job_id_value as job_id`},
            ${isUnknown} or ${faulty} as faulty
          from (${typed}) as typed
          left join lesson_job as stored on stored.mandator_id = ${mandatorId} and stored.job_id = typed.job_id_value
            and ${mayChangeJob(batch)}`;
}

/** Fills `staged_job` and `staged_room`. */
export async function stageJobs(trx: Transaction, batch: Running): Promise<void> {
  await sql`create temporary table staged_job on commit drop as ${jobRows(batch)}`.execute(trx);
  await sql`create temporary table staged_room on commit drop as ${roomRows(batch)}`.execute(trx);
  await sql`analyze staged_job, staged_room`.execute(trx);
  if (batch.replacesQuelle !== null) await stageReplaced(trx, batch);
}

/** Stages the stored jobs of the source that the batch does not list and its sender may change, after those that it lists. */
async function stageReplaced(trx: Transaction, batch: Running): Promise<void> {
  const { mandatorId, replacesQuelle, jobCount } = batch;
  await sql`
    insert into staged_job (index, job, is_new, has_unknown, whole, job_id, bezeichnung, quelle, standort, bemerkung, faulty)
    select ${jobCount}::int + row_number() over (order by id), id, false, false, true, job_id, bezeichnung, quelle, standort,
      bemerkung, false
    from lesson_job as stored
    where mandator_id = ${mandatorId} and quelle = ${replacesQuelle} and ${mayChangeJob(batch)}
      and not exists (select from staged_job where staged_job.job = stored.id)`.execute(trx);
}

/** Refuses a batch that would delete more than a fifth of its source's lessons, as a truncated file would. */
export async function removesMany(trx: Transaction, batch: Running): Promise<string | undefined> {
  if (batch.replacesQuelle === null || batch.allowRemoval) return undefined;
  const { rows } = await sql<{ removed: number; stored: number }>`
    select (select count(*) from staged_lesson where action = 'delete')::int as removed,
      (select count(*) from lesson join lesson_job as stored on stored.mandator_id = lesson.mandator_id and stored.id = lesson.job
       where lesson.mandator_id = ${batch.mandatorId} and quelle = ${batch.replacesQuelle} and ${mayChangeJob(batch)})::int as stored`.execute(
    trx,
  );
  const { removed = 0, stored = 0 } = rows[0] ?? {};
  return removed * 5 > stored
    ? `${removed} of the ${stored} stored lessons of ${batch.replacesQuelle} would be deleted; was the file cut off? If not, allow the removal.`
    : undefined;
}

/** The rows of `staged_room`: each room's name once, with its resource; for a Create also the days of its lessons. */
export function roomRows(batch: Running): RawBuilder<unknown> {
  const standort = batch.operation === 'Delete' ? sql`''::text` : sql`coalesce(job.standort, '')`;
  const sentTime = (name: string) => (batch.operation === 'Create' ? member(sql`lesson`, name) : sql`null::jsonb`);
  const day = (time: RawBuilder<unknown>) => sql`left(${textOf(time)}, 10) collate "C"`;
  return sql`
    select wanted.name, wanted.standort, count(*) filter (where resource.active)::int as matches,
      min(resource.id) filter (where resource.active) as id, bool_or(not resource.active) as has_retired,
      min(first_day) as first_day, max(last_day) as last_day
    from (
      select left(${textOf(sql`sent.name`)}, ${lessonLimits.name + 1}) as name, standort,
        min(${day(sql`beginn`)}) as first_day, max(${day(sql`ende`)}) as last_day
      from (
        select ${member(sql`lesson`, 'RessourceName')} as name, ${standort} as standort, ${sentTime('Beginn')} as beginn,
          ${sentTime('Ende')} as ende
        from (${partedJobs(batch, everything)}) as sent join staged_job as job using (index)
        cross join jsonb_array_elements(${elements}) as lesson
        where ${batch.operation !== 'Delete'}
        offset 0
      ) as sent
      group by 1, 2
    ) as wanted
    left join resource on resource.mandator_id = ${batch.mandatorId}
      and resource.name_key = name_key(wanted.name)
      and resource.id <> all (${hiddenFrom(batch)})
      and (wanted.standort = '' or resource.location_id in (
        select id from location
        where location.mandator_id = ${batch.mandatorId} and location.name_key = name_key(wanted.standort)))
    where wanted.name is not null
    group by 1, 2`;
}

export const typedLessons = (batch: Running, slice: LessonSlice) => {
  const fields = fieldsOf[batch.operation].lesson;
  return typedRows(
    sql`select index, number - 1 as lektion_index, jsonb_typeof(lesson) = 'object' as is_object,
      ${unknownMembers(sql`lesson`, knownLessonMembers(batch))} as has_unknown, ${rawColumns(sql`lesson`, fields)}
      from (${partedJobs(batch, slice)}) as job
      cross join jsonb_array_elements(${elements}) with ordinality as sent (lesson, number)
      where number > ${slice.firstLesson} and number <= ${slice.lastLesson}`,
    fields,
  );
};

export const isWithoutOffset = (column: string) => {
  const text = sql.ref(`typed.${column}_text`);
  // The usual ending is tested first: the other test takes as long as reading the time.
  return sql`coalesce(${text} not like '%Z' and right(${text}, 1) between '0' and '9' and ${text} !~ '[+-][0-9]{2}(:?[0-9]{2})?$', false) as ${sql.id(`${column}_assumed_utc`)}`;
};

/** Whether a lesson ends before it begins, or lasts too long. */
export const hasWrongEnd = sql`(ende <= beginn or ende - beginn > ${longestLesson})`;

export const isUnfit = sql`beginn is null or ende is null or ${hasWrongEnd}
  or matches is distinct from 1 or (ressource_id is not null and ressource_id <> resource_id)`;

export const roomOf = (name: RawBuilder<unknown>) =>
  sql`left join staged_room as room on room.name = ${name} and room.standort = coalesce(job.standort, '')`;

/** The lessons of a slice that are to be created; `refused` marks a lesson with a fault of its own. */
export function newLessons(batch: Running, slice: LessonSlice): RawBuilder<unknown> {
  return sql`
    select *, faulty or ${isUnfit} as refused
    from (
      select lesson.*, job.job, room.matches, room.id as resource_id
      from (
        select index, lektion_index, has_unknown, not is_object or ${anyFault(lessonFields, 'typed')} as faulty,
          ${finalColumns(lessonFields, 'typed')}, ${isWithoutOffset('beginn')}, ${isWithoutOffset('ende')}
        from (${typedLessons(batch, slice)}) as typed
        offset 0
      ) as lesson
      join staged_job as job using (index)
      ${roomOf(sql`lesson.ressource_name`)}
    ) as lesson`;
}

/** How many stored lessons are deleted with whole jobs. */
export async function countUnlisted(trx: Transaction, { mandatorId }: BatchKey): Promise<number> {
  const { rows } = await sql<{ lessons: number }>`
    select count(*)::int as lessons
    from staged_job as job join lesson on lesson.mandator_id = ${mandatorId} and lesson.job = job.job
    where whole`.execute(trx);
  return rows[0]?.lessons ?? 0;
}

/**
 * Locks rooms in the order of their ids, as every writer of bookings does, which rules out deadlocks.
 * @param ids a query of their ids
 * @returns those that are retired: rooms are found before they are locked
 */
export async function lockResources(trx: Transaction, mandatorId: number, ids: RawBuilder<unknown>): Promise<number[]> {
  const { rows } = await sql<{ id: number; active: boolean }>`
    select id, active from resource where mandator_id = ${mandatorId} and id in (${ids})
    order by id for no key update`.execute(trx);
  return rows.filter(({ active }) => !active).map(({ id }) => id);
}

/** Forces hash joins, or not. The planner cannot know how many lessons a body holds, and would choose nested loops. */
export async function joinByHash(trx: Transaction, on: boolean): Promise<void> {
  await sql`select set_config('enable_nestloop', ${on ? 'off' : 'on'}, true)`.execute(trx);
}

/** Forces lookups by key, or not. The planner would read all rows for each slice rather than look up thousands. */
export async function lookUpByKey(trx: Transaction, on: boolean): Promise<void> {
  const setting = on ? 'off' : 'on';
  await sql`select set_config('enable_hashjoin', ${setting}, true), set_config('enable_mergejoin', ${setting}, true)`.execute(
    trx,
  );
}
