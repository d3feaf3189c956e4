/** The sweeps of a worker: one statement asks which have work, and none of them stops another. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RawBuilder, sql } from 'kysely';
import type { Config } from '../../src/config.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { everyTopic, openNotifications } from '../../src/db/notifications.ts';
import { openLog } from '../../src/log.ts';
import { fingerprintOf, holdFingerprint } from '../../src/worker/agreement.ts';
import { keepSweeping } from '../../src/worker/sweeping.ts';
import type { Sweep, SweepContext } from '../../src/worker/task.ts';
import { cloneDatabase } from '../_util/postgres.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 4, log: openLog('silent'), statementTimeout: 0 });
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

/** Sweeps until `last` has run three times. @returns how often each has run, and the lines of the log */
async function sweepUntil(last: string, sweeps: readonly Omit<Sweep, 'run'>[], run?: Sweep['run']) {
  const stopping = new AbortController();
  const runs = Object.fromEntries(sweeps.map(({ name }) => [name, 0]));
  const lines: { msg: string; sweep?: string }[] = [];
  const log = openLog('warn', { write: (line: string) => lines.push(JSON.parse(line)) });
  const context = { config: {}, log, db, work: db, signal: stopping.signal } as unknown as SweepContext;
  const counted = sweeps.map((sweep) => ({
    ...sweep,
    async run() {
      runs[sweep.name] = (runs[sweep.name] ?? 0) + 1;
      if (runs[last] === 3) stopping.abort();
      if (sweep.name !== last) await run?.(context);
    },
  }));
  await keepSweeping(counted, context, 1);
  return { runs, told: lines.map(({ msg, sweep }) => [msg, sweep]) };
}

const isDue = (condition: string) => (): RawBuilder<unknown> => sql.raw(condition);

test('a sweep runs while its condition holds, and in each round without one', async () => {
  const { runs } = await sweepUntil('always', [
    { name: 'never', isDue: isDue('1 = 2') },
    { name: 'unknown', isDue: isDue('null') },
    { name: 'now', isDue: isDue('1 = 1') },
    { name: 'rarely', every: 60_000 },
    { name: 'always' },
  ]);
  expect(runs).toEqual({ never: 0, unknown: 0, now: 3, rarely: 1, always: 3 });
});

test('the wrong condition of one leaves the others running, and the wrong one shows what it finds', async () => {
  const { runs, told } = await sweepUntil('always', [{ name: 'wrong', isDue: isDue('1 / 0 = 1') }, { name: 'always' }]);
  expect(runs).toEqual({ wrong: 3, always: 3 });
  expect(told).toEqual(Array.from({ length: 3 }, () => ['the query for due sweeps failed', undefined]));
});

test('one that fails is told and runs again', async () => {
  const { runs, told } = await sweepUntil('always', [{ name: 'failing' }, { name: 'always' }], async () => {
    throw new Error('it fails');
  });
  expect(runs).toEqual({ failing: 3, always: 3 });
  expect(told).toEqual(Array.from({ length: 3 }, () => ['sweep failed', 'failing']));
});

test('one that hangs runs once, and holds no other', async () => {
  const { runs } = await sweepUntil('always', [{ name: 'hanging' }, { name: 'always' }], async ({ signal }) => {
    await once(signal, 'abort');
  });
  expect(runs).toEqual({ hanging: 1, always: 3 });
});

test('those that are soon over run one after another', async () => {
  const steps: string[] = [];
  const stopping = new AbortController();
  const context = { config: {}, log: openLog('silent'), db, work: db, signal: stopping.signal };
  const sweeps = ['one', 'two', 'last'].map((name) => ({
    name,
    async run() {
      steps.push(`${name} begins`);
      if (name === 'last') stopping.abort();
      await undefined;
      steps.push(`${name} ends`);
    },
  }));
  await keepSweeping(sweeps, context as unknown as SweepContext, 1);
  expect(steps).toEqual(['one begins', 'one ends', 'two begins', 'two ends', 'last begins', 'last ends']);
});

test('what one worker does for all is begun by one of them in each interval, and again once it is over', async () => {
  const begun: string[] = [];
  const rounds = [0, 0, 0];
  const stopping = new AbortController();
  const context = { config: {}, log: openLog('silent'), db, work: db, signal: stopping.signal };
  const workers = rounds.map((_, worker) => {
    const sweeps: Sweep[] = [
      { name: 'alone', every: 3_600_000, isAlone: true, run: async () => void begun.push('alone') },
      { name: 'short', every: 20, isAlone: true, run: async () => void begun.push('short') },
      {
        name: 'always',
        async run() {
          rounds[worker]!++;
          const isDone = begun.filter((name) => name === 'short').length >= 3 && rounds.every((count) => count >= 3);
          if (isDone) stopping.abort();
        },
      },
    ];
    return keepSweeping(sweeps, context as unknown as SweepContext, 1);
  });
  await Promise.all(workers);
  expect(begun.filter((name) => name === 'alone')).toEqual(['alone']);
  const { rows } = await sql`
    select name, next_at > now() + interval '50 minutes' as "isLater" from sweep_run where name = 'alone'`.execute(db);
  expect(rows).toEqual([{ name: 'alone', isLater: true }]);
});

test('beside a worker of another release, which has further sweeps, those that follow the same settings run', async () => {
  const follower = { name: 'follower', follows: () => 'the same' };
  const run = async () => {};
  const { runs, told } = await db.connection().execute(async (session) => {
    const sweeps: Sweep[] = [
      { ...follower, run },
      { name: 'further', run },
    ];
    await holdFingerprint(session, fingerprintOf({} as Config, sweeps));
    const found = await sweepUntil('always', [follower, { name: 'always' }]);
    await sql`select pg_advisory_unlock_all()`.execute(session);
    return found;
  });
  expect(runs).toEqual({ follower: 3, always: 3 });
  expect(told).toEqual([]);
});

test('a notification is followed by a round of only the prompt sweeps, whose conditions are checked', async () => {
  const notifications = openNotifications(database.url, openLog('silent'));
  const stopping = new AbortController();
  const heard = await notifications.subscribe(everyTopic);
  while (!(await notifications.hears()));
  const runs: string[] = [];
  const sweep = (name: string, others: Partial<Sweep> = {}) => ({
    name,
    async run() {
      runs.push(name);
      // The first round is one of all sweeps.
      if (runs.length === 2) await sql`select pg_notify('roomgate', 'room:1:2')`.execute(db);
      if (runs.length > 2) stopping.abort();
    },
    ...others,
  });
  const sweeps = [
    sweep('usual'),
    sweep('prompt', { isPrompt: true }),
    sweep('not due', { isPrompt: true, isDue: isDue('1 = 2') }),
  ];
  const { signal } = stopping;
  const context = { config: {}, log: openLog('silent'), db, work: db, notifications, signal };
  await keepSweeping(sweeps, context as unknown as SweepContext, 3_600_000);
  expect(runs).toEqual(['usual', 'prompt', 'prompt']);
  // Pings are no news.
  const keys = new Set<string>();
  while (!keys.has('2')) for (const key of (await heard.next())?.keys ?? []) keys.add(key);
  expect([...keys]).toEqual(['2']);
  await notifications.close();
});
