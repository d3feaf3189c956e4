import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { makeTenant } from '../_util/factories.ts';
import { lessonClient } from '../_util/lessons.ts';
import { type MasterData, masterData, type Reply } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Tree = Record<string, unknown>;

const path = '/bookings';
const hour = 3_600_000;
/** Midnight UTC, some days from now. */
const midnight = Math.ceil(Date.now() / (24 * hour)) * 24 * hour + 24 * hour;
const at = (days: number, hours: number) => new Date(midnight + days * 24 * hour + hours * hour).toISOString();

let service: Service;
let user: MasterData;
let admin: MasterData;
let colleague: MasterData;
let display: MasterData;
let foreign: MasterData;
let rooms: number[];
let days = 0;

beforeAll(async () => {
  service = await startService();
  const { tenant, context } = service;
  const { id } = await context.db
    .insertInto('person')
    .values({
      mandator_id: tenant.mandatorId,
      name: 'Colleague',
      email: 'c@school.example',
      time_zone: 'UTC',
      role: 'User',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const other = { ...tenant, person: () => ({ ...tenant.person('User'), id }) };
  user = masterData(service, await service.signIn());
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  colleague = masterData(service, await service.signIn(other));
  display = masterData(service, await service.signIn(tenant, 'Display'));
  foreign = masterData(service, await service.signIn(await makeTenant(context.db, { code: 'other' })), 'other');
  rooms = tenant.resources.map((room) => room.id);
});
afterAll(() => service.stop());

/** An hour on a day of its own. */
const hourOf = (day: number, more: object = {}) => ({
  ResourceId: rooms[0],
  Subject: 'Sitzung',
  Start: at(day, 9),
  End: at(day, 10),
  ...more,
});
/** A booking on a day of its own, unless `more` says otherwise. */
async function book(more: object = {}, caller = user): Promise<Tree & { Id: number }> {
  const answer = await caller.post(path, hourOf(++days, more));
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.body as Tree & { Id: number };
}
const one = (id: unknown) => `${path}/${id}`;
const codesOf = ({ body }: Reply) => (body['Errors'] as { Code: string }[]).map(({ Code }) => Code);

describe('POST bookings', () => {
  test('201 with Location and ETag: the record, which a GET answers too', async () => {
    const day = ++days;
    const answer = await user.post(path, hourOf(day, { subject: undefined, Subject: ' Sitzung ' }));
    const person = { PersonId: service.tenant.person('User').id, DisplayName: 'User of school' };
    const { Series, ...record } = answer.body;
    expect([answer.status, Series]).toEqual([201, null]);
    expect(record).toEqual({
      Id: expect.any(Number),
      Uid: expect.stringMatching(/^booking-\d+@[0-9a-f-]{36}$/),
      ResourceId: rooms[0],
      ResourceName: 'R001',
      LocationId: service.tenant.locationId,
      Subject: 'Sitzung',
      Description: null,
      Start: at(day, 9),
      End: at(day, 10),
      TimeZone: 'Europe/Berlin',
      Status: 'Confirmed',
      Kind: 'Booking',
      IsPrivate: false,
      Organizer: { ...person, Email: 'user@school.example' },
      SeriesId: null,
      RecurrenceRule: null,
      SetupMinutes: 0,
      TeardownMinutes: 0,
      CheckIn: null,
      Origin: { System: 'Api', BatchId: null, JobID: null, LektionId: null, MailItemId: null },
      Lektion: null,
      CreatedAt: expect.any(String),
      CreatedBy: person,
      ChangedAt: expect.any(String),
      Decision: null,
      Version: 1,
    });
    expect(answer.headers.get('etag')).toBe('"1"');
    expect(answer.headers.get('location')).toBe(`${service.url}/school/api/v1.0/bookings/${record['Id']}`);
    const read = await user.get(one(record['Id']));
    expect([read.status, read.body, read.headers.get('etag')]).toEqual([200, record, '"1"']);
  });

  test('201: names in either case, instants with an offset, null for what is left out', async () => {
    const day = ++days;
    const answer = await user.post(path, {
      resourceId: rooms[0],
      subject: 'S',
      description: null,
      organizerId: null,
      recurrenceRule: null,
      start: at(day, 9).replace('.000Z', '+00:00'),
      end: at(day, 11).replace('.000Z', '+01:00'),
    });
    expect([answer.status, answer.body['Start'], answer.body['End']]).toEqual([201, at(day, 9), at(day, 10)]);
  });

  test.each([
    ['ResourceId', 2_000_000_000],
    ['resourceId', 2_000_000_000],
  ])('422: the pointer of a fault is spelled as %s was sent', async (name, id) => {
    const answer = await user.post(path, hourOf(++days, { ResourceId: undefined, [name]: id }));
    const pointers = (answer.body['Errors'] as Tree[]).map((fault) => [fault['Field'], fault['Pointer']]);
    expect([answer.status, pointers]).toEqual([422, [['ResourceId', `/${name}`]]]);
  });

  test('409 with Conflicts and Alternatives, in the casing that was asked for', async () => {
    const day = ++days;
    const taken = await book({ ...hourOf(day), SetupMinutes: 30, Description: 'private things' }, admin);
    const wanted = hourOf(day, { Start: at(day, 8), End: at(day, 9) });
    const answer = await user.post(path, wanted);
    const place = { ResourceId: rooms[0], Start: at(day, 8.5), End: at(day, 10) };
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      409,
      'application/problem+json; charset=utf-8',
    ]);
    expect(answer.body).toMatchObject({ status: 409, Code: 'Conflict' });
    expect(answer.body['Conflicts']).toEqual([
      { BookingId: taken.Id, Kind: 'Booking', Subject: 'Sitzung', ...place, WantedStart: at(day, 8) },
    ]);
    const alternatives = answer.body['Alternatives'] as Tree[];
    expect(alternatives[0]).toEqual({
      ResourceId: rooms[1],
      ResourceName: 'R002',
      Start: at(day, 8),
      End: at(day, 9),
    });
    expect(alternatives.length).toBeLessThanOrEqual(5);
    const camel = await user.post(path, wanted, { 'X-JsonPropertyFormat': 'camel' });
    expect(Object.keys(camel.body)).toEqual(expect.arrayContaining(['code', 'conflicts', 'alternatives']));
    expect((camel.body['conflicts'] as Tree[])[0]).toMatchObject({
      bookingId: taken.Id,
      wantedStart: at(day, 8),
    });
    expect((camel.body['alternatives'] as Tree[])[0]).toMatchObject({ resourceName: 'R002' });
    const [other] = alternatives as [Tree];
    expect((await user.post(path, { ...wanted, ...other, ResourceName: undefined })).status).toBe(201);
  });

  test('201 with Series: what was made and what was left out; 409 with all Conflicts when nothing may be', async () => {
    const day = ++days;
    days += 3;
    const taken = await book(hourOf(day + 1));
    const series = hourOf(day, { RecurrenceRule: 'FREQ=DAILY;COUNT=3', Subject: 'Kurs' });
    const refused = await user.post(path, series);
    expect([refused.status, (refused.body['Conflicts'] as Tree[]).map(({ BookingId }) => BookingId)]).toEqual([
      409,
      [taken.Id],
    ]);
    const { body } = await user.post(path, { ...series, ConflictHandling: 'Skip' });
    const made = body['Series'] as Tree & { BookingIds: number[] };
    expect(made).toEqual({
      SeriesId: body['SeriesId'],
      RecurrenceRule: 'FREQ=DAILY;COUNT=3',
      BookingIds: [body['Id'], expect.any(Number)],
      Skipped: [
        {
          Start: at(day + 1, 9),
          End: at(day + 1, 10),
          Conflicts: [expect.objectContaining({ BookingId: taken.Id, WantedStart: at(day + 1, 9) })],
        },
      ],
    });
    const list = await user.get(`${path}?SeriesId=${body['SeriesId']}`);
    expect((list.body['Items'] as Tree[]).map(({ Id }) => Id)).toEqual(made.BookingIds);
  });

  test.each([
    [{ Subject: undefined }, 'MissingField', 'Subject', '/Subject'],
    [{ Subject: '   ' }, 'InvalidValue', 'Subject', '/Subject'],
    [{ Subject: 'x'.repeat(201) }, 'InvalidValue', 'Subject', '/Subject'],
    [{ Description: 'x'.repeat(4_001) }, 'InvalidValue', 'Description', '/Description'],
    [{ ResourceId: undefined }, 'MissingField', 'ResourceId', '/ResourceId'],
    [{ ResourceId: '1' }, 'InvalidType', 'ResourceId', '/ResourceId'],
    [{ ResourceId: 2_000_000_000 }, 'UnknownResource', 'ResourceId', '/ResourceId'],
    [{ Start: '2030-01-07T09:00:00' }, 'InvalidValue', 'Start', '/Start'],
    [{ Start: '2030-01-07' }, 'InvalidValue', 'Start', '/Start'],
    [{ End: 1_893_456_000 }, 'InvalidType', 'End', '/End'],
    [{ Start: '2200-01-07T09:00:00Z', End: '2200-01-07T10:00:00Z' }, 'InvalidTime', 'Start', '/Start'],
    [{ End: at(0, 9), Start: at(0, 10) }, 'InvalidTime', 'End', '/End'],
    [{ Start: at(0, 9), End: at(1, 10) }, 'TooLong', 'End', '/End'],
    [{ Start: '2020-01-07T09:00:00Z', End: '2020-01-07T10:00:00Z' }, 'InPast', 'End', '/End'],
    [{ SetupMinutes: -1 }, 'InvalidValue', 'SetupMinutes', '/SetupMinutes'],
    [{ SetupMinutes: 1.5 }, 'InvalidType', 'SetupMinutes', '/SetupMinutes'],
    [{ TeardownMinutes: 1_441 }, 'InvalidValue', 'TeardownMinutes', '/TeardownMinutes'],
    [{ Kind: 'Lesson' }, 'InvalidValue', 'Kind', '/Kind'],
    [{ Status: 'Cancelled' }, 'InvalidValue', 'Status', '/Status'],
    [{ IsPrivate: 'yes' }, 'InvalidType', 'IsPrivate', '/IsPrivate'],
    [{ ConflictHandling: 'Displace' }, 'InvalidValue', 'ConflictHandling', '/ConflictHandling'],
    [{ Version: 1 }, 'UnknownField', 'Version', '/Version'],
    [{ createdBy: 1 }, 'UnknownField', 'CreatedBy', '/createdBy'],
  ])('422 for %j', async (more, Code, Field, Pointer) => {
    const answer = await user.post(path, hourOf(0, more));
    expect([answer.status, answer.body['Errors']]).toEqual([422, [expect.objectContaining({ Code, Field, Pointer })]]);
  });

  test.each(['FREQ=DAILY', 'FREQ=HOURLY;COUNT=2', 'FREQ=DAILY;COUNT=367', 'daily', ''])(
    '422 for the rule %j',
    async (RecurrenceRule) => {
      const answer = await user.post(path, hourOf(0, { RecurrenceRule }));
      expect([answer.status, (answer.body['Errors'] as Tree[])[0]]).toMatchObject([422, { Field: 'RecurrenceRule' }]);
    },
  );

  test('422 with every fault at once', async () => {
    const answer = await user.post(path, { Subject: '', SetupMinutes: 'x', Unknown: 1 });
    expect(codesOf(answer).sort()).toEqual([
      ...['InvalidType', 'InvalidValue', 'MissingField', 'MissingField', 'MissingField', 'UnknownField'],
    ]);
  });

  test('403 for another organizer and a block, by a user; an Admin may; a display may nothing', async () => {
    const OrganizerId = service.tenant.person('Admin').id;
    for (const more of [{ OrganizerId }, { Kind: 'Block' }])
      expect((await user.post(path, hourOf(0, more))).status).toBe(403);
    const booked = await book({ OrganizerId: service.tenant.person('User').id, Kind: 'Block' }, admin);
    expect(booked).toMatchObject({ Kind: 'Block', Organizer: { DisplayName: 'User of school' } });
    expect(booked['CreatedBy']).toMatchObject({ DisplayName: 'Admin of school' });
    expect((await display.post(path, hourOf(0))).status).toBe(403);
  });

  describe('Idempotency-Key', () => {
    const key = (name: string) => ({ 'Idempotency-Key': name });

    test('the same key and body answer the same 201, and book once', async () => {
      const day = ++days;
      const body = hourOf(day, { RecurrenceRule: 'FREQ=DAILY;COUNT=2' });
      days += 2;
      const first = await user.post(path, body, key('K-1'));
      const again = await user.post(path, body, key('K-1'));
      expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      const { body: list } = await user.get(`${path}?From=${at(day, 0)}&To=${at(day + 2, 0)}`);
      expect(list['Items']).toHaveLength(2);
    });

    test('422 for the same key with another body; another person’s key is another', async () => {
      const day = ++days;
      expect((await user.post(path, hourOf(day), key('K-2'))).status).toBe(201);
      expect((await user.post(path, hourOf(day, { Subject: 'Other' }), key('K-2'))).status).toBe(422);
      expect((await colleague.post(path, hourOf(++days), key('K-2'))).status).toBe(201);
    });

    test('409 while the first is still running; a refused request leaves its key free', async () => {
      const day = ++days;
      const answers = await Promise.all([1, 2, 3].map(() => user.post(path, hourOf(day), key('K-3'))));
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => ![201, 409].includes(status))).toEqual([]);
      const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body['Id']);
      expect(new Set(ids).size).toBe(1);
      expect((await user.post(path, hourOf(day), key('K-4'))).status).toBe(409);
      expect((await user.post(path, hourOf(++days), key('K-4'))).status).toBe(201);
    });

    test('400 for a key that no header may hold', async () => {
      expect((await user.post(path, hourOf(0), key('two words'))).status).toBe(400);
    });
  });
});

describe('GET bookings/{id}', () => {
  test('304 for the version that the caller has', async () => {
    const { Id } = await book();
    const headers = { 'If-None-Match': '"1"' };
    expect((await user.get(one(Id), headers)).status).toBe(304);
    await user.patch(one(Id), { Subject: 'New' });
    expect((await user.get(one(Id), headers)).status).toBe(200);
  });

  test('of a private one others see that it is there', async () => {
    const private_ = { IsPrivate: true, Description: 'D', Subject: 'S' };
    const { Series: _, ...record } = await book(private_);
    for (const caller of [user, admin]) expect((await caller.get(one(record.Id))).body).toEqual(record);
    expect((await colleague.get(one(record.Id))).body).toEqual({
      ...record,
      Subject: 'Belegt',
      Description: null,
      Organizer: null,
      CreatedBy: null,
      Lektion: null,
    });
    const blocked = await colleague.post(path, { ...hourOf(days), Subject: 'T' });
    expect(blocked.body['Conflicts']).toMatchObject([{ BookingId: record.Id, Subject: 'Belegt' }]);
  });

  test('coupled lessons: one booking, with the classes and teachers of all', async () => {
    const client = lessonClient(service, user.token);
    const day = ++days;
    const lesson = (LektionId: string, Klassen: string[], Lehrpersonen?: string[]) => ({
      LektionId,
      Beginn: at(day, 9),
      Ende: at(day, 10),
      RessourceName: 'R001',
      KopplungId: 'K',
      Klassen,
      Lehrpersonen: Lehrpersonen ?? null,
      Fach: `Fach ${LektionId}`,
    });
    const { BatchId } = await client.importJobs([
      { JobID: 'J-1', LektionList: [lesson('L-1', ['1a', '1b'], ['Noether'])] },
      { JobID: 'J-2', LektionList: [lesson('L-1', ['1b', '1c'])] },
    ]);
    const { body } = await user.get(`${path}?From=${at(day, 0)}&To=${at(day, 24)}&Kind=Lesson`);
    const person = { PersonId: service.tenant.person('User').id, DisplayName: 'User of school' };
    expect(body['Items']).toMatchObject([
      {
        Kind: 'Lesson',
        Subject: 'Fach L-1',
        Organizer: null,
        CreatedBy: person,
        Status: 'Confirmed',
        Origin: { System: 'Import', BatchId, JobID: 'J-1', LektionId: 'L-1', MailItemId: null },
        Lektion: {
          Fach: 'Fach L-1',
          Klassen: ['1a', '1b', '1c'],
          Lehrpersonen: ['Noether'],
          Status: 'Geplant',
          Ursprung: null,
        },
      },
    ]);
    const { Items } = body as { Items: [{ Id: number; Version: number }] };
    const changed = await user.patch(one(Items[0].Id), { Subject: 'X' });
    expect([changed.status, changed.body['detail']]).toEqual([
      409,
      expect.stringMatching(/L-1.*J-1.*by updating its job/),
    ]);
  });

  test('404 for an id that the tenant does not have, or that is none', async () => {
    const { Id } = await book();
    for (const id of [2_000_000_000, 'x', '0', '01', '99999999999']) expect((await user.get(one(id))).status).toBe(404);
    expect((await foreign.get(one(Id))).status).toBe(404);
    expect((await foreign.patch(one(Id), { Subject: 'X' })).status).toBe(404);
  });

  test('403 for a display', async () => {
    for (const address of [path, one(1)]) expect((await display.get(address)).status).toBe(403);
  });
});

describe('GET bookings', () => {
  test('a filter by person does not tell whose a private booking is', async () => {
    const { Id } = await book({ IsPrivate: true });
    const query = `${path}?PersonId=${service.tenant.person('User').id}&From=${at(days, 0)}&To=${at(days, 24)}`;
    const idsFor = async (caller: MasterData) =>
      ((await caller.get(query)).body['Items'] as Tree[]).map((item) => item['Id']);
    expect(await Promise.all([user, admin, colleague].map(idsFor))).toEqual([[Id], [Id], []]);
  });

  test.each([
    ['To=2027-01-01T00:00:00Z&From=2027-01-01T00:00:00Z', 'To: must be after From, which is 2027-01-01T00:00:00.000Z'],
    ['From=2027-01-01T00:00:00Z&To=2028-01-02T00:00:01Z', 'To: must be at most 366 days after From; ask in parts'],
    ['From=2027-01-01T00:00:00', 'must be a date-time'],
    ['From=2027-01-01', 'must be a date-time'],
    ['ResourceId=x', 'must be an id'],
    ['ResourceId=1,x', 'must be an id'],
    [`ResourceId=${Array.from({ length: 201 }, (_, n) => n + 1)}`, 'ResourceId: must have at most 200 entries'],
    ['Status=Done', 'Status'],
    ['Kind=lesson', 'Kind'],
    ['Cursor=made-up', 'Cursor'],
  ])('400 for %s', async (query, detail) => {
    const answer = await user.get(`${path}?${query}`);
    expect([answer.status, answer.body['detail']]).toEqual([400, expect.stringContaining(detail)]);
  });

  test('200: from now on for 31 days, unless it is asked otherwise', async () => {
    const [Start, End] = [-30, 30].map((minutes) => new Date(Date.now() + minutes * 60_000));
    const before = await book({ Start, End });
    const [near, far] = [await book(), await book({ Start: at(45, 9), End: at(45, 10) })];
    const idsOf = ({ body }: Reply) => (body['Items'] as { Id: number }[]).map(({ Id }) => Id);
    const mine = idsOf(await user.get(`${path}?Limit=200`));
    expect([before, near, far].map(({ Id }) => mine.includes(Id))).toEqual([true, true, false]);
    expect(idsOf(await user.get(`${path}?From=${at(40, 0)}`))).toEqual([far.Id]);
  });

  test('the pages of a list are stable while bookings come in before them', async () => {
    const day = 60;
    for (const start of [12, 14, 16]) await book({ Start: at(day, start), End: at(day, start + 1) });
    const span = `From=${at(day, 0)}&To=${at(day, 24)}&Limit=2`;
    const first = await user.get(`${path}?${span}`);
    await book({ Start: at(day, 8), End: at(day, 9) });
    const second = await user.get(`${path}?${span}&Cursor=${first.body['NextCursor']}`);
    const starts = [first, second].flatMap(({ body }) => (body['Items'] as Tree[]).map(({ Start }) => Start));
    expect(starts).toEqual([at(day, 12), at(day, 14), at(day, 16)]);
    expect(second.body['NextCursor']).toBeNull();
  });
});

describe('PATCH bookings/{id}', () => {
  test('200: what is sent is changed, null clears the description, the same again keeps the version', async () => {
    const { Series: _, ...record } = await book({ Description: 'D' });
    const moved = { Start: at(days, 11), End: at(days, 12), ResourceId: rooms[1] };
    const answer = await user.patch(one(record.Id), { ...moved, Description: null }, 1);
    expect(answer.body).toEqual({
      ...record,
      ...moved,
      ResourceName: 'R002',
      Description: null,
      Version: 2,
      ChangedAt: expect.any(String),
    });
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, '"2"']);
    for (const same of [{}, moved]) expect((await user.patch(one(record.Id), same, 2)).body).toEqual(answer.body);
  });

  test('412 for another version, 428 without one, 422 for faults, 403 for another’s', async () => {
    const { Id } = await book();
    expect((await user.patch(one(Id), { Subject: 'X' }, 2)).status).toBe(412);
    expect((await user.send('PATCH', one(Id), { body: {} })).status).toBe(428);
    for (const body of [{ Subject: null }, { Kind: 'Block' }, { Start: 'soon' }, { OrganizerId: 1 }])
      expect((await user.patch(one(Id), body)).status).toBe(422);
    expect((await colleague.patch(one(Id), { Subject: 'X' })).status).toBe(403);
    expect((await admin.patch(one(Id), { Subject: 'X' })).status).toBe(200);
  });

  test('409 with Conflicts for an occupied time', async () => {
    const [taken, { Id }] = [await book(), await book({ ResourceId: rooms[1] })];
    const answer = await user.patch(one(Id), {
      ResourceId: rooms[0],
      Start: taken['Start'],
      End: taken['End'],
    });
    expect([answer.status, answer.body['Conflicts']]).toMatchObject([409, [{ BookingId: taken.Id }]]);
  });

  test('Scope takes the following bookings of a series along; 400 for another word', async () => {
    const day = days + 1;
    days += 4;
    const { body } = await user.post(path, hourOf(day, { RecurrenceRule: 'FREQ=DAILY;COUNT=3' }));
    const { BookingIds } = body['Series'] as { BookingIds: [number, number, number] };
    const second = one(BookingIds[1]);
    expect((await user.patch(`${second}?Scope=Following`, { Start: at(day + 1, 8) })).status).toBe(200);
    const starts = await Promise.all(BookingIds.map(async (id) => (await user.get(one(id))).body['Start']));
    expect(starts).toEqual([at(day, 9), at(day + 1, 8), at(day + 2, 8)]);
    expect((await user.patch(`${second}?Scope=Some`, {})).status).toBe(400);
  });
});

describe('DELETE bookings/{id}', () => {
  test('200 with Status Cancelled, again the same; its time is free', async () => {
    const { Id } = await book();
    const first = await user.send('DELETE', one(Id));
    expect([first.status, first.body['Status'], first.body['Version']]).toEqual([200, 'Cancelled', 2]);
    expect(first.headers.get('etag')).toBe('"2"');
    expect((await user.send('DELETE', one(Id))).body).toEqual(first.body);
    expect((await user.patch(one(Id), { Subject: 'X' })).status).toBe(409);
    expect((await user.post(path, hourOf(days))).status).toBe(201);
  });

  test('412 for another version, 403 for another’s, 404 for none', async () => {
    const { Id } = await book();
    expect((await user.send('DELETE', one(Id), { headers: { 'If-Match': '"7"' } })).status).toBe(412);
    expect((await colleague.send('DELETE', one(Id))).status).toBe(403);
    expect((await user.send('DELETE', one(2_000_000_000))).status).toBe(404);
    expect((await user.send('DELETE', one(Id), { headers: { 'If-Match': '"1"' } })).status).toBe(200);
  });

  test('Scope=All cancels the whole series', async () => {
    const { SeriesId, Id } = await book({ RecurrenceRule: 'FREQ=WEEKLY;COUNT=3' });
    expect((await user.send('DELETE', `${one(Id)}?Scope=All`)).status).toBe(200);
    const { body } = await user.get(`${path}?SeriesId=${SeriesId}`);
    expect((body['Items'] as Tree[]).map(({ Status }) => Status)).toEqual(Array(3).fill('Cancelled'));
  });
});

describe('POST bookings/{id}/check-in, /release, /extend', () => {
  test('200 for one that has begun: extended, checked in, released; 409 for what does not fit', async () => {
    const { id } = service.tenant.resources[1]!;
    expect((await admin.patch(`/resources/${id}`, { CheckInMinutes: 10 })).status).toBe(200);
    const now = Date.now();
    const [Start, End] = [now - 60_000, now + hour].map((instant) => new Date(instant).toISOString());
    const { Id, CheckIn } = await book({ ResourceId: id, Start, End });
    expect(CheckIn).toMatchObject({ Required: true, CheckedInAt: null });
    expect((await colleague.post(`${one(Id)}/check-in`, undefined)).status).toBe(403);
    const extended = await user.post(`${one(Id)}/extend`, { Minutes: 2 });
    expect([extended.status, extended.body['End']]).toEqual([200, new Date(now + hour + 2 * 60_000).toISOString()]);
    const checkedIn = await user.send('POST', `${one(Id)}/check-in`);
    expect([checkedIn.status, checkedIn.body['CheckIn']]).toMatchObject([200, { CheckedInAt: expect.any(String) }]);
    expect((await user.send('POST', `${one(Id)}/check-in`)).body).toEqual(checkedIn.body);
    expect(checkedIn.headers.get('etag')).toBe(`"${checkedIn.body['Version']}"`);
    const released = await user.send('POST', `${one(Id)}/release`);
    expect([released.status, released.body['Status']]).toEqual([200, 'Released']);
    for (const act of ['check-in', 'extend'])
      expect((await user.post(`${one(Id)}/${act}`, act === 'extend' ? { Minutes: 1 } : undefined)).status).toBe(409);
    for (const Minutes of [0, 1_441, 1.5, '1', undefined])
      expect((await user.post(`${one(Id)}/extend`, { Minutes })).status).toBe(422);
    expect((await user.send('POST', `${one(2_000_000_000)}/release`)).status).toBe(404);
  });
});

test('ids of bookings and series end where JSON does, not at 2^31', async () => {
  const first = 2 ** 52;
  for (const name of ['booking', 'booking_series'])
    await sql`select setval(pg_get_serial_sequence(${name}, 'id'), ${first})`.execute(service.context.db);
  const { Id, Version, Series } = await book({ RecurrenceRule: 'FREQ=WEEKLY;COUNT=2' });
  const { SeriesId, BookingIds } = Series as { SeriesId: number; BookingIds: number[] };
  expect(Math.min(Id, SeriesId)).toBeGreaterThan(first);
  expect((await user.get(one(Id))).body).toMatchObject({ Id, SeriesId });
  const ofSeries = (await user.get(`${path}?SeriesId=${SeriesId}`)).body['Items'];
  expect(ofSeries).toMatchObject(BookingIds.map((each) => ({ Id: each })));
  const changed = await user.patch(one(Id), { Subject: 'New' }, Version as number);
  expect([changed.status, changed.body['Subject']]).toEqual([200, 'New']);
  expect(
    await user.ask(`query { booking(id: "${Id}") { subject }
      bookings(filter: { seriesId: "${SeriesId}" }) { nodes { id } } }`),
  ).toEqual({
    data: { booking: { subject: 'New' }, bookings: { nodes: BookingIds.map((each) => ({ id: `${each}` })) } },
  });
  const { data } = await user.ask(`mutation { cancelBooking(id: "${Id}") { ... on Booking { status } } }`);
  expect(data).toEqual({ cancelBooking: { status: 'Cancelled' } });
  for (const id of [String(2 ** 53), '9'.repeat(16)]) {
    expect((await user.get(`${path}/${id}`)).status).toBe(404);
    expect(await user.ask(`query { booking(id: "${id}") { id } }`)).toEqual({ data: { booking: null } });
  }
});
