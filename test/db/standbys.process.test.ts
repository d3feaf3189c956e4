/** Reads at a real hot standby, and at the primary where it cannot answer at once. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Standbys } from '../../src/db/standbys.ts';
import { examineStandbys, openStandbys } from '../../src/db/standbys.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { startDatabaseServer } from '../_util/database-server.ts';
import { isLong, times } from '../_util/long.ts';
import { pepper } from '../_util/pepper.ts';
import { hasPgBouncer, startPooler } from '../_util/pooler.ts';
import { until } from '../_util/process.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';
import { ask, startStreamingPair } from '../_util/streaming.ts';

const log = openLog('silent');
let pair: Awaited<ReturnType<typeof startStreamingPair>>;
/** Two Web processes of one installation, as two services on one database. */
let one: Service;
let other: Awaited<ReturnType<typeof startServer>>;
let standbys: Standbys;
let token: string;

const figure = async (name: string) => ({ ...(await standbys.figures[name]?.read()) });
const answered = async (by: string) => (await figure('roomgate_reads_total'))[by] ?? 0;
const isUsed = async () => Object.values(await figure('roomgate_standby_used')).includes(1);
const used = () => until('the standby is used', isUsed);

beforeAll(async () => {
  pair = await startStreamingPair();
  const DatabaseUrl = pair.primary.url;
  const settings = { ReadDatabaseUrl: pair.standby.url, ReadWaitMilliseconds: '2000' };
  one = await startService({ DatabaseUrl, ...settings });
  other = await startServer(testConfig(DatabaseUrl, { ...settings, Role: 'Web', IdpUrl: one.url }), log);
  await other.ready;
  standbys = other.context.standbys as Standbys;
  token = await one.signIn(one.tenant, 'Admin');
  await used();
});
afterAll(async () => {
  await other.stop();
  await one.stop();
  await pair.remove();
});

async function call(base: string, path: string, body?: object) {
  const answer = await fetch(`${base}/school${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const otherUrl = () => other.context.config.BaseUrl;
let made = 0;
/** Creates a booking at one process. */
async function book(): Promise<number> {
  const begin = Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 86_400_000 + made++ * 300_000;
  const at = (ms: number) => new Date(begin + ms).toISOString();
  const ResourceId = one.tenant.resources[0]!.id;
  const { status, body } = await call(one.url, '/api/v1.0/bookings', {
    ResourceId,
    Subject: 'n',
    Start: at(0),
    End: at(300_000),
  });
  expect([status, body]).toMatchObject([201, {}]);
  return body['Id'] as number;
}
const query = (id: number) =>
  call(otherUrl(), '/graphql', {
    query: 'query ($id: ID!) { booking(id: $id) { id } }',
    variables: { id: String(id) },
  });
/** Reads it at another process, over REST and GraphQL. */
async function isSeen(id: number): Promise<boolean> {
  const [rest, graphql] = await Promise.all([call(otherUrl(), `/api/v1.0/bookings/${id}`), query(id)]);
  return rest.status === 200 && (graphql.body as { data?: { booking?: object } }).data?.booking != null;
}

/** Writes so often at one process and reads each at another, ten at a time. @returns where the reads were answered */
async function writeAndRead(tries: number, how: string, meanwhile: (done: number) => Promise<void> = async () => {}) {
  const before = await figure('roomgate_reads_total');
  let missed = 0;
  for (let done = 0; done < tries; done += 10) {
    const tried = Array.from({ length: 10 }, async () => (await isSeen(await book())) || missed++);
    await Promise.all([meanwhile(done), ...tried]);
  }
  const after = await figure('roomgate_reads_total');
  const grown = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  const reads: Record<string, number> = Object.fromEntries(grown.filter(([, count]) => count > 0));
  if (isLong)
    process.stdout.write(`${how}: ${tries} own writes, each read twice, ${missed} missed; ${JSON.stringify(reads)}\n`);
  expect(missed).toBe(0);
  return reads;
}

test('a write that was answered by one process is seen by every read at another', async () => {
  const tries = times(50, 10_000);
  expect((await writeAndRead(tries, 'with a standby'))['Standby']).toBeGreaterThan(tries);
}, 1_800_000);

test('the same while the standby is ten seconds behind', async () => {
  await ask(pair.standby.url, "alter system set recovery_min_apply_delay = '10s'", 'select pg_reload_conf()');
  try {
    const reads = await writeAndRead(times(10, 3_000), 'with a standby 10 s behind');
    expect(Object.keys(reads)).toEqual(expect.arrayContaining(['Behind']));
  } finally {
    // The recovery of a standby that is long behind cancels at once what stands in its way, this too.
    await until('the standby replays at once again', () =>
      ask(pair.standby.url, 'alter system reset recovery_min_apply_delay', 'select pg_reload_conf()').then(
        () => true,
        (error: { code?: string }) => error.code !== '40001' && Promise.reject(error),
      ),
    );
  }
  const before = await answered('Standby');
  await until('reads go there again', async () => {
    expect(await isSeen(await book())).toBe(true);
    return (await answered('Standby')) > before;
  });
}, 1_800_000);

test('the same while the standby is killed, is away, and comes back', async () => {
  await used();
  const tries = times(60, 3_000);
  const third = Math.round(tries / 30) * 10;
  await writeAndRead(tries, 'with a standby that is killed in the middle', async (done) => {
    if (done === third) await pair.standby.stop('SIGQUIT');
    if (done !== 2 * third) return;
    await pair.standby.start();
    await used();
  });
  await used();
}, 1_800_000);

test('the primary among the standbys is skipped, not treated as a failed standby', async () => {
  const [primary, standby] = [pair.primary.url, pair.standby.url].map((url) => new URL(url).host) as [string, string];
  const ReadDatabaseUrl = pair.standby.url.replace(standby, `${primary},${standby}`);
  const both = openStandbys(testConfig(pair.primary.url, { ReadDatabaseUrl }), one.context.db, log) as Standbys;
  const told = async () => JSON.stringify(await both.figures['roomgate_standby_used']?.read());
  await until('the standby alone is told of', async () => (await told()) === JSON.stringify({ [standby]: 1 }));
  await both.close();
});

test('a read that writes does so at the primary: no change is missing from the feed', async () => {
  const cursor = (await call(otherUrl(), '/api/v1.0/changes?Cursor=now')).body['NextCursor'];
  const id = await book();
  const { body } = await call(otherUrl(), `/api/v1.0/changes?Cursor=${cursor}`);
  expect(JSON.stringify(body)).toContain(`"Id":${id},"Action":"Created"`);
});

test('a standby that has stopped replaying is skipped, and used again once it continues', async () => {
  await ask(pair.standby.url, 'select pg_wal_replay_pause()');
  const behind = await answered('Behind');
  const ids = await Promise.all(Array.from({ length: 5 }, book));
  for (const id of ids) expect(await isSeen(id)).toBe(true);
  expect(await answered('Behind')).toBeGreaterThan(behind);
  await ask(pair.standby.url, 'select pg_wal_replay_resume()');
  const before = await answered('Standby');
  await until('reads go there again', async () => {
    expect(await isSeen(ids[0] as number)).toBe(true);
    return (await answered('Standby')) > before;
  });
});

test('a read that conflicts with the recovery is repeated at the primary', async () => {
  await used();
  const conflicts = await answered('Conflict');
  let runs = 0;
  const result = await standbys.read(async (db) => {
    runs++;
    if (db) throw Object.assign(new Error('canceling statement due to conflict with recovery'), { code: '40001' });
    return 'read';
  });
  expect([result, runs, (await answered('Conflict')) - conflicts]).toEqual(['read', 2, 1]);
});

test('a read under way at a standby that hangs is answered by the primary', async () => {
  await used();
  const pid = Number(
    fs.readFileSync(path.join(pair.standby.directory, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0],
  );
  const backends = async () =>
    (
      await ask<{ pid: number }>(pair.standby.url, 'select pid from pg_stat_activity where pid <> pg_backend_pid()')
    ).map((row) => row.pid);
  const stopped = [pid, ...(await backends())];
  const began = Promise.withResolvers<void>();
  const hung = standbys.read(async (db) => {
    if (!db) return 'primary';
    began.resolve();
    await sql`select pg_sleep(600)`.execute(db);
    return 'standby';
  });
  await began.promise;
  for (const one of [...new Set([...stopped, ...(await backends())])]) process.kill(one, 'SIGSTOP');
  try {
    expect(await hung).toBe('primary');
    expect(await isSeen(await book())).toBe(true);
    const ready = await fetch(`${otherUrl()}/readyz`);
    expect(ready.status).toBe(200);
  } finally {
    for (const one of stopped)
      try {
        process.kill(one, 'SIGCONT');
      } catch {}
  }
  await used();
});

test('a standby that dies fails no request, and is used again when it is back', async () => {
  await used();
  const id = await book();
  let isDone = false;
  let failed = 0;
  const reads = Array.from({ length: 4 }, async () => {
    while (!isDone) if (!(await isSeen(id))) failed++;
  });
  await pair.standby.stop('SIGQUIT');
  await until('it is left alone', async () => !(await isUsed()));
  expect(await isSeen(await book())).toBe(true);
  await pair.standby.start();
  await used();
  isDone = true;
  await Promise.all(reads);
  expect(failed).toBe(0);
});

(hasPgBouncer ? test : test.skip)('a process whose pooler leads to a standby is not ready', async () => {
  const pooler = await startPooler(pair.standby.url);
  const PooledDatabaseUrl = pooler.through(pair.standby.url);
  const server = await startServer(testConfig(pair.primary.url, { PooledDatabaseUrl, Role: 'Web' }), log);
  await server.ready;
  const ready = await fetch(`${server.context.config.BaseUrl}/readyz`);
  expect([ready.status, await ready.json()]).toMatchObject([
    503,
    { Checks: { Database: 'Unhealthy', Notifications: 'Healthy' } },
  ]);
  await server.stop();
  await pooler.stop();
});

describe('a command, where DatabaseUrl names the standby before the primary,', () => {
  const main = path.join(import.meta.dirname, '../../src/main.js');
  const standbyFirst = () =>
    pair.primary.url.replace(/@[^/]*/, `@${new URL(pair.standby.url).host},${new URL(pair.primary.url).host}`);

  function run(settings: string | NodeJS.ProcessEnv, ...words: string[]) {
    const own = typeof settings === 'string' ? { DatabaseUrl: settings } : settings;
    const env = { PATH: process.env['PATH'], Pepper: pepper, Port: '0', ...own };
    return spawnSync(process.execPath, [main, ...words], { env, encoding: 'utf8', maxBuffer: 1e9 });
  }

  test.each([
    [['tenants', 'list']],
    [['migrate']],
    [['migrate', '--dry-run']],
    [['backup', '-']],
    [['tenant', 'freeze', '--mandator', 'school', '--seconds', '1']],
    [['doctor']],
  ])('%j uses the primary at once', (words) => {
    const { status, stdout, stderr } = run(standbyFirst(), ...words);
    expect({ status, said: stderr + (words[0] === 'doctor' ? stdout : '') }).toMatchObject({
      status: 0,
      said: expect.not.stringContaining('the host is a standby'),
    });
  });

  test('a pooler that answers is used where PooledDatabaseUrl names another one before it', () => {
    const PooledDatabaseUrl = pair.primary.url.replace(/@[^/]*/, `@127.0.0.1:1,${new URL(pair.primary.url).host}`);
    const { status, stderr } = run({ DatabaseUrl: pair.primary.url, PooledDatabaseUrl }, 'tenants', 'list');
    expect([status, stderr]).toEqual([0, '']);
  });

  test('a move uses the primary of the other installation, too', () => {
    const { stderr } = run(pair.primary.url, 'tenant', 'move', '--mandator', 'school', '--to', standbyFirst());
    expect(stderr).toBe('--to is the database that the tenant is already in; name that of the other installation.\n');
  });
});

describe('ReadDatabaseUrl', () => {
  test('of another cluster ends a start', async () => {
    const foreign = await startDatabaseServer();
    const server = await startServer(testConfig(pair.primary.url, { ReadDatabaseUrl: foreign.url }), log);
    await expect(server.ready).rejects.toThrow(/^ReadDatabaseUrl: 127.0.0.1:\d+: it belongs to another cluster/);
    await server.stop();
    await foreign.remove();
  });

  const examine = (ReadDatabaseUrl: string) => examineStandbys({ DatabaseUrl: pair.primary.url, ReadDatabaseUrl });

  test('is examined by the doctor', async () => {
    expect(await examine(pair.standby.url)).toMatchObject([{ level: 'ok' }]);
    expect(await examine(pair.primary.url)).toMatchObject([
      { level: 'warning', text: expect.stringContaining('it is the primary itself') },
    ]);
    expect(await examine('postgres://a:b@127.0.0.1:1/d')).toMatchObject([{ level: 'warning' }]);
  });

  (hasPgBouncer ? test : test.skip)('through a pooler is not used', async () => {
    const pooler = await startPooler(pair.standby.url);
    expect(await examine(pooler.through(pair.standby.url))).toMatchObject([
      { level: 'warning', text: expect.stringContaining('a pooler in between') },
    ]);
    await pooler.stop();
  });
});
