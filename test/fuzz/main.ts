/**
 * `npm run fuzz -- --minutes=5`: sends requests of every route of the OpenAPI document and every field of the SDL to a
 * server of its own, right ones and ones with something wrong, and tells what it answers that no caller can be guilty of.
 * `--seed=…` begins with the same dice again; `--requests=…` ends after so many.
 */
import { parseArgs } from 'node:util';
import { cloneDatabase, startTestPostgres } from '../_util/postgres.ts';
import { openFuzz } from './open.ts';
import { fuzz } from './run.ts';

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
const end = Date.now() + Number(options.minutes) * 60_000;
const outcome = await fuzz(
  opened.world,
  seed,
  (sent) => Date.now() > end || sent >= Number(options.requests),
);
const findings = [...outcome.findings, ...(await opened.findings())];
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
  say(`FOUND (seed ${seed}) ${place} by ${caller}: ${fault}\n  ${request}`);
const never = [...outcome.sent.keys()].filter((place) => !outcome.succeeded.has(place));
if (never.length > 0) say(`never did what it is for: ${never.join(', ')}`);
const told = (delays: readonly number[]) => {
  const sorted = delays.toSorted((one, other) => one - other);
  const [middle, worst] = [sorted[sorted.length >> 1] ?? 0, sorted.at(-1) ?? 0];
  return `${Math.round(worst)} ms in the worst of ${sorted.length} windows, ${Math.round(middle)} ms in the middle one`;
};
say(`seed: ${seed}`);
say(`requests sent: ${total}`);
say(`answered 503 with Retry-After: ${outcome.byStatus.get('503') ?? 0}`);
say(`5xx found: ${findings.length}`);
say(`event-loop delay p99: ${told(outcome.delays)} (must stay under ${mostDelay})`);
say(`the same of an idle thread on this machine: ${told(outcome.idleDelays)}`);
process.exitCode = findings.length === 0 && Math.max(...outcome.delays) < mostDelay ? 0 : 1;
