import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RawBuilder, sql } from 'kysely';
import type { Viewer } from '../../src/context.ts';
import { openIdentity, viewerOfDisplay } from '../../src/identity/service.ts';
import { releaseClock, setClock } from '../_util/clock.ts';
import { askForPairing, type Device, pairDevice } from '../_util/displays.ts';
import { makeTenant } from '../_util/factories.ts';
import { lockedBy } from '../_util/hold.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { startIdentity } from '../identity/_util/identity.ts';

let service: Service;
let admin: MasterData;
let user: MasterData;
let display: Device;
let rooms: number[];

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['R001', 'R002', 'R003']);
  const { tenant } = service;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  rooms = tenant.resources.map(({ id }) => id);
  display = await pairDevice(service, admin, { Name: 'First' });
});
afterAll(() => service.stop());

const at = ({ id }: Device) => `/displays/${id}`;
const grantOf = (device: Device) =>
  viewerOfDisplay(openIdentity(service.context), device.token, '').then((viewer) => viewer.display);

describe('GET displays', () => {
  test('lists those of the tenant, for Admins', async () => {
    const second = await pairDevice(service, admin, { Name: 'Second' });
    const first = (await admin.get('/displays?Limit=1')).body;
    expect(first).toMatchObject({ Items: [{ Id: display.id }], NextCursor: expect.any(String) });
    const next = (await admin.get(`/displays?Limit=1&Cursor=${first['NextCursor']}`)).body;
    expect(next).toMatchObject({ Items: [{ Id: second.id, Name: 'Second' }], NextCursor: null });
    const query = 'query { displays(first: 1, after: null) { nodes { id name health { program } } } }';
    expect((await admin.ask(query)).data).toEqual({
      displays: { nodes: [{ id: String(display.id), name: 'First', health: null }] },
    });
    expect(await user.ask(query)).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
  });

  test('403 for anybody but an Admin, also for unknown ids', async () => {
    for (const caller of [user, display])
      for (const path of ['/displays', at(display), '/displays/2000000000']) {
        expect((await caller.get(path)).status).toBe(403);
        if (path === '/displays') continue;
        expect((await caller.patch(path, { MayBook: true })).status).toBe(403);
        expect((await caller.send('DELETE', path)).status).toBe(403);
      }
  });

  test('404 for the display of another tenant', async () => {
    const other = await makeTenant(service.context.db, { code: 'stranger' });
    const stranger = masterData(service, await service.signIn(other, 'Admin'), 'stranger');
    for (const path of [at(display), '/displays/2000000000', '/displays/nobody']) {
      expect((await stranger.get(path)).status).toBe(404);
      expect((await stranger.patch(path, { MayBook: true })).status).toBe(404);
      expect((await stranger.send('DELETE', path)).status).toBe(404);
    }
  });
});

describe('PATCH displays/{id}', () => {
  test('changes what is sent, in the version of its ETag, and what it may do counts at once', async () => {
    const device = await pairDevice(service, admin);
    expect(await grantOf(device)).toMatchObject({
      mayBook: false,
      privacy: 'Title',
      resourceIds: [rooms[0]],
    });
    const read = await admin.get(at(device));
    const etag = String(read.headers.get('etag'));
    expect(etag).toMatch(/^"1-[\w-]+"$/);
    expect((await admin.get(at(device), { 'If-None-Match': etag })).status).toBe(304);
    const body = { Name: 'Renamed', MayBook: true, Privacy: 'BusyOnly', ResourceIds: [rooms[1], rooms[2]] };
    const changed = await admin.send('PATCH', at(device), { body, headers: { 'If-Match': etag } });
    expect(changed).toMatchObject({ status: 200, body: { ...body, Version: 2 } });
    expect(await grantOf(device)).toMatchObject({
      mayBook: true,
      privacy: 'BusyOnly',
      resourceIds: [rooms[1], rooms[2]],
    });
    await until(async () => (await device.get('/displays/self')).text.includes('Renamed'));
    expect((await admin.send('PATCH', at(device), { body, headers: { 'If-Match': etag } })).status).toBe(412);
    expect((await admin.send('PATCH', at(device), { body })).status).toBe(428);
    const again = { ...body, ResourceIds: [rooms[2], rooms[1], rooms[2]] };
    const same = await admin.patch(at(device), again, 2);
    expect(same.body['Version']).toBe(2);
    expect((await admin.patch(at(device), { ResourceIds: [rooms[0]] })).body).toMatchObject({ Version: 3 });
  });

  test('of a location all rooms in use belong to it, as they come and go', async () => {
    const { mandatorId, locationId } = service.tenant;
    const device = await pairDevice(service, admin, { ResourceIds: [], LocationId: locationId });
    expect((await grantOf(device))?.resourceIds).toEqual(rooms);
    await sql`update resource set active = false where id = ${rooms[2]}`.execute(service.context.db);
    expect((await grantOf(device))?.resourceIds).toEqual(rooms.slice(0, 2));
    await sql`update resource set active = true where id = ${rooms[2]}`.execute(service.context.db);
    const none = await admin.patch(at(device), { LocationId: null });
    expect(none).toMatchObject({ status: 422, body: { Errors: [{ Pointer: '/ResourceIds' }] } });
    const moved = await admin.patch(at(device), { LocationId: null, ResourceIds: [rooms[0]] });
    expect(moved).toMatchObject({ status: 200, body: { LocationId: null, Resources: [{ Name: 'R001' }] } });
    const { rows } = await sql`
      select from display_resource where mandator_id = ${mandatorId} and display_id = ${device.id}`.execute(
      service.context.db,
    );
    expect(rows).toHaveLength(1);
  });

  test('of a location is notified at once of rooms that are added or leave, so that its streams are reopened', async () => {
    const { mandatorId, locationId } = service.tenant;
    const device = await pairDevice(service, admin, { ResourceIds: [], LocationId: locationId });
    const heard = await service.context.notifications.subscribe('display');
    const write = (statement: RawBuilder<unknown>) => statement.execute(service.context.db);
    for (const statement of [
      sql`insert into resource (mandator_id, location_id, name) values (${mandatorId}, ${locationId}, 'New')`,
      sql`update resource set active = true where mandator_id = ${mandatorId} and name = 'New'`,
      sql`with annex as (
          insert into location (mandator_id, name, time_zone) values (${mandatorId}, 'Moved to', 'UTC') returning id)
        update resource set location_id = annex.id from annex where mandator_id = ${mandatorId} and resource.name = 'New'`,
      sql`update resource set location_id = ${locationId} where mandator_id = ${mandatorId} and name = 'New'`,
    ]) {
      await write(statement);
      expect([...((await heard.next())?.keys ?? [])]).toContain(String(device.id));
      await write(sql`update resource set active = false where mandator_id = ${mandatorId} and name = 'New'`);
    }
    heard.close();
  });

  test('422 and 409 for rooms that it cannot have', async () => {
    const faults: [object, string][] = [
      [{ ResourceIds: [] }, 'MissingField'],
      [{ ResourceIds: [2_000_000_000] }, 'UnknownResource'],
      [{ LocationId: 2_000_000_000 }, 'UnknownLocation'],
      [{ Name: '' }, 'InvalidValue'],
      [{ Code: 'X' }, 'UnknownField'],
    ];
    for (const [body, Code] of faults)
      expect(await admin.patch(at(display), body)).toMatchObject({
        status: 422,
        body: { Errors: [{ Code }] },
      });
    await sql`update resource set active = false where id = ${rooms[2]}`.execute(service.context.db);
    expect((await admin.patch(at(display), { ResourceIds: [rooms[2]] })).status).toBe(409);
    await sql`update resource set active = true where id = ${rooms[2]}`.execute(service.context.db);
  });

  test('locks the location before the rooms, as tenant files do, so that neither waits for the other', async () => {
    const device = await pairDevice(service, admin);
    const changes = { ResourceIds: [rooms[1]], LocationId: service.tenant.locationId };
    expect(await lockedBy(() => admin.patch(at(device), changes))).toEqual(['display', 'location', 'resource']);
  });

  test('changeDisplay over GraphQL', async () => {
    const device = await pairDevice(service, admin);
    const change = `mutation ($id: ID!, $version: Int!, $input: ChangeDisplayInput!) {
      changeDisplay(id: $id, version: $version, input: $input) {
        __typename ... on Display { name resourceIds version } ... on Problem { code } } }`;
    const outcome = async (variables: object, caller = admin) =>
      (await caller.ask(change, { id: String(device.id), version: 1, ...variables })).data?.['changeDisplay'];
    const input = { name: 'G', resourceIds: [String(rooms[2])] };
    expect(await outcome({ input }, user)).toMatchObject({ __typename: 'ForbiddenProblem' });
    expect(await outcome({ input, id: '2000000000' })).toMatchObject({ __typename: 'NotFoundProblem' });
    expect(await outcome({ input, version: 2 })).toMatchObject({ __typename: 'VersionProblem' });
    expect(await outcome({ input: { name: '' } })).toMatchObject({ __typename: 'ValidationProblem' });
    expect(await outcome({ input })).toEqual({ __typename: 'Display', ...input, version: 2 });
  });
});

describe('a revoked display', () => {
  test('is refused at once on every process, with its person, as one that is changed is changed; again is no error', async () => {
    const device = await pairDevice(service, admin);
    const other = await startIdentity(service.databaseUrl);
    try {
      (await other.context.notifications.subscribe('listening')).close();
      const elsewhere = async () => (await other.call(`Bearer ${device.token}`)).status;
      // With the clock stopped, nothing but the notification can end what is believed.
      setClock(Date.now());
      expect(await elsewhere()).toBe(200);
      expect((await device.get('/displays/self')).status).toBe(200);
      await admin.patch(at(device), { MayBook: true });
      const grant = async () => ((await (await other.call(`Bearer ${device.token}`)).json()) as Viewer).display;
      await until(async () => (await grant())?.mayBook === true);
      const revoked = await admin.send('DELETE', at(device));
      expect(revoked).toMatchObject({ status: 200, body: { RevokedAt: expect.any(String), Version: 3 } });
      await until(async () => (await elsewhere()) === 401);
      await until(async () => (await device.get('/displays/self')).status === 401);
      expect((await admin.send('DELETE', at(device))).text).toBe(revoked.text);
      expect((await admin.get(`/persons/${device.personId}`)).body).toMatchObject({ Active: false });
      expect((await admin.patch(at(device), { MayBook: true })).status).toBe(409);
    } finally {
      releaseClock();
      await other.stop();
    }
  });

  test('is refused within 5 s if every notification is lost', async () => {
    const { db, notifications } = service.context;
    const told = await notifications.subscribe('display');
    const device = await pairDevice(service, admin);
    // That of its rooms is not lost, and would have it looked at again.
    while (!(await told.next())?.keys.has(String(device.id)));
    told.close();
    await sql`alter table display disable trigger display_changed`.execute(db);
    await sql`alter table person disable trigger person_changed`.execute(db);
    try {
      const start = Date.now();
      setClock(start);
      expect((await device.get('/displays/self')).status).toBe(200);
      await admin.send('DELETE', at(device));
      setClock(start + 3_900);
      expect((await device.get('/displays/self')).status).toBe(200);
      setClock(start + 4_100);
      expect((await device.get('/displays/self')).status).toBe(401);
    } finally {
      releaseClock();
      await sql`alter table display enable trigger display_changed`.execute(db);
      await sql`alter table person enable trigger person_changed`.execute(db);
    }
  });

  test('revokeDisplay over GraphQL', async () => {
    const device = await pairDevice(service, admin);
    const revoke =
      'mutation ($id: ID!) { revokeDisplay(id: $id) { __typename ... on Display { revokedAt } ... on Problem { code } } }';
    const outcome = async (id: unknown, caller = admin) =>
      (await caller.ask(revoke, { id: String(id) })).data?.['revokeDisplay'];
    expect(await outcome(device.id, user)).toMatchObject({ __typename: 'ForbiddenProblem' });
    expect(await outcome(2_000_000_000)).toMatchObject({ __typename: 'NotFoundProblem' });
    const first = await outcome(device.id);
    expect(first).toEqual({ __typename: 'Display', revokedAt: expect.any(String) });
    expect(await outcome(device.id)).toEqual(first);
  });
});

describe('the token of a display', () => {
  test.each(['Embedded', 'None', 'External'] as const)('counts where the identity provider is %s', async (Mode) => {
    const IdentityProvider = {
      Mode,
      Authority: 'https://idp.invalid',
      Audience: 'roomgate',
      TenantClaim: 'tenant',
      EmailClaim: 'email',
      ClientId: undefined,
      ClientSecret: undefined,
    };
    const other = await startIdentity(service.databaseUrl, { IdentityProvider } as object);
    try {
      const answer = await other.call(`Bearer ${display.token}`);
      expect([answer.status, await answer.json()]).toMatchObject([
        200,
        { role: 'Display', pinId: null, display: { displayId: display.id }, personId: display.personId },
      ]);
      expect((await other.call(`Bearer ${display.token}`, 'stranger')).status).toBe(404);
      expect((await other.call(`Bearer ${display.token}x`)).status).toBe(401);
    } finally {
      await other.stop();
    }
  });

  test('opens no more when its person is made an Admin', async () => {
    const device = await pairDevice(service, admin);
    await admin.patch(`/persons/${device.personId}`, { Role: 'Admin' });
    expect((await device.get('/persons')).status).toBe(403);
    expect((await device.get('/displays/self')).status).toBe(200);
    await admin.patch(`/persons/${device.personId}`, { Active: false });
    await until(async () => (await device.get('/displays/self')).status === 401);
  });

  test('is not stored readably', async () => {
    const { rows } = await sql<{
      text: string;
    }>`select to_jsonb(one)::text as text from display as one`.execute(service.context.db);
    expect(JSON.stringify(rows)).not.toContain(display.token.slice(4));
  });

  test('of 300 wrong ones in a minute from one address the next is 429; right ones and unpaired ones continue', async () => {
    const counting = await startIdentity(service.databaseUrl);
    try {
      const from = (token: string, address: string) =>
        fetch(`${counting.url}/school/api/whoami`, {
          headers: { Authorization: `Bearer ${token}`, 'X-Forwarded-For': address },
        }).then(({ status }) => status);
      const wrong = (address: string) => from(`rgd_${randomUUID()}`, address);
      const { Token } = await askForPairing(service.url);
      // More than it takes, where a window ends meanwhile.
      const statuses: number[] = [];
      while (!statuses.includes(429) && statuses.length < 1_000)
        statuses.push(...(await Promise.all(Array.from({ length: 50 }, () => wrong('10.0.0.1')))));
      expect(statuses.indexOf(429)).toBeGreaterThanOrEqual(300);
      expect(new Set(statuses)).toEqual(new Set([401, 429]));
      expect(await from(display.token, '10.0.0.1')).toBe(200);
      expect(await from(Token, '10.0.0.1')).toBe(401);
      expect(await wrong('10.0.0.2')).toBe(401);
    } finally {
      await counting.stop();
    }
  });
});
