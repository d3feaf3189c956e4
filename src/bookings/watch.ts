/** The `bookings` subscription (contract 8). */

import { setTimeout as sleep } from 'node:timers/promises';
import { checkReader, mayDecide, maySee, mayShow } from '../access.ts';
import { cursorAt, type FeedStretch, findEnd, readChangePage, readTogether } from '../changes/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import type { TopicChange } from '../db/notifications.ts';
import { outlast } from '../flow/retry.ts';
import { minute } from '../time/durations.ts';
import { checkPeriod } from '../time/period.ts';
import { asSeenBy, type Booking, type BookingFilter, isActive, type StoredBooking } from './booking.ts';
import { filtersByContent } from './questions.ts';
import { selectMatchesAmong } from './search.ts';
import { findStored } from './stored.ts';

/**
 * Changed bookings as they are now, and the ids of those that were moved to a room that is hidden from the viewer; with a filter by
 * series also of those that are private to others now.
 */
type News = { bookings: Booking[]; gone: number[] };

/** `cursor` is the position in the feed of changes after this frame. */
export type BookingFrame = News & { cursor: string; serverTime: Date };

/** The topic of all changes of a tenant's bookings; the key of a change is the resource. */
export const bookingTopic = (viewer: Viewer) => `booking:${viewer.mandatorId}`;

/** The most bookings of a frame, and the most changes read for one. */
export const frameLength = 100;
const heartbeatMs = 30_000;

/**
 * Yields a frame at once, with the present cursor or the changes since `after`; then one after each change, with each
 * booking in its present state, and an empty one every 30 s. A frame has a new booking if it matches the filter; a changed
 * one if its room (before or after the change), location, kind and series match, so that a client that shows the booking
 * learns that it is gone. Of a booking that was moved to a room which is hidden from the viewer, the frame has only the id. A
 * private booking of others has no series, so it matches no filter by series: there the frame has the ids of all that changed.
 * @param after a cursor of the feed of changes
 * @param signal ends the watch; until then the watch continues after outages of the database
 * @throws Forbidden for a display, Malformed for an invalid cursor and for a window that ends before it begins, Conflict for a cursor whose changes have been deleted
 */
export async function* watchBookings(
  db: Database,
  viewer: Viewer,
  { filter, after }: { filter: BookingFilter; after?: string | null | undefined },
  changes: AsyncIterable<TopicChange>,
  signal: AbortSignal,
  intervalMs = heartbeatMs,
): AsyncGenerator<BookingFrame> {
  checkReader(viewer);
  checkPeriod(filter);
  const from = (after ? readChangePage(undefined, after).after : undefined) ?? 'now';
  let place = from === 'now' ? await outlast(signal, () => findEnd(db, viewer.mandatorId)) : from;
  let isGreeted = false;
  const frame = (news: News = { bookings: [], gone: [] }): BookingFrame => {
    isGreeted = true;
    return { cursor: cursorAt(place), serverTime: new Date(), ...news };
  };
  if (from === 'now') yield frame();
  for await (const change of withPulse(changes, intervalMs)) {
    for (let hasMore = change !== undefined; hasMore; ) {
      const { stretch, news } = await outlast(signal, async () => {
        const stretch = await readTogether(db, viewer.mandatorId, { limit: frameLength, after: place });
        return { stretch, news: await readNews(db, viewer, filter, stretch) };
      });
      place = stretch.end;
      hasMore = stretch.hasMore;
      if (news.bookings.length + news.gone.length > 0) yield frame(news);
    }
    if (!change || !isGreeted) yield frame();
  }
}

/** Yields the changes, and `undefined` at intervals. */
async function* withPulse<T>(changes: AsyncIterable<T>, intervalMs: number): AsyncGenerator<T | undefined> {
  const over = new AbortController();
  const beat = () => sleep(intervalMs, undefined, { signal: over.signal, ref: false }).catch(() => undefined);
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

/** Reads the bookings of a stretch of the feed that match a filter, in the order of the feed. */
async function readNews(db: Database, viewer: Viewer, filter: BookingFilter, stretch: FeedStretch): Promise<News> {
  const { resourceId, locationId, kind, seriesId } = filter;
  /** For each changed booking, whether its creation is its only change in the stretch. */
  const news = new Map<number, boolean>();
  for (const change of stretch.changes) {
    if (change.kind !== 'Booking' || !mayShow(viewer, change.resourceId ?? 0)) continue;
    if (resourceId && !resourceId.some((id) => id === change.resourceId)) continue;
    if ((locationId ?? change.locationId) !== change.locationId) continue;
    const id = Number(change.id);
    news.set(id, (news.get(id) ?? true) && change.action === 'Created');
  }
  const found = await Promise.all(
    [...news].map(async ([id, isNew]) => ({ isNew, stored: await findStored(db, viewer.mandatorId, id) })),
  );
  const matches = filtersByContent(filter) ? await findMatches(db, viewer, filter, news) : undefined;
  const isHere = (stored: { resourceId: number }) => mayShow(viewer, stored.resourceId);
  const bookings = found.flatMap(({ isNew, stored }) => {
    if (!stored || !isHere(stored)) return [];
    const booking = asSeenBy(viewer, stored);
    if (kind?.includes(booking.kind) === false || booking.seriesId !== (seriesId ?? booking.seriesId)) return [];
    if (!isNew) return [booking];
    return matchesRest(viewer, filter, booking) && matches?.has(booking.id) !== false ? [booking] : [];
  });
  // A client that follows a series does not learn which private bookings of others belong to it.
  const isConcealed = (stored: StoredBooking) => seriesId !== undefined && !maySee(viewer, stored);
  // `gone` ignores the filters by kind and series: the id of a booking that the client does not know reveals nothing.
  const gone = found.flatMap(({ isNew, stored }) =>
    stored && (!isHere(stored) || (!isNew && isConcealed(stored))) ? [stored.id] : [],
  );
  return { bookings, gone };
}

/** The ids of new bookings whose content matches the filter, as far as the viewer sees it. */
async function findMatches(
  db: Database,
  viewer: Viewer,
  filter: BookingFilter,
  news: ReadonlyMap<number, boolean>,
): Promise<Set<number>> {
  const ids = [...news].flatMap(([id, isNew]) => (isNew ? [id] : []));
  if (ids.length === 0) return new Set();
  const { rows } = await selectMatchesAmong(viewer, ids, filter).execute(db);
  return new Set(rows.map(({ id }) => id));
}

/** Whether a booking matches the members of a filter that `readNews` does not test. */
function matchesRest(
  viewer: Viewer,
  { from, to, personId, toDecide, status, occupying, changedAfter }: BookingFilter,
  booking: StoredBooking,
): boolean {
  const { deciders } = booking;
  const begin = booking.start.getTime() - booking.setupMinutes * minute;
  const end = booking.end.getTime() + booking.teardownMinutes * minute;
  return (
    (!from || end > from.getTime()) &&
    (!to || begin < to.getTime()) &&
    (personId === undefined || booking.organizer?.personId === personId) &&
    (!toDecide || (deciders !== null && mayDecide(viewer, { mayDecide: deciders }))) &&
    status?.includes(booking.status) !== false &&
    (occupying === undefined || isActive(booking) === occupying) &&
    (!changedAfter || booking.changedAt > changedAfter)
  );
}
