/** Creation of a booking or a series. */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { checkActor, checkKind, checkMayBook, checkOnBehalf, isDisplay, mayShow, mustAsk } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { claimIdempotencyKey } from '../db/idempotency.ts';
import { Conflict, type FieldError, InvalidInput, memberFault } from '../errors.ts';
import { type RefusedOccupation, refuseOccupied } from './alternatives.ts';
import { asSeenBy, type Booking, type NewBooking } from './booking.ts';
import { checkInOf } from './check-in.ts';
import { checkWalkIn } from './door.ts';
import {
  type BookableRoom,
  findClosed,
  findConflicts,
  idSeenBy,
  lockRooms,
  occupiedBy,
  readRooms,
  refuseClosed,
  type Wanted,
  writeBookings,
} from './occupation.ts';
import type { RoomConflict } from './occupied.ts';
import { checkQuotas } from './quota.ts';
import { atSameClock, checkRule, expandRule } from './recurrence.ts';
import { checkActive, checkApart, checkLimits, checkTimes } from './rules.ts';
import { storedStatus } from './status.ts';
import { findStored } from './stored.ts';
import { keepUndo } from './undo.ts';

export type Created = {
  /** The first one of a series. */
  booking: Booking;
  series: {
    seriesId: number;
    recurrenceRule: string;
    bookingIds: number[];
    /** Occurrences that were left out: because of their conflicts, or, without any, because the resource is closed. */
    skipped: Skipped[];
  } | null;
};

type Skipped = { start: Date; end: Date; conflicts: RoomConflict[] };

/** The answer that is stored with an Idempotency-Key. */
type Made = { ids: number[]; seriesId: number | null; skipped: Skipped[] };

/** `places` has one place per occurrence; `closed` are those that are left out because the resource is closed. */
type PlannedPlaces = { places: Wanted[]; closed: Wanted[] };

/**
 * Creates a booking, or all bookings of a series. If a place is occupied or outside of the opening hours, nothing is
 * created; with ConflictHandling Skip, the rest of the series is (contract 5.2).
 * @param options.idempotencyKey repeats the answer to the same person's request with this key within 24 hours
 * @throws Forbidden for a display that may not book, and for a User who books for another person or blocks a resource;
 * InvalidInput with every fault of `wanted`, and for a key that was used with another body; Conflict with the bookings in
 * the way and alternatives, for an inactive resource, and for a repeated request whose booking is now hidden from the
 * viewer
 */
export async function createBooking(
  db: Database,
  viewer: Viewer,
  wanted: NewBooking,
  { idempotencyKey }: { idempotencyKey?: string | undefined },
): Promise<Created> {
  checkActor(viewer);
  checkKind(viewer, wanted.kind);
  const outcome = await writeBookings(db, viewer, async (trx, now): Promise<Made | RefusedOccupation> => {
    const claim = idempotencyKey ? await claimIdempotencyKey<Made>(trx, viewer, idempotencyKey) : undefined;
    const fingerprint = fingerprintOf(wanted);
    if (claim?.answered) {
      const earlier = await claim.settle(fingerprint, { ids: [], seriesId: null, skipped: [] });
      return revive(earlier as Made);
    }
    const plan = await planPlaces(trx, viewer, wanted, now);
    const made = await make(trx, viewer, wanted, plan, now);
    if ('ids' in made) await claim?.settle(fingerprint, made);
    return made;
  });
  if ('conflicts' in outcome) throw await refuseOccupied(db, viewer, outcome);
  const { ids, seriesId, skipped } = outcome;
  const [first] = ids as [number];
  const booking = await findStored(db, viewer.mandatorId, first);
  // A repeated request may come after the booking was moved or deleted, or after the rights of the caller have changed.
  if (!booking || !mayShow(viewer, booking.resourceId))
    throw Conflict.because(
      'KeyUsed',
      'The first request with this Idempotency-Key has made a booking that you do not see any more; use a new key for a new request.',
    );
  const { recurrenceRule } = wanted;
  return {
    booking: asSeenBy(viewer, booking),
    series:
      seriesId !== null && recurrenceRule !== undefined ? { seriesId, recurrenceRule, bookingIds: ids, skipped } : null,
  };
}

/** The hash does not depend on the order of the members. */
function fingerprintOf(wanted: NewBooking): Buffer {
  const members = Object.entries(wanted).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify(['create booking', members]))
    .digest();
}

/** Turns the instants of a stored answer, which JSON keeps as texts, back into dates. */
function revive({ ids, seriesId, skipped }: Made): Made {
  return {
    ids,
    seriesId,
    skipped: skipped.map(({ start, end, conflicts }) => ({
      start: new Date(start),
      end: new Date(end),
      conflicts: conflicts.map((conflict) => ({
        ...conflict,
        start: new Date(conflict.start),
        end: new Date(conflict.end),
        wantedStart: new Date(conflict.wantedStart),
      })),
    })),
  };
}

/**
 * Validates a booking and lists its places; locks nothing.
 * @throws InvalidInput with every fault
 */
async function planPlaces(trx: Transaction, viewer: Viewer, wanted: NewBooking, now: Date): Promise<PlannedPlaces> {
  const faults: FieldError[] = [];
  async function collect<T>(work: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      faults.push(...error.errors);
      return undefined;
    }
  }
  const ids = [idSeenBy(viewer, wanted.resourceId)];
  const rooms = await collect(() => readRooms(trx, viewer.mandatorId, ids));
  if (rooms) checkRights(viewer, rooms[0] as BookableRoom, wanted);
  if (isDisplay(viewer)) await collect(() => checkWalkIn(viewer, wanted, now));
  else {
    await collect(() => checkOrganizer(trx, viewer, wanted));
    await collect(() => checkTimes(viewer, wanted.kind, wanted, now));
  }
  const timesAreRight = faults.every(({ field }) => field !== 'Start' && field !== 'End');
  if (rooms && timesAreRight) {
    const [room] = rooms as [BookableRoom];
    const listed = (await collect(() => listPlaces(wanted, room.timeZone))) ?? [];
    const closed = await findClosed(trx, viewer, listed, wanted.kind);
    const skips = wanted.conflictHandling === 'Skip' && closed.length < listed.length;
    const places = skips ? listed.filter((place) => !closed.includes(place)) : listed;
    const remedy = closed.length < listed.length ? ', or leave such dates out with ConflictHandling Skip' : '';
    if (!skips) await collect(() => refuseClosed(closed, remedy));
    const { organizerId = viewer.personId } = wanted;
    await collect(() => checkLimits(viewer, room, organizerId, places, now));
    if (faults.length === 0) return { places, closed };
  } else if (wanted.recurrenceRule !== undefined) {
    const { recurrenceRule } = wanted;
    await collect(() => checkRule(recurrenceRule));
  }
  throw InvalidInput.of(...faults);
}

/** @throws Forbidden for a caller who may not book the room, or not for this organizer */
function checkRights(viewer: Viewer, room: BookableRoom, { organizerId }: NewBooking): void {
  checkMayBook(viewer, room);
  checkOnBehalf(viewer, room.policy, organizerId);
}

/** @throws InvalidInput for an unknown or inactive person */
async function checkOrganizer(
  trx: Transaction,
  { mandatorId, personId }: Viewer,
  { organizerId = personId }: NewBooking,
): Promise<void> {
  if (organizerId === personId) return;
  const organizer = await trx
    .selectFrom('person')
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', sql<number>`${organizerId}::bigint`)
    .select('active')
    .executeTakeFirst();
  if (organizer?.active) return;
  const [code, text] = organizer
    ? (['InactivePerson', 'the person is not active: choose another one'] as const)
    : (['UnknownPerson', 'there is no person with this id'] as const);
  throw InvalidInput.of(memberFault('OrganizerId', code, text));
}

/** The places in order of time. @throws InvalidInput for an invalid rule, and for bookings that overlap each other */
function listPlaces(wanted: NewBooking, timeZone: string): Wanted[] {
  const { start, end, recurrenceRule, resourceId, setupMinutes, teardownMinutes } = wanted;
  const starts = recurrenceRule === undefined ? [start] : expandRule(recurrenceRule, start, timeZone);
  const places = starts.map((occurrence) => ({
    ...atSameClock(occurrence, start, end, timeZone),
    resourceId,
    setupMinutes,
    teardownMinutes,
  }));
  checkApart(places);
  return places;
}

/** @throws Conflict for an inactive resource */
async function make(
  trx: Transaction,
  viewer: Viewer,
  wanted: NewBooking,
  { places, closed }: PlannedPlaces,
  now: Date,
): Promise<Made | RefusedOccupation> {
  const [room] = (await lockRooms(trx, viewer.mandatorId, [wanted.resourceId])) as [BookableRoom];
  checkActive(room, 'ResourceId');
  const conflicts = await findConflicts(trx, viewer, places);
  const inTheWay = Map.groupBy(conflicts, ({ wantedStart }) => wantedStart.getTime());
  const free = places.filter(({ start }) => !inTheWay.has(start.getTime()));
  if (free.length === 0 || (inTheWay.size > 0 && wanted.conflictHandling === 'Fail')) return { conflicts, places };
  const occupied = places.filter((place) => !free.includes(place));
  const skipped = [...closed, ...occupied]
    .map(({ start, end }) => ({ start, end, conflicts: inTheWay.get(start.getTime()) ?? [] }))
    .sort((one, other) => one.start.getTime() - other.start.getTime());
  const { kind, organizerId = viewer.personId } = wanted;
  const takings = free.map((place) => ({ old: null, to: { ...place, kind, organizerId } }));
  await checkQuotas(trx, viewer, [room], takings);
  const made = { ...(await insert(trx, viewer, wanted, room, free, now)), skipped };
  for (const id of made.ids) await keepUndo(trx, viewer, 'Booked', { id, version: 0 });
  return made;
}

/** Inserts the bookings and their series in one statement. A booking made at a display is checked in at once. */
async function insert(
  trx: Transaction,
  viewer: Viewer,
  wanted: NewBooking,
  room: BookableRoom,
  places: readonly Wanted[],
  now: Date,
): Promise<{ ids: number[]; seriesId: number | null }> {
  const { mandatorId, personId } = viewer;
  const { kind, status, subject, description, isPrivate, setupMinutes, teardownMinutes } = wanted;
  const { organizerId = personId, recurrenceRule = null } = wanted;
  const occupied = places.map(occupiedBy);
  const isRequest = mustAsk(viewer, room.policy);
  const checkIns = places.map((place) => (isRequest ? null : checkInOf(room, kind, place, now)));
  const [origin, hasCome] = isDisplay(viewer) ? ['Display', true] : ['Api', false];
  const { rows } = await sql<{ id: number; seriesId: number | null }>`
    with series as (
      insert into booking_series (mandator_id, recurrence_rule)
      select ${mandatorId}::integer, ${recurrenceRule}::text where ${recurrenceRule}::text is not null
      returning id
    ), inserted as (
      insert into booking (mandator_id, resource_id, kind, status, approval, origin, subject, description, is_private,
        occupied, setup_minutes, teardown_minutes, organizer_id, created_by, series_id, check_in_from, check_in_until,
        checked_in_at)
      select ${mandatorId}, ${room.id}, ${kind}, ${isRequest ? storedStatus.Requested : status}, ${isRequest ? 'Requested' : null}, ${origin}, ${subject}, ${description}, ${isPrivate},
        tstzrange(place.occupied_from, place.occupied_to), ${setupMinutes}, ${teardownMinutes}, ${organizerId}, ${personId},
        (select id from series), place.check_in_from, place.check_in_until,
        case when ${hasCome} and place.check_in_until is not null then now() end
      from unnest(${occupied.map(({ from }) => from)}::timestamptz[], ${occupied.map(({ to }) => to)}::timestamptz[],
        ${checkIns.map((times) => times?.from ?? null)}::timestamptz[],
        ${checkIns.map((times) => times?.until ?? null)}::timestamptz[])
        as place(occupied_from, occupied_to, check_in_from, check_in_until)
      returning id, series_id
    )
    select id, series_id as "seriesId" from inserted order by id`.execute(trx);
  return { ids: rows.map(({ id }) => id), seriesId: rows[0]?.seriesId ?? null };
}
