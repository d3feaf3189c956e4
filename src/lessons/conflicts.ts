/**
 * Conflicts over rooms. A **claim** is a room and time that the plan needs for a booking it inserts or changes. A claim may
 * overlap neither another claim nor a booking that the plan does not touch.
 */
import { type RawBuilder, sql } from 'kysely';
import { occupies, occupiesAs } from '../bookings/service.ts';
import type { Transaction } from '../db/database.ts';
import type { BatchKey, Running } from './batch.ts';
import { isCancelled } from './fields.ts';
import { live, planBookings } from './plan.ts';

/**
 * Writes the claims of the present plan to `room_claim`, each under the row of the lesson that leads its booking. A claim
 * `stays` when its booking has that room and time already.
 */
export async function stageClaims(trx: Transaction, { mandatorId }: BatchKey): Promise<void> {
  await sql`create index if not exists booking_plan_id on booking_plan (id)`.execute(trx);
  await sql`drop table if exists room_claim`.execute(trx);
  await sql`
    create temporary table room_claim on commit drop as
    select row, booking_plan.id as booking, staged.resource_id, beginn, ende, tstzrange(beginn, ende) as occupied,
      coalesce(present.resource_id = staged.resource_id and present.occupied = tstzrange(beginn, ende)
        and ${occupiesAs('present')}, false) as stays
    from booking_plan join staged_lesson as staged using (row)
    left join booking as present on present.mandator_id = ${mandatorId} and present.id = booking_plan.id
    where fate in ('insert', 'change', 'take') and not ${isCancelled(sql`staged`)}`.execute(trx);
  await sql`create index on room_claim using gist (resource_id, occupied)`.execute(trx);
  await sql`create index on room_claim (resource_id, ende, row)`.execute(trx);
  await sql`analyze room_claim`.execute(trx);
}

/**
 * The `from` and `where` of a query for the bookings that overlap a room and time and that the plan does not touch. Add
 * `limit` or `offset 0`, so that each claim is looked up by the index: a join would compare all claims with all
 * bookings. The `offset 0` inside keeps the whole plan from being read for each claim.
 */
export const bookingsInTheWay = (
  { mandatorId }: BatchKey,
  resource: RawBuilder<unknown>,
  occupied: RawBuilder<unknown>,
) => sql`
  from booking
  where booking.resource_id = ${resource} and booking.mandator_id = ${mandatorId}
    and ${occupies} and booking.occupied && ${occupied}
    and not exists (select from booking_plan where booking_plan.id = booking.id offset 0)`;

/** Applies OnConflict to the plan: Displace cancels manual bookings, Skip leaves the conflicting lessons out. */
export async function settleConflicts(trx: Transaction, batch: Running): Promise<void> {
  await stageClaims(trx, batch);
  if (batch.onConflict === 'Displace') await displaceBookings(trx, batch);
  else await skipLessons(trx, batch);
}

/** The row of the displacing lesson is kept beside the booking, for the warning. */
async function displaceBookings(trx: Transaction, batch: BatchKey): Promise<void> {
  await sql`
    insert into booking_plan (id, row, fate)
    select distinct on (way.id) way.id, claim.row, 'displace'
    from room_claim as claim
    cross join lateral (
      select booking.id ${bookingsInTheWay(batch, sql`claim.resource_id`, sql`claim.occupied`)} and booking.kind = 'Booking'
      offset 0
    ) as way
    order by way.id, claim.row`.execute(trx);
}

/** The most rounds of leaving lessons out, and of taking them back: each round changes which other lessons conflict. */
const mostRounds = 10;

/**
 * If two lessons claim the same place, the one that has it already wins, otherwise the first in the body. The loser
 * keeps its stored room and time, and may conflict there with a third lesson. If the winner is left out later, the
 * loser is taken back.
 */
async function skipLessons(trx: Transaction, batch: Running): Promise<void> {
  const planAgain = async () => {
    await planBookings(trx, batch);
    await stageClaims(trx, batch);
  };
  for (let round = 1; await leaveOut(trx, batch, round === mostRounds); round++) await planAgain();
  for (let round = 1; round < mostRounds && (await takeBack(trx, batch)); round++) await planAgain();
}

/** A table that takes claims in order and refuses those that overlap an earlier one. */
const claimsInOrder = sql`(row integer, resource_id integer, occupied tstzrange,
  exclude using gist (resource_id with =, occupied with &&)) on commit drop`;

/** @param all leaves out every lesson that moves, to end the rounds @returns whether any was left out */
async function leaveOut(trx: Transaction, batch: BatchKey, all: boolean): Promise<boolean> {
  await stageDominoes(trx, batch);
  await sql`drop table if exists granted_claim`.execute(trx);
  await sql`create temporary table granted_claim ${claimsInOrder}`.execute(trx);
  await sql`
    with recursive refused (row) as (
      select row from room_claim as claim
      cross join lateral (select true ${bookingsInTheWay(batch, sql`claim.resource_id`, sql`claim.occupied`)} limit 1) as way
      union
      select next from refused join domino using (row)
    )
    insert into granted_claim
    select row, resource_id, occupied from room_claim
    where not ${all} and row not in (select row from refused) order by not stays, row
    on conflict do nothing`.execute(trx);
  await sql`analyze granted_claim`.execute(trx);
  const { numAffectedRows } = await sql`
    update staged_lesson as staged set skipped = true
    from lesson_plan join room_claim on room_claim.row = lesson_plan.leader
    where lesson_plan.row = staged.row and ${live}
      and not exists (select from granted_claim where granted_claim.row = room_claim.row)`.execute(trx);
  return (numAffectedRows ?? 0n) > 0n;
}

/** @returns whether any lesson was taken back */
async function takeBack(trx: Transaction, batch: BatchKey): Promise<boolean> {
  const place = sql`tstzrange(staged.beginn, staged.ende)`;
  await sql`drop table if exists free_claim`.execute(trx);
  await sql`create temporary table free_claim ${claimsInOrder}`.execute(trx);
  // One subquery per lesson, as for `bookingsInTheWay`.
  await sql`
    insert into free_claim
    select row, resource_id, ${place} from staged_lesson as staged
    where skipped and not refused
      and (
        select true from room_claim as claim join staged_lesson as leader using (row)
        where claim.resource_id = staged.resource_id and claim.occupied && ${place}
          and (claim.occupied = ${place} and leader.kopplung_id = staged.kopplung_id) is not true
        limit 1) is null
      and (
        select true ${bookingsInTheWay(batch, sql`staged.resource_id`, place)}
          and (booking.id = staged.stored_booking and not staged.stored_shared) is not true
          and (booking.occupied = ${place} and booking.coupling_id = staged.kopplung_id) is not true
        limit 1) is null
    order by row
    on conflict do nothing`.execute(trx);
  const { numAffectedRows } = await sql`
    update staged_lesson set skipped = false from free_claim where free_claim.row = staged_lesson.row`.execute(trx);
  return (numAffectedRows ?? 0n) > 0n;
}

/** Fills `domino`: if claim `row` is refused, its lessons keep their places, so `next`, which needs one, is refused. */
async function stageDominoes(trx: Transaction, { mandatorId }: BatchKey): Promise<void> {
  await sql`drop table if exists domino`.execute(trx);
  await sql`
    create temporary table domino on commit drop as
    select leaving.row, next.row as next
    from room_claim as leaving
    join lesson_plan on lesson_plan.leader = leaving.row
    join staged_lesson as staged on staged.row = lesson_plan.row
    cross join lateral (
      select resource_id, occupied from booking
      where mandator_id = ${mandatorId} and id = staged.stored_booking and ${occupies}
      offset 0
    ) as kept
    cross join lateral (
      select row from room_claim as claim
      where claim.resource_id = kept.resource_id and claim.occupied && kept.occupied and claim.booking <> staged.stored_booking
      offset 0
    ) as next`.execute(trx);
  await sql`create index on domino (row)`.execute(trx);
  await sql`analyze domino`.execute(trx);
}
