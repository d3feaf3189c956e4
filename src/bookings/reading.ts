/** Bookings as the viewer may see them: one, and lists. */
import { z } from 'zod';
import { checkReader, groupsOfDecider, maySeeAll, mayShow } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { instantKey, type List, longIdKey, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { countPerParent, type IdOfParent, readPerParent, type SelectOfParent } from '../db/per-parent.ts';
import { openSnapshot } from '../db/snapshot.ts';
import { getterOf, noRecord } from '../records.ts';
import { findLocation, findPersonFor, getResource, type Location, type Resource } from '../tenants/service.ts';
import { dayLength } from '../time/days.ts';
import { checkPeriod } from '../time/period.ts';
import { asSeenBy, type Booking, type BookingFilter } from './booking.ts';
import { filtersByContent } from './questions.ts';
import type { BookingKey, ListFilter, SoughtBookings } from './selection.ts';
import { findStored, type StoredRow, type StoredWithKey, toStored } from './stored.ts';
import { hashStored, listStored, type StoredHash, selectBookings } from './stored-lists.ts';

const defaultDays = 31;
const mostDays = 366;
/**
 * Bookings that `listForFeed` reads at a time, and about the octets that they may have; more would block the event loop for longer
 * than a few milliseconds, and take memory.
 */
const [readAtOnce, octetsAtOnce] = [500, 4_000_000];
/** A booking with its position in a list. */
type Listed = Booking & Pick<StoredWithKey, 'key'>;

/** Ordered by the beginning of the occupied time. */
export const bookingList: List<Listed, BookingKey> = {
  name: 'bookings',
  key: z.tuple([instantKey, longIdKey]),
  keyOf: ({ key }) => key,
};

/** @throws Forbidden for a display */
export async function findBooking(db: Database, viewer: Viewer, id: number): Promise<Booking | undefined> {
  checkReader(viewer);
  const stored = await findStored(db, viewer.mandatorId, id);
  return stored && mayShow(viewer, stored.resourceId) ? asSeenBy(viewer, stored) : undefined;
}

/** @throws Forbidden for a display; NotFound, also for a booking of a resource that is hidden from the caller */
export const getBooking = getterOf('booking', findBooking);

/** The person of an organizer; undefined for a viewer who may not read it. */
export const findOrganizer = (db: Database, viewer: Viewer, personId: number) => findPersonFor(db, viewer, personId);

/** @throws Forbidden for a display */
export const getResourceOf = (db: Database, viewer: Viewer, { resourceId }: Booking): Promise<Resource> =>
  getResource(db, viewer, resourceId);

/** @throws Forbidden for a display */
export const findLocationOf = (db: Database, viewer: Viewer, { locationId }: Booking): Promise<Location | undefined> =>
  findLocation(db, viewer, locationId);

/**
 * Reads a booking that the viewer has just changed. Unlike `getBooking`, it serves displays too.
 * @throws NotFound, also at a display when the booking has moved to a room that is not its own
 */
export async function readBack(db: Database, viewer: Viewer, id: number): Promise<Booking> {
  const stored = await findStored(db, viewer.mandatorId, id);
  if (!stored || !mayShow(viewer, stored.resourceId)) throw noRecord('booking');
  return asSeenBy(viewer, stored);
}

/**
 * Lists bookings of any status in the order of their beginning, setup included. Without `from`, the window begins now;
 * without `to`, it lasts 31 days. The bookings of a series, and the requests to decide, need no window.
 * @throws Forbidden for a display; Malformed for a window that ends before it begins or is longer than 366 days
 */
export async function listBookings(
  db: Database,
  viewer: Viewer,
  filter: BookingFilter & { order?: ListFilter['order'] },
  page: PageRequest<BookingKey>,
): Promise<Page<Listed>> {
  checkReader(viewer);
  const found = await listStored(db, viewer, withWindow(filter), page);
  const seen = found.map((stored) => asSeenBy(viewer, stored));
  return toPage(bookingList, seen, page);
}

type AskedBookings = BookingFilter & { order?: ListFilter['order'] };

/** The filter that finds the bookings of a parent. */
const parents = {
  resource: (id: IdOfParent) => ({ resourceId: [id] }),
  person: (id: IdOfParent) => ({ personId: id }),
  series: (id: IdOfParent) => ({ seriesId: id }),
};
type Parent = keyof typeof parents;

/** Kinds and statuses have partial indexes, and the best way to find words depends on how frequent they are. */
const dependsOnValues = (filter: AskedBookings): boolean =>
  (filter.kind ?? filter.status) !== undefined || filtersByContent(filter);

function openList(ofParent: (typeof parents)[Parent]) {
  const select: SelectOfParent<Viewer, AskedBookings, BookingKey, StoredRow> = (
    _db,
    parent,
    { viewer, filter, page },
  ) => selectBookings(viewer, withWindow({ ...filter, ...ofParent(parent) }), page);
  return { read: readPerParent(select, 'bigint', dependsOnValues), count: countPerParent(select) };
}
const bookingsOf = Object.fromEntries(
  Object.entries(parents).map(([name, ofParent]) => [name, openList(ofParent)]),
) as Record<Parent, ReturnType<typeof openList>>;

/** `listBookings` of a parent, read for all parents of the same turn together. @throws as `listBookings` */
export async function listBookingsOf(
  db: Database,
  viewer: Viewer,
  { of, id }: { of: Parent; id: number },
  filter: AskedBookings,
  page: PageRequest<BookingKey>,
): Promise<Page<Listed>> {
  checkReader(viewer);
  const rows = await bookingsOf[of].read(db, { viewer, parent: id, asked: { filter, page } });
  const seen = rows.map((row) => asSeenBy(viewer, toStored(row)));
  return {
    ...toPage(bookingList, seen, page),
    count: () => bookingsOf[of].count(db, { viewer, parent: id, asked: filter }),
  };
}

/** Selects the first `most` bookings of a filter in [from, to). */
export type OfFeed = BookingFilter & { from: Date; to: Date; most: number };

/**
 * Lists bookings from one snapshot, in pieces, so that other requests are served in between.
 * @param longest octets of its longest booking
 * @throws Forbidden for a display
 */
export async function* listForFeed(
  db: Database,
  viewer: Viewer,
  { most, ...filter }: OfFeed,
  longest = 0,
): AsyncGenerator<Booking[]> {
  checkReader(viewer);
  const atOnce = Math.max(1, Math.min(readAtOnce, Math.floor(octetsAtOnce / longest)));
  const trx = await openSnapshot(db);
  try {
    let after: BookingKey | undefined;
    for (let left = most; left > 0; left -= atOnce) {
      const found = await listStored(trx, viewer, filter, { limit: Math.min(left, atOnce) - 1, after });
      yield found.map((stored) => asSeenBy(viewer, stored));
      if (found.length < atOnce) return;
      after = found.at(-1)?.key;
    }
  } finally {
    await trx.rollback().execute();
  }
}

/**
 * Hashes the result of `listForFeed`: the hash changes with every member, and differs between viewers with other rights.
 * @throws Forbidden for a display
 */
export async function hashForFeed(db: Database, viewer: Viewer, { most, ...filter }: OfFeed): Promise<StoredHash> {
  checkReader(viewer);
  const stored = await hashStored(db, viewer, filter, { limit: most - 1, after: undefined });
  // Everything about the viewer that `asSeenBy` depends on.
  const rights = [maySeeAll(viewer) || viewer.personId, groupsOfDecider(viewer), viewer.hiddenRooms];
  return { ...stored, hash: `${JSON.stringify(rights)} ${stored.hash}` };
}

function withWindow(filter: SoughtBookings): ListFilter {
  const { from, to, seriesId, toDecide } = filter;
  const needsWindow = from || to || filtersByContent(filter);
  if (!needsWindow && seriesId !== undefined) return { ...filter, seriesId };
  if (!needsWindow && toDecide) return { ...filter, toDecide };
  return { ...filter, ...windowOf(filter) };
}

/**
 * The window of a list: without `from` it begins now, without `to` it lasts 31 days.
 * @throws Malformed for a window that ends before it begins or is longer than 366 days
 */
export function windowOf({ from: begin, to: end }: Pick<BookingFilter, 'from' | 'to'>): { from: Date; to: Date } {
  const from = begin ?? new Date();
  const to = end ?? new Date(from.getTime() + defaultDays * dayLength);
  checkPeriod({ from, to }, mostDays);
  return { from, to };
}
