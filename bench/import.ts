/**
 * `npm run bench:import`: lessons per second from end to end, POST to LessonsCreated over HTTP with a web and a worker
 * process, beside COPY of the same rows into tables with the same constraints, in turns within one run.
 *
 * Prints for each size the medians of the rounds and their ratio, the cost of both, the time to the 202, the longest turn of the
 * web process's event loop, and the growth of its memory.
 */
import fs from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { makeJobs } from '../test/_util/lessons.ts';
import { cpuOfPostgres, median, show } from './_util/figures.ts';
import { longestTurnOf, openBench, term, watchingLoop } from './_util/harness.ts';
import { list, readOptions, whole } from './_util/options.ts';

const options = readOptions({
  sizes: { about: 'lessons of a batch', read: list(whole()), usual: '1000,10000,100000', smoke: '30' },
  rounds: { about: 'rounds that count', read: whole(), usual: '3', smoke: '1' },
});
const bench = await openBench(500, options, { NODE_OPTIONS: watchingLoop });
const { client, rooms } = bench;

// The same columns, keys, checks, exclusion and foreign keys; only the triggers of the service's own tables stay behind.
await client.query(`
  create table copy_job (like lesson_job including all);
  create table copy_booking (like booking including all,
    foreign key (mandator_id, resource_id) references resource, foreign key (mandator_id, created_by) references person);
  create table copy_lesson (like lesson including all,
    foreign key (mandator_id, job) references copy_job, foreign key (mandator_id, booking_id) references copy_booking)`);

const residentBytes = (pid: number) => Number(fs.readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096;

async function clear(): Promise<void> {
  await bench.forget();
  await client.query('truncate copy_booking, copy_lesson, copy_job');
  await bench.settle();
}

async function importOverHttp(body: Buffer, lessons: number) {
  await longestTurnOf(bench.web);
  const before = residentBytes(bench.webProcess);
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytes(bench.webProcess));
  }, 5);
  const cpuBefore = await bench.cpu();
  const started = performance.now();
  const batchId = await bench.post('create', body);
  const accepted = performance.now() - started;
  clearInterval(watch);
  const turn = await longestTurnOf(bench.web);
  await bench.end(batchId, lessons);
  const seconds = (performance.now() - started) / 1_000;
  return { seconds, cpu: (await bench.cpu()) - cpuBefore, accepted, turn, grown: peak - before };
}

async function readTable(table: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of client.query(copyTo(`copy ${table} to stdout`))) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function copyRows(rows: { job: Buffer; booking: Buffer; lesson: Buffer }) {
  const seconds: Record<string, number> = {};
  const cpuBefore = await cpuOfPostgres(client);
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
    copyCpu: (await cpuOfPostgres(client)) - cpuBefore,
  };
}

const columns = {
  'body MB': 1,
  '202 ms': 0,
  'longest turn ms': 0,
  'memory x body': 1,
  'import s': 2,
  'lessons/s': 0,
  'us CPU/lesson': 0,
  'COPY s': 2,
  'us CPU of COPY': 0,
  'ratio to COPY': 2,
  'of bookings alone': 2,
};
type Round = Awaited<ReturnType<typeof importOverHttp>> & Awaited<ReturnType<typeof copyRows>>;

async function compare(size: number): Promise<[string, ...number[]]> {
  const body = Buffer.from(JSON.stringify(makeJobs(size, { rooms, from: term })));
  const results: Round[] = [];
  // The first round is a warm-up of both sides: its times do not count, but its cost for the web process does.
  let turn = 0;
  let grown = 0;
  for (let round = 0; round <= options.rounds; round++) {
    await clear();
    const imported = await importOverHttp(body, size);
    turn = Math.max(turn, imported.turn);
    grown = Math.max(grown, imported.grown);
    const rows = {
      job: await readTable('lesson_job'),
      booking: await readTable('booking'),
      lesson: await readTable('lesson'),
    };
    await clear();
    const copied = await copyRows(rows);
    if (round > 0) results.push({ ...imported, ...copied });
  }
  const of = (value: (result: Round) => number) => median(results.map(value));
  return [
    String(size),
    body.length / 1e6,
    of(({ accepted }) => accepted),
    turn,
    grown / body.length,
    of(({ seconds }) => seconds),
    size / of(({ seconds }) => seconds),
    of(({ cpu }) => cpu) / size,
    of(({ all }) => all),
    of(({ copyCpu }) => copyCpu) / size,
    of(({ all, seconds }) => all / seconds),
    of(({ booking, seconds }) => booking / seconds),
  ];
}

try {
  for (const size of options.sizes) show('lessons', columns, [await compare(size)]);
} finally {
  await bench.close();
}
