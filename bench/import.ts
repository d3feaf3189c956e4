/**
 * `npm run bench:import`: lessons per second of the whole way, POST to LessonsCreated over HTTP with a web and a worker
 * process, beside COPY of the very same rows into tables with the same constraints, in one run and in turns.
 *
 * Prints per size the medians of the rounds and their ratio, the time to the 202, the longest stop of the web process's
 * event loop and how much its memory grew. `-- --sizes=1000,10000 --rounds=3` changes what is run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { openDatabase } from '../src/db/database.ts';
import { dataDirectory, startEmbeddedPostgres } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { createPin } from '../src/identity/service.ts';
import { openLog } from '../src/log.ts';
import { migrateQueue } from '../src/worker/queue.ts';
import { makeTenant } from '../test/_util/factories.ts';
import { makeJobs } from '../test/_util/lessons.ts';
import { pepper } from '../test/_util/service.ts';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000,10000,100000' },
    rounds: { type: 'string', default: '3' },
  },
});
const sizes = options.sizes.split(',').map(Number);
const rounds = Number(options.rounds);
const project = path.join(import.meta.dirname, '..');
const rooms = Array.from({ length: 500 }, (_, number) => `Room ${number + 1}`);

const say = (line: string) => void process.stdout.write(`${line}\n`);
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/** One process of the service, and the address that it listens on. */
async function startProcess(
  databaseUrl: string,
  role: 'Web' | 'Worker',
  port: number,
): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['src/main.ts', 'serve'], {
    cwd: project,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      Role: role,
      Port: String(port),
      DatabaseUrl: databaseUrl,
      Pepper: pepper,
      LogLevel: 'warn',
      Limits__JobBodyBytes: String(1024 ** 3),
      Limits__JobsPerBatch: '1000000',
      Limits__LessonsPerBatch: '10000000',
    },
  });
  for (const deadline = Date.now() + 20_000; ; await sleep(50)) {
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (ready?.ok) return child;
    if (Date.now() > deadline || child.exitCode !== null)
      throw new Error(`the ${role} process did not become ready`);
  }
}

const residentBytes = (pid: number) =>
  Number(fs.readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096;

/** The longest stop of the event loop since the last call, in milliseconds. */
async function longestStop(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return 1_000 * Number(/^nodejs_eventloop_lag_max_seconds (.+)$/m.exec(text)?.[1]);
}

const server = await startEmbeddedPostgres(
  path.join(dataDirectory(project), 'bench'),
  'postgres',
  openLog('warn'),
);
const database = `bench_${Date.now()}`;
const admin = new pg.Client(server.url);
await admin.connect();
await admin.query(`create database ${database}`);
const databaseUrl = server.url.replace(/postgres$/, database);
const db = openDatabase(databaseUrl, { max: 2, log: openLog('warn'), statementTimeout: 0 });
await migrate(db);
await migrateQueue(databaseUrl);
const client = new pg.Client(databaseUrl);
await client.connect();

const tenant = await makeTenant(db, { rooms });
await client.query(
  `insert into opening_rule (mandator_id, location_id, weekdays, opens, closes) values ($1, $2, '{1,2,3,4,5,6,7}', '06:00', '23:00')`,
  [tenant.mandatorId, tenant.locationId],
);
const { pin } = await createPin(db, pepper, {
  mandatorId: tenant.mandatorId,
  personId: tenant.person('User').id,
});

// The same columns, keys, checks, exclusion and foreign keys; only the triggers of the service's own tables stay behind.
await client.query(`
  create table copy_job (like lesson_job including all);
  create table copy_booking (like booking including all,
    foreign key (mandator_id, resource_id) references resource, foreign key (mandator_id, created_by) references person);
  create table copy_lesson (like lesson including all,
    foreign key (mandator_id, job) references copy_job, foreign key (mandator_id, booking_id) references copy_booking)`);

const web = await startProcess(databaseUrl, 'Web', 18_731);
const worker = await startProcess(databaseUrl, 'Worker', 18_732);
const url = 'http://127.0.0.1:18731';
const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey: pin };
const { access_token: token } = (await (
  await fetch(`${url}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
).json()) as { access_token: string };
const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };

async function settle(): Promise<void> {
  await client.query(
    'truncate booking, lesson, lesson_job, batch_error, batch_job, copy_booking, copy_lesson, copy_job',
  );
  await client.query('vacuum analyze');
  await client.query('checkpoint');
}

async function importOverHttp(body: Buffer, lessons: number) {
  await longestStop(url);
  const before = residentBytes(web.pid as number);
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytes(web.pid as number));
  }, 5);
  const started = performance.now();
  const answer = await fetch(`${url}/school/api/v2.0/jobs/create`, {
    method: 'POST',
    headers,
    body: new Uint8Array(body),
  });
  const { BatchId } = (await answer.json()) as { BatchId: string };
  const accepted = performance.now() - started;
  clearInterval(watch);
  const stop = await longestStop(url);
  for (;;) {
    const read = await fetch(`${url}/school/api/v2.0/jobs/batches/${BatchId}?WaitSeconds=30`, { headers });
    const batch = (await read.json()) as {
      ImportStatus: string;
      CreatedCount: number;
      ErrorMessages: string;
    };
    if (batch.ImportStatus === 'LessonsImportFailed') throw new Error(batch.ErrorMessages);
    if (batch.ImportStatus !== 'LessonsCreated') continue;
    if (batch.CreatedCount !== lessons)
      throw new Error(`${batch.CreatedCount} lessons instead of ${lessons}`);
    return { seconds: (performance.now() - started) / 1_000, accepted, stop, grown: peak - before };
  }
}

async function readTable(table: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of client.query(copyTo(`copy ${table} to stdout`))) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function copyRows(rows: { job: Buffer; booking: Buffer; lesson: Buffer }) {
  const seconds: Record<string, number> = {};
  await client.query('begin');
  for (const table of ['job', 'booking', 'lesson'] as const) {
    const started = performance.now();
    await pipeline(Readable.from([rows[table]]), client.query(copyFrom(`copy copy_${table} from stdin`)));
    seconds[table] = (performance.now() - started) / 1_000;
  }
  const started = performance.now();
  await client.query('commit');
  const commit = (performance.now() - started) / 1_000;
  return {
    all: Object.values(seconds).reduce((sum, part) => sum + part, commit),
    booking: seconds['booking'] as number,
  };
}

try {
  say(
    'lessons   body MB   202 ms   loop ms   memory x body   import s   lessons/s   COPY s   ratio   (bookings alone)',
  );
  for (const size of sizes) {
    const body = Buffer.from(
      JSON.stringify(
        makeJobs(size, {
          rooms,
          from: Date.now() - (Date.now() % 604_800_000) + 4 * 604_800_000 + 9 * 3_600_000,
        }),
      ),
    );
    const results: (Awaited<ReturnType<typeof importOverHttp>> & Awaited<ReturnType<typeof copyRows>>)[] = [];
    // The first round warms both sides up: its times do not count, what it costs the web process does.
    let stop = 0;
    let grown = 0;
    for (let round = 0; round <= rounds; round++) {
      await settle();
      const imported = await importOverHttp(body, size);
      stop = Math.max(stop, imported.stop);
      grown = Math.max(grown, imported.grown);
      const rows = {
        job: await readTable('lesson_job'),
        booking: await readTable('booking'),
        lesson: await readTable('lesson'),
      };
      await settle();
      const copied = await copyRows(rows);
      if (round > 0) results.push({ ...imported, ...copied });
    }
    const of = (value: (result: (typeof results)[number]) => number) => median(results.map(value));
    const cells = [
      String(size).padStart(7),
      (body.length / 1e6).toFixed(1).padStart(9),
      of(({ accepted }) => accepted)
        .toFixed(0)
        .padStart(8),
      stop.toFixed(0).padStart(9),
      (grown / body.length).toFixed(1).padStart(15),
      of(({ seconds }) => seconds)
        .toFixed(2)
        .padStart(10),
      (size / of(({ seconds }) => seconds)).toFixed(0).padStart(11),
      of(({ all }) => all)
        .toFixed(2)
        .padStart(8),
      of(({ all, seconds }) => all / seconds)
        .toFixed(2)
        .padStart(7),
      of(({ booking, seconds }) => booking / seconds)
        .toFixed(2)
        .padStart(18),
    ];
    say(cells.join(' '));
  }
} finally {
  web.kill('SIGTERM');
  worker.kill('SIGTERM');
  await Promise.all([web, worker].map((child) => new Promise((resolve) => child.once('exit', resolve))));
  await client.end();
  await db.destroy();
  await admin.query(`drop database ${database} with (force)`);
  await admin.end();
  await server.stop();
}
