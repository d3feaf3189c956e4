import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createClient as createWsClient } from 'graphql-ws';
import { sql } from 'kysely';
import WebSocket from 'ws';
import { openDatabase } from '../../src/db/database.ts';
import { openRates, type Rates } from '../../src/db/rates.ts';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { type Server, startServer } from '../../src/server.ts';
import { makeTenant } from '../_util/factories.ts';
import { pepper } from '../_util/pepper.ts';
import { until } from '../_util/process.ts';
import { longWindow, type Service, startService, testConfig } from '../_util/service.ts';

const most = 20;
const settings = {
  Role: 'Web',
  // One issuer for both processes.
  IdpUrl: 'http://id.example',
  TrustProxy: '1',
  Limits__RequestsPerMinute: String(most),
  Limits__TokenRequestsPerMinute: '3',
};
const silent = openLog('silent');

let service: Service;
/** Another process on the same database. */
let other: Server;
let bearer: string;
let host = 0;
let persons = 0;

/** Asks for a token from an address of its own, unless one is given. */
function requestToken(apikey: string, address = `2001:db8:0:${(++host).toString(16)}::1`, url = service.url) {
  const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey };
  return fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { 'X-Forwarded-For': address },
    body: new URLSearchParams(form),
  });
}

/** A person of the tenant who has not called yet. */
async function newPerson(mandatorId = service.tenant.mandatorId): Promise<number> {
  const name = `Person ${++persons}`;
  const { id } = await service.context.db
    .insertInto('person')
    .values({ mandator_id: mandatorId, name, email: `${persons}@limits.example`, time_zone: 'UTC', role: 'User' })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

async function newPin(person?: number, { mandatorId } = service.tenant): Promise<string> {
  const personId = person ?? (await newPerson(mandatorId));
  return (await createPin(service.context.db, pepper, { mandatorId, personId })).pin;
}

/** A token of a PIN of its own. @param person by default one who has not called yet */
async function newBearer(person?: number, tenant = service.tenant): Promise<string> {
  const pin = await newPin(person, tenant);
  const { access_token } = (await (await requestToken(pin)).json()) as { access_token: string };
  return `Bearer ${access_token}`;
}

function read(init: RequestInit = {}, path = '', url = service.url): Promise<Response> {
  return fetch(`${url}/school/api/v2.0/jobs/batches${path}`, {
    ...init,
    headers: { Authorization: bearer, ...init.headers },
  });
}

const remaining = ({ headers }: Response) => Number(/; r=(\d+); t=\d+$/.exec(headers.get('ratelimit') ?? '')?.[1]);

async function useUp(): Promise<void> {
  for (let left = most; left > 0; left = remaining(await read())) {}
}

beforeAll(async () => {
  service = await startService(settings);
  other = await startServer(testConfig(service.databaseUrl, settings), silent, { rateWindow: longWindow });
  await other.ready;
});
beforeEach(async () => {
  bearer = await newBearer();
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

describe('requests of a person', () => {
  test('every authenticated answer has the policy and the remaining requests', async () => {
    const first = await read();
    const etag = first.headers.get('etag') ?? '';
    const answers = [
      first,
      await read({ headers: { 'If-None-Match': etag } }),
      await read({ method: 'HEAD' }),
      await read({}, '?Limit=x'),
      await read({}, '/unknown'),
      await read({ method: 'PUT' }),
      await read({ headers: { Accept: 'text/html' } }),
      await fetch(`${service.url}/school/graphql`, {
        method: 'POST',
        headers: { Authorization: bearer, 'Content-Type': 'application/json' },
        body: '{"query":"{ __typename }"}',
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 304, 200, 400, 404, 405, 406, 200]);
    for (const [index, { headers }] of answers.entries()) {
      const [, left, seconds] = /^"requests"; r=(\d+); t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
      expect(Number(left)).toBe(most - 1 - index);
      expect(Number(seconds)).toBeLessThanOrEqual(longWindow / 1_000);
      expect(headers.get('ratelimit-policy')).toMatch(/^"requests"; q=20; w=60; pk=:[\w=]+:$/);
    }
  });

  test('429 past it, as a problem that says when to come back; other persons continue', async () => {
    await useUp();
    const refused = await read();
    expect(refused.status).toBe(429);
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(longWindow / 1_000);
    expect(refused.headers.get('ratelimit')).toMatch(/^"requests"; r=0; t=\d+$/);
    expect(refused.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await refused.json()).toMatchObject({
      status: 429,
      Code: 'LimitExceeded',
      detail: `More than 20 requests in a minute for one person or calendar address (Limits__RequestsPerMinute); wait ${wait} seconds.`,
    });
    const overGraphql = await fetch(`${service.url}/school/graphql`, {
      method: 'POST',
      headers: { Authorization: bearer, 'Content-Type': 'application/json' },
      body: '{"query":"{ __typename }"}',
    });
    expect(overGraphql.status).toBe(429);
    bearer = await newBearer();
    expect((await read()).status).toBe(200);
  });

  test('are counted together, however many PINs and tokens the person has', async () => {
    const person = await newPerson();
    bearer = await newBearer(person);
    await useUp();
    bearer = await newBearer(person);
    expect((await read()).status).toBe(429);
  });

  test('an operation over WebSocket is a request; past the limit its error is LIMIT', async () => {
    const client = createWsClient({
      url: `${service.url.replace('http', 'ws')}/school/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: bearer },
      retryAttempts: 0,
    });
    const ask = async () => {
      for await (const result of client.iterate({ query: '{ __typename }' })) return result;
      return undefined;
    };
    expect(await ask()).toEqual({ data: { __typename: 'Query' } });
    expect(remaining(await read())).toBe(most - 2);
    await useUp();
    await expect(ask()).rejects.toMatchObject([
      { extensions: { code: 'LIMIT', retryAfterSeconds: expect.any(Number) } },
    ]);
    await client.dispose();
  });

  test('two processes count together', async () => {
    const { BaseUrl } = other.context.config;
    const sumIs = (used: number, key = '%') =>
      until(`a sum of ${used}`, async () => {
        const { rows } = await sql<{ key: string }>`
          select key from rate_count where key like ${key} and used = ${used}`.execute(service.context.db);
        return rows[0]?.key;
      });
    for (let used = 0; used < 15; used++) await read();
    const key = await sumIs(15);
    expect((await read({}, '', BaseUrl)).status).toBe(200);
    await sumIs(16, key);
    // Which a process learns after the table has it.
    await until('the other process knows it', () => other.context.rates.count(key, 0).used === 16);
    for (const left of [3, 2, 1, 0]) expect(remaining(await read({}, '', BaseUrl))).toBe(left);
    expect((await read({}, '', BaseUrl)).status).toBe(429);
    await sumIs(21, key);
    await read();
    await sumIs(22, key);
    await until('this process knows it', () => service.context.rates.count(key, 0).used === 22);
    expect((await read()).status).toBe(429);
  });
});

describe('requests of a tenant', () => {
  test('429 past it for all of its persons, whose own requests past their limits do not count; other tenants continue', async () => {
    const limits = { ...settings, Limits__TenantRequestsPerMinute: String(most + 5) };
    const small = await startServer(testConfig(service.databaseUrl, limits), silent, { rateWindow: longWindow });
    try {
      await small.ready;
      const url = small.context.config.BaseUrl;
      const full = await makeTenant(service.context.db, { code: 'full' });
      const ask = async (credential: string, code = 'full') =>
        await fetch(`${url}/${code}/api/v2.0/jobs/batches`, { headers: { Authorization: credential } });
      const greedy = await newBearer(undefined, full);
      const statuses: number[] = [];
      for (let sent = 0; sent < most + 10; sent++) statuses.push((await ask(greedy)).status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(most);
      for (let sent = 0; sent < 5; sent++) {
        const { status, headers } = await ask(await newBearer(undefined, full));
        expect([status, headers.get('ratelimit')]).toEqual([200, expect.stringMatching(/^"requests"; r=19; t=\d+$/)]);
      }
      const refused = await ask(await newBearer(undefined, full));
      expect(refused.status).toBe(429);
      expect(refused.headers.get('ratelimit')).toMatch(/^"tenant-requests"; r=0; t=\d+$/);
      expect(refused.headers.get('ratelimit-policy')).toMatch(/^"tenant-requests"; q=25; w=60; pk=:[\w=]+:$/);
      expect(await refused.json()).toMatchObject({
        detail: expect.stringContaining(
          'More than 25 requests in a minute for one tenant (Limits__TenantRequestsPerMinute); wait ',
        ),
      });
      expect((await ask(await newBearer(), 'school')).status).toBe(200);
    } finally {
      await small.stop();
    }
  });
});

describe('requests for tokens per address', () => {
  test('429 slow_down past it, in the words of OAuth; another address continues', async () => {
    const pin = await newPin();
    const address = '192.0.2.1';
    const statuses: number[] = [];
    for (const apikey of [pin, 'wrong', pin]) statuses.push((await requestToken(apikey, address)).status);
    expect(statuses).toEqual([200, 400, 200]);
    const refused = await requestToken(pin, address);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({
      error: 'slow_down',
      error_description: expect.stringMatching(
        /^More than 3 requests for tokens in a minute for one address \(Limits__TokenRequestsPerMinute\); wait \d+ seconds\.$/,
      ),
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(refused.headers.get('cache-control')).toBe('no-store');
    expect(refused.headers.get('ratelimit')).toMatch(/^"token-requests"; r=0; t=\d+$/);
    expect(refused.headers.get('ratelimit-policy')).toMatch(/^"token-requests"; q=3; w=60; pk=/);
    expect((await requestToken(pin, '192.0.2.2')).status).toBe(200);
  });

  test.each([
    [
      'one /64 of IPv6 is one address',
      ['2001:db8:1:1::1', '2001:db8:1:1::2', '2001:db8:1:1:ffff::1', '2001:db8:1:1::3'],
      [200, 200, 200, 429],
    ],
    [
      'its neighbour is another',
      ['2001:db8:2:1::1', '2001:db8:2:1::1', '2001:db8:2:1::1', '2001:db8:2:2::1'],
      [200, 200, 200, 200],
    ],
    [
      'IPv4 on a socket for both families is IPv4',
      ['192.0.2.9', '::ffff:192.0.2.9', '192.0.2.9', '::ffff:192.0.2.9'],
      [200, 200, 200, 429],
    ],
    [
      'the port that some proxies add is no part of the address',
      ['192.0.2.10:49152', '192.0.2.10:49153', '192.0.2.10', '192.0.2.10:49154'],
      [200, 200, 200, 429],
    ],
    [
      'callers of one proxy that adds ports are not one',
      ['192.0.2.11:49152', '192.0.2.12:49152', '[2001:db8:3:1::1]:49152', '[2001:db8:3:2::1]:49152'],
      [200, 200, 200, 200],
    ],
    [
      'what a client says of itself before the proxy changes nothing',
      ['1.1.1.1, 192.0.2.8', '2.2.2.2, 192.0.2.8', '3.3.3.3, 192.0.2.8', '4.4.4.4, 192.0.2.8'],
      [200, 200, 200, 429],
    ],
  ])('%s', async (_name, addresses, expected) => {
    const pin = await newPin();
    const statuses: number[] = [];
    for (const address of addresses) statuses.push((await requestToken(pin, address)).status);
    expect(statuses).toEqual(expected);
  });
});

test('callers are told apart behind two proxies of which the inner one adds the port of the outer one', async () => {
  const trusting = { ...settings, TrustProxy: 'loopback,198.51.100.0/24' };
  const inner = await startServer(testConfig(service.databaseUrl, trusting), silent, { rateWindow: longWindow });
  await inner.ready;
  const pin = await newPin();
  const statuses: number[] = [];
  for (const client of ['192.0.2.21', '192.0.2.22', '192.0.2.23', '192.0.2.24'])
    statuses.push((await requestToken(pin, `${client}, 198.51.100.7:49152`, inner.context.config.BaseUrl)).status);
  expect(statuses).toEqual([200, 200, 200, 200]);
  await inner.stop();
});

test.each([
  '/healthz',
  '/readyz',
  '/metrics',
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/jwks',
  '/school/.well-known/openid-configuration',
])('no limit: %s', async (path) => {
  for (let asked = 0; asked <= most; asked++) {
    const { status, headers } = await fetch(service.url + path);
    expect([status, headers.get('ratelimit')]).toEqual([200, null]);
  }
});

describe('the counts', () => {
  const opened: Rates[] = [];
  afterAll(() => Promise.all(opened.map((rates) => rates.close())));

  function open(windowLength: number, db = service.context.db, log = silent): Rates {
    const rates = openRates(db, log, windowLength);
    opened.push(rates);
    return rates;
  }

  test('begin anew with each window, and those of past windows are swept', async () => {
    const { db } = service.context;
    const rates = open(300);
    for (let used = 0; used < 5; used++) rates.count('a');
    const { resetsAt } = rates.count('a');
    // By more than what the clocks of both machines are thought to differ.
    const next = await until('it has ended', () => {
      const count = rates.count('a');
      return count.resetsAt.getTime() > resetsAt.getTime() + 150 && count;
    });
    expect(next.used).toBe(1);
    await sql`insert into rate_count values (now() - interval '2 minutes', 'long ago', 1)`.execute(db);
    await until('what is old is gone', async () => {
      rates.count('b');
      const { rows } = await sql`select 1 from rate_count where key in ('a', 'long ago')`.execute(db);
      return rows.length === 0;
    });
  });

  test('follow the clock of the database, however wrong ours is', async () => {
    const [length, error] = [60_000, 30 * 60_000 + 17_000];
    const now = Date.now;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + error);
    try {
      const rates = open(length);
      await until('the clocks are compared', () => {
        const reset = rates.count('clock').resetsAt.getTime() - error;
        return reset > now() && reset - now() <= length && Math.abs((reset % length) - length / 2) > length / 2 - 200;
      });
    } finally {
      clock.mockRestore();
    }
  });

  test('continue in this process while the database is away, and the log says so', async () => {
    const lines: string[] = [];
    const log = openLog('info', { write: (line) => void lines.push(line) });
    const away = openDatabase('postgres://127.0.0.1:1/none', { max: 1, log, statementTimeout: 1_000 });
    const rates = open(3_600_000, away, log);
    for (let used = 1; used <= 1_000; used++) expect(rates.count('a').used).toBe(used);
    await until('it has failed', () => lines.length > 0);
    expect(rates.count('a').used).toBe(1_001);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', msg: 'limits are counted by this process alone' },
    ]);
    await rates.close();
    await away.destroy();
  });

  test('forget the keys that were not used for longest, rather than grow', async () => {
    const rates = open(3_600_000);
    for (const key of ['old', 'kept', 'kept']) rates.count(key);
    for (let made = 0; made < 49_999; made++) rates.count(`key ${made}`);
    expect(rates.count('kept').used).toBe(3);
    expect(rates.count('old').used).toBe(1);
    await rates.close();
  });
});
