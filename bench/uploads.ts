/**
 * `npm run bench:uploads`: how long a large import takes from its first byte to the 202, alone and beside slow uploads of
 * another tenant that bring 40 KB a second each. `-- --slow=12 --mebibytes=32 --rounds=5` changes what is run.
 */
import { once } from 'node:events';
import net from 'node:net';
import { parseArgs } from 'node:util';
import { makeTenant } from '../test/_util/factories.ts';
import { makeJobs } from '../test/_util/lessons.ts';
import { visit } from '../test/_util/process.ts';
import { median, openBench, say, term } from './harness.ts';

const { values: options } = parseArgs({
  options: {
    slow: { type: 'string', default: '12' },
    mebibytes: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '5' },
  },
});
const [slow, mebibytes, rounds] = [options.slow, options.mebibytes, options.rounds].map(Number) as [
  number,
  number,
  number,
];
const bench = await openBench(500, { Limits__OpenBatches: '1000', Limits__RequestsPerMinute: '100000' });
const { db, url, rooms, token } = bench;

/** 100,000 lessons, made as long as wanted by the remarks of their jobs. */
function makeBody(): string {
  const jobs = makeJobs(100_000, { rooms, from: term });
  const missing = mebibytes * 2 ** 20 - JSON.stringify(jobs).length;
  const Bemerkung = 'x'.repeat(Math.max(0, missing / jobs.length - 16));
  return JSON.stringify(jobs.map((job) => ({ ...job, Bemerkung })));
}

/** An upload that never ends by itself, and what is answered to it. */
async function beginSlow(body: string) {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  let at = 2_000_000;
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
  const measure = async (how: string): Promise<void> => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await importOnce());
    say(
      `${how}: median ${median(times).toFixed(2)} s of ${times.map((time) => time.toFixed(2)).join(', ')} s`,
    );
  };
  say(`tenant B sends 100,000 lessons, ${(body.length / 2 ** 20).toFixed(1)} MiB, until the 202`);
  await importOnce();
  await measure('alone');
  const uploads = await Promise.all(Array.from({ length: slow }, () => beginSlow(body)));
  await measure(`beside ${slow} slow uploads of tenant A`);
  const states = Map.groupBy(uploads, ({ status }) => status());
  say(`the slow ones by then: ${[...states].map(([state, { length }]) => `${length} ${state}`).join(', ')}`);
  for (const { socket } of uploads) socket.destroy();
} finally {
  await bench.close();
}
