/**
 * `npm run bench:fairness`: how long one-lesson batches of one tenant take, POST to LessonsCreated, while other tenants'
 * huge batches keep a worker busy. `-- --huge=20 --tenants=10 --lessons=20000` changes what is beside them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeTenant } from '../test/_util/factories.ts';
import { makeJobs } from '../test/_util/lessons.ts';
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
  const idOf = async (answer: Response) => ((await answer.json()) as { BatchId: string }).BatchId;
  let ended = 0;
  const ids = await Promise.all(
    Array.from({ length: huge }, async (_, number) => {
      const client = large[number % tenants] as (typeof large)[number];
      const from = term + number * 3_000 * 86_400_000;
      const body = JSON.stringify(makeJobs(lessons, { rooms, prefix: `${number}-`, from }));
      return { client, id: await idOf(await client.post(body)) };
    }),
  );
  const ends = ids.map(({ client, id }) => client.end(id).then(() => ended++));
  const all = Promise.all(ends);
  const started = performance.now();
  say(
    `${huge} batches of ${lessons} lessons of ${tenants} tenants are accepted, ${ended} of them have ended`,
  );
  const times: number[] = [];
  for (let number = 0; ended < huge; number++) {
    const sent = performance.now();
    const jobs = makeJobs(1, { rooms, prefix: `s${number}-`, from: term + number * 3_600_000 });
    const batch = await small.end(await idOf(await small.post(jobs)));
    if (batch.ImportStatus !== 'LessonsCreated') throw new Error(String(batch.ErrorMessages));
    times.push((performance.now() - sent) / 1_000);
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
