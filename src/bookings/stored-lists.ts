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

/** A page of `listStored`: while the hash is the same, so is the page. The octets are those of all its rows, and of its longest one. */
export type StoredHash = { hash: string; octets: number; longest: number };

/** Hashes row by row: all rows as one text may be longer than PostgreSQL allows. */
export async function hashStored(
  db: Database,
  viewer: Viewer,
  filter: ListFilter,
  page: PageRequest<BookingKey>,
): Promise<StoredHash> {
  const { rows } = await sql<StoredHash>`
    select encode(sha256(coalesce(string_agg(sha256(octets), '' order by micros::bigint, id), '')), 'hex') as hash,
      coalesce(sum(length(octets)), 0)::float8 as octets, coalesce(max(length(octets)), 0) as longest
    from (
      select id, micros, convert_to(stored::text, 'UTF8') as octets
      from (${selectBookings(viewer, filter, page)}) as stored
      offset 0
    ) as stored`.execute(db);
  return rows[0]!;
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
