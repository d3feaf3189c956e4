/**
 * The fast path of Create: lessons go straight from the body into their tables, a slice at a time, and the tables'
 * constraints check them. Most batches are free of faults; the others are rolled back and planned.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Running } from './batch.ts';
import { describeShared } from './coupling.ts';
import { insertBookings, insertLessonRows } from './insertion.ts';
import { type LessonSlice, newLessons } from './staging.ts';

/** The jobs themselves; their lessons follow in slices. */
export async function insertJobs(trx: Transaction, batch: Running): Promise<void> {
  await sql`
    insert into lesson_job (mandator_id, id, job_id, bezeichnung, quelle, standort, bemerkung, batch_id, created_by)
    overriding system value
    select ${batch.mandatorId}, job, job_id, bezeichnung, quelle, standort, bemerkung, ${batch.id}, ${batch.createdBy}
    from staged_job where is_new`.execute(trx);
}

/** Coupled lessons of one room and time share the booking of the first of them, or one that exists already. */
function bookedLessons(batch: Running, slice: LessonSlice): RawBuilder<unknown> {
  return sql`
    parsed as materialized (
      select lesson.*, status is not distinct from 'Entfaellt' as cancelled, nextval('booking_id_seq') as own_booking
      from (${newLessons(batch, slice)}) as lesson
    ), booked as materialized (
      select parsed.*, coalesce(existing, leader.id, own_booking) as booking_id
      from (
        select parsed.*, case when kopplung_id is not null and not cancelled and not refused then (
          select id from booking
          where booking.mandator_id = ${batch.mandatorId} and booking.coupling_id = parsed.kopplung_id
            and booking.resource_id = parsed.resource_id and booking.occupied = tstzrange(parsed.beginn, parsed.ende)
            and booking.status in ('Confirmed', 'Tentative')
        ) end as existing
        from parsed
      ) as parsed
      left join (
        select kopplung_id, resource_id, beginn, ende, min(own_booking) as id
        from parsed where kopplung_id is not null and not cancelled and not refused group by 1, 2, 3, 4
      ) as leader on leader.kopplung_id = parsed.kopplung_id and leader.resource_id = parsed.resource_id
        and leader.beginn = parsed.beginn and leader.ende = parsed.ende and not parsed.cancelled
      where not refused
    )`;
}

/** `refused`: the fast path must be given up; `remarkable`: there are warnings; `coupled`: bookings are shared. */
type Noticed = {
  refused: boolean;
  remarkable: boolean;
  coupled: boolean;
  earliest: Date;
  latest: Date;
};

/** Bookings and lessons of a slice, in one statement. */
export async function insertLessons(trx: Transaction, batch: Running, slice: LessonSlice): Promise<Noticed> {
  const { rows } = await sql<Noticed>`
    with ${bookedLessons(batch, slice)}, inserted_booking as (
      ${insertBookings(batch)} from booked where booking_id = own_booking
    ), inserted_lesson as (
      ${insertLessonRows(batch)} from booked
    ), noted_times as (
      insert into lesson_times select resource_id, range_agg(tstzrange(beginn, ende)) from booked group by resource_id
    )
    select bool_or(refused) as refused, bool_or(kopplung_id is not null) as coupled, min(beginn) as earliest, max(ende) as latest,
      coalesce(bool_or(has_unknown or beginn_assumed_utc or ende_assumed_utc or ende < now()), false) as remarkable
    from parsed`.execute(trx);
  return rows[0] as Noticed;
}

/** Shared bookings with lessons of the batch, once all of them are in. */
export async function describeCoupled(trx: Transaction, batch: Running): Promise<void> {
  const bookings = sql`
    select booking_id from staged_job join lesson on lesson.mandator_id = ${batch.mandatorId} and lesson.job = staged_job.job
    where kopplung_id is not null and status <> 'Entfaellt'`;
  await describeShared(trx, batch, bookings, bookings, sql`booking.batch_id = ${batch.id}`);
}
