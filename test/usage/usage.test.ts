import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { makeTenant } from '../_util/factories.ts';
import { times } from '../_util/long.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Use = {
  OpenMinutes: number;
  OccupiedMinutes: number;
  OccupancyPercent: number | null;
  OutsideMinutes: number;
  UnusedMinutes: number;
  Bookings: number;
  NoShows: number;
  ReleasedEarly: number;
};
type Item = { ResourceId: number; ResourceName: string; Weekday: number; Hour: number; Week: string; Use: Use };

let service: Service;
let admin: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(() => service.stop());

let made = 0;
/** A location with rooms of its own. @param hours the opening hours of every day; always open when left out */
async function makeSite(TimeZone: string, count = 1, hours?: [string, string], Weekdays = [1, 2, 3, 4, 5, 6, 7]) {
  const LocationId = Number((await admin.post('/locations', { Name: `Site ${++made}`, TimeZone })).body['Id']);
  const ids: number[] = [];
  for (let index = 0; index < count; index++)
    ids.push(Number((await admin.post('/resources', { LocationId, Name: `Room ${index}` })).body['Id']));
  if (hours)
    await sql`
      insert into opening_rule (mandator_id, location_id, weekdays, opens, closes)
      values (${service.tenant.mandatorId}, ${LocationId}, ${Weekdays}::smallint[], ${hours[0]}, ${hours[1]})`.execute(
      service.context.db,
    );
  return { LocationId, ids: ids as [number, ...number[]] };
}

type Stored = {
  /** What it occupies, setup and teardown included. */
  from: Date | string;
  to: Date | string;
  kind?: 'Booking' | 'Block';
  status?: 'Confirmed' | 'Tentative' | 'Cancelled' | 'Released';
  setup?: number;
  checkInUntil?: Date | string | null;
  checkedInAt?: Date | string | null;
  releasedAt?: Date | string | null;
};

/** Straight into the table. */
async function book(resourceId: number, stored: Stored): Promise<void> {
  const { kind = 'Booking', status = 'Confirmed', setup = 0 } = stored;
  const { checkInUntil = null, checkedInAt = null, releasedAt = null } = stored;
  await sql`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, occupied, setup_minutes,
      check_in_from, check_in_until, checked_in_at, released_at)
    values (${service.tenant.mandatorId}, ${resourceId}, ${kind}, ${status}, 'Api', 'Secret',
      tstzrange(${stored.from}, ${stored.to}), ${setup}, ${checkInUntil}::timestamptz - interval '1 hour', ${checkInUntil},
      ${checkedInAt}, ${releasedAt})`.execute(service.context.db);
}

async function read(list: 'resources' | 'hours' | 'weeks', query: string): Promise<Item[]> {
  const answer = await admin.get(`/usage/${list}?${query}`);
  expect([answer.status, answer.body['NextCursor']]).toEqual([200, null]);
  return answer.body['Items'] as Item[];
}
const none = {
  OpenMinutes: 0,
  OccupiedMinutes: 0,
  OccupancyPercent: null,
  OutsideMinutes: 0,
  UnusedMinutes: 0,
  Bookings: 0,
  NoShows: 0,
  ReleasedEarly: 0,
};

describe('what counts', () => {
  const day = (clock: string) => `2027-06-07T${clock}Z`;
  const span = (from: string, to: string, more: Partial<Stored> = {}) => ({ from: day(from), to: day(to), ...more });
  const missed = { status: 'Released', checkInUntil: day('09:15'), releasedAt: day('09:16') } as const;

  test.each<[string, Stored[], Partial<Use>]>([
    ['an empty day', [], { OccupancyPercent: 0 }],
    ['a booking', [span('08:00', '10:00')], { OccupiedMinutes: 120, Bookings: 1, OccupancyPercent: 20 }],
    ['a tentative one', [span('08:00', '10:00', { status: 'Tentative' })], { OccupiedMinutes: 120, Bookings: 1 }],
    ['setup and teardown', [span('08:00', '10:00', { setup: 30 })], { OccupiedMinutes: 120, Bookings: 1 }],
    ['a cancelled one does not', [span('08:00', '10:00', { status: 'Cancelled' })], {}],
    [
      'a block makes it less open, and is no booking',
      [span('08:00', '10:00', { kind: 'Block' }), span('10:00', '11:00')],
      { OpenMinutes: 480, OccupiedMinutes: 60, Bookings: 1, OccupancyPercent: 13 },
    ],
    [
      'what lies outside of the opening hours',
      [span('04:00', '07:00')],
      { OccupiedMinutes: 60, OutsideMinutes: 120, Bookings: 1 },
    ],
    [
      'an early release: until then it is occupied, from then on unused',
      [span('08:00', '10:00', { status: 'Released', releasedAt: day('08:30') })],
      { OccupiedMinutes: 30, UnusedMinutes: 90, Bookings: 1, ReleasedEarly: 1 },
    ],
    [
      'one that was released before it began',
      [span('08:00', '10:00', { status: 'Released', releasedAt: day('07:00') })],
      { UnusedMinutes: 120, Bookings: 1, ReleasedEarly: 1 },
    ],
    [
      'a no-show: until its release it is occupied, and unused as a whole',
      [span('09:00', '11:00', missed)],
      { OccupiedMinutes: 16, UnusedMinutes: 120, Bookings: 1, NoShows: 1 },
    ],
    [
      'checked in, and released early',
      [span('09:00', '11:00', { ...missed, checkedInAt: day('09:05'), releasedAt: day('10:00') })],
      { OccupiedMinutes: 60, UnusedMinutes: 60, Bookings: 1, ReleasedEarly: 1 },
    ],
    [
      'time that was freed and booked again counts once',
      [span('09:00', '11:00', missed), span('09:10', '11:00')],
      { OccupiedMinutes: 120, UnusedMinutes: 120, Bookings: 2, NoShows: 1 },
    ],
    [
      'what crosses midnight counts on both days, as a booking on the first',
      [{ from: '2027-06-06T20:00Z', to: day('07:00') }],
      // The day begins at 22:00 of UTC.
      { OccupiedMinutes: 60, OutsideMinutes: 480 },
    ],
  ])('%s', async (_name, bookings, expected) => {
    const { LocationId, ids } = await makeSite('Europe/Berlin', 1, ['08:00', '18:00']);
    for (const booking of bookings) await book(ids[0], booking);
    const [item] = await read('resources', `From=2027-06-07&To=2027-06-07&LocationId=${LocationId}`);
    const percent = ((expected.OccupiedMinutes ?? 0) / (expected.OpenMinutes ?? 600)) * 100;
    expect(item!.Use).toEqual({ ...none, OpenMinutes: 600, OccupancyPercent: Math.round(percent), ...expected });
  });

  test('a release over the API keeps its instant, whatever changes the booking later', async () => {
    const { ids } = await makeSite('UTC');
    const user = masterData(service, await service.signIn());
    const [start, end] = [-30, 30].map((minutes) => new Date(Date.now() + minutes * 60_000).toISOString());
    const { Id } = (await user.post('/bookings', { ResourceId: ids[0], Subject: 'S', Start: start, End: end })).body;
    await user.post(`/bookings/${Id}/release`, {});
    await sql`update booking set changed_at = now() + interval '1 day' where id = ${Id}`.execute(service.context.db);
    const { rows } = await sql<{ isKept: boolean }>`
      select released_at between ${start} and ${end} as "isKept" from booking where id = ${Id}`.execute(
      service.context.db,
    );
    expect(rows).toEqual([{ isKept: true }]);
  });
});

describe('local hours and weeks', () => {
  const openHours = (items: Item[]) =>
    items
      .filter(({ Use: { OpenMinutes } }) => OpenMinutes > 0)
      .map(({ Weekday, Hour, Use }) => `${Weekday} ${Hour} ${Use.OpenMinutes}`);

  test('the hour that the clocks skip has no minutes, and the one that they show twice has both', async () => {
    const { LocationId } = await makeSite('Europe/Berlin', 1, ['01:00', '04:00']);
    const hoursOn = async (date: string) =>
      openHours(await read('hours', `From=${date}&To=${date}&LocationId=${LocationId}`));
    expect(await hoursOn('2027-03-28')).toEqual(['7 1 60', '7 3 60']);
    expect(await hoursOn('2027-10-31')).toEqual(['7 1 60', '7 2 120', '7 3 60']);
  });

  test('in a zone that is half an hour off', async () => {
    const { LocationId, ids } = await makeSite('Asia/Kolkata');
    await book(ids[0], { from: '2027-06-07T03:00Z', to: '2027-06-07T04:00Z' });
    const found = await read('hours', `From=2027-06-07&To=2027-06-07&LocationId=${LocationId}`);
    expect(found.length).toBe(168);
    expect(found.filter((one) => one.Use.OccupiedMinutes > 0)).toMatchObject([
      { Weekday: 1, Hour: 8, Use: { OpenMinutes: 60, OccupiedMinutes: 30, Bookings: 1 } },
      { Weekday: 1, Hour: 9, Use: { OpenMinutes: 60, OccupiedMinutes: 30, Bookings: 0 } },
    ]);
  });

  test('weeks begin on Mondays and end with the dates asked for; each location has its own', async () => {
    const one = await makeSite('Europe/Berlin');
    const other = await makeSite('America/New_York');
    await book(one.ids[0], { from: '2027-06-06T21:00Z', to: '2027-06-06T23:00Z' });
    const found = await read('weeks', `From=2027-06-05&To=2027-06-07&ResourceIds=${one.ids[0]},${other.ids[0]}`);
    const weeks = found.map(({ Week, Use }) => [Week, Use.OpenMinutes, Use.OccupiedMinutes, Use.Bookings]);
    expect(weeks).toEqual([
      ...[
        ['2027-05-31', 2_880, 60, 1],
        ['2027-06-07', 1_440, 60, 0],
      ],
      ...[
        ['2027-05-31', 2_880, 0, 0],
        ['2027-06-07', 1_440, 0, 0],
      ],
    ]);
  });
});

/** A minute as the clocks of a zone show it, without the zones of the service. */
function clockOf(timeZone: string) {
  const clock = new Intl.DateTimeFormat('en-GB', {
    ...({ timeZone, year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const),
    ...({ weekday: 'short', hourCycle: 'h23' } as const),
  });
  return (at: number) => {
    const parts = Object.fromEntries(clock.formatToParts(at).map(({ type, value }) => [type, value]));
    const weekday = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].indexOf(parts['weekday'] ?? '') + 1;
    const date = `${parts['year']}-${parts['month']}-${parts['day']}`;
    const monday = new Date(Date.parse(`${date}T00:00Z`) - (weekday - 1) * 86_400_000).toISOString().slice(0, 10);
    return { date, weekday, monday, hour: Number(parts['hour']), clock: `${parts['hour']}:${parts['minute']}` };
  };
}

const minute = 60_000;
type Made = { from: number; length: number; kind: number; fate: number; freed: number; checks: boolean; isIn: boolean };

/** From a plan of gaps and lengths in minutes: bookings one after the other. */
function lay(
  start: number,
  plan: readonly Made[],
): (Stored & { begins: number; ends: number; freed: number | null; missed: boolean })[] {
  let at = start;
  return plan.map(({ from, length, kind, fate, freed, checks, isIn }) => {
    const begins = at + from * minute;
    const ends = begins + length * minute;
    // A cancelled one is in nobody's way.
    if (fate !== 2) at = ends;
    const status = (['Confirmed', 'Tentative', 'Cancelled', 'Released', 'Released'] as const)[fate] ?? 'Confirmed';
    const left = status === 'Released' ? Math.min(begins + freed * minute, ends) : null;
    const until = checks ? begins + 15 * minute : null;
    const checkedIn = checks && isIn ? begins : null;
    return {
      begins,
      ends,
      freed: left,
      status,
      kind: kind === 0 ? 'Block' : 'Booking',
      from: new Date(begins),
      to: new Date(ends),
      checkInUntil: until === null ? null : new Date(until),
      checkedInAt: checkedIn === null ? null : new Date(checkedIn),
      releasedAt: left === null ? null : new Date(left),
      missed: left !== null && until !== null && checkedIn === null && until <= left,
    };
  });
}

const plans = fc.array(
  fc.record({
    from: fc.integer({ min: 0, max: 900 }),
    length: fc.integer({ min: 1, max: 1_440 }),
    kind: fc.nat(5),
    fate: fc.nat(5),
    freed: fc.integer({ min: 0, max: 600 }),
    checks: fc.boolean(),
    isIn: fc.boolean(),
  }),
  { maxLength: 12 },
);

test('they are what counting minute by minute gives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'),
      fc.constantFrom('2027-03-13', '2027-03-27', '2027-04-03', '2027-10-02', '2027-10-30', '2027-11-06'),
      fc.integer({ min: 1, max: 9 }),
      fc.option(fc.constantFrom<[string, string]>(['07:30', '18:00'], ['00:00', '24:00'], ['09:00', '12:15']), {
        nil: undefined,
      }),
      fc.tuple(plans, plans),
      async (timeZone, From, days, hours, wanted) => {
        const weekdays = [1, 2, 3, 5, 7];
        const { LocationId, ids } = await makeSite(timeZone, 2, hours, weekdays);
        const start = Date.parse(`${From}T00:00Z`);
        const rooms = wanted.map((plan) => lay(start - 600 * minute, plan));
        for (const [index, bookings] of rooms.entries())
          for (const booking of bookings) await book(ids[index] as number, booking);
        const To = new Date(start + (days - 1) * 86_400_000).toISOString().slice(0, 10);

        type Tally = Omit<Use, 'OccupancyPercent'>;
        const tallies = new Map<string, Tally>();
        const add = (keys: string[], member: keyof Tally) => {
          for (const key of keys) {
            const tally = tallies.get(key) ?? (({ OccupancyPercent: _, ...zeros }) => zeros)(none);
            tally[member]++;
            tallies.set(key, tally);
          }
        };
        const local = clockOf(timeZone);
        for (let at = start - 1_440 * minute; at < start + (days + 1) * 1_440 * minute; at += minute) {
          const { date, weekday, monday, hour, clock } = local(at);
          if (date < From || date > To) continue;
          const isOpen = !hours || (weekdays.includes(weekday) && hours[0] <= clock && clock < hours[1]);
          for (const [index, bookings] of rooms.entries()) {
            const keys = [`room ${ids[index]}`, `hour ${weekday} ${hour}`, `week ${monday}`];
            const here = bookings.filter(
              ({ begins, ends, status }) => status !== 'Cancelled' && begins <= at && at < ends,
            );
            const held = here.filter(({ freed }) => freed === null || at < freed);
            const open = isOpen && !held.some(({ kind }) => kind === 'Block');
            const isHeld = held.some(({ kind }) => kind !== 'Block');
            if (open) add(keys, 'OpenMinutes');
            if (isHeld) add(keys, open ? 'OccupiedMinutes' : 'OutsideMinutes');
            for (const { kind, freed, missed, begins, ends } of here) {
              if (kind === 'Block') continue;
              if (missed || (freed !== null && at >= freed)) add(keys, 'UnusedMinutes');
              if (begins !== at) continue;
              add(keys, 'Bookings');
              if (missed) add(keys, 'NoShows');
              else if (freed !== null && freed < ends) add(keys, 'ReleasedEarly');
            }
          }
        }
        const query = `From=${From}&To=${To}&LocationId=${LocationId}`;
        const lists = await Promise.all((['resources', 'hours', 'weeks'] as const).map((list) => read(list, query)));
        const found = lists.flat().flatMap((item): [string, Tally][] => {
          const key = item.ResourceId
            ? `room ${item.ResourceId}`
            : item.Week
              ? `week ${item.Week}`
              : `hour ${item.Weekday} ${item.Hour}`;
          const { OccupancyPercent: _, ...tally } = item.Use;
          return Object.values(tally).some((value) => value > 0) ? [[key, tally]] : [];
        });
        expect(new Map(found.sort())).toEqual(new Map([...tallies].sort()));
      },
    ),
    { numRuns: times(6, 150) },
  );
});

describe('who may ask, and for what', () => {
  const week = 'From=2027-06-07&To=2027-06-13';

  test('GraphQL gives the same', async () => {
    const { LocationId, ids } = await makeSite('Europe/Berlin', 1, ['08:00', '18:00']);
    await book(ids[0], { from: '2027-06-07T08:00Z', to: '2027-06-07T09:30Z' });
    const lower = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(lower)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(
              Object.entries(value).map(([name, one]) => [
                name.charAt(0).toLowerCase() + name.slice(1),
                name.endsWith('Id') ? String(one) : lower(one),
              ]),
            )
          : value;
    const lists = await Promise.all(
      (['resources', 'hours', 'weeks'] as const).map((list) => read(list, `${week}&LocationId=${LocationId}`)),
    );
    const use = `use { openMinutes occupiedMinutes occupancyPercent outsideMinutes unusedMinutes bookings noShows releasedEarly }`;
    const { data } = await admin.ask(
      `query ($input: UsageInput!) { usage(input: $input) {
        resources { resourceId resourceName locationId ${use} } hours { weekday hour ${use} }
        weeks { locationId locationName week ${use} } } }`,
      { input: { from: '2027-06-07', to: '2027-06-13', locationId: LocationId } },
    );
    const [resources, hours, weeks] = lists.map(lower);
    expect(data).toEqual({ usage: { resources, hours, weeks } });
  });

  test.each([
    ['From=2027-06-07', 'To'],
    ['From=2027-06-07&To=2027-06-06', 'To'],
    ['From=2027-06-07&To=2028-06-07', 'To'],
    ['From=2027-06-31&To=2027-07-01', 'From'],
    ['From=1899-12-31&To=1900-01-02', 'From'],
    [`${week}&LocationId=x`, 'LocationId'],
    [`${week}&Search=...`, 'Search'],
  ])('%s is refused', async (query, Field) => {
    for (const list of ['resources', 'hours', 'weeks'])
      expect(await admin.get(`/usage/${list}?${query}`)).toMatchObject({ status: 400, body: { Errors: [{ Field }] } });
  });

  test('more than 500 resources, or 30,000 days of resources, are too many', async () => {
    const { mandatorId } = service.tenant;
    const { LocationId } = await makeSite('UTC', 0);
    const fill = (count: number) =>
      sql`
      insert into resource (mandator_id, location_id, name)
      select ${mandatorId}, ${LocationId}, gen_random_uuid()::text from generate_series(1, ${count})`.execute(
        service.context.db,
      );
    await fill(500);
    const ask = (to: string) => admin.get(`/usage/resources?From=2027-01-01&To=${to}&LocationId=${LocationId}`);
    expect((await ask('2027-03-01')).status).toBe(200);
    expect(await ask('2027-03-02')).toMatchObject({ status: 400, body: { Errors: [{ Field: 'To' }] } });
    await fill(1);
    expect(await ask('2027-01-01')).toMatchObject({ status: 400, body: { Errors: [{ Code: 'LimitExceeded' }] } });
  });

  test('a retired resource is counted where it is named', async () => {
    const { LocationId, ids } = await makeSite('UTC');
    await admin.patch(`/resources/${ids[0]}`, { Active: false });
    expect(await read('resources', `${week}&LocationId=${LocationId}`)).toEqual([]);
    expect(await read('resources', `${week}&ResourceIds=${ids[0]}`)).toHaveLength(1);
    const hours = await read('hours', `${week}&LocationId=${LocationId}`);
    expect(hours.map(({ Use }) => Use)).toEqual(Array(168).fill(none));
  });

  test('others than Admins are refused, and no tenant reads of another', async () => {
    const user = masterData(service, await service.signIn());
    const query = `query { usage(input: { from: "2027-06-07", to: "2027-06-08" }) { hours { hour } } }`;
    expect(await user.get(`/usage/hours?${week}`)).toMatchObject({ status: 403 });
    expect((await user.ask(query)).errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    const { ids } = await makeSite('UTC');
    const stranger = await makeTenant(service.context.db, { code: 'stranger' });
    const foreign = masterData(service, await service.signIn(stranger, 'Admin'), 'stranger');
    expect((await foreign.get(`/usage/resources?${week}&ResourceIds=${ids[0]}`)).body['Items']).toEqual([]);
  });
});
