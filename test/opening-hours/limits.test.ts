/** Opening hours of many resources, rules and dates. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { openLargeAnswers } from '../../src/flow/large-answers.ts';
import { listOpenIntervals } from '../../src/opening-hours/service.ts';
import { toResourceHours, versionOf } from '../../src/opening-hours/wire.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

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
