import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import ICAL from 'ical.js';
import { sql } from 'kysely';
import nodeIcal, { type VEvent } from 'node-ical';
import { hashForFeed, listForFeed } from '../../src/bookings/service.ts';
import type { Viewer } from '../../src/context.ts';
import { LimitExceeded } from '../../src/errors.ts';
import { openLargeCalendars } from '../../src/flow/large-answers.ts';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { makeTenant } from '../_util/factories.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { pepper } from '../_util/pepper.ts';
import { until } from '../_util/process.ts';
import { longWindow, type Service, startService, testConfig } from '../_util/service.ts';
import { tokenFor } from '../_util/token.ts';

type Tree = Record<string, unknown>;

let service: Service;
let admin: MasterData;
let user: MasterData;
let other: MasterData;
let display: MasterData;
let otherId: number;

/** A further person of the tenant, with a credential. */
async function addUser(name: string): Promise<{ id: number; caller: MasterData }> {
  const { context, tenant, url } = service;
  const { mandatorId } = tenant;
  const { id } = await context.db
    .insertInto('person')
    .values({
      mandator_id: mandatorId,
      name,
      email: `${name.replaceAll(/\W/g, '').toLowerCase()}@x.example`,
      time_zone: 'Europe/Berlin',
      role: 'User',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const { pin } = await createPin(context.db, pepper, { mandatorId, personId: id });
  return { id, caller: masterData(service, await tokenFor(url, pin)) };
}

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const { tenant } = service;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  display = masterData(service, await service.signIn(tenant, 'Display'));
  ({ id: otherId, caller: other } = await addUser('O. "Quote"; Tester, Ü^n'));
});
afterAll(() => service.stop());

let made = 0;
async function makeRoom(Name = `Room ${++made}`): Promise<number> {
  const { locationId } = service.tenant;
  return (await admin.post('/resources', { LocationId: locationId, Name })).body['Id'] as number;
}

async function makeToken(resourceId: number, caller = user): Promise<{ Id: number; Token: string; Url: string }> {
  const answer = await caller.post(`/resources/${resourceId}/calendar-tokens`, {});
  expect(answer.status).toBe(201);
  return answer.body as { Id: number; Token: string; Url: string };
}

/** At 08:00 UTC so many days from today. */
const inDays = (days: number, minutes = 0) => new Date(new Date().setUTCHours(8, minutes, 0, 0) + days * 86_400_000);

type Row = {
  subject: string | null;
  description: string;
  start: Date;
  end: Date;
  status: string;
  isPrivate: boolean;
  organizerId: number;
  seriesId: number;
  setup: number;
  teardown: number;
  version: number;
};

async function book(resourceId: number, row: Partial<Row> = {}): Promise<number> {
  const { start = inDays(1), setup = 0, teardown = 0 } = row;
  const end = row.end ?? new Date(start.getTime() + 3_600_000);
  const { rows } = await sql<{ id: number }>`
    insert into booking (mandator_id, resource_id, kind, status, origin, subject, description, is_private, occupied,
      setup_minutes, teardown_minutes, organizer_id, created_by, series_id, version, created_at, changed_at)
    values (${service.tenant.mandatorId}, ${resourceId}, 'Booking', ${row.status ?? 'Confirmed'}, 'Api',
      ${row.subject === undefined ? 'Sitzung' : row.subject}, ${row.description ?? null}, ${row.isPrivate ?? false},
      tstzrange(${start}::timestamptz - make_interval(mins => ${setup}), ${end}::timestamptz + make_interval(mins => ${teardown})),
      ${setup}, ${teardown}, ${row.organizerId ?? null}, ${row.organizerId ?? null}, ${row.seriesId ?? null},
      ${row.version ?? 1}, '2026-01-02T03:04:05Z', '2026-02-03T04:05:06Z')
    returning id`.execute(service.context.db);
  return rows[0]!.id;
}

const uidOf = async (id: number) => {
  const { uid } = await service.context.db
    .selectFrom('mandator')
    .where('id', '=', service.tenant.mandatorId)
    .select('uid')
    .executeTakeFirstOrThrow();
  return `booking-${id}@${uid}`;
};

/** The text and the ETag of a feed, for a client that knows it by an ETag. */
async function readKnown(url: string, etag = ''): Promise<[text: string, etag: string]> {
  const answer = await fetch(url, { headers: { 'If-None-Match': etag } });
  return [await answer.text(), answer.headers.get('etag') ?? ''];
}

const texts = ['uid', 'summary', 'description', 'location', 'status', 'class', 'transp', 'sequence'] as const;

/** The events by their UIDs as ical.js reads them, which throws where it is strict. */
function readWithIcalJs(text: string): Map<string, Tree> {
  const calendar = new ICAL.Component(ICAL.parse(text) as unknown[]);
  return new Map(
    calendar.getAllSubcomponents('vevent').map((event) => {
      const organizer = event.getFirstProperty('organizer');
      const values = Object.fromEntries(texts.map((name) => [name, event.getFirstPropertyValue(name) ?? null]));
      const instants = Object.fromEntries(
        ['dtstart', 'dtend', 'dtstamp', 'created', 'last-modified'].map((name) => [
          name,
          (event.getFirstPropertyValue(name) as ICAL.Time).toJSDate(),
        ]),
      );
      const by = organizer && [organizer.getFirstParameter('cn'), organizer.getFirstValue()];
      return [String(values['uid']), { ...values, ...instants, organizer: by }];
    }),
  );
}

/** The same with node-ical. */
function readWithNodeIcal(text: string): Map<string, Tree> {
  const events = Object.values(nodeIcal.sync.parseICS(text)).filter((one) => one?.type === 'VEVENT') as VEvent[];
  return new Map(
    events.map((event) => {
      const { organizer } = event as unknown as { organizer?: { params: { CN: string }; val: string } };
      const values = Object.fromEntries(
        texts.map((name) => [name, (event as unknown as Tree)[name === 'transp' ? 'transparency' : name] ?? null]),
      );
      return [
        event.uid,
        {
          ...values,
          sequence: Number(values['sequence']),
          dtstart: new Date(event.start),
          dtend: new Date(event.end!),
          dtstamp: new Date(event.dtstamp),
          created: new Date(event.created!),
          'last-modified': new Date(event.lastmodified!),
          organizer: organizer ? [organizer.params.CN.replace(/^"|"$/g, ''), organizer.val] : undefined,
        },
      ];
    }),
  );
}

/** The events of a feed, read by both parsers alike and without a warning. */
async function readEvents(url: string): Promise<{ text: string; events: Map<string, Tree> }> {
  const answer = await fetch(url);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/calendar; charset=utf-8']);
  const text = await answer.text();
  const said = [
    ...(['log', 'info', 'warn', 'error'] as const).map((name) =>
      jest.spyOn(console, name).mockImplementation(() => {}),
    ),
    jest.spyOn(process, 'emitWarning').mockImplementation(() => {}),
  ];
  const events = readWithIcalJs(text);
  const twin = readWithNodeIcal(text);
  for (const spy of said) {
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  }
  expect([...twin.keys()]).toEqual([...events.keys()]);
  for (const [uid, event] of events) {
    const { organizer, ...values } = event;
    const { organizer: twinOrganizer, ...twinValues } = twin.get(uid)!;
    expect(twinValues).toEqual(values);
    // Carets of RFC 6868 are left to the reader.
    expect((twinOrganizer as string[] | undefined)?.[1]).toEqual((organizer as string[] | undefined)?.[1]);
  }
  return { text, events };
}

describe('GET resources/{id}/calendar.ics', () => {
  test('each booking is an event of its own in UTC, those of a series and cancelled ones too', async () => {
    const room = await makeRoom('HS 7, Nord; "Aula"');
    const { Url } = await makeToken(room);
    const { id: series } = await service.context.db
      .insertInto('booking_series')
      .values({ mandator_id: service.tenant.mandatorId, recurrence_rule: 'FREQ=DAILY;COUNT=3' })
      .returning('id')
      .executeTakeFirstOrThrow();
    const ofSeries: number[] = [];
    for (const day of [1, 2, 3])
      ofSeries.push(
        await book(room, {
          start: inDays(day),
          seriesId: series,
          status: day === 2 ? 'Cancelled' : 'Confirmed',
          organizerId: otherId,
          version: day,
        }),
      );
    const tentative = await book(room, { start: inDays(4), status: 'Tentative', setup: 15, teardown: 30 });
    const released = await book(room, { start: inDays(5), status: 'Released', subject: null });
    const { text, events } = await readEvents(Url);
    expect([...events.keys()]).toEqual(await Promise.all([...ofSeries, tentative, released].map((id) => uidOf(id))));
    const [first, second, , fourth, fifth] = [...events.values()];
    expect(first).toEqual({
      uid: await uidOf(ofSeries[0]!),
      summary: 'Sitzung',
      description: null,
      location: 'HS 7, Nord; "Aula"',
      status: 'CONFIRMED',
      class: 'PUBLIC',
      transp: 'OPAQUE',
      sequence: 0,
      dtstart: inDays(1),
      dtend: inDays(1, 60),
      dtstamp: new Date('2026-02-03T04:05:06Z'),
      created: new Date('2026-01-02T03:04:05Z'),
      'last-modified': new Date('2026-02-03T04:05:06Z'),
      organizer: ['O. "Quote"; Tester, Ü^n', 'mailto:oquotetestern@x.example'],
    });
    expect(second).toMatchObject({ status: 'CANCELLED', transp: 'TRANSPARENT', sequence: 1 });
    // Start and End, not what is occupied around them.
    expect(fourth).toMatchObject({
      status: 'TENTATIVE',
      dtstart: inDays(4),
      dtend: inDays(4, 60),
      description: 'Vorbereitung: 15 min\nNachbereitung: 30 min',
    });
    expect(fifth).toMatchObject({ status: 'CANCELLED', summary: 'Belegt' });
    expect(text).not.toContain('RRULE');
    for (const line of [
      ...['METHOD:PUBLISH', 'X-WR-CALNAME:HS 7\\, Nord\\; "Aula"'],
      ...['REFRESH-INTERVAL;VALUE=DURATION:PT15M', 'X-PUBLISHED-TTL:PT15M'],
    ])
      expect(text.split('\r\n')).toContain(line);
  });

  test('special characters come through; lines end in CRLF and are folded at 75 octets', async () => {
    const room = await makeRoom('Raum\r\nBEGIN:VEVENT');
    const { Url } = await makeToken(room);
    const nasty = 'Komma, Semikolon; Rückstrich \\ und "Zitat": 👩🏽‍🏫 – ß';
    const long = `${'Größe 🏫, '.repeat(60)}\nzweite Zeile\n\nvierte\tmit Tabulator`;
    await book(room, { subject: nasty, description: long });
    await book(room, { subject: 'Steuer\u0007zeichen\u001b', start: inDays(2), description: 'a\r\nb\rc' });
    const { text, events } = await readEvents(Url);
    const [first, second] = [...events.values()];
    expect(first).toMatchObject({ summary: nasty, description: long, location: 'Raum\nBEGIN:VEVENT' });
    expect(second).toMatchObject({ summary: 'Steuerzeichen', description: 'a\nb\nc' });
    expect(events.size).toBe(2);
    expect(text.endsWith('END:VCALENDAR\r\n')).toBe(true);
    for (const line of text.split('\r\n')) {
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
      expect(line).toMatch(/^[\t\P{Cc}]*$/u);
      expect(line.isWellFormed()).toBe(true);
    }
  });

  test('a backslash before an n stays one', async () => {
    const room = await makeRoom();
    await book(room, { subject: 'C:\\neu' });
    // node-ical takes it for a line break.
    const text = await (await fetch((await makeToken(room)).Url)).text();
    expect([...readWithIcalJs(text).values()]).toMatchObject([{ summary: 'C:\\neu' }]);
  });

  test('from 31 days ago to 366 days ahead, in whole days of UTC', async () => {
    const room = await makeRoom();
    const { Url } = await makeToken(room);
    const inside = [
      await book(room, { start: inDays(-32, 13 * 60), end: inDays(-31, -7 * 60) }),
      await book(room, { start: inDays(365) }),
    ];
    await book(room, { start: inDays(-32), end: inDays(-31, -8 * 60), status: 'Cancelled' });
    await book(room, { start: inDays(366, -8 * 60) });
    const { events } = await readEvents(Url);
    expect([...events.keys()]).toEqual(await Promise.all(inside.map((id) => uidOf(id))));
  });

  test('what is private is seen as who made the token may see it', async () => {
    const room = await makeRoom();
    await book(room, { isPrivate: true, subject: 'Geheim', description: 'Secret', organizerId: otherId });
    const seenBy = async (caller: MasterData) =>
      [...(await readEvents((await makeToken(room, caller)).Url)).events.values()][0];
    expect(await seenBy(user)).toMatchObject({
      summary: 'Belegt',
      description: null,
      class: 'PRIVATE',
      organizer: null,
    });
    for (const caller of [other, admin])
      expect(await seenBy(caller)).toMatchObject({
        summary: 'Geheim',
        description: 'Secret',
        class: 'PRIVATE',
        organizer: expect.anything(),
      });
  });

  test('the same bytes while nothing changes: ETag, 304, HEAD; private for caches', async () => {
    const room = await makeRoom();
    const { Url } = await makeToken(room);
    await book(room);
    const [first, again] = [await fetch(Url), await fetch(Url)];
    const etag = first.headers.get('etag') ?? '';
    expect(await again.text()).toBe(await first.text());
    expect(again.headers.get('etag')).toBe(etag);
    expect(first.headers.get('cache-control')).toMatch(/^private/);
    expect((await fetch(Url, { headers: { 'If-None-Match': etag } })).status).toBe(304);
    const head = await fetch(Url, { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
    await book(room, { start: inDays(2) });
    expect((await fetch(Url, { headers: { 'If-None-Match': etag } })).status).toBe(200);
  });

  test('another ETag for all that changes the bytes, and for nothing else', async () => {
    const room = await makeRoom();
    const { id, caller } = await addUser('Organizer');
    const { Url } = await makeToken(room, caller);
    const booking = await book(room, { organizerId: id });
    await book(room, { start: inDays(2), isPrivate: true, organizerId: otherId });
    const lesson = await book(room, { start: inDays(3) });
    await sql`update booking set kind = 'Lesson' where id = ${lesson}`.execute(service.context.db);
    await sql`
      with job as (
        insert into lesson_job (mandator_id, job_id, batch_id, created_by)
        values (${service.tenant.mandatorId}, 'J', gen_random_uuid(), ${id}) returning mandator_id, id
      )
      insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status)
      select job.mandator_id, job.id, 'L', booking.id, resource_id, lower(occupied), upper(occupied), 'Geplant'
      from job, booking where booking.id = ${lesson}`.execute(service.context.db);
    const read = async () => {
      const answer = await fetch(Url);
      return { etag: answer.headers.get('etag'), text: await answer.text() };
    };
    const changes = [
      sql`update booking set version = version + 1 where id = ${booking}`,
      sql`update booking set changed_at = changed_at + interval '1 second' where id = ${booking}`,
      sql`update booking set status = 'Released' where id = ${booking}`,
      sql`update person set name = 'Another name' where id = ${id}`,
      sql`update person set email = 'another@x.example' where id = ${id}`,
      sql`update resource set name = 'Another room' where id = ${room}`,
      sql`update lesson set klassen = '{1a}' where booking_id = ${lesson}`,
      sql`update person set role = 'Admin' where id = ${id}`,
      sql`update booking set occupied = tstzrange(lower(occupied) + interval '2 years', upper(occupied) + interval '2 years') where id = ${lesson}`,
    ];
    let before = await read();
    for (const change of changes) {
      await change.execute(service.context.db);
      const after = await read();
      expect([after.etag === before.etag, after.text === before.text]).toEqual([false, false]);
      before = after;
    }
    await book(await makeRoom());
    await sql`update person set time_zone = 'UTC' where id = ${id}`.execute(service.context.db);
    expect(await read()).toEqual(before);
  });

  test('another ETag when its person loses a right to see what is in it', async () => {
    const { db } = service.context;
    const make = async (path: string, body: object) => (await admin.post(path, body)).body['Id'] as number;
    const { id, caller } = await addUser('Decider');
    const deciders = await make('/groups', { Name: 'Deciders', AddMembers: [id] });
    const nobody = await make('/groups', { Name: 'Nobody' });
    const [room, before] = [await makeRoom(), await makeRoom('Cellar')];
    const hall = await make('/policies', { Name: 'Hall', NeedsApproval: true, MayDecide: [deciders] });
    const hidden = await make('/policies', { Name: 'Hidden', MaySee: [nobody] });
    await admin.patch(`/resources/${room}`, { PolicyId: hall });
    const request = await book(room, { isPrivate: true, subject: 'Geheim', organizerId: otherId });
    await sql`update booking set approval = 'Requested', status = 'Tentative' where id = ${request}`.execute(db);
    const lesson = await book(room, { start: inDays(2) });
    await sql`update booking set kind = 'Lesson' where id = ${lesson}`.execute(db);
    const was = { RessourceName: 'Cellar', Beginn: inDays(2), Ende: inDays(2, 60) };
    await sql`
      with job as (
        insert into lesson_job (mandator_id, job_id, batch_id, created_by)
        values (${service.tenant.mandatorId}, 'Moved', gen_random_uuid(), ${otherId}) returning mandator_id, id
      )
      insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, ursprung, origin_resource_id)
      select job.mandator_id, job.id, 'L', booking.id, resource_id, lower(occupied), upper(occupied), 'Geplant',
        ${JSON.stringify(was)}::jsonb, ${before}
      from job, booking where booking.id = ${lesson}`.execute(db);
    const { Url } = await makeToken(room, caller);
    const [first, etag] = await readKnown(Url);
    expect(first).toMatch(/SUMMARY:Geheim.*Cellar/s);
    await admin.patch(`/groups/${deciders}`, { RemoveMembers: [id] });
    const [second, next] = await readKnown(Url, etag);
    expect(second).toMatch(/SUMMARY:Belegt.*Cellar/s);
    await admin.patch(`/resources/${before}`, { PolicyId: hidden });
    const [third, last] = await readKnown(Url, next);
    expect(third).toContain('SUMMARY:Belegt');
    expect(third).not.toContain('Cellar');
    expect(await readKnown(Url, last)).toEqual(['', last]);
  });

  test('of a long feed others have their turn while it is written, and a 304 writes nothing', async () => {
    const room = await makeRoom();
    const { Url } = await makeToken(room);
    await sql`
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      select ${service.tenant.mandatorId}, ${room}, 'Booking', 'Confirmed', 'Api', tstzrange(at, at + interval '5 minutes')
      from generate_series(${inDays(1)}::timestamptz, ${inDays(8)}, interval '5 minutes') as at`.execute(
      service.context.db,
    );
    const { mandatorId } = service.tenant;
    const sight = { groupIds: [], hiddenRooms: [] };
    const viewer = { mandatorId, personId: otherId, role: 'User', ...sight } as unknown as Viewer;
    let more = 0;
    const list = async (most: number, longest?: number) => {
      const pages: number[] = [];
      const wanted = { resourceId: [room], from: inDays(0), to: inDays(9), most };
      for await (const page of listForFeed(service.context.db, viewer, wanted, longest)) {
        pages.push(page.length);
        // The list reads one snapshot, so it must not show this booking.
        await book(room, { start: inDays(8, 5 * ++more), end: inDays(8, 5 * more + 5) });
      }
      return pages;
    };
    expect([await list(600), await list(10_000)]).toEqual([
      [500, 100],
      [500, 500, 500, 500, 19],
    ]);
    // Of long bookings a piece has fewer.
    expect(await list(250, 40_000)).toEqual([100, 100, 50]);

    const answer = await fetch(Url);
    const text = await answer.text();
    expect([...text.matchAll(/^(BEGIN|END):VCALENDAR\r$/gm)]).toHaveLength(2);
    expect([...text.matchAll(/^BEGIN:VEVENT\r$/gm)]).toHaveLength(7 * 288 + 1 + 10);
    const etag = answer.headers.get('etag') ?? '';
    const written = jest.spyOn(service.context.db, 'startTransaction');
    const known = await fetch(Url, { headers: { 'If-None-Match': etag } });
    expect([known.status, await known.text(), written.mock.calls.length]).toEqual([304, '', 0]);
    expect((await (await fetch(Url)).text()).length).toBe(text.length);
    expect(written).toHaveBeenCalledTimes(1);
    written.mockRestore();
  });

  /** So many bookings that the feed is long, or fewer; of each there are some 4,300 octets. */
  const bookLong = (resourceId: number, count = 400) =>
    sql`
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied, description)
      select ${service.tenant.mandatorId}, ${resourceId}, 'Booking', 'Confirmed', 'Api', tstzrange(at, at + interval '5 minutes'), repeat('.', 4000)
      from generate_series(${inDays(1)}::timestamptz, ${inDays(1, 5 * (count - 1))}, interval '5 minutes') as at`.execute(
      service.context.db,
    );

  test('a long feed is written once its call has one of the places of large calendars; a 304, and one of less than a megabyte, need none', async () => {
    const [long, short] = [await makeRoom(), await makeRoom()];
    const { Url } = await makeToken(long);
    await bookLong(long);
    const { mandatorId } = service.tenant;
    const viewer = { mandatorId, personId: otherId, role: 'User', groupIds: [], hiddenRooms: [] } as unknown as Viewer;
    const wanted = { resourceId: [long], from: inDays(0), to: inDays(9), most: 1_000 };
    const { octets, longest } = await hashForFeed(service.context.db, viewer, wanted);
    expect([longest > 4_000, longest < 5_000, octets > 399 * longest, octets <= 400 * longest]).toEqual(
      Array(4).fill(true),
    );
    const taking = jest.spyOn(service.context.once(openLargeCalendars), 'take');
    const written = jest.spyOn(service.context.db, 'startTransaction');
    taking.mockRejectedValueOnce(new LimitExceeded('All are taken.', 10));
    const refused = await fetch(Url);
    expect([refused.status, await refused.text(), written.mock.calls.length]).toEqual([
      429,
      expect.stringContaining('All are taken.'),
      0,
    ]);
    const answer = await fetch(Url);
    expect([...(await answer.text()).matchAll(/^BEGIN:VEVENT\r$/gm)]).toHaveLength(400);
    expect([taking.mock.calls.length, written.mock.calls.length]).toEqual([2, 1]);
    expect(await readKnown(Url, answer.headers.get('etag') ?? '')).toEqual(['', answer.headers.get('etag')]);
    await bookLong(short, 200);
    expect((await (await fetch((await makeToken(short)).Url)).text()).length).toBeGreaterThan(800_000);
    expect(taking).toHaveBeenCalledTimes(2);
    jest.restoreAllMocks();
  });

  test('one that gets longer than its bookings let expect is written again if no place is free', async () => {
    const room = await makeRoom();
    await bookLong(room, 300);
    const { Url } = await makeToken(room);
    const places = service.context.once(openLargeCalendars);
    const taking = jest.spyOn(places, 'take');
    const written = jest.spyOn(service.context.db, 'startTransaction');
    jest.spyOn(places, 'takeIfFree').mockReturnValueOnce(undefined);
    const answer = await fetch(Url);
    expect([...(await answer.text()).matchAll(/^BEGIN:VEVENT\r$/gm)]).toHaveLength(300);
    expect([answer.status, taking.mock.calls.length, written.mock.calls.length]).toEqual([200, 1, 2]);
    jest.restoreAllMocks();
  });

  test('who takes none of the long feeds of an address keeps them neither from the person who made it nor from other addresses', async () => {
    const room = await makeRoom();
    await bookLong(room);
    const [{ Id, Url }, { Url: second }] = [await makeToken(room), await makeToken(room)];
    const { mandatorId, person } = service.tenant;
    const personId = person('User').id;
    const places = service.context.once(openLargeCalendars);
    const held = await Promise.all(
      Array.from({ length: 8 }, () => places.take({ mandatorId, personId, calendarTokenId: Id })),
    );
    const taking = jest.spyOn(places, 'take');
    const waiting = fetch(Url);
    await until('it waits', () => taking.mock.calls.length === 1);
    const Authorization = `Bearer ${user.token}`;
    const own = fetch(`${service.url}/school/api/v1.0/resources/${room}/calendar.ics`, { headers: { Authorization } });
    expect([(await own).status, taking.mock.calls.length]).toEqual([200, 1]);
    expect((await fetch(second)).status).toBe(200);
    taking.mockRestore();
    for (const leave of held) leave();
    expect((await waiting).status).toBe(200);
  });

  test('a usual credential replaces a token: 200, 404 for an unknown resource, 403 for a display', async () => {
    const room = await makeRoom();
    const get = async (caller: MasterData, id: number) => {
      const address = `${service.url}/school/api/v1.0/resources/${id}/calendar.ics`;
      return (await fetch(address, { headers: { Authorization: `Bearer ${caller.token}` } })).status;
    };
    expect(await Promise.all([get(user, room), get(user, 2_000_000_000), get(display, room)])).toEqual([200, 404, 403]);
  });

  test('405 and 406 as everywhere', async () => {
    const { Url } = await makeToken(await makeRoom());
    expect((await fetch(`${Url}&Nonsense=1`)).status).toBe(200);
    expect((await fetch(Url, { headers: { Accept: 'application/json' } })).status).toBe(406);
    const post = await fetch(Url, { method: 'POST', headers: { Authorization: `Bearer ${user.token}` } });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

test('405 with Allow for a calendar program that looks for CalDAV with a token, and 401 for a wrong one', async () => {
  const { Url } = await makeToken(await makeRoom());
  for (const method of ['PROPFIND', 'REPORT', 'PUT']) {
    const answer = await fetch(Url, { method });
    expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD']);
  }
  const options = await fetch(Url, { method: 'OPTIONS' });
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD']);
  expect((await fetch(`${Url}x`, { method: 'PROPFIND' })).status).toBe(401);
});

describe('401 in the same words', () => {
  const refusal = async (url: string) => {
    const answer = await fetch(url);
    const { TraceId, instance, ...problem } = (await answer.json()) as Tree;
    expect([typeof TraceId, instance]).toEqual(['string', new URL(url).pathname]);
    return [answer.status, answer.headers.get('www-authenticate'), problem];
  };
  let expected: unknown[];
  beforeAll(async () => {
    expected = await refusal((await makeToken(await makeRoom())).Url.replace(/token=.*/, 'token=wrong'));
    expect(expected[0]).toBe(401);
  });

  test('for another resource, another or an unknown tenant, and what can be no token or resource', async () => {
    const [one, two] = [await makeRoom(), await makeRoom()];
    const { Url } = await makeToken(one);
    await makeTenant(service.context.db, { code: 'neighbour' });
    for (const url of [
      ...[Url.replace(`/${one}/`, `/${two}/`), Url.replace(`/${one}/`, '/x/'), `${Url}x`, `${Url}&token=y`],
      ...[Url.replace('/school/', '/neighbour/'), Url.replace('/school/', '/nobody/')],
      ...[Url.replace(/token=.*/, 'token='), Url.replace(/token=.*/, 'token=%00'), Url.slice(0, -1)],
    ])
      expect(await refusal(url)).toEqual(expected);
    expect((await fetch(Url)).status).toBe(200);
  });

  test('for a token that was revoked, at once', async () => {
    const room = await makeRoom();
    const { Id, Url } = await makeToken(room);
    expect((await fetch(Url)).status).toBe(200);
    expect((await user.send('DELETE', `/resources/${room}/calendar-tokens/${Id}`)).status).toBe(204);
    expect(await refusal(Url)).toEqual(expected);
  });

  test('for a person who is not active any more, or is a display now', async () => {
    const room = await makeRoom();
    const { id, caller } = await addUser('Leaving');
    const { Url } = await makeToken(room, caller);
    const change = (changes: { active?: boolean; role?: string }) =>
      service.context.db.updateTable('person').set(changes).where('id', '=', Number(id)).execute();
    for (const [changes, back] of [
      [{ active: false }, { active: true }],
      [{ role: 'Display' }, { role: 'User' }],
    ] as const) {
      expect((await fetch(Url)).status).toBe(200);
      await change(changes);
      expect(await refusal(Url)).toEqual(expected);
      await change(back);
    }
  });
});

describe('calendar-tokens', () => {
  test('201 shows the token once; it is stored only as a keyed hash', async () => {
    const room = await makeRoom();
    const answer = await user.post(`/resources/${room}/calendar-tokens`, { label: ' Phone ' });
    const { Token, Url, ...record } = answer.body as { Token: string; Url: string };
    const PersonId = service.tenant.person('User').id;
    expect([answer.status, answer.headers.get('cache-control'), record]).toEqual([
      201,
      'no-store',
      {
        Id: expect.any(Number),
        Klasse: null,
        Lehrperson: null,
        ResourceId: room,
        PersonId,
        Label: 'Phone',
        CreatedAt: expect.any(String),
        RevokedAt: null,
        LastUsedAt: null,
      },
    ]);
    expect(Buffer.from(Token, 'base64url').length * 8).toBeGreaterThanOrEqual(160);
    expect(Url).toBe(`${service.url}/school/api/v1.0/resources/${room}/calendar.ics?token=${Token}`);
    const { rows } = await sql<{ hash: Buffer; row: string }>`
      select hash, to_jsonb(calendar_token)::text as row from calendar_token where resource_id = ${room}`.execute(
      service.context.db,
    );
    expect([rows[0]?.hash.length, rows[0]?.row.includes(Token)]).toEqual([32, false]);
    await fetch(Url);
    const list = await user.get(`/resources/${room}/calendar-tokens`);
    expect(list.body).toEqual({
      Items: [{ ...record, LastUsedAt: expect.any(String) }],
      NextCursor: null,
    });
  });

  test('own ones are listed and revoked, an Admin’s are everybody’s; another’s are as unknown', async () => {
    const room = await makeRoom();
    const [mine, theirs] = [await makeToken(room, user), await makeToken(room, other)];
    const idsFor = async (caller: MasterData) =>
      ((await caller.get(`/resources/${room}/calendar-tokens`)).body['Items'] as { Id: number }[]).map(({ Id }) => Id);
    expect([await idsFor(user), await idsFor(other), await idsFor(admin)]).toEqual([
      [mine.Id],
      [theirs.Id],
      [mine.Id, theirs.Id],
    ]);
    const revoke = async (caller: MasterData, id: number, of = room) => {
      const { status, body } = await caller.send('DELETE', `/resources/${of}/calendar-tokens/${id}`);
      return [status, body['detail']];
    };
    const unknown = await revoke(user, 2_000_000_000);
    expect(unknown[0]).toBe(404);
    expect(await revoke(user, theirs.Id)).toEqual(unknown);
    expect(await revoke(user, mine.Id, await makeRoom())).toEqual(unknown);
    expect((await revoke(admin, theirs.Id))[0]).toBe(204);
    // Repeating it is no error.
    expect((await revoke(other, theirs.Id))[0]).toBe(204);
    const { body } = await other.get(`/resources/${room}/calendar-tokens`);
    expect(body['Items']).toMatchObject([{ RevokedAt: expect.any(String) }]);
  });

  test('403 for a display, 404 for an unknown resource, 422 for a wrong label', async () => {
    const room = await makeRoom();
    const address = `/resources/${room}/calendar-tokens`;
    expect((await display.post(address, {})).status).toBe(403);
    expect((await display.get(address)).status).toBe(403);
    expect((await display.send('DELETE', `${address}/1`)).status).toBe(403);
    expect((await user.post('/resources/2000000000/calendar-tokens', {})).status).toBe(404);
    expect((await user.get('/resources/2000000000/calendar-tokens')).status).toBe(404);
    for (const body of [{ Label: '' }, { Label: 'x'.repeat(201) }, { PersonId: otherId }])
      expect((await user.post(address, body)).status).toBe(422);
  });

  test('409 past 20 of one person for one resource that count, however many are asked for at once', async () => {
    const room = await makeRoom();
    const address = `/resources/${room}/calendar-tokens`;
    const answers = await Promise.all(Array.from({ length: 22 }, () => user.send('POST', address)));
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect([made.length, refused.map(({ status }) => status)]).toEqual([20, [409, 409]]);
    expect(refused[0]?.body['detail']).toMatch(/20 tokens .* revoke one/);
    const { data } = await user.ask(
      `mutation { result: createCalendarToken(resourceId: "${room}") { ... on ConflictProblem { code } } }`,
    );
    expect(data).toEqual({ result: { code: 'Conflict' } });
    expect((await other.post(address, {})).status).toBe(201);
    await user.send('DELETE', `${address}/${made[0]?.body['Id']}`);
    expect((await user.post(address, {})).status).toBe(201);
  });

  test('409 for a key that has made one, of a resource or a timetable: neither a second one, nor the first again', async () => {
    const room = await makeRoom();
    const { caller } = await addUser('Twice');
    const mutation = (create: string) => `mutation { result: ${create} { ... on Problem { code } } }`;
    for (const [address, twin] of [
      [`/resources/${room}/calendar-tokens`, `createCalendarToken(resourceId: "${room}", idempotencyKey: "feed-R")`],
      ['/timetable/calendar-tokens', 'createTimetableToken(idempotencyKey: "feed-T")'],
    ] as const) {
      const key = { 'Idempotency-Key': /"(feed-.)"/.exec(twin)?.[1] ?? '' };
      const [first, ...others] = (
        await Promise.all(Array.from({ length: 5 }, () => caller.post(address, {}, key)))
      ).sort((one, next) => one.status - next.status);
      expect([first?.status, ...others.map(({ status }) => status)]).toEqual([201, 409, 409, 409, 409]);
      const second = await caller.post(address, {}, key);
      expect(second.body['detail']).toContain(`Id ${first?.body['Id']}`);
      expect(second.text).not.toContain(String(first?.body['Token']));
      expect((await caller.post(address, { Label: 'other' }, key)).status).toBe(422);
      expect((await caller.ask(mutation(twin))).data).toEqual({ result: { code: 'Conflict' } });
      expect((await caller.get(address)).body['Items']).toHaveLength(1);
      const stored = await service.context.db.selectFrom('idempotent_request').select('response').execute();
      expect(JSON.stringify(stored)).not.toContain(String(first?.body['Token']));
    }
  });

  test('the twins of GraphQL do the same', async () => {
    const room = await makeRoom();
    const record = 'id resourceId personId label revokedAt';
    const makes = `mutation ($room: ID!, $label: String) { result: createCalendarToken(resourceId: $room, label: $label) {
      ... on CalendarTokenCreated { token url record { ${record} } } ... on Problem { code } } }`;
    const { data } = await user.ask(makes, { room, label: 'Phone' });
    const {
      token,
      url,
      record: made,
    } = (data as Tree)['result'] as {
      token: string;
      url: string;
      record: Tree;
    };
    const expected = {
      id: expect.any(String),
      resourceId: String(room),
      label: 'Phone',
      revokedAt: null,
      personId: String(service.tenant.person('User').id),
    };
    expect([url.endsWith(`token=${token}`), made]).toEqual([true, expected]);
    expect((await fetch(url)).status).toBe(200);
    const lists = `query ($room: ID!) { calendarTokens(resourceId: $room) { nodes { ${record} } } }`;
    expect((await user.ask(lists, { room })).data).toEqual({ calendarTokens: { nodes: [made] } });
    expect((await other.ask(lists, { room })).data).toEqual({ calendarTokens: { nodes: [] } });
    expect((await user.ask(lists, { room: '2000000000' })).data).toEqual({ calendarTokens: null });
    const revokes = `mutation ($id: ID!) { result: revokeCalendarToken(id: $id) {
      ... on CalendarToken { ${record} } ... on Problem { code } } }`;
    const { id } = made as { id: string };
    expect((await other.ask(revokes, { id })).data).toEqual({ result: { code: 'NotFound' } });
    expect((await user.ask(revokes, { id })).data).toEqual({
      result: { ...expected, revokedAt: expect.any(String) },
    });
    expect((await fetch(url)).status).toBe(401);
    expect((await display.ask(makes, { room })).data).toEqual({ result: { code: 'Forbidden' } });
    expect((await user.ask(makes, { room, label: '' })).data).toEqual({ result: { code: 'InvalidInput' } });
  });
});

test('429 past the limit of a token, and past that of wrong ones from an address; no token is logged', async () => {
  const room = await makeRoom();
  const { Token } = await makeToken(room);
  const { Token: spare } = await makeToken(room);
  const lines: string[] = [];
  const limits = { Limits__RequestsPerMinute: '3', Limits__TokenRequestsPerMinute: '4', TrustProxy: '1' };
  const log = openLog('trace', { write: (line) => void lines.push(line) });
  const server = await startServer(testConfig(service.databaseUrl, limits), log, { rateWindow: longWindow });
  try {
    await server.ready;
    const root = server.context.config.BaseUrl;
    const get = async (token: string) => {
      const answer = await fetch(`${root}/school/api/v1.0/resources/${room}/calendar.ics?token=${token}`, {
        headers: { 'X-Forwarded-For': '192.0.2.7' },
      });
      return [answer.status, answer.headers.has('retry-after')];
    };
    const results: unknown[] = [];
    for (let sent = 0; sent < 4; sent++) results.push(await get(Token));
    expect(results.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => [200, false]));
    expect(results[3]).toEqual([429, true]);
    const wrong: unknown[] = [];
    for (let sent = 0; sent < 5; sent++) wrong.push(await get(`${Token}x`));
    expect(wrong.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => [401, false]));
    expect(wrong[4]).toEqual([429, true]);
    // A client with a valid token is not locked out with others of its address.
    expect(await get(spare)).toEqual([200, false]);
  } finally {
    await server.stop();
  }
  const logged = lines.filter((line) => line.includes('calendar.ics'));
  expect(logged).toHaveLength(10);
  expect(lines.join('')).not.toContain(Token);
  expect(lines.join('')).not.toContain(spare);
});

describe('calendars of timetables', () => {
  type Taught = {
    teachers: string[] | null;
    subject: string;
    status?: string;
    isPrivate?: boolean;
    classes?: string[];
    origin?: object;
    originRoom?: number;
  };
  const tokens = '/timetable/calendar-tokens';
  let room: number;
  let lessons = 0;
  let teacherId: number;
  let teacher: MasterData;

  /** Coupled lessons, by default of class 3a, by the user's import. */
  async function teach(days: number, ...coupled: [Taught, ...Taught[]]) {
    const [{ subject, isPrivate = false, status }] = coupled;
    const id = await book(room, { start: inDays(days), subject, isPrivate });
    await sql`update booking set kind = 'Lesson', status = ${status === 'Entfaellt' ? 'Cancelled' : 'Confirmed'}
      where id = ${id}`.execute(service.context.db);
    for (const lesson of coupled) await addLesson(id, inDays(days), lesson);
    return id;
  }

  async function addLesson(bookingId: number, start: Date, lesson: Taught) {
    const { teachers, subject, status = 'Geplant', isPrivate = false, classes = ['3a'], origin, originRoom } = lesson;
    const { db } = service.context;
    const { mandatorId } = service.tenant;
    await sql`
      with job as (
        insert into lesson_job (mandator_id, job_id, batch_id, created_by)
        values (${mandatorId}, ${`J-${++lessons}`}, gen_random_uuid(), ${service.tenant.person('User').id}) returning id)
      insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, fach, klassen,
        lehrpersonen, privat, ursprung, origin_resource_id)
      select ${mandatorId}, job.id, 'L', ${bookingId}, ${room}, ${start}, ${new Date(start.getTime() + 3_600_000)},
        ${status}, ${subject}, ${classes}, ${teachers}, ${isPrivate},
        ${origin ? JSON.stringify(origin) : null}::jsonb, ${originRoom ?? null}
      from job`.execute(db);
  }

  beforeAll(async () => {
    room = await makeRoom('T 1');
    ({ id: teacherId, caller: teacher } = await addUser('O. Teacher'));
    expect((await admin.patch(`/persons/${teacherId}`, { TeacherCode: 'OTT' })).status).toBe(200);
    const was = { RessourceName: 'T 0', Lehrpersonen: ['Emmy Noether'], Fach: 'Chemie' };
    await teach(1, { teachers: ['ott', 'X'], subject: 'Mathematik' });
    await teach(2, { teachers: ['OTT'], subject: 'Physik', status: 'Entfaellt' });
    const [Beginn, Ende] = [inDays(2, 5), inDays(2, 65)].map((at) => at.toISOString());
    await teach(3, { teachers: ['OTT'], subject: 'Chemie', status: 'Vertretung', origin: { ...was, Beginn, Ende } });
    await teach(4, { teachers: ['OTT'], subject: 'Geheim', isPrivate: true });
    await teach(5, { teachers: ['X'], subject: 'Musik' });
    await book(room, { start: inDays(6), organizerId: teacherId });
  });

  const make = async (caller: MasterData, body: object) => {
    const answer = await caller.post(tokens, body);
    expect(answer.status).toBe(201);
    return answer.body as { Id: number; Url: string };
  };
  const summaries = async (url: string) => [...(await readEvents(url)).events.values()].map(({ summary }) => summary);

  test('my own: my bookings, and the lessons that name me; what has changed of them is said', async () => {
    const { Url } = await make(teacher, { Label: 'Phone' });
    expect(Url).toMatch(/\/timetable\/calendar\.ics\?token=[\w-]{32}$/);
    const { text, events } = await readEvents(Url);
    expect([...events.values()].map(({ summary, status }) => [summary, status])).toEqual([
      ['Mathematik', 'CONFIRMED'],
      ['Entfällt: Physik', 'CANCELLED'],
      ['Vertretung, Verlegt: Chemie', 'CONFIRMED'],
      ['Belegt', 'CONFIRMED'],
      ['Sitzung', 'CONFIRMED'],
    ]);
    expect([...events.values()][2]?.['description']).toMatch(
      /^Klassen: 3a\nLehrpersonen: OTT\nUrsprünglich: .+, T 0, Emmy Noether$/,
    );
    expect(text).toContain('X-WR-CALNAME:O. Teacher');
    const own = await fetch(Url.replace(/\?.*/, ''), { headers: { Authorization: `Bearer ${teacher.token}` } });
    expect([own.status, await own.text()]).toEqual([200, text]);
    const etag = own.headers.get('etag') ?? '';
    expect((await fetch(Url, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  });

  test('what has changed of lessons is said as at the sign of their room: a new name of the room is no move, coupled ones are compared together', async () => {
    const classes = ['9z'];
    const was = (days: number, RessourceName: string, Lehrpersonen: string[] | null) => ({
      RessourceName,
      Lehrpersonen,
      Fach: 'A',
      Beginn: inDays(days).toISOString(),
      Ende: inDays(days, 60).toISOString(),
    });
    const former = await makeRoom('T 0 new');
    const one = { teachers: ['One'], subject: 'A', classes };
    const two = { teachers: ['Two'], subject: 'A', classes };
    await teach(11, { ...one, origin: was(11, 'T 1 old', ['One']), originRoom: room });
    await teach(12, { ...one, origin: was(12, 'T 1', null), originRoom: room });
    await teach(13, one, { ...two, origin: was(13, 'T 0', ['Two']), originRoom: former });
    await teach(14, one, { ...two, status: 'Vertretung' });
    await teach(15, { ...one, origin: was(15, 'T 0', ['One']) }, two);
    const { events } = await readEvents((await make(user, { Klasse: '9z' })).Url);
    const before = /(?<=Ursprünglich: ).*/;
    expect(
      [...events.values()].map(({ summary, description }) => [summary, before.exec(String(description))?.[0]]),
    ).toEqual([
      ['A', undefined],
      ['Vertretung: A', undefined],
      ['Verlegt: A', 'T 0 new'],
      ['Vertretung: A', undefined],
      ['Verlegt: A', 'T 0'],
    ]);
  });

  test('of a class or a teacher: as who made the token sees it, without what that person may not see', async () => {
    const ofClass = await make(teacher, { Klasse: '3A' });
    expect(await summaries(ofClass.Url)).toEqual([
      ...['Mathematik', 'Entfällt: Physik', 'Vertretung, Verlegt: Chemie', 'Musik'],
    ]);
    expect(await summaries((await make(user, { Klasse: '3a' })).Url)).toContain('Geheim');
    const ofTeacher = await make(user, { Lehrperson: 'x' });
    expect(await summaries(ofTeacher.Url)).toEqual(['Mathematik', 'Musik']);
    const ofResource = await makeToken(room);
    const wrong = [
      ofClass.Url.replace('klasse=3A', 'klasse=3a'),
      ofClass.Url.replace('klasse', 'lehrperson'),
      ofClass.Url.replace('klasse=3A&', ''),
      ofTeacher.Url.replace('?', '?klasse=3A&'),
      ofResource.Url.replace(`resources/${room}`, 'timetable'),
      ofClass.Url.replace('timetable', `resources/${room}`),
    ];
    for (const url of wrong) expect([url, (await fetch(url)).status]).toEqual([url, 401]);
  });

  test('tokens are listed and revoked by who made them, and by Admins', async () => {
    const { Id, Url } = await make(teacher, { Lehrperson: 'OTT' });
    const listed = async (caller: MasterData) =>
      ((await caller.get(`${tokens}?Limit=200`)).body['Items'] as Tree[]).find((token) => token['Id'] === Id);
    const record = { ResourceId: null, Klasse: null, Lehrperson: 'OTT', PersonId: teacherId };
    expect(await Promise.all([teacher, admin, user].map(listed))).toMatchObject([record, record]);
    expect((await user.send('DELETE', `${tokens}/${Id}`)).status).toBe(404);
    expect((await teacher.send('DELETE', `/resources/${room}/calendar-tokens/${Id}`)).status).toBe(404);
    expect((await teacher.send('DELETE', `${tokens}/${Id}`)).status).toBe(204);
    expect((await fetch(Url)).status).toBe(401);
    expect((await teacher.post(tokens, { Klasse: '3a', Lehrperson: 'X' })).status).toBe(400);
    expect((await teacher.post(tokens, { Klasse: '' })).status).toBe(422);
    expect((await teacher.post(tokens, { PersonId: 1 })).status).toBe(422);
    expect((await display.post(tokens, {})).status).toBe(403);
  });

  test('the twins of GraphQL do the same, up to 20 tokens', async () => {
    const { caller } = await addUser('Twin');
    const makes = `mutation ($klasse: String) { result: createTimetableToken(class: $klasse, label: "L") {
      ... on CalendarTokenCreated { url record { id resourceId klasse: class lehrperson: teacher } } ... on Problem { code } } }`;
    const { data } = await caller.ask(makes, { klasse: '3a' });
    const { url, record } = data!['result'] as { url: string; record: { id: string } };
    expect(record).toEqual({ id: expect.any(String), resourceId: null, klasse: '3a', lehrperson: null });
    expect(await summaries(url)).toContain('Musik');
    const list = await caller.ask('{ timetableTokens { nodes { id klasse: class } } }');
    expect(list.data).toEqual({ timetableTokens: { nodes: [{ id: record.id, klasse: '3a' }] } });
    for (let count = 1; count < 20; count++) await make(caller, {});
    expect((await caller.ask(makes)).data).toEqual({ result: { code: 'Conflict' } });
    await caller.ask('mutation ($id: ID!) { revokeCalendarToken(id: $id) { __typename } }', record);
    expect((await fetch(url)).status).toBe(401);
    expect((await caller.ask(makes)).data).toMatchObject({ result: { record: { klasse: null } } });
  });
});
