import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { ahead } from '../_util/ahead.ts';
import { makeTenant } from '../_util/factories.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type LessonClient, makeJobs } from '../_util/lessons.ts';
import { times } from '../_util/long.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, type Program, startProgram, until, visit } from '../_util/process.ts';

const rooms = ['R1', 'R2', 'R3'];
const silent = openLog('silent');
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 10, log: silent, statementTimeout: 0 });
});
afterEach(killPrograms);
afterAll(async () => {
  await releaseAll();
  await db.destroy();
  await database.drop();
});

const start = (Role: 'All' | 'Web' | 'Worker', settings: Record<string, string> = {}) =>
  startProgram(database.url, { Role, ...settings });

let tenants = 0;
const newTenant = () => makeTenant(db, { code: `t${++tenants}`, rooms });

const accept = async (client: LessonClient, jobs: unknown) => {
  const answer = await client.post(jobs);
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { BatchId: string }).BatchId;
};

/** What the queue and the workers hold on to. */
async function locked() {
  const { rows } = await sql<{ jobs: number; locks: number }>`
    select (select count(*)::int from graphile_worker._private_jobs where locked_by is not null) as jobs,
      (select count(*)::int from pg_locks where locktype = 'advisory' and classid in (7001, 7002)
         and database = (select oid from pg_database where datname = current_database())) as locks`.execute(db);
  return rows[0]!;
}
const nothing = { jobs: 0, locks: 0 };

/** A stop that has hung says so when the process ends it. */
const leftEarly = ({ lines }: Program) =>
  lines.filter(({ msg }) => msg === 'the process ends although some work has not ended');

describe('SIGTERM of a worker', () => {
  test('in mid-batch, even while a statement waits: exit 0, nothing stays locked, the batch is handed over uncounted', async () => {
    const web = start('Web');
    const tenant = await newTenant();
    const client = await visit(await web.ready, db, tenant);
    const attempts = async (id: string) =>
      (await db.selectFrom('batch').select('attempts').where('id', '=', id).executeTakeFirstOrThrow()).attempts;
    const release = await hold(db, (trx) =>
      sql`select from resource where mandator_id = ${tenant.mandatorId} for update`.execute(trx),
    );
    const batchId = await accept(client, makeJobs(500, { rooms }));

    const first = start('Worker');
    const waits = (name: string) =>
      until('the import waits for the room', async () => {
        const waiting = await sql`
          select from pg_stat_activity
          where datname = current_database() and application_name = ${name} and wait_event_type = 'Lock'
            and query like '%from resource%'`.execute(db);
        return waiting.rows.length > 0;
      });
    await waits(first.name);
    expect(await attempts(batchId)).toBe(1);
    const { code } = await first.end('SIGTERM');
    expect([code, leftEarly(first)]).toEqual([0, []]);
    expect(await locked()).toEqual(nothing);
    expect(await attempts(batchId)).toBe(0);
    const queued = await sql`select from graphile_worker._private_jobs where is_available and run_at <= now()`.execute(
      db,
    );
    expect(queued.rows).toHaveLength(1);

    const second = start('Worker');
    await waits(second.name);
    await release();
    expect(await client.end(batchId)).toMatchObject({ ImportStatus: 'LessonsCreated', CreatedCount: 500 });
    expect(await attempts(batchId)).toBe(1);
    expect(first.noise).toEqual([]);
    // The batch has ended a moment before its job: killed in between, this worker would leave it to the next test.
    expect(await second.end('SIGTERM')).toMatchObject({ code: 0 });
    expect(await locked()).toEqual(nothing);
  });

  test('while short jobs end: no job is left locked, and every batch ends', async () => {
    const web = start('Web');
    const url = await web.ready;
    const clients = await Promise.all(Array.from({ length: 8 }, async () => visit(url, db, await newTenant())));
    const batches: { client: LessonClient; id: string }[] = [];
    for (let round = 0; round < times(1, 3); round++) {
      const worker = start('Worker');
      await worker.ready;
      for (let each = 0; each < 4; each++)
        await Promise.all(
          clients.map(async (client) => {
            const from = Date.parse(ahead('2027-02-01T07:00Z')) + batches.length * 10 * 7 * 86_400_000;
            const jobs = makeJobs(5, { rooms, prefix: `${round}-${each}-`, from });
            batches.push({ client, id: await accept(client, jobs) });
          }),
        );
      await until('a job runs', async () => (await locked()).jobs > 0);
      expect(await worker.end('SIGTERM')).toMatchObject({ code: 0 });
      expect(await locked()).toEqual(nothing);
    }
    start('Worker');
    const ended = await Promise.all(batches.map(({ client, id }) => client.end(id)));
    expect(new Set(ended.map(({ ImportStatus }) => ImportStatus))).toEqual(new Set(['LessonsCreated']));
  });
});

describe('SIGTERM of a web process', () => {
  /** A connection that stays open, with what has come back on it. */
  async function connect(url: string) {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    const connection = { socket, text: '', closed: once(socket, 'close') };
    socket.setEncoding('utf8').on('data', (text) => (connection.text += text));
    return connection;
  }

  test('/readyz turns 503, requests in flight end, connections that are quiet or were never used are closed, and it exits 0', async () => {
    const web = start('Web');
    const url = await web.ready;
    const tenant = await newTenant();
    const client = await visit(url, db, tenant);
    const batchId = await accept(client, makeJobs(10, { rooms }));
    const line = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\n\r\n`;
    const root = `/${tenant.code}/api/v2.0/jobs`;

    // What the POST has announced must not be what ends the poll.
    await client.get(`/batches/${batchId}?WaitSeconds=1`);
    const polling = await connect(url);
    polling.socket.write(line(`${root}/batches/${batchId}?WaitSeconds=25`));
    const probing = await connect(url);
    const probe = line('/readyz');
    probing.socket.write(probe.slice(0, 20));
    // A body that is still on its way.
    const jobs = JSON.stringify(makeJobs(10, { rooms, prefix: 'upload-' }));
    const upload = http.request(`${url}${root}/create`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${client.token}`,
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(jobs),
        Expect: '100-continue',
      },
      agent: new http.Agent({ keepAlive: true }),
    });
    upload.flushHeaders();
    await once(upload, 'continue');
    upload.write(jobs.slice(0, 100));
    // As browsers open them ahead.
    const unused = await connect(url);
    const quiet = await connect(url);
    quiet.socket.write(line('/readyz'));
    await until('the first answer', () => quiet.text.includes('"Status":"Healthy"'));

    const stopped = web.end('SIGTERM');
    await Promise.all([quiet.closed, unused.closed]);
    probing.socket.write(probe.slice(20));
    await probing.closed;
    expect(probing.text).toMatch(/^HTTP\/1.1 503 .*\r\nConnection: close\r\n.*"Status":"Stopping"/s);
    await polling.closed;
    expect(polling.text).toMatch(
      /^HTTP\/1.1 200 OK\r\n.*\r\nConnection: close\r\n.*"ImportStatus":"AwaitingLessonCreation"/s,
    );
    await expect(connect(url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    upload.end(jobs.slice(100));
    const [response] = (await once(upload, 'response')) as [http.IncomingMessage];
    expect(response.statusCode).toBe(202);
    const { BatchId } = JSON.parse((await response.toArray()).join('')) as { BatchId: string };
    expect(await db.selectFrom('batch').select('id').where('id', '=', BatchId).execute()).toHaveLength(1);
    const { code } = await stopped;
    expect([code, leftEarly(web)]).toEqual([0, []]);
  });

  test('with DrainSeconds /readyz turns 503 while new connections are still served, each for one answer', async () => {
    const web = start('Web', { DrainSeconds: '300' });
    const url = await web.ready;
    const client = await visit(url, db, await newTenant());
    web.signal('SIGTERM');
    await until('it says so', async () => (await fetch(`${url}/readyz`)).status === 503);
    const answer = await client.post(makeJobs(1, { rooms }));
    expect([answer.status, answer.headers.get('connection')]).toEqual([202, 'close']);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await web.end('SIGKILL');
  });

  test.each([
    ['Web', '1'],
    ['All', '2'],
  ] as const)('after DrainSeconds it exits 0: %s, %s processes', async (Role, Processes) => {
    const web = start(Role, { DrainSeconds: '1', Processes });
    await web.ready;
    const { code } = await web.end('SIGTERM');
    expect([code, leftEarly(web)]).toEqual([0, []]);
  });

  test('a stream has its last frame, which says why', async () => {
    const all = start('All');
    const url = await all.ready;
    const tenant = await newTenant();
    const client = await visit(url, db, tenant);
    const answer = await fetch(`${url}/${tenant.code}/graphql`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${client.token}`,
        'Content-Type': 'application/json',
        Accept: 'text/event-stream',
      },
      body: JSON.stringify({ query: 'subscription { batches { id importStatus } }' }),
    });
    const frames: string[] = [];
    const read = (async () => {
      for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) frames.push(chunk);
    })();
    const batchId = await accept(client, makeJobs(10, { rooms }));
    await until('the stream runs', () => frames.join('').includes(batchId));
    const { code } = await all.end('SIGTERM');
    await read;
    const last = frames.join('').trim().split(/\n\n+/).slice(-2);
    expect(last[0]).toContain('The service is being restarted');
    expect(last[1]).toMatch(/^event: complete/);
    expect([code, leftEarly(all)]).toEqual([0, []]);
  });
});

test.each(['SIGINT', 'SIGHUP'] as const)('%s ends a process as SIGTERM does, and its log says so', async (signal) => {
  const all = start('All');
  const port = Number(new URL(await all.ready).port);
  expect([await all.end(signal), leftEarly(all)]).toEqual([{ code: 0, signal: null }, []]);
  expect(all.lines.filter(({ msg }) => msg.startsWith('the server '))).toMatchObject([
    { msg: 'the server is ready', release: expect.any(String), role: 'All', port },
    { msg: 'the server is told to end', signal },
    { msg: 'the server has ended' },
  ]);
});

describe('two processes that start on an empty database at once', () => {
  test('migrate it once, and both become ready', async () => {
    const url = new URL(database.url);
    url.pathname = `/empty_${process.pid}`;
    await sql`create database ${sql.id(url.pathname.slice(1))} template template0`.execute(db);
    try {
      const both = [1, 2].map(() => startProgram(url.href, { Role: 'Worker' }));
      const urls = await Promise.all(both.map(({ ready }) => ready));
      await until('both are ready', async () => {
        const answers = await Promise.all(urls.map((root) => fetch(`${root}/readyz`)));
        return answers.every(({ status }) => status === 200);
      });
      const migrated = both.flatMap(({ lines }) => lines.filter(({ msg }) => msg === 'migrations applied'));
      const applied = migrated.flatMap((line) => line['applied'] as string[]);
      expect(applied.length).toBe(new Set(applied).size);
      expect(applied).toContain('000001_tenants');
      await Promise.all(both.map((program) => program.end('SIGTERM')));
      expect(both.flatMap(({ lines }) => lines.filter(({ level }) => level === 'error'))).toEqual([]);
    } finally {
      await sql`drop database ${sql.id(url.pathname.slice(1))} with (force)`.execute(db);
    }
  });
});
