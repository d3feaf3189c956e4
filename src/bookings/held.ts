/** Locks bookings for a change until the transaction ends, and writes them. */
import { sql } from 'kysely';
import { checkOwner, inReach } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { Conflict } from '../errors.ts';
import { noRecord } from '../records.ts';
import { type BookingKind, type BookingStatus, type DecisionVerdict, isActive, type Scope } from './booking.ts';
import { refuseAtDoor } from './door.ts';
import { occupiedBy, type Wanted } from './occupation.ts';
import { endOfBooking, occupies, startOfBooking, statusOf, storedStatus } from './status.ts';

/** The members of a booking that changes read or write. */
export type Held = Wanted & {
  id: number;
  kind: BookingKind;
  status: BookingStatus;
  subject: string | null;
  description: string | null;
  isPrivate: boolean;
  seriesId: number | null;
  checkInFrom: Date | null;
  checkInUntil: Date | null;
  checkedInAt: Date | null;
  createdAt: Date;
  organizerId: number | null;
  decision: { verdict: DecisionVerdict; personId: number | null } | null;
  version: number;
};

/** `named` is the booking whose id the client sends, `meant` the bookings of its series in the scope of the change. */
export type Holding = { named: Held; meant: Held[]; now: Date };

/** The columns of `booking` as the members of `Held`. */
const heldColumns = sql`
  id, resource_id as "resourceId", kind, ${statusOf} as status, subject, description, is_private as "isPrivate",
  ${startOfBooking} as start,
  ${endOfBooking} as "end",
  setup_minutes as "setupMinutes", teardown_minutes as "teardownMinutes", series_id as "seriesId",
  check_in_from as "checkInFrom", check_in_until as "checkInUntil", checked_in_at as "checkedInAt",
  created_at as "createdAt", version, organizer_id as "organizerId", now() as now,
  case when decided_at is not null then json_build_object('verdict', approval, 'personId', decided_by) end as decision`;

type HeldRow = Held & { createdBy: number | null; now: Date };

/**
 * Locks the named booking and, with a scope, those of its series that are active and not over: all, or from this one on.
 * The bookings are locked in the order of their ids. `now` is the time of the database.
 * @throws NotFound, also at a display for a booking of another room; Conflict with the remedy for a lesson and a mail item,
 * and for a block at a display; Forbidden for a User who neither made nor organizes the booking (a display may change any),
 * unless the caller checks permissions itself
 */
export async function holdBookings(
  trx: Transaction,
  viewer: Viewer,
  id: number,
  scope: Scope = 'This',
  { ownersOnly = true } = {},
): Promise<Holding> {
  const { mandatorId } = viewer;
  const series = sql`series_id = (select series_id from booking where mandator_id = ${mandatorId} and id = ${id}::bigint)`;
  const { rows } = await sql<HeldRow>`
    select ${heldColumns}, created_by as "createdBy"
    from booking
    where mandator_id = ${mandatorId} and (id = ${id}::bigint ${scope === 'This' ? sql`` : sql`or ${series}`})
      ${inReach(viewer, 'booking.resource_id')}
    order by id for no key update`.execute(trx);
  const named = rows.find((row) => row.id === id);
  if (!named) throw noRecord('booking');
  if (viewer.display && named.kind !== 'Booking') throw refuseAtDoor(named.kind);
  if (named.kind === 'Lesson' || named.kind === 'MailItem') throw await refuseForeign(trx, mandatorId, named);
  if (ownersOnly) checkOwner(viewer, [named.organizerId, named.createdBy]);
  const { now } = named;
  if (scope === 'This') return { named, meant: [named], now };
  const isMeant = (row: Held) =>
    isActive(row) && row.end > now && (scope === 'All' || row.id === id || row.start > named.start);
  return { named, meant: rows.filter(isMeant), now };
}

/** Locks the future bookings of a resource that persons have made, except blocks, in the order of their ids. */
export async function holdUpcoming(
  trx: Transaction,
  mandatorId: number,
  resourceId: number,
): Promise<(Held & { now: Date })[]> {
  const { rows } = await sql<Held & { now: Date }>`
    select ${heldColumns} from booking
    where mandator_id = ${mandatorId} and resource_id = ${resourceId} and kind = 'Booking'
      and ${occupies} and lower(occupied) > now()
    order by id for no key update`.execute(trx);
  return rows;
}

/** The refusal to change a booking that the timetable or the mail server owns. */
async function refuseForeign(trx: Transaction, mandatorId: number, { id, kind }: Held): Promise<Conflict> {
  if (kind === 'MailItem')
    return Conflict.because(
      'FromMailServer',
      'This booking comes from the mail server; change it in the calendar of its mailbox.',
    );
  const lesson = await trx
    .selectFrom('lesson')
    .innerJoin('lesson_job', (join) =>
      join.onRef('lesson_job.mandator_id', '=', 'lesson.mandator_id').onRef('lesson_job.id', '=', 'lesson.job'),
    )
    .where('lesson.mandator_id', '=', mandatorId)
    .where('lesson.booking_id', '=', id)
    .orderBy('lesson.job')
    .orderBy('lesson.lektion_id')
    .select(['lesson_job.job_id as jobId', 'lesson.lektion_id as lektionId'])
    .limit(1)
    .executeTakeFirst();
  const of = lesson ? `is lesson ${lesson.lektionId} of job ${lesson.jobId}` : 'was a lesson';
  return Conflict.because('IsLesson', `This booking ${of}; change the lesson by updating its job.`);
}

/** @throws Conflict for a booking that is cancelled, declined or released */
export function checkIsActive({ status }: Held): void {
  if (status === 'Declined') throw Conflict.because('BookingDeclined', 'This booking is declined; make a new one.');
  if (status === 'Cancelled') throw Conflict.because('BookingCancelled', 'This booking is cancelled; make a new one.');
  if (status === 'Released') throw Conflict.because('BookingReleased', 'This booking is released; make a new one.');
}

/** @throws Conflict for a request, as it is not a confirmed booking yet */
export function checkIsDecided({ status }: Held): void {
  if (status === 'Requested')
    throw Conflict.because('AwaitsApproval', 'This booking waits for approval; cancel it, or wait for the decision.');
}

/** @throws Conflict for a booking that has ended */
export function checkNotOver({ end }: Held, now: Date): void {
  if (end <= now)
    throw Conflict.because(
      'BookingOver',
      `This booking is over: it ended at ${end.toISOString()}. It cannot be changed.`,
    );
}

/** Writes the members that a change may change. One statement, because the exclusion constraint is checked at its end: bookings of a series may swap places. */
export async function writeHeld(trx: Transaction, { mandatorId }: Viewer, bookings: readonly Held[]): Promise<void> {
  if (bookings.length === 0) return;
  const rows = bookings.map((booking) => ({
    ...booking,
    ...occupiedBy(booking),
    status: storedStatus[booking.status],
    isRequest: booking.status === 'Requested',
  }));
  await sql`
    update booking set resource_id = new."resourceId", occupied = tstzrange(new.from, new.to), status = new.status,
      subject = new.subject, description = new.description, is_private = new."isPrivate",
      setup_minutes = new."setupMinutes", teardown_minutes = new."teardownMinutes",
      check_in_from = new."checkInFrom", check_in_until = new."checkInUntil",
      checked_in_at = case when not new."isRequest" then checked_in_at end,
      approval = case when new."isRequest" then 'Requested' else approval end,
      decided_at = case when not new."isRequest" then decided_at end,
      decided_by = case when not new."isRequest" then decided_by end,
      decision_reason = case when not new."isRequest" then decision_reason end, version = version + 1, changed_at = now()
    from jsonb_to_recordset(${JSON.stringify(rows)}) as new(
      id bigint, "resourceId" integer, "from" timestamptz, "to" timestamptz, status text, subject text, description text,
      "isPrivate" boolean, "setupMinutes" smallint, "teardownMinutes" smallint,
      "checkInFrom" timestamptz, "checkInUntil" timestamptz, "isRequest" boolean)
    where booking.mandator_id = ${mandatorId} and booking.id = new.id`.execute(trx);
}
