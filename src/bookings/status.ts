/**
 * How statuses and times are stored. A request is Tentative and a declined one Cancelled, with a word in the column `approval`. So the
 * exclusion constraint and all queries know only two statuses that occupy a resource. The stored range includes setup and
 * teardown. Pure.
 */
import { type RawBuilder, sql } from 'kysely';
import type { BookingStatus } from './booking.ts';

/** The value of the column `status`. */
export const storedStatus = {
  Requested: 'Tentative',
  Confirmed: 'Confirmed',
  Tentative: 'Tentative',
  Declined: 'Cancelled',
  Cancelled: 'Cancelled',
  Released: 'Released',
} as const satisfies Record<BookingStatus, string>;

/** The condition that a booking waits for approval, by the index `booking_requested`. */
export const isRequested = sql<boolean>`booking.approval = 'Requested' and booking.status = 'Tentative'`;

/** The status of a booking as clients see it. */
export const statusOf: RawBuilder<BookingStatus> = sql`case
  when ${isRequested} or booking.approval = 'Declined' and booking.status = 'Cancelled' then booking.approval
  else booking.status end`;

/** The condition that clients see one of these statuses. `=` for a single status keeps the order of an index. */
export function hasStatus(statuses: readonly BookingStatus[]): RawBuilder<boolean> {
  const [first, ...others] = new Set(statuses.map((status) => storedStatus[status]));
  const stored = others.length === 0 ? sql`= ${first}` : sql`= any(${[first, ...others]})`;
  return sql`booking.status ${stored} and ${statusOf} = any(${[...statuses]})`;
}

/** The condition that the row of this name occupies its resource, in the words of the exclusion constraint. */
export const occupiesAs = (row: string): RawBuilder<boolean> =>
  sql`${sql.ref(row)}.status in ('Confirmed', 'Tentative')`;
/** The condition that a booking occupies its resource. */
export const occupies = occupiesAs('booking');
/** The opposite, in the words of the index `booking_inactive`. */
export const isInactive = sql<boolean>`booking.status in ('Cancelled', 'Released')`;

/** The times of a booking as clients see them. */
export const startOfBooking = sql<Date>`lower(booking.occupied) + make_interval(mins => booking.setup_minutes)`;
export const endOfBooking = sql<Date>`upper(booking.occupied) - make_interval(mins => booking.teardown_minutes)`;
