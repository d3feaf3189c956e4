import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import type { KyselyPlugin } from 'kysely';
import type { Context } from '../../src/context.ts';
import { NotAuthenticated } from '../../src/errors.ts';
import { openKeys } from '../../src/identity/tokens.ts';
import { releaseClock, setClock } from '../_util/clock.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { type IdentityServer, startIdentity } from './_util/identity.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let server: IdentityServer;
let context: Context;

beforeAll(async () => {
  database = await cloneDatabase();
  server = await startIdentity(database.url);
  ({ context } = server);
});

afterAll(async () => {
  await server.stop();
  await database.drop();
});

beforeEach(() => context.db.deleteFrom('signing_key').execute());
afterEach(releaseClock);

const holder = { personId: 7, mandator: 'school', pinId: 8, clientId: 'timetable-import' };
const kidOf = (token: string) => decodeProtectedHeader(token)['kid'];
const minute = 60_000;
const day = 24 * 60 * minute;

/** Another process on the same database. */
const openProcess = (withPepper = pepper) => openKeys(context, withPepper);

/** A process on the same database, and the times of its queries. */
function openCounted() {
  const reads: number[] = [];
  const counter: KyselyPlugin = {
    transformQuery({ node }) {
      reads.push(performance.now());
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return { keys: openKeys({ ...context, db: context.db.withPlugin(counter) }, pepper), reads };
}

test('the public keys, which anybody may ask for, are read once for all who wait', async () => {
  const { keys, reads } = openCounted();
  await keys.sign(holder);
  reads.length = 0;
  const answers = await Promise.all(Array.from({ length: 100 }, () => keys.publicKeys()));
  expect(reads).toHaveLength(1);
  expect(answers.every((known) => known.length === 1)).toBe(true);
});

test('processes that make the first key at once agree on one', async () => {
  const processes = Array.from({ length: 4 }, () => openProcess());
  const tokens = await Promise.all(processes.flatMap((keys) => [keys.sign(holder), keys.sign(holder)]));
  expect(new Set(tokens.map(kidOf)).size).toBe(1);
  expect(await context.db.selectFrom('signing_key').selectAll().execute()).toHaveLength(1);
  for (const keys of processes)
    expect(await keys.verify(tokens[0]!)).toMatchObject({ sub: 7, tenant: 'school', pin: 8 });
});

test('a key signs for 90 days; then a new one does, and the old tokens stay valid until they expire', async () => {
  const start = Date.now();
  const [signing, verifying] = [openProcess(), openProcess()];
  setClock(start);
  const first = await signing.sign(holder);
  expect(await verifying.verify(first)).toMatchObject({ pin: 8 });
  setClock(start + 90 * day - minute);
  const old = await signing.sign(holder);
  expect(kidOf(old)).toBe(kidOf(first));

  setClock(start + 90 * day);
  const young = await signing.sign(holder);
  expect(kidOf(young)).not.toBe(kidOf(old));
  setClock(start + 90 * day + 58 * minute);
  for (const keys of [signing, verifying, openProcess()])
    for (const token of [old, young]) expect(await keys.verify(token)).toMatchObject({ pin: 8 });
  expect((await openProcess().publicKeys()).map(({ kid }) => kid)).toEqual([kidOf(young), kidOf(old)]);

  setClock(start + 90 * day + 121 * minute);
  expect((await openProcess().publicKeys()).map(({ kid }) => kid)).toEqual([kidOf(young)]);
});

test('the next key but one removes the row of the first', async () => {
  const start = Date.now();
  const keys = openProcess();
  const kids: unknown[] = [];
  for (const age of [0, 90, 180]) {
    setClock(start + age * day + age * minute);
    kids.push(kidOf(await keys.sign(holder)));
  }
  const rows = await context.db.selectFrom('signing_key').select('kid').orderBy('created_at').execute();
  expect(rows.map(({ kid }) => kid)).toEqual(kids.slice(1));
});

describe('a token with an unknown kid', () => {
  test('is looked for among the keys that another process has made since', async () => {
    const [late, early] = [openProcess(), openProcess()];
    await early.publicKeys();
    await context.db.deleteFrom('signing_key').execute();
    const token = await late.sign(holder);
    expect(await early.verify(token)).toMatchObject({ pin: 8 });
  });

  test('costs four reads a second, however many there are', async () => {
    const { keys, reads } = openCounted();
    const [, payload, signature] = (await openProcess().sign(holder)).split('.');
    const flood = () =>
      Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const header = JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid: `made-up ${index}` });
          const token = `${Buffer.from(header).toString('base64url')}.${payload}.${signature}`;
          return expect(keys.verify(token)).rejects.toThrow(NotAuthenticated);
        }),
      );
    const begin = performance.now();
    await flood();
    expect(reads).toHaveLength(1);
    await flood();
    const [, second = 0, ...more] = reads;
    expect(second - begin).toBeGreaterThan(200);
    expect(more).toEqual([]);
  });
});

test('the private key is useless without the pepper', async () => {
  await openProcess().sign(holder);
  const { private_key } = await context.db.selectFrom('signing_key').select('private_key').executeTakeFirstOrThrow();
  expect(private_key.includes('RSA')).toBe(false);
  // Object identifier of RSA keys, as every PKCS #8 key has it.
  expect(private_key.includes(Buffer.from('2a864886f70d010101', 'hex'))).toBe(false);
  await expect(openProcess('another pepper of at least 32 characters').sign(holder)).rejects.toThrow(
    'was encrypted with another Pepper',
  );
});
