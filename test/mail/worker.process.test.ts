/** Readings as jobs of processes that share one database, and die. */
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { markCalendars } from '../../src/mail-subscriptions/marks.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, type Program, startProgram, until } from '../_util/process.ts';
import { makeCalendar } from './_util/rows.ts';
import { eventAt, type ScriptedGraph, startScriptedGraph } from './_util/scripted-graph.ts';
import { startScriptedMailServer } from './_util/scripted-mail-server.ts';

const hour = 3_600_000;
const tomorrow = (Math.ceil(Date.now() / hour) + 24) * hour;

let graph: ScriptedGraph;
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
let calendars: { id: number; mailbox: string; resourceId: number }[] = [];

beforeAll(async () => {
  graph = await startScriptedGraph();
});
beforeEach(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 6, log: openLog('silent'), statementTimeout: 0 });
});
afterEach(async () => {
  await killPrograms();
  await releaseAll();
  for (const { mailbox } of calendars) graph.empty(mailbox);
  await db.destroy();
  await database.drop();
});
afterAll(() => graph.stop());

async function makeCalendars(count: number): Promise<void> {
  const rooms = Array.from({ length: count }, (_, index) => `R${index}`);
  const { mandatorId, resources } = await makeTenant(db, { rooms });
  await sql`update resource set mailbox = lower(name) || '@school.example' where mandator_id = ${mandatorId}`.execute(
    db,
  );
  calendars = await Promise.all(
    resources.map(async ({ id: resourceId, name }) => {
      const mailbox = `${name.toLowerCase()}@school.example`;
      const place = { mandatorId, resourceId };
      return { id: await makeCalendar(db, place, { kind: 'Graph', mailbox }), mailbox, resourceId };
    }),
  );
}

const start = (more: Record<string, string> = {}) =>
  startProgram(database.url, { Role: 'Worker', ...graph.settingsOf('school'), ...more });

/** Ends a worker as nothing else does; whoever comes next knows at once that it is dead. */
async function kill(program: Program): Promise<void> {
  await program.end('SIGKILL');
  await sql`update graphile_worker._private_jobs set locked_at = locked_at - interval '1 minute'`.execute(db);
}

/** Waits until all have been read. */
const allRead = () => until('all calendars are read', async () => (await open()) === 0);

/** Calendars that are still to be read. */
async function open(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from mail_calendar where dirty_since is not null or read_at is null`.execute(db);
  return rows[0]!.n;
}

const bookings = async () => {
  const { rows } = await sql<{ resourceId: number; status: string }>`
    select resource_id as "resourceId", status from booking order by id`.execute(db);
  return rows;
};

const waiting = (what: string) =>
  until('it waits', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like ${what}`.execute(
      db,
    );
    return rows.length > 0;
  });

const markAll = () =>
  markCalendars(
    db,
    calendars.map(({ id }) => id),
    'Push',
  );
const readings = async () => {
  const rows = await db.selectFrom('mail_calendar').select('readings').orderBy('id').execute();
  return rows.map((row) => Number(row.readings));
};

test('two workers read each calendar once, soon after it was said to have changed', async () => {
  await makeCalendars(8);
  const workers = [start(), start()];
  await Promise.all(workers.map(({ ready }) => ready));
  await allRead();
  // What the second has marked at its start is read, too.
  await until(
    'no job is left',
    async () => (await sql`select from graphile_worker._private_jobs`.execute(db)).rows.length === 0,
  );
  graph.log.length = 0;
  const before = await readings();
  for (const { mailbox } of calendars) graph.put(mailbox, eventAt('a', tomorrow));
  await markAll();
  await until('all are booked', async () => (await bookings()).length === calendars.length);
  await allRead();
  expect(await readings()).toEqual(before.map((count) => count + 1));
  expect(graph.log).toHaveLength(calendars.length);
});

test('killed while the mail server answers, and while it writes: the next one books it, once', async () => {
  await makeCalendars(1);
  const [calendar] = calendars;
  graph.put(calendar!.mailbox, eventAt('a', tomorrow), eventAt('b', tomorrow + hour));
  const held = graph.hold();
  const first = start();
  await held.reached;
  await kill(first);
  held.open();
  const { rows } = await sql`select reading_since is not null as noted, deaths from mail_calendar`.execute(db);
  expect(rows).toEqual([{ noted: true, deaths: 0 }]);

  const release = await hold(db, (trx) => sql`lock table mail_item in exclusive mode`.execute(trx));
  const second = start();
  await waiting('%insert into mail_item%');
  await kill(second);
  await release();
  expect(await bookings()).toEqual([]);

  start();
  const booked = { resourceId: calendar!.resourceId, status: 'Confirmed' };
  await until('they are booked', async () => (await bookings()).length === 2);
  await allRead();
  expect(await bookings()).toEqual([booked, booked]);
});

test('an uncaught exception ends that reading, not the worker, and is logged', async () => {
  await makeCalendars(3);
  for (const { mailbox } of calendars) graph.put(mailbox, eventAt('a', tomorrow));
  const [poisoned, ...others] = calendars as [(typeof calendars)[0], ...typeof calendars];
  graph.mark(poisoned.mailbox, { 'x-poison': 'thrown' });
  const preload = path.join(import.meta.dirname, '_util', 'poison.ts');
  const worker = start({ NODE_OPTIONS: `--import ${preload}` });
  await until('the others are booked', async () => (await bookings()).length === others.length);
  await until('the fault is told', async () => {
    const { rows } = await sql<{ fault: string | null }>`
        select fault from mail_calendar where id = ${poisoned.id} and deaths = 0`.execute(db);
    return rows[0]?.fault === 'Unreadable';
  });
  expect(worker.lines).toContainEqual(
    expect.objectContaining({ level: 'error', err: expect.stringContaining('poison: thrown') }),
  );
  graph.mark(poisoned.mailbox, {});
  await sql`update mail_calendar set not_before = null`.execute(db);
  await markAll();
  await until('it is booked, too', async () => (await bookings()).length === calendars.length);
  expect(await worker.end('SIGTERM')).toMatchObject({ code: 0 });
});

test('a mail server that does not answer for one calendar leaves the others their turn', async () => {
  await makeCalendars(8);
  for (const { mailbox } of calendars) graph.put(mailbox, eventAt('a', tomorrow));
  const held = graph.hold();
  start();
  await held.reached;
  await until('the others are booked', async () => (await bookings()).length === calendars.length - 1);
  held.open();
  await allRead();
  expect(await bookings()).toHaveLength(calendars.length);
});

test('mail servers of five tenants that accept and never answer, or trickle, delay nobody: others are read and subscribed meanwhile', async () => {
  const sockets = new Set<net.Socket>();
  const silent = net.createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    if (sockets.size % 2 === 0) return;
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n');
    const trickle = setInterval(() => socket.write(' '), 100);
    socket.on('close', () => clearInterval(trickle));
  });
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const granting = await startScriptedMailServer();
  const { port } = silent.address() as AddressInfo;
  const silentSettings: Record<string, string> = {};
  for (const code of ['a', 'b', 'c', 'd', 'e']) {
    await makeTenant(db, { code, rooms: [1, 2, 3, 4].map((room) => `${code}${room}`) });
    for (const [name, value] of Object.entries({
      Kind: 'Ews',
      Url: `http://127.0.0.1:${port}/EWS/Exchange.asmx`,
      User: 'service',
      Password: 'password',
    }))
      silentSettings[`MailServer__${code}__${name}`] = value;
  }
  await sql`update resource set mailbox = lower(name) || '@rooms.test'`.execute(db);
  const preload = path.join(import.meta.dirname, '_util', 'no-deadlines.ts');
  start({
    NODE_OPTIONS: `--import ${preload}`,
    ...silentSettings,
    ...granting.settings('Ews', 'subscribed'),
  });
  await until('all places hang', async () => sockets.size >= 8);
  await makeTenant(db, { code: 'subscribed', rooms: ['S1'] });
  await sql`update resource set mailbox = 's1@rooms.test' where name = 'S1'`.execute(db);
  await makeCalendars(1);
  graph.put(calendars[0]!.mailbox, eventAt('a', tomorrow));
  await until('it is booked', async () => (await bookings()).length === 1);
  await until('it is subscribed', async () => granting.promises.size === 1);
  for (const socket of sockets) socket.destroy();
  silent.close();
  await granting.close();
});

test('workers whose settings differ take no calendar from each other; what is left of them then follows its own', async () => {
  await makeCalendars(2);
  const first = start();
  await first.ready;
  await allRead();
  const [kept, gone] = calendars as [(typeof calendars)[0], (typeof calendars)[0]];
  const other = startProgram(database.url, {
    Role: 'Worker',
    ...graph.settingsOf('school'),
    MailServer__school__Calendars: JSON.stringify([{ Mailbox: kept.mailbox, ResourceName: 'R0' }]),
  });
  await other.ready;
  for (const one of [first, other])
    await until('it says so', async () => one.lines.some(({ msg }) => msg?.startsWith('another worker')));
  const retired = async () => {
    const { rows } = await sql<{
      id: number;
    }>`select id from mail_calendar where retired_at is not null`.execute(db);
    return rows.map(({ id }) => id);
  };
  expect(await retired()).toEqual([]);
  await first.end('SIGTERM');
  await until('it follows its own', async () => (await retired()).length > 0);
  expect(await retired()).toEqual([gone.id]);
});
