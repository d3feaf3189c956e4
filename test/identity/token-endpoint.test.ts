import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as oidc from 'openid-client';
import { createPin, revokePin } from '../../src/identity/service.ts';
import { makeTenant } from '../_util/factories.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type IdentityServer, openClient, startIdentity } from './_util/identity.ts';

const secret = 'a secret: with + and %';
const digest = createHash('sha256').update(secret).digest('base64');
const clients = [
  openClient,
  {
    ...openClient,
    ClientId: 'guarded',
    RequireClientSecret: true,
    ClientSecrets: [{ Value: 'old' }, { Value: secret }],
  },
  {
    ...openClient,
    ClientId: 'hashed client',
    RequireClientSecret: true,
    ClientSecrets: [{ Value: `sha256:${digest}` }],
  },
  { ...openClient, ClientId: 'disabled', Enabled: false },
  { ...openClient, ClientId: 'other-grant', AllowedGrantTypes: ['client_credentials'] },
  { ...openClient, ClientId: 'other-scope', AllowedScopes: ['openid'] },
];

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let server: IdentityServer;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let pin: string;

const newPin = (expiresAt?: Date) =>
  createPin(server.context.db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person('User').id,
    expiresAt,
  });

beforeAll(async () => {
  database = await cloneDatabase();
  server = await startIdentity(database.url, { Clients: clients });
  tenant = await makeTenant(server.context.db);
  ({ pin } = await newPin());
});

afterAll(async () => {
  await server.stop();
  await database.drop();
});

const discover = (clientId: string, clientAuth: oidc.ClientAuth) =>
  oidc.discovery(new URL(server.url), clientId, undefined, clientAuth, {
    execute: [oidc.allowInsecureRequests],
  });

describe('openid-client', () => {
  test.each([
    ['without a secret', 'timetable-import', oidc.None()],
    ['with a secret that is not asked for, posted', 'timetable-import', oidc.ClientSecretPost('whatever')],
    ['with a secret that is not asked for, basic', 'timetable-import', oidc.ClientSecretBasic('whatever')],
    ['with a plain secret, posted', 'guarded', oidc.ClientSecretPost(secret)],
    ['with a plain secret, basic', 'guarded', oidc.ClientSecretBasic(secret)],
    ['with a hashed secret, posted', 'hashed client', oidc.ClientSecretPost(secret)],
    ['with a hashed secret, basic', 'hashed client', oidc.ClientSecretBasic(secret)],
  ])('exchanges a PIN %s', async (_name, clientId, clientAuth) => {
    const config = await discover(clientId, clientAuth);
    const answer = await oidc.genericGrantRequest(config, 'apikey', { apikey: pin, scope: 'service_api' });
    expect(answer).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'service_api' });
    expect((await server.call(`Bearer ${answer.access_token}`)).status).toBe(200);
  });

  test('gets invalid_grant for a wrong PIN', async () => {
    const config = await discover('timetable-import', oidc.None());
    await expect(oidc.genericGrantRequest(config, 'apikey', { apikey: 'wrong' })).rejects.toMatchObject({
      error: 'invalid_grant',
      status: 400,
    });
  });

  test('finds the public keys, and no private part of them', async () => {
    const config = await discover('timetable-import', oidc.None());
    const response = await fetch(config.serverMetadata().jwks_uri ?? '');
    expect(response.headers.get('cache-control')).toBe('public, max-age=60');
    const { keys } = (await response.json()) as { keys: object[] };
    expect(keys.map((key) => Object.keys(key).sort())).toEqual([['alg', 'e', 'kid', 'kty', 'n', 'use']]);
  });
});

describe('POST /connect/token', () => {
  test('answers by the contract and forbids caches', async () => {
    const response = await server.requestToken(pin);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('pragma')).toBe('no-cache');
    expect(await response.json()).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'service_api',
    });
  });

  test.each([
    ['lower case and spaces', (text: string) => ` ${text.toLowerCase().replaceAll('-', ' ')} `],
    ['letters for digits', (text: string) => text.replaceAll('0', 'o').replaceAll('1', 'l')],
    ['no dashes', (text: string) => text.replaceAll('-', '')],
  ])('takes the PIN written with %s', async (_name, write) => {
    expect((await server.requestToken(write(pin))).status).toBe(200);
  });

  test('without a scope grants service_api', async () => {
    const response = await server.requestToken(pin, { scope: '' });
    expect(await response.json()).toMatchObject({ scope: 'service_api' });
  });

  const basic = (id: string, password: string) =>
    `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(password)}`).toString('base64')}`;

  test.each<[string, number, string, Record<string, string>, Record<string, string>?]>([
    ['no grant_type', 400, 'invalid_request', { grant_type: '' }],
    ['another grant_type', 400, 'unsupported_grant_type', { grant_type: 'password' }],
    ['no client_id', 400, 'invalid_request', { client_id: '' }],
    ['no apikey', 400, 'invalid_request', { apikey: '' }],
    ['an unknown client', 401, 'invalid_client', { client_id: 'nobody' }],
    ['a disabled client', 401, 'invalid_client', { client_id: 'disabled' }],
    ['a missing secret', 401, 'invalid_client', { client_id: 'guarded' }],
    ['a wrong secret', 401, 'invalid_client', { client_id: 'guarded', client_secret: 'x' }],
    [
      'the hash as the secret',
      401,
      'invalid_client',
      { client_id: 'hashed client', client_secret: `sha256:${digest}` },
    ],
    [
      'a wrong secret, basic',
      401,
      'invalid_client',
      { client_id: 'guarded' },
      { authorization: basic('guarded', 'x') },
    ],
    [
      'a broken Basic header',
      401,
      'invalid_client',
      {},
      { authorization: `Basic ${Buffer.from('%zz:x').toString('base64')}` },
    ],
    [
      'a secret in header and body',
      400,
      'invalid_request',
      { client_id: 'guarded', client_secret: secret },
      { authorization: basic('guarded', secret) },
    ],
    [
      'two client ids',
      400,
      'invalid_request',
      { client_id: 'guarded' },
      { authorization: basic('timetable-import', 'x') },
    ],
    ['a client without the grant', 400, 'unauthorized_client', { client_id: 'other-grant' }],
    ['a client without the scope', 400, 'invalid_scope', { client_id: 'other-scope' }],
    ['another scope', 400, 'invalid_scope', { scope: 'service_api openid' }],
    ['a JSON body', 400, 'invalid_request', {}, { 'content-type': 'application/json' }],
    ['a body over 16 kB', 413, 'invalid_request', { apikey: 'x'.repeat(17_000) }],
    ['an unknown encoding', 415, 'invalid_request', {}, { 'content-encoding': 'compress' }],
  ])('%s: %i %s', async (_name, status, error, parameters, headers = {}) => {
    const response = await server.requestToken(pin, parameters, headers);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status,
      body: { error, error_description: expect.any(String) },
    });
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Basic realm="roomgate"' : null);
  });

  test('a repeated parameter: 400 invalid_request', async () => {
    const response = await fetch(`${server.url}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams(`grant_type=apikey&client_id=timetable-import&apikey=${pin}&apikey=${pin}`),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'invalid_request' });
  });

  test('parameters in the address are not read', async () => {
    const query = new URLSearchParams({ grant_type: 'apikey', client_id: 'timetable-import', apikey: pin });
    const response = await fetch(`${server.url}/connect/token?${query}`, { method: 'POST' });
    expect(response.status).toBe(400);
  });

  test.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])('%s: 405 with Allow', async (method) => {
    const response = await fetch(`${server.url}/connect/token`, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  test('an unreachable database: 503 temporarily_unavailable with Retry-After', async () => {
    const cutOff = await startIdentity('postgres://nobody@127.0.0.1:1/nothing');
    try {
      const response = await cutOff.requestToken(pin);
      expect(response.status).toBe(503);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' });
    } finally {
      await cutOff.stop();
    }
  });
});

describe('a PIN that does not count', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });

  test('is refused in the same words, whatever the reason', async () => {
    const { db } = server.context;
    const revoked = await newPin();
    await revokePin(db, tenant.mandatorId, revoked.pinId);
    const expired = await newPin(new Date(Date.now() - 1000));
    const forbidden = await makeTenant(db, { code: 'forbidden' });
    const ofForbidden = await createPin(db, pepper, {
      mandatorId: forbidden.mandatorId,
      personId: forbidden.person('Admin').id,
    });
    await db
      .updateTable('mandator')
      .set({ parameters: '{"PinAuthenticationAllowed": false}' })
      .where('id', '=', forbidden.mandatorId)
      .execute();
    const inactive = await makeTenant(db, { code: 'inactive' });
    const ofInactive = await createPin(db, pepper, {
      mandatorId: inactive.mandatorId,
      personId: inactive.person('Admin').id,
    });
    await db.updateTable('person').set({ active: false }).where('mandator_id', '=', inactive.mandatorId).execute();

    const pins = ['unknown', revoked.pin, expired.pin, ofForbidden.pin, ofInactive.pin];
    const answers = await Promise.all(
      pins.map(async (wrong) => {
        const response = await server.requestToken(wrong, {}, from('192.0.2.1'));
        return `${response.status} ${await response.text()}`;
      }),
    );
    expect([...new Set(answers)]).toEqual([
      '400 {"error":"invalid_grant","error_description":"The PIN is not valid; ask an Admin of the tenant for a new one."}',
    ]);
  });

  test('ten at once are tried, the rest get 429 with Retry-After, on every process', async () => {
    const other = await startIdentity(database.url, { Clients: clients });
    try {
      const statuses = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          const response = await (index % 2 ? server : other).requestToken('wrong', {}, from('192.0.2.2'));
          return response.status;
        }),
      );
      expect(Map.groupBy(statuses, String)).toEqual(
        new Map([
          ['400', Array(10).fill(400)],
          ['429', Array(20).fill(429)],
        ]),
      );
      const right = await other.requestToken(pin, {}, from('192.0.2.2'));
      expect(right.status).toBe(429);
      const wait = Number(right.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(880);
      expect(wait).toBeLessThanOrEqual(900);
    } finally {
      await other.stop();
    }
  });

  test('and was made here does not count as a guess: nobody is throttled, at the same cost', async () => {
    const { db } = server.context;
    const revoked = await newPin();
    await revokePin(db, tenant.mandatorId, revoked.pinId);
    const status = async (text: string) => (await server.requestToken(text, {}, from('192.0.2.7'))).status;
    for (let poll = 0; poll < 12; poll++) expect(await status(revoked.pin)).toBe(400);
    expect(await status(pin)).toBe(200);
    const written = db.selectFrom('pin_failure').where('address', '=', '192.0.2.7').select('at');
    expect((await written.execute()).length).toBeGreaterThan(0);
    for (let guess = 0; guess < 10; guess++) expect(await status('7Q2MX-K4H9D-ZR3TB-W8VNC')).toBe(400);
    expect(await status(pin)).toBe(429);
  });

  test('and was fixed by a person is a guess like any other', async () => {
    const { db } = server.context;
    const { mandatorId, person } = tenant;
    const fixed = await createPin(db, pepper, { mandatorId, personId: person('User').id, pin: 'DEMO-1234' });
    await revokePin(db, mandatorId, fixed.pinId);
    const status = async (text: string) => (await server.requestToken(text, {}, from('192.0.2.8'))).status;
    for (let guess = 0; guess < 10; guess++) expect(await status(fixed.pin)).toBe(400);
    expect(await status(pin)).toBe(429);
  });

  test('throttles its client and its address only', async () => {
    await server.context.db
      .insertInto('pin_failure')
      .values(Array(10).fill({ client_id: 'timetable-import', address: '192.0.2.3' }))
      .execute();
    const status = async (address: string, parameters = {}) =>
      (await server.requestToken(pin, parameters, from(address))).status;
    expect(await status('192.0.2.3')).toBe(429);
    expect(await status('::ffff:192.0.2.3')).toBe(429);
    expect(await status('192.0.2.4')).toBe(200);
    expect(await status('192.0.2.3', { client_id: 'guarded', client_secret: secret })).toBe(200);
  });

  test('throttles an IPv6 caller by the /64', async () => {
    for (let host = 0; host < 10; host++) await server.requestToken('wrong', {}, from(`2001:db8:0:1::${host + 1}`));
    expect((await server.requestToken(pin, {}, from('2001:db8:0:1:ffff::1'))).status).toBe(429);
    expect((await server.requestToken(pin, {}, from('2001:db8:0:2::1'))).status).toBe(200);
  });

  test('is forgotten after 15 minutes, and its row swept by the next one', async () => {
    const { db } = server.context;
    const old = new Date(Date.now() - 15 * 60_000 - 1000);
    await db
      .insertInto('pin_failure')
      .values(Array(10).fill({ client_id: 'timetable-import', address: '192.0.2.5', at: old }))
      .execute();
    expect((await server.requestToken(pin, {}, from('192.0.2.5'))).status).toBe(200);
    await server.requestToken('wrong', {}, from('192.0.2.6'));
    const rows = await db.selectFrom('pin_failure').where('at', '<=', old).selectAll().execute();
    expect(rows).toEqual([]);
  });
});

test('last_used_at moves at most once a minute', async () => {
  const { db } = server.context;
  const made = await newPin();
  const lastUsed = () =>
    db.selectFrom('pin').where('id', '=', made.pinId).select('last_used_at').executeTakeFirstOrThrow();
  await server.token(made.pin);
  const first = await lastUsed();
  expect(first.last_used_at).toBeInstanceOf(Date);
  await server.token(made.pin);
  expect(await lastUsed()).toEqual(first);
  const longAgo = new Date(Date.now() - 61_000);
  await db.updateTable('pin').set({ last_used_at: longAgo }).where('id', '=', made.pinId).execute();
  await server.token(made.pin);
  expect((await lastUsed()).last_used_at?.getTime()).toBeGreaterThan(longAgo.getTime());
});

test('the log carries neither PIN nor token nor secret', async () => {
  const token = await server.token(pin);
  await server.call(`Bearer ${token}`);
  await server.call(`Bearer ${token}x`);
  await server.requestToken('WRONG-WRONG-WRONG-WRONG');
  const written = server.lines.join('\n');
  expect(written).toContain('token issued');
  expect(written).toContain('wrong PIN');
  for (const canary of [pin, pin.replaceAll('-', ''), token, token.split('.')[2]!, secret, digest, 'WRONG-'])
    expect(written).not.toContain(canary);
});
