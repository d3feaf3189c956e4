/** Quotas of policies: how many bookings a person has in a week, and how long they last together. */
import { sql } from 'kysely';
import { type BookingLimits, limitsFor } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { InvalidInput, type LimitFigures, memberFault } from '../errors.ts';
import { dateText, dayLength, mondayOf, readDate } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { localDateOf } from '../time/zones.ts';
import type { BookingKind } from './booking.ts';
import type { BookableRoom, BookingPolicy } from './occupation.ts';
import { inWords } from './rules.ts';
import { endOfBooking, occupies, startOfBooking } from './status.ts';
import { roomOf } from './steps.ts';

/** A booking that takes a place, and the place that it had before; `old` is null when it occupied nothing. */
export type Taking = {
  old: Counted | null;
  to: Counted & { kind: BookingKind; organizerId: number | null };
};
type Counted = { id?: number; resourceId: number; start: Date; end: Date };
type Place = { start: Date; end: Date; timeZone: string };
type Sum = { bookings: number; minutes: number };

/** A week and more, since `occupied` begins earlier than the start by the setup, and weeks begin by local clocks. */
const margin = 9 * dayLength;

/**
 * Checks that persons stay within the quotas of the policies of these rooms, setup and teardown left out. A booking of
 * Kind Booking that occupies its resource counts for its organizer in the week, from Monday on the clocks of its location, in
 * which it begins. A change that does not increase the usage is always allowed.
 *
 * The row of the person is locked until the transaction ends, so that no other transaction adds to what is counted here.
 * @param rooms the rooms that are left and taken, locked
 * @throws InvalidInput code QuotaReached
 */
export async function checkQuotas(
  trx: Transaction,
  viewer: Viewer,
  rooms: readonly BookableRoom[],
  takings: readonly Taking[],
): Promise<void> {
  const counting = takings.flatMap((taking) => {
    const { organizerId, kind, resourceId } = taking.to;
    const { policy } = roomOf(rooms, resourceId);
    if (kind !== 'Booking' || organizerId === null || policy === null) return [];
    const limits = limitsFor(viewer, policy, organizerId);
    if (limits.quotaBookingsPerWeek === null && limits.quotaMinutesPerWeek === null) return [];
    return [{ ...taking, policy, limits, organizerId }];
  });
  if (counting.length === 0) return;
  const groups = Map.groupBy(counting, ({ policy, organizerId }) => `${organizerId} ${policy.id}`);
  const persons = new Set(counting.map(({ organizerId }) => organizerId));
  await sql`
    select from person where mandator_id = ${viewer.mandatorId} and id = any (${[...persons]}::integer[])
    order by id for no key update`.execute(trx);
  for (const group of groups.values()) {
    const [{ policy, limits, organizerId }] = group as [(typeof group)[number]];
    const placeOf = ({ resourceId, start, end }: Counted) => ({
      start,
      end,
      timeZone: roomOf(rooms, resourceId).timeZone,
    });
    const left = group.flatMap(({ old }) =>
      old && roomOf(rooms, old.resourceId).policy?.id === policy.id ? placeOf(old) : [],
    );
    const taken = group.map(({ to }) => placeOf(to));
    const except = group.flatMap(({ old }) => old?.id ?? []);
    const { mandatorId } = viewer;
    const others = await readCounted(trx, { mandatorId, policyId: policy.id, organizerId, except }, taken);
    const [before, after] = [sumByWeek([...others, ...left]), sumByWeek([...others, ...taken])];
    for (const week of new Set(taken.map(weekOf)))
      checkWeek(policy, limits, week, before.get(week) ?? none, after.get(week) as Sum);
  }
}

type Whose = { mandatorId: number; policyId: number; organizerId: number; except: readonly number[] };

/** The bookings of the person in rooms of the policy around these places. */
async function readCounted(
  trx: Transaction,
  { mandatorId, policyId, organizerId, except }: Whose,
  places: readonly Place[],
): Promise<Place[]> {
  const starts = places.map(({ start }) => start.getTime());
  const [from, to] = [new Date(Math.min(...starts) - margin), new Date(Math.max(...starts) + margin)];
  const { rows } = await sql<Place>`
    select ${startOfBooking} as start,
      ${endOfBooking} as "end", location.time_zone as "timeZone"
    from booking
    join resource on resource.mandator_id = booking.mandator_id and resource.id = booking.resource_id
    join location on location.mandator_id = resource.mandator_id and location.id = resource.location_id
    where booking.mandator_id = ${mandatorId} and booking.organizer_id = ${organizerId}
      and lower(booking.occupied) between ${from} and ${to} and booking.kind = 'Booking'
      and ${occupies} and resource.policy_id = ${policyId}
      and booking.id <> all (${except}::bigint[])`.execute(trx);
  return rows;
}

/** The Monday of the local week in which a place begins. */
const weekOf = ({ start, timeZone }: Place): string => dateText(mondayOf(readDate(localDateOf(start, timeZone))));

const none: Sum = { bookings: 0, minutes: 0 };

function sumByWeek(places: readonly Place[]): Map<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const place of places) {
    const week = weekOf(place);
    const { bookings, minutes } = sums.get(week) ?? none;
    const lasts = (place.end.getTime() - place.start.getTime()) / minute;
    sums.set(week, { bookings: bookings + 1, minutes: minutes + lasts });
  }
  return sums;
}

function checkWeek(
  { name }: BookingPolicy,
  { quotaBookingsPerWeek, quotaMinutesPerWeek }: BookingLimits,
  week: string,
  before: Sum,
  after: Sum,
): void {
  const next = dateText(readDate(week) + 7);
  const refuse = (limit: LimitFigures, most: string, present: string, wanted: string) => {
    const text = `under the policy ${name} a person may have at most ${most} a week; in the week from ${week} there are ${present}, and this would make ${wanted}. Choose another week, the next begins on ${next}, or cancel a booking of that week`;
    return InvalidInput.of(
      memberFault('Start', 'QuotaReached', text, { policy: name, week, nextWeek: next, ...limit }),
    );
  };
  const isMore = (sum: number, most: number | null, earlier: number) => most !== null && sum > most && sum > earlier;
  if (isMore(after.bookings, quotaBookingsPerWeek, before.bookings))
    throw refuse(
      { bookings: quotaBookingsPerWeek as number },
      `${quotaBookingsPerWeek} booking${quotaBookingsPerWeek === 1 ? '' : 's'}`,
      `${before.bookings}`,
      `${after.bookings}`,
    );
  if (isMore(after.minutes, quotaMinutesPerWeek, before.minutes))
    throw refuse(
      { minutes: quotaMinutesPerWeek as number },
      inWords(quotaMinutesPerWeek as number),
      inWords(before.minutes),
      inWords(after.minutes),
    );
}
