/**
 * The set-based SQL of the import, all of it on temporary tables that live as long as the import's transaction:
 * `staged_job` and `staged_lesson` hold the body as typed rows. A row whose fields are not in order is marked `faulty`;
 * what exactly is wrong, everywhere and all at once, is only worked out when something is.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
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
import type { BatchKey } from './service.ts';

const listOrEmpty = sql`case when jsonb_typeof(${lessonList}) = 'array' then ${lessonList} else '[]' end`;
const ofBatch = ({ mandatorId, id }: BatchKey) => sql`mandator_id = ${mandatorId} and batch_id = ${id}`;
const unknownMembers = (object: RawBuilder<unknown>, known: string[]) =>
  sql`jsonb_typeof(${object}) = 'object' and ${object} - ${sql.lit(`{${known.join(',')}}`)}::text[] <> '{}'`;

const isWithoutOffset = (column: string) => {
  const text = sql.ref(`typed.${column}`);
  return sql`right(${text}, 1) between '0' and '9' and ${text} !~ '[+-][0-9]{2}(:?[0-9]{2})?$'`;
};

/** How many lessons the batch holds, without looking at them. */
export async function countLessons(trx: Transaction, batch: BatchKey): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(jsonb_array_length(${listOrEmpty})), 0)::int as count
    from batch_job where ${ofBatch(batch)}`.execute(trx);
  return rows[0]?.count ?? 0;
}

export type Staged = {
  lessons: number;
  faulty: boolean;
  /** Whether any lesson is coupled, so that it may share a booking. */
  coupled: boolean;
  /** Whether the body holds members that the contract does not know. */
  unknown: boolean;
  assumedUtc: boolean;
  past: boolean;
  earliest: Date | null;
  latest: Date | null;
  resourceIds: number[];
};

/** Reads the body into the staging tables. Ids of jobs and bookings are given out here, so that chunks can follow one another. */
export async function stage(trx: Transaction, batch: BatchKey): Promise<Staged> {
  // Sorting and hashing in memory; a time without an offset is UTC; no compiled plan is worth its compilation here.
  await sql`select set_config('work_mem', '64MB', true), set_config('timezone', 'UTC', true), set_config('jit', 'off', true)`.execute(
    trx,
  );
  // Each level is fenced by `offset 0`, so that every expression is worked out once: as sent, as text, as value.
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
  await stageRooms(trx, batch);
  await sql`
    create temporary table staged_lesson on commit drop as
    select row_number() over ()::int as row, lesson.*, job.job, room.matches, room.id as resource_id,
      coalesce(status, 'Geplant') as planned,
      case when status is distinct from 'Entfaellt' then nextval('booking_id_seq') end as booking_id,
      false as shares,
      lesson.faulty or ende <= beginn or ende - beginn > interval '24 hours'
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
            where ${ofBatch(batch)}
            offset 0
          ) as raw
          offset 0
        ) as texts
        offset 0
      ) as typed
      offset 0
    ) as lesson
    join staged_job as job using (index)
    left join staged_room as room on room.name = lesson.ressource_name and room.standort = coalesce(job.standort, '')`.execute(
    trx,
  );
  const { rows } = await sql<Staged>`
    select count(*)::int as lessons,
      coalesce(bool_or(refused), false) or exists (select from staged_job where faulty) as faulty,
      coalesce(bool_or(kopplung_id is not null), false) as coupled,
      coalesce(bool_or(has_unknown), false) or exists (select from staged_job where has_unknown) as unknown,
      coalesce(bool_or(beginn_assumed_utc or ende_assumed_utc), false) as "assumedUtc",
      coalesce(bool_or(ende < now()), false) as past,
      min(beginn) as earliest, max(ende) as latest,
      coalesce(array_agg(distinct resource_id) filter (where resource_id is not null), '{}') as "resourceIds"
    from staged_lesson`.execute(trx);
  const staged = rows[0] as Staged;
  if (staged.coupled) await shareBookings(trx, batch);
  return staged;
}

/** Each room name of the body once, with what it stands for: fewer names than lessons by far. */
async function stageRooms(trx: Transaction, batch: BatchKey): Promise<void> {
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
}

/** Coupled lessons of one room and time share the first one's booking, or one that is there already. */
async function shareBookings(trx: Transaction, batch: BatchKey): Promise<void> {
  await sql`
    update staged_lesson as lesson set booking_id = coalesce(coupled.existing, coupled.leader),
      shares = coupled.existing is not null or coupled.leader <> lesson.booking_id
    from (
      select row, first_value(staged.booking_id) over (partition by kopplung_id, staged.resource_id, beginn, ende order by row) as leader,
        booking.id as existing
      from staged_lesson as staged
      left join booking on booking.mandator_id = ${batch.mandatorId} and booking.coupling_id = staged.kopplung_id
        and booking.resource_id = staged.resource_id and booking.occupied = tstzrange(staged.beginn, staged.ende)
        and booking.status in ('Confirmed', 'Tentative')
      where kopplung_id is not null and staged.booking_id is not null and not refused
    ) as coupled
    where lesson.row = coupled.row`.execute(trx);
}

/** Takes the rooms in a fixed order, as every writer of bookings does, so that none waits for the other in a circle. */
export async function lockResources(trx: Transaction, mandatorId: number): Promise<void> {
  await sql`
    select from resource
    where mandator_id = ${mandatorId} and id in (select resource_id from staged_lesson)
    order by id for no key update`.execute(trx);
}

export async function insertJobs(trx: Transaction, batch: BatchKey): Promise<void> {
  await sql`
    insert into lesson_job (mandator_id, id, job_id, bezeichnung, quelle, standort, bemerkung, batch_id)
    overriding system value
    select ${batch.mandatorId}, job, job_id, bezeichnung, quelle, standort, bemerkung, ${batch.id} from staged_job`.execute(
    trx,
  );
}

/** Bookings and lessons of the rows from `first` to `last`; the table's constraints do the checking. */
export async function insertLessons(
  trx: Transaction,
  batch: BatchKey,
  first: number,
  last: number,
): Promise<void> {
  await sql`
    insert into booking (mandator_id, id, resource_id, kind, status, origin, subject, is_private, occupied, batch_id, coupling_id)
    overriding system value
    select ${batch.mandatorId}, booking_id, resource_id, 'Lesson', 'Confirmed', 'Import', coalesce(titel, fach),
      coalesce(privat, false), tstzrange(beginn, ende), ${batch.id}, kopplung_id
    from staged_lesson
    where row between ${first} and ${last} and booking_id is not null and not shares`.execute(trx);
  await sql`
    insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, titel, fach,
      klassen, lehrpersonen, bemerkung, kopplung_id, privat)
    select ${batch.mandatorId}, job, lektion_id, booking_id, resource_id, beginn, ende, planned, titel, fach,
      klassen, lehrpersonen, bemerkung, kopplung_id, coalesce(privat, false)
    from staged_lesson where row between ${first} and ${last}`.execute(trx);
}
