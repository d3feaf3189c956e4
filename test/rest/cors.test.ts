import http from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { apiDocument } from '../../src/app.ts';
import { type Service, startService } from '../_util/service.ts';

const app = 'https://app.example';
const other = 'https://other.example';
/** Every address that pages of other sites may call. */
const addresses = [
  ['POST', '/connect/token'],
  ['GET', '/.well-known/openid-configuration'],
  ['GET', '/.well-known/openid-configuration/jwks'],
  ['GET', '/school/api/v1.0/bookings'],
  ['PATCH', '/school/api/v1.0/bookings/1'],
  ['POST', '/school/api/v2.0/jobs/create'],
  ['POST', '/school/graphql'],
] as const;

let service: Service;
let closed: Service;
let token = '';

beforeAll(async () => {
  service = await startService({
    Role: 'Web',
    Cors__Origins: `${app}, http://localhost:5173`,
    Limits__TokenRequestsPerMinute: '60',
    Limits__BodyBytes: '2000',
  });
  closed = await startService({ Role: 'Web' });
  token = await service.signIn();
});
afterAll(async () => {
  await service.stop();
  await closed.stop();
});

/** Not `fetch`, which sets these headers itself. */
function call(
  path: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: http.OutgoingHttpHeaders; body?: string } = {},
  of = service,
): Promise<{ status: number; headers: http.IncomingHttpHeaders; body: string }> {
  return new Promise((resolve, reject) => {
    const request = http.request(of.url + path, { method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    request.on('error', reject).end(body);
  });
}

const preflight = (path: string, method: string, origin = app, of = service) =>
  call(path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': method } }, of);
const permissionOf = (headers: http.IncomingHttpHeaders) => headers['access-control-allow-origin'];
const list = (header: unknown) => String(header).split(', ');

describe('OPTIONS before a call of another site', () => {
  test.each(addresses)('%s %s: 204 without a credential', async (method, path) => {
    for (const origin of [app, 'http://localhost:5173']) {
      const { status, headers } = await preflight(path, method, origin);
      expect([status, permissionOf(headers)]).toEqual([204, origin]);
      expect(list(headers['access-control-allow-methods'])).toContain(method);
      expect(headers['access-control-max-age']).toBe('7200');
      expect(headers.vary).toMatch(/\bOrigin\b/);
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
    }
  });

  test('allows every method and header that the documentation knows', async () => {
    const document = apiDocument({ BaseUrl: service.url, IdpUrl: service.url });
    const { headers } = await preflight('/school/api/v1.0/bookings', 'GET');
    const [methods, names] = ['methods', 'headers'].map((what) => list(headers[`access-control-allow-${what}`]));
    const known = JSON.stringify(document.components?.parameters).matchAll(/"name":"([^"]*)","in":"header"/g);
    expect(names).toEqual(expect.arrayContaining([...known].map(([, name]) => name)));
    expect(names).toEqual(expect.arrayContaining(['Authorization', 'APIKEY', 'Content-Type', 'Idempotency-Key']));
    for (const path of Object.values(document.paths ?? {}))
      for (const method of Object.keys(path))
        if (/^(get|post|put|patch|delete)$/.test(method)) expect(methods).toContain(method.toUpperCase());
  });

  test('of a site that is not listed gives no permission', async () => {
    for (const origin of [other, 'null', `${app}.evil.example`, `${app}:444`, 'http://app.example'])
      for (const [method, path] of addresses) {
        const { headers } = await preflight(path, method, origin);
        expect(permissionOf(headers)).toBeUndefined();
        expect(headers.vary).toMatch(/\bOrigin\b/);
      }
  });

  test('of no other site says which methods there are, as ever', async () => {
    const headers = { authorization: `Bearer ${token}` };
    const { status, headers: said } = await call('/school/api/v1.0/bookings', { method: 'OPTIONS', headers });
    expect([status, said.allow]).toEqual([204, 'GET, HEAD, POST']);
    expect(said).not.toHaveProperty('access-control-allow-methods');
  });

  test('the address of a calendar feed, pages and health checks are no business of other sites', async () => {
    for (const path of ['/school/api/v1.0/resources/1/calendar.ics', '/healthz', '/metrics', '/swagger'])
      expect(permissionOf((await preflight(path, 'GET')).headers)).toBeUndefined();
  });

  test('without the setting there is no permission for anybody', async () => {
    for (const [method, path] of addresses) {
      const { headers } = await preflight(path, method, app, closed);
      expect(permissionOf(headers)).toBeUndefined();
      expect(headers.vary ?? '').not.toMatch(/Origin/);
    }
  });
});

describe('an answer to a page of another site', () => {
  const authorized = () => ({ origin: app, authorization: `Bearer ${token}` });
  const json = { 'content-type': 'application/json' };

  test('200 may be read, with the headers that programs need', async () => {
    const { status, headers } = await call('/school/api/v1.0/persons/me', { headers: authorized() });
    expect([status, permissionOf(headers)]).toEqual([200, app]);
    const exposed = list(headers['access-control-expose-headers']);
    for (const name of ['ETag', 'Location', 'Retry-After', 'X-Request-Id', 'RateLimit', 'Deprecation', 'Link'])
      expect(exposed).toContain(name);
    expect(list(headers.vary)).toEqual(expect.arrayContaining(['Origin', 'Authorization', 'X-JsonPropertyFormat']));
  });

  test('GraphQL may be read: data, errors of every path through the server, and streams', async () => {
    const post = (body: string, headers = {}) =>
      call('/school/graphql', { method: 'POST', headers: { ...authorized(), ...json, ...headers }, body });
    for (const body of ['{"query":"{ me { name } }"}', '{"query":"{ nothing }"}', '{"query":1}', '{'])
      expect(permissionOf((await post(body)).headers)).toBe(app);
    const stream = await post('{"query":"subscription { batchStatus(batchId: \\"x\\") { id } }"}', {
      accept: 'text/event-stream',
    });
    expect([stream.headers['content-type'], permissionOf(stream.headers)]).toEqual(['text/event-stream', app]);
  });

  test.each<[number, string, () => Parameters<typeof call>[1]]>([
    [401, '/school/api/v1.0/persons/me', () => ({ headers: { origin: app } })],
    [401, '/school/graphql', () => ({ method: 'POST', headers: { origin: app, ...json }, body: '{}' })],
    [404, '/school/api/v1.0/nothing', () => ({ headers: authorized() })],
    [404, '/unknown/api/v1.0/persons/me', () => ({ headers: authorized() })],
    [405, '/school/graphql', () => ({ headers: authorized() })],
    [
      413,
      '/school/api/v1.0/bookings',
      () => ({ method: 'POST', headers: { ...authorized(), ...json }, body: ' '.repeat(3_000) }),
    ],
    [
      415,
      '/school/api/v1.0/bookings',
      () => ({ method: 'POST', headers: { ...authorized(), 'content-type': 'text/plain' }, body: '{}' }),
    ],
    [400, '/connect/token', () => ({ method: 'POST', headers: { origin: app } })],
  ])('%i of %s may be read too', async (status, path, options) => {
    const answer = await call(path, options());
    expect([answer.status, permissionOf(answer.headers)]).toEqual([status, app]);
    expect(list(answer.headers['access-control-expose-headers'])).toContain('X-Request-Id');
  });

  test('429 may be read too, with when to come back', async () => {
    const ask = () => call('/connect/token', { method: 'POST', headers: { origin: app } });
    let answer = await ask();
    for (let n = 0; n < 70 && answer.status !== 429; n++) answer = await ask();
    expect([answer.status, permissionOf(answer.headers)]).toEqual([429, app]);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(list(answer.headers['access-control-expose-headers'])).toContain('Retry-After');
  });

  test('of a site that is not listed carries no permission, and is what any program gets', async () => {
    const headers = { origin: other, authorization: `Bearer ${token}` };
    const answer = await call('/school/api/v1.0/persons/me', { headers });
    expect([answer.status, permissionOf(answer.headers)]).toEqual([200, undefined]);
  });
});

describe('a WebSocket', () => {
  const open = (origin: string | undefined, of = service) =>
    new Promise<string>((resolve) => {
      const socket = new WebSocket(`${of.url.replace('http', 'ws')}/school/graphql`, 'graphql-transport-ws', {
        headers: origin === undefined ? {} : { origin },
      });
      socket.on('open', () => {
        socket.close();
        resolve('open');
      });
      socket.on('unexpected-response', (_request, response) => {
        let text = '';
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => resolve(`${response.statusCode} ${(JSON.parse(text) as { detail: string }).detail}`));
      });
      socket.on('error', () => {});
    });

  test('opens for a program, for a page of our own, and for one of a listed site', async () => {
    for (const origin of [undefined, service.url, app, 'http://localhost:5173'])
      expect(await open(origin)).toBe('open');
    expect(await open(closed.url, closed)).toBe('open');
  });

  test('is 403 for any other page, in words that name the setting', async () => {
    const refused = [other, 'null', 'nonsense', `${app}.evil.example`, `${service.url}0`];
    for (const origin of refused) expect(await open(origin)).toMatch(/^403 .*Cors\.Origins/);
    expect(await open(app, closed)).toMatch(/^403/);
  });
});
