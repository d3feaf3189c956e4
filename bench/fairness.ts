/**
 * `npm run bench:fairness`: how long one-lesson batches of one tenant take, POST to LessonsCreated, while other tenants'
 * huge batches keep a worker busy, beside how long they take alone in the same run.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { makeTenant } from '../test/_util/factories.ts';
import { type BatchRecord, type Job, type LessonClient, makeJobs } from '../test/_util/lessons.ts';
import { visit } from '../test/_util/process.ts';
import { quantile, say, show } from './_util/figures.ts';
import { openBench, term } from './_util/harness.ts';
import { readOptions, whole } from './_util/options.ts';

const options = readOptions({
  huge: { about: 'huge batches beside them', read: whole(), usual: '20', smoke: '2' },
  tenants: { about: 'tenants that send those', read: whole(), usual: '10', smoke: '2' },
  lessons: { about: 'lessons of a huge batch', read: whole(), usual: '20000', smoke: '100' },
  alone: { about: 'one-lesson batches before those', read: whole(), usual: '20', smoke: '2' },
});
const { huge, tenants, lessons, alone } = options;
const bench = await openBench(4, options);
const { db, url } = bench;

/** Sends like a careful client: again, with the same key, while the server is busy. @returns the BatchId */
async function send(client: LessonClient, jobs: Job[]): Promise<string> {
  const body = JSON.stringify(jobs);
  for (const key = { 'Idempotency-Key': randomUUID() }; ; await sleep(500)) {
    const answer = await client.post(body, key).catch(() => undefined);
    if (answer?.status === 202) return ((await answer.json()) as { BatchId: string }).BatchId;
  }
}

/** @throws if it has failed */
async function end(client: LessonClient, id: string): Promise<void> {
  let batch: BatchRecord | undefined;
  while (!(batch = await client.end(id).catch(() => undefined)));
  if (batch.ImportStatus !== 'LessonsCreated') throw new Error(String(batch.ErrorMessages));
}

/** Sends one-lesson batches one after the other, at least one. @returns their durations, sorted */
async function sendSmall(client: LessonClient, goesOn: (sent: number) => boolean) {
  const times: number[] = [];
  do {
    const since = performance.now();
    const prefix = `s${++numbers}-`;
    await end(client, await send(client, makeJobs(1, { rooms, prefix, from: term + numbers * 3_600_000 })));
    times.push((performance.now() - since) / 1_000);
    await sleep(100);
  } while (goesOn(times.length));
  return times.sort((one, other) => one - other);
}

const rooms = Array.from({ length: 100 }, (_, number) => `R${number}`);
let numbers = 0;

try {
  const large = await Promise.all(
    Array.from({ length: tenants }, async (_, number) =>
      visit(url, db, await makeTenant(db, { code: `large${number}`, rooms })),
    ),
  );
  const small = await visit(url, db, await makeTenant(db, { code: 'small', rooms }));
  const cpuAtFirst = await bench.cpu();
  const quiet = await sendSmall(small, (done) => done < alone);
  const cpuAlone = (await bench.cpu()) - cpuAtFirst;
  let ended = 0;
  const sent = await pLimit(4).map(Array.from({ length: huge }).keys(), async (number) => {
    const client = large[number % tenants] as LessonClient;
    const from = term + number * 3_000 * 86_400_000;
    return { client, id: await send(client, makeJobs(lessons, { rooms, prefix: `${number}-`, from })) };
  });
  const ends = sent.map(({ client, id }) => end(client, id).then(() => ended++));
  const all = Promise.all(ends);
  const started = performance.now();
  say(`${huge} batches of ${lessons} lessons of ${tenants} tenants are accepted, ${ended} of them have ended`);
  const busy = await sendSmall(small, () => ended < huge);
  await all;
  const cpuBeside = (await bench.cpu()) - cpuAtFirst - cpuAlone;
  say(`the last of them had ended after ${((performance.now() - started) / 1_000).toFixed(0)} s`);
  const row = (name: string, times: number[], cpu: number, stored: number): [string, ...number[]] => [
    name,
    times.length,
    quantile(times, 0.5),
    quantile(times, 0.99),
    times.at(-1) as number,
    cpu / stored,
    quantile(times, 0.5) / quantile(quiet, 0.5),
  ];
  show(
    'one-lesson batches',
    { sent: 0, 'p50 s': 2, 'p99 s': 2, 'longest s': 2, 'us CPU/lesson of all': 0, 'p50 ratio to alone': 2 },
    [
      row('alone', quiet, cpuAlone, quiet.length),
      row(`beside ${huge} huge ones`, busy, cpuBeside, busy.length + huge * lessons),
    ],
  );
} finally {
  await bench.close();
}
