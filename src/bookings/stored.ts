/** Queries for stored bookings with the names they refer to: by id, and as a list. */
import { type RawBuilder, sql } from 'kysely';
import { inReach } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { mostPerPage, type PageRequest } from '../db/paging.ts';
import { executePrepared } from '../db/prepared.ts';
import { type Asked, readById } from '../db/read-by-id.ts';
import { type BookingFilter, occupyingStatuses, type StoredBooking } from './booking.ts';
import type { Lektion } from './lektion.ts';
import { asks } from './questions.ts';
import { amongVisible, selectAnswers } from './search.ts';

/**
 * The beginning of the occupied range in microseconds, and the id, as beginnings coincide. The microseconds are a text: from
 * 2255 on they exceed the safe integers.
 */
export type BookingKey = [micros: string, id: number];
export type StoredWithKey = StoredBooking & { key: BookingKey };

type StoredRow = Omit<StoredBooking, 'uid' | 'organizer' | 'checkIn' | 'origin' | 'lektion' | 'createdBy'> & {
  mandatorUid: string;
  organizerId: number | null;
  organizerName: string | null;
  organizerEmail: string | null;
  checkInFrom: Date | null;
  checkInUntil: Date;
  checkedInAt: Date | null;
  system: StoredBooking['origin']['system'];
  batchId: string | null;
  mailItemId: string | null;
  /** The coupled lessons of a booking of kind Lesson, in their order. */
  lessons: (Lektion & { jobId: string; lektionId: string })[] | null;
  creatorId: number | null;
  creatorName: string;
  micros: string;
};

/**
 * Joins the bookings of `found`, a query of rows of the table, with the names they refer to. Every join uses a primary key;
 * only bookings of kind Lesson look for lessons. The creator of an imported booking is the person who sent its job.
 */
const describeBookings = <More = unknown>(
  found: RawBuilder<unknown>,
  more: RawBuilder<unknown> = sql``,
): RawBuilder<StoredRow & More> => sql<StoredRow & More>`
  select booking.id, mandator.uid as "mandatorUid", booking.resource_id as "resourceId", resource.name as "resourceName",
    resource.location_id as "locationId", booking.subject, booking.description,
    lower(booking.occupied) + make_interval(mins => booking.setup_minutes) as start,
    upper(booking.occupied) - make_interval(mins => booking.teardown_minutes) as "end",
    location.time_zone as "timeZone", booking.status, booking.kind,
    organizer.id as "organizerId", coalesce(organizer.name, booking.organizer_name) as "organizerName",
    case when organizer.erased_at is null then coalesce(organizer.email, booking.organizer_email) end as "organizerEmail",
    booking.is_private as "isPrivate", booking.series_id as "seriesId", series.recurrence_rule as "recurrenceRule",
    booking.setup_minutes as "setupMinutes", booking.teardown_minutes as "teardownMinutes",
    booking.check_in_from as "checkInFrom", booking.check_in_until as "checkInUntil",
    booking.checked_in_at as "checkedInAt", booking.origin as system, booking.batch_id as "batchId",
    booking.mail_item_id as "mailItemId",
    lesson.list as lessons, creator.id as "creatorId", creator.name as "creatorName",
    booking.created_at as "createdAt", booking.changed_at as "changedAt", booking.version,
    (extract(epoch from lower(booking.occupied)) * 1000000)::bigint::text as micros
    ${more}
  from (${found}) as booking
  join mandator on mandator.id = booking.mandator_id
  join resource on resource.mandator_id = booking.mandator_id and resource.id = booking.resource_id
  join location on location.mandator_id = booking.mandator_id and location.id = resource.location_id
  left join booking_series as series on series.mandator_id = booking.mandator_id and series.id = booking.series_id
  left join person as organizer on organizer.mandator_id = booking.mandator_id and organizer.id = booking.organizer_id
  left join lateral (
    select (array_agg(job.created_by order by lesson.job, lesson.lektion_id))[1] as created_by,
      json_agg(json_build_object('jobId', job.job_id, 'lektionId', lesson.lektion_id, 'fach', lesson.fach,
        'klassen', lesson.klassen, 'lehrpersonen', lesson.lehrpersonen, 'status', lesson.status,
        'ursprung', lesson.ursprung) order by lesson.job, lesson.lektion_id) as list
    from lesson
    join lesson_job as job on job.mandator_id = lesson.mandator_id and job.id = lesson.job
    where lesson.mandator_id = booking.mandator_id and lesson.booking_id = booking.id and booking.kind = 'Lesson'
  ) as lesson on true
  left join person as creator
    on creator.mandator_id = booking.mandator_id and creator.id = coalesce(booking.created_by, lesson.created_by)`;

/** The distinct members of all lists, in order; null if all lists are null. */
function together(lists: readonly (string[] | null)[]): string[] | null {
  const said = lists.filter((list) => list !== null);
  return said.length > 0 ? [...new Set(said.flat())] : null;
}

/** The organizer: a person of the tenant, or a name or address from outside that a mail server has reported. */
function toOrganizer({ organizerId, organizerName, organizerEmail }: StoredRow): StoredBooking['organizer'] {
  const displayName = organizerName ?? organizerEmail;
  return displayName === null ? null : { personId: organizerId, displayName, email: organizerEmail };
}

/** Copies member by member: rest and spread of so many members cost more than all other work on a booking. */
function toStored(row: StoredRow): StoredWithKey {
  const { lessons, checkInFrom } = row;
  const [first] = lessons ?? [];
  return {
    key: [row.micros, row.id],
    id: row.id,
    uid: `booking-${row.id}@${row.mandatorUid}`,
    resourceId: row.resourceId,
    resourceName: row.resourceName,
    locationId: row.locationId,
    subject: row.subject,
    description: row.description,
    start: row.start,
    end: row.end,
    timeZone: row.timeZone,
    status: row.status,
    kind: row.kind,
    organizer: toOrganizer(row),
    isPrivate: row.isPrivate,
    seriesId: row.seriesId,
    recurrenceRule: row.recurrenceRule,
    setupMinutes: row.setupMinutes,
    teardownMinutes: row.teardownMinutes,
    checkIn:
      checkInFrom === null
        ? null
        : { required: true, from: checkInFrom, until: row.checkInUntil, checkedInAt: row.checkedInAt },
    origin: {
      system: row.system,
      batchId: row.batchId,
      jobId: first?.jobId ?? null,
      lektionId: first?.lektionId ?? null,
      mailItemId: row.mailItemId,
    },
    lektion:
      lessons && first
        ? {
            fach: first.fach,
            status: first.status,
            ursprung: first.ursprung,
            klassen: together(lessons.map(({ klassen }) => klassen)),
            lehrpersonen: together(lessons.map(({ lehrpersonen }) => lehrpersonen)),
          }
        : null,
    createdAt: row.createdAt,
    createdBy: row.creatorId === null ? null : { personId: row.creatorId, displayName: row.creatorName },
    changedAt: row.changedAt,
    version: row.version,
  };
}

export const selectStored = (asked: RawBuilder<unknown> | Asked) =>
  describeBookings<{ position: number }>(
    sql`select booking.*, asked.position from ${asked}
      join booking on booking.mandator_id = asked."askedMandator" and booking.id = asked."askedId"`,
    sql`, booking.position`,
  );

const bookingById = readById<StoredRow>('booking by id', (db, asked) => ({
  compile: () => selectStored(asked).compile(db),
}));

export async function findStored(db: Database, mandatorId: number, id: number): Promise<StoredBooking | undefined> {
  const row = await bookingById(db, mandatorId, id);
  return row && toStored(row);
}

/** A filter with its window, which only the bookings of a series do not need. */
export type ListFilter = BookingFilter & {
  order?: 'Ascending' | 'Descending' | undefined;
} & ({ from: Date; to: Date } | { seriesId: number });

/** The most frequent read is prepared. Other filters make too many statements, longer pages need other plans. */
const isPageOfRoom = (
  { resourceId, locationId, personId, seriesId, changedAfter, ...others }: ListFilter,
  { limit }: PageRequest<BookingKey>,
) =>
  !asks(others) &&
  resourceId?.length === 1 &&
  locationId === undefined &&
  personId === undefined &&
  seriesId === undefined &&
  changedAfter === undefined &&
  limit <= mostPerPage;

/** Reads a page, and one more booking if another page follows. */
export async function listStored(
  db: Database,
  viewer: Viewer,
  filter: ListFilter,
  page: PageRequest<BookingKey>,
): Promise<StoredWithKey[]> {
  const query = selectBookings(viewer, filter, page).compile(db);
  const rows = isPageOfRoom(filter, page)
    ? await executePrepared(db, 'bookings of a room', query)
    : (await db.executeQuery(query)).rows;
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

/** The values of a list; one alone as such, which leaves an index in its order. */
const among = (column: RawBuilder<unknown>, values: readonly (number | string)[] | undefined) => {
  if (values === undefined) return sql``;
  return values.length === 1 ? sql`and ${column} = ${values[0]}` : sql`and ${column} = any(${[...values]})`;
};

const occupies = sql`booking.status in (${sql.join(occupyingStatuses.map((status) => sql.lit(status)))})`;

/**
 * The query of `listStored`. Filters by content, series, organizer or change have an index of their own. Other queries go room by
 * room: the bookings that begin in the window, in order, and the few earlier ones that reach into it.
 */
export function selectBookings(
  viewer: Viewer,
  filter: ListFilter,
  { limit, after }: PageRequest<BookingKey>,
): RawBuilder<StoredRow> {
  const { mandatorId } = viewer;
  const { from, to, resourceId, locationId, personId, seriesId, status, occupying, kind, changedAfter } = filter;
  const isFound = asks(filter) && from !== undefined && to !== undefined;
  const isDescending = filter.order === 'Descending';
  const nothing = sql``;
  const begin = sql`lower(booking.occupied)`;
  const direction = isDescending ? sql`desc` : sql``;
  const order = sql`${begin} ${direction}, booking.id ${direction}`;
  const wanted = sql`booking.mandator_id = ${mandatorId}
    ${after ? sql`and (${begin}, booking.id) ${isDescending ? sql`<` : sql`>`} (timestamptz 'epoch' + (${after[0]} || ' microseconds')::interval, ${after[1]}::bigint)` : nothing}
    ${seriesId === undefined ? nothing : sql`and booking.series_id = ${seriesId}::bigint`}
    ${personId === undefined ? nothing : sql`and booking.organizer_id = ${personId}`}
    ${isFound || (seriesId ?? personId) !== undefined ? sql`and ${amongVisible(viewer)}` : nothing}
    ${among(sql`booking.status`, status)}
    ${occupying === undefined ? nothing : sql`and ${occupying ? nothing : sql`not`} ${occupies}`}
    ${among(sql`booking.kind`, kind)}
    ${changedAfter ? sql`and booking.changed_at > ${changedAfter}` : nothing}`;
  const inWindow = sql`${from ? sql`and upper(booking.occupied) > ${from}` : nothing}
    ${to ? sql`and ${begin} < ${to}` : nothing}`;
  const room = sql`room.mandator_id = ${mandatorId}
    ${among(sql`room.id`, resourceId)}
    ${locationId === undefined ? nothing : sql`and room.location_id = ${locationId}`} ${inReach(viewer, 'room.id')}`;
  const page = sql`order by ${order} limit ${sql`${limit + 1}::int`}`;

  const hasIndex = seriesId !== undefined || (personId ?? changedAfter) !== undefined;
  // The bookings that were found are read one by one: a join might read all of them.
  const found = isFound
    ? sql`(select distinct id from (${selectAnswers(viewer, { from, to }, filter)}) as answer(id)) as answer
        cross join lateral (
          select * from booking where mandator_id = ${mandatorId} and id = answer.id offset 0) as booking`
    : sql`booking`;
  if (!from || isFound || (hasIndex && resourceId === undefined))
    return sql`${describeBookings(sql`
      select booking.* from ${found}
      where ${wanted} ${inWindow} ${inReach(viewer, 'booking.resource_id')}
        ${(resourceId ?? locationId) === undefined ? nothing : sql`and booking.resource_id in (select room.id from resource as room where ${room})`}
      ${page}`)} order by ${order}`;

  const ofRoom = sql`from booking where booking.resource_id = room.id and ${wanted}`;
  const beginning = sql`${ofRoom} and ${begin} >= ${from} and ${begin} < ${to}`;
  // Over many rooms a page ends long before most of their bookings: at least a page of bookings begins up to this instant.
  const horizon = sql`and ${begin} ${isDescending ? sql`>=` : sql`<=`} coalesce((
    select early.begin from resource as room
    cross join lateral (
      select ${begin} as begin ${beginning} order by ${begin} ${direction}
      limit ${Math.ceil(limit / 50)}) as early
    where ${room} order by early.begin ${direction} offset ${limit} limit 1), ${isDescending ? sql`'-infinity'` : sql`'infinity'`})`;
  const reaching = sql`${ofRoom} and ${begin} < ${from} and booking.occupied @> ${from}::timestamptz`;
  // A cursor in the window is past all bookings that began before it, unless it comes from the other end.
  const hasBegun = !isDescending && after !== undefined && BigInt(after[0]) >= BigInt(from.getTime()) * 1_000n;
  const earlier = sql`
    union all select booking.* ${reaching} and booking.status in ('Confirmed', 'Tentative')
    union all select booking.* ${reaching} and booking.status in ('Cancelled', 'Released')`;
  return sql`${describeBookings(sql`
    select booking.* from resource as room
    cross join lateral (
      (select booking.* ${beginning} ${resourceId?.length === 1 ? nothing : horizon} ${page})
      ${hasBegun ? nothing : earlier}) as booking
    where ${room} ${page}`)} order by ${order}`;
}
