/** The query for lists of bookings: which ones, and in which order. */
import { type RawBuilder, sql } from 'kysely';
import { inReach } from '../access.ts';
import type { Viewer } from '../context.ts';
import { boundsOf } from '../db/page-query.ts';
import type { PageRequest } from '../db/paging.ts';
import type { IdOfParent } from '../db/per-parent.ts';
import type { BookingFilter } from './booking.ts';
import { filtersByContent } from './questions.ts';
import { selectMatches } from './search.ts';
import { amongVisible, isDecidable } from './sight.ts';
import { hasStatus, isInactive, occupies } from './status.ts';

/**
 * The beginning of the occupied range in microseconds, and the id, as beginnings coincide. The microseconds are a text: from
 * 2255 on they exceed the safe integers.
 */
export type BookingKey = [micros: string, id: number];

/** The filter of a list, or of the bookings of several parents. */
export type SoughtBookings = Omit<BookingFilter, 'resourceId' | 'personId' | 'seriesId'> & {
  resourceId?: readonly IdOfParent[] | undefined;
  personId?: IdOfParent | undefined;
  seriesId?: IdOfParent | undefined;
  order?: 'Ascending' | 'Descending' | undefined;
};

/** The same with a window; only the bookings of a series and the requests to decide need none. */
export type ListFilter = SoughtBookings & ({ from: Date; to: Date } | { seriesId: IdOfParent } | { toDecide: true });

/** The condition that a column has one of these values. `=` for a single value keeps the order of an index. */
const among = (column: RawBuilder<unknown>, values: readonly (IdOfParent | string)[] | undefined) => {
  if (values === undefined) return sql``;
  return values.length === 1 ? sql`and ${column} = ${values[0]}` : sql`and ${column} = any(${[...values]})`;
};

/**
 * The rows of a page, with the order of the list. Requests to decide, and filters by content, series, organizer or change, have an
 * index of their own. Other queries go room by room: the bookings that begin in the window, in order, and the few earlier ones
 * that reach into it.
 */
export function selectRows(
  viewer: Viewer,
  filter: ListFilter,
  request: PageRequest<BookingKey>,
): { rows: RawBuilder<unknown>; order: RawBuilder<unknown> } {
  const { mandatorId } = viewer;
  const { from, to, resourceId, locationId, personId, seriesId, toDecide, status, occupying, kind, changedAfter } =
    filter;
  const isFound = filtersByContent(filter) && from !== undefined && to !== undefined;
  // Viewers find the private lessons that they teach; the content stays hidden.
  const isOwn = filter.attendee?.personId === viewer.personId;
  const { limit } = request;
  const { above, below, isRising } = boundsOf(request, filter.order === 'Descending');
  const isDescending = !isRising;
  const nothing = sql``;
  const begin = sql`lower(booking.occupied)`;
  const direction = isDescending ? sql`desc` : sql``;
  const order = sql`${begin} ${direction}, booking.id ${direction}`;
  const key = sql`(${begin}, booking.id)`;
  const at = ([micros, id]: BookingKey) =>
    sql`(timestamptz 'epoch' + (${micros} || ' microseconds')::interval, ${id}::bigint)`;
  const wanted = sql`booking.mandator_id = ${mandatorId}
    ${above ? sql`and ${key} > ${at(above)}` : nothing}
    ${below ? sql`and ${key} < ${at(below)}` : nothing}
    ${seriesId === undefined ? nothing : sql`and booking.series_id = ${seriesId}::bigint`}
    ${personId === undefined ? nothing : sql`and booking.organizer_id = ${personId}`}
    ${(isFound && !isOwn) || (seriesId ?? personId) !== undefined ? sql`and ${amongVisible(viewer)}` : nothing}
    ${toDecide ? sql`and ${isDecidable(viewer)}` : nothing}
    ${status === undefined ? nothing : sql`and ${hasStatus(status)}`}
    ${occupying === undefined ? nothing : sql`and ${occupying ? nothing : sql`not`} ${occupies}`}
    ${among(sql`booking.kind`, kind)}
    ${changedAfter ? sql`and booking.changed_at > ${changedAfter}` : nothing}`;
  const inWindow = sql`${from ? sql`and upper(booking.occupied) > ${from}` : nothing}
    ${to ? sql`and ${begin} < ${to}` : nothing}`;
  const room = sql`room.mandator_id = ${mandatorId}
    ${among(sql`room.id`, resourceId)}
    ${locationId === undefined ? nothing : sql`and room.location_id = ${locationId}`} ${inReach(viewer, 'room.id')}`;
  const page = sql`order by ${order} limit ${sql`${limit + 1}::int`}`;

  const hasIndex = toDecide || (seriesId ?? personId ?? changedAfter) !== undefined;
  // The bookings that were found are read one by one: a join might read all of them.
  const found = isFound
    ? sql`(select distinct id from (${selectMatches(viewer, { from, to }, filter)}) as answer(id)) as answer
        cross join lateral (
          select * from booking where mandator_id = ${mandatorId} and id = answer.id offset 0) as booking`
    : sql`booking`;
  if (!from || isFound || (hasIndex && resourceId === undefined))
    return {
      order,
      rows: sql`
      select booking.* from ${found}
      where ${wanted} ${inWindow} ${inReach(viewer, 'booking.resource_id')}
        ${(resourceId ?? locationId) === undefined ? nothing : sql`and booking.resource_id in (select room.id from resource as room where ${room})`}
      ${page}`,
    };

  const ofRoom = sql`from booking where booking.resource_id = room.id and ${wanted}`;
  const beginning = sql`${ofRoom} and ${begin} >= ${from} and ${begin} < ${to}`;
  // In many rooms, a page holds only the earliest bookings: at least a full page of them begins up to this instant.
  const horizon = sql`and ${begin} ${isDescending ? sql`>=` : sql`<=`} coalesce((
    select early.begin from resource as room
    cross join lateral (
      select ${begin} as begin ${beginning} order by ${begin} ${direction}
      limit ${Math.ceil(limit / 50)}) as early
    where ${room} order by early.begin ${direction} offset ${limit} limit 1), ${isDescending ? sql`'-infinity'` : sql`'infinity'`})`;
  const reaching = sql`${ofRoom} and ${begin} < ${from} and booking.occupied @> ${from}::timestamptz`;
  // Above a cursor within the window, no booking begins before the window.
  const hasBegun = above !== undefined && BigInt(above[0]) >= BigInt(from.getTime()) * 1_000n;
  const earlier = sql`
    union all select booking.* ${reaching} and ${occupies}
    union all select booking.* ${reaching} and ${isInactive}`;
  return {
    order,
    rows: sql`
    select booking.* from resource as room
    cross join lateral (
      (select booking.* ${beginning} ${resourceId?.length === 1 ? nothing : horizon} ${page})
      ${hasBegun ? nothing : earlier}) as booking
    where ${room} ${page}`,
  };
}
