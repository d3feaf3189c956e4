/**
 * `npm run bench:fairness`: how long one-lesson batches of one tenant take, POST to LessonsCreated, while other tenants'
 * huge batches keep a worker busy. `-- --huge=20 --tenants=10 --lessons=20000` changes what is beside them.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pLimit from 'p-limit';
import { makeTenant } from '../test/_util/factories.ts';
import { type BatchRecord, type Job, type LessonClient, makeJobs } from '../test/_util/lessons.ts';
import { visit } from '../test/_util/process.ts';
import { openBench, say, term } from './harness.ts';

const { values: options } = parseArgs({
  options: {
    huge: { type: 'string', default: '20' },
    tenants: { type: 'string', default: '10' },
    lessons: { type: 'string', default: '20000' },
  },
});
const [huge, tenants, lessons] = [options.huge, options.tenants, options.lessons].map(Number) as [
  number,
  number,
  number,
];
const bench = await openBench(4);
const { db, url } = bench;

/** As a careful client sends: again, under the same key, while the server is busy. @returns the BatchId */
async function send(client: LessonClient, jobs: Job[]): Promise<string> {
  const body = JSON.stringify(jobs);
  for (const key = { 'Idempotency-Key': randomUUID() }; ; await sleep(500)) {
    const answer = await client.post(body, key).catch(() => undefined);
    if (answer?.status === 202) return ((await answer.json()) as { BatchId: string }).BatchId;
  }
}

/** @throws when it has not ended well */
async function end(client: LessonClient, id: string): Promise<void> {
  let batch: BatchRecord | undefined;
  while (!(batch = await client.end(id).catch(() => undefined)));
  if (batch.ImportStatus !== 'LessonsCreated') throw new Error(String(batch.ErrorMessages));
}

/** The value that `part` of the sorted ones do not exceed. */
const quantile = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;

try {
  const rooms = Array.from({ length: 100 }, (_, number) => `R${number}`);
  const large = await Promise.all(
    Array.from({ length: tenants }, async (_, number) =>
      visit(url, db, await makeTenant(db, { code: `large${number}`, rooms })),
    ),
  );
  const small = await visit(url, db, await makeTenant(db, { code: 'small', rooms }));
  let ended = 0;
  const sent = await pLimit(4).map(Array.from({ length: huge }).keys(), async (number) => {
    const client = large[number % tenants] as LessonClient;
    const from = term + number * 3_000 * 86_400_000;
    return { client, id: await send(client, makeJobs(lessons, { rooms, prefix: `${number}-`, from })) };
  });
  const ends = sent.map(({ client, id }) => end(client, id).then(() => ended++));
  const all = Promise.all(ends);
  const started = performance.now();
  say(
    `${huge} batches of ${lessons} lessons of ${tenants} tenants are accepted, ${ended} of them have ended`,
  );
  const times: number[] = [];
  for (let number = 0; ended < huge; number++) {
    const since = performance.now();
    const jobs = makeJobs(1, { rooms, prefix: `s${number}-`, from: term + number * 3_600_000 });
    await end(small, await send(small, jobs));
    times.push((performance.now() - since) / 1_000);
    await sleep(100);
  }
  await all;
  const seconds = (performance.now() - started) / 1_000;
  times.sort((one, other) => one - other);
  say(
    `one-lesson batches beside them, until the last huge one had ended after ${seconds.toFixed(0)} s: ${times.length}; ` +
      [
        ['p50', quantile(times, 0.5)] as const,
        ['p99', quantile(times, 0.99)] as const,
        ['longest', times.at(-1) as number] as const,
      ]
        .map(([name, value]) => `${name} ${value.toFixed(2)} s`)
        .join(', '),
  );
} finally {
  await bench.close();
}
