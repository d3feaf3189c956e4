import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { lowerFirst } from '../../src/fields.ts';
import { addDays } from '../../src/time/days.ts';
import { localDateOf, startOfDate } from '../../src/time/zones.ts';
import { ahead } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Free = { ResourceId: number; ResourceName: string; FreeUntil: string };

let service: Service;
let admin: MasterData;
let user: MasterData;
let site: { [Name: string]: number };
const at = ahead('2027-03-01T08:00:00Z');

/** What occupies the rooms of the site on that Monday, in UTC; its clocks are an hour ahead. */
const rooms: {
  Name: string;
  Capacity?: number;
  Kind?: string;
  Equipment?: string[];
  opens?: [string, string];
  booked?: string[];
}[] = [
  { Name: 'always', Capacity: 40 },
  { Name: 'uncounted' },
  { Name: 'small', Capacity: 4, booked: ['08:30 09:00'] },
  { Name: 'lab', Capacity: 20, Kind: 'Labor', Equipment: ['Beamer'], booked: ['07:00 08:00', '10:00 11:00'] },
  { Name: 'taken', Capacity: 10, booked: ['07:00 08:01'] },
  { Name: 'closing', Capacity: 30, opens: ['08:00', '10:00'] },
  { Name: 'closed', Capacity: 30, opens: ['10:00', '18:00'] },
];

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  const LocationId = Number((await admin.post('/locations', { Name: 'Süd', TimeZone: 'Europe/Zurich' })).body['Id']);
  site = { LocationId };
  for (const { opens, booked = [], ...room } of rooms) {
    const id = Number((await admin.post('/resources', { LocationId, ...room })).body['Id']);
    site[room.Name] = id;
    if (opens) {
      const rule = { Weekdays: [1], Opens: opens[0], Closes: opens[1] };
      await admin.send('PUT', `/opening-hours/${id}/rules`, { body: { Items: [rule] }, headers: { 'If-Match': '*' } });
    }
    for (const span of booked) await occupy(id, span);
  }
  await occupy(site['always'] as number, '08:00 09:00', 'Cancelled');
  const retired = await admin.post('/resources', { LocationId, Name: 'retired', Capacity: 1 });
  await admin.patch(`/resources/${retired.body['Id']}`, { Active: false });
});
afterAll(() => service.stop());

/** So many minutes before the end of a local day, `days` after today. */
function endOfDay(timeZone: string, days: number, minutes: number): Date {
  const tomorrow = addDays(localDateOf(new Date(), timeZone), days + 1);
  return new Date(startOfDate(tomorrow, timeZone).getTime() - minutes * 60_000);
}

/** Straight into the table. */
async function occupy(resourceId: number, span: string, status = 'Confirmed'): Promise<void> {
  const [from, to] = span.split(' ').map((clock) => ahead(`2027-03-01T${clock}Z`));
  await sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied)
    values (${service.tenant.mandatorId}, ${resourceId}, 'Booking', ${status}, 'Api', 'Secret',
      tstzrange(${from}, ${to}))`.execute(service.context.db);
}

const document = `query ($input: FreeInput) { freeResources(input: $input) {
  resourceId resourceName locationId locationName timeZone kind capacity equipment freeUntil } }`;

const neutral = (item: object) =>
  Object.fromEntries(
    Object.entries(item).map(([name, value]) => [lowerFirst(name), /id$/i.test(name) ? String(value) : value]),
  );

/** `name until`, the same over both fronts. */
async function find(query: { [Name: string]: string | number | string[] }): Promise<string[]> {
  const all = { LocationId: site['LocationId'] as number, From: at, ...query };
  const sent = Object.entries(all).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
  const answer = await user.get(`/availability/free?${new URLSearchParams(sent)}`);
  expect([answer.status, answer.body['NextCursor']]).toEqual([200, null]);
  const items = answer.body['Items'] as Free[];
  const input = Object.fromEntries(Object.entries(all).map(([name, value]) => [lowerFirst(name), value]));
  expect(await user.ask(document, { input })).toEqual({ data: { freeResources: items.map(neutral) } });
  return items.map(({ ResourceName, FreeUntil }) => `${ResourceName} ${FreeUntil.slice(0, 16)}`);
}

describe('resources that are free from an instant on', () => {
  test.each([
    [
      'for half an hour, the nearest fit first; a room ends at the next booking, when it closes, or after a day',
      {},
      [
        'small 2027-03-01T08:30',
        'lab 2027-03-01T10:00',
        'closing 2027-03-01T09:00',
        'always 2027-03-02T08:00',
        'uncounted 2027-03-02T08:00',
      ],
    ],
    ['for so many persons', { MinCapacity: 25 }, ['closing 2027-03-01T09:00', 'always 2027-03-02T08:00']],
    ['for longer', { Minutes: 61, MinCapacity: 5 }, ['lab 2027-03-01T10:00', 'always 2027-03-02T08:00']],
    ['to the minute', { Minutes: 120, Kind: 'LABOR' }, ['lab 2027-03-01T10:00']],
    ['not a minute more', { Minutes: 121, Kind: 'LABOR' }, []],
    ['with a teardown, which ends it earlier', { TeardownMinutes: 15, Kind: 'Labor' }, ['lab 2027-03-01T09:45']],
    ['a setup before it is in the way of the booking before', { SetupMinutes: 1, Kind: 'Labor' }, []],
    [
      'a setup need not be in the opening hours',
      { SetupMinutes: 90, Minutes: 120, From: ahead('2027-03-01T07:00:00Z'), Search: 'closing' },
      ['closing 2027-03-01T09:00'],
    ],
    ['with equipment', { Equipment: ['beamer'] }, ['lab 2027-03-01T10:00']],
    ['found by words', { Search: 'sud lab' }, ['lab 2027-03-01T10:00']],
    ['at most so many', { Limit: 2 }, ['small 2027-03-01T08:30', 'lab 2027-03-01T10:00']],
    ['elsewhere nothing', { LocationId: 999_999 }, []],
  ])('%s', async (_name, query, expected) => {
    expect(await find(query)).toEqual(expected.map(ahead));
  });

  test('now, where no instant is named', async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const answer = await user.get(`/availability/free?LocationId=${site['LocationId']}&Search=always`);
    const [{ FreeUntil }] = answer.body['Items'] as [Free];
    expect([FreeUntil, tomorrow].sort()).toEqual([tomorrow, FreeUntil]);
  });

  test('none at a time at which the caller can book nothing: over three years ahead, and in the past except for an Admin', async () => {
    const fromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    const threeYears = 3 * 366 * 1_440;
    const codes = async (who: MasterData, From: string) => {
      const End = new Date(Date.parse(From) + 1_800_000).toISOString();
      const wish = { ResourceId: site['uncounted'], Subject: 'Times', Start: From, End };
      const errors = (await who.post('/bookings', wish)).body['Errors'] as { Code: string }[] | undefined;
      return errors?.map(({ Code }) => Code) ?? [];
    };
    for (const [From, code] of [
      [fromNow(threeYears + 1), 'InvalidTime'],
      ['1999-12-31T23:00:00Z', 'InvalidTime'],
      [fromNow(-31), 'InPast'],
    ] as const) {
      expect(await find({ From })).toEqual([]);
      expect(await codes(user, From)).toContain(code);
    }
    // The most distant start, and half an hour that is on.
    for (const From of [fromNow(threeYears - 5), fromNow(-20)]) {
      expect(await find({ From, Search: 'uncounted' })).toHaveLength(1);
      expect(await codes(user, From)).toEqual([]);
    }
    const past = '2020-03-02T09:00:00Z';
    const asAdmin = await admin.get(`/availability/free?From=${past}&Search=uncounted`);
    expect([asAdmin.body['Items'], await codes(admin, past)]).toEqual([[expect.anything()], []]);
  });

  test('what it finds is what availability calls free', async () => {
    const found = (await user.get(`/availability/free?LocationId=${site['LocationId']}&From=${at}&Minutes=1`)).body;
    const window = `From=${at}&To=${ahead('2027-03-02T08:00:00Z')}&LocationId=${site['LocationId']}`;
    const items = (await user.get(`/availability?${window}`)).body['Items'] as {
      ResourceId: number;
      Free: { Start: string; End: string }[];
    }[];
    const expected = items.flatMap(({ ResourceId, Free: [first] }) =>
      first && Date.parse(first.Start) === Date.parse(at) ? [[ResourceId, first.End]] : [],
    );
    expect(expected.length).toBeGreaterThan(3);
    expect((found['Items'] as Free[]).map(({ ResourceId, FreeUntil }) => [ResourceId, FreeUntil]).sort()).toEqual(
      expected.sort(),
    );
  });

  test.each([
    'Minutes=0',
    'Minutes=1441',
    'From=soon',
    'Limit=0',
    'Limit=201',
    'SetupMinutes=-1',
    'Search=',
    'Search=...',
  ])('%s is refused', async (query) => {
    expect(await user.get(`/availability/free?${query}`)).toMatchObject({
      status: 400,
      body: { Errors: [{ Field: query.split('=')[0] }] },
    });
  });

  test('no display asks, and no tenant finds rooms of another', async () => {
    const display = masterData(service, await service.signIn(service.tenant, 'Display'));
    expect(await display.get('/availability/free')).toMatchObject({ status: 403 });
    const stranger = await makeTenant(service.context.db, { code: 'stranger' });
    const foreign = masterData(service, await service.signIn(stranger), 'stranger');
    const names = ((await foreign.get('/availability/free')).body['Items'] as Free[]).map((one) => one.ResourceName);
    expect(names).toEqual(['R001', 'R002']);
  });

  test('rooms that the caller may not book are not free; the longest booking of a policy counts, except for an Admin', async () => {
    const group = await admin.post('/groups', { Name: 'Staff' });
    const id = site['always'];
    const of = async (who: MasterData) =>
      ((await who.get(`/availability/free?From=${at}&Search=always`)).body['Items'] as Free[]).map((one) =>
        one.FreeUntil.slice(0, 16),
      );
    const put = async (rules: object) => {
      const policy = await admin.post('/policies', { Name: `Policy ${Math.random()}`, ...rules });
      expect(policy.status).toBe(201);
      await admin.patch(`/resources/${id}`, { PolicyId: policy.body['Id'] });
      return [await of(user), await of(admin)];
    };
    expect(await put({ MayBook: [group.body['Id']] })).toEqual([[], [ahead('2027-03-02T08:00')]]);
    expect(await put({ LongestMinutes: 90 })).toEqual([[ahead('2027-03-01T09:30')], [ahead('2027-03-02T08:00')]]);
    expect(await put({ LongestMinutes: 29 })).toEqual([[], [ahead('2027-03-02T08:00')]]);
    expect(await put({ AheadDays: 1 })).toEqual([[], [ahead('2027-03-02T08:00')]]);
  });

  test('a policy limits what is free as it limits bookings: by local dates, and by approval', async () => {
    const book = async (start: Date) => {
      const End = new Date(start.getTime() + 1_800_000).toISOString();
      return (
        await user.post('/bookings', {
          ResourceId: site['uncounted'],
          Subject: 'Limits',
          Start: start.toISOString(),
          End,
        })
      ).body['Errors'];
    };
    const isFree = async (From?: Date) => {
      const query = new URLSearchParams({ Search: 'uncounted', ...(From && { From: From.toISOString() }) });
      return ((await user.get(`/availability/free?${query}`)).body['Items'] as Free[]).length === 1;
    };
    const put = async (rules: object) => {
      const policy = await admin.post('/policies', { Name: `Limits ${Math.random()}`, ...rules });
      await admin.patch(`/resources/${site['uncounted']}`, { PolicyId: policy.body['Id'] });
    };
    await put({ AheadDays: 2 });
    // The last half hour of the second day, which is more than two days of 24 hours away, and the first of the third.
    const [last, next] = [endOfDay('Europe/Zurich', 2, 45), endOfDay('Europe/Zurich', 2, -15)];
    expect([await isFree(last), await isFree(next)]).toEqual([true, false]);
    expect([await book(last), await book(next)]).toEqual([
      undefined,
      [expect.objectContaining({ Code: 'TooFarAhead' })],
    ]);
    await put({ NeedsApproval: true });
    expect([await isFree(), await isFree(endOfDay('Europe/Zurich', 1, 600))]).toEqual([false, true]);
  });
});

test.each([0, 1])('more than 10,000 resources that match are 400, if %i of them is free', async (freeOnes) => {
  const LocationId = Number((await admin.post('/locations', { Name: `Huge ${freeOnes}`, TimeZone: 'UTC' })).body['Id']);
  // A policy by which only its group may book.
  const group = await admin.post('/groups', { Name: `Few ${freeOnes}` });
  const policy = await admin.post('/policies', { Name: `Few ${freeOnes}`, MayBook: [group.body['Id']] });
  expect(policy.status).toBe(201);
  await sql`
    insert into resource (mandator_id, location_id, name, policy_id)
    select ${service.tenant.mandatorId}, ${LocationId}, 'Huge ' || n, case when n > ${freeOnes} then ${policy.body['Id']}::int end
    from generate_series(1, 10001) as n`.execute(service.context.db);
  const answer = await user.get(`/availability/free?From=${at}&LocationId=${LocationId}`);
  expect([answer.status, answer.body['Code']]).toEqual([400, 'Malformed']);
});
