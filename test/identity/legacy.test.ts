import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createClient as createWsClient } from 'graphql-ws';
import { sql } from 'kysely';
import WebSocket from 'ws';
import type { Viewer } from '../../src/context.ts';
import { createPin, revokePin } from '../../src/identity/service.ts';
import { setParameter } from '../../src/tenants/service.ts';
import { releaseClock, setClock } from '../_util/clock.ts';
import { makeTenant } from '../_util/factories.ts';
import { heardOfAll } from '../_util/graphql.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { type IdentityServer, startIdentity } from './_util/identity.ts';

const batches = '/school/api/v2.0/jobs/batches';
const embedded = { TenantClaim: '', EmailClaim: '', Audience: '' };

/** One service per mode; `None` is the legacy mode itself. */
let none: Service;
let both: Service;
let strict: Service;

beforeAll(async () => {
  none = await startService({ Role: 'Web', IdentityProvider__Mode: 'None', TrustProxy: '1' });
  both = await startService({ Role: 'Web', LegacyApiKeyEnabled: 'true' });
  strict = await startService({ Role: 'Web' });
});

afterAll(async () => {
  for (const service of [none, both, strict]) await service.stop();
});

afterEach(releaseClock);

const newPin = ({ context, tenant }: Service, expiresAt?: Date) =>
  createPin(context.db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person('User').id,
    expiresAt,
  });

const read = (service: Service, headers: Record<string, string>) => fetch(service.url + batches, { headers });
const challengeOf = (response: Response) => response.headers.get('www-authenticate');
const detailOf = async (response: Response) => ((await response.json()) as { detail: string }).detail;

const subscription = '{"query":"subscription { batches { id } }"}';
function openStream(service: Service, headers: Record<string, string>): Promise<Response> {
  return fetch(`${service.url}/school/graphql`, {
    method: 'POST',
    signal: AbortSignal.timeout(60_000),
    headers: { ...headers, accept: 'text/event-stream', 'content-type': 'application/json' },
    body: subscription,
  });
}

function openSocket(service: Service, connectionParams: Record<string, unknown>) {
  return createWsClient({
    url: `${service.url.replace('http', 'ws')}/school/graphql`,
    webSocketImpl: WebSocket,
    connectionParams,
    retryAttempts: 0,
  });
}

describe('without an identity provider', () => {
  test('the PIN in the header APIKEY is accepted by REST, in any spelling', async () => {
    const { pin } = await newPin(none);
    for (const written of [pin, pin.replaceAll('-', '').toLowerCase()]) {
      const response = await read(none, { APIKEY: written });
      expect(response.status).toBe(200);
      expect(response.headers.get('vary')).toMatch(/\bAPIKEY\b/);
      expect(response.headers.get('deprecation')).toMatch(/^@\d+$/);
    }
  });

  test('a wrong token of a calendar address gets the same scheme', async () => {
    const address = `${none.url}/school/api/v1.0/resources/1/calendar.ics?token=wrong`;
    expect(challengeOf(await fetch(address))).toBe('APIKEY realm="roomgate"');
  });

  test('the PIN is accepted by GraphQL', async () => {
    const { pin } = await newPin(none);
    const response = await fetch(`${none.url}/school/graphql`, {
      method: 'POST',
      headers: { apikey: pin, 'content-type': 'application/json' },
      body: '{"query":"{ me { email } }"}',
    });
    expect(await response.json()).toEqual({ data: { me: { email: 'user@school.example' } } });
  });

  test('a PIN that is sent again is in use: last_used_at moves, at most once a minute', async () => {
    const { db } = none.context;
    const { pin: APIKEY, pinId } = await newPin(none);
    const row = () => db.selectFrom('pin').where('id', '=', pinId).select('last_used_at').executeTakeFirstOrThrow();
    const start = Date.now();
    const send = async (seconds: number) => {
      // The credential is checked again.
      setClock(start + seconds * 1_000);
      expect((await read(none, { APIKEY })).status).toBe(200);
      return (await row()).last_used_at!.getTime();
    };
    const first = await send(0);
    expect(await send(10)).toBe(first);
    const longAgo = first - 61_000;
    await db
      .updateTable('pin')
      .set({ last_used_at: new Date(longAgo) })
      .where('id', '=', pinId)
      .execute();
    expect(await send(20)).toBeGreaterThan(longAgo);
  });

  test.each(['APIKEY', 'apiKey'])('the PIN is accepted by WebSocket, as connection parameter %s', async (name) => {
    const { pin } = await newPin(none);
    const client = openSocket(none, { [name]: pin });
    const frames = client.iterate({ query: '{ me { email } }' });
    expect((await frames.next()).value).toEqual({ data: { me: { email: 'user@school.example' } } });
    await client.dispose();
  });

  test('a WebSocket without it, or with a token, is closed as unauthorized', async () => {
    for (const parameters of [{}, { APIKEY: 'wrong' }, { Authorization: 'Bearer a.b.c' }]) {
      const client = openSocket(none, parameters);
      const closed = new Promise((resolve) =>
        client.on('closed', (event) => resolve((event as { code: number }).code)),
      );
      await expect(client.iterate({ query: '{ me { email } }' }).next()).rejects.toBeDefined();
      expect(await closed).toBe(4401);
      await client.dispose();
    }
  });

  test('an answer to a PIN of another tenant is 404', async () => {
    const stranger = await makeTenant(none.context.db, { code: 'stranger' });
    const { pin } = await createPin(none.context.db, pepper, {
      mandatorId: stranger.mandatorId,
      personId: stranger.person('User').id,
    });
    expect((await read(none, { APIKEY: pin })).status).toBe(404);
    expect((await fetch(`${none.url}/stranger/api/v2.0/jobs/batches`, { headers: { APIKEY: pin } })).status).toBe(200);
  });

  test('a bearer token is 401, in words that name the way', async () => {
    const response = await read(none, { authorization: `Bearer ${await strict.signIn()}` });
    expect(response.status).toBe(401);
    expect(challengeOf(response)).toBe('APIKEY realm="roomgate"');
    expect(await detailOf(response)).toBe(
      'There is no identity provider here; send the PIN of the person in the header APIKEY.',
    );
  });

  test('no credential is 401, for a known and an unknown mandator alike', async () => {
    const answers = await Promise.all(
      ['school', 'unknown'].map(async (mandator) => {
        const response = await fetch(`${none.url}/${mandator}/api/v2.0/jobs/batches`);
        return [response.status, challengeOf(response), await detailOf(response)];
      }),
    );
    expect(answers[0]).toEqual([
      401,
      'APIKEY realm="roomgate"',
      'This needs a PIN; send the PIN of the person in the header APIKEY.',
    ]);
    expect(answers[1]).toEqual(answers[0]);
  });

  test.each(['/connect/token', '/.well-known/openid-configuration', '/.well-known/openid-configuration/jwks'])(
    '%s is 404 and says what to do',
    async (path) => {
      for (const method of ['GET', 'POST']) {
        const response = await fetch(none.url + path, { method });
        expect(response.status).toBe(404);
        expect(await detailOf(response)).toContain('send the PIN of the person in the header APIKEY');
      }
    },
  );
});

describe('a token and a PIN in one call: the one that the mode asks for counts', () => {
  const wrong = { authorization: 'Bearer a.b.c', APIKEY: 'AAAAA-AAAAA-AAAAA-AAAAA' };

  test.each<[string, () => Service]>([
    ['with a provider of our own', () => strict],
    ['with LegacyApiKeyEnabled beside it', () => both],
  ])('the token, %s', async (_name, of) => {
    const [{ pin }, token] = [await newPin(of()), await of().signIn()];
    const authorization = `Bearer ${token}`;
    for (const APIKEY of [pin, wrong.APIKEY]) expect((await read(of(), { authorization, APIKEY })).status).toBe(200);
    expect((await read(of(), { ...wrong, APIKEY: pin })).status).toBe(401);
  });

  test('the PIN, without an identity provider, whatever stands in Authorization', async () => {
    const { pin: APIKEY } = await newPin(none);
    for (const authorization of [wrong.authorization, `Bearer ${await strict.signIn()}`, 'Basic cHJveHk6eA=='])
      expect((await read(none, { authorization, APIKEY })).status).toBe(200);
    expect((await read(none, { authorization: `Bearer ${await strict.signIn()}`, APIKEY: wrong.APIKEY })).status).toBe(
      401,
    );
  });

  test('the PIN beside the credential for a proxy, where PINs are accepted', async () => {
    const authorization = 'Basic cHJveHk6eA==';
    expect((await read(both, { authorization, APIKEY: (await newPin(both)).pin })).status).toBe(200);
    expect((await read(strict, { authorization, APIKEY: (await newPin(strict)).pin })).status).toBe(401);
  });

  test('a PIN that does not count is no guess', async () => {
    const authorization = `Bearer ${await both.signIn()}`;
    for (let n = 0; n < 12; n++) expect((await read(both, { authorization, APIKEY: `wrong ${n}` })).status).toBe(200);
    expect((await read(both, { APIKEY: (await newPin(both)).pin })).status).toBe(200);
  });

  test('over a WebSocket too', async () => {
    const token = await both.signIn();
    const client = openSocket(both, { APIKEY: wrong.APIKEY, Authorization: `Bearer ${token}` });
    const { value } = await client.iterate({ query: '{ me { email } }' }).next();
    expect(value).toEqual({ data: { me: { email: 'user@school.example' } } });
    await client.dispose();
  });
});

describe('one credential twice in one call: 401', () => {
  test('a PIN', async () => {
    const { pin } = await newPin(none);
    const { hostname, port } = new URL(none.url);
    const headers = ['Host', hostname, 'APIKEY', pin, 'apikey', pin];
    const status = await new Promise((resolve, reject) =>
      http
        .get({ hostname, port, path: batches, headers: headers as never }, (response) =>
          resolve(response.resume().statusCode),
        )
        .on('error', reject),
    );
    expect(status).toBe(401);
  });
});

describe('a body without a Content-Type', () => {
  const post = ({ url }: Service, path: string, body: string, headers: Record<string, string>) =>
    fetch(`${url}/school/${path}`, { method: 'POST', body: Buffer.from(body), headers });
  const question = '{"query":"{ me { role } }"}';

  test('is JSON beside a PIN or a token, over REST and GraphQL', async () => {
    const [{ pin }, token] = [await newPin(both), await both.signIn()];
    for (const headers of [{ APIKEY: pin }, { Authorization: `Bearer ${token}` }]) {
      expect((await post(both, 'api/v2.0/jobs/create', '[{"JobID":"J"}]', headers as never)).status).toBe(202);
      const booking = await post(both, 'api/v1.0/bookings', '{"Subject":1}', headers as never);
      expect(booking.status).toBe(422);
      const answer = await post(both, 'graphql', question, headers as never);
      expect(await answer.json()).toEqual({ data: { me: { role: 'User' } } });
      expect((await post(both, 'graphql', 'nonsense', headers as never)).status).toBe(400);
    }
  });

  test('of nobody is refused as ever', async () => {
    expect((await post(both, 'graphql', question, {})).status).toBe(401);
    expect((await post(both, 'api/v1.0/displays/pairings', '{}', {})).status).toBe(415);
  });
});

describe('with an identity provider of our own', () => {
  test('the header APIKEY is refused', async () => {
    const { pin } = await newPin(strict);
    const response = await read(strict, { APIKEY: pin });
    expect(response.status).toBe(401);
    expect(challengeOf(response)).toBe('Bearer realm="roomgate"');
    expect(await detailOf(response)).toMatch(/^The header APIKEY is not accepted here; get a token/);
  });

  test('and LegacyApiKeyEnabled, both ways are open, and a 401 names both', async () => {
    const { pin } = await newPin(both);
    expect((await read(both, { APIKEY: pin })).status).toBe(200);
    expect((await read(both, { authorization: `Bearer ${await both.signIn()}` })).status).toBe(200);
    expect(challengeOf(await read(both, {}))).toBe('Bearer realm="roomgate", APIKEY realm="roomgate"');
  });
});

describe('a PIN that ends', () => {
  test('is refused, and its streams end, by the notification', async () => {
    const { pin, pinId } = await newPin(none);
    const stream = await openStream(none, { APIKEY: pin });
    const client = openSocket(none, { APIKEY: pin });
    const connected = new Promise((resolve) => client.on('connected', resolve));
    const frames = client.iterate({ query: 'subscription { batches { id } }' });
    // The socket is open; the subscription may yet come when the PIN has ended already.
    const frame = frames.next().catch((refused: unknown) => refused);
    await connected;
    expect((await read(none, { APIKEY: pin })).status).toBe(200);
    // With the clock stopped, nothing but the notification can end what is believed.
    setClock(Date.now());
    await revokePin(none.context.db, none.tenant.mandatorId, pinId);
    await until(async () => (await read(none, { APIKEY: pin })).status === 401);
    expect(await stream.text()).toContain('NOT_AUTHENTICATED');
    expect(JSON.stringify(await frame)).toContain('NOT_AUTHENTICATED');
    await client.dispose();
  });

  test('is refused within 5 s when every notification is lost', async () => {
    const { db } = none.context;
    await sql`alter table pin disable trigger pin_changed`.execute(db);
    try {
      const { pin, pinId } = await newPin(none);
      const start = Date.now();
      setClock(start);
      expect((await read(none, { APIKEY: pin })).status).toBe(200);
      await revokePin(db, none.tenant.mandatorId, pinId);
      setClock(start + 3_900);
      expect((await read(none, { APIKEY: pin })).status).toBe(200);
      setClock(start + 4_100);
      expect((await read(none, { APIKEY: pin })).status).toBe(401);
    } finally {
      await sql`alter table pin enable trigger pin_changed`.execute(db);
    }
  });

  test('ends its streams when it expires', async () => {
    const end = Date.now() + 3_600_000;
    const { pin } = await newPin(none, new Date(end));
    // However long the first call takes, there are 300 ms left once the stream is open.
    setClock(end - 300);
    const stream = await openStream(none, { APIKEY: pin });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    setClock(end);
    expect(await stream.text()).toContain('NOT_AUTHENTICATED');
  });
});

describe('the parameter PinAuthenticationAllowed', () => {
  test.each<[string, () => Service]>([
    ['APIKEY', () => none],
    ['Bearer', () => both],
  ])('false ends streams and calls by %s, by a notification; true lets them in again', async (scheme, of) => {
    const service = of();
    const tenant = await makeTenant(service.context.db, { code: `switched-${scheme.toLowerCase()}` });
    const holder = { mandatorId: tenant.mandatorId, personId: tenant.person('User').id };
    const headers =
      scheme === 'APIKEY'
        ? { APIKEY: (await createPin(service.context.db, pepper, holder)).pin }
        : { authorization: `Bearer ${await service.signIn(tenant)}` };
    const call = async () => (await fetch(`${service.url}/${tenant.code}/api/v2.0/jobs/batches`, { headers })).status;
    const stream = await fetch(`${service.url}/${tenant.code}/graphql`, {
      method: 'POST',
      signal: AbortSignal.timeout(60_000),
      headers: { ...headers, accept: 'text/event-stream', 'content-type': 'application/json' } as Record<
        string,
        string
      >,
      body: subscription,
    });
    expect([stream.status, await call()]).toEqual([200, 200]);
    setClock(Date.now());
    const set = (value: string) => setParameter(service.context.db, tenant.code, 'PinAuthenticationAllowed', value);
    await set('false');
    expect(await stream.text()).toContain('NOT_AUTHENTICATED');
    expect(await call()).toBe(401);
    await set('true');
    expect(await call()).toBe(200);
  });
});

describe('a wrong PIN', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });

  test('is 401 in the same words, whether it is unknown, revoked, expired or of a tenant that allows none', async () => {
    const { db } = none.context;
    const revoked = await newPin(none);
    await revokePin(db, none.tenant.mandatorId, revoked.pinId);
    const expired = await newPin(none, new Date(Date.now() - 1_000));
    const forbidden = await makeTenant(db, { code: 'forbidden' });
    const holder = { mandatorId: forbidden.mandatorId, personId: forbidden.person('User').id };
    const disabled = await createPin(db, pepper, holder);
    await setParameter(db, 'forbidden', 'PinAuthenticationAllowed', 'false');
    const answers = await Promise.all(
      ['unknown', revoked.pin, expired.pin, disabled.pin].map(async (APIKEY) => {
        const response = await read(none, { APIKEY, ...from('192.0.2.1') });
        return [response.status, challengeOf(response), await detailOf(response)];
      }),
    );
    expect(answers).toEqual(
      Array(4).fill([
        401,
        'APIKEY realm="roomgate"',
        'The PIN is not valid; ask an Admin of the tenant for a new one.',
      ]),
    );
  });

  test('ten at once are tried, the rest and the right one get 429 with Retry-After, over WebSocket too', async () => {
    const wrong = Array.from({ length: 30 }, (_, index) =>
      read(none, { APIKEY: `wrong ${index}`, ...from('192.0.2.2') }),
    );
    const statuses = (await Promise.all(wrong)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    const { pin } = await newPin(none);
    expect((await read(none, { APIKEY: pin, ...from('192.0.2.3') })).status).toBe(200);
    const right = await read(none, { APIKEY: pin, ...from('192.0.2.2') });
    expect(right.status).toBe(429);
    const wait = Number(right.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(880);
    expect(wait).toBeLessThanOrEqual(900);

    const socket = new WebSocket(`${none.url.replace('http', 'ws')}/school/graphql`, 'graphql-transport-ws', {
      headers: { apikey: pin, ...from('192.0.2.2') },
    });
    socket.on('open', () => socket.send('{"type":"connection_init"}'));
    expect(await new Promise((resolve) => socket.on('close', resolve))).toBe(1013);
  });

  test('stops neither a right PIN of another address nor one on the machine itself', async () => {
    for (let n = 0; n < 12; n++) await read(none, { APIKEY: `another wrong ${n}`, ...from('192.0.2.9') });
    const { pin } = await newPin(none);
    expect((await read(none, { APIKEY: pin, ...from('192.0.2.9') })).status).toBe(429);
    for (const address of ['192.0.2.10', '2001:db8::9']) {
      expect((await read(none, { APIKEY: pin, ...from(address) })).status).toBe(200);
    }
    expect((await read(none, { APIKEY: pin })).status).toBe(200);
  });

  test('does not stop a PIN that this address has proven before', async () => {
    const { pin } = await newPin(none);
    const call = async (APIKEY: string) => (await read(none, { APIKEY, ...from('192.0.2.4') })).status;
    const start = Date.now();
    setClock(start);
    expect(await call(pin)).toBe(200);
    for (let guess = 0; guess < 10; guess++) expect(await call(`wrong ${guess}`)).toBe(401);
    expect(await call('wrong')).toBe(429);
    setClock(start + 10_000);
    expect(await call(pin)).toBe(200);
  });

  test('guessed from many addresses of an IPv6 network is throttled by the /64', async () => {
    for (let host = 1; host <= 10; host++) await read(none, { APIKEY: 'wrong', ...from(`2001:db8:0:1::${host}`) });
    const { pin } = await newPin(none);
    expect((await read(none, { APIKEY: pin, ...from('2001:db8:0:1:ffff::1') })).status).toBe(429);
    expect((await read(none, { APIKEY: pin, ...from('2001:db8:0:2::1') })).status).toBe(200);
  });
});

describe('the cache of checked PINs', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let server: IdentityServer;
  let pin: string;

  beforeAll(async () => {
    database = await cloneDatabase();
    server = await startIdentity(database.url, { IdentityProvider: { Mode: 'None', ...embedded } });
    // The beginning of LISTEN forgets what was checked before it.
    await heardOfAll(server.context);
    const tenant = await makeTenant(server.context.db);
    const holder = { mandatorId: tenant.mandatorId, personId: tenant.person('User').id };
    ({ pin } = await createPin(server.context.db, pepper, holder));
  });

  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const call = () => fetch(`${server.url}/school/api/whoami`, { headers: { APIKEY: pin } });

  test('names the credential by the id of the PIN', async () => {
    const viewer = (await (await call()).json()) as Viewer;
    expect(viewer.credential).toBe(`pin:${viewer.pinId}`);
    expect(Date.parse(String(viewer.expiresAt))).toBeGreaterThan(Date.parse('9999-01-01'));
  });

  test('spares the database for 4 s, and holds no PIN', async () => {
    setClock(Date.now());
    await call();
    const transactions = jest.spyOn(server.context.db, 'transaction');
    const reads = jest.spyOn(server.context.db, 'selectFrom');
    await Promise.all(Array.from({ length: 20 }, call));
    expect(reads).not.toHaveBeenCalled();
    setClock(Date.now() + 4_100);
    await Promise.all(Array.from({ length: 20 }, call));
    expect(reads).toHaveBeenCalledTimes(1);
    expect(transactions).not.toHaveBeenCalled();
    for (const spy of [transactions, reads]) spy.mockRestore();
    const kept = JSON.stringify([...server.identity.verified.keys()]);
    for (const written of [pin, pin.replaceAll('-', '')]) expect(kept).not.toContain(written);
  });

  test('the log holds no PIN', async () => {
    await fetch(`${server.url}/school/api/whoami`, { headers: { APIKEY: 'WRONG-WRONG-WRONG' } });
    const written = server.lines.join('\n');
    expect(written).toContain('wrong PIN');
    for (const canary of [pin, pin.replaceAll('-', ''), 'WRONG-']) expect(written).not.toContain(canary);
  });
});
