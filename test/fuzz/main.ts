/**
 * `npm run fuzz -- --minutes=5`: sends requests of every route of the OpenAPI document and every field of the SDL to a
 * server of its own, valid ones and ones with a fault, and reports answers that cannot be the caller's fault.
 * `--seed=…` repeats the random choices of a run; `--requests=…` ends after so many.
 */
import os from 'node:os';
import { parseArgs } from 'node:util';
import { cloneDatabase, startTestPostgres } from '../_util/postgres.ts';
import { openFuzz } from './open.ts';
import { fuzz, unsuccessful } from './run.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    requests: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const seed = Number(options.seed);
const mostDelay = 50;

const postgres = await startTestPostgres();
process.env['ROOMGATE_TEST_TEMPLATE'] = postgres.url;
const database = await cloneDatabase();
const opened = await openFuzz(database.url);
// Whoever sends must not take the processor from who answers.
os.setPriority(os.constants.priority.PRIORITY_BELOW_NORMAL);
const started = Date.now();
const end = started + Number(options.minutes) * 60_000;
const outcome = await fuzz(opened.world, seed, (sent) => Date.now() > end || sent >= Number(options.requests));
const findings = [...outcome.findings, ...(await opened.findings())];
const windows = opened.loop(started);
await opened.close();
await database.drop();
await postgres.stop();

const total = [...outcome.sent.values()].reduce((sum, sent) => sum + sent, 0);
const say = (line: string) => process.stdout.write(`${line}\n`);
for (const [place, sent] of outcome.sent) say(`${String(sent).padStart(8)}  ${place}`);
say(
  `answers: ${[...outcome.byStatus]
    .sort()
    .map(([status, times]) => `${status} ×${times}`)
    .join(', ')}`,
);
for (const { place, ms } of outcome.slowest) say(`slow: ${Math.round(ms)} ms  ${place}`);
for (const { place, caller, fault, request } of findings)
  say(`FOUND (seed ${seed}) ${place} by ${caller}: ${fault.text}\n  ${request}`);
const never = unsuccessful(outcome);
if (never.length > 0) say(`never did what it is for: ${never.join(', ')}`);
const byOwn = windows.toSorted((one, other) => other.own - one.own);
for (const { own, during } of byOwn.slice(0, 3))
  say(`long turn: ${Math.round(own)} ms of its own work, during ${during.join(', ') || 'no request'}`);
const told = (figures: readonly number[]) => {
  const sorted = figures.toSorted((one, other) => one - other).map(Math.round);
  return `${sorted.at(-1)} ms in the worst of ${sorted.length} windows, ${sorted[sorted.length >> 1]} ms in the middle one`;
};
const delays = windows.map(({ p99 }) => p99);
say(`seed: ${seed}`);
say(`requests sent: ${total}`);
say(`answered 503 with Retry-After: ${outcome.byStatus.get('503') ?? 0}`);
say(`5xx found: ${findings.length}`);
say(`the event loop's longest turn by its own work: ${told(windows.map(({ own }) => own))}`);
say(
  `ready without a processor in a window of 2 s: ${told(windows.flatMap(({ waited }) => (waited === null ? [] : [waited])))}`,
);
say(`event-loop delay p99: ${told(delays)} (must stay under ${mostDelay}; a loop that is never late measures 10)`);
process.exitCode = findings.length === 0 && Math.max(...delays) < mostDelay ? 0 : 1;
