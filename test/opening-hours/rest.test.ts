import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { InvalidInput } from '../../src/errors.ts';
import * as tenants from '../../src/tenants/service.ts';
import { releaseClock, setClock } from '../_util/clock.ts';
import { makeTenant } from '../_util/factories.ts';
import { type Service, startService } from '../_util/service.ts';

type Interval = { LocalDate: string; Opens: string; Closes: string; Start: string; End: string } & {
  Source: string;
  ClockChange: boolean;
};
type Hours = {
  TimeZone: string;
  TimeZoneSource: string;
  From: string;
  To: string;
  Resources: { ResourceName: string; Weekly: object[]; Exceptions: object[]; Intervals: Interval[] }[];
};

let service: Service;
let other: Awaited<ReturnType<typeof makeTenant>>;
/** By name: `Campus` is in Berlin and has two rooms, the others have none. */
let locations: Record<string, number>;
/** The Admin lives in Berlin, the User in Tokyo. */
const tokens: Record<string, string> = {};
const rooms: Record<string, number> = {};

const everyDay = [1, 2, 3, 4, 5, 6, 7];
const daily = (Opens: string, Closes: string) => ({ Weekdays: everyDay, Opens, Closes });

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['Day', 'Night', 'Retired']);
  const { db } = service.context;
  const { tenant } = service;
  other = await makeTenant(db, { code: 'other', timeZone: 'Asia/Kathmandu' });
  const file = tenants.readTenantFile({
    Mandator: 'school',
    Name: 'School',
    Locations: [
      {
        Name: 'Campus',
        TimeZone: 'Europe/Berlin',
        OpeningRules: [daily('09:00', '18:00')],
        OpeningExceptions: [{ FromDate: '2026-12-24', ToDate: '2026-12-26', Closed: true, Reason: 'Xmas' }],
        Resources: [{ Name: 'Night', OpeningRules: [daily('22:00', '06:00')] }],
      },
      { Name: 'Tokyo', TimeZone: 'Asia/Tokyo' },
      { Name: 'Los Angeles', TimeZone: 'America/Los_Angeles' },
    ],
  });
  await tenants.applyTenantFile(db, file);
  await db.updateTable('resource').set({ active: false }).where('name', '=', 'Retired').execute();
  await db.updateTable('person').set({ time_zone: 'Asia/Tokyo' }).where('id', '=', tenant.person('User').id).execute();
  const found = await db
    .selectFrom('location')
    .where('mandator_id', '=', tenant.mandatorId)
    .select(['id', 'name'])
    .execute();
  locations = Object.fromEntries(found.map(({ id, name }) => [name, id]));
  for (const { id, name } of tenant.resources) rooms[name] = id;
  for (const role of ['Admin', 'User', 'Display'] as const) tokens[role] = await service.signIn(tenant, role);
});
afterAll(() => service.stop());
afterEach(releaseClock);

function call(path: string, init: RequestInit & { who?: string; token?: string } = {}): Promise<Response> {
  const { who = 'Admin', token = tokens[who], headers, ...rest } = init;
  return fetch(`${service.url}/school/api/v1.0/opening-hours${path}`, {
    ...rest,
    headers: { Authorization: `Bearer ${token}`, ...headers },
  });
}

const zoneOf = (location: string | number) => ({ 'X-timezone-locationId': String(location) });

async function read(query: string, init: Parameters<typeof call>[1] = {}): Promise<Hours> {
  const answer = await call(`/all/${locations['Campus']}${query}`, init);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Hours;
}

const intervalsOf = ({ Resources }: Hours, name: string) =>
  Resources.find(({ ResourceName }) => ResourceName === name)?.Intervals ?? [];
const withoutId = async (answer: Response) => {
  const { TraceId, instance, ...problem } = (await answer.json()) as Record<string, unknown>;
  expect([TraceId, instance]).not.toContain(undefined);
  return problem;
};

describe('GET opening-hours/all/{locationId}', () => {
  describe('200', () => {
    test('the record of contract 5.1', async () => {
      const { rules, exceptions } = await storedIds();
      const answer = await call(`/all/${locations['Campus']}?From=2026-12-23&To=2026-12-24`);
      const location = { LocationId: locations['Campus'], ResourceId: null };
      const weekly = { Weekdays: everyDay, ValidFrom: null, ValidTo: null };
      const holidays = {
        Id: exceptions[0],
        ...location,
        FromDate: '2026-12-24',
        ToDate: '2026-12-26',
        Closed: true,
        Periods: [],
        Reason: 'Xmas',
      };
      expect(await answer.json()).toEqual({
        LocationId: locations['Campus'],
        LocationName: 'Campus',
        TimeZone: 'Europe/Berlin',
        TimeZoneSource: 'Person',
        From: '2026-12-23',
        To: '2026-12-24',
        Resources: [
          {
            ResourceId: rooms['Day'],
            ResourceName: 'Day',
            Exceptions: [holidays],
            Weekly: [{ Id: rules[0], ...location, ...weekly, Opens: '09:00', Closes: '18:00' }],
            Intervals: [
              {
                LocalDate: '2026-12-23',
                Opens: '09:00',
                Closes: '18:00',
                Start: '2026-12-23T08:00:00.000Z',
                End: '2026-12-23T17:00:00.000Z',
                Source: 'Weekly',
                ClockChange: false,
              },
            ],
          },
          {
            ResourceId: rooms['Night'],
            ResourceName: 'Night',
            Exceptions: [holidays],
            Weekly: [
              {
                Id: rules[1],
                LocationId: locations['Campus'],
                ResourceId: rooms['Night'],
                ...weekly,
                Opens: '22:00',
                Closes: '06:00',
              },
            ],
            Intervals: [
              {
                LocalDate: '2026-12-23',
                Opens: '22:00',
                Closes: '06:00',
                // Closed also cuts the tail of the night before.
                Start: '2026-12-23T21:00:00.000Z',
                End: '2026-12-23T23:00:00.000Z',
                Source: 'Weekly',
                ClockChange: false,
              },
            ],
          },
        ],
      });
    });

    async function storedIds() {
      const { db } = service.context;
      const ids = async (table: 'opening_rule' | 'opening_exception') =>
        (
          await db
            .selectFrom(table)
            .where('mandator_id', '=', service.tenant.mandatorId)
            .select('id')
            .orderBy('id')
            .execute()
        ).map(({ id }) => id);
      return { rules: await ids('opening_rule'), exceptions: await ids('opening_exception') };
    }

    test.each([
      ['Campus', 'Day', '2026-03-28', '2026-03-28T08:00', '2026-03-28T17:00', false],
      ['Campus', 'Day', '2026-03-29', '2026-03-29T07:00', '2026-03-29T16:00', true],
      ['Campus', 'Day', '2026-10-24', '2026-10-24T07:00', '2026-10-24T16:00', false],
      ['Campus', 'Day', '2026-10-25', '2026-10-25T08:00', '2026-10-25T17:00', true],
      ['Campus', 'Night', '2026-03-28', '2026-03-28T21:00', '2026-03-29T04:00', true],
      ['Campus', 'Night', '2026-10-24', '2026-10-24T20:00', '2026-10-25T05:00', true],
      ['Tokyo', 'Day', '2026-03-30', '2026-03-30T00:00', '2026-03-30T09:00', false],
      ['Los Angeles', 'Day', '2026-03-30', '2026-03-30T16:00', '2026-03-31T01:00', false],
    ])('contract 5.1, the clocks of %s: %s on %s', async (location, room, date, start, end, clockChange) => {
      const headers = zoneOf(locations[location] ?? '');
      const hours = await read(`?From=${date}&To=${date}`, { headers });
      expect(intervalsOf(hours, room)).toEqual([
        expect.objectContaining({
          LocalDate: date,
          Start: `${start}:00.000Z`,
          End: `${end}:00.000Z`,
          ClockChange: clockChange,
        }),
      ]);
    });

    test('without the header each person gets the own zone', async () => {
      const days = '?From=2026-03-30&To=2026-03-30';
      const [admin, user] = [await read(days), await read(days, { who: 'User' })];
      expect([admin.TimeZone, admin.TimeZoneSource, intervalsOf(admin, 'Day')[0]?.Start]).toEqual([
        ...['Europe/Berlin', 'Person', '2026-03-30T07:00:00.000Z'],
      ]);
      expect([user.TimeZone, user.TimeZoneSource, intervalsOf(user, 'Day')[0]?.Start]).toEqual([
        ...['Asia/Tokyo', 'Person', '2026-03-30T00:00:00.000Z'],
      ]);
    });

    test('with the header persons of different zones get the same bytes', async () => {
      const headers = zoneOf(locations['Los Angeles'] ?? '');
      const days = `/all/${locations['Campus']}?From=2026-03-01&To=2026-12-31`;
      const answers = await Promise.all(['Admin', 'User'].map((who) => call(days, { who, headers })));
      const [admin, user] = await Promise.all(answers.map(async (answer) => await answer.text()));
      expect(user).toBe(admin);
      expect(JSON.parse(user ?? '')).toMatchObject({
        TimeZone: 'America/Los_Angeles',
        TimeZoneSource: 'Location',
      });
      expect(answers[0]?.headers.get('etag')).toBe(answers[1]?.headers.get('etag'));
    });

    test('today and six days of the zone used, when no dates are given', async () => {
      // Half past eleven at night in Berlin, next morning in Tokyo, still noon in Los Angeles.
      setClock(Date.UTC(2026, 9, 24, 21, 30));
      const token = await service.signIn(service.tenant, 'Admin');
      const datesOf = async (location: string, query = '') => {
        const { From, To } = await read(query, { token, headers: zoneOf(locations[location] ?? '') });
        return `${From} ${To}`;
      };
      expect(await datesOf('Campus')).toBe('2026-10-24 2026-10-30');
      expect(await datesOf('Tokyo')).toBe('2026-10-25 2026-10-31');
      expect(await datesOf('Los Angeles')).toBe('2026-10-24 2026-10-30');
      expect(await datesOf('Tokyo', '?From=2026-12-28')).toBe('2026-12-28 2027-01-03');
      expect(await datesOf('Tokyo', '?To=2026-10-25')).toBe('2026-10-25 2026-10-25');
    });

    test('366 days', async () => {
      const hours = await read('?From=2027-01-01&To=2028-01-01');
      expect(intervalsOf(hours, 'Day')).toHaveLength(366);
    });

    test('camel case, with the same values', async () => {
      const days = '?From=2026-12-20&To=2026-12-28';
      const camel = await call(`/all/${locations['Campus']}${days}`, {
        headers: { 'X-JsonPropertyFormat': 'camel' },
      });
      expect(await camel.text()).toBe(
        JSON.stringify(await read(days)).replaceAll(
          /"([A-Z])(\w*)":/g,
          (_, first, rest) => `"${first.toLowerCase()}${rest}":`,
        ),
      );
    });

    test('Vary names what the answer depends on; 304 for its ETag', async () => {
      const path = `/all/${locations['Campus']}?From=2026-03-28`;
      const answer = await call(path);
      const varies = answer.headers.get('vary')?.split(', ');
      expect(varies).toEqual(
        expect.arrayContaining(['Authorization', 'X-JsonPropertyFormat', 'X-timezone-locationId']),
      );
      const etag = answer.headers.get('etag') ?? '';
      expect((await call(path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
      const elsewhere = { ...zoneOf(locations['Tokyo'] ?? ''), 'If-None-Match': etag };
      expect((await call(path, { headers: elsewhere })).status).toBe(200);
    });

    test('a location without resources has none', async () => {
      expect(await (await call(`/all/${locations['Tokyo']}`)).json()).toMatchObject({ Resources: [] });
    });
  });

  test('400 with one body for every X-timezone-locationId that is none of this tenant', async () => {
    const ids = [other.locationId, 999_999, 0, -1, 'Tokyo', '1e0', '0x1', '2147483648', '9'.repeat(30), ''];
    const bodies = await Promise.all(
      ids.map(async (id) => {
        const answer = await call(`/all/${locations['Campus']}`, { headers: zoneOf(id) });
        expect([id, answer.status, answer.headers.get('vary')]).toEqual([
          ...[id, 400, expect.stringContaining('X-timezone-locationId')],
        ]);
        return await withoutId(answer);
      }),
    );
    for (const body of bodies) expect(body).toEqual(bodies[0]);
    expect(JSON.stringify(bodies)).not.toMatch(/Kathmandu|other/i);
  });

  test.each([
    ['From=2026-02-30'],
    ['From=2026-3-1'],
    ['From=now'],
    ['From=infinity'],
    ['From=2026-03-28T00:00:00Z'],
    ['From=%2B275760-09-13'],
    ['From=0000-01-01'],
    ['From=1899-12-31'],
    ['From=9999-12-31'],
    ['From=2026-03-28&To=2026-03-27'],
    ['From=2026-01-01&To=2027-01-02'],
    ['From=2026-01-01&From=2026-01-02'],
  ])('400 for ?%s', async (query) => {
    const answer = await call(`/all/${locations['Campus']}?${query}`);
    const { Errors } = (await answer.json()) as { Errors?: { Field: string }[] };
    expect([answer.status, Errors?.[0]?.Field]).toEqual([400, expect.stringMatching(/^(From|To|Until)$/)]);
  });

  test('404 for a person of role Display that is no device, as for a location that there is not', async () => {
    const answer = await withoutId(await call(`/all/${locations['Campus']}`, { who: 'Display' }));
    expect(answer).toEqual(await withoutId(await call('/all/999999')));
  });

  test("404 for another tenant's location as for one that there is not", async () => {
    const unknown = await withoutId(await call('/all/999999'));
    expect(unknown['status']).toBe(404);
    expect(await withoutId(await call(`/all/${other.locationId}`))).toEqual(unknown);
    for (const id of ['0', '-1', 'Campus', '1e0', '0x1', '2147483648', '9'.repeat(40)])
      expect((await call(`/all/${id}`)).status).toBe(404);
  });
});

type List = { ResourceId: number; Version: number; Items: Record<string, unknown>[] };

describe.each([
  ['rules', 'resource'],
  ['exceptions', 'resource'],
  ['rules', 'location'],
  ['exceptions', 'location'],
])('the opening %s of a %s', (kind, of) => {
  const rule = { Weekdays: [1, 2], Opens: '08:00', Closes: '24:00' };
  const wholeRule = { ...rule, ValidFrom: null, ValidTo: null };
  const exception = { FromDate: '2027-05-01', ToDate: '2027-05-02', Closed: true };
  const wholeException = { ...exception, Periods: [], Reason: null };
  const [item, whole] = kind === 'rules' ? [rule, wholeRule] : [exception, wholeException];
  const base = of === 'resource' ? '' : '/locations';
  const own = () =>
    of === 'resource'
      ? { LocationId: locations['Campus'], ResourceId: rooms['Day'] }
      : { LocationId: locations['Tokyo'], ResourceId: null };
  const ownId = () => own().ResourceId ?? own().LocationId;
  const address = () => `${base}/${ownId()}/${kind}`;

  const get = async () => (await (await call(address())).json()) as List;
  const put = (body: unknown, headers: Record<string, string> = { 'If-Match': '*' }, more: object = {}) =>
    call(address(), {
      method: 'PUT',
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', ...headers },
      ...more,
    });

  test('200: what is put replaces what was there, and has another version', async () => {
    const first = await put({ Items: [item] });
    expect(first.status).toBe(200);
    const list = (await first.json()) as List;
    expect(list).toEqual({
      ...own(),
      Version: list.Items[0]?.['Id'],
      Items: [{ Id: expect.any(Number), ...own(), ...whole }],
    });
    const read = await call(address());
    expect([read.headers.get('etag'), await read.json()]).toEqual([`"${list.Version}"`, list]);
    expect(first.headers.get('etag')).toBe(`"${list.Version}"`);

    const changed = await put({ Items: [] }, { 'If-Match': `"1", "${list.Version}"` });
    expect([changed.status, await changed.json()]).toEqual([...[200, { ...own(), Version: 0, Items: [] }]]);
  });

  test('200: what was answered may be sent back, in both spellings, and changes nothing', async () => {
    await put({ items: [item] });
    const list = await get();
    const again = (await (await put(list)).json()) as List;
    expect(again.Items[0]).toMatchObject(whole);
    expect(again.Version).toBe(list.Version);
  });

  test('412 for a version that is no longer there; nothing is changed', async () => {
    await put({ Items: [item] });
    const { Version } = await get();
    for (const tag of [`"${Version - 1}"`, `W/"${Version - 1}"`, '"abc"']) {
      const answer = await put({ Items: [] }, { 'If-Match': tag });
      expect([tag, answer.status]).toEqual([tag, 412]);
    }
    expect((await get()).Version).toBe(Version);
  });

  test('of changes at one time that are meant for one version one wins', async () => {
    await put({ Items: [item] });
    const { Version } = await get();
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const send = () => put({ Items: [] }, { 'If-Match': `"${Version}"` });
        let answer = await send();
        // Held by another one for more than a second, on a busy machine.
        while (answer.status === 503) answer = await send();
        return answer;
      }),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)]);
    expect((await get()).Items).toHaveLength(0);
  });

  test('428 without If-Match', async () => {
    expect((await put({ Items: [item] }, {})).status).toBe(428);
  });

  test('403 for anybody but an Admin', async () => {
    for (const who of ['User', 'Display']) {
      expect((await call(address(), { who })).status).toBe(403);
      expect((await put({ Items: [item] }, { 'If-Match': '*' }, { who })).status).toBe(403);
    }
  });

  test("404 for another tenant's as for one that there is not", async () => {
    const foreign = of === 'resource' ? other.resources[0]?.id : other.locationId;
    for (const init of [
      {},
      {
        method: 'PUT',
        body: JSON.stringify({ Items: [item] }),
        headers: { 'Content-Type': 'application/json', 'If-Match': '*' },
      },
    ]) {
      const unknown = await withoutId(await call(`${base}/999999/${kind}`, init));
      expect(unknown['status']).toBe(404);
      expect(await withoutId(await call(`${base}/${foreign}/${kind}`, init))).toEqual(unknown);
    }
  });

  test('who replaces them in which request is kept; a refused change is not', async () => {
    const { db } = service.context;
    const requestId = `of ${kind} of a ${of}`;
    await put({ Items: [] });
    await put({ Items: [item] }, { 'If-Match': '"1999999999"', 'X-Request-Id': requestId });
    await put({ Items: [item] }, { 'If-Match': '*', 'X-Request-Id': requestId });
    expect(
      await db
        .selectFrom('audit')
        .where('request_id', '=', requestId)
        .select(['person_id', 'action', 'subject_id'])
        .execute(),
    ).toEqual([
      {
        person_id: service.tenant.person('Admin').id,
        subject_id: ownId(),
        action: `replace opening ${kind}`,
      },
    ]);
  });

  test('a tenant file that changes them changes the version', async () => {
    const { db } = service.context;
    await put({ Items: [item] });
    const { Version } = await get();
    const hours = kind === 'rules' ? { OpeningRules: [daily('10:00', '11:00')] } : { OpeningExceptions: [] };
    const Locations =
      of === 'resource' ? [{ Name: 'Campus', Resources: [{ Name: 'Day', ...hours }] }] : [{ Name: 'Tokyo', ...hours }];
    const file = { Mandator: 'school', Locations };
    await tenants.applyTenantFile(db, tenants.readTenantFile(file));
    expect((await get()).Version).not.toBe(Version);
    expect((await put({ Items: [] }, { 'If-Match': `"${Version}"` })).status).toBe(412);
  });
});

describe('422, and a refusal in a tenant file, with every fault of', () => {
  type Faults = [path: string, code: string][];
  /** The faults of a list in a tenant file. */
  function faultsInFile(kind: string, items: unknown): Faults {
    const list = kind === 'rules' ? 'OpeningRules' : 'OpeningExceptions';
    const Resources = [{ Name: 'Day', [list]: items }];
    const file = { Mandator: 'file', Name: 'File', Locations: [{ Name: 'Campus', TimeZone: 'UTC', Resources }] };
    try {
      tenants.readTenantFile(file);
      return [];
    } catch (error) {
      const place = `/Locations/0/Resources/0/${list}`;
      return (error as InvalidInput).errors.map(({ pointer, code }) => [String(pointer).replace(place, ''), code]);
    }
  }
  const faultsOf = async (kind: string, items: unknown): Promise<Faults> => {
    const faults = await faultsOfPut(kind, items);
    expect(faultsInFile(kind, items)).toEqual(faults);
    return faults;
  };
  const faultsOfPut = async (kind: string, items: unknown): Promise<Faults> => {
    const answer = await call(`/${rooms['Day']}/${kind}`, {
      method: 'PUT',
      body: JSON.stringify({ Items: items }),
      headers: { 'Content-Type': 'application/json', 'If-Match': '*' },
    });
    if (answer.status === 200) return [];
    expect(answer.status).toBe(422);
    const { Errors } = (await answer.json()) as { Errors: { Pointer: string; Code: string }[] };
    return Errors.map(({ Pointer, Code }) => [Pointer.replace('/Items', ''), Code]);
  };
  const dateAt = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);
  const rule = (Opens: unknown, Closes: unknown, more: object = {}) => ({
    Weekdays: [1],
    Opens,
    Closes,
    ...more,
  });

  test.each<[string, unknown, Faults]>([
    [
      'closing at 24:00, at 00:00 and at the opening time',
      [rule('20:00', '24:00'), rule('20:00', '00:00', { Weekdays: [2] }), rule('09:00', '09:00', { Weekdays: [4] })],
      [],
    ],
    [
      'opening at 24:00, closing after it',
      [rule('24:00', '24:01')],
      [
        ['/0/Opens', 'InvalidValue'],
        ['/0/Closes', 'InvalidValue'],
      ],
    ],
    [
      '9:00, a number, seconds',
      [rule('9:00', 18), rule('09:00:00', '18:00')],
      [
        ['/0/Opens', 'InvalidValue'],
        ['/0/Closes', 'InvalidType'],
        ['/1/Opens', 'InvalidValue'],
      ],
    ],
    [
      'an offset',
      [rule('09:00Z', '18:00+01:00')],
      [
        ['/0/Opens', 'InvalidValue'],
        ['/0/Closes', 'InvalidValue'],
      ],
    ],
    [
      'weekdays',
      [
        rule('09:00', '10:00', { Weekdays: [0, 8, 1.5] }),
        rule('09:00', '10:00', { Weekdays: [] }),
        rule('09:00', '10:00', { Weekdays: [3, 3] }),
      ],
      [
        ['/0/Weekdays/0', 'InvalidValue'],
        ['/0/Weekdays/1', 'InvalidValue'],
        ['/0/Weekdays/2', 'InvalidType'],
        ['/1/Weekdays', 'InvalidValue'],
        ['/2/Weekdays', 'InvalidValue'],
      ],
    ],
    [
      'dates that are none',
      [rule('09:00', '10:00', { ValidFrom: '1899-12-31', ValidTo: '2026-02-30' })],
      [
        ['/0/ValidFrom', 'InvalidValue'],
        ['/0/ValidTo', 'InvalidValue'],
      ],
    ],
    [
      'ValidTo before ValidFrom',
      [rule('09:00', '10:00', { ValidFrom: '2026-02-02', ValidTo: '2026-02-01' })],
      [['/0/ValidTo', 'InvalidValue']],
    ],
    [
      'what is missing or not known',
      [{ Opens: '09:00', Colour: 1 }],
      [
        ['/0/Weekdays', 'MissingField'],
        ['/0/Closes', 'MissingField'],
        ['/0/Colour', 'UnknownField'],
      ],
    ],
    [
      'rules of a weekday that overlap',
      [rule('09:00', '12:00'), rule('11:59', '13:00'), rule('13:00', '14:00')],
      [['/1', 'OverlappingPeriods']],
    ],
    [
      'a night over the morning after',
      [rule('22:00', '06:00', { Weekdays: [7] }), rule('05:00', '08:00')],
      [['/1', 'OverlappingPeriods']],
    ],
    [
      'the same times at other times of the year',
      [rule('09:00', '12:00', { ValidTo: '2026-06-30' }), rule('10:00', '12:00', { ValidFrom: '2026-07-01' })],
      [],
    ],
    ['no list', 'none', [['', 'InvalidType']]],
    [
      '201 rules',
      Array.from({ length: 201 }, (_, day) => rule('09:00', '10:00', { ValidFrom: dateAt(day), ValidTo: dateAt(day) })),
      [['', 'InvalidValue']],
    ],
  ])('rules: %s', async (_name, items, faults) => {
    expect(await faultsOf('rules', items)).toEqual(faults);
  });

  const on = (FromDate: string, ToDate: string, ...times: [string, string][]) => ({
    FromDate,
    ToDate,
    Periods: times.map(([Opens, Closes]) => ({ Opens, Closes })),
  });
  test.each<[string, unknown, Faults]>([
    [
      'several for a date, of different lengths',
      [
        on('2026-05-01', '2026-05-31', ['09:00', '10:00']),
        { FromDate: '2026-05-01', ToDate: '2026-05-01', Closed: true },
      ],
      [],
    ],
    ['ToDate before FromDate', [on('2026-05-02', '2026-05-01', ['09:00', '10:00'])], [['/0/ToDate', 'InvalidValue']]],
    [
      'closed with periods, open without',
      [{ ...on('2026-05-01', '2026-05-01', ['09:00', '10:00']), Closed: true }, on('2026-05-01', '2026-05-01')],
      [
        ['/0/Periods', 'InvalidValue'],
        ['/1/Periods', 'InvalidValue'],
      ],
    ],
    [
      'periods that overlap',
      [on('2026-05-01', '2026-05-01', ['09:00', '12:00'], ['11:00', '13:00'])],
      [['/0/Periods/1', 'OverlappingPeriods']],
    ],
    [
      'a night and the morning of one date',
      [on('2026-05-01', '2026-05-01', ['22:00', '06:00'], ['05:00', '07:00'])],
      [],
    ],
    [
      'a night over the morning of the next date',
      [on('2026-05-01', '2026-05-02', ['22:00', '06:00'], ['05:00', '07:00'])],
      [['/0/Periods/1', 'OverlappingPeriods']],
    ],
    [
      'a period of 25',
      [on('2026-05-01', '2026-05-01', ...Array.from({ length: 25 }, () => ['09:00', '10:00'] as [string, string]))],
      [['/0/Periods', 'InvalidValue']],
    ],
    [
      'a reason of 501 characters',
      [{ FromDate: '2026-05-01', ToDate: '2026-05-01', Closed: true, Reason: 'x'.repeat(501) }],
      [['/0/Reason', 'InvalidValue']],
    ],
  ])('exceptions: %s', async (_name, items, faults) => {
    expect(await faultsOf('exceptions', items)).toEqual(faults);
  });
});

test.each([
  [
    'rules',
    { Items: [daily('09:00', '10:00'), daily('11:00', '13:00'), daily('12:00', '14:00')] },
    { Pointer: '/Items/2', OtherPointer: '/Items/1' },
  ],
  [
    'exceptions',
    {
      items: [
        { fromDate: '2026-05-01', toDate: '2026-05-01', closed: true },
        { fromDate: '2026-05-02', toDate: '2026-05-02', periods: Array(2).fill({ opens: '08:00', closes: '09:00' }) },
      ],
    },
    { Pointer: '/items/1/periods/1', OtherPointer: '/items/1/periods/0' },
  ],
])('422 for %s that overlap names both places, as the client spells them', async (kind, body, fault) => {
  const headers = { 'Content-Type': 'application/json', 'If-Match': '*' };
  const answer = await call(`/${rooms['Day']}/${kind}`, { method: 'PUT', body: JSON.stringify(body), headers });
  const { Errors } = (await answer.json()) as { Errors: object[] };
  expect({ status: answer.status, Errors }).toMatchObject({ status: 422, Errors: [fault] });
});

test('what is put for a location opens its rooms that have no hours themselves', async () => {
  const put = async (kind: string, Items: object[]) => {
    const init = { method: 'PUT', body: JSON.stringify({ Items }) };
    const headers = { 'Content-Type': 'application/json', 'If-Match': '*' };
    expect((await call(`/locations/${locations['Campus']}/${kind}`, { ...init, headers })).status).toBe(200);
  };
  const resource = `/${rooms['Day']}/rules`;
  const headers = { 'Content-Type': 'application/json', 'If-Match': '*' };
  await call(resource, { method: 'PUT', body: JSON.stringify({ Items: [] }), headers });
  await put('rules', [{ Weekdays: [2], Opens: '06:00', Closes: '07:00', ValidFrom: '2028-06-01' }]);
  await put('exceptions', [{ FromDate: '2028-06-13', ToDate: '2028-06-13', Closed: true }]);
  const hours = await read('?From=2028-06-01&To=2028-06-20');
  expect(intervalsOf(hours, 'Day').map(({ LocalDate }) => LocalDate)).toEqual(['2028-06-06', '2028-06-20']);
});

test('rules and exceptions that were put are what opens the room', async () => {
  const put = async (kind: string, items: object[]) => {
    const init = { method: 'PUT', body: JSON.stringify({ Items: items }) };
    const headers = { 'Content-Type': 'application/json', 'If-Match': '*' };
    expect((await call(`/${rooms['Day']}/${kind}`, { ...init, headers })).status).toBe(200);
  };
  await put('rules', [{ Weekdays: [1], Opens: '07:00', Closes: '08:00', ValidFrom: '2027-06-01' }]);
  await put('exceptions', [
    { FromDate: '2027-06-14', ToDate: '2027-06-14', Periods: [{ Opens: '20:00', Closes: '02:00' }] },
    { FromDate: '2027-06-15', ToDate: '2027-06-15', Closed: true },
  ]);
  const hours = await read('?From=2027-05-31&To=2027-06-14');
  expect(
    intervalsOf(hours, 'Day').map(({ Start, End, Source }) => [Start.slice(5, 16), End.slice(5, 16), Source]),
  ).toEqual([
    ['06-07T05:00', '06-07T06:00', 'Weekly'],
    ['06-14T18:00', '06-14T22:00', 'Exception'],
  ]);
});

test('of exceptions for a date the one of the fewest days applies, of equal ones the last in the list; equal times are 24 hours', async () => {
  const day = { FromDate: '2027-06-21', ToDate: '2027-06-21' };
  const open = (Opens: string, Closes: string) => ({ Periods: [{ Opens, Closes }] });
  const Items = [
    { ...day, Closed: true },
    { ...day, ...open('10:00', '10:00') },
    { FromDate: '2027-06-20', ToDate: '2027-06-21', ...open('06:00', '07:00') },
  ];
  const headers = { 'Content-Type': 'application/json', 'If-Match': '*' };
  const init = { method: 'PUT', body: JSON.stringify({ Items }), headers };
  expect((await call(`/${rooms['Day']}/exceptions`, init)).status).toBe(200);
  const hours = await read('?From=2027-06-20&To=2027-06-21');
  expect(intervalsOf(hours, 'Day').map(({ Start, End }) => [Start.slice(5, 16), End.slice(5, 16)])).toEqual([
    ['06-20T04:00', '06-20T05:00'],
    ['06-21T08:00', '06-22T08:00'],
  ]);
});
