import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import { sql } from 'kysely';
import type { Viewer } from '../../src/context.ts';
import { createPin, revokePin } from '../../src/identity/service.ts';
import { countWrongToken } from '../../src/identity/wrong-tokens.ts';
import { releaseClock, setClock } from '../_util/clock.ts';
import { makeTenant } from '../_util/factories.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';
import { type IdentityServer, startIdentity } from './_util/identity.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let server: IdentityServer;
let other: IdentityServer;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let token: string;

const makePin = (of = tenant, expiresAt?: Date) =>
  createPin(server.context.db, pepper, {
    mandatorId: of.mandatorId,
    personId: of.person('User').id,
    expiresAt,
  });

beforeAll(async () => {
  database = await cloneDatabase();
  server = await startIdentity(database.url);
  other = await startIdentity(database.url, { IdpUrl: server.url });
  for (const { context } of [server, other]) (await context.notifications.subscribe('listening')).close();
  tenant = await makeTenant(server.context.db);
  await makeTenant(server.context.db, { code: 'stranger' });
  token = await server.token((await makePin()).pin);
});

afterAll(async () => {
  await server.stop();
  await other.stop();
  await database.drop();
});

afterEach(releaseClock);

/** Sends headers as they stand, repeated ones too. */
function rawCall(headers: string[]): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const address = new URL('/school/api/whoami', server.url);
    http
      .request(address, {
        headers: ['Host', address.host, ...headers] as unknown as http.OutgoingHttpHeaders,
      })
      .on('response', (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end();
  });
}

describe('a valid token', () => {
  test('says who is calling', async () => {
    const user = tenant.person('User');
    const viewer = (await (await server.call(`Bearer ${token}`)).json()) as Viewer;
    const { exp = 0, pin } = decodeJwt(token);
    expect(viewer).toEqual({
      mandatorId: tenant.mandatorId,
      mandator: 'school',
      personId: user.id,
      displayName: user.name,
      email: user.email,
      timeZone: 'Europe/Berlin',
      role: 'User',
      usersMayImport: true,
      groupIds: [],
      hiddenRooms: [],
      pinId: pin,
      display: null,
      credential: expect.stringMatching(/^[\w-]{22}$/),
      expiresAt: new Date(exp * 1000).toISOString(),
    });
  });

  test('has the header and the claims of the contract', () => {
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: expect.any(String) });
    expect(decodeJwt(token)).toEqual({
      iss: server.url,
      aud: 'service_api',
      sub: String(tenant.person('User').id),
      tenant: 'school',
      scope: 'service_api',
      client_id: 'timetable-import',
      pin: expect.any(Number),
      iat: expect.any(Number),
      exp: decodeJwt(token).iat! + 3600,
      jti: expect.any(String),
    });
  });

  test.each(['SCHOOL', 'School', '%73chool'])('opens its mandator written %s', async (mandator) => {
    expect((await server.call(`bearer ${token}`, mandator)).status).toBe(200);
  });

  test.each(['stranger', 'unknown', 'school%2f..%2fstranger', '%00'])(
    'of another tenant than %s: 404',
    async (mandator) => {
      expect((await server.call(`Bearer ${token}`, mandator)).status).toBe(404);
    },
  );

  test('counts on every process', async () => {
    expect((await other.call(`Bearer ${token}`)).status).toBe(200);
  });

  test('is not looked up in the database while it is cached', async () => {
    setClock(Date.now());
    await server.call(`Bearer ${token}`);
    const first = await server.identity.verified.get(token)!.viewer;
    await server.call(`Bearer ${token}`);
    expect(await server.identity.verified.get(token)!.viewer).toBe(first);
  });

  test('ends the viewer with its PIN, where that is sooner', async () => {
    const expiresAt = new Date(Date.now() + 600_000);
    const short = await server.token((await makePin(tenant, expiresAt)).pin);
    const viewer = (await (await server.call(`Bearer ${short}`)).json()) as Viewer;
    expect(viewer.expiresAt).toBe(expiresAt.toISOString());
  });
});

describe('401', () => {
  test('reads the same for a known and an unknown mandator', async () => {
    const answers = await Promise.all(
      ['school', 'unknown'].map(async (mandator) => {
        const response = await server.call(undefined, mandator);
        const { instance: _path, ...body } = (await response.json()) as Record<string, unknown>;
        return { status: response.status, challenge: response.headers.get('www-authenticate'), body };
      }),
    );
    expect(answers[0]).toMatchObject({ status: 401, challenge: 'Bearer realm="roomgate"' });
    expect(answers[1]).toEqual(answers[0]);
  });

  test('for a token in the query string', async () => {
    const response = await fetch(`${server.url}/school/api/whoami?access_token=${token}&token=${token}`);
    expect(response.status).toBe(401);
  });

  test('for two Authorization headers, even of the same token', async () => {
    const header = ['Authorization', `Bearer ${token}`];
    expect(await rawCall(header)).toBe(200);
    expect(await rawCall([...header, ...header])).toBe(401);
    expect(await rawCall([...header, 'authorization', 'Bearer x'])).toBe(401);
  });

  test.each<[string, () => string]>([
    ['Basic', () => `Basic ${btoa('timetable-import:')}`],
    ['a bare token', () => token],
    ['two tokens', () => `Bearer ${token} ${token}`],
    ['a token and a list', () => `Bearer ${token}, Bearer ${token}`],
    ['nothing after Bearer', () => 'Bearer '],
    ['8 kB of junk', () => `Bearer ${'a.b.'.repeat(2_000)}c`],
    ['8 kB of junk that looks like a token', () => `Bearer ${token}${'A'.repeat(8_000)}`],
    ['junk', () => 'Bearer a.b.c'],
    ['emptiness with dots', () => 'Bearer ..'],
    ['an encrypted token', () => 'Bearer a.b.c.d.e'],
  ])('for %s', async (_name, header) => {
    const response = await server.call(header());
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="roomgate", error="invalid_token"');
    expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  });

  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const parts = () => token.split('.') as [string, string, string];

  /** Signs with the service's own key, so that only the changed claims can be the reason of a refusal. */
  async function signed(claims: object, header: object = {}): Promise<string> {
    await server.identity.keys.publicKeys();
    const sign = SignJWT.prototype.sign;
    const spy = jest.spyOn(SignJWT.prototype, 'sign').mockImplementation(function (this: SignJWT, key) {
      const all = { ...decodeJwt(token), ...claims };
      const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      const protectedHeader = { ...decodeProtectedHeader(token), alg: 'RS256', ...header };
      return sign.call(new SignJWT(kept).setProtectedHeader(protectedHeader), key);
    });
    try {
      return await server.identity.keys.sign({ personId: 1, mandator: '', pinId: 1, clientId: '' });
    } finally {
      spy.mockRestore();
    }
  }

  test('is not for a token that the service signs itself', async () => {
    expect((await server.call(`Bearer ${await signed({})}`)).status).toBe(200);
  });

  const now = Math.floor(Date.now() / 1000);
  test.each<[string, () => string | Promise<string>]>([
    ['alg none', () => `${encode({ alg: 'none', typ: 'at+jwt' })}.${parts()[1]}.`],
    ['alg NoNe with a signature', () => `${encode({ alg: 'NoNe', typ: 'at+jwt' })}.${parts()[1]}.AA`],
    [
      'HS256 with the public key',
      async () => {
        const [jwk] = await server.identity.keys.publicKeys();
        const spki = await exportSPKI((await importJWK(jwk!, 'RS256', { extractable: true })) as CryptoKey);
        return new SignJWT(decodeJwt(token))
          .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'HS256' })
          .sign(new TextEncoder().encode(spki));
      },
    ],
    [
      'another key under the same kid',
      async () => {
        const { privateKey } = await generateKeyPair('RS256');
        return new SignJWT(decodeJwt(token))
          .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'RS256' })
          .sign(privateKey);
      },
    ],
    [
      'a key of its own in the header',
      async () => {
        const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
        const jwk = await crypto.subtle.exportKey('jwk', publicKey);
        return new SignJWT(decodeJwt(token))
          .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'mine', jwk: jwk as never })
          .sign(privateKey);
      },
    ],
    [
      'PS256 of the right key',
      () => `${encode({ ...decodeProtectedHeader(token), alg: 'PS256' })}.${parts()[1]}.${parts()[2]}`,
    ],
    ['an unknown kid', () => signed({}, { kid: 'unknown' })],
    ['no kid', () => signed({}, { kid: undefined })],
    ['a kid that is a path', () => signed({}, { kid: '../../etc/passwd' })],
    ['a kid that is SQL', () => signed({}, { kid: "' or 1=1 --" })],
    ['typ JWT', () => signed({}, { typ: 'JWT' })],
    ['no typ', () => signed({}, { typ: undefined })],
    ['another audience', () => signed({ aud: 'other' })],
    ['no audience', () => signed({ aud: undefined })],
    ['another issuer', () => signed({ iss: 'http://issuer.example' })],
    ['no exp', () => signed({ exp: undefined })],
    ['exp as text', () => signed({ exp: String(now + 600) })],
    ['expired for more than the tolerance', () => signed({ exp: now - 60 })],
    ['not valid yet', () => signed({ nbf: now + 600 })],
    ['no tenant', () => signed({ tenant: undefined })],
    ['another tenant than that of the PIN', () => signed({ tenant: 'stranger' })],
    ['another person than that of the PIN', () => signed({ sub: String(tenant.person('Admin').id) })],
    ['a sub that is no number', () => signed({ sub: 'x' })],
    ['a PIN that never was', () => signed({ pin: 2_000_000_000 })],
    ['a changed payload', () => `${parts()[0]}.${encode({ ...decodeJwt(token), sub: '1' })}.${parts()[2]}`],
    ['a cut signature', () => token.slice(0, -8)],
    ['a signature of zeros', () => `${parts()[0]}.${parts()[1]}.${Buffer.alloc(256).toString('base64url')}`],
  ])('for %s', async (_name, forge) => {
    const response = await server.call(`Bearer ${await forge()}`);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="roomgate", error="invalid_token"');
  });

  test('after an hour, cached or not', async () => {
    const { exp = 0 } = decodeJwt(token);
    setClock((exp - 1) * 1000);
    expect((await server.call(`Bearer ${token}`)).status).toBe(200);
    setClock((exp + 6) * 1000);
    expect((await server.call(`Bearer ${token}`)).status).toBe(401);
  });
});

describe('of 300 forged tokens in a minute from one address the next is 429', () => {
  const from = (token: string, address: string) =>
    fetch(`${server.url}/school/api/whoami`, {
      headers: { Authorization: `Bearer ${token}`, 'X-Forwarded-For': address },
    });
  const signature = (n: number) => Buffer.alloc(256, `${n}`).toString('base64url');
  const forged = (n: number) => token.replace(/[^.]*$/, signature(n));

  test('and says when to go on; a right token, a revoked one and other addresses are answered as before', async () => {
    const statuses: number[] = [];
    let last: Response | undefined;
    // More than it takes, where a window ends meanwhile.
    while (!statuses.includes(429) && statuses.length < 1_000) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => from(forged(statuses.length + n), '10.0.0.1')),
      );
      statuses.push(...answers.map(({ status }) => status));
      last = answers.find(({ status }) => status === 429);
    }
    expect(statuses.indexOf(429)).toBeGreaterThanOrEqual(300);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await from(forged(0), '10.0.0.2')).status).toBe(401);
    // Neither was asked for before, so both are checked.
    const { pin, pinId } = await makePin();
    expect((await from(await server.token(pin), '10.0.0.1')).status).toBe(200);
    const ended = await server.token(pin);
    await revokePin(server.context.db, tenant.mandatorId, pinId);
    expect((await from(ended, '10.0.0.1')).status).toBe(401);
  });

  test('and the log names the address once a minute, not once a request', async () => {
    const logged = () => server.lines.filter((line) => line.includes('"10.0.0.4"') && line.includes('wrong tokens'));
    /** How many of 303 are refused: at least three, whatever a window has counted before. */
    const send = () => {
      let refused = 0;
      for (let sent = 0; sent < 303; sent++)
        try {
          countWrongToken(server.context, '10.0.0.4', 'tokens');
        } catch {
          refused++;
        }
      return refused;
    };
    // No window ends between two of them.
    setClock(Date.now());
    expect(send()).toBe(3);
    expect(logged()).toHaveLength(1);
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 61_000);
    // That clock is read once a millisecond.
    await until(() => send() >= 3 && logged().length > 1);
    send();
    clock.mockRestore();
    expect(logged()).toHaveLength(2);
  });

  test('while an expired one counts for nothing, however often it is sent', async () => {
    setClock(Date.now() + 2 * 3_600_000);
    const statuses = new Set<number>();
    for (let sent = 0; sent < 400; sent += 50)
      for (const { status } of await Promise.all(Array.from({ length: 50 }, () => from(token, '10.0.0.3'))))
        statuses.add(status);
    expect([...statuses]).toEqual([401]);
  });
});

describe('a revoked PIN', () => {
  test('is refused at once on every process, by the notification', async () => {
    const { pin, pinId } = await makePin();
    const header = `Bearer ${await server.token(pin)}`;
    // With the clock stopped, only the notification can clear the cache.
    setClock(Date.now());
    for (const process of [server, other]) expect((await process.call(header)).status).toBe(200);
    await revokePin(server.context.db, tenant.mandatorId, pinId);
    for (const process of [server, other]) await until(async () => (await process.call(header)).status === 401);
    expect((await server.call(`Bearer ${token}`)).status).toBe(200);
  });
});

describe('within 5 s, with every notification lost, the token is refused', () => {
  async function setAnnouncements(state: 'enable' | 'disable'): Promise<void> {
    for (const table of ['pin', 'person', 'mandator'])
      await sql.raw(`alter table ${table} ${state} trigger ${table}_changed`).execute(server.context.db);
  }
  beforeAll(() => setAnnouncements('disable'));
  afterAll(() => setAnnouncements('enable'));

  type Ids = { mandatorId: number; personId: number; pinId: number };
  test.each<[string, (ids: Ids) => Promise<unknown>]>([
    ['of a revoked PIN', ({ mandatorId, pinId }) => revokePin(server.context.db, mandatorId, pinId)],
    [
      'of an expired PIN',
      ({ pinId }) => sql`update pin set expires_at = now() where id = ${pinId}`.execute(server.context.db),
    ],
    ['of a deleted PIN', ({ pinId }) => server.context.db.deleteFrom('pin').where('id', '=', pinId).execute()],
    [
      'of an inactive person',
      ({ personId }) => sql`update person set active = false where id = ${personId}`.execute(server.context.db),
    ],
    [
      'of a tenant that no longer allows PINs',
      ({ mandatorId }) =>
        sql`update mandator set parameters = '{}' where id = ${mandatorId}`.execute(server.context.db),
    ],
  ])('%s', async (name, end) => {
    const of = await makeTenant(server.context.db, { code: name.replaceAll(' ', '-').toLowerCase() });
    const { pin, pinId, personId } = await makePin(of);
    const header = `Bearer ${await server.token(pin)}`;
    const start = Date.now();
    setClock(start);
    expect((await server.call(header, of.code)).status).toBe(200);
    await end({ mandatorId: of.mandatorId, personId, pinId });
    setClock(start + 3_900);
    expect((await server.call(header, of.code)).status).toBe(200);
    setClock(start + 4_100);
    expect((await server.call(header, of.code)).status).toBe(401);
    expect((await server.requestToken(pin)).status).toBe(400);
  });
});

test('a token whose check the database cannot answer is 503, and good again afterwards', async () => {
  const lonely = await startIdentity(database.url, { IdpUrl: server.url });
  try {
    const { db } = lonely.context;
    await lonely.identity.keys.publicKeys();
    const failing = jest.spyOn(db, 'selectFrom').mockImplementation(() => {
      throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    });
    const refused = await lonely.call(`Bearer ${token}`);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    failing.mockRestore();
    expect((await lonely.call(`Bearer ${token}`)).status).toBe(200);
  } finally {
    await lonely.stop();
  }
});
