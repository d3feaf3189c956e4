/**
 * Brings `staged_lesson` into the tables. Only the end state must be free of conflicts, so lessons may swap rooms and times.
 * What happens to each booking is planned first: `lesson_plan` gives the booking of each lesson, `booking_plan` what is
 * done with a booking (insert, change, take, cancel, displace).
 */
import { sql } from 'kysely';
import { endOfBooking, occupies, startOfBooking } from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import type { BatchKey, Running } from './batch.ts';
import { describeShared } from './coupling.ts';
import { isCancelled } from './fields.ts';
import { bookingStatus, couplingId, insertBookings, insertLessonRows } from './insertion.ts';

type PlannedBatch = BatchKey & Pick<Running, 'createdBy' | 'takeOver'>;

/** Rows that are written. */
export const live = sql`not staged.refused and not staged.skipped`;
/** Whether a planned lesson joins another booking. */
export const isJoining = sql`stored_booking is distinct from lesson_plan.booking`;
const isOff = isCancelled(sql`staged`);

/**
 * Gives each lesson its booking. A lesson keeps its booking when it moves. Coupled lessons share one booking, led by
 * the first of them: a booking that has their room and time already, or one whose lessons all move there, or a new one.
 * A booking without lessons is cancelled.
 */
export async function planBookings(trx: Transaction, batch: PlannedBatch): Promise<void> {
  const { mandatorId } = batch;
  await sql`drop table if exists coupled_lesson, lesson_plan, booking_plan`.execute(trx);
  await sql`create index if not exists staged_lesson_key on staged_lesson (job, lektion_id)`.execute(trx);
  await sql`
    create temporary table coupled_lesson on commit drop as
    select row, min(row) over (partition by kopplung_id, resource_id, beginn, ende) as leader
    from staged_lesson as staged
    where ${live} and action <> 'delete' and kopplung_id is not null and not ${isOff}`.execute(trx);
  await sql`create index on coupled_lesson (row)`.execute(trx);
  await sql`analyze coupled_lesson`.execute(trx);
  const sharersLeft = sql`
    select from lesson as sharer
    left join staged_lesson as staged on staged.job = sharer.job and staged.lektion_id = sharer.lektion_id and ${live}
    left join coupled_lesson as its on its.row = staged.row
    where sharer.mandator_id = ${mandatorId}`;
  await sql`
    create temporary table lesson_plan on commit drop as
    with member as (
      select row, coalesce(coupled.leader, row) as leader, stored_booking, stored_shared, action <> 'keep' as differs
      from staged_lesson as staged left join coupled_lesson as coupled using (row)
      where ${live} and action <> 'delete'
    ), free as (
      select stored_booking as booking, leader from member where not stored_shared
      union all
      select stored_booking, min(leader) from member where stored_shared group by stored_booking
      having min(leader) = max(leader) and count(*) = (
        select count(*) from lesson where mandator_id = ${mandatorId} and booking_id = stored_booking)
    ), resident as (
      select staged.row as leader, booking.id as booking
      from coupled_lesson as coupled join staged_lesson as staged using (row)
      join booking on booking.mandator_id = ${mandatorId} and booking.coupling_id = staged.kopplung_id
        and booking.resource_id = staged.resource_id and booking.occupied = tstzrange(staged.beginn, staged.ende)
        and ${occupies}
      where coupled.row = coupled.leader and exists (
        ${sharersLeft} and sharer.booking_id = booking.id and (staged.row is null or its.leader = coupled.leader))
    ), led as (
      select leader, bool_or(differs) as differs, array_agg(stored_booking) as stored from member group by leader
    ), placed as (
      select leader, coalesce(resident.booking, free.booking, nextval('booking_id_seq')) as booking,
        case when resident.booking is null and free.booking is null then 'insert'
             when differs and (resident.booking is null or resident.booking = any (stored)) then 'change'
             else 'keep' end as fate
      from led
      left join resident using (leader)
      left join (select leader, min(booking) as booking from free where booking is not null group by leader) as free using (leader)
    )
    select row, leader, booking, fate from member join placed using (leader)`.execute(trx);
  await sql`create index on lesson_plan (row)`.execute(trx);
  await sql`analyze lesson_plan`.execute(trx);
  if (batch.takeOver) await planTakeOvers(trx, batch);
  await sql`
    create temporary table booking_plan on commit drop as
    select booking as id, row, fate from lesson_plan where row = leader and fate <> 'keep'
    union all
    select distinct stored_booking, null::int, 'cancel'
    from staged_lesson as left_behind
    where not refused and not skipped and stored_booking is not null
      and not exists (select from lesson_plan where lesson_plan.booking = stored_booking)
      and (not stored_shared or not exists (
        ${sharersLeft} and sharer.booking_id = left_behind.stored_booking and staged.row is null))`.execute(trx);
  await sql`analyze booking_plan`.execute(trx);
}

/** Gives new lessons the sender's own bookings of the same room, start and end; setup and teardown do not count. */
async function planTakeOvers(trx: Transaction, { mandatorId, createdBy }: PlannedBatch): Promise<void> {
  await sql`
    with own as (
      select distinct on (way.id) plan.leader, way.id as booking
      from lesson_plan as plan
      join staged_lesson as staged on staged.row = plan.leader
      cross join lateral (
        select booking.id from booking
        where booking.resource_id = staged.resource_id and booking.mandator_id = ${mandatorId}
          and ${occupies} and booking.occupied && tstzrange(beginn, ende)
          and booking.kind = 'Booking' and coalesce(organizer_id, created_by) = ${createdBy}
          and ${startOfBooking} = beginn and ${endOfBooking} = ende
        offset 0
        -- Cancellations and releases lock no room; they are final.
        for no key update
      ) as way
      where plan.row = plan.leader and fate = 'insert' and not ${isOff}
      order by way.id, plan.leader
    )
    update lesson_plan set booking = own.booking, fate = 'take' from own where lesson_plan.leader = own.leader`.execute(
    trx,
  );
}

export type DescribedPlan = {
  /** The highest row number. */
  rows: number;
  inserted: number;
  /** Lessons that stay in their room and at their time, and differ otherwise. */
  changed: number;
  moved: number;
  removed: number;
  /** Whether there are warnings about single lessons. */
  remarkable: boolean;
  earliest: Date | null;
  latest: Date | null;
  /** The rooms that lessons leave or take. */
  resourceIds: number[];
};

export async function describePlan(trx: Transaction): Promise<DescribedPlan> {
  const { rows } = await sql<DescribedPlan>`
    select coalesce(max(row), 0) as rows, count(*) filter (where action = 'insert' and ${live})::int as inserted,
      count(*) filter (where action = 'update' and not moved and ${live})::int as changed,
      count(*) filter (where action = 'update' and moved and ${live})::int as moved,
      count(*) filter (where action = 'delete' and ${live})::int as removed,
      min(beginn) filter (where action <> 'delete') as earliest, max(ende) filter (where action <> 'delete') as latest,
      coalesce(bool_or(skipped or has_unknown or beginn_assumed_utc or ende_assumed_utc or (action <> 'delete' and ende < now())),
        false) or exists (select from booking_plan where fate in ('displace', 'take')) as remarkable,
      array(
        select resource_id from staged_lesson where resource_id is not null
        union select stored_resource from staged_lesson where stored_resource is not null) as "resourceIds"
    from staged_lesson as staged`.execute(trx);
  return rows[0] as DescribedPlan;
}

/** Updates the jobs, and cancels obsolete bookings before others take their places. */
export async function beginPlan(trx: Transaction, batch: Running): Promise<void> {
  // Lessons may swap places in any order.
  await sql`set constraints booking_no_overlap deferred`.execute(trx);
  if (batch.operation === 'Update')
    await sql`
      update lesson_job set bezeichnung = job.bezeichnung, quelle = job.quelle, standort = job.standort,
        bemerkung = job.bemerkung, changed_at = now()
      from staged_job as job
      where lesson_job.mandator_id = ${batch.mandatorId} and lesson_job.id = job.job
        and ((lesson_job.bezeichnung, lesson_job.quelle, lesson_job.standort, lesson_job.bemerkung)
            is distinct from (job.bezeichnung, job.quelle, job.standort, job.bemerkung)
          or job.job in (select staged.job from staged_lesson as staged where ${live} and action <> 'keep'))`.execute(
      trx,
    );
  await sql`
    update booking set status = 'Cancelled', version = version + 1, changed_at = now()
    from booking_plan
    where booking.mandator_id = ${batch.mandatorId} and booking.id = booking_plan.id and fate in ('cancel', 'displace')
      -- A displaced booking may have been released meanwhile, which is final.
      and (fate = 'cancel' or ${occupies})`.execute(trx);
}

/** Bookings and lessons of the rows from `first` to `last`, in one statement. */
export async function carryOut(trx: Transaction, batch: Running, first: number, last: number): Promise<void> {
  await sql`
    with part as materialized (
      select staged.*, plan.booking as booking_id, plan.fate, plan.row = plan.leader as leads, ${isOff} as cancelled,
        -- Makes the planner look up the key by both of its columns, whatever it knows of the tenant's share of the
        -- table.
        ${batch.mandatorId}::int as mandator_id
      from staged_lesson as staged left join lesson_plan as plan using (row)
      where row between ${first}::int and ${last}::int and ${live}
      -- As they are stored.
      order by stored_booking, row
    ), inserted_booking as (
      ${insertBookings(batch)} from part where leads and fate = 'insert'
    ), changed_booking as (
      update booking set resource_id = part.resource_id, status = ${bookingStatus}, subject = coalesce(titel, fach),
        is_private = coalesce(privat, false), occupied = tstzrange(beginn, ende), coupling_id = ${couplingId},
        version = version + 1, changed_at = now()
      from part
      where booking.mandator_id = part.mandator_id and booking.id = part.booking_id and leads and fate = 'change'
    ), taken_booking as (
      -- Only the id stays: clients may hold it.
      update booking set kind = 'Lesson', origin = 'Import', status = 'Confirmed', subject = coalesce(titel, fach),
        is_private = coalesce(privat, false), occupied = tstzrange(beginn, ende), batch_id = ${batch.id},
        coupling_id = ${couplingId}, description = null, organizer_id = null, organizer_name = null, organizer_email = null, created_by = null, series_id = null,
        setup_minutes = 0, teardown_minutes = 0, check_in_from = null, check_in_until = null, checked_in_at = null,
        approval = null, decided_at = null, decided_by = null, decision_reason = null,
        version = version + 1, changed_at = now()
      from part
      where booking.mandator_id = part.mandator_id and booking.id = part.booking_id and leads and fate = 'take'
    ), inserted_lesson as (
      ${insertLessonRows(batch)} from part where action = 'insert'
    ), changed_lesson as (
      update lesson set booking_id = part.booking_id, resource_id = part.resource_id, beginn = part.beginn, ende = part.ende,
        status = coalesce(part.status, 'Geplant'), titel = part.titel, fach = part.fach, klassen = part.klassen,
        lehrpersonen = part.lehrpersonen, bemerkung = part.bemerkung, kopplung_id = part.kopplung_id,
        privat = coalesce(part.privat, false), ursprung = part.ursprung
      from part
      where lesson.mandator_id = part.mandator_id and lesson.job = part.job and lesson.lektion_id = part.lektion_id
        and action = 'update'
    )
    delete from lesson using part
    where lesson.mandator_id = part.mandator_id and lesson.job = part.job and lesson.lektion_id = part.lektion_id
      and action = 'delete'`.execute(trx);
}

/** Checks the deferred constraint last. @returns as `describeShared` */
export async function endPlan(trx: Transaction, batch: Running): Promise<boolean> {
  if (batch.replacesQuelle !== null)
    await sql`
      delete from lesson_job
      where mandator_id = ${batch.mandatorId} and quelle = ${batch.replacesQuelle} and id in (select job from staged_job)
        and not exists (select from lesson where lesson.mandator_id = lesson_job.mandator_id and lesson.job = lesson_job.id)`.execute(
      trx,
    );
  if (batch.operation === 'Delete') {
    const ofJob = (whole: boolean) => sql`
      lesson_job.mandator_id = ${batch.mandatorId} and lesson_job.id = staged.job and staged.whole = ${whole}`;
    await sql`delete from lesson_job using staged_job as staged where ${ofJob(true)}`.execute(trx);
    await sql`update lesson_job set changed_at = now() from staged_job as staged where ${ofJob(false)}`.execute(trx);
  }
  const isCrowded = await describeShared(trx, batch, {
    bookings: sql`
      select stored_booking from staged_lesson where stored_shared
      union select booking from lesson_plan join coupled_lesson using (row)`,
    touched: sql`
      select stored_booking from staged_lesson as staged where stored_shared and ${live} and action <> 'keep'
      union select booking from lesson_plan join staged_lesson using (row) where action <> 'keep'`,
    isRenewed: sql`booking.id in (select id from booking_plan where fate in ('insert', 'change', 'take'))`,
    joined: sql`select booking from lesson_plan join staged_lesson using (row) where ${isJoining}`,
  });
  await sql`set constraints booking_no_overlap immediate`.execute(trx);
  return isCrowded;
}
