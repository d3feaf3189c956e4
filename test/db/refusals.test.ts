import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openRefusals, type Refusals } from '../../src/db/refusals.ts';
import { lockClasses } from '../../src/flow/locks.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';
import { ask } from '../_util/streaming.ts';

const minute = 60_000;
const lines: { level: string; msg: string; remedy: string }[] = [];
const log = openLog('warn', { write: (line) => void lines.push(JSON.parse(line)) });
let ticks = 0;
let refusals: Refusals;
let db: Database;
let database: Awaited<ReturnType<typeof cloneDatabase>>;

beforeAll(async () => {
  database = await cloneDatabase();
  refusals = openRefusals(log, () => ticks);
  db = openDatabase(database.url, { max: 2, log, refusals, statementTimeout: 5_000 });
});

afterAll(async () => {
  await db.destroy();
  await database.drop();
});

/** Fails as a write does then. */
const fail = (condition: string) =>
  sql
    .raw(`do $$ begin raise exception 'no' using errcode = '${condition}'; end $$`)
    .execute(db)
    .catch(() => {});

test('what is refused is counted by its cause, and nothing else is', async () => {
  await fail('unique_violation');
  await sql`select`.execute(db);
  expect([refusals.counts, refusals.isRecent()]).toEqual([{ DiskFull: 0, ReadOnly: 0 }, false]);
  await fail('disk_full');
  await db
    .transaction()
    .setAccessMode('read only')
    .execute((trx) => sql`create table t ()`.execute(trx))
    .catch(() => {});
  expect([refusals.counts, refusals.isRecent()]).toEqual([{ DiskFull: 1, ReadOnly: 1 }, true]);
});

test('it is recent for a minute', async () => {
  ticks += minute - 1;
  expect(refusals.isRecent()).toBe(true);
  ticks += 1;
  expect(refusals.isRecent()).toBe(false);
});

test('the log warns at the first one, and then once a minute at most, with the remedy', async () => {
  lines.length = 0;
  await fail('disk_full');
  await fail('disk_full');
  ticks += minute;
  await fail('read_only_sql_transaction');
  expect(lines.map(({ level, msg, remedy }) => [level, msg, remedy.slice(0, 9)])).toEqual([
    ['warn', 'PostgreSQL refuses writes: its disk is full', 'Make room'],
    ['warn', 'PostgreSQL refuses writes: it is read-only', 'Name the '],
  ]);
});

test('a server counts what any of its pools is refused, from 0 on', async () => {
  const service = await startService({ Role: 'Web' });
  const read = async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return [...text.matchAll(/^roomgate_writes_refused_total\{cause="(\w+)"\} (\d+)$/gm)].map(([, ...found]) => found);
  };
  try {
    expect(await read()).toEqual([
      ['DiskFull', '0'],
      ['ReadOnly', '0'],
    ]);
    const { db: requests, uploads, inbox } = service.context;
    for (const pool of [requests, uploads, inbox])
      await sql`do $$ begin raise disk_full; end $$`.execute(pool).catch(() => {});
    expect(service.context.refusals.counts).toEqual({ DiskFull: 3, ReadOnly: 0 });
  } finally {
    await service.stop();
  }
});

test('a process whose worker cannot take jobs stays ready while PostgreSQL refuses writes', async () => {
  const service = await startService({ Role: 'Web' });
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  // No worker can start.
  await holder.query('select pg_advisory_lock($1, 0)', [lockClasses.starting]);
  const server = await startServer(testConfig(service.databaseUrl, { Role: 'All' }), openLog('silent'));
  try {
    await server.ready;
    const read = async () => {
      const answer = await fetch(`http://127.0.0.1:${server.context.config.Port}/readyz`);
      return [answer.status, ((await answer.json()) as { Status: string }).Status];
    };
    await until(async () => isDeepStrictEqual(await read(), [503, 'Unhealthy']));
    await sql`do $$ begin raise disk_full; end $$`.execute(server.context.db).catch(() => {});
    expect(await read()).toEqual([200, 'Degraded']);
  } finally {
    await holder.end();
    await server.stop();
    await service.stop();
  }
});

describe('what PostgreSQL refuses of DatabaseUrl while a process runs is answered 503 until it is mended:', () => {
  const role = `changing_${randomUUID().slice(0, 8)}`;
  let own: Awaited<ReturnType<typeof cloneDatabase>>;
  let service: Service;
  let token: string;
  beforeAll(async () => {
    own = await cloneDatabase();
    await ask(own.url, `create role ${role} superuser login password 'former'`);
    const url = Object.assign(new URL(own.url), { username: role, password: 'former' });
    service = await startService({ Role: 'Web', DatabaseUrl: url.href });
    token = await service.signIn();
  });
  afterAll(async () => {
    await service.stop();
    await ask(own.url, `drop role ${role}`);
    await own.drop();
  });

  const name = () => new URL(own.url).pathname.slice(1);
  test.each([
    ['the password', () => [`alter role ${role} password 'new'`], () => [`alter role ${role} password 'former'`]],
    [
      'the right to connect',
      () => [`revoke connect on database ${name()} from public`, `alter role ${role} nosuperuser`],
      () => [`alter role ${role} superuser`],
    ],
    [
      'any connection to the database',
      () => [`alter database ${name()} allow_connections false`],
      () => [`alter database ${name()} allow_connections true`],
    ],
    [
      'the name of the database',
      () => [`alter database ${name()} rename to ${name()}_away`],
      () => [`alter database ${name()}_away rename to ${name()}`],
    ],
  ])('%s', async (_what, refuse, mend) => {
    const read = () =>
      fetch(`${service.url}/${service.tenant.code}/api/v1.0/bookings`, {
        headers: { Authorization: `Bearer ${token}` },
      });
    const elsewhere = Object.assign(new URL(own.url), { pathname: '/postgres' }).href;
    const end = `select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = '${role}'`;
    // Sessions that open meanwhile would be in the way.
    await until(() =>
      ask(elsewhere, end, ...refuse(), end).then(
        () => true,
        () => false,
      ),
    );
    await until(async () => (await read()).headers.has('Retry-After'));
    const { status, headers } = await read();
    expect([status, headers.get('Retry-After')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    await ask(elsewhere, ...mend());
    await until(async () => (await read()).status === 200);
  });
});
