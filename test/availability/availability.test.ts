import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { selectBusy } from '../../src/availability/service.ts';
import { SpanWriter } from '../../src/availability/spans.ts';
import { toAvailabilityRecords } from '../../src/availability/wire.ts';
import type { Viewer } from '../../src/context.ts';
import { lowerFirst } from '../../src/fields.ts';
import { openSlices } from '../../src/flow/slices.ts';
import { jsonPieces, LargeJson } from '../../src/http/large-json.ts';
import { openChunks, sendPieces } from '../../src/http/pieces.ts';
import { makeTenant } from '../_util/factories.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Span = { Start: string; End: string };
type Item = {
  ResourceId: number;
  ResourceName: string;
  LocationId: number;
  TimeZone: string;
  Capacity: number | null;
  Free: Span[];
  Busy: Span[];
};

let service: Service;
let admin: MasterData;
let user: MasterData;
let display: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  display = masterData(service, await service.signIn(service.tenant, 'Display'));
});
afterAll(() => service.stop());

let made = 0;
/** A location of its own, so that no test finds the rooms of another, with rooms. */
async function makeSite(rooms: object[] = [{}], TimeZone = 'Europe/Berlin') {
  const site = await admin.post('/locations', { Name: `Site ${++made}`, TimeZone });
  const LocationId = site.body['Id'] as number;
  const ids: number[] = [];
  for (const [index, room] of rooms.entries()) {
    const answer = await admin.post('/resources', { LocationId, Name: `Room ${index}`, ...room });
    ids.push(answer.body['Id'] as number);
  }
  return { LocationId, ids };
}

const setRules = async (id: number, ...Items: object[]) =>
  expect(
    (
      await admin.send('PUT', `/opening-hours/${id}/rules`, {
        body: { Items },
        headers: { 'If-Match': '*' },
      })
    ).status,
  ).toBe(200);
const everyDay = [1, 2, 3, 4, 5, 6, 7];
const daily = (Opens: string, Closes: string) => ({ Weekdays: everyDay, Opens, Closes });

/** Straight into the table: [from, to) is what the booking occupies. */
async function occupy(resourceId: number, from: string, to: string, status = 'Confirmed'): Promise<void> {
  await sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
    values (${service.tenant.mandatorId}, ${resourceId}, 'Booking', ${status}, 'Api', 'Secret',
      tstzrange(${from}, ${to}))`.execute(service.context.db);
}

async function read(query: string): Promise<Item[]> {
  const answer = await user.get(`/availability?${query}`);
  expect([answer.status, answer.body['NextCursor']]).toEqual([200, null]);
  return answer.body['Items'] as Item[];
}
const window = 'From=2027-03-01T00:00:00Z&To=2027-03-02T00:00:00Z';
/** `08:00 09:30` */
const clocks = (spans: Span[]) => spans.map(({ Start, End }) => `${Start.slice(11, 16)} ${End.slice(11, 16)}`);
const only = async (query: string): Promise<{ free: string[]; busy: string[] }> => {
  const [item] = await read(query);
  return { free: clocks(item!.Free), busy: clocks(item!.Busy) };
};

describe('GET availability', () => {
  test('free is what is open and not booked; busy what active bookings occupy, also while closed', async () => {
    const { LocationId, ids } = await makeSite([{ Capacity: 12 }]);
    const [id] = ids as [number];
    await setRules(id, daily('09:00', '18:00'));
    await occupy(id, '2027-03-01T09:00Z', '2027-03-01T10:00Z');
    await occupy(id, '2027-03-01T20:00Z', '2027-03-01T21:00Z', 'Tentative');
    await occupy(id, '2027-03-01T11:00Z', '2027-03-01T12:00Z', 'Cancelled');
    await occupy(id, '2027-03-01T12:00Z', '2027-03-01T13:00Z', 'Released');
    expect(await read(`${window}&LocationId=${LocationId}`)).toEqual([
      {
        ResourceId: id,
        ResourceName: 'Room 0',
        LocationId,
        TimeZone: 'Europe/Berlin',
        Capacity: 12,
        Free: [
          { Start: '2027-03-01T08:00:00.000Z', End: '2027-03-01T09:00:00.000Z' },
          { Start: '2027-03-01T10:00:00.000Z', End: '2027-03-01T17:00:00.000Z' },
        ],
        Busy: [
          { Start: '2027-03-01T09:00:00.000Z', End: '2027-03-01T10:00:00.000Z' },
          { Start: '2027-03-01T20:00:00.000Z', End: '2027-03-01T21:00:00.000Z' },
        ],
      },
    ]);
  });

  test('bookings that touch are one; what crosses the window ends at its edges; one outside does not count', async () => {
    const { ids } = await makeSite();
    const [id] = ids as [number];
    await occupy(id, '2027-02-28T23:00Z', '2027-03-01T01:00Z');
    await occupy(id, '2027-03-01T03:00Z', '2027-03-01T04:00Z');
    await occupy(id, '2027-03-01T04:00Z', '2027-03-01T04:30Z');
    await occupy(id, '2027-03-01T23:30Z', '2027-03-02T05:00Z');
    await occupy(id, '2027-03-02T06:00Z', '2027-03-02T07:00Z');
    expect(await only(`${window}&ResourceIds=${id}`)).toEqual({
      busy: ['00:00 01:00', '03:00 04:30', '23:30 00:00'],
      free: ['01:00 03:00', '04:30 23:30'],
    });
  });

  test('without known hours always open; overlapping and touching hours are one; closed all day is never free', async () => {
    const { ids } = await makeSite([{}, {}, {}]);
    const [unknown, overlapping, closed] = ids as [number, number, number];
    await setRules(overlapping, daily('09:00', '12:00'), daily('12:00', '14:00'), {
      ...daily('15:00', '16:00'),
    });
    await setRules(closed, { Weekdays: [7], Opens: '09:00', Closes: '12:00' });
    expect((await only(`${window}&ResourceIds=${unknown}`)).free).toEqual(['00:00 00:00']);
    expect((await only(`${window}&ResourceIds=${overlapping}`)).free).toEqual(['08:00 13:00', '14:00 15:00']);
    expect((await only(`${window}&ResourceIds=${closed}`)).free).toEqual([]);
  });

  test('on the day of a clock change the hours are those of the local clock', async () => {
    const { ids } = await makeSite([{}], 'Europe/Berlin');
    const [id] = ids as [number];
    await setRules(id, daily('00:00', '06:00'));
    const on = (date: string, next: string) => only(`From=${date}T12:00:00Z&To=${next}T12:00:00Z&ResourceIds=${id}`);
    // 5 h, 7 h, and 6 h otherwise.
    expect((await on('2027-03-27', '2027-03-28')).free).toEqual(['23:00 04:00']);
    expect((await on('2026-10-24', '2026-10-25')).free).toEqual(['22:00 05:00']);
    expect((await on('2027-03-28', '2027-03-29')).free).toEqual(['22:00 04:00']);
  });

  test('DurationMinutes leaves out of free what is shorter, at the edges of the window too', async () => {
    const { ids } = await makeSite();
    const [id] = ids as [number];
    await occupy(id, '2027-03-01T00:30Z', '2027-03-01T10:00Z');
    await occupy(id, '2027-03-01T10:45Z', '2027-03-01T23:00Z');
    const free = async (minutes: number) => (await only(`${window}&ResourceIds=${id}&DurationMinutes=${minutes}`)).free;
    expect(await free(30)).toEqual(['00:00 00:30', '10:00 10:45', '23:00 00:00']);
    expect(await free(45)).toEqual(['10:00 10:45', '23:00 00:00']);
    expect(await free(61)).toEqual([]);
  });

  test('LocationId, MinCapacity, Equipment and ResourceIds each leave some out; inactive ones are never there', async () => {
    const { LocationId, ids } = await makeSite([
      { Capacity: 10, Equipment: ['Beamer'] },
      { Capacity: 30, Equipment: ['Beamer', 'Whiteboard'] },
      { Capacity: 50 },
      { Capacity: 90, Equipment: ['Beamer', 'Whiteboard'] },
    ]);
    const [small, middle, large, retired] = ids as [number, number, number, number];
    await admin.patch(`/resources/${retired}`, { Active: false });
    const found = async (query: string) => (await read(`${window}&${query}`)).map(({ ResourceId }) => ResourceId);
    expect(await found(`LocationId=${LocationId}`)).toEqual([small, middle, large]);
    expect(await found(`LocationId=${LocationId}&MinCapacity=30`)).toEqual([middle, large]);
    expect(await found(`LocationId=${LocationId}&Equipment=beamer&Equipment=Whiteboard`)).toEqual([middle]);
    // Separated by commas or sent several times, twice or not, in whatever order.
    expect(await found(`ResourceIds=${large},${small},${retired}&ResourceIds=${small}`)).toEqual([small, large]);
    expect(await found(`ResourceIds=${large},${small}&MinCapacity=20`)).toEqual([large]);
    expect(await found('LocationId=2000000000')).toEqual([]);
  });

  test('400 for a resource that there is not, in the same words as for another tenant’s', async () => {
    const foreign = await makeTenant(service.context.db, { code: 'other' });
    const [own] = service.tenant.resources;
    for (const id of [2_000_000_000, foreign.resources[0]!.id])
      expect(await user.get(`/availability?${window}&ResourceIds=${own!.id},${id}`)).toMatchObject({
        status: 400,
        body: {
          detail: `ResourceIds: there is no resource with the id ${id}.`,
          Errors: [{ Field: 'ResourceIds', Code: 'UnknownResource' }],
        },
      });
    expect((await read(`${window}&LocationId=${foreign.locationId}`)).map(({ ResourceId }) => ResourceId)).toEqual([]);
  });

  test.each([
    ['', 'From'],
    ['From=2027-03-01T00:00:00Z', 'To'],
    ['From=2027-03-01T00:00:00&To=2027-03-02T00:00:00Z', 'From'],
    ['From=2027-03-01T00:00:00Z&To=2027-03-01T00:00:00Z', 'To'],
    // 92 days and a second.
    ['From=2027-03-01T00:00:00Z&To=2027-06-01T00:00:01Z', 'To'],
    ['From=2027-03-01T00:00:00+01:00&To=2027-03-02T00:00:00Z', 'From: must be a date-time such as'],
    ['From=2027-03-01T00:00:00+01:00&To=2027-03-02T00:00:00Z', 'the + of an offset is written %2B'],
    // In UTC it is a year later, or earlier, than an answer could say.
    ['From=9999-12-31T23:00:00Z&To=9999-12-31T23:59:59-01:00', 'To: must be in a year from 0 to 9999'],
    ['From=0000-01-01T00:00:00%2B01:00&To=0000-01-02T00:00:00Z', 'From: must be in a year from 0 to 9999'],
    // Opening hours are computed for these years alone.
    ['From=9999-12-30T00:00:00Z&To=9999-12-31T23:59:59Z', 'From: must be in a year from 1900 to 2999. To: must be'],
    ['From=0000-01-01T00:00:00Z&To=0000-01-02T00:00:00Z', 'From: must be in a year from 1900 to 2999. To: must be'],
    [`${window}&DurationMinutes=0`, 'DurationMinutes: must be a whole number from 1 to 132480'],
    [`${window}&ResourceIds=`, 'ResourceIds'],
    [`${window}&ResourceIds=1,x`, 'ResourceIds'],
    [`${window}&ResourceIds=${'1,'.repeat(500)}1`, 'ResourceIds'],
  ])('400 for %.80s', async (query, field) => {
    const answer = await user.get(`/availability?${query}`);
    expect([answer.status, String(answer.body['detail'])]).toEqual([400, expect.stringContaining(field)]);
  });

  test('92 days are answered, across a clock change', async () => {
    const { ids } = await makeSite();
    const [item] = await read(`From=2027-03-01T00:00:00Z&To=2027-06-01T00:00:00Z&ResourceIds=${ids[0]}`);
    expect(item?.Free).toEqual([{ Start: '2027-03-01T00:00:00.000Z', End: '2027-06-01T00:00:00.000Z' }]);
  });

  test('500 resources are answered and more are 400; each query goes by the index of the constraint', async () => {
    const rooms = Array.from({ length: 500 }, (_, index) => `H ${index}`);
    const large = await makeTenant(service.context.db, { code: 'large', rooms });
    const caller = masterData(service, await service.signIn(large), 'large');
    expect((await caller.get(`/availability?${window}`)).body['Items']).toHaveLength(500);
    await sql`
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      select ${large.mandatorId}, id, 'Booking', 'Confirmed', 'Api',
        tstzrange(start, start + interval '1 hour')
      from resource cross join lateral (
        select timestamptz '2027-03-01T00:00Z' + make_interval(hours => 3 * n) as start
        from generate_series(0, 15) as n) as slot
      where mandator_id = ${large.mandatorId}`.execute(service.context.db);
    await sql`vacuum analyze booking`.execute(service.context.db);
    const viewer = { mandatorId: large.mandatorId, role: 'User', hiddenRooms: [] as readonly number[] } as Viewer;
    const query = { from: new Date('2027-03-01T00:00Z'), to: new Date('2027-03-02T00:00Z') };
    const compiled = selectBusy(service.context.db, viewer, query).compile(service.context.db);
    const { rows } = await service.context.db.executeQuery<{ 'QUERY PLAN': string }>({
      ...compiled,
      sql: `explain ${compiled.sql}`,
    });
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('Index Only Scan using booking_no_overlap on booking');
    await makeTenantRoom(large.mandatorId, large.locationId);
    expect(await caller.get(`/availability?${window}`)).toMatchObject({
      status: 400,
      body: { Errors: [{ Field: null, Code: 'LimitExceeded' }] },
    });
  });

  test('equals what PostgreSQL computes with multiranges, to the byte, in both casings', async () => {
    const { LocationId, ids } = await makeSite([{}, { Name: 'Café 日本' }, {}]);
    await setRules(ids[0]!, daily('07:00', '17:30'));
    // In no order, some touching each other, with seconds and microseconds, and across both edges of the window.
    const occupied = fc.sample(fc.uniqueArray(fc.nat(40), { minLength: 12, maxLength: 30 }), { numRuns: 3, seed: 17 });
    await sql`
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      select ${service.tenant.mandatorId}, resource, 'Booking', 'Confirmed', 'Api',
        tstzrange(start, start + interval '1 hour' - (slot % 4 / 3) * interval '7.000499 seconds')
      from json_array_elements(${JSON.stringify(occupied.map((slots, room) => ({ slots, room: ids[room] })))}) as one,
        cast(one->>'room' as int) as resource, json_array_elements_text(one->'slots') as text, cast(text as int) as slot,
        cast(timestamptz '2027-02-28T23:30Z' + slot * interval '1 hour' as timestamptz) as start`.execute(
      service.context.db,
    );
    const { rows } = await sql<Item>`
      with asked as (select tstzrange('2027-03-01T00:00Z', '2027-03-02T00:00Z') as span),
      room as (
        select resource.*, coalesce((select range_agg(occupied) from booking
            where resource_id = resource.id and status in ('Confirmed', 'Tentative')), '{}') as busy,
          case when id = ${ids[0]} then '{[2027-03-01T06:00Z,2027-03-01T16:30Z)}'::tstzmultirange
            else tstzmultirange(span) end as open
        from resource, asked where location_id = ${LocationId}
      ), answer as (
        select room.*, busy * tstzmultirange(span) as busy_spans, (open - busy) * tstzmultirange(span) as free_spans
        from room, asked
      )
      select id as "ResourceId", name as "ResourceName", location_id as "LocationId", 'Europe/Berlin' as "TimeZone",
        capacity as "Capacity", ${spansOf('free_spans')} as "Free", ${spansOf('busy_spans')} as "Busy"
      from answer order by id`.execute(service.context.db);
    const expected = JSON.stringify({ Items: rows, NextCursor: null });
    expect(expected.match(/"Start"/g)?.length).toBeGreaterThan(20);
    const ask = async (headers: Record<string, string>, method = 'GET') => {
      const answer = await fetch(`${service.url}/school/api/v1.0/availability?${window}&LocationId=${LocationId}`, {
        method,
        headers: { Authorization: `Bearer ${await service.signIn()}`, ...headers },
      });
      return [await answer.text(), answer.headers.get('content-length')];
    };
    const length = String(Buffer.byteLength(expected));
    expect(await ask({})).toEqual([expected, length]);
    expect(await ask({}, 'HEAD')).toEqual(['', length]);
    expect(await ask({ 'X-JsonPropertyFormat': 'Camel' })).toEqual([
      expected.replaceAll(/"([A-Z])(\w+":)/g, (_all, first: string, rest: string) => `"${lowerFirst(first)}${rest}`),
      length,
    ]);
  });

  test('403 for a display', async () => {
    expect((await display.get(`/availability?${window}`)).status).toBe(403);
  });

  test('ETag of the answer, and 304', async () => {
    const { ids } = await makeSite();
    const address = `/availability?${window}&ResourceIds=${ids[0]}`;
    const etag = (await user.get(address)).headers.get('etag') ?? '';
    expect((await user.get(address, { 'If-None-Match': etag })).status).toBe(304);
    const camel = { 'X-JsonPropertyFormat': 'camel' };
    const other = await user.get(address, { ...camel, 'If-None-Match': etag });
    const known = { ...camel, 'If-None-Match': other.headers.get('etag') ?? '' };
    expect([other.status, (await user.get(address, known)).status]).toEqual([200, 304]);
    await occupy(ids[0]!, '2027-03-01T00:30Z', '2027-03-01T10:00Z');
    expect((await user.get(address, { 'If-None-Match': etag })).status).toBe(200);
  });
});

/** As JSON has the instants of JavaScript. */
const spansOf = (column: string) => sql`(
  select coalesce(json_agg(json_build_object('Start', ${instantText('lower')}, 'End', ${instantText('upper')})), '[]')
  from unnest(${sql.ref(column)}) as span)`;
const instantText = (side: string) =>
  sql`to_char(date_trunc('milliseconds', ${sql.raw(side)}(span) + interval '500 microseconds') at time zone 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

async function makeTenantRoom(mandatorId: number, locationId: number): Promise<void> {
  await service.context.db
    .insertInto('resource')
    .values({ mandator_id: mandatorId, location_id: locationId, name: 'one too many' })
    .execute();
}

describe('Query.availability', () => {
  const query = `query ($input: AvailabilityInput!) { availability(input: $input) {
    resourceId resourceName locationId timeZone capacity free { start end } busy { start end } } }`;
  const camel = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(camel);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name.charAt(0).toLowerCase() + name.slice(1),
        name.endsWith('Id') ? String(member) : camel(member),
      ]),
    );
  };

  test('has the values of REST, whatever the filter', async () => {
    const { LocationId, ids } = await makeSite([{ Capacity: 10, Equipment: ['Beamer'] }, { Capacity: 30 }, {}]);
    await setRules(ids[0]!, daily('09:00', '18:00'));
    await occupy(ids[0]!, '2027-03-01T09:00Z', '2027-03-01T10:00Z');
    await occupy(ids[1]!, '2027-03-01T09:00:00.250Z', '2027-03-01T10:00Z');
    const span = { from: '2027-03-01T00:00:00Z', to: '2027-03-02T00:00:00Z' };
    for (const [rest, input] of [
      [`LocationId=${LocationId}`, { locationId: LocationId }],
      [`ResourceIds=${ids.join()}`, { resourceIds: ids.map(String) }],
      [`LocationId=${LocationId}&Equipment=Beamer`, { locationId: LocationId, equipment: ['Beamer'] }],
      [
        `LocationId=${LocationId}&MinCapacity=20&DurationMinutes=600`,
        { locationId: LocationId, minCapacity: 20, durationMinutes: 600 },
      ],
    ] as const) {
      const expected = await read(`${window}&${rest}`);
      expect(expected.length).toBeGreaterThan(0);
      const { data } = await user.ask(query, { input: { ...span, ...input } });
      expect(data).toEqual({ availability: camel(expected) });
    }
  });

  test('has the same in whatever order, under whatever name and beside whatever is selected, time after time', async () => {
    const { LocationId, ids } = await makeSite();
    await occupy(ids[0]!, '2027-03-01T09:00Z', '2027-03-01T10:00Z');
    const input = { from: '2027-03-01T00:00:00Z', to: '2027-03-02T00:00:00Z', locationId: LocationId };
    const busy = { start: '2027-03-01T09:00:00.000Z', end: '2027-03-01T10:00:00.000Z' };
    const { start, end } = busy;
    for (const [selected, expected] of [
      ['start end', busy],
      ['end start', { end, start }],
      ['start', { start }],
      ['end: start start: end', { end: start, start: end }],
      ['__typename start end', { __typename: 'TimeSpan', start, end }],
      ['...on TimeSpan { start } end', busy],
    ] as const) {
      const document = `query ($input: AvailabilityInput!) { all: availability(input: $input) { B: busy { ${selected} } capacity } }`;
      // GraphQL's own executor answers first, then the plan.
      for (let time = 0; time < 3; time++)
        expect(JSON.stringify((await user.ask(document, { input })).data)).toBe(
          JSON.stringify({ all: [{ B: [expected], capacity: null }] }),
        );
    }
  });

  test.each([
    ['an unknown resource', { resourceIds: ['2000000000'] }, 'resourceIds: there is no resource'],
    ['what is no id', { resourceIds: ['x'] }, 'must be an id'],
    ['two ids in one text', { resourceIds: ['1,2'] }, 'must be an id'],
    ['an id that is too long', { locationId: '99999999999' }, 'must be an id'],
    ['equipment that PostgreSQL cannot hold', { equipment: ['\u0000'] }, 'must not hold U+0000'],
    ['a window of none', { to: '2027-03-01T00:00:00Z' }, 'to: must be after from'],
    ['a duration of none', { durationMinutes: 0 }, 'durationMinutes'],
  ])('an error for %s', async (_name, changes, text) => {
    const input = { from: '2027-03-01T00:00:00Z', to: '2027-03-02T00:00:00Z', ...changes };
    const { errors } = await user.ask(query, { input });
    expect(errors).toMatchObject([{ message: expect.stringContaining(text) }]);
  });

  test('a display is forbidden; twice in one document costs too much', async () => {
    const input = { from: '2027-03-01T00:00:00Z', to: '2027-03-02T00:00:00Z' };
    expect((await display.ask(query, { input })).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    const twice = query.replace(/availability\(.*\}(?= \}$)/s, (field) => `one: ${field} two: ${field}`);
    expect((await user.ask(twice, { input })).errors).toMatchObject([{ extensions: { code: 'LIMIT' } }]);
  });
});

test('free and busy are those of an oracle that goes minute by minute', () => {
  const length = 40;
  const minutes = fc.uniqueArray(fc.nat(length), { maxLength: 16 }).map((cuts) => {
    const sorted = cuts.toSorted((one, other) => one - other);
    return sorted.slice(0, sorted.length - (sorted.length % 2));
  });
  const covers = (spans: readonly number[], minute: number) =>
    spans.some((begin, at) => at % 2 === 0 && begin <= minute && minute < spans[at + 1]!);
  const runs = (isIn: (minute: number) => boolean) => {
    const spans: number[] = [];
    for (let minute = 0; minute <= length; minute++) if (isIn(minute) !== spans.length % 2 > 0) spans.push(minute);
    return spans;
  };
  fc.assert(
    fc.property(
      ...([minutes, minutes, fc.integer({ min: 1, max: 6 }), fc.nat(length), fc.nat(length)] as const),
      (open, busy, least, from, to) => {
        const writer = new SpanWriter();
        const [openSpans, busySpans] = [Float64Array.from(open), Float64Array.from(busy)];
        expect([...writer.clip(busySpans, from, to)]).toEqual(
          runs((minute) => covers(busy, minute) && from <= minute && minute < to),
        );
        const all = runs((minute) => covers(open, minute) && !covers(busy, minute));
        const long = all.flatMap((begin, at) =>
          at % 2 === 0 && all[at + 1]! - begin >= least ? [begin, all[at + 1]!] : [],
        );
        expect([...writer.subtract(openSpans, busySpans, least)]).toEqual(long);
      },
    ),
    { numRuns: 500 },
  );
});

/** As `timestamptz_send` writes it. */
function bytesOf(milliseconds: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(milliseconds - Date.UTC(2000, 0, 1)) * 1_000n);
  return bytes;
}

test('ranges of PostgreSQL are read in whatever order and however they overlap, before and after the year 2000', () => {
  const writer = new SpanWriter();
  const range = fc.tuple(fc.integer({ min: -30, max: 30 }), fc.integer({ min: 1, max: 8 }));
  fc.assert(
    fc.property(fc.array(range, { maxLength: 12 }), (ranges) => {
      const at = (step: number) => Date.UTC(2000, 0, 1) + step * 1_234_567;
      const covered = (step: number) => ranges.some(([begin, length]) => begin <= step && step < begin + length);
      const expected: number[] = [];
      for (let step = -31; step < 40; step++) if (covered(step) !== expected.length % 2 > 0) expected.push(at(step));
      const bytes = Buffer.concat(
        ranges.flatMap(([begin, length]) => [bytesOf(at(begin)), bytesOf(at(begin + length))]),
      );
      // PostgreSQL breaks its lines.
      const text = bytes.toString('base64').replaceAll(/.{76}/g, '$&\n');
      const [before, read] = [writer.readRanges(text), writer.readRanges(text)];
      expect([[...before], [...read]]).toEqual([expected, expected]);
    }),
  );
});

test.each(['2027-03-01T00:00Z', '2029-12-31T00:00Z'])(
  'a large answer from %s equals that of JSON.stringify',
  async (begin) => {
    let pieces: ReturnType<typeof jsonPieces> = [];
    const chunks = openChunks();
    const server = http.createServer((_request, response) => void sendPieces(response, pieces, chunks, openSlices()));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const from = new Date(begin);
    const window = { from, to: new Date(from.getTime() + 2 * 86_400_000) };
    const spans = fc
      .uniqueArray(
        fc.oneof(
          fc.nat(2 * 24 * 60).map((minutes) => minutes * 60_000),
          fc.nat(2 * 86_400_000),
        ),
        { maxLength: 40 },
      )
      .map((cuts) => cuts.toSorted((one, other) => one - other).map((cut) => cut + from.getTime()))
      .map((cuts) => cuts.slice(0, cuts.length - (cuts.length % 2)));
    const resource = fc.record({
      resourceId: fc.nat(),
      resourceName: fc.string({ unit: 'grapheme' }),
      locationId: fc.nat(),
      timeZone: fc.string(),
      capacity: fc.option(fc.nat()),
      free: spans,
      busy: spans,
    });
    /** No two names of an object become the same one. */
    const isRenamable = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (new Set(Object.keys(value).map(lowerFirst)).size === Object.keys(value).length &&
        Object.values(value).every(isRenamable));
    const others = fc.oneof(fc.jsonValue().filter(isRenamable), fc.constant(undefined), fc.constant([undefined]));
    await fc.assert(
      fc.asyncProperty(fc.array(resource), others, fc.boolean(), async (found, other, isCamel) => {
        const nameOf = isCamel ? lowerFirst : (name: string) => name;
        const toSpans = (list: readonly number[]) =>
          Array.from({ length: list.length / 2 }, (_, at) => ({
            [nameOf('Start')]: new Date(list[2 * at]!),
            [nameOf('End')]: new Date(list[2 * at + 1]!),
          }));
        const expected = {
          [nameOf('Items')]: found.map(({ free, busy, ...others }) => ({
            [nameOf('ResourceId')]: others.resourceId,
            [nameOf('ResourceName')]: others.resourceName,
            [nameOf('LocationId')]: others.locationId,
            [nameOf('TimeZone')]: others.timeZone,
            [nameOf('Capacity')]: others.capacity,
            [nameOf('Free')]: toSpans(free),
            [nameOf('Busy')]: toSpans(busy),
          })),
          [nameOf('other')]: other,
        };
        const inMemory = found.map((one) => ({
          ...one,
          free: Float64Array.from(one.free),
          busy: Float64Array.from(one.busy),
        }));
        const answer = new LargeJson({ Items: toAvailabilityRecords(window, inMemory), other });
        // Of the other value the names stay as they are, unless they are renamed as well.
        pieces = jsonPieces(answer, isCamel ? lowerFirst : undefined);
        const sent = await (await fetch(address)).text();
        const renamed = (value: unknown): unknown =>
          Array.isArray(value)
            ? value.map(renamed)
            : typeof value === 'object' && value !== null && !(value instanceof Date)
              ? Object.fromEntries(Object.entries(value).map(([name, member]) => [nameOf(name), renamed(member)]))
              : value;
        expect(sent).toBe(JSON.stringify(isCamel ? renamed(expected) : expected));
      }),
      { numRuns: 50 },
    );
    server.close();
  },
);

test('in each turn of the event loop only one of several long computations continues', async () => {
  let turn = 0;
  const count = () => {
    turn++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const turns = await Promise.all(
    [openSlices(), openSlices(), openSlices()].map(async (pause) => {
      await pause();
      return turn;
    }),
  );
  clearImmediate(counting);
  expect(new Set(turns).size).toBe(3);
});
