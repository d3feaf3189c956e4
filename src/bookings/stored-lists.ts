/** Lists of stored bookings. */
import { type RawBuilder, sql } from 'kysely';
import { mayShow } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { mostPerPage, type PageRequest } from '../db/paging.ts';
import { type RoomPage, readRoomPage } from './room-pages.ts';
import { type BookingKey, type ListFilter, selectRows } from './selection.ts';
import { describeBookings, type StoredRow, type StoredWithKey, toStored } from './stored.ts';

/** The list as a `RoomPage`, if it is one. */
function asRoomPage(
  { mandatorId }: Viewer,
  { from, to, resourceId, ...others }: ListFilter,
  { limit, isBackward = false, ...bounds }: PageRequest<BookingKey>,
): RoomPage | undefined {
  const [id, ...more] = resourceId ?? [];
  const isPlain =
    !isBackward && [...more, ...Object.values({ ...others, ...bounds })].every((value) => value === undefined);
  if (!isPlain || typeof id !== 'number' || !from || !to || limit > mostPerPage) return undefined;
  return { mandatorId, resourceId: id, from, to, limit };
}

/** Reads a page, and one more booking if another page follows. */
export async function listStored(
  db: Database,
  viewer: Viewer,
  filter: ListFilter,
  page: PageRequest<BookingKey>,
): Promise<StoredWithKey[]> {
  const ofRoom = db.isTransaction ? undefined : asRoomPage(viewer, filter, page);
  if (ofRoom) return mayShow(viewer, ofRoom.resourceId) ? (await readRoomPage(db, ofRoom)).map(toStored) : [];
  const { rows } = await db.executeQuery(selectBookings(viewer, filter, page).compile(db));
  return rows.map(toStored);
}

/** Hashes a page of `listStored`: while the hash is the same, so is the page. */
export async function hashStored(
  db: Database,
  viewer: Viewer,
  filter: ListFilter,
  page: PageRequest<BookingKey>,
): Promise<string> {
  const { rows } = await sql<{ hash: string }>`
    select encode(sha256(convert_to(coalesce(string_agg(stored::text, ',' order by micros::bigint, id), ''), 'UTF8')), 'hex') as hash
    from (${selectBookings(viewer, filter, page)}) as stored`.execute(db);
  return rows[0]!.hash;
}

/** The query of `listStored`. */
export function selectBookings(
  viewer: Viewer,
  filter: ListFilter,
  page: PageRequest<BookingKey>,
): RawBuilder<StoredRow> {
  const { rows, order } = selectRows(viewer, filter, page);
  return sql`${describeBookings(rows)} order by ${order}`;
}
