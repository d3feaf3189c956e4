import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RawBuilder, sql } from 'kysely';
import { type BookingFilter, bookingKinds, bookingStatuses } from '../../src/bookings/booking.ts';
import { selectPages } from '../../src/bookings/room-pages.ts';
import type { ListFilter } from '../../src/bookings/selection.ts';
import { bookingList, listBookings, listBookingsOf } from '../../src/bookings/service.ts';
import { selectStored } from '../../src/bookings/stored.ts';
import { selectBookings } from '../../src/bookings/stored-lists.ts';
import type { Viewer } from '../../src/context.ts';
import { type Database, openDatabase, type Transaction } from '../../src/db/database.ts';
import { readPage } from '../../src/db/paging.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { cloneDatabase } from '../_util/postgres.ts';

const rooms = 40;
const perRoom = 700;
const hour = 3_600_000;
const first = Date.UTC(2027, 0, 4);

type Row = {
  id: number;
  resourceId: number;
  locationId: number;
  status: string;
  kind: string;
  subject: string;
  organizerId: number | null;
  seriesId: number | null;
  changedAt: Date;
  micros: number;
  begin: Date;
  end: Date;
};

let clone: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
let viewer: Viewer;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let annex: number;
let all: Row[];
let seriesId: number;

/** Of each room a booking every 2 hours; every fifth is inactive, lasts a day and so lies across the next ones. */
async function fill(trx: Transaction, mandatorId: number): Promise<void> {
  await sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied, organizer_id, changed_at)
    select ${mandatorId}, room.id, (${[...bookingKinds]}::text[])[1 + n % 4],
      case when n % 5 = 0 then case when n % 2 = 0 then 'Cancelled' else 'Released' end
        when n % 7 = 0 then 'Tentative' else 'Confirmed' end,
      'Api', 'No. ' || n, tstzrange(start, start + interval '90 minutes' * case when n % 5 = 0 then 16 else 1 end),
      case when n % 50 = 0 then person.id end,
      timestamptz '2026-01-01T00:00Z' + interval '1 minute' * n
    from generate_series(1, ${perRoom}) as n
    cross join (select id, row_number() over (order by id) as number from resource where mandator_id = ${mandatorId}) as room
    cross join (select min(id) as id from person where mandator_id = ${mandatorId}) as person
    cross join lateral (
      -- Some begin at once, some a microsecond apart.
      select ${new Date(first)}::timestamptz + interval '2 hours' * n
        + interval '1 microsecond' * (room.number % 3) as start) as slot
    order by random()`.execute(trx);
}

beforeAll(async () => {
  clone = await cloneDatabase();
  db = openDatabase(clone.url, { max: 2, log: openLog('silent'), statementTimeout: 20_000 });
  tenant = await makeTenant(db, { rooms: Array.from({ length: rooms }, (_, n) => `R${n}`) });
  const other = await makeTenant(db, {
    code: 'other',
    rooms: Array.from({ length: rooms }, (_, n) => `R${n}`),
  });
  const { mandatorId } = tenant;
  viewer = {
    mandatorId,
    personId: tenant.person('Admin').id,
    role: 'Admin',
    hiddenRooms: [] as readonly number[],
  } as Viewer;
  annex = (
    await db
      .insertInto('location')
      .values({ mandator_id: mandatorId, name: 'Annex', time_zone: 'UTC' })
      .returning('id')
      .executeTakeFirstOrThrow()
  ).id;
  await sql`update resource set location_id = ${annex} where mandator_id = ${mandatorId} and id % 4 = 0`.execute(db);
  await db.transaction().execute(async (trx) => {
    // Without looking up what each of them refers to, and telling of it.
    await sql`set local session_replication_role = replica`.execute(trx);
    for (const one of [mandatorId, other.mandatorId]) await fill(trx, one);
  });
  const series = await sql<{ id: number }>`
    insert into booking_series (mandator_id, recurrence_rule) values (${mandatorId}, 'FREQ=DAILY;COUNT=30') returning id`.execute(
    db,
  );
  seriesId = series.rows[0]!.id;
  await sql`
    update booking set series_id = ${seriesId} where mandator_id = ${mandatorId} and id % 1000 = 0`.execute(db);
  await sql`vacuum analyze booking`.execute(db);
  await sql`analyze resource`.execute(db);
  const { rows: found } = await sql<Row>`
    select booking.id, resource_id as "resourceId", location_id as "locationId", status, booking.kind, booking.subject,
      organizer_id as "organizerId", series_id as "seriesId", changed_at as "changedAt",
      (extract(epoch from lower(occupied)) * 1000000)::bigint as micros, lower(occupied) as begin, upper(occupied) as end
    from booking join resource on resource.id = resource_id where booking.mandator_id = ${mandatorId}`.execute(db);
  all = found.sort((one, two) => one.micros - two.micros || one.id - two.id);
});
afterAll(async () => {
  await db?.destroy();
  await clone?.drop();
});

const day = (count: number) => new Date(first + count * 24 * hour);
const week = { from: new Date(day(20).getTime() + hour / 2), to: day(27) };
const lastChange = new Date(Date.UTC(2026, 0, 1, 4, 30));
const room = (...indices: number[]) => ({ resourceId: indices.map((index) => tenant.resources[index]!.id) });
const ofAdmin = () => ({ personId: tenant.person('Admin').id });
/** Made when the tenant is there; the index that each must go by is named where it has one of its own. */
type Wanted = BookingFilter & { order?: ListFilter['order'] };
const filters: [name: string, filter: () => Wanted, by?: RegExp, pages?: number][] = [
  ['a week of a room', () => ({ ...week, ...room(3) }), /booking_room/, 600],
  ['a week of all rooms', () => week, /booking_room/, 4_500],
  ['a week of a location', () => ({ ...week, locationId: annex }), /booking_room/, 1_500],
  ['a week of a person', () => ({ ...week, ...ofAdmin() }), /booking_organizer/, 900],
  ['a series', () => ({ seriesId }), /booking_of_series/, 400],
  ['what has changed', () => ({ ...week, changedAfter: lastChange }), /booking_changed/, 1_000],
  ['half a year of a kind', () => ({ from: day(1), to: day(180), kind: ['Block'] }), /booking_kind/, 4_000],
  ['half a year of a status', () => ({ from: day(1), to: day(180), status: ['Tentative'] }), /booking_status/, 4_000],
  ['a week of rooms, backwards', () => ({ ...week, ...room(3, 8, 12), order: 'Descending' }), /booking_room/, 1_200],
  ['a week of all rooms, backwards', () => ({ ...week, order: 'Descending' }), /booking_room/, 4_500],
  ['a week of a person, backwards', () => ({ ...week, ...ofAdmin(), order: 'Descending' }), /booking_organizer/, 900],
  ['a week by words', () => ({ ...week, search: 'no 25' }), /booking_terms/, 2_000],
  ['a week by words, backwards in a room', () => ({ ...week, search: '2 NO', ...room(3), order: 'Descending' })],
  ['a series, backwards', () => ({ seriesId, order: 'Descending' }), /booking_of_series/, 400],
  ['a week of what occupies', () => ({ ...week, occupying: true }), /booking_room/, 4_500],
  ['a week of what does not', () => ({ ...week, occupying: false })],
  ['a week of statuses and kinds', () => ({ ...week, status: ['Cancelled', 'Tentative'], kind: ['Block', 'Lesson'] })],
  ['a week of a person in a room', () => ({ ...week, ...ofAdmin(), ...room(3) })],
  ['a series from a day on', () => ({ seriesId, from: day(30), to: day(40) })],
  ['a series at a location', () => ({ seriesId, locationId: annex })],
  ['what has changed in a room', () => ({ ...week, changedAfter: lastChange, ...room(5) })],
  ...bookingStatuses.map((status): (typeof filters)[number] => [status, () => ({ ...week, status: [status] })]),
  ...bookingKinds.map((kind): (typeof filters)[number] => [
    `${kind} at a location`,
    () => ({ ...week, kind: [kind], locationId: annex }),
  ]),
  ['from within a booking on', () => ({ from: new Date(day(30).getTime() + 1), to: day(31), ...room(0) })],
  ['a year in which there is nothing', () => ({ from: day(-400), to: day(-35) })],
  ['a room that there is not', () => ({ ...week, resourceId: [2_000_000_000] })],
];

/** The bookings of kind Lesson have no lessons here. */
const hasWords = ({ kind, subject }: Row, text: string) =>
  kind !== 'Lesson' &&
  text
    .toLowerCase()
    .split(' ')
    .every((word) =>
      subject
        .toLowerCase()
        .split(/\W+/)
        .some((one) => (word.length > 1 ? one.startsWith(word) : one === word)),
    );

const fits = (filter: BookingFilter) => (row: Row) =>
  (filter.from === undefined || row.end > filter.from) &&
  (filter.to === undefined || row.begin < filter.to) &&
  (['locationId', 'seriesId'] as const).every((name) => filter[name] === undefined || filter[name] === row[name]) &&
  (['resourceId', 'status', 'kind'] as const).every(
    (name) => (filter[name] as readonly unknown[] | undefined)?.includes(row[name]) !== false,
  ) &&
  (filter.search === undefined || hasWords(row, filter.search)) &&
  (filter.occupying === undefined || filter.occupying === ['Confirmed', 'Tentative'].includes(row.status)) &&
  (filter.personId === undefined || filter.personId === row.organizerId) &&
  (filter.changedAfter === undefined || row.changedAt > filter.changedAfter);

const mostPages = 8;

test.each(filters)('%s: each booking that overlaps the window once, in order', async (_name, filterOf) => {
  const filter = filterOf();
  const expected = all.filter(fits(filter)).map(({ id }) => id);
  if (filter.order === 'Descending') expected.reverse();
  for (const limit of [3, 200]) {
    const found: number[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < mostPages && (page === 0 || cursor); page++) {
      const { items, nextCursor } = await listBookings(db, viewer, filter, readPage(bookingList, limit, cursor));
      found.push(...items.map(({ id }) => id));
      cursor = nextCursor;
    }
    expect(found).toEqual(expected.slice(0, limit * mostPages));
  }
});

test('pages of rooms that are asked for together are those that are asked for alone', async () => {
  const asked = Array.from({ length: 40 }, (_, number) => ({
    viewer: { ...viewer, hiddenRooms: number % 9 === 4 ? room(number % 7).resourceId : viewer.hiddenRooms } as Viewer,
    filter: { ...room(number % 7), from: new Date(day(20 + (number % 5)).getTime() + hour / 2), to: day(27 + number) },
    page: { limit: [3, 50, 200][number % 3] as number, after: undefined },
  }));
  const other = { ...viewer, mandatorId: tenant.mandatorId + 1 };
  const ask = (of: Database, one: (typeof asked)[number]) => listBookings(of, one.viewer, one.filter, one.page);
  const together = await Promise.all(asked.map((one) => ask(db, one)));
  // In a transaction each has a statement of its own.
  const alone = await db.transaction().execute(async (trx) => {
    const pages: Awaited<typeof together> = [];
    for (const one of asked) pages.push(await ask(trx as Database, one));
    return pages;
  });
  const idsOf = (pages: typeof together) =>
    pages.map(({ items, nextCursor }) => ({ ids: items.map(({ id }) => id), nextCursor }));
  expect(idsOf(together)).toEqual(idsOf(alone));
  expect(together.map(({ items }) => items)).toEqual(alone.map(({ items }) => items));
  expect(together.filter(({ items }) => items.length === 0).length).toBe(4);
  const [elsewhere] = await Promise.all([
    ask(db, { ...(asked[0] as (typeof asked)[number]), viewer: other }),
    ask(db, asked[0]!),
  ]);
  expect(elsewhere.items).toEqual([]);
});

test('lists of several rooms are prepared, unless their best plan depends on the values of the filter', async () => {
  const one = openDatabase(clone.url, { max: 1, log: openLog('silent'), statementTimeout: 20_000 });
  const [[id], page] = [room(3).resourceId as [number], { limit: 50, after: undefined }];
  const byValue: BookingFilter[] = [{ kind: ['Block'] }, { status: ['Tentative'] }, { search: 'no 25' }];
  for (const filter of [{}, ...byValue])
    for (const order of ['Ascending', 'Descending'] as const)
      await listBookingsOf(one, viewer, { of: 'resource', id }, { ...week, ...filter, order }, page);
  const { rows } = await sql`select name from pg_prepared_statements where name like 'lists of parents %'`.execute(one);
  expect(rows).toHaveLength(2);
  await one.destroy();
});

describe('with 56,000 bookings a query reads a few pages, by an index', () => {
  /** The plan, and how many pages of 8 KiB it has read. */
  async function explain(query: RawBuilder<unknown>): Promise<{ plan: string; pages: number }> {
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain (analyze, buffers) ${query}`.execute(db);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    const [, hit = '0', read = '0'] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? [];
    return { plan, pages: Number(hit) + Number(read) };
  }

  test('by id', async () => {
    const { plan, pages } = await explain(
      selectStored(
        sql`(values (${viewer.mandatorId}::int, ${all[777]!.id}::bigint, 1)) as asked("askedMandator", "askedId", position)`,
      ),
    );
    expect(plan).toMatch(/Index Scan using booking_pkey/);
    expect(plan).not.toMatch(/Seq Scan on (booking|lesson)/);
    expect(pages).toBeLessThan(40);
  });

  test('pages of rooms together', async () => {
    const pages = room(3, 5, 8).resourceId.map((resourceId) => ({
      ...week,
      mandatorId: tenant.mandatorId,
      resourceId,
      limit: 50,
    }));
    const { plan, pages: read } = await explain(selectPages(pages, 50));
    expect(plan).toMatch(/booking_room/);
    expect(plan).not.toMatch(/Seq Scan on (booking|lesson)/);
    expect(read).toBeLessThan(1_800);
  });

  test.each(filters.filter(([, , by]) => by))('%s', async (_name, filter, by, most) => {
    const page = { limit: 50, after: undefined };
    const { plan, pages } = await explain(selectBookings(viewer, filter() as ListFilter, page));
    expect(plan).toMatch(by as RegExp);
    expect(plan).not.toMatch(/Seq Scan on (booking|lesson)/);
    expect(pages).toBeLessThan(most as number);
  });
});
