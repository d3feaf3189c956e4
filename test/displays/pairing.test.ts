import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { sql } from 'kysely';
import { addCommands } from '../../src/displays/cli.ts';
import { askForPairing, pairDevice } from '../_util/displays.ts';
import { makeTenant } from '../_util/factories.ts';
import { lockedBy } from '../_util/hold.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let user: MasterData;
let stranger: MasterData;
let rooms: number[];

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['R001', 'R002', 'Twin']);
  const { tenant, context } = service;
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  const other = await makeTenant(context.db, { code: 'stranger' });
  stranger = masterData(service, await service.signIn(other, 'Admin'), 'stranger');
  rooms = tenant.resources.map(({ id }) => id);
});
afterAll(() => service.stop());

const self = (token: string, mandator = 'school') => masterData(service, token, mandator).get('/displays/self');

describe('POST displays/pairings', () => {
  test('gives anybody a code to show and a token that does not count yet', async () => {
    const before = Date.now();
    const asked = await askForPairing(service.url);
    expect(asked).toEqual({
      status: 201,
      Code: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/),
      Token: expect.stringMatching(/^rgd_[\w-]{43}$/),
      ExpiresAt: expect.any(String),
      PollSeconds: 5,
    });
    const from = Date.parse(asked.ExpiresAt) - 10 * 60_000;
    expect(from).toBeGreaterThanOrEqual(before - 1_000);
    expect(from).toBeLessThanOrEqual(Date.now() + 1_000);
    const early = await self(asked.Token);
    expect(early).toMatchObject({ status: 401, body: { Code: 'NotAuthenticated' } });
    expect(early.text).toContain('display pair');
  });

  test('is not stored readably', async () => {
    const known = await askForPairing(service.url);
    const { rows } = await sql`select to_jsonb(one)::text as text from display_pairing as one`.execute(
      service.context.db,
    );
    expect(JSON.stringify(rows)).not.toContain(known.Token.slice(4));
  });

  test('refuses what it does not know with 422, another method with 405, a name that no tenant has with 404', async () => {
    for (const body of [{ Room: 1 }, { ResourceId: 0 }, { ResourceId: 2 ** 31 }])
      expect(await askForPairing(service.url, 'school', body)).toMatchObject({ status: 422 });
    expect((await fetch(`${service.url}/school/api/v1.0/displays/pairings`)).status).toBe(405);
    expect((await askForPairing(service.url, 'a%00b')).status).toBe(404);
  });

  test('404 for a tenant that there is not, 422 for a room or a location that is not in use there', async () => {
    const { locationId } = service.tenant;
    expect(await askForPairing(service.url, 'nobody')).toMatchObject({ status: 404, Code: 'NotFound' });
    expect(await askForPairing(service.url, 'school', { ResourceId: rooms[0], LocationId: locationId })).toMatchObject({
      status: 201,
    });
    for (const [tenant, body, Code] of [
      ['school', { ResourceId: 2_000_000_000 }, 'UnknownResource'],
      ['school', { LocationId: 2_000_000_000 }, 'UnknownLocation'],
      ['stranger', { ResourceId: rooms[0] }, 'UnknownResource'],
      ['stranger', { LocationId: locationId }, 'UnknownLocation'],
    ] as const)
      expect(await askForPairing(service.url, tenant, body)).toMatchObject({ status: 422, Errors: [{ Code }] });
  });

  describe('from many strangers', () => {
    const flood = (mandator: string, networks: number, each: number) =>
      sql`
        insert into display_pairing (code, mandator, token_hash, network, expires_at)
        select 'flood ' || ${mandator} || network || ' ' || n, ${mandator}, sha256(convert_to(${mandator} || network || ' ' || n, 'UTF8')),
          ('198.51.' || network || '.1')::inet, now() + interval '9 minutes' + n * interval '1 ms'
        from generate_series(1, ${networks}::integer) as network, generate_series(1, ${each}::integer) as n`.execute(
        service.context.db,
      );
    const waiting = async (mandator: string) => {
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from display_pairing where mandator = ${mandator} and expires_at > now()`.execute(
        service.context.db,
      );
      return rows[0]!.n;
    };
    afterEach(() => sql`delete from display_pairing`.execute(service.context.db));

    test('whatever waits of other tenants, everybody gets a code that counts', async () => {
      for (let tenant = 1; tenant <= 12; tenant++) await flood(`tenant${tenant}`, 10, 100);
      const { Code } = await askForPairing(service.url);
      expect((await admin.post('/displays', { Code, ResourceIds: [rooms[0]] })).status).toBe(201);
      expect(await waiting('tenant1')).toBe(1_000);
    });

    test('whatever waits of its own, too: the oldest of the network that asks for most gives way', async () => {
      const before = await askForPairing(service.url);
      await flood('school', 10, 100);
      const { Code } = await askForPairing(service.url);
      expect(await waiting('school')).toBeLessThanOrEqual(1_001);
      for (const code of [before.Code, Code])
        expect((await admin.post('/displays', { Code: code, ResourceIds: [rooms[0]] })).status).toBe(201);
    });

    test('of one network, a hundred at a time: the oldest gives way to the next', async () => {
      const codes: string[] = [];
      for (let count = 0; count < 102; count++) codes.push((await askForPairing(service.url)).Code);
      const { rows } = await sql<{ code: string }>`select code from display_pairing`.execute(service.context.db);
      const left = rows.map(({ code }) => `${code.slice(0, 4)}-${code.slice(4)}`);
      expect(left.toSorted()).toEqual(codes.slice(2).toSorted());
    });
  });

  test('is limited by address', async () => {
    const limited = await startService({ Role: 'Web', Limits__TokenRequestsPerMinute: '2' });
    try {
      const statuses: number[] = [];
      for (let count = 0; count < 3; count++) statuses.push((await askForPairing(limited.url)).status);
      expect(statuses).toEqual([201, 201, 429]);
    } finally {
      await limited.stop();
    }
  });
});

describe('POST displays', () => {
  test('makes a display of the device, which from then on knows itself', async () => {
    const { Code, Token } = await askForPairing(service.url);
    const answer = await admin.post('/displays', {
      Code,
      Name: ' Door of R001 ',
      ResourceIds: [rooms[0]],
      MayBook: true,
      Privacy: 'BusyOnly',
    });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        Name: 'Door of R001',
        ResourceIds: [rooms[0]],
        LocationId: null,
        MayBook: true,
        Version: 1,
        Privacy: 'BusyOnly',
        RevokedAt: null,
        HeardAt: null,
        SilentSince: null,
        Resources: [{ Id: rooms[0], Name: 'R001' }],
      },
    });
    const { Id, PersonId, ExpiresAt } = answer.body;
    expect(answer.headers.get('location')).toBe(`${service.url}/school/api/v1.0/displays/${Id}`);
    expect(Math.round((Date.parse(String(ExpiresAt)) - Date.now()) / 86_400_000)).toBe(90);
    expect(await self(Token)).toMatchObject({ status: 200, body: { Id, Resources: [{ Name: 'R001' }] } });
    expect((await admin.get(`/persons/${PersonId}`)).body).toMatchObject({
      Name: 'Door of R001',
      Role: 'Display',
      TimeZone: 'Europe/Berlin',
      Email: expect.stringMatching(/^display-[\w-]{36}@displays\.invalid$/),
    });
    const audit = await service.context.db
      .selectFrom('audit')
      .where('action', '=', 'pair display')
      .where('subject_id', '=', Number(Id))
      .select('person_id')
      .execute();
    expect(audit).toEqual([{ person_id: service.tenant.person('Admin').id }]);
    expect((await self(Token, 'stranger')).status).toBe(404);
  });

  test('takes a code however it is written, and once', async () => {
    const { Code, Token } = await askForPairing(service.url);
    const written = ` ${Code.toLowerCase().replace('-', '').replaceAll('0', 'o').replaceAll('1', 'l')} `;
    expect((await admin.post('/displays', { Code: written, ResourceIds: [rooms[0]] })).status).toBe(201);
    expect((await admin.post('/displays', { Code, ResourceIds: [rooms[0]] })).status).toBe(422);
    expect((await self(Token)).status).toBe(200);
  });

  test('of two Admins who confirm one code at one time one does', async () => {
    const { Code } = await askForPairing(service.url);
    const answers = await Promise.all([1, 2, 3].map(() => admin.post('/displays', { Code, ResourceIds: [rooms[0]] })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
  });

  test('names the rooms of a display that has no name; without rooms takes those of the page that the device has open', async () => {
    const { Code } = await askForPairing(service.url, 'school', { ResourceId: rooms[1] });
    expect((await admin.post('/displays', { Code })).body).toMatchObject({
      Name: 'R002',
      ResourceIds: [rooms[1]],
      LocationId: null,
    });
    const { locationId } = service.tenant;
    const board = await askForPairing(service.url, 'school', { LocationId: locationId });
    expect((await admin.post('/displays', { Code: board.Code })).body).toMatchObject({
      Name: 'Campus',
      ResourceIds: [],
      LocationId: locationId,
    });
    const whole = await pairDevice(service, admin, {
      ResourceIds: [],
      LocationId: locationId,
    });
    expect((await whole.get('/displays/self')).body).toMatchObject({
      Name: 'Campus',
      ResourceIds: [],
      Resources: [{ Name: 'R001' }, { Name: 'R002' }, { Name: 'Twin' }],
    });
  });

  test('locks the location before the rooms, as tenant files do, so that neither waits for the other', async () => {
    const { Code } = await askForPairing(service.url);
    const wanted = { Code, ResourceIds: [rooms[0]], LocationId: service.tenant.locationId };
    expect(await lockedBy(() => admin.post('/displays', wanted))).toEqual(['location', 'resource']);
  });

  test('422 names the fault and leaves the code as it was', async () => {
    const { Code, Token } = await askForPairing(service.url);
    const faults: [object, string, string][] = [
      [{ Code: '0000-0000', ResourceIds: [rooms[0]] }, 'UnknownCode', '/Code'],
      [{ Code }, 'MissingField', '/ResourceIds'],
      [{ Code, ResourceIds: [rooms[0], 2_000_000_000] }, 'UnknownResource', '/ResourceIds/1'],
      [{ Code, ResourceIds: [9_007_199_254_740_991] }, 'UnknownResource', '/ResourceIds/0'],
      [{ Code, LocationId: 2_000_000_000 }, 'UnknownLocation', '/LocationId'],
      [{ Code, ResourceIds: [rooms[0]], Name: 'x'.repeat(201) }, 'InvalidValue', '/Name'],
      [{ Code, ResourceIds: [rooms[0]], Privacy: 'All' }, 'InvalidValue', '/Privacy'],
    ];
    for (const [body, code, pointer] of faults)
      expect(await admin.post('/displays', body)).toMatchObject({
        status: 422,
        body: { Errors: [{ Code: code, Pointer: pointer }] },
      });
    await sql`update resource set active = false where id = ${rooms[2]}`.execute(service.context.db);
    expect((await admin.post('/displays', { Code, ResourceIds: [rooms[2]] })).status).toBe(409);
    await sql`update resource set active = true where id = ${rooms[2]}`.execute(service.context.db);
    expect((await self(Token)).status).toBe(401);
    expect((await admin.post('/displays', { Code, ResourceIds: [rooms[0]] })).status).toBe(201);
  });

  test('422 for a code that has expired, or that a device of another tenant shows; its token never counts', async () => {
    const old = await askForPairing(service.url);
    await sql`update display_pairing set expires_at = now()`.execute(service.context.db);
    expect((await admin.post('/displays', { Code: old.Code, ResourceIds: [rooms[0]] })).status).toBe(422);
    expect((await self(old.Token)).text).not.toContain('display pair');
    const { Code, Token } = await askForPairing(service.url, 'STRANGER');
    expect((await admin.post('/displays', { Code, ResourceIds: [rooms[0]] })).status).toBe(422);
    // Nor does it get what is not its tenant's.
    const { locationId } = service.tenant;
    const faults: [object, string][] = [
      [{}, 'MissingField'],
      [{ ResourceIds: [rooms[0]] }, 'UnknownResource'],
      [{ LocationId: locationId }, 'UnknownLocation'],
    ];
    for (const [wanted, code] of faults)
      expect(await stranger.post('/displays', { Code, ...wanted })).toMatchObject({
        status: 422,
        body: { Errors: [{ Code: code }] },
      });
    const { Items } = (await stranger.get('/resources')).body as { Items: { Id: number }[] };
    expect((await stranger.post('/displays', { Code, ResourceIds: [Items[0]!.Id] })).status).toBe(201);
    expect((await self(Token)).status).toBe(404);
    expect((await self(Token, 'stranger')).status).toBe(200);
  });

  test('403 for anybody but an Admin, before the code is looked at', async () => {
    const display = await pairDevice(service, admin);
    for (const caller of [user, display])
      expect((await caller.post('/displays', { Code: '0000-0000' })).status).toBe(403);
  });
});

test('pairDisplay over GraphQL', async () => {
  const pair = `mutation ($input: PairDisplayInput!) { pairDisplay(input: $input) {
    __typename ... on Display { id name resourceIds resources { resourceId name } mayBook privacy heardAt ageSeconds version }
    ... on ValidationProblem { errors { code pointer } } ... on Problem { code } } }`;
  const outcome = async (input: object, caller = admin) => (await caller.ask(pair, { input })).data?.['pairDisplay'];
  const { Code: code, Token } = await askForPairing(service.url);
  const room = String(rooms[0]);
  expect(await outcome({ code, resourceIds: [room] }, user)).toMatchObject({
    __typename: 'ForbiddenProblem',
  });
  expect(await outcome({ code, resourceIds: ['2000000000'] })).toMatchObject({
    errors: [{ code: 'UnknownResource', pointer: '/input/resourceIds/0' }],
  });
  expect(await outcome({ code, resourceIds: [room], name: 'G', mayBook: true })).toEqual({
    __typename: 'Display',
    id: expect.any(String),
    name: 'G',
    resourceIds: [room],
    mayBook: true,
    resources: [{ resourceId: room, name: 'R001' }],
    privacy: 'Title',
    heardAt: null,
    ageSeconds: null,
    version: 1,
  });
  const own = 'query { thisDisplay { name } }';
  expect((await masterData(service, Token).ask(own)).data).toEqual({ thisDisplay: { name: 'G' } });
  expect((await user.ask(own)).data).toEqual({ thisDisplay: null });
});

describe('roomgate display', () => {
  type Printed = { text: string; record: Record<string, unknown> };

  async function run(...words: string[]): Promise<Printed> {
    const printed: Printed[] = [];
    const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
    addCommands(program, (work) => async (...args) => {
      const print = (text: string, record: unknown) =>
        void printed.push({ text, record: record as Record<string, unknown> });
      await work({ context: service.context, json: false, print }, ...args);
    });
    await program.parseAsync(['display', ...words, '--mandator', 'school'], { from: 'user' });
    return printed[0]!;
  }

  test('pairs by the names of rooms, lists with age and state, and revokes', async () => {
    const { Code, Token } = await askForPairing(service.url);
    const paired = await run('pair', Code, '--room', ' r001', '--room', 'R002', '--book', '--name', 'By hand');
    expect(paired.record).toMatchObject({ Name: 'By hand', ResourceIds: rooms.slice(0, 2), MayBook: true });
    expect(paired.text).toContain(`By hand is paired and shows R001, R002. Its id`);
    expect((await self(Token)).status).toBe(200);
    const id = String(paired.record['Id']);
    const line = async () => (await run('list')).text.split('\n').find((one) => one.startsWith(`${id} `));
    expect(await line()).toMatch(/By hand +R001, R002 +yes +Title +(never|\d+ s ago) +ok$/);
    expect((await run('revoke', id)).text).toBe(`By hand (${id}) is revoked.`);
    expect(await line()).toMatch(/revoked$/);
    await until(async () => (await self(Token)).status === 401);
  });

  test('a device that asks for a room that is not there: says so, and which options to use', async () => {
    const { Code } = await askForPairing(service.url, 'school', { ResourceId: rooms[0] });
    // It was there when the device asked.
    await sql`update display_pairing set resource_id = 99999`.execute(service.context.db);
    await expect(run('pair', Code)).rejects.toThrow(
      /^The device names room 99999, but no active room has this id: name rooms with --room NAME, or a location with --location NAME\.$/,
    );
    expect((await run('pair', Code, '--room', 'R001')).text).toContain(
      `Warning: the device has the page of room 99999 (there is none) open, which this display does not show; open ${service.url}/school/door-sign/${rooms[0]} on it.`,
    );
  });

  test('a device with the page of another room than it is given: warns', async () => {
    const pair = async (...words: string[]) => {
      const { Code } = await askForPairing(service.url, 'school', { ResourceId: rooms[1] });
      return run('pair', Code, ...words);
    };
    expect((await pair('--room', 'R001')).record['Warning']).toBe(
      `Warning: the device has the page of room ${rooms[1]} (R002) open, which this display does not show; open ${service.url}/school/door-sign/${rooms[0]} on it.`,
    );
    for (const words of [[], ['--room', 'R002'], ['--room', 'R001', '--location', 'Campus']])
      expect((await pair(...words)).record['Warning']).toBeNull();
  });

  test('names what it does not find, and the places of rooms that share a name', async () => {
    const { Code } = await askForPairing(service.url);
    const annex = await service.context.db
      .insertInto('location')
      .values({ mandator_id: service.tenant.mandatorId, name: 'Annex', time_zone: 'Asia/Tokyo' })
      .returning('id')
      .executeTakeFirstOrThrow();
    await service.context.db
      .insertInto('resource')
      .values({ mandator_id: service.tenant.mandatorId, location_id: annex.id, name: 'Twin' })
      .execute();
    await expect(run('pair', Code, '--room', 'R999')).rejects.toThrow('no active resource "R999"');
    await expect(run('pair', Code, '--location', 'Moon')).rejects.toThrow('no active location "Moon"');
    await expect(run('pair', Code, '--room', 'twin')).rejects.toThrow('write "Annex/Twin" or "Campus/Twin"');
    await expect(run('pair', Code, '--room', 'R001', '--privacy', 'None')).rejects.toThrow('Privacy: must be');
    await expect(run('revoke', 'x')).rejects.toThrow('see display list');
    const { record } = await run('pair', Code, '--room', 'annex/TWIN', '--location', 'Campus');
    expect(record).toMatchObject({ Name: 'Twin, Campus', Resources: { length: 4 } });
  });
});
