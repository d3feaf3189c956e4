/** Holiday calendars over REST and GraphQL, what they close, and how they are read at their addresses. */

import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { selectClosed } from '../../src/holidays/closed-bookings.ts';
import { readDueCalendars } from '../../src/holidays/service.ts';
import { applyTenantFile, readTenantFile } from '../../src/tenants/service.ts';
import { nextYear } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Nameserver, startNameserver } from '../_util/nameserver.ts';
import { type Plan, partsOf } from '../_util/plans.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

const ics = (...days: [from: string, to: string, name: string][]) =>
  [
    'BEGIN:VCALENDAR',
    ...days.flatMap(([from, to, name]) => [
      'BEGIN:VEVENT',
      `DTSTART:${from}`,
      `DTEND:${to}`,
      `SUMMARY:${name}`,
      'END:VEVENT',
    ]),
    'END:VCALENDAR',
  ].join('\r\n');
const christmas = ics([`${nextYear}1224`, `${nextYear}1227`, 'Weihnachten']);

let service: Service;
let admin: MasterData;
let user: MasterData;
let server: Server;
let origin: string;
let other: Awaited<ReturnType<typeof makeTenant>>;
let room: number;
let campus: number;
/** What the server of calendars answers, and what it was asked. */
let answer: {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** Answers `/hang.ics`, and everything where there is no body. */
  hold?: (response: ServerResponse) => void;
};
let asked: IncomingHttpHeaders[] = [];

let nameserver: Nameserver;
beforeAll(async () => {
  nameserver = await startNameserver({ 'inner.example': ['10.1.2.3'] });
  server = createServer(({ headers, url }, response) => {
    asked.push(headers);
    if (answer.hold && (url === '/hang.ics' || answer.body === undefined)) return void answer.hold(response);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  service = await startService({ Role: 'Web', Holidays__TrustedOrigins: origin }, ['Room', 'Open']);
  const { tenant, context } = service;
  other = await makeTenant(context.db, { code: 'other' });
  const OpeningRules = [{ Weekdays: [1, 2, 3, 4, 5, 6, 7], Opens: '08:00', Closes: '18:00' }];
  const OpeningExceptions = [
    { FromDate: `${nextYear}-12-25`, ToDate: `${nextYear}-12-25`, Periods: [{ Opens: '10:00', Closes: '12:00' }] },
  ];
  const Resources = [{ Name: 'Open', OpeningExceptions }];
  const Locations = [
    { Name: 'Campus', OpeningRules, Resources },
    { Name: 'Annex', TimeZone: 'UTC', OpeningRules },
  ];
  await applyTenantFile(context.db, readTenantFile({ Mandator: 'school', Locations }));
  room = tenant.resources[0]!.id;
  campus = tenant.locationId;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
  server.close();
  await nameserver.close();
});
beforeEach(async () => {
  asked = [];
  await service.context.db.deleteFrom('holiday_calendar').execute();
});

const open = async (name = 'Room') => {
  const hours = await user.get(`/opening-hours/all/${campus}?From=${nextYear}-12-23&To=${nextYear}-12-27`);
  const resources = hours.body['Resources'] as { ResourceName: string; Intervals: { LocalDate: string }[] }[];
  return resources
    .find(({ ResourceName }) => ResourceName === name)
    ?.Intervals.map(({ LocalDate }) => LocalDate.slice(8));
};
const make = async (members: object) => {
  const made = await admin.post('/holiday-calendars', { Name: 'Ferien', ...members });
  expect(made.status).toBe(201);
  return made.body as { Id: number; Version: number };
};
const remove = ({ Id }: { Id: number }) =>
  admin.send('DELETE', `/holiday-calendars/${Id}`, { headers: { 'If-Match': '*' } });
const readAll = () =>
  readDueCalendars(service.context.db, service.context.config.Holidays, new AbortController().signal);
const readAgain = async () => {
  await service.context.db
    .updateTable('holiday_calendar')
    .set({ due_at: sql<Date>`now()` })
    .where('url', 'is not', null)
    .execute();
  await readAll();
};
const holidays = async () =>
  (
    (await user.get('/holidays')).body['Items'] as { Name: string; FromDate: string; ToDate: string; Closes: boolean }[]
  ).map(({ Name, FromDate, ToDate, Closes }) => [Name, FromDate, ToDate, Closes]);

describe('a calendar that is sent', () => {
  test('closes its location on its days until it is removed; exceptions win', async () => {
    expect(await open()).toEqual(['23', '24', '25', '26', '27']);
    const made = await make({ LocationId: campus, Ics: christmas });
    expect(made).toMatchObject({
      LocationId: campus,
      Closes: true,
      Url: null,
      ReadAt: expect.any(String),
      Fault: null,
    });
    expect(await open()).toEqual(['23', '27']);
    expect(await open('Open')).toEqual(['23', '25', '27']);
    expect(await holidays()).toEqual([['Weihnachten', `${nextYear}-12-24`, `${nextYear}-12-26`, true]]);
    const booking = {
      ResourceId: room,
      Subject: 'Chor',
      Start: `${nextYear}-12-24T10:00:00Z`,
      End: `${nextYear}-12-24T11:00:00Z`,
    };
    expect((await user.post('/bookings', booking)).body).toMatchObject({ Errors: [{ Code: 'OutsideOpeningHours' }] });
    expect((await remove(made)).status).toBe(204);
    expect(await open()).toEqual(['23', '24', '25', '26', '27']);
    expect(await holidays()).toEqual([]);
  });

  test('says what was read, and what closes nothing, over both fronts; of an address once it has been read', async () => {
    const timed = `BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:${nextYear}1224T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR`;
    const Reading = { Events: 1, Holidays: 0, Unused: [{ Reason: 'TimeOfDay', Events: 1 }] };
    const { Id } = await make({ Ics: timed });
    expect((await admin.get(`/holiday-calendars/${Id}`)).body).toMatchObject({ Reading });
    const { data } = await admin.ask(
      '{ holidayCalendars { nodes { reading { events holidays unused { reason events } } } } }',
    );
    const unused = [{ reason: 'TimeOfDay', events: 1 }];
    expect(data).toEqual({ holidayCalendars: { nodes: [{ reading: { events: 1, holidays: 0, unused } }] } });
    const changed = await admin.patch(`/holiday-calendars/${Id}`, { Ics: christmas });
    expect(changed.body).toMatchObject({ Reading: { Events: 1, Holidays: 1, Unused: [] } });
    answer = { status: 200, body: timed };
    expect((await admin.patch(`/holiday-calendars/${Id}`, { Url: `${origin}/a.ics` })).body).toMatchObject({
      Reading: null,
    });
    await readAll();
    expect((await admin.get(`/holiday-calendars/${Id}`)).body).toMatchObject({ Reading });
  });

  test('of a tenant file says the same', async () => {
    const HolidayCalendars = [{ Name: 'Ferien', Holidays: [{ FromDate: '2020-01-01', ToDate: '2020-01-02' }] }];
    await applyTenantFile(service.context.db, readTenantFile({ Mandator: 'school', HolidayCalendars }));
    expect((await admin.get('/holiday-calendars')).body).toMatchObject({
      Items: [{ Reading: { Events: 1, Holidays: 1, Unused: [{ Reason: 'Past', Events: 1 }] } }],
    });
  });

  test('of another location closes nothing here, of all locations everything, and one that is shown nothing', async () => {
    const annex = ((await admin.get('/locations')).body['Items'] as { Id: number; Name: string }[]).find(
      ({ Name }) => Name === 'Annex',
    );
    const made = await make({ LocationId: annex!.Id, Ics: christmas });
    expect(await open()).toHaveLength(5);
    expect((await admin.patch(`/holiday-calendars/${made.Id}`, { LocationId: null }, 1)).status).toBe(200);
    expect(await open()).toEqual(['23', '27']);
    expect((await admin.patch(`/holiday-calendars/${made.Id}`, { Closes: false }, 2)).body).toMatchObject({
      Version: 3,
    });
    expect(await open()).toHaveLength(5);
    expect(await holidays()).toEqual([['Weihnachten', `${nextYear}-12-24`, `${nextYear}-12-26`, false]]);
  });

  test('is replaced as a whole by another file, in the version that was read', async () => {
    const { Id } = await make({ Ics: christmas });
    const changed = await admin.patch(
      `/holiday-calendars/${Id}`,
      { Ics: ics([`${nextYear}1223`, `${nextYear}1224`, 'Frei']) },
      1,
    );
    expect(changed.body).toMatchObject({ Version: 2 });
    expect(await holidays()).toEqual([['Frei', `${nextYear}-12-23`, `${nextYear}-12-23`, true]]);
    expect((await admin.patch(`/holiday-calendars/${Id}`, { Ics: christmas }, 1)).status).toBe(412);
    expect((await admin.send('DELETE', `/holiday-calendars/${Id}`)).status).toBe(428);
  });

  test('lists the bookings to come that lie on its days, but those on dates with an exception', async () => {
    const at = (ResourceId: number, day: string) =>
      user.post('/bookings', {
        ResourceId,
        Subject: `Chor ${day}`,
        Start: `${nextYear}-12-${day}T10:00:00Z`,
        End: `${nextYear}-12-${day}T10:30:00Z`,
      });
    const all = [await at(room, '23'), await at(room, '26'), await at(service.tenant.resources[1]!.id, '25')];
    expect(all.map(({ status }) => status)).toEqual([201, 201, 201]);
    const { Id } = await make({ Ics: christmas });
    const listed = (await admin.get(`/holiday-calendars/${Id}/bookings`)).body['Items'];
    expect(listed).toEqual([
      {
        BookingId: all[1]!.body['Id'],
        ResourceId: room,
        ResourceName: 'Room',
        Subject: 'Chor 26',
        Holiday: 'Weihnachten',
        Start: `${nextYear}-12-26T10:00:00.000Z`,
        End: `${nextYear}-12-26T10:30:00.000Z`,
      },
    ]);
    const graph = await admin.ask(
      'query ($id: ID!) { bookingsInHolidays(calendarId: $id) { nodes { subject holiday } } }',
      { id: Id },
    );
    expect(graph.data).toEqual({ bookingsInHolidays: { nodes: [{ subject: 'Chor 26', holiday: 'Weihnachten' }] } });
  });

  test('finds them by the index of the times of each resource', async () => {
    const { Id } = await make({ Ics: christmas });
    const query = selectClosed(
      service.tenant.mandatorId,
      { id: Number(Id), locationId: null },
      { limit: 50, after: undefined },
    );
    const plan = await service.context.db.transaction().execute(async (trx) => {
      await sql`set local enable_seqscan = off`.execute(trx);
      const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>`explain (format json) ${query}`.execute(trx);
      return partsOf(rows[0]!['QUERY PLAN'][0].Plan);
    });
    expect(plan.filter((part) => part['Relation Name'] === 'booking')).toMatchObject([
      {
        'Index Name': 'booking_no_overlap',
        'Index Cond': expect.stringMatching(/resource_id = .*occupied && closed\.times.*occupied && tstzrange/),
      },
    ]);
  });

  test.each<[string, object, string]>([
    ['neither a file nor an address', {}, '/Ics'],
    ['both', { Ics: christmas, Url: 'https://ferien.example/a.ics' }, '/Url'],
    ['no calendar', { Ics: 'hello' }, '/Ics'],
    ['a location of another tenant', { Ics: christmas, LocationId: 999_999 }, '/LocationId'],
    ['an address that is none', { Url: 'file:///etc/passwd' }, '/Url'],
    ['an address with a password', { Url: 'https://a:b@ferien.example/' }, '/Url'],
    ['a file without an end', { Ics: 'x'.repeat(500_001) }, '/Ics'],
  ])('422 for %s', async (_, members, pointer) => {
    const { status, body } = await admin.post('/holiday-calendars', { Name: 'Ferien', ...members });
    expect([status, (body['Errors'] as { Pointer: string }[]).map(({ Pointer }) => Pointer)]).toEqual([422, [pointer]]);
  });

  test('is for Admins, of its tenant alone, has a name of its own, and is audited', async () => {
    const { Id } = await make({ Ics: christmas });
    expect((await admin.post('/holiday-calendars', { Name: 'FERIEN', Ics: christmas })).status).toBe(409);
    for (const path of ['', `/${Id}`, `/${Id}/bookings`])
      expect((await user.get(`/holiday-calendars${path}`)).status).toBe(403);
    expect((await user.post('/holiday-calendars', { Name: 'Mine', Ics: christmas })).status).toBe(403);
    const stranger = masterData(service, await service.signIn(other, 'Admin'), 'other');
    for (const path of [`/${Id}`, `/${Id}/bookings`])
      expect((await stranger.get(`/holiday-calendars${path}`)).status).toBe(404);
    expect((await stranger.patch(`/holiday-calendars/${Id}`, { Closes: false })).status).toBe(404);
    expect((await stranger.get('/holidays')).body['Items']).toEqual([]);
    await admin.patch(`/holiday-calendars/${Id}`, { Closes: false });
    await remove({ Id });
    const acts = (await admin.get(`/audit?Subject=HolidayCalendar&SubjectId=${Id}`)).body['Items'] as {
      Action: string;
    }[];
    expect(acts.map(({ Action }) => Action)).toEqual([
      'delete holiday calendar',
      'change holiday calendar',
      'create holiday calendar',
    ]);
  });

  test('is one of at most 50 of its tenant', async () => {
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    await sql`insert into holiday_calendar (mandator_id, name, closes)
      select ${mandatorId}, 'No. ' || number, false from generate_series(1, 49) as number`.execute(db);
    const made = await Promise.all(
      ['a', 'b', 'c'].map((Name) => admin.post('/holiday-calendars', { Name, Ics: christmas })),
    );
    expect(made.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    expect(made.find(({ status }) => status === 409)?.body['detail']).toMatch('at most 50 holiday calendars');
  });

  test('is the same over GraphQL', async () => {
    const members = '... on HolidayCalendar { id restId name closes url fault version } ... on Problem { code }';
    const made = await admin.ask(
      `mutation ($input: CreateHolidayCalendarInput!) { made: createHolidayCalendar(input: $input) { ${members} } }`,
      {
        input: { name: 'Ferien', ics: christmas },
      },
    );
    const calendar = made.data?.['made'] as { id: string; restId: string; version: number };
    expect(calendar).toMatchObject({ name: 'Ferien', closes: true, url: null, fault: null, version: 1 });
    const listed = await admin.ask(
      '{ holidayCalendars { nodes { restId } } holidays { nodes { name fromDate toDate } } }',
    );
    expect(listed.data).toEqual({
      holidayCalendars: { nodes: [{ restId: calendar.restId }] },
      holidays: { nodes: [{ name: 'Weihnachten', fromDate: `${nextYear}-12-24`, toDate: `${nextYear}-12-26` }] },
    });
    const change = `mutation ($id: ID!, $version: Int!) { done: changeHolidayCalendar(id: $id, version: $version, input: { closes: false }) { ${members} } }`;
    expect((await admin.ask(change, { ...calendar })).data?.['done']).toMatchObject({ closes: false, version: 2 });
    expect((await admin.ask(change, { ...calendar })).data?.['done']).toEqual({ code: 'PreconditionFailed' });
    const gone = `mutation ($id: ID!, $version: Int!) { done: deleteHolidayCalendar(id: $id, version: $version) { ${members} } }`;
    expect((await user.ask(gone, { id: calendar.id, version: 2 })).data?.['done']).toEqual({ code: 'Forbidden' });
    expect((await admin.ask(gone, { id: calendar.id, version: 2 })).data?.['done']).toMatchObject({
      restId: calendar.restId,
    });
    expect(await holidays()).toEqual([]);
  });
});

describe('a calendar with an address', () => {
  test('is read by its ETag, keeps its holidays when a reading fails, and says why', async () => {
    answer = { status: 200, headers: { ETag: '"1"' }, body: christmas };
    const { Id } = await make({ Url: `${origin}/ferien.ics` });
    const shown = async () => (await admin.get(`/holiday-calendars/${Id}`)).body;
    expect(await shown()).toMatchObject({ ReadAt: null, Fault: null });
    await readAll();
    expect(await shown()).toMatchObject({ ReadAt: expect.any(String), Fault: null, Version: 1 });
    expect(await open()).toEqual(['23', '27']);
    await readAll();
    expect(asked).toHaveLength(1);

    answer = { status: 304 };
    await readAgain();
    expect(asked.at(-1)).toMatchObject({ 'if-none-match': '"1"' });
    expect(await shown()).toMatchObject({ Fault: null });

    const faults = [
      [{ status: 500 }, 'the server answers 500'],
      [
        { status: 302, headers: { Location: 'http://169.254.169.254/' } },
        'the server answers 302; give the address that it redirects to',
      ],
      [{ status: 200, body: 'hello' }, 'it is not a single VCALENDAR'],
      [{ status: 200, body: 'x'.repeat(2 ** 20 + 1) }, `${origin} answers with more than 1048576 bytes`],
      [
        { status: 200, hold: (response: ServerResponse) => void response.socket?.end('220 mail.example ESMTP\r\n') },
        'the server did not send a valid HTTP answer',
      ],
    ] as const;
    for (const [wrong, fault] of faults) {
      answer = wrong;
      await readAgain();
      expect(await shown()).toMatchObject({ Fault: fault, FaultAt: expect.any(String) });
      expect(await open()).toEqual(['23', '27']);
    }
    answer = { status: 200, body: ics([`${nextYear}1227`, `${nextYear}1228`, 'Frei']) };
    await readAgain();
    expect(await shown()).toMatchObject({ Fault: null, FaultAt: null });
    expect(await open()).toEqual(['23', '24', '25', '26']);
  });

  test.each([
    ['http://ferien.example/a.ics', 'http://ferien.example is not an https address'],
    ['https://127.0.0.1/a.ics', '127.0.0.1 is not a public address'],
    ['https://[::1]/a.ics', '::1 is not a public address'],
    ['https://localhost/a.ics', 'localhost is not a public address'],
    ['https://inner.example/a.ics', 'inner.example resolves to an address that is not public'],
  ])('%s is not asked', async (Url, fault) => {
    const { Id } = await make({ Url });
    await readAll();
    expect((await admin.get(`/holiday-calendars/${Id}`)).body).toMatchObject({ Fault: fault, ReadAt: null });
  });

  test('that ends a process is not read again at once; one that was only asked for is', async () => {
    const { db } = service.context;
    const { promise: isAsked, resolve: tell } = Promise.withResolvers<ServerResponse>();
    answer = { status: 200, hold: tell };
    const { Id } = await make({ Url: `${origin}/ferien.ics` });
    const isDueWithin = async (minutes: number) => {
      const soon = sql<boolean>`due_at < now() + make_interval(mins => ${minutes})`;
      const row = await db
        .selectFrom('holiday_calendar')
        .where('id', '=', Id)
        .select(soon.as('soon'))
        .executeTakeFirst();
      return row?.soon === true;
    };
    const release = await hold(db, (trx) => sql`lock table holiday in access exclusive mode`.execute(trx));
    const reading = readAll();
    const response = await isAsked;
    expect(await isDueWithin(2)).toBe(true);
    response.writeHead(200).end(christmas);
    // Its text is read when this is written, and stored once the table is free.
    await until(async () => !(await isDueWithin(60)));
    expect((await admin.get(`/holiday-calendars/${Id}`)).body).toMatchObject({ ReadAt: null });
    await release();
    await reading;
    expect((await admin.get(`/holiday-calendars/${Id}`)).body).toMatchObject({ ReadAt: expect.any(String) });
  });

  test('of a tenant whose server hangs holds no other tenant', async () => {
    const { db } = service.context;
    const held: ServerResponse[] = [];
    answer = { status: 200, body: christmas, hold: (response) => held.push(response) };
    for (const Name of ['a', 'b', 'c']) await make({ Name, Url: `${origin}/hang.ics` });
    await sql`insert into holiday_calendar (mandator_id, name, closes, url, due_at)
      values (${other.mandatorId}, 'theirs', true, ${`${origin}/ferien.ics`}, now())`.execute(db);
    const reading = readAll();
    const theirs = db.selectFrom('holiday').where('mandator_id', '=', other.mandatorId).selectAll();
    await until(async () => (await theirs.execute()).length > 0);
    expect(held).toHaveLength(1);
    answer = { status: 404 };
    held[0]?.writeHead(404).end();
    await reading;
  });

  test('is read by one of several workers', async () => {
    answer = { status: 200, body: christmas };
    await make({ Url: `${origin}/ferien.ics` });
    await Promise.all([readAll(), readAll(), readAll()]);
    expect(asked).toHaveLength(1);
  });
});

test.each(['From', 'To'])('a list of holidays with %s in the year 0 is 400', async (name) => {
  const answer = await user.get(`/holidays?${name}=0000-12-31`);
  expect([answer.status, answer.body['detail']]).toEqual([400, `${name}: must be 0001-01-01 or later.`]);
  expect((await user.get(`/holidays?${name}=0001-01-01`)).status).toBe(200);
});
