/**
 * `npm run bench:import`: lessons per second of the whole way, POST to LessonsCreated over HTTP with a web and a worker
 * process, beside COPY of the very same rows into tables with the same constraints, in one run and in turns.
 *
 * Prints per size the medians of the rounds and their ratio, the time to the 202, the longest stop of the web process's
 * event loop and how much its memory grew. `-- --sizes=1000,10000 --rounds=3` changes what is run.
 */
import fs from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { makeJobs } from '../test/_util/lessons.ts';
import { median, openBench, say, term } from './harness.ts';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000,10000,100000' },
    rounds: { type: 'string', default: '3' },
  },
});
const sizes = options.sizes.split(',').map(Number);
const rounds = Number(options.rounds);
const bench = await openBench(500);
const { client, url, rooms } = bench;

// The same columns, keys, checks, exclusion and foreign keys; only the triggers of the service's own tables stay behind.
await client.query(`
  create table copy_job (like lesson_job including all);
  create table copy_booking (like booking including all,
    foreign key (mandator_id, resource_id) references resource, foreign key (mandator_id, created_by) references person);
  create table copy_lesson (like lesson including all,
    foreign key (mandator_id, job) references copy_job, foreign key (mandator_id, booking_id) references copy_booking)`);

const residentBytes = (pid: number) =>
  Number(fs.readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096;

/** The longest stop of the event loop since the last call, in milliseconds. */
async function longestStop(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return 1_000 * Number(/^nodejs_eventloop_lag_max_seconds (.+)$/m.exec(text)?.[1]);
}

async function settle(): Promise<void> {
  await client.query(
    'truncate booking, lesson, lesson_job, batch_error, batch_job, copy_booking, copy_lesson, copy_job',
  );
  await client.query('vacuum analyze');
  await client.query('checkpoint');
}

async function importOverHttp(body: Buffer, lessons: number) {
  await longestStop(url);
  const before = residentBytes(bench.webProcess);
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytes(bench.webProcess));
  }, 5);
  const started = performance.now();
  const batchId = await bench.post('create', body);
  const accepted = performance.now() - started;
  clearInterval(watch);
  const stop = await longestStop(url);
  await bench.end(batchId, lessons);
  return { seconds: (performance.now() - started) / 1_000, accepted, stop, grown: peak - before };
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
    const body = Buffer.from(JSON.stringify(makeJobs(size, { rooms, from: term })));
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
  await bench.close();
}
