/** Sessions and connections that die without notice: how PostgreSQL and we detect them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { type Patience, watchAnswers } from '../../src/db/answers.ts';
import { type Database, openDatabase, poolOf, setUpSession } from '../../src/db/database.ts';
import { openNotifications } from '../../src/db/notifications.ts';
import { isOutage } from '../../src/flow/database-errors.ts';
import { type Log, openLog } from '../../src/log.ts';
import { layCable } from '../_util/cable.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { until } from '../_util/process.ts';

const log = openLog('silent');
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let outside: Database;

beforeAll(async () => {
  database = await cloneDatabase();
  outside = openDatabase(database.url, { max: 3, log, statementTimeout: 0 });
});
afterAll(async () => {
  await releaseAll();
  await outside.destroy();
  await database.drop();
});

const one = (db: Database) => sql<{ one: number }>`select 1 as one`.execute(db);
const outageOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: Error) => (isOutage(error) ? 'outage' : `${error.name}: ${error.message}`),
  );

const gone = (pid: number) =>
  until('the session has ended', async () => {
    const { rows } = await sql`select from pg_stat_activity where pid = ${pid}`.execute(outside);
    return rows.length === 0;
  });

async function withDatabase<T>(
  url: string,
  options: { max?: number; statementTimeout?: number; settings?: Record<string, number>; patience?: Patience },
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const db = openDatabase(url, { max: 1, log, statementTimeout: 0, ...options });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

describe('a session', () => {
  test('that asks nothing for 30 s, or whose host is gone for 25 s, is ended by PostgreSQL', async () => {
    const names = [
      'client_connection_check_interval',
      'idle_in_transaction_session_timeout',
      'idle_session_timeout',
      'lock_timeout',
      'statement_timeout',
      'tcp_keepalives_count',
      'tcp_keepalives_idle',
      'tcp_keepalives_interval',
      'tcp_user_timeout',
    ];
    const set = await withDatabase(database.url, { statementTimeout: 15_000 }, (db) =>
      sql<{ name: string; value: string }>`
        select name, current_setting(name) as value from unnest(${names}::text[]) as name`.execute(db),
    );
    expect(Object.fromEntries(set.rows.map(({ name, value }) => [name, value]))).toEqual({
      client_connection_check_interval: '2s',
      idle_in_transaction_session_timeout: '30s',
      idle_session_timeout: '30s',
      lock_timeout: '10s',
      statement_timeout: '15s',
      tcp_keepalives_count: '3',
      tcp_keepalives_idle: '10',
      tcp_keepalives_interval: '5',
      tcp_user_timeout: '25000',
    });
  });

  test('that is ended in a transaction has written nothing, and its next statement tells an outage', async () => {
    const settings = { idle_in_transaction_session_timeout: 100 };
    await sql`create table written (n int)`.execute(outside);
    await withDatabase(database.url, { settings }, async (db) => {
      const late = db.transaction().execute(async (trx) => {
        const { rows } = await sql<{
          pid: number;
        }>`insert into written values (1) returning pg_backend_pid() as pid`.execute(trx);
        await gone(rows[0]!.pid);
        await sql`insert into written values (2)`.execute(trx);
      });
      expect(await outageOf(late)).toBe('outage');
      expect(await outageOf(one(db))).toBe('none');
    });
    expect((await sql`select from written`.execute(outside)).rows).toEqual([]);
  });
});

/** What a pool through `url` throws, of whatever kind. */
const thrownBy = (url: string, work: (db: Database) => Promise<unknown>, settings = {}) =>
  withDatabase(url, { settings }, (db) => outageOf(work(db)));

async function listen(answer: (socket: net.Socket) => void) {
  const server = net.createServer((socket) => answer(socket.on('error', () => {}).resume()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://nobody@127.0.0.1:${port}/none`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

// They wait, each on connections of its own: together they take as long as the longest.

const stranded = 'a connection on which nothing comes back any more';
/** A tenth of the usual, and less. */
const soon = { lookAfter: 300, lookAgain: 100, lookAtWorkAgain: 500 };

test.concurrent(`${stranded} is thrown away once PostgreSQL has cancelled what it was asked, also after a rest`, async () => {
  const cable = await layCable(database.url);
  await withDatabase(cable.url, { statementTimeout: 500 }, async (db) => {
    await one(db);
    // It has been idle for longer than an answer may take.
    const client = await poolOf(db).connect();
    await once(client.connection.stream, 'timeout');
    client.release();
    cable.strand();
    expect(await outageOf(one(db))).toBe('outage');
    expect(await outageOf(one(db))).toBe('none');
  });
  await cable.close();
});

test.concurrent(`${stranded} is thrown away once its backend is seen idle; one that works, or waits for a lock, is left alone`, async () => {
  const cable = await layCable(database.url);
  const release = await hold(outside, (trx) => sql`select pg_advisory_xact_lock(1)`.execute(trx));
  await withDatabase(database.url, { max: 2, patience: soon }, async (db) => {
    const working = outageOf(sql`select pg_sleep(3)`.execute(db));
    const waiting = outageOf(sql`select pg_advisory_xact_lock(1)`.execute(db));
    await withDatabase(cable.url, { patience: soon }, async (silent) => {
      await one(silent);
      cable.strand();
      expect(await outageOf(one(silent))).toBe('outage');
      expect(await outageOf(one(silent))).toBe('none');
    });
    expect(await working).toBe('none');
    await release();
    expect(await waiting).toBe('none');
  });
  await cable.close();
});

/** Two connections whose server is looked for at `url`. */
async function watchTwo(url: string): Promise<[pg.Client, pg.Client]> {
  async function watch(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url });
    client.on('error', () => {});
    await client.connect();
    const backend = await setUpSession(client);
    const patience = { ...soon, lookTimeout: 2_500, mostUnknown: 5_000 };
    watchAnswers(client, { url, backend, answerTimeout: 0, patience });
    return client;
  }
  return [await watch(), await watch()];
}

test.concurrent(`${stranded} is left alone while it cannot be looked for but others hear, and thrown away when they are silent, too`, async () => {
  // As a pooler whose places are all taken.
  const full = net.createServer((socket) => socket.on('error', () => {}).resume());
  await once(full.listen(0, '127.0.0.1'), 'listening');
  const url = `postgres://nobody@127.0.0.1:${(full.address() as AddressInfo).port}/none`;
  const clients = await watchTwo(url);
  const [long, other] = clients;
  const working = outageOf(long.query('select pg_sleep(9)'));
  let isOver = false;
  void working.then(() => {
    isOver = true;
  });
  while (!isOver) await other.query('select pg_sleep(0.2)');
  expect(await working).toBe('none');
  expect(await outageOf(long.query('select pg_sleep(60)'))).toBe('outage');
  await Promise.all(clients.map((client) => client.end()));
  full.close();
});

test.concurrent(`${stranded} is thrown away when the host takes no connection any more, though others hear`, async () => {
  // A backlog that nobody accepts from: whoever comes when it is full waits for ever.
  const stuck = spawn(process.execPath, [
    '--eval',
    `const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`,
  ]);
  const port = Number(String(await once(stuck.stdout, 'data')));
  const fillers = Array.from({ length: 8 }, () => net.connect(port, '127.0.0.1').on('error', () => {}));
  await once(fillers[0]!, 'connect');
  const url = `postgres://nobody@127.0.0.1:${port}/none`;
  const clients = await watchTwo(url);
  const [silent, other] = clients;
  let isOver = false;
  const asked = outageOf(silent.query('select pg_sleep(25)')).finally(() => {
    isOver = true;
  });
  while (!isOver) await other.query('select pg_sleep(0.2)');
  expect(await asked).toBe('outage');
  await Promise.all(clients.map((client) => client.end()));
  for (const filler of fillers) filler.destroy();
  stuck.kill('SIGKILL');
});

test.concurrent(`${stranded} is looked for over one connection, however many are silent; one that is dead itself is replaced`, async () => {
  const [cable, looks] = [await layCable(database.url), await layCable(database.url)];
  async function open(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    const backend = await setUpSession(client);
    watchAnswers(client, { url: looks.url, backend, answerTimeout: 0, patience: soon });
    return client;
  }
  const healthy = await open(database.url);
  /** What becomes of statements of so many connections whose answers never come. */
  async function silence(count: number): Promise<string[]> {
    const clients = await Promise.all(Array.from({ length: count }, () => open(cable.url)));
    cable.strand();
    return await Promise.all(clients.map((client) => outageOf(client.query('select 1'))));
  }
  expect(await silence(6)).toEqual(Array(6).fill('outage'));
  expect(looks.opened()).toBe(1);
  looks.strand();
  expect(await silence(1)).toEqual(['outage']);
  expect(looks.opened()).toBe(2);
  await healthy.end();
  await cable.close();
  await looks.close();
});

test.concurrent('the connection that looks ends with the last that is watched, so that the database is no longer in use', async () => {
  const looks = await layCable(database.url);
  const client = new pg.Client(database.url);
  client.on('error', () => {});
  await client.connect();
  const patience = { ...soon, lookerKept: 600_000 };
  watchAnswers(client, { url: looks.url, backend: await setUpSession(client), answerTimeout: 0, patience });
  const working = client.query('select pg_sleep(60)').catch(() => {});
  await until('it is looked for', () => looks.opened() === 1);
  expect(looks.isIdle()).toBe(false);
  client.connection.stream.destroy();
  await working;
  await until('the looking connection has ended', looks.isIdle);
  await looks.close();
});

test.concurrent(`${stranded} tells that LISTEN does not hear, and is replaced by one that does, as the log says`, async () => {
  const cable = await layCable(database.url);
  const said: string[] = [];
  const told = { warn: (_why: object, text: string) => said.push(text), info: (text: string) => said.push(text) };
  const notifications = openNotifications(cable.url, told as unknown as Log);
  await until('all is heard', () => notifications.hears());
  said.length = 0;
  cable.strand();
  await until('nothing is heard', async () => !(await notifications.hears()));
  await until('all is heard again', () => notifications.hears());
  expect([said[0], said.at(-1)]).toEqual(['LISTEN connection failed', 'LISTEN connection is back']);
  await notifications.close();
  await cable.close();
});

test.concurrent.each([
  ['closes', (socket: net.Socket) => void socket.destroy()],
  ['resets', (socket: net.Socket) => void socket.resetAndDestroy()],
  ['says nothing', () => {}],
])('an outage is recognized where the server %s at once', async (_what, answer) => {
  const server = await listen(answer);
  expect(await thrownBy(server.url, one)).toBe('outage');
  await server.close();
});

test.concurrent('an outage is recognized where a pool is busy, or closed', async () => {
  await withDatabase(database.url, {}, (db) =>
    db.connection().execute(async () => expect(await outageOf(one(db))).toBe('outage')),
  );
  const closed = openDatabase(database.url, { max: 1, log, statementTimeout: 0 });
  await closed.destroy();
  expect(await outageOf(one(closed))).toBe('outage');
});

describe('an outage is recognized by each of its errors', () => {
  const terminate = (pid: number) => sql`select pg_terminate_backend(${pid}, 5000)`.execute(outside);
  const pidOf = async (db: Database) =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]!.pid;

  test('nobody listens; the socket is not there; the name is unknown', async () => {
    const closed = await listen(() => {});
    await closed.close();
    for (const url of [
      closed.url,
      'postgres://nobody@%2Fnowhere%2Fat%2Fall/none',
      'postgres://nobody@nowhere.invalid/none',
    ])
      expect(await thrownBy(url, one)).toBe('outage');
  });

  test.each<{ what: string; work(db: Database): Promise<unknown>; settings?: Record<string, number> }>([
    {
      what: 'is ended while it works',
      work: (db) => sql`select pg_terminate_backend(pg_backend_pid()), pg_sleep(60)`.execute(db),
    },
    {
      what: 'is ended in a transaction',
      work: (db) =>
        db.transaction().execute(async (trx) => {
          await terminate(await pidOf(trx));
          await one(trx);
        }),
    },
    {
      what: 'has been ended, and is used again',
      work: (db) =>
        db.connection().execute(async (session) => {
          await terminate(await pidOf(session));
          // What Kysely says the second time is its own.
          for (const _ of [1, 2])
            await session
              .transaction()
              .execute(one)
              .catch(() => {});
          await session.transaction().execute(one);
        }),
    },
    {
      what: 'has idled',
      work: (db) =>
        db.connection().execute(async (session) => {
          await gone(await pidOf(session));
          await one(session);
        }),
      settings: { idle_session_timeout: 50 },
    },
    {
      what: 'takes too long',
      work: (db) => sql`select pg_sleep(60)`.execute(db),
      settings: { statement_timeout: 50 },
    },
  ])('a session $what', async ({ work, settings }) => {
    expect(await thrownBy(database.url, work, settings)).toBe('outage');
  });

  test('a lock is not to be had; nothing may be written', async () => {
    const release = await hold(outside, (trx) => sql`lock table mandator`.execute(trx));
    expect(await thrownBy(database.url, (db) => sql`select from mandator`.execute(db), { lock_timeout: 50 })).toBe(
      'outage',
    );
    await release();
    const readOnly = (db: Database) =>
      db
        .transaction()
        .setAccessMode('read only')
        .execute((trx) => sql`delete from mandator`.execute(trx));
    expect(await thrownBy(database.url, readOnly)).toBe('outage');
  });

  test('nothing else is one', async () => {
    for (const wrong of ['select 1 / 0', 'selec', "select 'x'::int", 'select from nowhere'])
      expect(await thrownBy(database.url, (db) => sql.raw(wrong).execute(db))).not.toBe('outage');
    expect(isOutage(new TypeError('fetch failed'))).toBe(false);
  });
});
