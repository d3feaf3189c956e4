/** Reads while nothing can be written, or rows are locked: the use of a credential cannot be recorded then, nor a wrong PIN. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { freezeTenant, thawTenant } from '../../src/cells/service.ts';
import { createPin, revokePin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { startServer } from '../../src/server.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { pepper } from '../_util/pepper.ts';
import { longWindow, type Service, startService, testConfig } from '../_util/service.ts';

const settings = { Role: 'Web', LegacyApiKeyEnabled: 'true', TrustProxy: '1', Limits__WrongPins: '3' };
const json = { 'content-type': 'application/json' };

let service: Service;
let lines: string[];

beforeAll(async () => {
  service = await startService(settings);
});
afterAll(async () => {
  await releaseAll();
  await service.stop();
});

const newPin = () =>
  createPin(service.context.db, pepper, {
    mandatorId: service.tenant.mandatorId,
    personId: service.tenant.person('User').id,
  });

/** Another process on the same database, with `options` for its sessions. */
async function startBeside(options?: string) {
  const url = new URL(service.databaseUrl);
  if (options) url.searchParams.set('options', options);
  const config = testConfig(url.href, { ...settings, DatabaseUrl: url.href });
  lines = [];
  const log = openLog('warn', { write: (line) => void lines.push(line) });
  const server = await startServer(config, log, { rateWindow: longWindow });
  await server.ready;
  return { url: server.context.config.BaseUrl, stop: server.stop };
}

/** Asks for a token with a PIN, from an address of its own unless one is given. */
let addresses = 0;
const exchange = (url: string, pin: string, address = `198.51.100.${++addresses}`) =>
  fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address },
    body: new URLSearchParams({
      grant_type: 'apikey',
      scope: 'service_api',
      client_id: 'timetable-import',
      apikey: pin,
    }),
  });

/** Credentials of each kind that have not been used for long. */
async function makeCredentials() {
  const { context, tenant, url } = service;
  const { db } = context;
  const { pin } = await newPin();
  const token = await service.signIn();
  const [room] = tenant.resources;
  const created = await fetch(`${url}/school/api/v1.0/resources/${room!.id}/calendar-tokens`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${token}` },
    body: '{}',
  });
  const { Url } = (await created.json()) as { Url: string };
  const signedIn = await fetch(`${url}/school/session`, {
    method: 'POST',
    headers: { ...json, 'x-roomgate-console': '1' },
    body: JSON.stringify({ Pin: pin }),
  });
  const cookie = signedIn.headers.get('set-cookie')!.split(';', 1)[0]!;
  const aWhileAgo = new Date(Date.now() - 5 * 60_000);
  await db.updateTable('session').set({ used_at: aWhileAgo }).execute();
  await db.updateTable('pin').set({ last_used_at: aWhileAgo }).execute();
  return { pin, feed: new URL(Url).pathname + new URL(Url).search, session: { cookie, 'x-roomgate-console': '1' } };
}

/** The statuses of reads with each kind of credential. */
async function readAll(url: string, { pin, feed, session }: Awaited<ReturnType<typeof makeCredentials>>) {
  const resources = `${url}/school/api/v1.0/resources`;
  const token = await exchange(url, pin);
  const { access_token } = (await token.json()) as { access_token?: string };
  const graphql = { method: 'POST', headers: { ...json, ...session }, body: '{"query":"{ me { email } }"}' };
  const answers = {
    'a token for a PIN': token,
    'a call with the token': await fetch(resources, { headers: { authorization: `Bearer ${access_token}` } }),
    'a PIN in APIKEY': await fetch(resources, { headers: { apikey: pin } }),
    'a calendar feed': await fetch(url + feed),
    'REST with a session': await fetch(resources, { headers: session }),
    'who is signed in': await fetch(`${url}/school/session`, { headers: session }),
    'GraphQL with a session': await fetch(`${url}/school/graphql`, graphql),
  };
  return Object.fromEntries(Object.entries(answers).map(([name, { status }]) => [name, status]));
}

const allAnswered = {
  'a token for a PIN': 200,
  'a call with the token': 200,
  'a PIN in APIKEY': 200,
  'a calendar feed': 200,
  'REST with a session': 200,
  'who is signed in': 200,
  'GraphQL with a session': 200,
};

test('every credential reads while the tenant is frozen', async () => {
  const credentials = await makeCredentials();
  const { db } = service.context;
  await freezeTenant(db, 'school', 600);
  try {
    expect(await readAll(service.url, credentials)).toEqual(allAnswered);
  } finally {
    await thawTenant(db, 'school');
  }
});

test('no credential waits while its row is locked, as an erasure does: the use is recorded next time', async () => {
  const credentials = await makeCredentials();
  const { db } = service.context;
  const uses = async () => {
    const { rows } = await sql<{ newest: Date | null }>`
      select max(last_used_at) as newest from pin
      union all select max(last_used_at) from calendar_token
      union all select max(used_at) from session`.execute(db);
    return rows.map(({ newest }) => newest);
  };
  const before = await uses();
  const release = await hold(db, async (trx) => {
    for (const table of ['pin', 'calendar_token', 'session'])
      await sql`select from ${sql.table(table)} for no key update`.execute(trx);
  });
  const beside = await startBeside();
  try {
    expect(await readAll(beside.url, credentials)).toEqual(allAnswered);
    // A use that waits is given up after a while, with a warning.
    expect(lines.join('\n')).not.toContain('could not be recorded');
    expect(await uses()).toEqual(before);
    await release();
    expect(await readAll(service.url, credentials)).toEqual(allAnswered);
    for (const [at, newest] of (await uses()).entries()) expect(newest).not.toEqual(before[at]);
  } finally {
    await beside.stop();
  }
});

describe('while the database is read-only', () => {
  let beside: Awaited<ReturnType<typeof startBeside>>;

  beforeAll(async () => {
    beside = await startBeside('-c default_transaction_read_only=on');
  });
  afterAll(() => beside?.stop());

  test('every credential reads, and the log says that its use could not be recorded', async () => {
    expect(await readAll(beside.url, await makeCredentials())).toEqual(allAnswered);
    expect(lines.join('\n')).toContain('the use of a credential could not be recorded');
  });

  test('a wrong PIN is refused as always, and counted: past the limit a right one is not checked', async () => {
    const { pin } = await newPin();
    const from = '203.0.113.1';
    for (let guess = 0; guess < 3; guess++) {
      const answer = await exchange(beside.url, `GUESS-${guess}`, from);
      expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ error: 'invalid_grant' })]);
    }
    const answer = await exchange(beside.url, pin, from);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(14 * 60);
    expect((await exchange(beside.url, pin, '203.0.113.2')).status).toBe(200);
  });

  test('wrong PINs count together with those that the database has taken before', async () => {
    const { pin } = await newPin();
    const from = '203.0.113.3';
    for (const url of [service.url, service.url, beside.url]) await exchange(url, 'GUESS', from);
    expect((await exchange(beside.url, pin, from)).status).toBe(429);
  });

  test('wrong PINs that come at once are counted one by one', async () => {
    const { pin } = await newPin();
    const from = '203.0.113.4';
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, guess) => exchange(beside.url, `G-${guess}`, from)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([400, 400, 400, 429, 429, 429]);
    expect((await exchange(beside.url, pin, from)).status).toBe(429);
  });

  test('a long PIN that nobody has counts, a revoked one does not', async () => {
    const { pin } = await newPin();
    const revoked = await newPin();
    await revokePin(service.context.db, service.tenant.mandatorId, revoked.pinId);
    for (let times = 0; times < 4; times++) await exchange(beside.url, revoked.pin, '203.0.113.5');
    expect((await exchange(beside.url, pin, '203.0.113.5')).status).toBe(200);
    for (let times = 0; times < 3; times++) await exchange(beside.url, 'A'.repeat(20), '203.0.113.6');
    expect((await exchange(beside.url, pin, '203.0.113.6')).status).toBe(429);
  });
});
