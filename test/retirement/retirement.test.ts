/** Retirement of a resource with its bookings: previewed, then kept, cancelled or moved, all or none. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { ahead } from '../_util/ahead.ts';
import { firstStored, insertBookings } from '../_util/bookings-table.ts';
import { pairDevice } from '../_util/displays.ts';
import { makeTenant } from '../_util/factories.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';

type Tree = Record<string, unknown>;
let service: Service;
let admin: MasterData;
let user: MasterData;
let room: number;
let target: number;
let made = 0;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  user = masterData(service, await service.signIn());
});
afterAll(() => service.stop());

const makeRoom = async (more: object = {}) =>
  (await admin.post('/resources', { LocationId: service.tenant.locationId, Name: `Room ${++made}`, ...more })).body[
    'Id'
  ] as number;
beforeEach(async () => {
  [room, target] = [await makeRoom(), await makeRoom({ CheckInMinutes: 10 })];
});

const monday = Date.parse(ahead('2027-06-07T00:00Z'));
const slot = (hour: number, day = 0) => new Date(monday + (24 * day + hour) * 3_600_000).toISOString();
async function book(hour: number, more: object = {}): Promise<number> {
  const wish = { ResourceId: room, Subject: 'Sitzung', Start: slot(hour), End: slot(hour + 1), ...more };
  const { status, body, text } = await admin.post('/bookings', wish);
  if (status !== 201) throw new Error(text);
  return body['Id'] as number;
}
const read = async (id: number) => (await admin.get(`/bookings/${id}`)).body;
const preview = async (of = room, caller = admin) => await caller.get(`/resources/${of}/retirement`);
const retire = (body: object, { of = room, version = 1 as number | '*', caller = admin } = {}) =>
  caller.send('POST', `/resources/${of}/retirement`, {
    body,
    headers: { 'If-Match': version === '*' ? '*' : `"${version}"`, 'X-Request-Id': `retire-${of}` },
  });

/** As imports and mail servers leave them; and one that is on. */
async function occupy(): Promise<Record<'lesson' | 'mailItem' | 'running', number>> {
  const { rows } = await sql<{ kind: string; id: number }>`
    insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
    values (${service.tenant.mandatorId}, ${room}, 'Lesson', 'Confirmed', 'Import', tstzrange(${slot(1)}, ${slot(2)})),
      (${service.tenant.mandatorId}, ${room}, 'MailItem', 'Confirmed', 'Mail', tstzrange(${slot(2)}, ${slot(3)})),
      (${service.tenant.mandatorId}, ${room}, 'Booking', 'Confirmed', 'Api', tstzrange(now() - interval '1 hour', now() + interval '1 hour'))
    returning kind, id`.execute(service.context.db);
  const of = (wanted: string) => rows.find(({ kind }) => kind === wanted)?.id as number;
  return { lesson: of('Lesson'), mailItem: of('MailItem'), running: of('Booking') };
}

test('the preview lists bookings that have not begun, displays of the room, and the version to retire', async () => {
  expect((await preview()).body).toEqual({
    Resource: expect.objectContaining({ Id: room, Active: true }),
    Bookings: 0,
    Series: 0,
    Blocks: 0,
    Lessons: 0,
    MailItems: 0,
    LastEnd: null,
    Displays: 0,
    HasMailCalendar: false,
    Version: 1,
    Digest: expect.any(String),
  });
  await occupy();
  await book(9, { RecurrenceRule: 'FREQ=DAILY;COUNT=3' });
  await book(12);
  await book(15, { Kind: 'Block', TeardownMinutes: 30, Start: slot(15, 9), End: slot(16, 9) });
  const cancelled = await book(18);
  await admin.send('DELETE', `/bookings/${cancelled}`);
  await pairDevice(service, admin, { ResourceIds: [room] });
  await sql`insert into mail_calendar (mandator_id, resource_id, kind, mailbox)
    values (${service.tenant.mandatorId}, ${room}, 'Graph', ${`r${room}@x.example`})`.execute(service.context.db);
  const { status, body } = await preview();
  expect([status, body]).toEqual([
    200,
    {
      Resource: (await admin.get(`/resources/${room}`)).body,
      Bookings: 4,
      Series: 1,
      Blocks: 1,
      Lessons: 1,
      MailItems: 1,
      LastEnd: slot(16.5, 9),
      Displays: 1,
      HasMailCalendar: true,
      Version: 1,
      Digest: expect.any(String),
    },
  ]);
  expect((await preview(room, user)).status).toBe(403);
  const foreign = await makeTenant(service.context.db, { code: `foreign-${room}` });
  for (const id of [2_000_000_000, foreign.resources[0]!.id]) expect((await preview(id)).status).toBe(404);
});

describe('a retirement', () => {
  test('keeps: the room is inactive, all bookings stay', async () => {
    const { running } = await occupy();
    const id = await book(9);
    const { status, body, headers } = await retire({ FutureBookings: 'Keep' });
    expect([status, headers.get('etag')]).toEqual([200, '"2"']);
    expect(body).toMatchObject({
      Resource: { Id: room, Active: false, Version: 2 },
      Kept: { Bookings: 1, Lessons: 1, MailItems: 1, Blocks: 0 },
      Cancelled: 0,
      Moved: 0,
      Conflicts: [],
      Version: 2,
    });
    for (const each of [id, running]) expect(await read(each)).toMatchObject({ Status: 'Confirmed', ResourceId: room });
  });

  test('cancels bookings and blocks that have not begun; what is on and what others own stays; the audit tells', async () => {
    const { lesson, mailItem, running } = await occupy();
    const ids = [await book(9), await book(12, { Kind: 'Block' })];
    expect((await retire({ FutureBookings: 'Cancel' })).body).toMatchObject({
      Cancelled: 2,
      Kept: { Bookings: 0, Blocks: 0, Lessons: 1, MailItems: 1 },
    });
    for (const id of ids) expect(await read(id)).toMatchObject({ Status: 'Cancelled', Version: 2 });
    for (const id of [lesson, mailItem, running])
      expect(await read(id)).toMatchObject({ Status: 'Confirmed', Version: 1 });
    const acts = (await admin.get(`/audit?Subject=Resource&SubjectId=${room}`)).body['Items'] as Tree[];
    expect(acts.find(({ Action }) => Action === 'retire resource')).toMatchObject({
      RequestId: `retire-${room}`,
      Changes: expect.arrayContaining([
        { Member: 'FutureBookings', From: null, To: 'Cancel' },
        { Member: 'Cancelled', From: null, To: '2' },
      ]),
    });
  });

  test('moves bookings to another room at their times, with the check-in of that room; series and their rules too', async () => {
    const { lesson } = await occupy();
    const single = await book(9, { SetupMinutes: 15 });
    const first = await book(12, { RecurrenceRule: 'FREQ=DAILY;COUNT=2' });
    const block = await book(15, { Kind: 'Block' });
    const { body } = await retire({ FutureBookings: 'Move', ResourceId: target });
    expect(body).toMatchObject({ Moved: 3, Cancelled: 0, Kept: { Bookings: 0, Blocks: 1, Lessons: 1 }, Conflicts: [] });
    expect(await read(single)).toMatchObject({
      ResourceId: target,
      Start: slot(9),
      SetupMinutes: 15,
      Status: 'Confirmed',
      Version: 2,
      CheckIn: { From: slot(8.75), CheckedInAt: null },
    });
    expect(await read(first)).toMatchObject({ ResourceId: target, RecurrenceRule: 'FREQ=DAILY;COUNT=2' });
    for (const id of [lesson, block]) expect(await read(id)).toMatchObject({ ResourceId: room, Version: 1 });
  });

  test('moves a request as a request: it has no check-in before it is approved', async () => {
    const policy = await admin.post('/policies', { Name: `Asks ${room}`, NeedsApproval: true });
    await admin.patch(`/resources/${room}`, { PolicyId: policy.body['Id'] });
    const wish = { ResourceId: room, Subject: 'Antrag', Start: slot(9), End: slot(10) };
    const id = (await user.post('/bookings', wish)).body['Id'] as number;
    expect((await retire({ FutureBookings: 'Move', ResourceId: target }, { version: 2 })).body).toMatchObject({
      Moved: 1,
    });
    expect(await read(id)).toMatchObject({ ResourceId: target, Status: 'Requested', CheckIn: null, Version: 2 });
    const { body } = await admin.send('POST', `/bookings/${id}/decide`, {
      body: { Verdict: 'Approved' },
      headers: { 'If-Match': '"2"' },
    });
    expect(body).toMatchObject({ Status: 'Confirmed', CheckIn: { From: expect.any(String), CheckedInAt: null } });
  });

  test('409 with what is in the way, and nothing is done; with Skip those stay', async () => {
    const [free, met] = [await book(9), await book(12)];
    const inTheWay = await book(12, { ResourceId: target });
    const refused = await retire({ FutureBookings: 'Move', ResourceId: target });
    expect(refused).toMatchObject({
      status: 409,
      body: { Code: 'Conflict', Conflicts: [{ BookingId: inTheWay, ResourceId: target, WantedStart: slot(12) }] },
    });
    expect((await preview()).body).toMatchObject({ Bookings: 2, Version: 1, Resource: { Active: true } });
    expect((await read(free))['ResourceId']).toBe(room);
    const skipped = await retire({ FutureBookings: 'Move', ResourceId: target, ConflictHandling: 'Skip' });
    expect(skipped.body).toMatchObject({ Moved: 1, Kept: { Bookings: 1 }, Conflicts: [{ BookingId: inTheWay }] });
    expect([(await read(free))['ResourceId'], (await read(met))['ResourceId']]).toEqual([target, room]);
    // What was kept can be cancelled later.
    expect((await retire({ FutureBookings: 'Cancel' }, { version: 2 })).body).toMatchObject({
      Cancelled: 1,
      Version: 2,
    });
  });

  test('404, 409, 412, 422, 428, 403', async () => {
    const inactive = await makeRoom();
    await admin.patch(`/resources/${inactive}`, { Active: false });
    const foreign = await makeTenant(service.context.db, { code: `targets-${room}` });
    const Move = { FutureBookings: 'Move' };
    const refusals: [number, object, Parameters<typeof retire>[1]?][] = [
      [403, { FutureBookings: 'Keep' }, { caller: user }],
      [404, { FutureBookings: 'Keep' }, { of: 2_000_000_000 }],
      [404, { FutureBookings: 'Keep' }, { of: foreign.resources[0]!.id }],
      [409, { ...Move, ResourceId: inactive }],
      [412, { FutureBookings: 'Keep' }, { version: 2 }],
      [422, {}],
      [422, { FutureBookings: 'Delete' }],
      [422, Move],
      [422, { FutureBookings: 'Cancel', ResourceId: target }],
      [422, { ...Move, ResourceId: room }],
      [422, { ...Move, ResourceId: 2_000_000_000 }],
      [422, { ...Move, ResourceId: foreign.resources[0]!.id }],
    ];
    for (const [status, body, options] of refusals) {
      const answer = await retire(body, options);
      expect([answer.status, body]).toEqual([status, body]);
    }
    const without = await admin.send('POST', `/resources/${room}/retirement`, { body: { FutureBookings: 'Keep' } });
    expect(without.status).toBe(428);
    expect((await admin.get(`/resources/${room}`)).body).toMatchObject({ Active: true, Version: 1 });
  });

  test('with the ETag of the preview only while the preview is still right; with that of the room whatever is booked', async () => {
    const tagOf = async () => (await preview()).headers.get('etag') as string;
    const send = (tag: string) =>
      admin.send('POST', `/resources/${room}/retirement`, {
        body: { FutureBookings: 'Keep' },
        headers: { 'If-Match': tag },
      });
    const own = (await admin.get(`/resources/${room}`)).headers.get('etag') as string;
    const first = await book(9);
    const tagOfFirst = async () => ({
      'If-Match': (await admin.get(`/bookings/${first}`)).headers.get('etag') as string,
    });
    const changes = [
      () => book(12),
      async () =>
        admin.send('PATCH', `/bookings/${first}`, { body: { Subject: 'Andere' }, headers: await tagOfFirst() }),
      () => admin.send('DELETE', `/bookings/${first}`),
      () => occupy(),
      () => pairDevice(service, admin, { ResourceIds: [room] }),
    ];
    for (const change of changes) {
      const seen = await tagOf();
      await change();
      expect(await tagOf()).not.toBe(seen);
      expect(await send(seen)).toMatchObject({ status: 412, body: { Code: 'PreconditionFailed' } });
    }
    const seen = await tagOf();
    expect(await send(`${seen.slice(0, -1)}-gzip"`)).toMatchObject({ status: 200, body: { Version: 2 } });
    expect((await send(seen)).status).toBe(412);
    expect((await send(own)).status).toBe(412);
    expect((await admin.patch(`/resources/${room}`, { Active: true })).status).toBe(200);
    const tag = (await admin.get(`/resources/${room}`)).headers.get('etag') as string;
    await book(20);
    expect((await send(tag)).status).toBe(200);
  });

  test('at the same time as bookings of both rooms: none is lost, none is double', async () => {
    const { mandatorId } = service.tenant;
    await insertBookings(service.context.db, mandatorId, room, { count: 40, first: 5_000 });
    const wish = (ResourceId: number, number: number) => ({
      ResourceId,
      Subject: 'Rivale',
      Start: new Date(firstStored + (5_000 + number) * 3_600_000).toISOString(),
      End: new Date(firstStored + (5_001 + number) * 3_600_000).toISOString(),
    });
    const [done, ...booked] = await Promise.all([
      retire({ FutureBookings: 'Move', ResourceId: target, ConflictHandling: 'Skip' }),
      ...[2, 7, 11].map((number) => admin.post('/bookings', wish(target, number))),
    ]);
    const won = booked.filter(({ status }) => status === 201).length;
    expect(done.body).toMatchObject({ Moved: 40 - won, Kept: { Bookings: won } });
    expect((done.body['Conflicts'] as Tree[]).length).toBe(won);
    const { rows } = await sql<{ count: number }>`
      select count(*)::int from booking where resource_id in (${room}, ${target}) and status = 'Confirmed'`.execute(
      service.context.db,
    );
    expect(rows[0]).toEqual({ count: 40 + won });
  });
});

test('over GraphQL: the same preview, and the same outcomes', async () => {
  await book(9);
  const { data } = await admin.ask(
    'query ($id: ID!) { retirementPreview(resourceId: $id) { bookings series blocks lessons mailItems lastEnd displays hasMailCalendar version digest resource { name } } }',
    { id: String(room) },
  );
  expect(data?.['retirementPreview']).toMatchObject({
    bookings: 1,
    series: 0,
    lastEnd: slot(10),
    displays: 0,
    hasMailCalendar: false,
    version: 1,
    resource: { name: (await admin.get(`/resources/${room}`)).body['Name'] },
  });
  expect(await admin.ask('{ retirementPreview(resourceId: "2000000000") { version } }')).toEqual({
    data: { retirementPreview: null },
  });
  const mutation = `mutation ($id: ID!, $version: Int!, $digest: String, $input: RetireResourceInput!) {
    retireResource(id: $id, version: $version, digest: $digest, input: $input) { __typename
      ... on Retired { moved cancelled kept { bookings } conflicts { bookingId } resource { active } version }
      ... on Problem { code } ... on ConflictProblem { conflicts { wantedStart } } } }`;
  const outcome = async (
    input: object,
    { version = 1, caller = admin, id = String(room), digest = null as unknown } = {},
  ) => (await caller.ask(mutation, { id, version, digest, input })).data?.['retireResource'];
  await book(9, { ResourceId: target });
  const move = { futureBookings: 'Move', resourceId: String(target) };
  expect(await outcome(move, { caller: user })).toMatchObject({ __typename: 'ForbiddenProblem' });
  expect(await outcome(move, { version: 7 })).toMatchObject({ __typename: 'VersionProblem' });
  expect(await outcome(move, { id: '2000000000' })).toMatchObject({ __typename: 'NotFoundProblem' });
  expect(await outcome({ futureBookings: 'Move' })).toMatchObject({ __typename: 'ValidationProblem' });
  expect(await outcome(move)).toMatchObject({ __typename: 'ConflictProblem', conflicts: [{ wantedStart: slot(9) }] });
  await book(15);
  const { digest } = (data as { retirementPreview: Tree }).retirementPreview;
  expect(await outcome({ futureBookings: 'Keep' }, { digest })).toMatchObject({ __typename: 'VersionProblem' });
  expect(await outcome({ futureBookings: 'Cancel' })).toEqual({
    __typename: 'Retired',
    moved: 0,
    cancelled: 2,
    kept: { bookings: 0 },
    conflicts: [],
    version: 2,
    resource: { active: false },
  });
});
