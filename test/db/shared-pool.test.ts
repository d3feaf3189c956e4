/** The connections of a process, which tenants share. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase, poolOf } from '../../src/db/database.ts';
import { openRates } from '../../src/db/rates.ts';
import { openGathering } from '../../src/flow/gather.ts';
import { workFor } from '../../src/flow/working.ts';
import { openLog } from '../../src/log.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { makeTenant } from '../_util/factories.ts';
import { fetchWhole } from '../_util/fetch-whole.ts';
import { countWaiting, hold, releaseAll } from '../_util/hold.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
let busy: { token: string; code: string };
let other: { token: string; code: string };

const range = (count: number) => Array.from({ length: count }, (_, index) => index);

beforeAll(async () => {
  service = await startService({ Role: 'Web' });
  const tenant = await makeTenant(service.context.db, { code: 'other' });
  busy = { token: await service.signIn(), code: service.tenant.code };
  other = { token: await service.signIn(tenant), code: tenant.code };
});

afterAll(async () => {
  await releaseAll();
  await service.stop();
});

const call = ({ token, code }: typeof busy, path: string, body?: object) =>
  fetchWhole(`${service.url}/${code}/${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });

const waitingForLocks = () => countWaiting(service.context.uploads);

test.each([
  ['lists over REST', 'api/v1.0/bookings?Kind=Block', () => undefined],
  [
    'edges of GraphQL',
    'graphql',
    // Equal edges would share a statement.
    (day: number) => ({
      query: `{ resources { nodes { bookings(filter: { from: "2027-03-01T00:00:00Z", to: "2027-04-${day + 1}T00:00:00Z" }) { totalCount } } } }`,
    }),
  ],
] as const)('however many %s one tenant reads, others find a connection', async (_name, path, bodyOf) => {
  const release = await hold(service.context.db, (trx) =>
    sql`lock table booking in access exclusive mode`.execute(trx),
  );
  let answered = 0;
  const asked = range(20).map((day) => call(busy, path, bodyOf(day + 9)).finally(() => answered++));
  await until('the tenant has all connections that it may have', async () => (await waitingForLocks()) >= 6);
  for (const _ of range(5)) expect((await call(other, 'api/v1.0/persons/me')).status).toBe(200);
  expect([await waitingForLocks(), answered]).toEqual([6, 0]);
  await release();
  for (const answer of await Promise.all(asked)) expect(answer.status).toBe(200);
});

test.each([
  ['as they are opened', 'batchStatus(batchId: "00000000-0000-4000-8000-000000000000")'],
  ['as they begin', 'batches'],
])('however many subscriptions one tenant has read %s, others find a connection', async (_when, field) => {
  const release = await hold(service.context.db, (trx) => sql`lock table batch in access exclusive mode`.execute(trx));
  const token = await service.signIn(service.tenant, 'Admin');
  const over = new AbortController();
  const opened = range(30).map(() =>
    fetch(`${service.url}/${busy.code}/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
      body: JSON.stringify({ query: `subscription { ${field} { id } }` }),
      signal: over.signal,
    }),
  );
  await until('the tenant has all connections that it may have', async () => (await waitingForLocks()) >= 6);
  for (const _ of range(5)) expect((await call(other, 'api/v1.0/persons/me')).status).toBe(200);
  expect(await waitingForLocks()).toBe(6);
  await release();
  for (const answer of await Promise.all(opened)) expect(answer.status).toBe(200);
  over.abort();
});

test('however much one tenant’s subscriptions read for a frame, others find a connection', async () => {
  const { context, tenant } = service;
  const over = new AbortController();
  const query = 'subscription { bookings(filter: {}) { bookings { resource { openingHours { weekly { opens } } } } } }';
  const opened = await Promise.all(
    range(20).map((minute) =>
      fetch(`${service.url}/${busy.code}/graphql`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${busy.token}`,
          'Content-Type': 'application/json',
          Accept: 'text/event-stream',
        },
        // Equal subscriptions would share their frames.
        body: JSON.stringify({ query: `# ${minute}\n${query}` }),
        signal: over.signal,
      }),
    ),
  );
  const release = await hold(context.db, (trx) => sql`lock table opening_rule in access exclusive mode`.execute(trx));
  await insertBookings(context.db, tenant.mandatorId, tenant.resources[0]!.id);
  await until('the tenant has all connections that it may have', async () => (await waitingForLocks()) >= 6);
  for (const _ of range(5)) expect((await call(other, 'api/v1.0/persons/me')).status).toBe(200);
  expect(await waitingForLocks()).toBe(6);
  await release();
  for (const answer of opened) expect(answer.status).toBe(200);
  over.abort();
});

test('of questions that are gathered for one statement tenants ask in turns', async () => {
  const [asked, goOn] = [[] as string[][], Promise.withResolvers<void>()];
  const ask = openGathering<string, string>(
    async (questions) => {
      asked.push([...questions]);
      await goOn.promise;
      return questions;
    },
    { mostAtOnce: 1, mostTogether: 4 },
  );
  const answers = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => workFor(1, () => ask(name, name)));
  answers.push(
    ...['x', 'y'].map((name) => workFor(2, () => ask(name, name))),
    workFor(1, () => ask('a', 'a')),
  );
  goOn.resolve();
  expect(await Promise.all(answers)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'x', 'y', 'a']);
  expect(asked).toEqual([['a', 'x', 'b', 'y'], ['c', 'd', 'e', 'f'], ['g']]);
});

test('a tenant takes one more connection only while it has fewer than twice as many as are free', async () => {
  const db = openDatabase(service.databaseUrl, { max: 10, log: openLog('silent'), statementTimeout: 0 });
  try {
    const pool = poolOf(db);
    const taken: number[] = [];
    const clients: { release(): void }[] = [];
    const take = (tenant: number, count: number) =>
      range(count).map(() =>
        workFor(tenant, async () => {
          const client = await pool.connect();
          taken.push(tenant);
          clients.push(client);
        }),
      );
    const first = take(1, 9);
    await until('the first tenant has seven', () => taken.length === 7);
    const second = take(2, 9);
    await until('the second has two', () => taken.length === 9);
    expect(taken).toEqual([1, 1, 1, 1, 1, 1, 1, 2, 2]);
    // What the first gives back goes to the second, until both have as many.
    for (const _ of range(3)) clients.shift()?.release();
    await until('the second has four', () => taken.length === 11);
    expect(taken.slice(9)).toEqual([2, 2]);
    // Work of no tenant takes what is left.
    clients.push(await pool.connect(), await pool.connect());
    while (taken.length < 18) {
      await until('somebody holds a connection', () => clients.length > 0);
      clients.shift()?.release();
    }
    await Promise.all([...first, ...second]);
    for (const client of clients) client.release();
  } finally {
    await db.destroy();
  }
});

test('work of no tenant waits in turn with the tenants where no connection is free', async () => {
  const db = openDatabase(service.databaseUrl, { max: 4, log: openLog('silent'), statementTimeout: 0 });
  try {
    const pool = poolOf(db);
    const clients = await Promise.all(range(4).map(() => pool.connect()));
    const order: string[] = [];
    const take = (who: string, tenant: number | undefined) =>
      workFor(tenant, async () => {
        const client = await pool.connect();
        order.push(who);
        client.release();
      });
    const waiting = [take('none', undefined), take('none', undefined), take('one', 1), take('two', 2)];
    clients.pop()?.release();
    await Promise.all(waiting);
    expect(order).toEqual(['one', 'two', 'none', 'none']);
    for (const client of clients) client.release();
  } finally {
    await db.destroy();
  }
});

test('work of no tenant goes first until it has a third, however many tenants wait', async () => {
  const db = openDatabase(service.databaseUrl, { max: 6, log: openLog('silent'), statementTimeout: 0 });
  try {
    const pool = poolOf(db);
    const shared = await pool.connect();
    const clients = await Promise.all(range(5).map((tenant) => workFor(tenant, () => pool.connect())));
    const order: (number | undefined)[] = [];
    const take = (tenant: number | undefined) =>
      workFor(tenant, async () => {
        const client = await pool.connect();
        order.push(tenant);
        client.release();
      });
    const waiting = [...range(12).map((tenant) => take(100 + tenant)), take(undefined)];
    clients.pop()?.release();
    await Promise.all(waiting);
    expect(order).toEqual([undefined, ...range(12).map((tenant) => 100 + tenant)]);
    for (const client of [shared, ...clients]) client.release();
  } finally {
    await db.destroy();
  }
});

test('what a tenant starts for all tenants does not wait for its connections', async () => {
  const log = openLog('silent');
  const db = openDatabase(service.databaseUrl, { max: 10, log, statementTimeout: 0 });
  const rates = openRates(db, log);
  try {
    const pool = poolOf(db);
    const clients = await workFor(1, () => Promise.all(range(7).map(() => pool.connect())));
    workFor(1, () => rates.count('shared'));
    await until('the count is shared', async () => {
      const { rows } = await sql`select from rate_count where key = 'shared'`.execute(service.context.db);
      return rows.length > 0;
    });
    for (const client of clients) client.release();
  } finally {
    await rates.close();
    await db.destroy();
  }
});
