/** The proxies of deploy/, run by their programs: what they pass on, and what they keep internal. */
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createWsClient } from 'graphql-ws';
import WebSocket from 'ws';
import { runDoctor } from '../../src/cli/doctor.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { freePort } from '../_util/free-port.ts';
import { travel } from '../_util/journey.ts';
import { until } from '../_util/process.ts';
import { hasProxy, type ProxyName, startProxy } from '../_util/proxies.ts';
import { type Service, startService } from '../_util/service.ts';

const mebibyte = 1024 * 1024;

let service: Service;
let token = '';
let booked = 0;
/** The second cell: says how many bytes it got, and closes each connection after one answer. */
let arrived = 0;
const cell = http.createServer((request, response) => {
  arrived = 0;
  request.on('data', (chunk: Buffer) => (arrived += chunk.length));
  request.on('end', () => response.writeHead(418, { Connection: 'close' }).end(String(arrived)));
});
beforeAll(async () => {
  service = await startService({ TrustProxy: 'loopback' });
  token = await service.signIn(service.tenant, 'Importer');
  await once(cell.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  cell.closeAllConnections();
  cell.close();
  await service.stop();
});

type Headers = Record<string, string>;
type Answer = { status: number | undefined; headers: http.IncomingHttpHeaders; body: Buffer };

/** The path is sent as it is written, and the body as it comes. */
async function ask(
  url: string,
  { method = 'GET', at = '/', headers = {} as Headers, body = [] as Iterable<string | Buffer> | AsyncIterable<Buffer> },
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const request = http.request({ hostname, port, method, path: at, headers, agent: false });
  const answered = once(request, 'response');
  answered.catch(() => {});
  for await (const chunk of body) request.write(chunk);
  request.end();
  const [response] = (await answered) as [http.IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(await response.toArray()) };
}

/** What is of one answer alone, and what belongs to a connection. */
const passing = [
  'date',
  'connection',
  'keep-alive',
  'x-request-id',
  'server',
  'transfer-encoding',
  'strict-transport-security',
];
const lasting = ({ status, headers, body }: Answer) => ({
  status,
  headers: Object.fromEntries(
    Object.entries(headers).filter(([name]) => !passing.includes(name) && !name.startsWith('ratelimit')),
  ),
  text: (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString().replace(/"TraceId":"[^"]*"/, ''),
});

const [jobs, resources] = ['/school/api/v2.0/jobs', '/school/api/v1.0/resources'];
const origin = { Origin: 'https://elsewhere.example' };
const asked: [what: string, how: Parameters<typeof ask>[1] & { anonymous?: true }][] = [
  ['HEAD', { method: 'HEAD', at: `${jobs}/batches` }],
  ['HEAD of a page', { method: 'HEAD', at: '/school/console' }],
  ['OPTIONS', { method: 'OPTIONS', at: `${jobs}/create` }],
  [
    'a preflight',
    { method: 'OPTIONS', at: resources, headers: { ...origin, 'Access-Control-Request-Method': 'POST' } },
  ],
  ['a method that a path has not', { method: 'DELETE', at: `${jobs}/batches` }],
  ['a path in another case, and with a slash', { at: `${jobs.replace('jobs', 'JOBS')}/batches/` }],
  ['an encoded slash', { at: `${jobs}/batches/..%2f..%2f` }],
  ['an encoded dot, and a letter', { at: `/%73chool/api/v2.0/jobs/%2e%2e/jobs/batches` }],
  ['UTF-8', { at: `${jobs}/batches/%C3%A4%C2%A0` }],
  ['what is not UTF-8', { at: `${jobs}/batches/%ff` }],
  ['slashes', { at: `/${jobs.replaceAll('/', '//')}/batches` }],
  ['dots', { at: `${jobs}/../jobs/./batches` }],
  ['a query', { at: `${jobs}/batches?JobID=a%2Bb+c%26d%3F&Limit=1` }],
  ['an empty query', { at: `${jobs}/batches?` }],
  ['an address of 12,000 characters', { at: `${jobs}/batches?JobID=${'x'.repeat(12_000)}` }],
  ['a header of 12,000 characters', { at: `${jobs}/batches`, headers: { Cookie: `a=${'x'.repeat(12_000)}` } }],
  ['an offer of HTTP/2', { at: `${jobs}/batches`, headers: { Upgrade: 'h2c', Connection: 'Upgrade' } }],
  ['Connection: close', { at: `${jobs}/batches`, headers: { Connection: 'close' } }],
  ['gzip', { at: '/swagger/openapi.json', headers: { 'Accept-Encoding': 'gzip' } }],
  ['a page that is compressed', { at: '/school/door-sign/1', headers: { 'Accept-Encoding': 'gzip' } }],
  ['a page for who asks for no compression', { at: '/school/door-sign/1' }],
  ['no credential', { at: `${jobs}/batches`, anonymous: true }],
  ['no body', { method: 'POST', at: `${jobs}/create` }],
  ['a body that is not JSON', { method: 'POST', at: `${jobs}/create`, body: ['[{'] }],
  ['a body of 31 MiB', { method: 'POST', at: `${jobs}/create`, body: [Buffer.alloc(31 * mebibyte, ' '), '[]'] }],
  ['a chunked body', { method: 'POST', at: `${jobs}/create`, headers: { Expect: '100-continue' }, body: ['[', ']'] }],
  ['a tenant that there is not', { at: '/nowhere/api/v2.0/jobs/batches' }],
];

describe.each<[string, ProxyName]>([
  ['Caddy', 'caddy'],
  ['nginx', 'nginx'],
])('%s', (_name, program) => {
  if (!hasProxy(program)) {
    test.skip(`SKIPPED: ${program} is not installed`, () => {});
    return;
  }
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let url = '';

  beforeAll(async () => {
    const b = `127.0.0.1:${(cell.address() as AddressInfo).port}`;
    proxy = await startProxy(program, { port: await freePort(), a: new URL(service.url).host, b });
    url = proxy.url;
  });
  afterAll(() => proxy.stop());

  test('passes REST, GraphQL, SSE and WebSocket', () => travel(service, url));

  test.each(asked)('answers as the service does: %s', async (_what, { anonymous, headers, ...how }) => {
    const sent = {
      ...how,
      headers: {
        Host: new URL(service.url).host,
        'Content-Type': 'application/json',
        ...(anonymous ? {} : { Authorization: `Bearer ${token}` }),
        ...headers,
      },
    };
    const own = await ask(service.url, sent);
    expect(lasting(await ask(url, sent))).toEqual(lasting(own));
  });

  if (program === 'nginx')
    test('has no queries in its log: they have secrets', async () => {
      for (const token of ['first', 'second']) await ask(url, { at: `/healthz?token=${token}` });
      const read = () => fs.readFileSync(`${proxy.directory}/roomgate.log`, 'utf8');
      await until('both are logged', () => read().split('"GET /healthz" 200').length > 2);
      expect(read()).not.toMatch(/token|[?]/);
    });

  test('lets the service say which body is too large, before all of it has come', async () => {
    const { hostname, port } = new URL(url);
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Length': 100 * mebibyte,
    };
    const request = http.request({ hostname, port, method: 'POST', path: `${jobs}/create`, headers, agent: false });
    request.on('error', () => {});
    request.write(Buffer.alloc(33 * mebibyte, ' '));
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    expect([response.statusCode, response.headers['content-type']]).toEqual([
      413,
      expect.stringMatching(/^application\/problem/),
    ]);
    request.destroy();
  });

  test('passes a body as it comes', async () => {
    const started = 1_000;
    async function* inParts() {
      yield Buffer.alloc(started, 'x');
      await until('the service has the beginning', () => arrived === started);
      yield Buffer.alloc(2 * mebibyte, 'x');
    }
    const answer = await ask(url, { method: 'POST', at: '/tenant-of-cell-b/upload', body: inParts() });
    expect([answer.status, String(answer.body)]).toEqual([418, String(started + 2 * mebibyte)]);
  });

  test('continues where the service closes each connection after its answer', async () => {
    for (let sent = 0; sent < 50; sent++)
      expect((await ask(url, { at: '/tenant-of-cell-b/', body: [] })).status).toBe(418);
  });

  test.each(['SSE', 'WebSocket'])('passes each frame of a stream over %s as it comes', async (transport) => {
    const authorization = `Bearer ${token}`;
    const at = `${url}/school/graphql`;
    const client =
      transport === 'SSE'
        ? createSseClient({ url: at, headers: { authorization }, retryAttempts: 0 })
        : createWsClient({
            url: at.replace('http', 'ws'),
            webSocketImpl: WebSocket,
            connectionParams: { authorization },
            retryAttempts: 0,
          });
    const query = 'subscription { bookings(filter: {}) { bookings { id } } }';
    const frames = client.iterate({ query }) as AsyncIterableIterator<{ data: { bookings: { bookings: object[] } } }>;
    const next = async () => (await frames.next()).value.data.bookings.bookings;
    expect(await next()).toEqual([]);
    const { mandatorId, resources } = service.tenant;
    for (const { id } of resources.slice(0, 2)) {
      await insertBookings(service.context.db, mandatorId, id, { first: booked++ });
      expect(await next()).toEqual([{ id: expect.any(String) }]);
    }
    await frames.return?.();
    await client.dispose();
  });

  test.each([
    ...['/metrics', '/readyz', '/METRICS', '/Readyz/', '/%6Detrics', '/metrics/', '/metrics//', '/metrics?x=1'],
    ...['//metrics', '/./readyz'],
  ])('hides %s', async (hidden) => {
    const answer = await ask(url, { at: hidden });
    expect(answer.status).toBe(404);
    expect(String(answer.body)).not.toMatch(/process_cpu|Checks/);
  });

  test('leads the doctor, which may not see /readyz, to the finding that a server answers', async () => {
    const serverOf = async (Port: number) => {
      let findings: unknown;
      const config = { ...service.context.config, IdpUrl: url, Port };
      const open = async () => ({ context: service.context, close: async () => {} });
      const print = (_text: string, record: unknown) => {
        findings = record;
      };
      await runDoctor({ config: () => config, open, diagnose: async () => [] }, { json: true, print });
      return (findings as { Check: string; Text: string }[]).find(({ Check }) => Check === 'Server')?.Text;
    };
    expect(await serverOf(service.context.config.Port)).toMatch(/^ready at http:\/\/127\.0\.0\.1:/);
    expect(await serverOf(await freePort())).toBe(
      `answers at ${url}, which does not publish /readyz: its state is unknown`,
    );
  });

  test('leads tenants of the second cell there, in any case, and no others', async () => {
    const isThere = async (at: string) => (await fetch(url + at)).status === 418;
    expect(await isThere('/tenant-of-cell-b/graphql')).toBe(true);
    expect(await isThere('/Another-Of-Cell-B/api/v2.0/lessons')).toBe(true);
    expect(await isThere('/tenant-of-cell-bb/graphql')).toBe(false);
  });
});
