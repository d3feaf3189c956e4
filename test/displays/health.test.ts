import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createClient } from 'graphql-sse';
import { sql } from 'kysely';
import { openContext } from '../../src/context.ts';
import { openDatabase } from '../../src/db/database.ts';
import { findSilent, flushHeard, forgetPairings, hear, mayFindSilent } from '../../src/displays/hearing.ts';
import { openIdentity } from '../../src/identity/authenticate.ts';
import { viewerOfDisplay } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { askForPairing, type Device, pairDevice } from '../_util/displays.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService, testConfig } from '../_util/service.ts';

let service: Service;
let admin: MasterData;
let device: Device;
let room: number;

beforeAll(async () => {
  // Sweeps are run by the tests.
  service = await startService({ Role: 'Web' });
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
  room = service.tenant.resources[0]!.id;
  device = await pairDevice(service, admin, { Name: 'Tür' });
});
afterAll(() => service.stop());

const read = async ({ id }: Device = device) => (await admin.get(`/displays/${id}`)).body;
/** Sets columns of a display by SQL. */
const set = (columns: string, { id }: Device = device) =>
  sql`update display set ${sql.raw(columns)} where id = ${id}`.execute(service.context.db);
const daysUntil = (at: unknown) => (Date.parse(String(at)) - Date.now()) / 86_400_000;
const feedEnd = async () => String((await admin.get('/changes?Cursor=now')).body['NextCursor']);
const displayChanges = async (cursor: string, wait = 0) => {
  const { body } = await admin.get(`/changes?Cursor=${cursor}&WaitSeconds=${wait}`);
  return (body['Items'] as { Kind: string; Id: number; Action: string }[])
    .filter(({ Kind }) => Kind === 'Display')
    .map(({ Id, Action }) => [Id, Action]);
};

/** All that a device reads of a stream; ends by itself. */
async function readStream(token: string, onFrame: (frame: Record<string, unknown>) => void, url = service.url) {
  const client = createClient({
    url: `${url}/school/graphql`,
    headers: { Authorization: `Bearer ${token}` },
    retryAttempts: 0,
  });
  const query = `subscription ($room: ID!) { display(resourceId: $room) { __typename
    ... on DisplaySnapshot { resource { id: resourceId } } ... on DisplayEnded { reason retryAfterSeconds } } }`;
  for await (const { data } of client.iterate<{ display: Record<string, unknown> }>({
    query,
    variables: { room: String(room) },
  }))
    onFrame(data?.display ?? {});
}

describe('health', () => {
  const full = {
    Program: 'Firefox 150',
    Screen: '1280x800',
    ClockAheadSeconds: -7,
    Battery: 81,
    Reconnects: 2,
    StartedAt: '2026-11-20T08:00:00.000Z',
    Note: 'Ladegerät fehlt',
  };

  test('is stored as last reported, without a new version', async () => {
    const put = (body: unknown) => device.send('PUT', '/displays/self/health', { body });
    const { Version } = await read();
    expect((await put(full)).status).toBe(204);
    expect((await read())['Health']).toEqual(full);
    const empty = { Screen: null, ClockAheadSeconds: null, Battery: null, Reconnects: null, StartedAt: null };
    expect((await put({ program: 'paper' })).status).toBe(204);
    expect(await read()).toMatchObject({ Health: { Program: 'paper', ...empty, Note: null }, Version });
    for (const [body, pointer] of [
      [{}, '/Program'],
      [{ ...full, Battery: 101 }, '/Battery'],
      [{ ...full, StartedAt: 'today' }, '/StartedAt'],
      [{ ...full, Note: 'x'.repeat(501) }, '/Note'],
      [{ ...full, ClockAheadSeconds: 0.5 }, '/ClockAheadSeconds'],
    ] as const)
      expect(await put(body)).toMatchObject({ status: 422, body: { Errors: [{ Pointer: pointer }] } });
    expect((await admin.send('PUT', '/displays/self/health', { body: full })).status).toBe(403);
  });

  test('of a new device says at once that it has been heard from', async () => {
    const { send, id } = await pairDevice(service, admin, { Name: 'Neu' });
    await send('PUT', '/displays/self/health', { body: full });
    const { rows } = await sql`select 1 from display where id = ${id} and heard_at is not null`.execute(
      service.context.db,
    );
    expect(rows).toHaveLength(1);
  });

  test('over GraphQL', async () => {
    const report = `mutation ($input: HealthInput!) { reportHealth(input: $input) {
      __typename ... on Display { health { program battery startedAt } } ... on Problem { code } } }`;
    const input = { program: 'G', battery: 5, startedAt: '2026-11-20T08:00:00Z' };
    expect((await device.ask(report, { input })).data?.['reportHealth']).toEqual({
      __typename: 'Display',
      health: { ...input, startedAt: '2026-11-20T08:00:00.000Z' },
    });
    expect((await device.ask(report, { input: { program: '' } })).data?.['reportHealth']).toMatchObject({
      __typename: 'ValidationProblem',
    });
    expect((await admin.ask(report, { input })).data?.['reportHealth']).toMatchObject({
      __typename: 'ForbiddenProblem',
    });
  });
});

describe('a display is heard of', () => {
  test.each<[string, (device: Device) => Promise<unknown>]>([
    ['when it asks after itself', (one) => one.get('/displays/self')],
    ['when it tells how it is', (one) => one.send('PUT', '/displays/self/health', { body: { Program: 'p' } })],
    ['when it polls', (one) => one.get(`/displays/${room}/snapshot`)],
    ['over GraphQL', (one) => one.ask('query ($room: ID!) { display(resourceId: $room) { cursor } }', { room })],
  ])('%s', async (_name, call) => {
    const one = await pairDevice(service, admin);
    expect(await read(one)).toMatchObject({ HeardAt: null });
    const { rows } = await sql<{ now: Date }>`select now()`.execute(service.context.db);
    await call(one);
    await flushHeard(service.context);
    expect(Date.parse(String((await read(one))['HeardAt']))).toBeGreaterThanOrEqual(rows[0]!.now.getTime());
  });

  test('and counts for 90 days from then on, which is written at most once a day', async () => {
    const hearing = async () => {
      // Old enough to be written again.
      await set("heard_at = now() - interval '1 minute'");
      await device.get('/displays/self');
      await flushHeard(service.context);
      return (await read())['ExpiresAt'];
    };
    await set("expires_at = now() + interval '30 days'");
    const end = await hearing();
    expect(daysUntil(end)).toBeCloseTo(90, 1);
    expect(await hearing()).toBe(end);
    await set("expires_at = now() + interval '1 hour'");
    const viewer = await viewerOfDisplay(openIdentity(service.context), device.token, '');
    expect(daysUntil(viewer.expiresAt.toISOString())).toBeCloseTo(1 / 24, 2);
    expect(daysUntil(await hearing())).toBeCloseTo(90, 1);
  });

  test('no more once it has expired', async () => {
    const one = await pairDevice(service, admin);
    expect((await one.get('/displays/self')).status).toBe(200);
    await set("expires_at = now() - interval '1 second'", one);
    await flushHeard(service.context);
    await until(async () => (await one.get('/displays/self')).status === 401);
    expect(await read(one)).toMatchObject({ HeardAt: null });
  });

  test('and what was heard is written down before the process ends', async () => {
    const log = openLog('silent');
    const context = await openContext(testConfig(service.databaseUrl), log);
    const one = await pairDevice(service, admin);
    const viewer = await viewerOfDisplay(openIdentity(service.context), one.token, '');
    // Its usual time never comes.
    const pause = jest.spyOn(globalThis, 'setTimeout').mockReturnValue({ unref() {} } as NodeJS.Timeout);
    hear(context, viewer);
    pause.mockRestore();
    context.notifications.stop();
    await until(async () => (await read(one))['HeardAt'] !== null);
    await context.close();
  });

  test('by the clock of the database alone', async () => {
    const one = await pairDevice(service, admin);
    const viewer = await viewerOfDisplay(openIdentity(service.context), one.token, '');
    hear(service.context, viewer, { dueInSeconds: 300 });
    await flushHeard(service.context);
    await set("heard_at = now() - interval '1 minute'", one);
    // A shorter promise does not take back the longer one.
    hear(service.context, viewer, { dueInSeconds: 10 });
    await flushHeard(service.context);
    const { rows } = await sql<{ due: number; age: number }>`
      select extract(epoch from due_at - now())::float8 as due, extract(epoch from now() - heard_at)::float8 as age
      from display where id = ${one.id}`.execute(service.context.db);
    expect(rows[0]!.due).toBeGreaterThan(290);
    expect(rows[0]!.due).toBeLessThanOrEqual(300);
    expect(rows[0]!.age).toBeLessThan(5);
  });
});

test('a report of health counts as a call; frames of a stream do not, because nobody may read them', async () => {
  const one = await pairDevice(service, admin);
  const viewer = await viewerOfDisplay(openIdentity(service.context), one.token, '');
  const isHeard = async (byReading: boolean) => {
    await set('heard_at = null', one);
    hear(service.context, viewer, { byReading });
    await flushHeard(service.context);
    return (await read(one))['HeardAt'] !== null;
  };
  expect(await isHeard(true)).toBe(true);
  await set("health = '{}'", one);
  expect([await isHeard(true), await isHeard(false)]).toEqual([false, true]);
});

describe('a silent display', () => {
  const sweep = (lines: string[] = []) =>
    findSilent(service.context.db, openLog('info', { write: (line) => void lines.push(line) }));

  test('is reported by the feed, the log, the list and the metrics, once; and again when it is back', async () => {
    const revoked = await pairDevice(service, admin);
    await admin.send('DELETE', `/displays/${revoked.id}`);
    await set("due_at = now() - interval '1 hour'", revoked);
    await set("due_at = now() - interval '9 minutes'");
    expect(await sweep()).toBe(0);
    const cursor = await feedEnd();
    await set("due_at = now() - interval '11 minutes'");
    const lines: string[] = [];
    const waiting = displayChanges(cursor, 10);
    expect(await sweep(lines)).toBe(1);
    expect(await waiting).toEqual([[device.id, 'Changed']]);
    expect(JSON.parse(lines.join(''))).toMatchObject({
      level: 'warn',
      count: 1,
      displays: [{ id: device.id, name: 'Tür', mandator: 'school' }],
    });
    expect(await sweep(lines)).toBe(0);
    expect(lines).toHaveLength(1);
    expect(await read()).toMatchObject({ SilentSince: expect.any(String) });
    // They are read once a second.
    const metrics = async () => (await fetch(`${service.url}/metrics`)).text();
    await until(async () => /^roomgate_displays_silent 1$/m.test(await metrics()));
    expect(await metrics()).toMatch(/^roomgate_displays [1-9]\d*$/m);

    const after = await feedEnd();
    await device.get('/displays/self');
    await flushHeard(service.context);
    expect(await read()).toMatchObject({ SilentSince: null });
    expect(await displayChanges(after)).toEqual([[device.id, 'Changed']]);
    await until(async () => /^roomgate_displays_silent 0$/m.test(await metrics()));
  });

  test('is none in the first ten minutes of a process: while the service was down none could call', async () => {
    const isDue = async (uptime: number) => {
      const clock = jest.spyOn(process, 'uptime').mockReturnValue(uptime);
      const { rows } = await sql<{ due: boolean }>`select ${mayFindSilent()} as due`.execute(service.context.db);
      clock.mockRestore();
      return rows[0]?.due;
    };
    await set("due_at = now() - interval '1 hour', silent_since = null");
    expect([await isDue(599), await isDue(601)]).toEqual([false, true]);
    await set('due_at = now()');
  });

  test('is one that has never called since it was paired, too', async () => {
    const one = await pairDevice(service, admin);
    await set("due_at = due_at - interval '601 seconds'", one);
    expect(await sweep()).toBe(1);
    expect(await read(one)).toMatchObject({ HeardAt: null, SilentSince: expect.any(String) });
  });
});

test('codes that nobody confirms are forgotten', async () => {
  const [old, present] = [await askForPairing(service.url), await askForPairing(service.url)];
  const { db } = service.context;
  await sql`update display_pairing set expires_at = now() where code = ${old.Code.replace('-', '')}`.execute(db);
  await forgetPairings(db);
  const codes = (await db.selectFrom('display_pairing').select('code').execute()).map(({ code }) => code);
  expect(codes).toContain(present.Code.replace('-', ''));
  expect(codes).not.toContain(old.Code.replace('-', ''));
});

describe('the stream of a display', () => {
  test('counts as a call, and ends when it is revoked through another process', async () => {
    const other = await startServer(testConfig(service.databaseUrl, { Role: 'Web' }), openLog('silent'));
    await other.ready;
    const { BaseUrl } = other.context.config;
    const one = await pairDevice(service, admin);
    const frames: Record<string, unknown>[] = [];
    const reading = readStream(one.token, (frame) => void frames.push(frame), BaseUrl);
    await until(() => frames.length > 0);
    expect(frames[0]).toEqual({ __typename: 'DisplaySnapshot', resource: { id: `resource_${room}` } });
    await flushHeard(other.context);
    expect(await read(one)).toMatchObject({ HeardAt: expect.any(String) });
    await admin.send('DELETE', `/displays/${one.id}`);
    await reading;
    await other.stop();
    expect(frames.at(-1)).toEqual({ __typename: 'DisplayEnded', reason: 'Revoked', retryAfterSeconds: null });
  });

  test('ends when its room is taken from it, and may be opened again at once', async () => {
    const one = await pairDevice(service, admin);
    const frames: Record<string, unknown>[] = [];
    const reading = readStream(one.token, (frame) => void frames.push(frame));
    await until(() => frames.length > 0);
    await admin.patch(`/displays/${one.id}`, { ResourceIds: [service.tenant.resources[1]!.id] });
    await reading;
    expect(frames.at(-1)).toEqual({ __typename: 'DisplayEnded', reason: 'Restarting', retryAfterSeconds: 0 });
    expect((await one.get(`/displays/${room}/snapshot`)).status).toBe(404);
  });
});

test('the streams of a location stay open when it gets another room, as nothing changes at their doors', async () => {
  const { locationId: LocationId } = service.tenant;
  const one = await pairDevice(service, admin, { ResourceIds: [], LocationId });
  const frames: Record<string, unknown>[] = [];
  const reading = readStream(one.token, (frame) => void frames.push(frame));
  await until(() => frames.length > 0);
  const { body } = await admin.post('/resources', { Name: 'Neubau', LocationId });
  expect((await one.get(`/displays/${body['Id']}/snapshot`)).status).toBe(200);
  await admin.patch(`/resources/${room}`, { Capacity: 7 });
  await until(() => frames.length > 1);
  await admin.send('DELETE', `/displays/${one.id}`);
  await reading;
  expect(frames.map(({ __typename, reason }) => reason ?? __typename)).toEqual([
    ...['DisplaySnapshot', 'DisplaySnapshot', 'Revoked'],
  ]);
});

test('two processes that hear thousands of displays at one time write all of them down', async () => {
  const { tenant, context } = service;
  await sql`
    with made as (
      insert into person (mandator_id, name, email, time_zone, role)
      select ${tenant.mandatorId}, 'Mass', 'mass-' || n || '@displays.invalid', 'UTC', 'Display' from generate_series(1, 2000) as n
      returning id
    )
    insert into display (mandator_id, person_id, created_by, privacy, token_hash, expires_at)
    select ${tenant.mandatorId}, id, ${tenant.person('Admin').id}, 'Title', id::text::bytea, now() + interval '1 day' from made`.execute(
    context.db,
  );
  const { rows } = await sql<{
    id: number;
  }>`select id from display where person_id in (select id from person where name = 'Mass')`.execute(context.db);
  const other = await openContext(testConfig(service.databaseUrl), openLog('silent'));
  const viewer = await viewerOfDisplay(openIdentity(context), device.token, '');
  const hearAll = async (by: typeof context, ids: number[]) => {
    for (const displayId of ids) hear(by, { ...viewer, display: { ...viewer.display!, displayId } });
    await flushHeard(by);
  };
  const ids = rows.map(({ id }) => id);
  await Promise.all([hearAll(context, ids), hearAll(other, ids.toReversed())]);
  await other.close();
  const unheard = openDatabase(service.databaseUrl, {
    max: 1,
    log: openLog('silent'),
    statementTimeout: 5_000,
  });
  const left = await sql<{ n: number }>`
    select count(*)::int as n from display where heard_at is null and id = any (${ids}::integer[])`.execute(unheard);
  await unheard.destroy();
  expect([ids.length >= 2_000, left.rows[0]!.n]).toEqual([true, 0]);
});
