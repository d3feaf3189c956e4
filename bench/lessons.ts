/**
 * `npm run bench:lessons`: lessons per second of an update that moves every lesson to another room, and of a delete, beside
 * the creation of the same lessons in the same run, POST to LessonsCreated over HTTP with a web and a worker process. Then the cost
 * of reads in a full database, with their plans by EXPLAIN ANALYZE.
 */
import type { CompiledQuery } from 'kysely';
import type { Viewer } from '../src/context.ts';
import { selectBatchPage } from '../src/lessons/batch.ts';
import { selectJobs } from '../src/lessons/jobs.ts';
import { selectLessons } from '../src/lessons/timetable.ts';
import { makeJobs } from '../test/_util/lessons.ts';
import { median, say, show } from './_util/figures.ts';
import { openBench, term } from './_util/harness.ts';
import { readOptions, whole } from './_util/options.ts';

const options = readOptions({
  lessons: { about: 'lessons of a batch', read: whole(), usual: '100000', smoke: '30' },
  rounds: { about: 'rounds that count; 0: only the reads', read: whole(0), usual: '3', smoke: '1' },
  stored: {
    about: 'lessons that are stored when reads are tried',
    read: whole(),
    usual: '1000000',
    smoke: '1000',
  },
});
const { lessons, rounds, stored } = options;
const bench = await openBench(500, options);

const encode = (jobs: unknown) => Buffer.from(JSON.stringify(jobs));
const created = makeJobs(lessons, { rooms: bench.rooms, from: term });
const nextRoom = new Map(bench.rooms.map((room, at) => [room, bench.rooms[(at + 1) % bench.rooms.length]]));
/** Every lesson moves to the room of the next one: no room is free until all have moved. */
const updated = created.map(({ JobID, LektionList }) => ({
  JobID,
  LektionList: LektionList.map(({ LektionId, RessourceName }) => ({
    LektionId,
    RessourceName: nextRoom.get(RessourceName),
  })),
}));

type Cost = { seconds: number; cpu: number };

async function run(operation: 'create' | 'update' | 'delete', jobs: unknown): Promise<Cost> {
  await bench.settle();
  const body = encode(jobs);
  const before = await bench.cpu();
  const started = performance.now();
  await bench.end(await bench.post(operation, body), lessons);
  const seconds = (performance.now() - started) / 1_000;
  return { seconds, cpu: (await bench.cpu()) - before };
}

async function compareOperations(): Promise<void> {
  const results: { create: Cost; update: Cost; remove: Cost }[] = [];
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round++) {
    await bench.forget();
    const create = await run('create', created);
    const update = await run('update', updated);
    const remove = await run(
      'delete',
      created.map(({ JobID }) => ({ JobID })),
    );
    if (round > 0) results.push({ create, update, remove });
  }
  show(
    `${lessons} lessons`,
    { seconds: 2, 'lessons/s': 0, 'us CPU/lesson': 0, 'ratio to create': 2 },
    (['create', 'update', 'remove'] as const).map((operation) => {
      const seconds = median(results.map((round) => round[operation].seconds));
      const cpu = median(results.map((round) => round[operation].cpu));
      const ratio = median(results.map((round) => round.create.seconds / round[operation].seconds));
      return [operation, seconds, lessons / seconds, cpu / lessons, ratio];
    }),
  );
}

/** A year of weeks of lessons in every room, 15 to a job, and a thousand ended batches. */
async function fill(): Promise<void> {
  const { client, tenant } = bench;
  const sender = tenant.person('User').id;
  await bench.forget();
  await client.query(
    `insert into batch (mandator_id, id, operation, import_status, job_count, request_id, created_by, finished_at)
     select $1, gen_random_uuid(), 'Create', 'LessonsCreated', 1, 'bench', $2, now() from generate_series(1, 1000)`,
    [tenant.mandatorId, sender],
  );
  await client.query(
    `insert into lesson_job (mandator_id, id, job_id, batch_id, created_by) overriding system value
     select $1, job, 'stored ' || job, gen_random_uuid(), $2 from generate_series(0, $3::int / 15) as job`,
    [tenant.mandatorId, sender, stored],
  );
  const lesson = `
    select n, n / 15 as job, $2::int + n % $3::int as resource_id,
      timestamptz '2027-01-04T06:00Z' + n / $3::int * interval '4 hours' as beginn from generate_series(0, $4::int - 1) as n`;
  const values = [tenant.mandatorId, tenant.resources[0]?.id, bench.rooms.length, stored];
  await client.query(
    `insert into booking (mandator_id, id, resource_id, kind, status, origin, occupied) overriding system value
     select $1, n, resource_id, 'Lesson', 'Confirmed', 'Import', tstzrange(beginn, beginn + interval '45 minutes') from (${lesson}) as lesson`,
    values,
  );
  await client.query(
    `insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status)
     select $1, job, n::text, n, resource_id, beginn, beginn + interval '45 minutes', 'Geplant' from (${lesson}) as lesson`,
    values,
  );
  await client.query('vacuum analyze');
}

async function explain(what: string, { sql, parameters }: CompiledQuery): Promise<void> {
  const plans: { text: string; ms: number }[] = [];
  for (let round = 0; round < 5; round++) {
    const { rows } = await bench.client.query<{ 'QUERY PLAN': string }>(`explain (analyze, costs off) ${sql}`, [
      ...parameters,
    ]);
    const text = rows.map((row) => row['QUERY PLAN']).join('\n');
    plans.push({ text, ms: Number(/Execution Time: ([\d.]+)/.exec(text)?.[1]) });
  }
  const ms = median(plans.map((plan) => plan.ms));
  say(`\n${what}: ${ms.toFixed(2)} ms\n${plans.at(-1)?.text}`);
}

async function explainReads(): Promise<void> {
  await fill();
  const { mandatorId, code } = bench.tenant;
  const { id: personId } = bench.tenant.person('User');
  const viewer = { mandatorId, mandator: code, personId, hiddenRooms: [] as readonly number[] } as Viewer;
  const page = { limit: 50, after: undefined };
  const week = { from: new Date('2027-03-01T00:00:00Z'), to: new Date('2027-03-08T00:00:00Z') };
  say(`\nwith ${stored} lessons stored`);
  const room = { ...week, resourceName: 'room 7' };
  await explain('lessons of one room and week', selectLessons(viewer, room, page).compile(bench.db));
  await explain('lessons of a week', selectLessons(viewer, week, page).compile(bench.db));
  const job = { jobID: 'stored 4711' };
  await explain('lessons of one job', selectLessons(viewer, job, page).compile(bench.db));
  await explain('jobs', selectJobs(bench.db, viewer, {}, page).compile());
  await explain('running batches', selectBatchPage(bench.db, viewer, {}, page).compile());
  await explain('all batches', selectBatchPage(bench.db, viewer, { importStatus: 'All' }, page).compile());
}

try {
  if (rounds > 0) await compareOperations();
  await explainReads();
} finally {
  await bench.close();
}
