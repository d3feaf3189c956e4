/**
 * The set-based SQL of the import, all of it on temporary tables that live as long as the import's transaction:
 * `staged_job` and `staged_lesson` hold the body as typed rows. A row whose fields are not in order is marked `faulty`;
 * what exactly is wrong, everywhere and all at once, is only worked out when something is.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { BatchKey } from './batch.ts';
import {
  anyFault,
  finalColumns,
  jobFields,
  knownJobMembers,
  knownLessonMembers,
  lessonFields,
  lessonList,
  member,
  rawColumns,
  textColumns,
  valueColumns,
} from './fields.ts';

const listOrEmpty = sql`case when jsonb_typeof(${lessonList}) = 'array' then ${lessonList} else '[]' end`;
const ofBatch = ({ mandatorId, id }: BatchKey) => sql`mandator_id = ${mandatorId} and batch_id = ${id}`;
const unknownMembers = (object: RawBuilder<unknown>, known: string[]) =>
  sql`jsonb_typeof(${object}) = 'object' and ${object} - ${sql.lit(`{${known.join(',')}}`)}::text[] <> '{}'`;

const isWithoutOffset = (column: string) => {
  const text = sql.ref(`typed.${column}`);
  return sql`right(${text}, 1) between '0' and '9' and ${text} !~ '[+-][0-9]{2}(:?[0-9]{2})?$'`;
};

/** A run of lessons in the order of the body: whole jobs, or a part of one large job. */
export type Slice = { firstJob: number; lastJob: number; firstLesson: number; lastLesson: number };

const everything: Slice = { firstJob: 0, lastJob: 2 ** 31 - 1, firstLesson: 0, lastLesson: 2 ** 31 - 1 };

/** How many lessons each job holds, without looking at them. */
export async function countLessons(trx: Transaction, batch: BatchKey): Promise<number[]> {
  const { rows } = await sql<{ counts: number[] | null }>`
    select array_agg(jsonb_array_length(${listOrEmpty}) order by index) as counts
    from batch_job where ${ofBatch(batch)}`.execute(trx);
  return rows[0]?.counts ?? [];
}

export type StagedJobs = { faulty: boolean; unknown: boolean; resourceIds: number[] };

/**
 * Reads the jobs and the names of their rooms into `staged_job` and `staged_room`. The ids of the jobs are given out
 * here, so that slices of lessons can follow one another.
 */
export async function stageJobs(trx: Transaction, batch: BatchKey): Promise<StagedJobs> {
  // Sorting and hashing in memory; a time without an offset is UTC; no compiled plan is worth its compilation here.
  await sql`select set_config('work_mem', '64MB', true), set_config('timezone', 'UTC', true), set_config('jit', 'off', true)`.execute(
    trx,
  );
  await sql`
    create temporary table staged_job on commit drop as
    select index, nextval('lesson_job_id_seq') as job, has_unknown, ${finalColumns(jobFields, 'typed')},
      ${anyFault(jobFields, 'typed')} or coalesce(jsonb_typeof(list), '') <> 'array' or list = '[]' as faulty
    from (
      select texts.*, ${valueColumns(jobFields, 'texts')}
      from (
        select raw.*, ${textColumns(jobFields, 'raw')}
        from (
          select index, ${unknownMembers(sql`body`, knownJobMembers)} as has_unknown, ${lessonList} as list,
            ${rawColumns(sql`body`, jobFields)}
          from batch_job where ${ofBatch(batch)}
          offset 0
        ) as raw
        offset 0
      ) as texts
      offset 0
    ) as typed`.execute(trx);
  // Each name once, with what it stands for: there are fewer names than lessons by far.
  await sql`
    create temporary table staged_room on commit drop as
    select wanted.name, wanted.standort, count(resource.id)::int as matches, min(resource.id) as id
    from (
      select distinct ${member(sql`lesson`, 'RessourceName')} #>> '{}' as name, coalesce(job.standort, '') as standort
      from batch_job join staged_job as job using (index) cross join jsonb_array_elements(${listOrEmpty}) as lesson
      where ${ofBatch(batch)}
    ) as wanted
    left join resource on resource.mandator_id = ${batch.mandatorId} and resource.active
      and resource.name_key = name_key(wanted.name)
      and (wanted.standort = '' or resource.location_id in (
        select id from location
        where location.mandator_id = ${batch.mandatorId} and location.name_key = name_key(wanted.standort)))
    where wanted.name is not null
    group by 1, 2`.execute(trx);
  await sql`analyze staged_job, staged_room`.execute(trx);
  const { rows } = await sql<StagedJobs>`
    select coalesce(bool_or(faulty), false) or exists (select from staged_room where matches <> 1) as faulty,
      coalesce(bool_or(has_unknown), false) as unknown,
      array(select distinct id from staged_room where id is not null order by id) as "resourceIds"
    from staged_job`.execute(trx);
  return rows[0] as StagedJobs;
}

/**
 * The lessons of a slice as typed rows, `refused` where something is wrong with one by itself. Each level is fenced by
 * `offset 0`, so that every expression is worked out once: as sent, as text, as value, checked. Coupled lessons of one
 * room and time share the booking of the first one, or one that is there already.
 */
function plannedLessons(batch: BatchKey, slice: Slice): RawBuilder<unknown> {
  return sql`
    parsed as materialized (
      select lesson.*, job.job, room.matches, room.id as resource_id,
        case when status is distinct from 'Entfaellt' then nextval('booking_id_seq') end as own_booking,
        lesson.faulty or beginn is null or ende is null or ende <= beginn or ende - beginn > interval '24 hours'
          or room.matches is distinct from 1 or (ressource_id is not null and ressource_id <> room.id) as refused
      from (
        select index, lektion_index, has_unknown, not is_object or ${anyFault(lessonFields, 'typed')} as faulty,
          ${finalColumns(lessonFields, 'typed')},
          ${isWithoutOffset('beginn_text')} as beginn_assumed_utc, ${isWithoutOffset('ende_text')} as ende_assumed_utc
        from (
          select texts.*, ${valueColumns(lessonFields, 'texts')}
          from (
            select raw.*, ${textColumns(lessonFields, 'raw')}
            from (
              select index, number - 1 as lektion_index, jsonb_typeof(lesson) = 'object' as is_object,
                ${unknownMembers(sql`lesson`, knownLessonMembers)} as has_unknown, ${rawColumns(sql`lesson`, lessonFields)}
              from batch_job cross join jsonb_array_elements(${listOrEmpty}) with ordinality as list (lesson, number)
              where ${ofBatch(batch)} and index between ${slice.firstJob} and ${slice.lastJob}
                and number > ${slice.firstLesson} and number <= ${slice.lastLesson}
              offset 0
            ) as raw
            offset 0
          ) as texts
          offset 0
        ) as typed
        offset 0
      ) as lesson
      join staged_job as job using (index)
      left join staged_room as room on room.name = lesson.ressource_name and room.standort = coalesce(job.standort, '')
    ), planned as (
      select parsed.*, coalesce(existing, leader.id, own_booking) as booking_id,
        coalesce(existing, leader.id, own_booking) is distinct from own_booking as shares
      from (
        select parsed.*, case when kopplung_id is not null and own_booking is not null and not refused then (
          select id from booking
          where booking.mandator_id = ${batch.mandatorId} and booking.coupling_id = parsed.kopplung_id
            and booking.resource_id = parsed.resource_id and booking.occupied = tstzrange(parsed.beginn, parsed.ende)
            and booking.status in ('Confirmed', 'Tentative')
        ) end as existing
        from parsed
      ) as parsed
      left join (
        select kopplung_id, resource_id, beginn, ende, min(own_booking) as id
        from parsed where kopplung_id is not null and not refused group by 1, 2, 3, 4
      ) as leader on leader.kopplung_id = parsed.kopplung_id and leader.resource_id = parsed.resource_id
        and leader.beginn = parsed.beginn and leader.ende = parsed.ende and own_booking is not null
    )`;
}

/** Nobody can tell the planner how many lessons a body holds: it would join them one by one. */
export async function joinByHash(trx: Transaction, on: boolean): Promise<void> {
  await sql`select set_config('enable_nestloop', ${on ? 'off' : 'on'}, true)`.execute(trx);
}

/** All lessons of the body in `staged_lesson`: for when there is something to say about them. */
export async function stageLessons(trx: Transaction, batch: BatchKey): Promise<void> {
  await joinByHash(trx, true);
  await sql`
    create temporary table staged_lesson on commit drop as
    with ${plannedLessons(batch, everything)} select *, row_number() over () as row from planned`.execute(
    trx,
  );
  await joinByHash(trx, false);
}

/** Takes the rooms in a fixed order, as every writer of bookings does, so that none waits for the other in a circle. */
export async function lockResources(trx: Transaction, mandatorId: number): Promise<void> {
  await sql`
    select from resource
    where mandator_id = ${mandatorId} and id in (select id from staged_room)
    order by id for no key update`.execute(trx);
}

/** The jobs themselves; their lessons follow in slices. */
export async function insertJobs(trx: Transaction, batch: BatchKey): Promise<void> {
  await sql`
    insert into lesson_job (mandator_id, id, job_id, bezeichnung, quelle, standort, bemerkung, batch_id)
    overriding system value
    select ${batch.mandatorId}, job, job_id, bezeichnung, quelle, standort, bemerkung, ${batch.id} from staged_job`.execute(
    trx,
  );
}

/** What is noticed while inserting: with `refused` the batch must be given up, `remarkable` asks for warnings. */
export type Noticed = { refused: boolean; remarkable: boolean; earliest: Date; latest: Date };

/** Bookings and lessons of a slice, in one statement straight from the body; the tables' constraints do the checking. */
export async function insertLessons(trx: Transaction, batch: BatchKey, slice: Slice): Promise<Noticed> {
  const { rows } = await sql<Noticed>`
    with ${plannedLessons(batch, slice)}, fit as materialized (
      select * from planned where not refused
    ), booked as (
      insert into booking (mandator_id, id, resource_id, kind, status, origin, subject, is_private, occupied, batch_id, coupling_id)
      overriding system value
      select ${batch.mandatorId}, booking_id, resource_id, 'Lesson', 'Confirmed', 'Import', coalesce(titel, fach),
        coalesce(privat, false), tstzrange(beginn, ende), ${batch.id}, kopplung_id
      from fit where booking_id is not null and not shares
    ), inserted as (
      insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, titel, fach,
        klassen, lehrpersonen, bemerkung, kopplung_id, privat)
      select ${batch.mandatorId}, job, lektion_id, booking_id, resource_id, beginn, ende, coalesce(status, 'Geplant'), titel,
        fach, klassen, lehrpersonen, bemerkung, kopplung_id, coalesce(privat, false)
      from fit
    )
    select bool_or(refused) as refused, min(beginn) as earliest, max(ende) as latest,
      coalesce(bool_or(has_unknown or beginn_assumed_utc or ende_assumed_utc or ende < now()), false) as remarkable
    from parsed`.execute(trx);
  return rows[0] as Noticed;
}

/** A list of the times that some rooms are open. */
export type OpenList = { resourceIds: number[]; intervals: readonly { start: Date; end: Date }[] };

/** Lays opening hours beside the lessons: `open_interval` by list and UTC day, `open_room` says which list a room keeps. */
export async function stageOpeningHours(
  trx: Transaction,
  lists: OpenList[],
  from: Date,
  to: Date,
): Promise<void> {
  const rooms = lists.flatMap(({ resourceIds }, list) => resourceIds.map((id) => ({ id, list })));
  const times = lists.flatMap(({ intervals }, list) =>
    intervals.map(({ start, end }) => ({ list, start, end })),
  );
  await sql`
    create temporary table open_room on commit drop as
    select id, list, ${from}::timestamptz as known_from, ${to}::timestamptz as known_to
    from unnest(${rooms.map(({ id }) => id)}::int[], ${rooms.map(({ list }) => list)}::int[]) as room (id, list)`.execute(
    trx,
  );
  await sql`
    create temporary table open_interval on commit drop as
    select list, day::date, opens, closes
    from unnest(${times.map(({ list }) => list)}::int[], ${times.map(({ start }) => start)}::timestamptz[],
      ${times.map(({ end }) => end)}::timestamptz[]) as time (list, opens, closes)
    cross join generate_series(opens::date, closes::date, interval '1 day') as day`.execute(trx);
  await sql`create index on open_interval (list, day)`.execute(trx);
  await sql`analyze open_room, open_interval`.execute(trx);
}

/** Joins and keeps the rows of a table of lessons whose room is known not to be open all the time. */
export function outsideOpeningHours(lesson: string): RawBuilder<unknown> {
  const of = (column: string) => sql.ref(`${lesson}.${column}`);
  return sql`join open_room on open_room.id = ${of('resource_id')}
    and ${of('beginn')} >= known_from and ${of('ende')} <= known_to
    and not exists (
      select from open_interval
      where open_interval.list = open_room.list and day = ${of('beginn')}::date
        and opens <= ${of('beginn')} and closes >= ${of('ende')})`;
}

/** Whether any lesson that this batch has inserted lies outside the opening hours laid out. */
export async function anyOutsideOpeningHours(trx: Transaction, { mandatorId }: BatchKey): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (
      select from staged_job
      join lesson on lesson.mandator_id = ${mandatorId} and lesson.job = staged_job.job
      ${outsideOpeningHours('lesson')}
    ) as found`.execute(trx);
  return rows[0]?.found === true;
}
