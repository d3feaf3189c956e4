/** Changes of the tenant itself, of where a resource is, and of a person's address; over REST and GraphQL. */

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ahead } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let user: MasterData;
let display: MasterData;

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const { tenant } = service;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  display = masterData(service, await service.signIn(tenant, 'Display'));
});
afterAll(() => service.stop());

const versionOf = async () => (await admin.get('/tenant')).body['Version'] as number;
const audited = async (requestId: string) =>
  (await service.context.db.selectFrom('audit').where('request_id', '=', requestId).selectAll().execute()).map(
    ({ action, subject_id, person_id }) => ({ action, subject_id, person_id }),
  );

describe('the tenant', () => {
  test('is read by all but displays, and changed by Admins in its version, with a trace', async () => {
    const { status, body, headers } = await user.get('/tenant');
    const Parameters = {
      PinAuthenticationAllowed: true,
      UsersMayImport: true,
      CalendarWriting: 'Off',
      CalendarEdits: 'PutBack',
      DeclineConflicts: false,
    };
    expect([status, body]).toEqual([
      200,
      { Mandator: 'school', Name: 'school', Parameters, Colour: null, Logo: null, Version: 1 },
    ]);
    expect(headers.get('etag')).toBe('"1"');
    expect((await display.get('/tenant')).status).toBe(403);
    for (const caller of [user, display]) expect((await caller.patch('/tenant', { Name: 'Mine' })).status).toBe(403);

    const changed = await admin.send('PATCH', '/tenant', {
      body: { name: ' Gymnasium  Nord ', parameters: { usersMayImport: false } },
      headers: { 'If-Match': '"1"', 'X-Request-Id': 'tenant-1' },
    });
    const now = {
      Mandator: 'school',
      Name: 'Gymnasium  Nord',
      Parameters: { ...Parameters, UsersMayImport: false },
      Colour: null,
      Logo: null,
    };
    expect(changed.body).toEqual({ ...now, Version: 2 });
    expect(await audited('tenant-1')).toEqual([
      {
        action: 'change tenant',
        subject_id: service.tenant.mandatorId,
        person_id: service.tenant.person('Admin').id,
      },
    ]);
    expect((await admin.patch('/tenant', { Name: 'Late' }, 1)).status).toBe(412);
    expect((await admin.send('PATCH', '/tenant', { body: {} })).status).toBe(428);
    expect((await admin.patch('/tenant', { Name: 'Gymnasium  Nord' }, 2)).body).toEqual({ ...now, Version: 2 });
    await until(
      async () => (await user.send('POST', '/../v2.0/jobs/create', { body: [{ JobID: 'J' }] })).status === 403,
    );
  });

  test('keeps PINs: what could lock everybody out is the operator’s, and may be sent back as it is', async () => {
    const version = await versionOf();
    const refused = await admin.patch('/tenant', { Parameters: { PinAuthenticationAllowed: false } });
    expect(refused).toMatchObject({
      status: 422,
      body: { Errors: [{ Field: 'PinAuthenticationAllowed', Code: 'OperatorOnly' }] },
    });
    expect(refused.body['detail']).toContain('roomgate parameter set --mandator school PinAuthenticationAllowed false');
    expect((await admin.patch('/tenant', { Parameters: { PinAuthenticationAllowed: true } })).body).toMatchObject({
      Version: version,
    });
    for (const wrong of [{ Name: '' }, { Mandator: 'other' }, { Parameters: { Owner: true } }, { Parameters: [] }])
      expect((await admin.patch('/tenant', wrong)).status).toBe(422);
  });

  test('has a colour and a logo, which anybody may see and no browser runs; others than bounded pictures are refused', async () => {
    const png = (width: number, height: number, bytes = 64) => {
      const picture = Buffer.alloc(bytes);
      picture.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);
      picture.write('IHDR', 12);
      picture.writeUInt32BE(width, 16);
      picture.writeUInt32BE(height, 20);
      return picture;
    };
    const jpeg = Buffer.from(`ffd8ffe00004aaaaffc0000b080014002801011100${'00'.repeat(20)}`, 'hex');
    const webp = Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBPVP8X', 'latin1'), Buffer.alloc(20)]);
    const url = (type: string, bytes: Buffer) => `data:image/${type};base64,${bytes.toString('base64')}`;
    const address = `${service.url}/school/logo`;
    expect((await fetch(address)).status).toBe(404);
    for (const [type, bytes] of [
      ['jpeg', jpeg],
      ['webp', webp],
      ['png', png(2_000, 1)],
    ] as const) {
      const { status, body } = await admin.patch('/tenant', { Colour: '#1E6B47', Logo: url(type, bytes) });
      expect([status, body]).toMatchObject([200, { Colour: '#1e6b47', Logo: url(type, bytes) }]);
      const answer = await fetch(address);
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': `image/${type}`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; style-src 'none'; sandbox",
      });
      const again = await fetch(address, { headers: { 'If-None-Match': String(answer.headers.get('etag')) } });
      expect(again.status).toBe(304);
    }
    const version = await versionOf();
    for (const wrong of [
      ...[{ Colour: 'red' }, { Colour: '#12345' }, { Logo: 'https://elsewhere.example/logo.png' }, { Logo: '' }],
      { Logo: url('svg+xml', Buffer.from('<svg onload="alert(1)"/>')) },
      { Logo: url('png', Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`)) },
      ...[png(2_001, 1), png(1, 2_001), png(0, 1), png(1, 1, 65_537), jpeg].map((bytes) => ({
        Logo: url('png', bytes),
      })),
      { Logo: url('jpeg', jpeg.subarray(0, 12)) },
      { Logo: url('jpeg', Buffer.concat([Buffer.from('ffd8', 'hex'), Buffer.alloc(60_000, 0xff)])) },
      { Logo: url('webp', png(1, 1)) },
    ])
      expect([wrong, (await admin.patch('/tenant', wrong)).status]).toEqual([wrong, 422]);
    expect(await versionOf()).toBe(version);
    // The audit keeps the name of a picture, not the picture.
    const { changes } = await service.context.db
      .selectFrom('audit')
      .where('action', '=', 'change tenant')
      .orderBy('id', 'desc')
      .select('changes')
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(changes)).toMatch(/"to":"[0-9a-f]{22}"/);
    expect(JSON.stringify(changes)).not.toContain('base64');
    const cleared = await admin.patch('/tenant', { Colour: null, Logo: null });
    expect(cleared.body).toMatchObject({ Colour: null, Logo: null, Version: version + 1 });
    expect((await fetch(address)).status).toBe(404);
    expect((await fetch(`${service.url}/nobody/logo`)).status).toBe(404);
    expect((await fetch(address, { method: 'POST' })).status).toBe(405);
  });

  test('is the same over GraphQL', async () => {
    const members =
      'mandator name parameters { pinAuthenticationAllowed usersMayImport calendarWriting calendarEdits declineConflicts } colour logo version';
    const change = `mutation ($version: Int!, $input: ChangeTenantInput!) { changeTenant(version: $version, input: $input) {
      __typename ... on Tenant { ${members} } ... on Problem { code } ... on ValidationProblem { errors { code pointer } } } }`;
    const version = await versionOf();
    const { data } = await user.ask(`{ tenant { ${members} } }`);
    const { body } = await user.get('/tenant', { 'X-JsonPropertyFormat': 'camel' });
    expect(data?.['tenant']).toEqual(body);
    const outcome = async (input: object, caller = admin, of = version) =>
      (await caller.ask(change, { version: of, input })).data?.['changeTenant'];
    expect(await outcome({ name: 'Over GraphQL', parameters: { usersMayImport: true } })).toMatchObject({
      __typename: 'Tenant',
      name: 'Over GraphQL',
      version: version + 1,
      parameters: { pinAuthenticationAllowed: true, usersMayImport: true },
    });
    expect(await outcome({ name: 'Late' })).toMatchObject({ __typename: 'VersionProblem' });
    expect(await outcome({ name: 'Mine' }, user)).toMatchObject({ __typename: 'ForbiddenProblem' });
    expect(await outcome({ parameters: { pinAuthenticationAllowed: false } }, admin, version + 1)).toMatchObject({
      __typename: 'ValidationProblem',
      errors: [{ code: 'OperatorOnly', pointer: '/input/parameters/pinAuthenticationAllowed' }],
    });
  });

  test('has a new version after the operator’s change of a parameter', async () => {
    const version = await versionOf();
    const { db } = service.context;
    const parameters = { PinAuthenticationAllowed: true, UsersMayImport: false };
    await db
      .updateTable('mandator')
      .set({ parameters: JSON.stringify(parameters) })
      .where('code', '=', 'school')
      .execute();
    expect((await admin.get('/tenant')).body).toMatchObject({ Version: version + 1, Parameters: parameters });
  });
});

describe('a resource at another location', () => {
  const week = { Weekdays: [1, 2, 3, 4, 5, 6, 7], Opens: '08:00', Closes: '18:00' };
  let campus: number;
  let tokyo: number;
  let room: number;
  const path = () => `/resources/${room}`;
  const make = async (of: string, body: object) => (await admin.post(of, body)).body['Id'] as number;
  const replace = (kind: string, Items: object[]) =>
    admin.send('PUT', `/opening-hours/${room}/${kind}`, { body: { Items }, headers: { 'If-Match': '*' } });
  const opensAt = async (at: number) => {
    const { body } = await admin.get(ahead(`/opening-hours/all/${at}?From=2027-03-01&To=2027-03-01`), {
      'X-timezone-locationId': String(at),
    });
    const resources = body['Resources'] as { ResourceId: number; Intervals: { Start: string }[] }[];
    return resources.find(({ ResourceId }) => ResourceId === room)?.Intervals.map(({ Start }) => Start);
  };

  beforeAll(async () => {
    campus = service.tenant.locationId;
    tokyo = await make('/locations', { Name: 'Tokyo', TimeZone: 'Asia/Tokyo' });
    room = await make('/resources', { LocationId: campus, Name: 'Wandering' });
  });

  test('keeps its bookings at their instants and its own hours at their clock times; the feed tells', async () => {
    expect((await replace('rules', [week])).status).toBe(200);
    const Items = [
      { FromDate: ahead('2027-03-02'), ToDate: ahead('2027-03-02'), Closed: true, Periods: [], Reason: null },
    ];
    const exceptions = await replace('exceptions', Items);
    const booked = await admin.post('/bookings', {
      ResourceId: room,
      Subject: 'Stays',
      Start: ahead('2027-03-01T09:00:00Z'),
      End: ahead('2027-03-01T10:00:00Z'),
      RecurrenceRule: 'FREQ=DAILY;COUNT=3',
    });
    expect(booked.status).toBe(201);
    const before = (await admin.get('/changes')).body['NextCursor'];

    const moved = await admin.patch(path(), { LocationId: tokyo }, 1);
    expect(moved.body).toMatchObject({ LocationId: tokyo, Version: 2 });

    const booking = (await admin.get(`/bookings/${booked.body['Id']}`)).body;
    expect(booking).toMatchObject({
      Start: ahead('2027-03-01T09:00:00.000Z'),
      LocationId: tokyo,
      TimeZone: 'Asia/Tokyo',
      Version: booked.body['Version'],
    });
    expect([await opensAt(campus), await opensAt(tokyo)]).toEqual([undefined, [ahead('2027-02-28T23:00:00.000Z')]]);
    expect((await admin.get(`/opening-hours/${room}/exceptions`)).body).toEqual({
      ...exceptions.body,
      LocationId: tokyo,
      Items: [expect.objectContaining({ LocationId: tokyo, FromDate: ahead('2027-03-02') })],
    });
    const told = (await admin.get(`/changes?Cursor=${before}`)).body['Items'];
    expect(told).toContainEqual(expect.objectContaining({ Kind: 'Resource', Action: 'Changed', Id: room }));

    // Now in a series a new time is a clock time of Tokyo: 09:00Z is 18:00 there.
    const later = await admin.send('PATCH', `/bookings/${booked.body['Id']}?Scope=All`, {
      body: { Start: ahead('2027-03-01T10:00:00Z'), End: ahead('2027-03-01T11:00:00Z') },
      headers: { 'If-Match': '*' },
    });
    expect(later.status).toBe(200);
  });

  test('has the hours of the new location where it has none itself', async () => {
    expect((await replace('rules', [])).status).toBe(200);
    expect((await replace('exceptions', [])).status).toBe(200);
    expect(await opensAt(tokyo)).toEqual([]);
    expect((await admin.patch(path(), { LocationId: campus })).status).toBe(200);
    expect(await opensAt(campus)).toEqual([]);
  });

  test('422 for a location that there is not, 409 for one that is retired or has the name', async () => {
    const foreign = await makeTenant(service.context.db, { code: 'moves' });
    for (const LocationId of [foreign.locationId, 2_000_000_000])
      expect(await admin.patch(path(), { LocationId })).toMatchObject({
        status: 422,
        body: { Errors: [{ Code: 'UnknownLocation', Pointer: '/LocationId' }] },
      });
    const retired = await make('/locations', { Name: 'Old wing', TimeZone: 'Europe/Berlin' });
    await admin.patch(`/locations/${retired}`, { Active: false });
    expect((await admin.patch(path(), { LocationId: retired })).status).toBe(409);
    await make('/resources', { LocationId: tokyo, Name: 'WANDERING' });
    expect((await admin.patch(path(), { LocationId: tokyo })).status).toBe(409);
    expect((await admin.patch(path(), { LocationId: tokyo, Name: 'Wandering 2' })).status).toBe(200);
  });

  test('of a retirement of the location and a move to it at one time, no active resource is at a retired location', async () => {
    for (let round = 0; round < 4; round++) {
      const target = await make('/locations', { Name: `Race ${round}`, TimeZone: 'UTC' });
      const statuses = (
        await Promise.all([
          admin.patch(path(), { LocationId: target }),
          admin.patch(`/locations/${target}`, { Active: false }),
        ])
      ).map(({ status }) => status);
      expect(statuses.toSorted()).toEqual([200, 409]);
    }
  });
});

describe('a person of another address', () => {
  const make = async (more: object) => {
    const person = { Name: 'Grace', TimeZone: 'UTC', Role: 'User', ...more };
    return (await admin.post('/persons', person)).body as { Id: number };
  };

  test('keeps PINs and tokens; the address is unique in the tenant, in any case', async () => {
    const { Id } = await make({ Email: 'grace@school.example' });
    await make({ Email: 'taken@school.example' });
    const token = await service.signIn({
      ...service.tenant,
      person: () => ({ id: Id, email: '', role: '', name: '' }),
    });
    const grace = masterData(service, token);
    const path = `/persons/${Id}`;
    expect((await admin.patch(path, { Email: ' TAKEN@school.example' })).status).toBe(409);
    expect((await admin.patch(path, { Email: 'nobody' })).status).toBe(422);
    expect((await grace.patch(path, { Email: 'g@school.example' })).status).toBe(403);
    expect((await admin.patch(path, { Email: 'Grace.Hopper@school.example' }, 1)).body).toMatchObject({
      Email: 'Grace.Hopper@school.example',
      Version: 2,
    });
    expect((await grace.get('/persons/me')).body).toMatchObject({ Id, Email: 'Grace.Hopper@school.example' });
    const foreign = await makeTenant(service.context.db, { code: 'addresses' });
    expect((await admin.patch(path, { Email: foreign.person('User').email })).status).toBe(200);
    // Only the case is another one.
    expect((await admin.patch(path, { Email: foreign.person('User').email.toUpperCase() })).status).toBe(200);
  });

  test('of two persons who want one address at one time, one gets it', async () => {
    const [one, other] = [await make({ Email: 'one@school.example' }), await make({ Email: 'other@school.example' })];
    const answers = await Promise.all(
      [one, other].map(({ Id }) => admin.patch(`/persons/${Id}`, { Email: 'wanted@school.example' })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });
});
