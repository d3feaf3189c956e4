/**
 * `npm run bench:signs`: door signs over SSE, each with its own token, on one Web process with default settings. One UPDATE changes
 * every room once a second. Reports how long frames take, measured from before that statement is sent, how many are lost, and the cost
 * of a sign, beside a bare node:http server with the same readers in the same run. Then some signs stop reading; then the Web process is
 * killed and restarted, and all signs reconnect.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readsPlans } from '../src/displays/plan.ts';
import { documents } from '../src/web/display/frames.ts';
import { cpuOf, memoryOf, say, show } from './_util/figures.ts';
import { answerOf, openBench } from './_util/harness.ts';
import { seconds as inSeconds, list, oneOf, readOptions, whole } from './_util/options.ts';
import { openChanges } from './_util/room-changes.ts';
import type { Asked, Order, Report, Sign } from './_util/sign-readers.ts';
import { storeMeetings, storeSigns } from './_util/stored-signs.ts';

const options = readOptions(
  {
    signs: { about: 'door signs', read: whole(), usual: '5000', smoke: '4' },
    rooms: { about: 'rooms, each of which has one or more', read: whole(), usual: '500', smoke: '2' },
    seconds: { about: 'how long they are watched', read: inSeconds, usual: '10', smoke: '0.5' },
    stalled: { about: 'how many stop reading', read: whole(), usual: '200', smoke: '1' },
    skip: {
      about: 'parts to leave out: stalled, restart',
      read: list(oneOf('stalled', 'restart')),
      usual: '',
      smoke: '',
    },
    profile: { about: 'a folder for CPU profiles of the processes', read: String, usual: '', smoke: '' },
  },
  ({ signs, rooms, stalled }) =>
    rooms > signs || stalled >= signs
      ? `--signs=${signs}: each of --rooms=${rooms} needs one, and more must read than the --stalled=${stalled} that do not`
      : undefined,
);
const { signs: signCount, rooms: roomCount, seconds, stalled: stalledCount } = options;
/** The work of a server before it is measured. */
const warmUp = Math.min(3, seconds);

/** Inherited by the reading and the serving process, and by this one. */
function checkOpenFiles(): void {
  const allowed = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  const needed = signCount + 500;
  if (allowed === 'unlimited' || Number(allowed) >= needed) return;
  process.stderr.write(
    `${signCount} signs need ${needed} open files in a process, and ${allowed} are allowed: run "ulimit -n ${needed}" before this in the same shell, or less with --signs.\n`,
  );
  process.exit(1);
}
checkOpenFiles();

/** A process that collects its garbage on SIGUSR2, to distinguish memory in use from garbage. */
const collecting = [
  '--expose-gc',
  `--import=data:text/javascript,process.on('SIGUSR2',()=>gc({type:'major',execution:'sync',flavor:'last-resort'}))`,
];
const profiling = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${path.resolve(options.profile)}`] : [];
const bench = await openBench(roomCount, options, {
  NODE_OPTIONS: [...collecting, ...profiling].join(' '),
  ...(options.smoke && { Limits__StalledReaderSeconds: '1' }),
});
const { mandatorId, code, resources } = bench.tenant;

const { changeRooms, made, close: closeChanges } = openChanges(bench);

const readers = bench.start('sign-readers.ts');
function tell<T = number>(order: Order): Promise<T> {
  readers.send(order);
  return answerOf<T>(readers);
}

/** Resident kilobytes, without garbage. */
async function usedMemoryOf(pid: number): Promise<number> {
  // Pages that the first collection has emptied are returned to the system by the second.
  for (let time = options.smoke ? 1 : 0; time < 2; time++) {
    process.kill(pid, 'SIGUSR2');
    await sleep(options.smoke ? 100 : 1_500);
  }
  return memoryOf(pid);
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${bench.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
}

const countStuck = async () =>
  (await metric('roomgate_streams_stalled')) + (await metric('roomgate_streams_cut_total'));

/** Waits until all readers have seen the last change of their room. @returns the seconds, and how many have not */
async function waitForAll(timeout: number): Promise<{ behind: number; took: number }> {
  const started = performance.now();
  for (;;) {
    const behind = await tell({ kind: 'check', ...made() });
    const took = (performance.now() - started) / 1_000;
    if (behind === 0 || took > timeout) return { behind, took };
    await sleep(50);
  }
}

const rooms = resources.map(({ id }) => id);

type Figures = Report & {
  /** How many readers had not seen the last change of their room, 5 seconds later. */
  behind: number;
  /** Microseconds per frame. */
  cpu: number;
  memory: { grown: number; used: number };
};

async function open(asked: Asked, signs: Sign[]): Promise<void> {
  const started = performance.now();
  await tell({ kind: 'open', asked, signs });
  const took = (performance.now() - started) / 1_000;
  if (signs.length === signCount)
    say(`${signs.length} streams opened in ${took.toFixed(1)} s, ${(signs.length / took).toFixed(0)} a second`);
}

async function readFrames(pid: number): Promise<Omit<Figures, 'memory'>> {
  await waitForAll(5);
  await tell({ kind: 'report' });
  const cpu = cpuOf(pid);
  await changeRooms(rooms, seconds);
  const spent = cpuOf(pid) - cpu;
  const { behind } = await waitForAll(5);
  const report = await tell<Report>({ kind: 'report' });
  return { ...report, behind, cpu: spent / report.frames };
}

/** The work of a server with all signs, and what it needs for them beyond one sign for each room. */
async function measure(pid: number, asked: Asked, signs: Sign[]): Promise<Figures> {
  await open(
    asked,
    signs.filter(({ room }, index) => room !== signs[index - 1]?.room),
  );
  await changeRooms(rooms, warmUp);
  await tell({ kind: 'close' });
  const before = await usedMemoryOf(pid);
  await open(asked, signs);
  await changeRooms(rooms, warmUp);
  const figures = await readFrames(pid);
  const grown = (memoryOf(pid) - before) / signs.length;
  const used = ((await usedMemoryOf(pid)) - before) / signs.length;
  return { ...figures, memory: { grown, used } };
}

async function measureBare(signs: Sign[]): Promise<Figures> {
  const settings = { MANDATOR: String(mandatorId), STATEMENT: readsPlans.sql };
  const bare = bench.start('bare-signs.ts', settings, collecting);
  const port = await answerOf<number>(bare);
  const figures = await measure(bare.pid as number, { port, path: '/', query: '' }, signs);
  await tell({ kind: 'close' });
  bare.kill();
  return figures;
}

const headings = {
  frames: 0,
  'p50 ms': 1,
  'p99 ms': 1,
  'max ms': 1,
  lost: 0,
  skipped: 0,
  'us CPU/frame': 1,
};
type Row = [string, ...number[]];
function rowOf(name: string, figures: Omit<Figures, 'memory'>): Row {
  const { frames, p50, p99, max, behind, skipped, cpu } = figures;
  return [name, frames, p50, p99, max, behind, skipped, cpu];
}

const product: Asked = {
  port: Number(new URL(bench.url).port),
  path: `/${code}/graphql`,
  query: documents.sign.stream,
};

/** The system buffers megabytes between two local processes, which plans alone would take minutes to fill. */
const columns = 'bookingId kind from to start end subject organizer classes teachers';
const bulky = `subscription ($id: ID!, $after: String) { frame: display(resourceId: $id, after: $after) {
  ... on DisplaySnapshot { cursor ${Array.from({ length: 12 }, (_, n) => `a${n}: schedule { ${columns} }`).join(' ')} } } }`;

async function stall(signs: Sign[]): Promise<void> {
  say(`\n${stalledCount} of them stop reading`);
  const pid = bench.webProcess;
  const stalled = signs.slice(0, stalledCount);
  const before = await usedMemoryOf(pid);
  await open({ ...product, query: bulky }, stalled);
  await tell({ kind: 'pause', count: stalledCount });
  const started = performance.now();
  const theirRooms = [...new Set(stalled.map(({ room }) => room))];
  const since = () => (performance.now() - started) / 1_000;
  // Those who were disconnected meanwhile were stuck before.
  for (let stuck = 0; stuck < stalledCount; stuck = await countStuck()) {
    if (since() > 90) throw new Error(`${stuck} of ${stalledCount} are stuck after 90 s`);
    await changeRooms(theirRooms, 1, 25);
  }
  show('signs', headings, [rowOf('the others', await readFrames(pid))]);
  const meanwhile = await usedMemoryOf(pid);
  let cut = 0;
  for (; cut < stalledCount && since() < 90; cut = await metric('roomgate_streams_cut_total'))
    await changeRooms(rooms, 1);
  say(`${cut} of ${stalledCount} were cut, the last ${since().toFixed(0)} s after they had stopped`);
  const megabytes = (kilobytes: number) => (kilobytes / 1_024).toFixed(0);
  say(`memory before ${megabytes(before)} MB, meanwhile ${megabytes(meanwhile)} MB`);
  await open(product, stalled);
}

async function restart(): Promise<void> {
  say('\nthe Web process is killed, every room changes once, and it is started again');
  await tell({ kind: 'return', within: options.smoke ? 0.5 : 30 });
  const started = performance.now();
  await bench.crashWeb(() => changeRooms(rooms, 1));
  const since = () => ((performance.now() - started) / 1_000).toFixed(1);
  say(`ready after ${since()} s`);
  const { behind } = await waitForAll(60);
  say(`${signCount - behind} of ${signCount} signs show the right state after ${since()} s`);
  const [statements, read] = [
    await metric('roomgate_display_reads_total'),
    await metric('roomgate_display_rooms_read_total'),
  ];
  say(`${read} rooms were read for ${roomCount} rooms, in ${statements} statements`);
}

try {
  await storeMeetings(bench);
  const signs = await storeSigns(bench, signCount);
  await bench.settle();
  await changeRooms(rooms, 1);
  say(`${signCount} signs, ${roomCount} rooms, each of which changes once a second\n\nbare node:http`);
  const bare = await measureBare(signs);
  say('\nroomgate');
  const own = await measure(bench.webProcess, product, signs);
  say('');
  show('signs', { ...headings, 'p99 ratio to bare': 2 }, [
    [...rowOf('bare', bare), 1],
    [...rowOf('roomgate', own), own.p99 / bare.p99],
  ]);
  say('');
  const perSign = (name: string, { memory: { used, grown } }: Figures): Row => {
    // With a few signs it is less than the process needs more or less by itself.
    const [least, ofBare] = [used, bare.memory.used].map((kilobytes) => Math.max(0.1, kilobytes)) as [number, number];
    return [name, used, grown, least / ofBare];
  };
  show('memory of a sign', { kB: 1, 'kB with garbage': 1, 'ratio to bare': 2 }, [
    perSign('bare', bare),
    perSign('roomgate', own),
  ]);
  if (!options.skip.includes('stalled')) await stall(signs);
  if (!options.skip.includes('restart')) await restart();
} finally {
  await closeChanges();
  await bench.close();
}
