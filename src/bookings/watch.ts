/** Watching bookings: the `bookings` subscription (contract 8). */
import { setTimeout as sleep } from 'node:timers/promises';
import { checkReader } from '../access.ts';
import { cursorAt, type FeedStretch, findEnd, readChangePage, readTogether } from '../changes/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { TopicChange } from '../db/notifications.ts';
import { outlast } from '../flow/retry.ts';
import { asSeenBy, type Booking, type BookingFilter } from './booking.ts';
import { findStored } from './stored.ts';

/** `cursor` is where the feed of changes goes on behind this frame. */
export type BookingFrame = { cursor: string; serverTime: Date; bookings: Booking[] };

/** Where every change of a tenant's bookings is announced, with the resource as key. */
export const bookingTopic = (viewer: Viewer) => `booking:${viewer.mandatorId}`;

/** Bookings of a frame, and so changes that are read for one. */
export const frameLength = 100;
const heartbeat = 30_000;

/**
 * A frame at once, with the present cursor or with what has changed since `after`; then one after each change, each
 * booking in its present state, and an empty one every 30 s. A new booking is told when it fits the filter; a changed one
 * when its room (before or after the change), kind and series fit, whatever else became of it: so that whoever shows it
 * learns that it is gone. Of a private booking of others the series is not told, so it fits none.
 * @param after a cursor of the feed of changes
 * @param signal that the watching ends; until then outages are outlasted
 * @throws Forbidden for a display, Malformed for what is no cursor, Conflict for one whose changes are not kept any more
 */
export async function* watchBookings(
  db: Database,
  viewer: Viewer,
  filter: BookingFilter,
  after: string | null | undefined,
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
  heartbeatEvery = heartbeat,
): AsyncGenerator<BookingFrame> {
  checkReader(viewer);
  const from = (after ? readChangePage(undefined, after).after : undefined) ?? 'now';
  let place = from === 'now' ? await outlast(signal, () => findEnd(db, viewer.mandatorId)) : from;
  let isGreeted = false;
  const frame = (bookings: Booking[]): BookingFrame => {
    isGreeted = true;
    return { cursor: cursorAt(place), serverTime: new Date(), bookings };
  };
  if (from === 'now') yield frame([]);
  for await (const change of withPulse(changes, heartbeatEvery)) {
    for (let hasMore = change !== undefined; hasMore; ) {
      const { stretch, bookings } = await outlast(signal, async () => {
        const stretch = await readTogether(db, viewer.mandatorId, { limit: frameLength, after: place });
        return { stretch, bookings: await readNews(db, viewer, filter, stretch) };
      });
      place = stretch.end;
      hasMore = stretch.hasMore;
      if (bookings.length > 0) yield frame(bookings);
    }
    if (!change || !isGreeted) yield frame([]);
  }
}

/** The changes, and undefined in between whenever so many milliseconds have passed. */
async function* withPulse<T>(changes: AsyncIterable<T>, every: number): AsyncGenerator<T | undefined> {
  const over = new AbortController();
  const beat = () => sleep(every, undefined, { signal: over.signal, ref: false }).catch(() => undefined);
  const iterator = changes[Symbol.asyncIterator]();
  try {
    for (let [next, pulse] = [iterator.next(), beat()]; ; ) {
      const result = await Promise.race([pulse, next]);
      if (result?.done) return;
      yield result?.value;
      if (result) next = iterator.next();
      else pulse = beat();
    }
  } finally {
    over.abort();
  }
}

/** What a stretch of the feed has for a filter, in the order of the feed. */
async function readNews(db: Database, viewer: Viewer, filter: BookingFilter, stretch: FeedStretch): Promise<Booking[]> {
  const { resourceId, locationId, kind, seriesId } = filter;
  /** By booking: whether all that is told of it is that it is new. */
  const news = new Map<number, boolean>();
  for (const change of stretch.changes) {
    if (change.kind !== 'Booking') continue;
    if ((resourceId ?? change.resourceId) !== change.resourceId) continue;
    if ((locationId ?? change.locationId) !== change.locationId) continue;
    const id = Number(change.id);
    news.set(id, (news.get(id) ?? true) && change.action === 'Created');
  }
  const found = await Promise.all(
    [...news].map(async ([id, isNew]) => ({ isNew, stored: await findStored(db, viewer.mandatorId, id) })),
  );
  return found.flatMap(({ isNew, stored }) => {
    if (!stored) return [];
    const booking = asSeenBy(viewer, stored);
    if (booking.kind !== (kind ?? booking.kind) || booking.seriesId !== (seriesId ?? booking.seriesId)) return [];
    return isNew && !isAsked(filter, booking) ? [] : [booking];
  });
}

const minutes = 60_000;

/** Whether a booking has the rest of what a filter asks for. */
function isAsked({ from, to, personId, status, changedAfter }: BookingFilter, booking: Booking): boolean {
  const begin = booking.start.getTime() - booking.setupMinutes * minutes;
  const end = booking.end.getTime() + booking.teardownMinutes * minutes;
  return (
    (!from || end > from.getTime()) &&
    (!to || begin < to.getTime()) &&
    (personId === undefined || booking.organizer?.personId === personId) &&
    (status === undefined || booking.status === status) &&
    (!changedAfter || booking.changedAt > changedAfter)
  );
}
