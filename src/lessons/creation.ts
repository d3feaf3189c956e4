/**
 * The fast path of Create: lessons go straight from the body into their tables, a slice at a time, and the tables'
 * constraints check them. Most batches have no faults; the others are rolled back and take the planned path.
 */
import { type RawBuilder, sql } from 'kysely';
import { occupies } from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import type { Running } from './batch.ts';
import { describeShared } from './coupling.ts';
import { isCancelled, member, textOf } from './fields.ts';
import { type KnownHours, outsideOpeningHours } from './hours.ts';
import { insertBookings, insertLessonRows } from './insertion.ts';
import { type SentRooms, stagedFor } from './reading.ts';
import { jobRows, type LessonSlice, newLessons } from './staging.ts';

/** Jobs of the body as the fast path inserts them. */
export const sentJobs = (batch: Running): RawBuilder<unknown> => sql`(${jobRows(batch)}) as sent`;

/** Inserts the jobs; their lessons follow in slices. @param jobs those of the body, staged or not */
export async function insertJobs(trx: Transaction, batch: Running, jobs: RawBuilder<unknown>): Promise<void> {
  await sql`
    insert into lesson_job (mandator_id, id, job_id, bezeichnung, quelle, standort, bemerkung, batch_id, created_by)
    overriding system value
    select ${batch.mandatorId}, job, job_id, bezeichnung, quelle, standort, bemerkung, ${batch.id}, ${batch.createdBy}
    from ${jobs} where is_new`.execute(trx);
}

/** Coupled lessons of one room and time share the booking of the first of them, or one that exists already. */
function bookedLessons(batch: Running, slice: LessonSlice): RawBuilder<unknown> {
  return sql`
    parsed as materialized (
      select lesson.*, ${isCancelled(sql`lesson`)} as cancelled, nextval('booking_id_seq') as own_booking
      from (${newLessons(batch, slice)}) as lesson
    ), booked as materialized (
      select parsed.*, coalesce(existing, leader.id, own_booking) as booking_id
      from (
        select parsed.*, case when kopplung_id is not null and not cancelled and not refused then (
          select id from booking
          where booking.mandator_id = ${batch.mandatorId} and booking.coupling_id = parsed.kopplung_id
            and booking.resource_id = parsed.resource_id and booking.occupied = tstzrange(parsed.beginn, parsed.ende)
            and ${occupies}
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
type Noticed = { refused: boolean; remarkable: boolean; coupled: boolean };

/**
 * Inserts the bookings and lessons of a slice in one statement.
 * @param known.hours the opening hours, if any are known
 */
export async function insertLessons(
  trx: Transaction,
  batch: Running,
  slice: LessonSlice,
  { rooms, hours }: { rooms: SentRooms; hours: KnownHours | undefined },
): Promise<Noticed> {
  const isOutside = hours
    ? sql`exists (select from booked ${outsideOpeningHours(hours, sql`tstzrange(beginn, ende)`)})`
    : sql`false`;
  const { rows } = await sql<Noticed>`
    with ${stagedFor(batch, slice, rooms)}, ${bookedLessons(batch, slice)}, inserted_booking as (
      ${insertBookings(batch)} from booked where booking_id = own_booking
    ), inserted_lesson as (
      ${insertLessonRows(batch)} from booked
    )
    select bool_or(refused) as refused, bool_or(kopplung_id is not null) as coupled,
      coalesce(bool_or(has_unknown or beginn_assumed_utc or ende_assumed_utc or ende < now()), false) or ${isOutside} as remarkable
    from parsed`.execute(trx);
  return rows[0] as Noticed;
}

/** Writes the shared bookings of the batch, after all of its lessons are inserted. @returns as `describeShared` */
export function describeCoupled(trx: Transaction, batch: Running): Promise<boolean> {
  const bookings = sql`
    select booking_id from batch_job
    join lesson_job on lesson_job.mandator_id = batch_job.mandator_id and lesson_job.job_id = ${textOf(member(sql`batch_job.body`, 'JobID'))}
    join lesson on lesson.mandator_id = lesson_job.mandator_id and lesson.job = lesson_job.id
    where batch_job.mandator_id = ${batch.mandatorId} and batch_job.batch_id = ${batch.id} and kopplung_id is not null and not ${isCancelled(sql`lesson`)}`;
  return describeShared(trx, batch, {
    bookings,
    touched: bookings,
    isRenewed: sql`booking.batch_id = ${batch.id}`,
    joined: bookings,
  });
}
