/**
 * `npm run bench:uploads`: how long a large import takes from its first byte to the 202, alone and beside slow uploads of
 * another tenant at 40 KB a second each.
 */
import { once } from 'node:events';
import net from 'node:net';
import { makeTenant } from '../test/_util/factories.ts';
import { makeJobs } from '../test/_util/lessons.ts';
import { visit } from '../test/_util/process.ts';
import { median, say, show } from './_util/figures.ts';
import { openBench, term } from './_util/harness.ts';
import { readOptions, whole } from './_util/options.ts';

const options = readOptions({
  slow: { about: 'slow uploads', read: whole(), usual: '12', smoke: '3' },
  lessons: { about: 'lessons of the large import', read: whole(), usual: '100000', smoke: '1000' },
  mebibytes: { about: 'how long it is at the least', read: whole(), usual: '32', smoke: '1' },
  rounds: { about: 'imports alone, and as many beside the slow ones', read: whole(), usual: '5', smoke: '1' },
});
const { slow, lessons, mebibytes, rounds } = options;
const bench = await openBench(500, options, {
  Limits__OpenBatches: '1000',
  Limits__RequestsPerMinute: '100000',
});
const { db, url, rooms, token } = bench;

/** The lessons, padded to the wanted size with remarks of their jobs. */
function makeBody(): string {
  const jobs = makeJobs(lessons, { rooms, from: term });
  const missing = mebibytes * 2 ** 20 - JSON.stringify(jobs).length;
  const Bemerkung = 'x'.repeat(Math.max(0, missing / jobs.length - 16));
  return JSON.stringify(jobs.map((job) => ({ ...job, Bemerkung })));
}

/** An upload that never ends by itself, and its answer. */
async function beginSlow(body: string) {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  let at = Math.min(2_000_000, body.length >> 1);
  let answer = '';
  socket.write(
    `POST /school/api/v2.0/jobs/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, at)}`,
  );
  const trickle = setInterval(() => socket.write(body.slice(at, (at += 10_000))), 250);
  socket.on('data', (data) => (answer += data)).on('error', () => {});
  socket.on('close', () => clearInterval(trickle));
  return { socket, status: () => /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 'arriving' };
}

try {
  const body = makeBody();
  const other = await visit(url, db, await makeTenant(db, { code: 'other', rooms }));
  const importOnce = async (): Promise<number> => {
    const started = performance.now();
    const answer = await other.post(body);
    const { BatchId } = (await answer.json()) as { BatchId: string };
    const seconds = (performance.now() - started) / 1_000;
    if (answer.status !== 202) say(`refused: ${answer.status} after ${seconds.toFixed(2)} s`);
    else await other.call(`/batches/${BatchId}/cancel`, { method: 'POST' });
    return seconds;
  };
  const measure = async () => {
    const before = await bench.cpu();
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await importOnce());
    return { seconds: median(times), longest: Math.max(...times), cpu: (await bench.cpu()) - before };
  };
  say(`tenant B sends ${lessons} lessons, ${(body.length / 2 ** 20).toFixed(1)} MiB, until the 202`);
  await importOnce();
  const alone = await measure();
  const uploads = await Promise.all(Array.from({ length: slow }, () => beginSlow(body)));
  const beside = await measure();
  const row = (name: string, { seconds, longest, cpu }: typeof alone): [string, ...number[]] => [
    name,
    seconds,
    longest,
    cpu / rounds,
    seconds / alone.seconds,
  ];
  show('median', { seconds: 2, longest: 2, 'us CPU/import': 0, 'ratio to alone': 2 }, [
    row('alone', alone),
    row(`beside ${slow} slow uploads of tenant A`, beside),
  ]);
  const states = Map.groupBy(uploads, ({ status }) => status());
  say(`the slow ones by then: ${[...states].map(([state, { length }]) => `${length} ${state}`).join(', ')}`);
  for (const { socket } of uploads) socket.destroy();
} finally {
  await bench.close();
}
