/** Sessions of the console: as its own page uses them, and as attackers try to. */
import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import WebSocket from 'ws';
import { createPin, revokePin } from '../../src/identity/service.ts';
import { sweepSessions } from '../../src/identity/sessions.ts';
import { releaseClock, setClock } from '../_util/clock.ts';
import { makeTenant } from '../_util/factories.ts';
import { countWaiting, hold, patiently, releaseAll } from '../_util/hold.ts';
import { pepper } from '../_util/pepper.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let stranger: Awaited<ReturnType<typeof makeTenant>>;

beforeAll(async () => {
  service = await startService({
    Role: 'Web',
    TrustProxy: '1',
    Sessions__PerPerson: '3',
    GraphiQLEnabled: 'true',
    LegacyApiKeyEnabled: 'true',
    Cors__Origins: 'https://other.example',
  });
  stranger = await makeTenant(service.context.db, { code: 'stranger' });
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
});
afterEach(releaseClock);

type Headers = Record<string, string>;
type Json = { Code?: string; errors?: unknown; data?: { me: { role: string } }; [member: string]: unknown };
const own = { 'x-roomgate-console': '1' };
let addresses = 0;
/** A separate address for each case, so that wrong PINs of one case do not count in another. */
const anAddress = (): Headers => ({ 'x-forwarded-for': `198.51.100.${++addresses}` });

function send(method: string, path: string, headers: Headers = {}, body?: string) {
  const { url } = service;
  return new Promise<{ status: number; headers: http.IncomingHttpHeaders; json: Json }>((resolve, reject) => {
    const sent = http.request(url + path, { method, headers }, async (answer) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      const isJson = /json/.test(answer.headers['content-type'] ?? '');
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, json: isJson ? JSON.parse(text) : text });
    });
    // Node.js refuses headers that are too long while they are still being sent.
    const refused = { status: 431, headers: {}, json: {} };
    sent.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' ? resolve(refused) : reject(error),
    );
    sent.end(body);
  });
}

async function makePin(role: 'Admin' | 'User' = 'User', tenant = service.tenant) {
  return await createPin(service.context.db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person(role).id,
  });
}

const signIn = (pin: string, headers: Headers = {}, mandator = 'school', type = 'application/json') =>
  send(
    'POST',
    `/${mandator}/session`,
    { ...own, ...anAddress(), 'content-type': type, ...headers },
    JSON.stringify({ Pin: pin }),
  );

const cookieOf = (answer: { headers: http.IncomingHttpHeaders }) => answer.headers['set-cookie']![0]!.split(';', 1)[0]!;

/** A new session of a new PIN. */
async function begin(role: 'Admin' | 'User' = 'User', tenant = service.tenant, mandator = 'school') {
  const { pin, pinId, personId } = await makePin(role, tenant);
  const answer = await signIn(pin, {}, mandator);
  expect(answer.status).toBe(201);
  return { cookie: cookieOf(answer), pin, pinId, personId, answer };
}

const read = (cookie: string, headers: Headers = own, path = '/school/api/v1.0/resources') =>
  send('GET', path, { cookie, ...headers });
const ask = (cookie: string, headers: Headers = {}) =>
  send(
    'POST',
    '/school/graphql',
    { cookie, ...own, 'content-type': 'application/json', ...headers },
    JSON.stringify({ query: '{ me { role } }' }),
  );

type Closed = { code: number; messages: unknown[] };
/** Opens a WebSocket with the cookie and subscribes; `closed` resolves when the server has closed it. */
function openSocket(headers: Headers, more: { subscribe?: boolean } = {}) {
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/school/graphql`, 'graphql-transport-ws', {
    headers,
  });
  const messages: unknown[] = [];
  const acknowledged = Promise.withResolvers<void>();
  const closed = new Promise<Closed>((resolve) => {
    socket.on('close', (code) => resolve({ code, messages }));
    socket.on('error', (error) => resolve({ code: Number(/\d{3}/.exec(error.message)?.[0] ?? 0), messages }));
  });
  socket.on('open', () => socket.send('{"type":"connection_init"}'));
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    messages.push(message);
    if (message.type !== 'connection_ack') return;
    if (more.subscribe)
      socket.send(
        JSON.stringify({
          id: '1',
          type: 'subscribe',
          payload: { query: 'subscription { bookings(filter: {}) { __typename } }' },
        }),
      );
    acknowledged.resolve();
  });
  return { socket, closed, acknowledged: acknowledged.promise };
}
const ownOrigin = () => ({ origin: service.url });

test('a PIN becomes a session: a cookie that no script reads, who signed in, the same rights', async () => {
  const { cookie, answer, personId } = await begin('Admin');
  const [set = ''] = answer.headers['set-cookie']!;
  expect(set).toMatch(/^roomgate_session=[\w-]{43}; Path=\/school\/; HttpOnly; SameSite=Strict$/);
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.json).toMatchObject({
    Mandator: 'school',
    Person: { Id: personId, Role: 'Admin' },
    SignedInBy: 'Pin',
    IdleMinutes: 120,
  });
  const again = await send('GET', '/school/session', { cookie, ...own });
  expect([again.status, again.json]).toEqual([200, answer.json]);
  const camel = await send('GET', '/School/session', { cookie, ...own, 'x-jsonpropertyformat': 'camel' });
  expect(camel.json).toMatchObject({ person: { id: personId } });
  expect((await ask(cookie)).json).toEqual({ data: { me: { role: 'Admin' } } });
  const list = await read(cookie);
  expect([list.status, list.headers.vary]).toEqual([200, expect.stringContaining('Cookie')]);
  expect(JSON.stringify(await service.context.db.selectFrom('session').selectAll().execute())).not.toContain(
    cookie.split('=')[1],
  );
});

test('a host with https has a Secure cookie of a name that only https sets, below its path', async () => {
  const { writeCookie } = await import('../../src/identity/cookies.ts');
  const config = { ...service.context.config, BaseUrl: 'https://rooms.example/gate' };
  expect(writeCookie(config, 'School', { name: 'session', value: 'x', sameSite: 'Strict' })).toBe(
    '__Secure-roomgate_session=x; Path=/gate/school/; HttpOnly; SameSite=Strict; Secure',
  );
});

describe('a call that brings the cookie from elsewhere', () => {
  let cookie: string;
  beforeAll(async () => {
    ({ cookie } = await begin());
  });
  const without: Headers = {};
  test.each<[string, Headers]>([
    ['without the header', without],
    ['with another value of it', { 'x-roomgate-console': '0' }],
    ['of a page of another site', { ...own, 'sec-fetch-site': 'cross-site' }],
    ['of a sibling subdomain', { ...own, 'sec-fetch-site': 'same-site', origin: 'http://evil.school.example' }],
    ['typed into the address bar', { ...own, 'sec-fetch-site': 'none' }],
    ['of another origin, over http', { ...own, origin: 'http://evil.example' }],
    ['of another port', { ...own, origin: 'http://127.0.0.1:1' }],
    ['of a page without origin', { ...own, origin: 'null' }],
    ['of an origin that CORS allows', { ...own, origin: 'https://other.example' }],
  ])('%s is refused everywhere', async (_name, headers) => {
    const answers = [
      await read(cookie, headers),
      await send('GET', '/school/session', { cookie, ...headers }),
      await send('DELETE', '/school/session', { cookie, ...headers }),
      await send('POST', '/school/session', { ...headers, 'content-type': 'application/json' }, '{"Pin":"x"}'),
      await send('POST', '/school/graphql', { cookie, ...headers, 'content-type': 'application/json' }, '{}'),
    ];
    for (const { status, json } of answers)
      expect([status, json.Code ?? json.errors]).toEqual([403, expect.anything()]);
    expect((await read(cookie)).status).toBe(200);
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])(
    'a form that carries JSON as %s is refused',
    async (type) => {
      const headers = { cookie, ...own, ...(type && { 'content-type': type }) };
      expect((await send('POST', '/school/graphql', headers, '{"query":"{ me { role } }"}')).status).toBe(403);
      expect((await send('POST', '/school/api/v1.0/bookings', headers, '{}')).status).toBe(403);
      expect((await signIn('x', {}, 'school', type || 'text/plain')).status).toBe(403);
    },
  );

  test('no answer lets a page of another origin read, or send the header', async () => {
    const preflight = await send('OPTIONS', '/school/graphql', {
      origin: 'https://other.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-roomgate-console',
    });
    expect(preflight.headers['access-control-allow-headers']?.toLowerCase()).not.toContain('console');
    expect(preflight.headers['access-control-allow-credentials']).toBeUndefined();
  });

  test('the same of the own page, with Sec-Fetch-Site or Origin, is answered', async () => {
    expect((await read(cookie, { ...own, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    expect((await ask(cookie, { origin: service.url })).status).toBe(200);
  });

  test.each<[string, () => Headers]>([
    ['without an origin', () => ({})],
    ['of another origin', () => ({ origin: 'http://evil.example' })],
    ['of an origin that CORS allows', () => ({ origin: 'https://other.example' })],
    ['of another site', () => ({ ...ownOrigin(), 'sec-fetch-site': 'cross-site' })],
  ])('a WebSocket %s is closed', async (_name, headers) => {
    const { code } = await openSocket({ cookie, ...headers() }).closed;
    expect([4403, 403]).toContain(code);
  });
});

test('a token or a PIN takes precedence over a cookie; another Authorization is a proxy’s', async () => {
  const { cookie, pin } = await begin('User');
  const admin = { authorization: `Bearer ${await service.signIn(service.tenant, 'Admin')}` };
  const role = async (headers: Headers) => (await ask(cookie, headers)).json.data?.me.role;
  expect(await role(admin)).toBe('Admin');
  expect((await read(cookie, admin)).status).toBe(200);
  expect((await read(cookie, { authorization: 'Bearer wrong', ...own })).status).toBe(401);
  expect((await read(cookie, { apikey: pin, ...anAddress() })).status).toBe(200);
  expect((await read(cookie, { apikey: 'wrong', ...own, ...anAddress() })).status).toBe(401);
  expect(await role({ authorization: 'Basic cHJveHk6eA==' })).toBe('User');
});

test('a session is no use in another tenant, nor a PIN', async () => {
  const { cookie } = await begin('Admin', stranger, 'stranger');
  expect((await read(cookie)).status).toBe(404);
  expect((await send('GET', '/school/session', { cookie, ...own })).status).toBe(404);
  const { pin } = await makePin('Admin', stranger);
  expect((await signIn(pin)).status).toBe(401);
  expect((await openSocket({ cookie, ...ownOrigin() }).closed).code).toBe(4403);
});

test('a sign-in makes a new id, whatever cookie came with it, and ends the session before', async () => {
  const planted = `roomgate_session=${'A'.repeat(43)}`;
  const { cookie, pin } = await begin();
  const answer = await signIn(pin, { cookie: planted });
  expect(cookieOf(answer)).not.toBe(planted);
  expect((await read(planted)).status).toBe(401);
  const next = await signIn(pin, { cookie });
  expect((await read(cookie)).status).toBe(401);
  expect((await read(cookieOf(next))).status).toBe(200);
  // Planted beside ours by a sibling subdomain: neither counts.
  expect((await read(`${planted}; ${cookieOf(next)}`)).status).toBe(401);
});

test('a stolen cookie is worthless after the sign-out, which closes streams and sockets, and works again and again', async () => {
  const { cookie } = await begin();
  const socket = openSocket({ cookie, ...ownOrigin() }, { subscribe: true });
  const idle = openSocket({ cookie, ...ownOrigin() });
  await Promise.all([socket.acknowledged, idle.acknowledged]);
  const stream = await fetch(`${service.url}/school/graphql`, {
    method: 'POST',
    headers: { cookie, ...own, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: 'subscription { bookings(filter: {}) { __typename } }' }),
  });
  expect(stream.status).toBe(200);
  const out = await send('DELETE', '/school/session', { cookie, ...own });
  expect([out.status, out.headers['set-cookie']]).toEqual([
    204,
    ['roomgate_session=; Path=/school/; HttpOnly; SameSite=Strict; Max-Age=0'],
  ]);
  expect((await read(cookie)).status).toBe(401);
  expect((await ask(cookie)).status).toBe(401);
  expect((await Promise.all([socket.closed, idle.closed])).map(({ code }) => code)).toEqual([4401, 4401]);
  expect(await stream.text()).toContain('NOT_AUTHENTICATED');
  expect((await send('DELETE', '/school/session', { cookie, ...own })).status).toBe(204);
  expect((await openSocket({ cookie, ...ownOrigin() }).closed).code).toBe(4401);
});

test('Everywhere ends all sessions of the person, at once, and those of nobody else', async () => {
  const [mine, other] = [await begin(), await begin()];
  const admins = await begin('Admin');
  const socket = openSocket({ cookie: other.cookie, ...ownOrigin() }, { subscribe: true });
  await socket.acknowledged;
  expect((await read(other.cookie)).status).toBe(200);
  const out = (cookie: string, query = 'Everywhere=true', headers: Headers = own) =>
    send('DELETE', `/school/session?${query}`, { cookie, ...headers });
  // Neither a page of elsewhere nor a wrong value ends anything.
  expect((await out(mine.cookie, 'Everywhere=true', {})).status).toBe(403);
  expect((await out(mine.cookie, 'Everywhere=all')).status).toBe(400);
  const strict = await out(mine.cookie, 'Everywhere=true&All=true', { ...own, Prefer: 'handling=strict' });
  expect([strict.status, strict.headers['preference-applied']]).toEqual([400, 'handling=strict']);
  expect((await send('DELETE', '/stranger/session?Everywhere=true', { cookie: mine.cookie, ...own })).status).toBe(404);
  expect((await read(mine.cookie)).status).toBe(200);
  const answer = await out(mine.cookie);
  expect([answer.status, answer.headers['set-cookie']]).toEqual([
    204,
    ['roomgate_session=; Path=/school/; HttpOnly; SameSite=Strict; Max-Age=0'],
  ]);
  expect([(await read(mine.cookie)).status, (await read(other.cookie)).status]).toEqual([401, 401]);
  expect((await socket.closed).code).toBe(4401);
  expect((await read(admins.cookie)).status).toBe(200);
  // Who has no session any more is not told that the others have ended.
  const later = await begin();
  expect((await out(mine.cookie)).status).toBe(401);
  expect((await read(later.cookie)).status).toBe(200);
});

test.each<[string, (session: { pinId: number; personId: number }) => Promise<unknown>]>([
  ['its PIN is revoked', ({ pinId }) => revokePin(service.context.db, stranger.mandatorId, pinId)],
  [
    'its person is retired',
    ({ personId }) =>
      service.context.db.updateTable('person').set({ active: false }).where('id', '=', personId).execute(),
  ],
])('a session ends for good when %s, also an open socket', async (_name, end) => {
  const url = `${service.url.replace('http', 'ws')}/stranger/graphql`;
  const session = await begin('User', stranger, 'stranger');
  const socket = new WebSocket(url, 'graphql-transport-ws', { headers: { cookie: session.cookie, ...ownOrigin() } });
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  socket.on('open', () => socket.send('{"type":"connection_init"}'));
  await new Promise((resolve) => socket.on('message', resolve));
  await end(session);
  expect(await closed).toBe(4401);
  expect((await read(session.cookie, own, '/stranger/api/v1.0/resources')).status).toBe(401);
  await service.context.db.updateTable('person').set({ active: true }).where('id', '=', session.personId).execute();
  expect((await read(session.cookie, own, '/stranger/api/v1.0/resources')).status).toBe(401);
});

test('401 for a PIN that is deleted while its holder signs in', async () => {
  const { pin, pinId, personId } = await begin();
  const { db } = service.context;
  // As an erasure does.
  const release = await hold(db, async (trx) => {
    await sql`select from person where id = ${personId} for no key update`.execute(trx);
    await trx.deleteFrom('pin').where('id', '=', pinId).execute();
  });
  const meanwhile = await patiently(async () => {
    const signingIn = signIn(pin);
    await until(async () => (await countWaiting(db)) > 0);
    await release();
    return await signingIn;
  });
  expect(meanwhile).toMatchObject({ status: 401, json: { Code: 'NotAuthenticated' } });
});

test('503 after a second for a sign-in while its person is locked, as by a long erasure', async () => {
  const { pin, personId } = await begin();
  const release = await hold(service.context.db, (trx) =>
    sql`select from person where id = ${personId} for no key update`.execute(trx),
  );
  const detail = expect.stringMatching(/^The person is locked by another change/);
  expect(await signIn(pin)).toMatchObject({ status: 503, json: { detail } });
  await release();
  expect((await signIn(pin)).status).toBe(201);
});

test('a person has so many sessions and no more; the oldest end', async () => {
  const { pin } = await makePin('Admin');
  const cookies: string[] = [];
  for (let made = 0; made < 5; made++) cookies.push(cookieOf(await signIn(pin)));
  const statuses = await Promise.all(cookies.map(async (cookie) => (await read(cookie)).status));
  expect(statuses).toEqual([401, 401, 200, 200, 200]);
  const together = await Promise.all(Array.from({ length: 8 }, () => signIn(pin)));
  // One that others have ended before its answer was written is told so.
  for (const { status } of together) expect([201, 401]).toContain(status);
  const { count } = await service.context.db
    .selectFrom('session')
    .where('person_id', '=', service.tenant.person('Admin').id)
    .select((select) => select.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  expect(Number(count)).toBe(3);
});

test.each(['used_at', 'expires_at'] as const)('a session ends by %s, and is swept', async (column) => {
  const { db, config } = service.context;
  const { cookie, personId } = await begin();
  const past = new Date(Date.now() - 3 * 3_600_000);
  await db
    .updateTable('session')
    .set({ [column]: past })
    .where('person_id', '=', personId)
    .execute();
  // What was read before holds for some seconds.
  setClock(Date.now() + 5_000);
  expect((await read(cookie)).status).toBe(401);
  await sweepSessions(db, config);
  expect(await db.selectFrom('session').where('person_id', '=', personId).select('id').execute()).toEqual([]);
});

test('a session that is in use does not end, however short the idle time is, and if the clock is set back', async () => {
  const hasty = await startService({ Sessions__IdleMinutes: '1', Role: 'Web' });
  try {
    const { db } = hasty.context;
    const [{ mandatorId }, { id: personId }] = [hasty.tenant, hasty.tenant.person('User')];
    const { pin } = await createPin(db, pepper, { mandatorId, personId });
    const headers = { ...own, 'content-type': 'application/json' };
    const begun = await fetch(`${hasty.url}/school/session`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ Pin: pin }),
    });
    const cookie = begun.headers.get('set-cookie')!.split(';', 1)[0]!;
    const use = async () => (await fetch(`${hasty.url}/school/session`, { headers: { ...own, cookie } })).status;
    expect(await use()).toBe(200);
    const earlier = new Date(Date.now() - 40_000);
    await db.updateTable('session').set({ used_at: earlier }).execute();
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 16_000);
    setClock(Date.now() - 3_600_000);
    expect(await use()).toBe(200);
    const { used_at } = await db.selectFrom('session').select('used_at').executeTakeFirstOrThrow();
    expect(used_at.getTime()).toBeGreaterThan(earlier.getTime());
  } finally {
    jest.restoreAllMocks();
    await hasty.stop();
  }
});

test('wrong PINs are counted by address: another address may still sign in', async () => {
  const { pin } = await makePin();
  const from = anAddress();
  for (let guess = 0; guess < 10; guess++) expect((await signIn(`wrong ${guess}`, from)).status).toBe(401);
  const refused = await signIn(pin, from);
  expect([refused.status, refused.json.Code]).toEqual([429, 'LimitExceeded']);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await signIn(pin)).status).toBe(201);
});

test.each<[string, string, number]>([
  ['no JSON', '{', 400],
  ['no PIN', '{}', 422],
  ['a PIN that is no text', '{"Pin":7}', 422],
  ['a PIN of a thousand letters', JSON.stringify({ Pin: 'A'.repeat(1_000) }), 422],
  ['more than is asked for', '{"Pin":"x","Role":"Admin"}', 422],
  ['a huge body', JSON.stringify({ Pin: 'A'.repeat(10_000) }), 413],
  ['NUL', '{"Pin":"\\u0000"}', 400],
])('%s is refused', async (_name, body, status) => {
  const headers = { ...own, ...anAddress(), 'content-type': 'application/json' };
  expect((await send('POST', '/school/session', headers, body)).status).toBe(status);
});

test.each<[string, string, number]>([
  ['10,000 cookies', Array.from({ length: 10_000 }, (_, at) => `c${at}=1`).join('; '), 431],
  ['as many cookies as fit', Array.from({ length: 1_500 }, (_, at) => `c${at}=1`).join('; '), 401],
  [
    'the same cookie as often as it fits',
    Array.from({ length: 200 }, (_, at) => `roomgate_session=${at}`).join('; '),
    401,
  ],
  ['an overlong id', `roomgate_session=${'A'.repeat(12_000)}`, 401],
  ['an empty id', 'roomgate_session=', 401],
  ['an id with quotes and signs', 'roomgate_session="\'-- or 1=1"', 401],
])('%s: %#', async (_name, cookie, status) => {
  expect((await read(cookie)).status).toBe(status);
  expect((await send('DELETE', '/school/session', { cookie, ...own })).status).toBe(status === 431 ? 431 : 204);
});

test('other methods are refused, and options name the ways to sign in', async () => {
  const answer = await send('PUT', '/school/session', own);
  expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, POST, DELETE']);
  for (const mandator of ['school', 'nobody'])
    expect((await send('GET', `/${mandator}/session/options`)).json).toEqual({ Pin: true, Provider: null });
});
