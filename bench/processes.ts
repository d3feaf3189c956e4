/**
 * `npm run bench:processes`: what the processes themselves cost. How long a start takes until it is ready, with an empty database and
 * with one that is up to date, on a PostgreSQL that runs; the resident memory of processes that have just begun to serve; what an idle
 * Web and Worker process ask PostgreSQL; and the CPU of a request with `Processes=2` beside one process, in turns within one run. Each
 * process is asked as much, since reads that reach one in the same turn share a statement.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { killPrograms, startProgram } from '../test/_util/process.ts';
import { childrenOf, cpuOf, median, memoryOf, say, show } from './_util/figures.ts';
import { load, openBench } from './_util/harness.ts';
import { watchIdle } from './_util/idle.ts';
import { readOptions, seconds, whole } from './_util/options.ts';
import { requestsOf } from './_util/requests.ts';

const options = readOptions({
  rounds: { about: 'rounds that count', read: whole(), usual: '7', smoke: '1' },
  seconds: { about: 'how long a side is asked', read: seconds, usual: '2', smoke: '0.05' },
  warm: { about: 'how long a process is asked before', read: seconds, usual: '10', smoke: '0.05' },
  connections: { about: 'how many ask each process', read: whole(), usual: '32', smoke: '4' },
  starts: { about: 'starts of each kind', read: whole(), usual: '5', smoke: '1' },
  idle: { about: 'how long idle processes are watched', read: seconds, usual: '30', smoke: '0.1' },
});
const bench = await openBench(10, options, { Limits__RequestsPerMinute: '1000000' });
const { client, databaseUrl, tenant } = bench;

type Start = { seconds: number; cpu: number };

/** Starts one process of the role All. */
async function start(url: string): Promise<Start> {
  const begun = performance.now();
  const program = startProgram(url, { LogLevel: 'warn' });
  await program.ready;
  const started = { seconds: (performance.now() - begun) / 1_000, cpu: cpuOf(program.pid) };
  await program.end('SIGTERM');
  return started;
}

async function compareStarts(): Promise<void> {
  const name = `bench_start_${process.pid}`;
  const url = new URL(databaseUrl);
  url.pathname = name;
  const starts: { first: Start[]; later: Start[] } = { first: [], later: [] };
  for (let round = 0; round < options.starts; round++) {
    await client.query(`create database ${name}`);
    try {
      starts.first.push(await start(url.href));
      starts.later.push(await start(url.href));
    } finally {
      await client.query(`drop database ${name} with (force)`);
    }
  }
  say('');
  show(
    'a start',
    { 'quickest s': 2, 'median s': 2, 'ms of CPU': 0 },
    Object.entries(starts).map(([kind, some]) => [
      kind,
      Math.min(...some.map((one) => one.seconds)),
      median(some.map((one) => one.seconds)),
      median(some.map(({ cpu }) => cpu)) / 1_000,
    ]),
  );
}

/** Waits until both processes serve. */
async function bothServe(port: number): Promise<void> {
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  while (!/^roomgate_processes 2$/m.test(await metrics())) await sleep(50);
}

async function showMemory(supervisor: number): Promise<void> {
  // Until each has given back what loading took.
  await sleep(options.smoke ? 0 : 3_000);
  const [first = 0, second = 0] = childrenOf(supervisor);
  const pids = {
    Web: bench.webProcess,
    'the supervisor of Processes=2': supervisor,
    'its first': first,
    'its second': second,
  };
  say('');
  show(
    'resident after the start',
    { MB: 0 },
    Object.entries(pids).map(([name, pid]) => [name, memoryOf(pid) / 1_024]),
  );
}

type Side = { name: string; port: number; pid: number; processes: number };
type Figures = { rate: number; cpu: number };

async function compareRequests(sides: readonly [Side, Side]): Promise<void> {
  const generator = bench.start('load.ts');
  const { get } = requestsOf(bench.token);
  const resources = tenant.resources.map(({ id }) => get(`/${tenant.code}/api/v1.0/resources/${id}`));
  const cases: { name: string; requests: string[]; perSecond?: number }[] = [
    { name: '/healthz', requests: [get('/healthz')] },
    { name: 'a resource by id', requests: resources },
    { name: 'a resource by id, 1,000 a second for each process', requests: resources, perSecond: 1_000 },
  ];
  for (const { name, requests, perSecond } of cases) {
    const ask = async ({ port, pid, processes }: Side, lasting: number): Promise<Figures> => {
      const before = cpuOf(pid);
      const { answers, seconds } = await load(generator, {
        requests,
        port,
        connections: options.connections * processes,
        milliseconds: lasting * 1_000,
        ...(perSecond && { perSecond: perSecond * processes }),
      });
      return { rate: answers / seconds, cpu: (cpuOf(pid) - before) / answers };
    };
    // Each process is to have answered as much: V8 optimizes what has run often.
    for (const side of sides) await ask(side, options.warm * side.processes);
    const figures = new Map<Side, Figures[]>(sides.map((side) => [side, []]));
    for (let round = 0; round < options.rounds; round++)
      for (const side of sides.toSorted(() => Math.random() - 0.5))
        figures.get(side)?.push(await ask(side, options.seconds));
    const base = figures.get(sides[0]) ?? [];
    say('');
    show(
      name,
      { 'req/s': 0, 'us CPU/req': 1, 'ratio to one process, by CPU': 2 },
      sides.map((side) => {
        const own = figures.get(side) ?? [];
        return [
          side.name,
          median(own.map(({ rate }) => rate)),
          median(own.map(({ cpu }) => cpu)),
          // Less than a tick of the clock counts as none.
          median(own.map(({ cpu }, round) => Math.max(1, base[round]?.cpu ?? 0) / Math.max(1, cpu))),
        ];
      }),
    );
  }
}

try {
  const { transactions, cpu } = await watchIdle(bench, options);
  show('idle', { 'transactions/s': 1, "% of a core, with PostgreSQL's part": 2 }, [
    ['a Web and a Worker process', transactions, cpu / 10_000],
  ]);
  const two = await bench.startBeside({ Processes: '2' });
  await bothServe(two.port);
  const supervisor = two.process.pid as number;
  await showMemory(supervisor);
  await compareRequests([
    { name: 'one process', port: Number(new URL(bench.url).port), pid: bench.webProcess, processes: 1 },
    { name: 'Processes=2', port: two.port, pid: supervisor, processes: 2 },
  ]);
  await compareStarts();
} finally {
  await killPrograms();
  await bench.close();
}
