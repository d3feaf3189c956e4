import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import { sql } from 'kysely';
import type { Config } from '../../src/config.ts';
import { type Context, openContext } from '../../src/context.ts';
import { NotAuthenticated, NotFound } from '../../src/errors.ts';
import { openLog } from '../../src/log.ts';
import { handleErrors } from '../../src/rest/errors.ts';
import { type Health, openHealth } from '../../src/rest/health.ts';
import { identifyRequests } from '../../src/rest/request.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';
import { startService } from '../_util/service.ts';

const pin = '7Q2MX-K4H9D-ZR3TB-W8VNC';

/** The hallway with a tenant's route and a stream below it, as app.ts mounts them. */
async function startHallway(context: Context, health: Partial<Health>, lines: string[] = []) {
  const log = openLog('debug', { write: (line) => void lines.push(line) });
  const app = express().disable('x-powered-by');
  app.use(identifyRequests(log));
  const { timeRequests, router } = openHealth(context, {
    pendingMigrations: async () => [],
    pepper: async () => true,
    stopping: () => false,
    ...health,
  });
  app.use(timeRequests, router);
  app.get('/:mandator/api/v1.0/bookings/:id', (request, response) => {
    response.locals['viewer'] = { mandator: request.params.mandator, personId: 7 };
    if (request.params.id === '404') throw new NotFound('There is no such booking.');
    response.end('{}');
  });
  app.use('/:mandator/api', () => {
    throw new NotAuthenticated('Nobody is known here.');
  });
  app.use('/:mandator/graphql', (_request, response) => void response.end('{}'));
  app.use(() => {
    throw new NotFound('There is nothing here.');
  });
  app.use(handleErrors(log));
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, lines, stop: () => new Promise((resolve) => server.close(resolve)) };
}

const silent = openLog('silent');
/** A statement that fails as PostgreSQL's own do. */
const refuse = (condition: string) =>
  sql.raw(`do $$ begin raise exception 'could not extend file' using errcode = '${condition}'; end $$`);
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let context: Context & { close(): Promise<void> };
let hallway: Awaited<ReturnType<typeof startHallway>>;
let pending: string[] = ['000009_rooms'];
let stopping = false;
let working = true;
let doors: Record<string, number> = { open: 2, shut: 5 };
let doorsRead = 0;

beforeAll(async () => {
  database = await cloneDatabase();
  context = await openContext({ DatabaseUrl: database.url } as Config, silent);
  const subscription = await context.notifications.subscribe('test');
  subscription.close();
  hallway = await startHallway(context, {
    pendingMigrations: async () => pending,
    stopping: () => stopping,
    worker: async () => working,
    gauges: {
      roomgate_open_batches: { help: 'Open batches', read: async () => 3 },
      roomgate_doors: {
        help: 'By state',
        label: 'state',
        async read() {
          doorsRead++;
          return doors;
        },
      },
      roomgate_broken_doors: {
        help: 'Cannot be read',
        label: 'state',
        read: () => Promise.reject(new Error('no')),
      },
      roomgate_broken: { help: 'Cannot be read', read: () => Promise.reject(new Error('no')) },
    },
  });
});

afterAll(async () => {
  await hallway.stop();
  await context.close();
  await database.drop();
});

async function getReady() {
  const response = await fetch(`${hallway.url}/readyz`);
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: await response.json(),
  };
}

describe('GET /healthz', () => {
  test('200 {"Status":"Healthy"} for anyone, never from a cache', async () => {
    const response = await fetch(`${hallway.url}/healthz`);
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual({ Status: 'Healthy' });
  });

  test('camel case by X-JsonPropertyFormat', async () => {
    const response = await fetch(`${hallway.url}/healthz`, { headers: { 'X-JsonPropertyFormat': 'camel' } });
    expect(await response.json()).toEqual({ status: 'Healthy' });
  });
});

describe('GET /readyz', () => {
  test('503 with Retry-After while a migration is missing, 200 once all are applied', async () => {
    const before = await getReady();
    expect(before.status).toBe(503);
    expect(before.retryAfter).toBe('5');
    expect(before.body).toMatchObject({
      Status: 'Unhealthy',
      Checks: { Migrations: 'Unhealthy', Database: 'Healthy' },
    });
    pending = [];
    expect(await getReady()).toEqual({
      status: 200,
      retryAfter: null,
      body: {
        Status: 'Healthy',
        Checks: {
          Database: 'Healthy',
          Migrations: 'Healthy',
          Pepper: 'Healthy',
          Notifications: 'Healthy',
          Worker: 'Healthy',
          Writes: 'Healthy',
        },
      },
    });
  });

  test('503 when the worker of this process has stopped', async () => {
    working = false;
    expect(await getReady()).toMatchObject({ status: 503, body: { Checks: { Worker: 'Unhealthy' } } });
    working = true;
  });

  test('200, but Degraded, while PostgreSQL refuses writes; whatever else is wrong comes first', async () => {
    const refused = await openContext({ DatabaseUrl: database.url } as Config, silent);
    (await refused.notifications.subscribe('test')).close();
    let isStopping = false;
    const { url, stop } = await startHallway(refused, { stopping: () => isStopping });
    const read = async () => {
      const answer = await fetch(`${url}/readyz`);
      return { status: answer.status, body: await answer.json() };
    };
    expect(await read()).toMatchObject({ status: 200, body: { Status: 'Healthy', Checks: { Writes: 'Healthy' } } });
    await expect(refuse('disk_full').execute(refused.db)).rejects.toMatchObject({ code: '53100' });
    expect(await read()).toMatchObject({ status: 200, body: { Status: 'Degraded', Checks: { Writes: 'Degraded' } } });
    isStopping = true;
    expect(await read()).toMatchObject({ status: 503, body: { Status: 'Stopping' } });
    await stop();
    await refused.close();
  });

  test('503 while the process stops', async () => {
    stopping = true;
    expect(await getReady()).toMatchObject({ status: 503, body: { Status: 'Stopping' } });
    stopping = false;
  });

  test('503 when the database is gone, while /healthz stays 200', async () => {
    const lost = await cloneDatabase();
    const ours = await openContext({ DatabaseUrl: lost.url } as Config, silent);
    (await ours.notifications.subscribe('test')).close();
    const { url, stop } = await startHallway(ours, {});
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await lost.drop();
    const response = await fetch(`${url}/readyz`);
    expect(response.status).toBe(503);
    // A process that was ready has its migrations; it need not ask for them again.
    expect(await response.json()).toMatchObject({ Checks: { Database: 'Unhealthy', Migrations: 'Healthy' } });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await stop();
    await ours.close();
  });

  test('503 of the database, not of the Pepper, when the Pepper of the database cannot be read', async () => {
    const unread = await startHallway(context, { pepper: () => Promise.reject(new Error('too many clients already')) });
    const answer = await fetch(`${unread.url}/readyz`);
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { Checks: { Database: 'Unhealthy', Migrations: 'Healthy', Pepper: 'Healthy' } },
    ]);
    await unread.stop();
  });

  test('503 when a check never answers', async () => {
    const { url, stop } = await startHallway(context, { pendingMigrations: () => new Promise(() => {}) });
    const response = await fetch(`${url}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ Checks: { Migrations: 'Unhealthy' } });
    await stop();
  });
});

describe('405', () => {
  test.each(['/healthz', '/readyz', '/metrics'])('POST %s, with Allow', async (path) => {
    const response = await fetch(`${hallway.url}${path}`, { method: 'POST' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  });
});

describe('GET /metrics', () => {
  test('Prometheus text with routes as patterns: no id, no tenant, no query', async () => {
    for (const path of [
      '/school/api/v1.0/bookings/4711?token=abc',
      '/school/api/v1.0/bookings/404',
      '/x/y/z',
      '/school/api/v9.9/4711',
    ])
      await fetch(`${hallway.url}${path}`);
    await fetch(`${hallway.url}/school/graphql`, { method: 'POST' });
    const response = await fetch(`${hallway.url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    const text = await response.text();
    for (const labels of [
      'method="GET",route="/:mandator/api/v1.0/bookings/:id",status="200"',
      'method="GET",route="/:mandator/api/v1.0/bookings/:id",status="404"',
      'method="GET",route="/:mandator/api",status="401"',
      'method="POST",route="/:mandator/graphql",status="200"',
      'method="GET",route="none",status="404"',
    ])
      expect(text).toContain(`http_request_duration_seconds_count{${labels}} 1`);
    expect(text).not.toMatch(/="[^"\n]*(school|4711|abc)/);
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds /m);
  });

  test('a GraphQL stream has a route of its own, because it lasts for as long as its client listens', async () => {
    const service = await startService({ Role: 'Web' });
    const { code } = service.tenant;
    const token = await service.signIn();
    const gone = new AbortController();
    const post = (query: string, accept: string) =>
      fetch(`${service.url}/${code}/graphql`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: accept },
        body: JSON.stringify({ query }),
        signal: gone.signal,
      });
    const answer = await post('{ serverTime }', 'application/json');
    expect([answer.status, await answer.json()]).toMatchObject([200, { data: { serverTime: expect.any(String) } }]);
    const stream = await post('subscription { batches { id } }', 'text/event-stream');
    expect([stream.status, stream.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/event-stream/),
    ]);
    gone.abort();
    const counts = await until('both are counted', async () => {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      const counted = /^http_request_duration_seconds_count\{.*route="([^"]*graphql[^"]*)".*\} (\d+)$/gm;
      const found = [...text.matchAll(counted)].map(([, route, number]) => [route, Number(number)] as const);
      return found.reduce((sum, [, number]) => sum + number, 0) === 2 && found;
    });
    await service.stop();
    expect(counts).toEqual([
      ['/:mandator/graphql', 1],
      ['/:mandator/graphql stream', 1],
    ]);
  });

  test('the figures of the process; one that cannot be read is left out and breaks nothing', async () => {
    const text = await (await fetch(`${hallway.url}/metrics`)).text();
    expect(text).toMatch(/^roomgate_open_batches 3$/m);
    expect(text).not.toMatch(/^roomgate_broken \d/m);
  });

  test('a figure that does not come is left out, and the others are told', async () => {
    const { url, stop } = await startHallway(context, {
      gauges: {
        roomgate_known: { help: 'Is read', read: () => 3 },
        roomgate_hanging: { help: 'Is never read', read: () => new Promise<number>(() => {}) },
      },
    });
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toMatch(/^roomgate_known 3$/m);
    expect(text).not.toMatch(/^roomgate_hanging \d/m);
    await stop();
  });

  test('a figure with a label: a line for each of its values, as they are now', async () => {
    const lines = async () => {
      const text = await (await fetch(`${hallway.url}/metrics`)).text();
      return text.split('\n').filter((line) => /^roomgate_\w*doors/.test(line));
    };
    expect(await lines()).toEqual(['roomgate_doors{state="open"} 2', 'roomgate_doors{state="shut"} 5']);
    doors = { shut: 7 };
    await until(async () => isDeepStrictEqual(await lines(), ['roomgate_doors{state="shut"} 7']));
  });

  test('read at most once a second, however many ask at once', async () => {
    const [before, since] = [doorsRead, performance.now()];
    const ask = async () => (await fetch(`${hallway.url}/metrics`)).text();
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 20 }, ask));
    const seconds = (performance.now() - since) / 1_000;
    expect(doorsRead - before).toBeLessThanOrEqual(1 + Math.floor(seconds));
  });
});

describe('X-Request-Id', () => {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  async function echoed(given?: string) {
    const headers: Record<string, string> = given === undefined ? {} : { 'X-Request-Id': given };
    const response = await fetch(`${hallway.url}/healthz`, { headers });
    return response.headers.get('x-request-id');
  }

  test('is made when there is none', async () => {
    expect(await echoed()).toMatch(uuid);
  });

  test.each(['abc-1', 'x'.repeat(128), 'with spaces {}'])('is taken over: %s', async (given) => {
    expect(await echoed(given)).toBe(given);
  });

  test.each(['x'.repeat(129), 'umlaut \u00e4', ''])('is replaced when it is not usable: %s', async (given) => {
    expect(await echoed(given)).toMatch(uuid);
  });

  test('is in the problem body as TraceId', async () => {
    const response = await fetch(`${hallway.url}/nothing`, { headers: { 'X-Request-Id': 'trace-me' } });
    expect(await response.json()).toMatchObject({ TraceId: 'trace-me' });
  });
});

describe('the log', () => {
  test('one line per request, with who and where, and nothing secret', async () => {
    const { url, lines, stop } = await startHallway(context, {});
    const secrets = ['eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl', pin];
    await fetch(`${url}/school/api/v1.0/bookings/4711?token=${secrets[0]}&pin=${pin}`, {
      headers: { 'X-Request-Id': 'r-1', Authorization: `Bearer ${secrets[0]}`, APIKEY: pin, Cookie: 'a=b' },
    });
    await fetch(`${url}/healthz`, { headers: { 'X-Request-Id': `id ${pin}` } });
    await stop();
    const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    expect(requests).toMatchObject([
      {
        level: 'info',
        requestId: 'r-1',
        method: 'GET',
        route: '/:mandator/api/v1.0/bookings/:id',
        status: 200,
        ms: expect.any(Number),
        mandator: 'school',
        personId: 7,
      },
      { level: 'debug', route: '/healthz', requestId: 'id [pin]' },
    ]);
    for (const secret of [...secrets, '4711', 'a=b']) expect(lines.join('\n')).not.toContain(secret);
  });

  test('a request that even the error handler could not answer is logged, and ends nothing', async () => {
    const lines: string[] = [];
    const app = express()
      .set('env', 'test')
      .use(identifyRequests(openLog('info', { write: (line) => void lines.push(line) })));
    app.use(() => {
      throw new Error('nobody answers');
    });
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/x`);
    expect(response.status).toBe(500);
    await response.text();
    await new Promise((resolve) => server.close(resolve));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ route: 'none', status: 500 }]);
  });

  test('a client that leaves before its answer is 499 and aborted', async () => {
    const lines: string[] = [];
    const log = openLog('info', { write: (line) => void lines.push(line) });
    const arrived = Promise.withResolvers<void>();
    const logged = Promise.withResolvers<void>();
    const app = express().use(identifyRequests(log));
    app.get('/slow', (_request, response) => {
      response.once('close', () => setImmediate(logged.resolve));
      arrived.resolve();
    });
    const server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const gone = new AbortController();
    const left = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/slow`, {
      signal: gone.signal,
    }).catch((error: Error) => error.name);
    await arrived.promise;
    gone.abort();
    expect(await left).toBe('AbortError');
    await logged.promise;
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ route: '/slow', status: 499, aborted: true }]);
    await new Promise((resolve) => server.close(resolve));
  });
});
