import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createClient as createWsClient } from 'graphql-ws';
import { decodeJwt, importJWK, SignJWT } from 'jose';
import WebSocket from 'ws';
import type { Config } from '../../src/config.ts';
import type { Viewer } from '../../src/context.ts';
import { createPin } from '../../src/identity/service.ts';
import { releaseClock, setClock } from '../_util/clock.ts';
import { makeTenant } from '../_util/factories.ts';
import { freePort } from '../_util/free-port.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { type IdentityServer, startIdentity } from './_util/identity.ts';
import { audience, makeKey, resourceClient, startProvider } from './_util/oidc-provider.ts';
import { watchOutgoing } from './_util/outgoing.ts';

const ada = { tenant: 'School', email: 'USER@school.example' };
let provider: Awaited<ReturnType<typeof startProvider>>;
let service: Service;

const settingsFor = (authority: string) => ({
  IdentityProvider__Mode: 'External',
  IdentityProvider__Authority: authority,
  IdentityProvider__Audience: audience,
  IdentityProvider__ClientId: resourceClient.ClientId,
  IdentityProvider__ClientSecret: resourceClient.ClientSecret,
});

beforeAll(async () => {
  provider = await startProvider({
    ada,
    stranger: { tenant: 'stranger', email: 'user@stranger.example' },
    nobody: { ...ada, email: 'nobody@school.example' },
    nowhere: { ...ada, tenant: 'nowhere' },
    nul: { ...ada, tenant: 'sch\0ool' },
    half: { ...ada, email: 'user\ud800@school.example' },
    dotted: { ...ada, email: 'İmporter@school.example' },
    kelvin: { tenant: '\u212Ainder', email: 'user@kinder.example' },
    mixed: { ...ada, tenant: 'stranger' },
    silent: {},
    unverified: { ...ada, email_verified: false },
    spelled: { ...ada, email_verified: 'True' },
    unverifiedInWords: { ...ada, email_verified: 'False' },
    unverifiedInNumbers: { ...ada, email_verified: 0 },
    unverifiedByNull: { ...ada, email_verified: null },
  });
  service = await startService({ ...settingsFor(provider.issuer), Role: 'Web', TrustProxy: '1' });
  for (const code of ['stranger', 'kinder']) await makeTenant(service.context.db, { code });
});

afterAll(async () => {
  await service.stop();
  await provider.stop();
});

afterEach(releaseClock);

let reads = 0;
/** Few tokens of one address are checked in a second. */
const otherAddress = () => `198.51.100.${++reads % 250}`;

/** A read of the REST API. */
const read = (token: string, mandator = 'school', of = service, from = otherAddress()) =>
  fetch(`${of.url}/${mandator}/api/v2.0/jobs/batches`, {
    headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': from },
  });

async function detailOf(response: Response): Promise<string> {
  return ((await response.json()) as { detail: string }).detail;
}

describe.each([
  ['a JWT', 'urn:jwt'],
  ['an opaque token', 'urn:opaque'],
])('%s', (_name, resource) => {
  test('is accepted by REST', async () => {
    const response = await read(await provider.token('ada', resource));
    expect(response.status).toBe(200);
    expect(response.headers.get('deprecation')).toBeNull();
  });

  test('is accepted if its address is verified, which some providers say as a text', async () => {
    expect((await read(await provider.token('spelled', resource))).status).toBe(200);
  });

  test('is accepted by GraphQL: the person is found by tenant and e-mail address in any case', async () => {
    const response = await fetch(`${service.url}/SCHOOL/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await provider.token('ada', resource)}`,
        'content-type': 'application/json',
      },
      body: '{"query":"{ me { id email role } }"}',
    });
    const { id, email } = service.tenant.person('User');
    expect(await response.json()).toEqual({ data: { me: { id: `person_${id}`, email, role: 'User' } } });
  });

  test('is accepted by WebSocket', async () => {
    const client = createWsClient({
      url: `${service.url.replace('http', 'ws')}/school/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: `Bearer ${await provider.token('ada', resource)}` },
      retryAttempts: 0,
    });
    const frames = client.iterate({ query: '{ me { email } }' });
    expect((await frames.next()).value).toEqual({ data: { me: { email: 'user@school.example' } } });
    await client.dispose();
  });

  test.each([
    [
      'of another audience',
      'ada',
      resource.replace('jwt', 'other').replace('opaque', 'other-opaque'),
      /"aud"|claim aud /,
    ],
    ['with another scope', 'ada', resource, 'claim scope is missing or not accepted', 'other_api'],
    ['that says nothing of the caller', 'silent', resource, 'its claim tenant'],
    ['with U+0000 in its tenant', 'nul', resource, 'its claim tenant'],
    ['with half of a surrogate pair in its e-mail address', 'half', resource, 'its claim'],
    ['with an e-mail address that only lower case makes that of a person', 'dotted', resource, 'its claim'],
    ['with a tenant that only lower case makes one', 'kelvin', resource, 'its claim tenant'],
    ...['unverified', 'unverifiedInWords', 'unverifiedInNumbers', 'unverifiedByNull'].map(
      (who) =>
        [
          `of an unverified e-mail address (${who})`,
          who,
          resource,
          'claim email_verified is missing or not accepted',
        ] as const,
    ),
    ['of an unknown person', 'nobody', resource, 'add the person'],
    ['of an unknown tenant', 'nowhere', resource, 'add the person'],
    ["of a person that is another tenant's", 'mixed', resource, 'add the person'],
  ])('%s: 401 with the way out', async (_what, client, of, advice, scope = 'service_api') => {
    const response = await read(await provider.token(client, of, scope));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="roomgate", error="invalid_token"');
    expect(await detailOf(response)).toMatch(advice);
  });

  test('of another tenant than that of the path: 404', async () => {
    expect((await read(await provider.token('stranger', resource))).status).toBe(404);
    expect((await read(await provider.token('ada', resource), 'stranger')).status).toBe(404);
  });

  test('after its end: 401', async () => {
    const token = await provider.token('ada', resource);
    const start = Date.now();
    setClock(start);
    expect((await read(token)).status).toBe(200);
    setClock(start + 606_000);
    expect((await read(token)).status).toBe(401);
  });

  test('of a person who is deactivated is refused, and its stream ends', async () => {
    const { db } = service.context;
    const token = await provider.token('ada', resource);
    const stream = await fetch(`${service.url}/school/graphql`, {
      method: 'POST',
      signal: AbortSignal.timeout(60_000),
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'text/event-stream',
        'content-type': 'application/json',
      },
      body: '{"query":"subscription { batches { id } }"}',
    });
    expect(stream.status).toBe(200);
    setClock(Date.now());
    expect((await read(token)).status).toBe(200);
    const activate = (active: boolean) =>
      db.updateTable('person').set({ active }).where('id', '=', service.tenant.person('User').id).execute();
    await activate(false);
    await until(async () => (await read(token)).status === 401);
    expect(await stream.text()).toContain('NOT_AUTHENTICATED');
    await activate(true);
    expect((await read(token)).status).toBe(200);
  });
});

describe('401 for a JWT', () => {
  const now = () => Math.floor(Date.now() / 1000);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  /** As the provider's own, but for what is changed. */
  async function forge(
    changes: Record<string, unknown> = {},
    header: object = {},
    jwk = provider.key,
  ): Promise<string> {
    const claims = { ...decodeJwt(await provider.token('ada')), ...changes };
    const kept = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
    return new SignJWT(kept)
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'first', ...header })
      .sign(await importJWK(jwk, 'RS256'));
  }

  test.each<[string, () => Promise<string>]>([
    ['at+jwt', () => forge()],
    ['JWT', () => forge({}, { typ: 'JWT' })],
    ['no typ', () => forge({}, { typ: undefined })],
    ['an array of audiences', () => forge({ aud: ['other', audience] })],
    ['scp in place of scope', () => forge({ scope: undefined, scp: ['service_api'] })],
  ])('is not for one of the right key with %s', async (_name, make) => {
    expect((await read(await make())).status).toBe(200);
  });

  test.each<[string, () => Promise<string>]>([
    ['another issuer', () => forge({ iss: 'https://issuer.example' })],
    ['no issuer', () => forge({ iss: undefined })],
    ['another audience', () => forge({ aud: 'other' })],
    ['no audience', () => forge({ aud: undefined })],
    ['no scope', () => forge({ scope: undefined })],
    ['a key that its holder must prove', () => forge({ cnf: { jkt: 'x' } })],
    ['expired', () => forge({ exp: now() - 6 })],
    ['no exp', () => forge({ exp: undefined })],
    ['not valid yet', () => forge({ nbf: now() + 60 })],
    ['the typ of another kind of token', () => forge({}, { typ: 'logout+jwt' })],
    ['another key of the same kid', async () => forge({}, {}, await makeKey('first'))],
    ['an unknown kid', () => forge({}, { kid: 'unknown' })],
    ['alg none', async () => `${encode({ alg: 'none', typ: 'at+jwt' })}.${(await forge()).split('.')[1]}.`],
    [
      'HS256 with the public key',
      async () => {
        const { n = '' } = provider.key;
        return new SignJWT(decodeJwt(await forge()))
          .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'first' })
          .sign(new TextEncoder().encode(n));
      },
    ],
    ['a changed payload', async () => (await forge()).replace(/\.\w+/, (part) => `${part.slice(0, -1)}A`)],
    ['junk', async () => 'a.b.c'],
  ])('%s', async (_name, make) => {
    const response = await read(await make());
    expect(response.status).toBe(401);
    expect(await detailOf(response)).toContain(`get a token from ${provider.issuer}`);
  });
});

describe('401 for an opaque token', () => {
  // A busy machine may need longer for hundreds of introspections than a provider is given for each.
  const spyOnTimeouts = () => jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => new AbortController().signal);
  let timeouts: ReturnType<typeof spyOnTimeouts>;
  beforeEach(() => {
    timeouts = spyOnTimeouts();
  });
  afterEach(() => timeouts.mockRestore());

  test('that the provider does not know', async () => {
    expect((await read('unknown-token')).status).toBe(401);
  });

  test('costs the provider one request within 4 s, and at most 100 in a second, 20 from one address; more are 503', async () => {
    const outgoing = watchOutgoing();
    try {
      const asked = () => outgoing.addresses.filter((address) => address.endsWith('/introspection')).length;
      for (let call = 0; call < 3; call++) expect((await read('one-unknown-token')).status).toBe(401);
      expect(asked()).toBe(1);
      let second = Math.ceil(performance.now() / 1_000);
      /** How many of 250 unknown tokens the provider is asked about in one second. */
      const junk = async (networks: number, name: string) => {
        const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000 * ++second);
        try {
          const before = asked();
          const calls = Array.from({ length: 250 }, (_, index) =>
            read(`${name}-${index}`, 'school', service, `2001:db8:0:${index % networks}::${index}`),
          );
          const statuses = new Set((await Promise.all(calls)).map(({ status }) => status));
          expect(statuses).toEqual(new Set([401, 503]));
          return asked() - before;
        } finally {
          clock.mockRestore();
        }
      };
      expect(await junk(1, 'near')).toBe(20);
      expect(await junk(50, 'far')).toBe(100);
      const good = await provider.token('ada', 'urn:opaque');
      await until(async () => (await read(good)).status === 200);
    } finally {
      outgoing.stop();
    }
  });

  test('does not stand in the way of one that has been proven', async () => {
    const good = await provider.token('ada', 'urn:opaque');
    const start = Date.now();
    setClock(start);
    const address = '192.0.2.1';
    expect((await read(good, 'school', service, address)).status).toBe(200);
    setClock(start + 4_100);
    // Neither those of its own address, nor all that there may be.
    const junk = Array.from({ length: 250 }, (_, index) =>
      read(`junk-${index}`, 'school', service, `192.0.2.${1 + (index % 50)}`),
    );
    const proven = read(good, 'school', service, address);
    await Promise.all(junk);
    expect((await proven).status).toBe(200);
    const fresh = await provider.token('ada', 'urn:opaque');
    await until(async () => (await read(fresh)).status === 200);
  });

  test('that has been revoked, within 5 s', async () => {
    const token = await provider.token('ada', 'urn:opaque');
    const start = Date.now();
    setClock(start);
    expect((await read(token)).status).toBe(200);
    await provider.revoke('ada', token);
    setClock(start + 4_100);
    expect((await read(token)).status).toBe(401);
  });

  test('where no ClientId is set to ask with', async () => {
    const { IdentityProvider__ClientId: _, IdentityProvider__ClientSecret: __, ...rest } = settingsFor(provider.issuer);
    const deaf = await startService({ ...rest, Role: 'Web' });
    try {
      expect((await read(await provider.token('ada', 'urn:opaque'), 'school', deaf)).status).toBe(401);
      expect((await read(await provider.token('ada'), 'school', deaf)).status).toBe(200);
    } finally {
      await deaf.stop();
    }
  });
});

test('there is no token endpoint, no discovery and no APIKEY', async () => {
  for (const path of [
    '/connect/token',
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/jwks',
  ]) {
    const response = await fetch(service.url + path);
    expect(response.status).toBe(404);
    expect(await detailOf(response)).toContain(`get a token from ${provider.issuer}`);
  }
  const { mandatorId, person } = service.tenant;
  const { pin } = await createPin(service.context.db, pepper, { mandatorId, personId: person('User').id });
  const refused = await fetch(`${service.url}/school/api/v2.0/jobs/batches`, { headers: { APIKEY: pin } });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="roomgate"');
});

test('a token of a newer key of the provider is accepted, and one of the old key no longer', async () => {
  const before = await provider.token('ada');
  expect((await read(before)).status).toBe(200);
  await provider.rotate();
  const after = await provider.token('ada');
  await until(async () => (await read(after)).status === 200);
  setClock(Date.now() + 4_100);
  expect((await read(before)).status).toBe(401);
});

describe('a provider that is down', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let lonely: IdentityServer;
  let own: Awaited<ReturnType<typeof startProvider>>;

  const external = (changes: Partial<Config['IdentityProvider']> = {}): Parameters<typeof startIdentity>[1] => ({
    IdentityProvider: {
      Mode: 'External',
      Authority: own.issuer,
      Audience: audience,
      TenantClaim: 'tenant',
      EmailClaim: 'email',
      ...resourceClient,
      ...changes,
    },
  });

  beforeAll(async () => {
    database = await cloneDatabase();
    own = await startProvider({ ada });
    lonely = await startIdentity(database.url, external());
    await makeTenant(lonely.context.db);
  });

  afterAll(async () => {
    await lonely.stop();
    await own.stop();
    await database.drop();
  });

  test('at the start: 503 with Retry-After, and good as soon as it answers', async () => {
    const token = await own.token('ada');
    await own.stop();
    const refused = await lonely.call(`Bearer ${token}`);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await own.start();
    await until(async () => (await lonely.call(`Bearer ${token}`)).status === 200);
    const viewer = (await (await lonely.call(`Bearer ${token}`)).json()) as Viewer;
    expect(viewer).toMatchObject({
      pinId: null,
      display: null,
      expiresAt: new Date(decodeJwt(token).exp! * 1000).toISOString(),
    });
  });

  test('later: JWTs are still valid; tokens that only the provider can check are 503', async () => {
    const [jwt, opaque] = [await own.token('ada'), await own.token('ada', 'urn:opaque')];
    expect((await lonely.call(`Bearer ${opaque}`)).status).toBe(200);
    await own.stop();
    expect((await lonely.call(`Bearer ${jwt}`)).status).toBe(200);
    setClock(Date.now() + 4_100);
    expect((await lonely.call(`Bearer ${opaque}`)).status).toBe(503);
    await own.start();
  });

  test('is asked once for many calls, and not again at once', async () => {
    const outgoing = watchOutgoing();
    // Not that of the tests before, which may still be asked.
    const provider = `http://127.0.0.1:${await freePort()}`;
    const begun = performance.now();
    const fresh = await startIdentity(database.url, external({ Authority: provider }));
    try {
      const asked = () => outgoing.addresses.filter((address) => address.startsWith(provider)).length;
      const token = `Bearer ${Buffer.from('{"alg":"RS256"}').toString('base64url')}.e30.`;
      const calls = Array.from({ length: 20 }, (_, index) => fresh.call(`${token}${index}A`));
      for (const { status } of await Promise.all(calls)) expect(status).toBe(503);
      const passed = performance.now() - begun;
      // The first pause takes a quarter of a second, and each one twice as long as that before.
      const pauses = [250, 750, 1_750, 3_750].filter((end) => end <= passed).length;
      expect(asked()).toBeGreaterThan(0);
      expect(asked()).toBeLessThanOrEqual(1 + (passed < 7_750 ? pauses : calls.length));
    } finally {
      outgoing.stop();
      await fresh.stop();
    }
  });
});

describe('of 300 forged tokens in a minute from one address the next is 429', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let forger: IdentityServer;
  const keys: object[] = [];
  /** Vouches for two keys. */
  const pair = http.createServer((request, response) => {
    const issuer = `http://${request.headers.host}`;
    const body = request.url === '/jwks' ? { keys } : { issuer, jwks_uri: `${issuer}/jwks` };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });

  beforeAll(async () => {
    database = await cloneDatabase();
    for (const { kty, n, e, kid, alg, use } of await Promise.all(['first', 'second'].map(makeKey)))
      keys.push({ kty, n, e, kid, alg, use });
    await new Promise<void>((resolve) => pair.listen(0, '127.0.0.1', resolve));
    const Authority = `http://127.0.0.1:${(pair.address() as AddressInfo).port}`;
    const claims = { TenantClaim: 'tenant', EmailClaim: 'email' };
    forger = await startIdentity(database.url, {
      IdentityProvider: { Mode: 'External', Authority, Audience: audience, ...claims },
    });
  });
  afterAll(async () => {
    await forger.stop();
    pair.closeAllConnections();
    await new Promise((resolve) => pair.close(resolve));
    await database.drop();
  });

  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  test.each([
    ['with a wrong signature', `${encode({ alg: 'RS256', kid: 'first' })}.e30.AA`, '10.0.0.1'],
    ['that name none of several keys', `${encode({ alg: 'RS256' })}.e30.AA`, '10.0.0.2'],
    ['that are no JWTs, where no others are accepted', 'x', '10.0.0.3'],
  ])('%s', async (_which, token, address) => {
    let sent = 1_000;
    // Equal ones that are being checked at the same time count once.
    const headers = () => ({ authorization: `Bearer ${token}${++sent}`, 'x-forwarded-for': address });
    const send = async () => (await fetch(`${forger.url}/school/api/whoami`, { headers: headers() })).status;
    const statuses: number[] = [];
    // More than it takes, where a window ends meanwhile.
    while (!statuses.includes(429) && statuses.length < 1_000)
      statuses.push(...(await Promise.all(Array.from({ length: 50 }, send))));
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(statuses.indexOf(429)).toBeGreaterThanOrEqual(300);
  });
});

describe('a provider that is not to be trusted: 503', () => {
  type Reply = { status?: number; headers?: Record<string, string>; body: unknown };
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let evil: http.Server;
  let origin: string;
  let reply: (path: string) => Partial<Reply>;
  const seen: string[] = [];

  beforeAll(async () => {
    database = await cloneDatabase();
    evil = http.createServer((request, response) => {
      seen.push(request.url ?? '');
      const keys = request.url === '/jwks' ? { body: { keys: [] } } : undefined;
      const { status = 200, headers = {}, body } = { ...keys, ...reply(request.url ?? '') };
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`;
  });

  afterAll(async () => {
    evil.closeAllConnections();
    await new Promise((resolve) => evil.close(resolve));
    await database.drop();
  });

  /** Of its discovery; its keys are none, and were they used, a token would be 401. */
  const says =
    (changes: object = {}) =>
    (path: string): Partial<Reply> =>
      path === '/jwks' ? {} : { body: { issuer: origin, jwks_uri: `${origin}/jwks`, ...changes } };
  const at = (where: string, other: Reply) => (path: string) => (path === where ? other : says()(path));

  test.each<[string, () => (path: string) => Partial<Reply>]>([
    ['a redirect', () => () => ({ status: 302, headers: { location: '/elsewhere' }, body: '' })],
    ['another issuer', () => says({ issuer: 'https://issuer.example' })],
    ['keys at another http address', () => says({ jwks_uri: `${origin.replace('127.0.0.1', 'localhost')}/jwks` })],
    ['no keys at all', () => says({ jwks_uri: undefined })],
    ['more than 1 MiB', () => says({ filler: 'x'.repeat(1_100_000) })],
    ['what is no JSON', () => () => ({ body: '<html>' })],
    ['broken keys', () => at('/jwks', { body: { keys: 'none' } })],
    ['an error in place of keys', () => at('/jwks', { status: 500, body: { keys: [] } })],
  ])('%s', async (_name, answer) => {
    reply = answer();
    const guarded = await startIdentity(database.url, {
      IdentityProvider: {
        Mode: 'External',
        Authority: origin,
        Audience: audience,
        TenantClaim: 'tenant',
        EmailClaim: 'email',
      },
    });
    try {
      const token = `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.e30.AA`;
      expect((await guarded.call(`Bearer ${token}`)).status).toBe(503);
      expect(seen).not.toContain('/elsewhere');
      expect(guarded.lines.join('\n')).toContain('identity provider failed');
    } finally {
      await guarded.stop();
    }
  });
});
