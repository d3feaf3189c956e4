/** What can be done at the door now. */
import { longestMinutes, shortestMinutes } from '../../bookings/walk-in.ts';
import { minute } from '../../time/durations.ts';
import type { ShownRoom, ShownSlot } from './frames.ts';
import type { Sight } from './sight.ts';

export type Offer =
  | { act: 'book'; minutes: number; end: number }
  /** Until the next booking, or closing. */
  | { act: 'bookUntil'; end: number }
  | { act: 'checkIn'; slot: ShownSlot }
  | { act: 'extend'; slot: ShownSlot; minutes: number }
  | { act: 'end'; slot: ShownSlot };

/** In the order in which they are shown. */
export function offersAt(snapshot: ShownRoom, sight: Sight, now: number): Offer[] {
  const { status, current, next, until } = sight;
  if (status === 'FREE' || status === 'STARTING_SOON') return bookings(now, until ?? snapshot.end);
  const offers: Offer[] = [];
  if (!current) return offers;
  if (status === 'CHECK_IN_DUE') offers.push({ act: 'checkIn', slot: current });
  const isOurs = current.kind === 'Booking' && current.start <= now && now < current.end;
  if (!isOurs || !['BUSY', 'ENDING_SOON', 'CHECK_IN_DUE'].includes(status)) return offers;
  if (status !== 'CHECK_IN_DUE') {
    const closes = snapshot.open.find(({ start, end }) => start < current.end && current.end <= end)?.end ?? 0;
    const limit = Math.min(closes, next ? next.from : closes);
    for (const minutes of [15, 30])
      if (current.to + minutes * minute <= limit) offers.push({ act: 'extend', slot: current, minutes });
  }
  return [...offers, { act: 'end', slot: current }];
}

function bookings(now: number, until: number): Offer[] {
  const offers: Offer[] = [];
  const ends: number[] = [];
  for (const minutes of [15, 30, 60]) {
    // Whole minutes read better, and nothing ends after the limit.
    const end = Math.floor(now / minute + minutes) * minute;
    if (end > until) continue;
    offers.push({ act: 'book', minutes, end });
    ends.push(end);
  }
  const left = (until - now) / minute;
  if (!ends.includes(until) && left >= shortestMinutes && left <= longestMinutes)
    offers.push({ act: 'bookUntil', end: until });
  return offers;
}
