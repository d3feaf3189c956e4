/** Opening hours of many resources, rules and dates. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { openLargeAnswers } from '../../src/flow/large-answers.ts';
import { listOpenIntervals } from '../../src/opening-hours/service.ts';
import { readHours } from '../../src/opening-hours/stored.ts';
import { toResourceHours, versionOf } from '../../src/opening-hours/wire.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';
import { statementsOf } from '../_util/statements.ts';

let service: Service;
let admin: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
});

let made = 0;
async function makeSite(count: number) {
  const answer = await admin.post('/locations', { Name: `Site ${++made}`, TimeZone: 'Europe/Berlin' });
  const LocationId = Number(answer.body['Id']);
  await addRooms(LocationId, count);
  return LocationId;
}

const addRooms = (LocationId: number, count: number) =>
  sql`
    insert into resource (mandator_id, location_id, name)
    select ${service.tenant.mandatorId}, ${LocationId}, gen_random_uuid()::text from generate_series(1, ${count})`.execute(
    service.context.db,
  );

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const clock = (minutes: number) => new Date(60_000 * minutes).toISOString().slice(11, 16);

/** Replaces a list of a location. */
async function put(list: string, Items: object[]): Promise<void> {
  const headers = { 'If-Match': '*' };
  const answer = await admin.send('PUT', `/opening-hours/locations/${list}`, { body: { Items }, headers });
  expect(answer.status).toBe(200);
}

/** A site of rooms which open 200 times a day. */
async function makeBusySite(rooms = 50) {
  const LocationId = await makeSite(rooms);
  const Weekdays = [1, 2, 3, 4, 5, 6, 7];
  const rules = range(200).map((index) => ({ Weekdays, Opens: clock(7 * index), Closes: clock(7 * index + 7) }));
  await put(`${LocationId}/rules`, rules);
  return LocationId;
}

const read = (LocationId: number, From: string, To: string) =>
  admin.get(`/opening-hours/all/${LocationId}?From=${From}&To=${To}`);
const tooMany = { status: 400, body: { Errors: [{ Field: 'To', Code: 'InvalidValue' }] } };

describe('over REST', () => {
  test('a year of 109 resources is answered; more than 40,000 days of resources are 400', async () => {
    const LocationId = await makeSite(109);
    const { status, body } = await read(LocationId, '2026-01-01', '2027-01-01');
    expect([status, (body['Resources'] as object[]).length]).toEqual([200, 109]);
    await addRooms(LocationId, 1);
    expect(await read(LocationId, '2026-01-01', '2027-01-01')).toMatchObject(tooMany);
    expect((await read(LocationId, '2026-01-01', '2026-12-29')).status).toBe(200);
  });

  test('100,000 rules, exceptions, periods and intervals are answered; more are 400', async () => {
    const LocationId = await makeBusySite();
    const { status, body } = await read(LocationId, '2026-01-01', '2026-01-09');
    expect(status).toBe(200);
    const rooms = body['Resources'] as { Weekly: object[]; Intervals: object[] }[];
    expect(rooms.map(({ Weekly, Intervals }) => Weekly.length + Intervals.length)).toEqual(Array(50).fill(2_000));
    expect(await read(LocationId, '2026-01-01', '2026-01-10')).toMatchObject(tooMany);
    /** So many exceptions for a day, each with 24 periods. */
    async function except(day: string, count: number): Promise<void> {
      const Periods = range(24).map((hour) => ({ Opens: clock(60 * hour), Closes: clock(60 * hour + 59) }));
      const Items = range(count).map(() => ({ FromDate: day, ToDate: day, Periods }));
      await put(`${LocationId}/exceptions`, Items);
    }
    await except('2026-01-11', 1);
    expect((await read(LocationId, '2026-01-01', '2026-01-09')).status).toBe(200);
    // The day after the last one counts.
    await except('2026-01-10', 1);
    expect(await read(LocationId, '2026-01-01', '2026-01-09')).toMatchObject(tooMany);
    // Of each room 200 rules, 8 x 200 and 24 intervals, and seven exceptions with their periods: 1,999.
    await except('2026-01-09', 7);
    expect((await read(LocationId, '2026-01-01', '2026-01-09')).status).toBe(200);
    await except('2026-01-09', 8);
    expect(await read(LocationId, '2026-01-01', '2026-01-09')).toMatchObject(tooMany);
  });

  test('nothing is read for hours or availability before the call has one of the places of large answers', async () => {
    const LocationId = await makeSite(1);
    const { mandatorId } = service.tenant;
    const holder = { mandatorId, personId: service.tenant.person('Admin').id };
    const places = service.context.once(openLargeAnswers);
    const taken = Promise.withResolvers<void>();
    const held = range(8 + 64).map(() => places.hold(holder, () => taken.promise));
    const unlock = await hold(service.context.db, (trx) =>
      sql`lock table booking, opening_rule in access exclusive mode`.execute(trx),
    );
    const ask = async () => [
      (await read(LocationId, '2026-01-01', '2026-01-11')).status,
      (await admin.get(`/availability?LocationId=${LocationId}&From=2026-01-01T00:00:00Z&To=2026-01-04T00:00:00Z`))
        .status,
    ];
    expect(await ask()).toEqual([429, 429]);
    taken.resolve();
    await Promise.all(held);
    await unlock();
    expect(await ask()).toEqual([200, 200]);
  });

  test('hours of a few days that turn out to be large wait for a place', async () => {
    const LocationId = await makeBusySite(10);
    const taking = jest.spyOn(service.context.once(openLargeAnswers), 'take');
    jest.spyOn(service.context.once(openLargeAnswers), 'takeIfFree').mockReturnValueOnce(undefined);
    expect((await read(LocationId, '2026-01-01', '2026-01-09')).status).toBe(200);
    expect(taking).toHaveBeenCalledTimes(1);
    jest.restoreAllMocks();
  });
});

describe('over GraphQL', () => {
  const refusal = { extensions: { code: 'BAD_USER_INPUT', errors: [{ field: 'to' }] } };

  test('the limits are those of a call, which its fields share', async () => {
    const LocationId = await makeSite(60);
    const year = (name: string) =>
      `${name}: openingHours(locationId: "${LocationId}", from: "2026-01-01", to: "2027-01-01") { timeZone }`;
    expect(await admin.ask(`{ ${year('one')} }`)).toEqual({ data: { one: { timeZone: expect.any(String) } } });
    const { data, errors } = await admin.ask(`{ ${year('one')} ${year('other')} }`);
    expect(Object.values(data ?? {}).filter((found) => found === null)).toHaveLength(1);
    expect(errors).toMatchObject([refusal]);
  });

  test('and those of all resources in it', async () => {
    const LocationId = await makeSite(110);
    const hoursOf = (count: number) =>
      admin.ask(`{ location(id: "${LocationId}") { resources(first: ${count}) { nodes {
        openingHours(from: "2026-01-01", to: "2027-01-01") { resourceName } } } } }`);
    expect(await hoursOf(109)).toMatchObject({ data: { location: { resources: { nodes: { length: 109 } } } } });
    const { data, errors } = await hoursOf(110);
    expect([data, errors?.[0]]).toMatchObject([{ location: null }, refusal]);
  });

  test('and of a subscription those of each frame', async () => {
    const LocationId = await makeSite(60);
    const { db } = service.context;
    const stop = new AbortController();
    const query = `subscription { bookings(filter: {}) { bookings { resource {
      openingHours(from: "2026-01-01", to: "2027-01-01") { resourceName } } } cursor } }`;
    const answer = await fetch(`${service.url}/school/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await service.signIn(service.tenant, 'Admin')}`,
        accept: 'text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query }),
      signal: stop.signal,
    });
    const frames = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (isReached: () => boolean) => {
      while (!isReached() && !text.includes('"errors"')) text += (await frames.read()).value;
    };
    const hoursSent = () => text.split('"resourceName"').length - 1;
    await readUntil(() => text.includes('"cursor"'));
    for (const round of [1, 2, 3]) {
      await sql`
        insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
        select mandator_id, id, 'Booking', 'Confirmed', 'Api',
          tstzrange(now() + make_interval(days => ${round}), now() + make_interval(days => ${round}, hours => 1))
        from resource where location_id = ${LocationId}`.execute(db);
      await readUntil(() => hoursSent() >= 60 * round);
    }
    stop.abort();
    expect(text).not.toContain('"errors"');
  });
});

describe('what is stored, however much,', () => {
  const [from, to] = [new Date('2027-01-04T00:00Z'), new Date('2027-01-05T00:00Z')];
  const day = { from: '2027-01-04', to: '2027-01-04' };
  const window = `From=${from.toISOString()}&To=${to.toISOString()}`;

  /** A site whose rooms each have so many exceptions for the day; the last one counts, and opens at the hour of the room's number. */
  async function makeExceptionalSite(rooms: number, exceptions: number, periods: number) {
    const LocationId = await makeSite(rooms);
    const { db } = service.context;
    await put(`${LocationId}/rules`, [{ Weekdays: [1, 2, 3, 4, 5, 6, 7], Opens: '00:00', Closes: '24:00' }]);
    await sql`
      insert into opening_exception (mandator_id, location_id, resource_id, from_date, to_date, closed, periods)
      select mandator_id, location_id, room.id, ${day.from}, ${day.to}, false, (
        select jsonb_agg(jsonb_build_object('opens', to_char(make_time((hour + number)::int % 24, 0, 0), 'HH24:MI'),
          'closes', to_char(make_time((hour + number)::int % 24, 30, 0), 'HH24:MI')))
        from generate_series(0, ${periods - 1}::int) as hour)
      from (select *, row_number() over (order by name_key) - 1 as number from resource where location_id = ${LocationId}) as room,
        generate_series(1, ${exceptions}::int)`.execute(db);
    const found = await db
      .selectFrom('resource')
      .where('location_id', '=', LocationId)
      .orderBy('name_key')
      .select('id')
      .execute();
    return { LocationId, ids: found.map(({ id }) => id) };
  }
  const ofHours = (texts: readonly string[]) => texts.filter((text) => text.includes('opening_exception'));

  test('is read in parts, with the same hours as at once', async () => {
    const { LocationId, ids } = await makeExceptionalSite(12, 500, 1);
    const { db } = service.context;
    const parts: number[] = [];
    for (const which of [{ resourceIds: ids }, { locationId: LocationId }, { resourceIds: ids.slice(0, 10) }])
      for await (const { exceptions } of readHours(db, service.tenant.mandatorId, which, day))
        parts.push(exceptions.length);
    expect(parts).toEqual([3_000, 3_000, 3_000, 3_000, 5_000]);
    const listed = await listOpenIntervals(db, service.tenant.mandatorId, ids, from, to);
    const hourOf = (start: Date) => start.getUTCHours();
    const opening = ids.map((id) =>
      (listed.get(id) ?? []).map(({ start }) => start).filter((start) => start >= from && start < to),
    );
    // Berlin is an hour ahead; the room that opens at midnight there does so on the day before.
    expect(opening.slice(1).map(([start]) => start && hourOf(start))).toEqual(range(11));
    const { answer, texts } = await statementsOf(db, () => read(LocationId, day.from, day.to));
    expect(ofHours(texts)).toHaveLength(3);
    const resources = answer.body['Resources'] as { ResourceId: number; Intervals: { Opens: string }[] }[];
    expect(resources.map(({ ResourceId, Intervals }) => [ResourceId, Intervals[0]?.Opens])).toEqual(
      ids.map((id, number) => [id, clock(60 * number)]),
    );
  });

  test('is read no further than 200,000 exceptions, periods and times; one room is always answered', async () => {
    const { LocationId, ids } = await makeExceptionalSite(12, 1_000, 24);
    const { db } = service.context;
    const tooMuch = { status: 400, body: { Errors: [{ Field: null, Code: 'LimitExceeded' }] } };
    const availability = `/availability?${window}`;
    const { answer, texts } = await statementsOf(db, () => admin.get(`${availability}&LocationId=${LocationId}`));
    expect(answer).toMatchObject(tooMuch);
    // The whole, halves and quarters, of which the last is not read any more.
    expect(ofHours(texts).length).toBeLessThanOrEqual(1 + 2 + 3);
    expect(await admin.get(`/availability/free?From=${from.toISOString()}&LocationId=${LocationId}`)).toMatchObject(
      tooMuch,
    );
    expect(await admin.get(`/usage/resources?From=${day.from}&To=${day.to}&LocationId=${LocationId}`)).toMatchObject(
      tooMuch,
    );
    expect(await read(LocationId, day.from, day.to)).toMatchObject(tooMany);
    const one = await statementsOf(db, () => admin.get(`${availability}&ResourceIds=${ids[0]}`));
    expect([one.answer.status, ofHours(one.texts).length]).toEqual([200, 1]);
    const user = masterData(service, await service.signIn());
    const booking = { ResourceId: ids[0], Subject: 'Lab', Start: '2027-01-04T09:00:00Z', End: '2027-01-04T09:30:00Z' };
    const book = () => user.post('/bookings', booking, { 'Idempotency-Key': crypto.randomUUID() });
    expect([(await book()).status, (await book()).status]).toEqual([201, 409]);
  });

  test('holidays are read as ranges, one for all that overlap or touch', async () => {
    const LocationId = await makeSite(1);
    const { mandatorId } = service.tenant;
    await sql`
      with calendar as (
        insert into holiday_calendar (mandator_id, location_id, name, closes) values (${mandatorId}, ${LocationId}, 'Many', true)
        returning id)
      insert into holiday (mandator_id, calendar_id, from_date, to_date, name)
      select ${mandatorId}::integer, id, date '2027-01-01' + number % 5, date '2027-01-02' + number % 5, ''
      from calendar, generate_series(1, 5000) as number
      union all select ${mandatorId}::integer, id, date '2027-01-09', date '2027-01-09', '' from calendar`.execute(
      service.context.db,
    );
    const dates = { from: '2027-01-03', to: '2027-01-20' };
    const found = readHours(service.context.db, mandatorId, { locationId: LocationId }, dates);
    expect((await found.next()).value?.holidays).toEqual([
      { fromDate: '2027-01-02', toDate: '2027-01-06' },
      { fromDate: '2027-01-09', toDate: '2027-01-09' },
    ]);
  });
});

describe('in between other work is done', () => {
  /** How often `work` paused, if each of its steps took longer than a slice. */
  async function pausesOf(work: () => Promise<unknown>): Promise<number> {
    let now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 10));
    const turns = jest.spyOn(globalThis, 'setImmediate');
    try {
      await work();
      return turns.mock.calls.length;
    } finally {
      clock.mockRestore();
      turns.mockRestore();
    }
  }

  test('resources with hours of their own are converted, written and hashed one by one, and by weeks', async () => {
    const LocationId = await makeSite(20);
    const { db } = service.context;
    await sql`
      insert into opening_rule (mandator_id, location_id, resource_id, weekdays, opens, closes)
      select mandator_id, location_id, id, '{1,2,3,4,5,6,7}', '08:00', make_time(9, (row_number() over ())::int, 0)
      from resource where location_id = ${LocationId}`.execute(db);
    const found = await db.selectFrom('resource').where('location_id', '=', LocationId).select('id').execute();
    const ids = found.map(({ id }) => id);
    const [from, to] = [new Date('2026-01-02T12:00Z'), new Date('2026-01-30T12:00Z')];
    // Of 30 dates, five parts for each; for one resource there is no wait before the first.
    const listed = await pausesOf(() => listOpenIntervals(db, service.tenant.mandatorId, ids, from, to));
    expect(listed).toBeGreaterThanOrEqual(19 + 20 * 4);
    expect(await pausesOf(() => read(LocationId, '2026-01-01', '2026-01-30'))).toBeGreaterThanOrEqual(
      19 + 20 * 4 + 20 + 20,
    );
  });

  test('the intervals of a resource are written and hashed by the hundred', async () => {
    const at = new Date('2026-01-01T08:00Z');
    const interval = { localDate: '2026-01-01', opens: '08:00', closes: '09:00', start: at, end: at } as const;
    const intervals = range(1_000).map(() => ({
      ...interval,
      source: 'Weekly' as const,
      clockChange: false,
    }));
    const resource = { resourceId: 1, resourceName: 'Room', weekly: [], exceptions: [], intervals };
    expect(await pausesOf(() => toResourceHours(resource))).toBeGreaterThanOrEqual(9);
    const location = { locationId: 1, locationName: 'Campus', timeZone: 'UTC', timeZoneSource: 'Location' } as const;
    const hours = { ...location, from: '2026-01-01', to: '2026-01-01', resources: [resource, resource] };
    // Of a list that two resources share, once.
    const hashed = await pausesOf(() => versionOf(hours));
    expect([hashed >= 9 + 2, hashed < 2 * 9]).toEqual([true, true]);
  });
});
