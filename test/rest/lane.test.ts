/** The lane answers as Express does, which gets the same addresses in another spelling. */
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { apiDocument } from '../../src/app.ts';
import { ewsBody } from '../_util/notifications.ts';
import { type Service, startService } from '../_util/service.ts';

const origin = 'https://app.example';
const document = { query: '{ booking(id: "1") { id } }' };

let service: Service;
let token = '';

beforeAll(async () => {
  service = await startService({ Role: 'Web', Cors__Origins: origin, SwaggerEnabled: 'true' });
  token = await service.signIn();
});
afterAll(() => service.stop());

type Call = { method?: string; headers?: http.OutgoingHttpHeaders; body?: string };

/** All that comes back. What no two answers share is left out: ids, what is left of a limit, and the length of the address. */
function call(path: string, { method = 'GET', headers = {}, body = '' }: Call = {}) {
  return new Promise<{ status: number | undefined; headers: string[]; body: string }>((resolve, reject) => {
    const request = http.request(service.url + path, { method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          headers: response.rawHeaders.map((part) =>
            part.replace(/^\w+-\w+-\w+-\w+-\w+$|; r=\d+; t=\d+|^\w{3}, .* GMT$|^\d+$/g, ''),
          ),
          body: text
            .replace(/"traceId":"[^"]*"/gi, '')
            .replaceAll('/%73chool', '/school')
            .replaceAll('/API/', '/api/'),
        }),
      );
    });
    request.on('error', reject).end(body);
  });
}

const spelled = (path: string) => path.replace(/^\/school/, '/%73chool');

async function expectAlike(path: string, how: Call = {}) {
  const [here, there] = await Promise.all([call(path, how), call(spelled(path), how)]);
  expect({ path, ...here }).toEqual({ path, ...there });
  return here;
}

const bearer = () => ({ authorization: `Bearer ${token}` });

test('every GET of the API with at most one parameter', async () => {
  const { paths } = apiDocument(service.context.config) as { paths: Record<string, { get?: object }> };
  const reads = Object.keys(paths).filter(
    // What is free from now on depends on when one asks.
    (path) => /^\/\{mandator\}\/api\/[^{]*(\{\w+\}[^{]*)?$/.test(path) && !path.endsWith('/free'),
  );
  expect(reads.length).toBeGreaterThan(30);
  for (const path of reads) {
    const address = path.replace('{mandator}', 'school').replace(/\{\w+\}/, '1');
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT']) await expectAlike(address, { method, headers: bearer() });
  }
  expect(await expectAlike('/school/api/v1.0/resources', { headers: bearer() })).toMatchObject({ status: 200 });
});

describe('one address', () => {
  const resources = '/school/api/v1.0/resources';
  test.each<[string, string, Call, number]>([
    ['without a credential', resources, {}, 401],
    ['with a wrong one', resources, { headers: { authorization: 'Bearer x' } }, 401],
    ['of another tenant', '/other/api/v1.0/resources', {}, 401],
    ['for a page of another site', resources, { headers: { origin } }, 401],
    ['in camel case', resources, { headers: { 'x-jsonpropertyformat': 'camel' } }, 200],
    ['in a type that there is not', resources, { headers: { accept: 'text/html' } }, 406],
    ['with an unknown parameter', `${resources}?Unknown=1`, {}, 200],
    ['with one that is refused', `${resources}?Unknown=1`, { headers: { prefer: 'handling=strict' } }, 400],
    ['with a wrong parameter', `${resources}?limit=none`, {}, 400],
    ['with a query that is not UTF-8', `${resources}?Limit=%FF`, {}, 400],
    ['for a record that there is not', `${resources}/999`, {}, 404],
    ['for no id', `${resources}/a.b`, {}, 404],
    ['with a slash at its end', `${resources}/`, {}, 200],
    ['that is malformed, and would not be once decoded', '/school/api/v1.0/persons/%%36de', {}, 400],
    ['percent-encoded', '/school/api/v1.0/%72esources', {}, 200],
    ['below it', `${resources}/1/2/3`, {}, 404],
    ['with an id of the request', resources, { headers: { 'x-request-id': 'abc' } }, 200],
    ['a call of GraphQL', '/school/graphql', { method: 'POST', body: JSON.stringify(document) }, 200],
    ['a faulty call of GraphQL', '/school/graphql', { method: 'POST', body: '{' }, 400],
    ['another method of GraphQL', '/school/graphql', { method: 'DELETE' }, 405],
  ])('%s', async (name, path, { headers, ...how }, status) => {
    const own = status === 401 ? {} : bearer();
    const type = how.body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await expectAlike(path, { ...how, headers: { ...own, ...type, ...headers } });
    expect({ name, status: answer.status }).toEqual({ name, status });
  });

  test('that the caller has already', async () => {
    const { headers } = await call(resources, { headers: bearer() });
    const etag = headers[headers.indexOf('ETag') + 1] ?? '';
    const known = await expectAlike(resources, { headers: { ...bearer(), 'if-none-match': etag } });
    expect(known).toMatchObject({ status: 304, body: '' });
  });
});

describe('unreserved characters may be percent-encoded (RFC 3986, 6.2.2.2)', () => {
  test.each([
    '/school/api/v1.0/persons/%6De',
    '/school/api/v1.0/resources/%31',
    '/school/ap%69/v1%2E0/resources?Name=%31',
    '/school/API/v1.0/persons/%6d%65/',
    '/school/api/v1.0/opening%2dhours/all/1?From=2027-03-01&To=2027-03-02',
    '/school/api/v1.0/resources/1/calendar%2Eics',
    '/school/consol%65',
  ])('in %s, whichever way it takes', async (path) => {
    const cut = path.indexOf('?') < 0 ? path.length : path.indexOf('?');
    const plain = decodeURIComponent(path.slice(0, cut)) + path.slice(cut);
    const [here, there] = [await call(plain, { headers: bearer() }), await expectAlike(path, { headers: bearer() })];
    expect({ path, ...here }).toEqual({ path, ...there });
    expect(here.status).toBe(200);
  });

  test('in calls of GraphQL, and in the address of a WebSocket', async () => {
    const headers = { ...bearer(), 'content-type': 'application/json' };
    const how = { method: 'POST', headers, body: '{"query":"{ me { role } }"}' };
    expect((await call('/school/graph%71l', how)).body).toBe('{"data":{"me":{"role":"User"}}}');
    const socket = new WebSocket(`${service.url}/school/%67raphql`.replace('http', 'ws'), 'graphql-transport-ws');
    const opened = await new Promise((resolve) => {
      socket.on('open', () => resolve('open')).on('error', ({ message }) => resolve(message));
    });
    socket.terminate();
    expect(opened).toBe('open');
  });

  test('but not in the first part of an address, nor where it would name the part above', async () => {
    // As it stands: a URL would have no dot segments.
    const statusOf = (path: string) =>
      new Promise((resolve, reject) => {
        const { hostname, port } = new URL(service.url);
        const answer = (response: http.IncomingMessage) => resolve(response.resume().statusCode);
        http.get({ hostname, port, path, headers: bearer() }, answer).on('error', reject);
      });
    for (const path of [
      '/%6detrics',
      '/%68ealthz',
      '/school/api/v1.0/persons/%2e%2e/resources',
      '/school/%2E%2e/healthz',
    ])
      expect({ path, status: await statusOf(path) }).toEqual({ path, status: 404 });
  });
});

describe('a notification of a mail server', () => {
  const path = '/api/webhooks/mailserver';
  const body = ewsBody({ watermark: 'AQAAAA==', events: ['ModifiedEvent'] });
  test.each<[string, string, Call, number]>([
    ['of an unknown subscription', '', { method: 'POST', body }, 200],
    ['with a wrong secret', '?k=1.x', { method: 'POST', body }, 200],
    ['that is none', '', { method: 'POST', body: 'no' }, 400],
    ['that is compressed', '', { method: 'POST', body, headers: { 'content-encoding': 'gzip' } }, 415],
    ['from a page', '', { method: 'POST', body, headers: { origin } }, 200],
    ['whose query is not UTF-8', '?k=%FF', { method: 'POST', body }, 400],
    ['that shakes hands', '?validationToken=abc', { method: 'POST' }, 200],
    ['by another method', '', { method: 'PUT', body }, 405],
    ['by a preflight request', '', { method: 'OPTIONS', headers: { origin } }, 204],
  ])('%s', async (name, query, how, status) => {
    const [here, there] = [await call(path + query, how), await call(path.replace('api', 'API') + query, how)];
    expect({ name, ...here }).toEqual({ name, ...there });
    expect(here.status).toBe(status);
  });
});

test('both count under the pattern of their route', async () => {
  const readCount = async () => {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    const line =
      /^http_request_duration_seconds_count\{method="GET",route="\/:mandator\/api\/v1.0\/persons\/:id",status="\d+"\} (\d+)$/m;
    return Number(line.exec(metrics)?.[1] ?? 0);
  };
  for (const path of ['/school/api/v1.0/persons/4711', '/%73chool/api/v1.0/persons/4711'])
    await call(path, { headers: bearer() });
  // Metrics are read at most once a second, and a request is counted once its answer has closed.
  for (let count = 0; count < 2; ) count = await readCount();
});
