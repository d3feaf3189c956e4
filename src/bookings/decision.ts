/** Decisions about bookings that wait for approval. */
import { sql } from 'kysely';
import { checkBooker, checkDecider, mayDecide } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Versions } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { rests } from '../db/resting.ts';
import { Conflict } from '../errors.ts';
import { checkVersion } from '../records.ts';
import type { Booking, DecisionVerdict, Scope } from './booking.ts';
import { checkInOf } from './check-in.ts';
import { checkIsActive, type Held, holdBookings } from './held.ts';
import { type BookableRoom, readRooms, writeBookings } from './occupation.ts';
import { getBooking } from './reading.ts';
import { isRequested, startOfBooking } from './status.ts';
import { roomOf } from './steps.ts';

/** `scope`: which other requests of its series the decision applies to. */
type Decision = { verdict: DecisionVerdict; reason: string | null; scope: Scope };

/**
 * Approves a request, which makes it Confirmed, or declines it, which is final; with a scope also the requests of its series
 * about which the viewer may decide. Repeating one's own decision changes nothing, whatever version is named.
 * @throws Forbidden for a viewer who may not decide about the named one, NotFound, PreconditionFailed; Conflict for a
 * booking that does not wait for approval, and for one that has begun
 */
export async function decideBooking(
  db: Database,
  act: Act,
  id: number,
  versions: Versions,
  { verdict, reason, scope }: Decision,
): Promise<Booking> {
  const { viewer } = act;
  checkBooker(viewer);
  // Neither verdict occupies anything new, so the rooms are not locked.
  await writeBookings(db, viewer, async (trx) => {
    const { named, meant, now } = await holdBookings(trx, viewer, id, scope, { ownersOnly: false });
    const ids = new Set([named, ...meant].map(({ resourceId }) => resourceId));
    const rooms = await readRooms(trx, viewer.mandatorId, [...ids]);
    checkDecider(viewer, roomOf(rooms, named.resourceId));
    const isRepeated = named.decision?.verdict === verdict && named.decision.personId === viewer.personId;
    if (!isRepeated) {
      checkVersion(named, versions);
      checkIsRequest(named, now);
    }
    const decided = meant.filter(
      (held) =>
        held.status === 'Requested' && held.start > now && mayDecide(viewer, roomOf(rooms, held.resourceId).policy),
    );
    if (decided.length > 0) await write(trx, act, { verdict, reason }, decided, now, rooms);
  });
  return await getBooking(db, viewer, id);
}

/** @throws Conflict for a booking that needs no decision */
function checkIsRequest(held: Held, now: Date): void {
  checkIsActive(held);
  if (held.status !== 'Requested')
    throw Conflict.because(
      'NotRequested',
      'This booking does not wait for approval; read it again to see its present state.',
    );
  if (held.start <= now)
    throw Conflict.because(
      'DecidedTooLate',
      `This booking would have begun at ${held.start.toISOString()}; it is too late for a decision.`,
    );
}

async function write(
  trx: Transaction,
  act: Act,
  { verdict, reason }: Omit<Decision, 'scope'>,
  requests: readonly Held[],
  now: Date,
  rooms: readonly BookableRoom[],
): Promise<void> {
  const { mandatorId, personId } = act.viewer;
  const checkIns = requests.map((held) =>
    verdict === 'Approved' ? checkInOf(roomOf(rooms, held.resourceId), held.kind, held, now) : null,
  );
  await sql`
    update booking set status = ${verdict === 'Approved' ? 'Confirmed' : 'Cancelled'}, approval = ${verdict},
      decided_at = now(), decided_by = ${personId}, decision_reason = ${reason},
      check_in_from = decided.check_in_from, check_in_until = decided.check_in_until, version = version + 1, changed_at = now()
    from unnest(${requests.map(({ id }) => id)}::bigint[], ${checkIns.map((times) => times?.from ?? null)}::timestamptz[],
      ${checkIns.map((times) => times?.until ?? null)}::timestamptz[]) as decided(id, check_in_from, check_in_until)
    where booking.mandator_id = ${mandatorId} and booking.id = decided.id`.execute(trx);
  const action = verdict === 'Approved' ? 'approve booking' : 'decline booking';
  for (const { id, organizerId } of requests) {
    const subject = { noun: 'Booking', id, personId: organizerId ?? personId } as const;
    await recordAct(trx, act, action, subject);
  }
}

const isOverdue = sql<boolean>`${isRequested} and ${startOfBooking} <= now()`;
/** SQL: whether there are requests to decline. */
export const hasOverdue = sql<boolean>`exists (select from booking where ${isOverdue})`;
const declinedPerSweep = 1_000;

/**
 * Declines the requests of all tenants that have begun undecided. Like the release of no-shows, the sweep skips locked
 * bookings, so that it never waits.
 * @returns the number of declined requests
 */
export async function declineOverdue(db: Database): Promise<number> {
  const { numAffectedRows } = await sql`
    with due as materialized (
      select mandator_id, id from booking
      where ${isOverdue} and not ${rests(sql`booking.mandator_id`)}
      order by lower(occupied) limit ${declinedPerSweep} for no key update skip locked
    )
    update booking set status = 'Cancelled', approval = 'Declined', decided_at = now(),
      decision_reason = 'Nobody decided about it before it began.', version = version + 1, changed_at = now()
    from due where booking.mandator_id = due.mandator_id and booking.id = due.id`.execute(db);
  return Number(numAffectedRows ?? 0);
}
