import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeTenant } from '../_util/factories.ts';
import { type Service, startService } from '../_util/service.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let service: Service;
let bare: Service;

beforeAll(async () => {
  service = await startService({ Role: 'Web', SwaggerEnabled: 'true', GraphiQLEnabled: 'true' });
  bare = await startService({
    Role: 'Web',
    SwaggerEnabled: 'false',
    GraphiQLEnabled: 'false',
    IdentityProvider__Mode: 'None',
    BaseUrl: 'https://rooms.example/below',
  });
});
afterAll(async () => {
  await service.stop();
  await bare.stop();
});

const get = (path: string, accept?: string, of = service) =>
  fetch(of.url.startsWith('http://') ? of.url + path : local(of) + path, { headers: accept ? { Accept: accept } : {} });
const led = (path: string, accept = browser) =>
  fetch(service.url + path, { headers: { Accept: accept }, redirect: 'manual' });
/** The real address of the service, whatever its BaseUrl says. */
const local = ({ context: { config } }: Service) => `http://127.0.0.1:${config.Port}`;

describe.each(['/', '/school', '/School', '/nobody'])('GET %s', (path) => {
  const mandator = path.slice(1) || null;

  test.each([
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html;q=0.5',
    'application/json; charset=utf-8; version=1',
  ])('of a program (%s): JSON', async (accept) => {
    const answer = await get(path, accept);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(answer.headers.get('vary')).toMatch(/\bAccept\b/);
    const tenant = `${service.url}/${mandator ?? '{mandator}'}`;
    expect(await answer.json()).toEqual({
      Product: 'roomgate',
      Mandator: mandator,
      Rest: `${tenant}/api`,
      GraphQL: `${tenant}/graphql`,
      Tokens: `${service.url}/connect/token`,
      OpenIdConfiguration: `${service.url}/.well-known/openid-configuration`,
      GraphiQL: `${tenant}/graphql`,
      Swagger: `${service.url}/swagger`,
      ApiDocument: `${service.url}/swagger/openapi.json`,
      Health: `${service.url}/healthz`,
    });
    const health = await fetch(`${service.url}/healthz`);
    expect(health.headers.get('roomgate-version')).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test.each([browser, 'text/html;charset=utf-8, application/json;q=0.5'])(
    'of a browser (%s): it is led to the console',
    async (accept) => {
      const answer = await led(path, accept);
      expect(answer.headers.get('vary')).toMatch(/\bAccept\b/);
      expect([answer.status, answer.headers.get('location')]).toEqual([
        302,
        `${mandator?.toLowerCase() ?? 'school'}/console`,
      ]);
    },
  );
});

test.each([
  ['/school/', '../school/console'],
  ['/?mandator=%20Other%20', 'other/console'],
  ['/?mandator=//evil.example', 'school/console'],
  ['/?mandator=swagger', 'school/console'],
  ['/?mandator=a%0d%0aSet-Cookie:x=1', 'school/console'],
])('a browser at %s is led to %s', async (path, location) => {
  const answer = await led(path);
  expect([answer.status, answer.headers.get('location'), answer.headers.get('set-cookie')]).toEqual([
    302,
    location,
    null,
  ]);
});

test('where there are several tenants, a page asks which and names none', async () => {
  await makeTenant(bare.context.db, { code: 'stranger' });
  const answer = await get('/', browser, bare);
  expect([answer.status, answer.headers.get('content-language') ?? 'en']).toEqual([200, 'en']);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/default-src 'none'.*form-action 'self'/);
  expect(policy).not.toMatch(/unsafe/);
  const text = await answer.text();
  expect(text).toContain('name="mandator"');
  expect(text).not.toMatch(/\bstranger\b|\/school|<a /);
  const german = await fetch(`${local(bare)}/`, { headers: { Accept: browser, 'Accept-Language': 'de-CH, en;q=0.5' } });
  expect(await german.text()).toContain('<html lang="de">');
});

test('camel case, ETag and HEAD as everywhere', async () => {
  const camel = await fetch(`${service.url}/school`, { headers: { 'X-JsonPropertyFormat': 'camel' } });
  expect(await camel.json()).toMatchObject({ product: 'roomgate', graphQL: `${service.url}/school/graphql` });
  const etag = (await get('/school')).headers.get('etag')!;
  expect((await fetch(`${service.url}/school`, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  const head = await fetch(`${service.url}/school`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

test('what is switched off is named nowhere', async () => {
  const told = (await (await get('/school', undefined, bare)).json()) as Record<string, unknown>;
  expect(told).toMatchObject({
    Rest: 'https://rooms.example/below/school/api',
    Tokens: null,
    OpenIdConfiguration: null,
    GraphiQL: null,
    Swagger: null,
    ApiDocument: null,
  });
});

test.each([
  '/swagger',
  '/connect',
  '/api',
  '/assets',
  '/metrics2.',
  '/a%20b',
  '/favicon.ico',
  `/${'a'.repeat(65)}`,
  '/.well-known',
])('404: %s names no tenant', async (path) => {
  for (const accept of [undefined, browser]) expect((await get(path, accept, bare)).status).toBe(404);
});

test.each(['//school/api/v1.0/resources', '/school//api/v1.0/resources'])(
  '404: %s, as of a base address that ends in a slash, says what to write',
  async (path) => {
    const answer = await fetch(service.url + path);
    expect([answer.status, await answer.json()]).toEqual([
      404,
      expect.objectContaining({ detail: `There is nothing at ${path}. Write one slash where it has several.` }),
    ]);
  },
);

test('405 for another method, 406 for what is neither', async () => {
  for (const path of ['/', '/school']) {
    const posted = await fetch(service.url + path, { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await get(path, 'image/png')).status).toBe(406);
  }
});
