/** Several processes behind one port: the setting `Processes`. */
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { makeJobs } from '../_util/lessons.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, type Program, startProgram, until, visit } from '../_util/process.ts';

const rooms = ['R1'];
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
let program: Program;
let url: string;
let tenant: Awaited<ReturnType<typeof makeTenant>>;
let client: Awaited<ReturnType<typeof visit>>;

const childrenOf = (pid: number) =>
  fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);

/** The letter by which the system tells what a process does. */
const stateOf = (pid: number) => fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.[0];

const readMetrics = async (of = url) => (await fetch(`${of}/metrics`)).text();
const bothAnswer = (of = url) =>
  until('both answer', async () => /^roomgate_processes 2$/m.test(await readMetrics(of)));

/** What comes back on a connection of its own. */
async function ask(request: string) {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  const connection = { socket, text: '', isClosed: false };
  socket.setEncoding('utf8').on('data', (text) => (connection.text += text));
  socket.on('error', () => {}).on('close', () => (connection.isClosed = true));
  socket.write(request);
  return connection;
}
const get = (path: string) => ask(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);

async function openStream() {
  const body = JSON.stringify({ query: 'subscription { batches { id } }' });
  const lines = [
    `POST /${tenant.code}/graphql HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${client.token}`,
    'Content-Type: application/json',
    'Accept: text/event-stream',
    `Content-Length: ${body.length}`,
  ];
  const stream = await ask(`${lines.join('\r\n')}\r\n\r\n${body}`);
  await until('the stream begins', () => stream.text.includes('200 OK'));
  return stream;
}

async function accept(prefix: string) {
  const answer = await client.post(makeJobs(1, { rooms, prefix }));
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { BatchId: string }).BatchId;
}

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 10, log: openLog('silent'), statementTimeout: 0 });
  tenant = await makeTenant(db, { code: 'school', rooms });
  program = startProgram(database.url, { Processes: '2' });
  url = await program.ready;
  client = await visit(url, db, tenant);
  await bothAnswer();
});
afterAll(async () => {
  await killPrograms();
  await releaseAll();
  await db.destroy();
  await database.drop();
});

test('the memory of loading is given back: a process holds less than half of it', async () => {
  await until('the heap is small', async () => {
    const [, bytes] = /^nodejs_heap_size_total_bytes (\d+)$/m.exec(await readMetrics()) ?? [];
    return bytes !== undefined && Number(bytes) < 2 * 80e6;
  });
});

test('metrics are the sum of both, save what both read in the database', async () => {
  const release = await hold(db, (trx) =>
    sql`select from resource where mandator_id = ${tenant.mandatorId} for update`.execute(trx),
  );
  const batchId = await accept('held-');
  const probes = await Promise.all(Array.from({ length: 6 }, () => get('/healthz')));
  await until('all are answered', () => probes.every(({ text }) => text.includes('200 OK')));
  for (const { socket } of probes) socket.destroy();
  const metrics = await until('all are counted', async () => {
    const text = await readMetrics();
    return /^http_request_duration_seconds_count\{.*route="\/healthz".*\} 6$/m.test(text) && text;
  });
  expect(metrics).toMatch(/^roomgate_batches_open 1$/m);
  await release();
  expect(await client.end(batchId)).toMatchObject({ ImportStatus: 'LessonsCreated' });
});

test('a figure that the database does not tell is left out, and no other', async () => {
  const release = await hold(db, (trx) => sql`lock table batch`.execute(trx));
  try {
    await until('both answer without it', async () => {
      const text = await readMetrics();
      return /^roomgate_processes 2$/m.test(text) && !text.includes('\nroomgate_batches_open ');
    });
  } finally {
    await release();
  }
});

test('metrics of file descriptors are those of one process, so that a full one is seen beside others', async () => {
  const limits = fs.readFileSync(`/proc/${childrenOf(program.pid)[0]}/limits`, 'utf8');
  const [, most] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  await bothAnswer();
  expect(await readMetrics()).toMatch(new RegExp(`^process_max_fds ${most}$`, 'm'));
});

test('either says whether the one worker takes jobs', async () => {
  await until('both say so', async () => {
    const probes = await Promise.all(Array.from({ length: 4 }, () => get('/readyz')));
    await until('all are answered', () => probes.every(({ text }) => text.includes('"Status"')));
    for (const { socket } of probes) socket.destroy();
    return probes.every(({ text }) => text.includes('200 OK') && text.includes('"Worker":"Healthy"'));
  });
});

test('SIGKILL of one ends its streams alone, others continue, and it is started again', async () => {
  const streams = [await openStream(), await openStream(), await openStream(), await openStream()];
  const [, last = 0] = childrenOf(program.pid);
  process.kill(last, 'SIGKILL');
  await until('its streams have ended', () => streams.some(({ isClosed }) => isClosed));
  const batchId = await accept('after-');
  await until('the others are told', () => streams.every(({ isClosed, text }) => isClosed || text.includes(batchId)));
  expect(streams.filter(({ isClosed }) => !isClosed)).not.toEqual([]);
  await bothAnswer();
  expect(program.lines).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      msg: 'a process is restarted',
      err: `process ${last} has ended: SIGKILL`,
    }),
  );
  for (const { socket } of streams) socket.destroy();
});

test('a connection that was handed to a process which dies is closed', async () => {
  const [first = 0] = childrenOf(program.pid);
  process.kill(first, 'SIGSTOP');
  await until('it is stopped', () => stateOf(first) === 'T');
  const probes = [await get('/healthz'), await get('/healthz'), await get('/healthz'), await get('/healthz')];
  const answered = () => probes.filter(({ text }) => text.includes('200 OK'));
  await until('the other answers', () => answered().length === 3);
  process.kill(first, 'SIGKILL');
  await until('the fourth ends', () => probes.every(({ isClosed, text }) => isClosed || text.includes('200 OK')));
  for (const { socket } of probes) socket.destroy();
  await bothAnswer();
});

test('settings that can no longer be used end none that serves; a process that needs them comes back once they are right', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-settings-'));
  const APPSETTINGS_FILE = path.join(folder, 'appsettings.json');
  const write = (settings: object) => fs.writeFileSync(APPSETTINGS_FILE, JSON.stringify(settings));
  try {
    write({});
    const IdentitySettingsFile = path.join(import.meta.dirname, '..', '..', 'identitysettings.json');
    const serving = startProgram(database.url, { Processes: '2', APPSETTINGS_FILE, IdentitySettingsFile });
    const itsUrl = await serving.ready;
    await bothAnswer(itsUrl);
    write({ DrainSeconds: 'long' });
    const [first = 0, second = 0] = childrenOf(serving.pid);
    process.kill(second, 'SIGKILL');
    const refused = () => serving.lines.filter(({ err }) => err?.endsWith('has ended: exit code 78'));
    await until('it was tried again', () => refused().length > 1);
    expect(refused()[0]).toMatchObject({ level: 'warn', msg: 'a process is restarted', place: 2 });
    expect(serving.noise[0]).toMatch(/^appsettings\.json: DrainSeconds: /);
    expect(childrenOf(serving.pid)).toContain(first);
    expect((await fetch(`${itsUrl}/readyz`)).status).toBe(200);
    write({});
    await bothAnswer(itsUrl);
    expect(await serving.end('SIGTERM')).toEqual({ code: 0, signal: null });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

describe('the end', () => {
  test('settings that cannot be used end all with code 78, and are told once', async () => {
    const wrong = startProgram(database.url, { Processes: '2', Pepper: 'another-pepper-of-more-than-32-characters' });
    expect(await wrong.exited).toEqual({ code: 78, signal: null });
    expect(wrong.noise).toEqual([
      expect.stringMatching(/^Pepper: does not match/),
      'Processes: none is running, because these settings cannot be used; the reason is above',
    ]);
  });

  test('SIGTERM ends streams with a last frame, and all exit', async () => {
    const streams = [await openStream(), await openStream()];
    expect(await program.end('SIGTERM')).toEqual({ code: 0, signal: null });
    await until('both have ended', () => streams.every(({ isClosed }) => isClosed));
    for (const { text } of streams) expect(text).toContain('The service is being restarted');
    expect(program.lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect(program.noise).toEqual([]);
  });
});
