/**
 * `npm run bench:signs`: door signs over SSE, each with a token of its own, on one Web process with its settings as they
 * are. Every room changes once a second by one UPDATE; told is how long a frame takes from before that statement is sent,
 * which of them were lost, and what a sign costs, beside a bare node:http server with the same readers in the same run.
 * Then some signs stop reading; then the Web process is killed and started again, and all signs come back.
 *
 * `-- --signs=5000 --rooms=500 --seconds=10 --stalled=200 --skip-stalled --skip-restart` changes what is run, and
 * `--profile=DIRECTORY` writes CPU profiles of the processes.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { readConfig } from '../src/config.ts';
import { readsPlans } from '../src/displays/plan.ts';
import { hashDisplayToken, makeDisplayToken } from '../src/identity/service.ts';
import { documents } from '../src/web/display/frames.ts';
import { pepper } from '../test/_util/service.ts';
import { cpuOf, openBench, say } from './harness.ts';
import type { Asked, Order, Report, Sign } from './sign-readers.ts';

const { values: options } = parseArgs({
  options: {
    signs: { type: 'string', default: '5000' },
    rooms: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '10' },
    stalled: { type: 'string', default: '200' },
    'skip-stalled': { type: 'boolean', default: false },
    'skip-restart': { type: 'boolean', default: false },
    profile: { type: 'string', default: '' },
  },
});
const [signCount, roomCount] = [Number(options.signs), Number(options.rooms)];
const [seconds, stalledCount] = [Number(options.seconds), Number(options.stalled)];

/** Of the process that reads and of the one that serves; this one has inherited it too. */
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

/** A process that collects its garbage when it gets SIGUSR2, so that what is in use can be told from what once was. */
const collecting = [
  '--expose-gc',
  `--import=data:text/javascript,process.on('SIGUSR2',()=>gc({type:'major',execution:'sync',flavor:'last-resort'}))`,
];
const profiling = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${path.resolve(options.profile)}`] : [];
const bench = await openBench(roomCount, { NODE_OPTIONS: [...collecting, ...profiling].join(' ') });
const { client, tenant, databaseUrl } = bench;
const { mandatorId, code, resources } = tenant;

/** Five a day in each room for three days, of which two are lessons. */
async function storeBookings(): Promise<void> {
  const booking = `
    select n + 1 as id, $2::int + n % $3::int as resource_id, n / $3 % 5 as number, n / $3 / 5 as day,
      (current_date + n / $3 / 5) + time '08:00' + n / $3 % 5 * interval '2 hours' as start
    from generate_series(0, 15 * $3::int - 1) as n`;
  const values = [mandatorId, resources[0]?.id, roomCount];
  const user = tenant.person('User').id;
  await client.query('begin');
  await client.query('set local session_replication_role = replica');
  await client.query(
    `insert into booking (mandator_id, id, resource_id, kind, status, origin, subject, is_private, occupied, batch_id,
       created_by, organizer_id, check_in_from, check_in_until)
     overriding system value
     select $1, id, resource_id, case when number < 3 then 'Booking' else 'Lesson' end, 'Confirmed',
       case when number < 3 then 'Api' else 'Import' end, 'Meeting number ' || id, number = 2,
       tstzrange(start, start + interval '90 minutes'), case when number >= 3 then gen_random_uuid() end,
       case when number < 3 then $4::int end, case when number < 3 then $4::int end,
       case when number = 1 then start end, case when number = 1 then start + interval '15 minutes' end
     from (${booking}) as booking`,
    [...values, user],
  );
  await client.query(
    `insert into lesson_job (mandator_id, id, job_id, batch_id, created_by) overriding system value
     values ($1, 1, 'Timetable', gen_random_uuid(), $2)`,
    [mandatorId, user],
  );
  await client.query(
    `insert into lesson (mandator_id, job, lektion_id, booking_id, resource_id, beginn, ende, status, fach, klassen, lehrpersonen)
     select $1, 1, id::text, id, resource_id, start, start + interval '90 minutes', 'Geplant', 'Mathematik', array['1a', '1b'], array['Anna Muster']
     from (${booking}) as booking where number >= 3`,
    values,
  );
  await client.query('commit');
  await client.query(`select setval(pg_get_serial_sequence('booking', 'id'), (select max(id) from booking))`);
}

/** Paired devices, one room each, as an Admin's confirmation leaves them. */
async function storeSigns(): Promise<Sign[]> {
  const config = readConfig(
    { DatabaseUrl: databaseUrl, Pepper: pepper },
    path.join(import.meta.dirname, '..'),
  );
  const signs = Array.from({ length: signCount }, (_, number) => ({
    room: resources[Math.floor((number * roomCount) / signCount)]?.id as number,
    token: makeDisplayToken(),
  }));
  await client.query(
    `with sent as (
       select * from unnest($3::int[], $4::bytea[]) with ordinality as sent (room, hash, number)
     ), person as (
       insert into person (mandator_id, name, role, email, time_zone)
       select $1, 'Sign ' || number, 'Display', number || '@displays.invalid', 'Europe/Berlin' from sent
       returning id, split_part(email, '@', 1)::int as number
     ), made as (
       insert into display (mandator_id, person_id, may_book, privacy, token_hash, created_by, expires_at, due_at)
       select $1, person.id, true, 'Title', hash, $2, now() + interval '90 days', now() from sent join person using (number)
       returning id, token_hash
     )
     insert into display_resource (mandator_id, display_id, resource_id)
     select $1, made.id, room from sent join made on made.token_hash = sent.hash`,
    [
      ...[mandatorId, tenant.person('Admin').id, signs.map(({ room }) => room)],
      signs.map(({ token }) => hashDisplayToken(config, token)),
    ],
  );
  return signs;
}

const writers = new pg.Pool({ connectionString: databaseUrl, max: 8 });
/** By room: the booking that changes, and how often it has. */
const changing = new Map<number, { bookingId: number; changes: number }>();

/** One change of a room, with its number and the time in a subject. */
async function change(room: number): Promise<void> {
  const one = changing.get(room) as { bookingId: number; changes: number };
  const writer = await writers.connect();
  try {
    const subject = `Meeting #${++one.changes}@${process.hrtime.bigint() / 1_000n}#`;
    const values = [subject, mandatorId, one.bookingId];
    const text = 'update booking set subject = $1 where mandator_id = $2 and id = $3';
    await writer.query({ name: 'change', text, values });
  } finally {
    writer.release();
  }
}

/** Changes all of these rooms so often a second, evenly spread, for so many seconds. */
async function changeRooms(rooms: number[], lasting: number, perSecond = 1): Promise<void> {
  const started = performance.now();
  const pending = new Set<Promise<void>>();
  const total = Math.round(rooms.length * lasting * perSecond);
  for (let done = 0; done < total; ) {
    const due = Math.min(total, ((performance.now() - started) / 1_000) * perSecond * rooms.length);
    for (; done < due; done++) {
      const one = change(rooms[done % rooms.length] as number).finally(() => pending.delete(one));
      pending.add(one);
    }
    await sleep(1);
  }
  await Promise.all(pending);
}

const processes: ChildProcess[] = [];
function start(program: string, env: Record<string, string> = {}, execArgv: string[] = []): ChildProcess {
  const file = path.join(import.meta.dirname, program);
  const child = fork(file, { env: { ...process.env, ...env }, execArgv });
  processes.push(child);
  return child;
}
function answerOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('A process of the bench has ended.'));
    child.once('exit', onExit);
    child.once('message', (answer) => {
      child.off('exit', onExit);
      resolve(answer as T);
    });
  });
}
const readers = start('sign-readers.ts');
function tell<T = number>(order: Order): Promise<T> {
  readers.send(order);
  return answerOf<T>(readers);
}

/** Resident kilobytes. */
const memoryOf = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** The same without garbage. */
async function usedMemoryOf(pid: number): Promise<number> {
  // What the first time has left empty is given back to the system the second time.
  for (let time = 0; time < 2; time++) {
    process.kill(pid, 'SIGUSR2');
    await sleep(1_500);
  }
  return memoryOf(pid);
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${bench.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1]);
}

const changes = () => ({
  rooms: [...changing.keys()],
  changes: [...changing.values()].map((one) => one.changes),
});

/** How many readers have not seen the last change of their room; waits until there are none. @returns seconds, too */
async function waitForAll(timeout: number): Promise<{ behind: number; took: number }> {
  const started = performance.now();
  for (;;) {
    const behind = await tell({ kind: 'check', ...changes() });
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
    say(
      `${signs.length} streams opened in ${took.toFixed(1)} s, ${(signs.length / took).toFixed(0)} a second`,
    );
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

/** What a server does with all signs, and what it needs for them beyond one for each room. */
async function measure(pid: number, asked: Asked, signs: Sign[]): Promise<Figures> {
  await open(
    asked,
    signs.filter(({ room }, index) => room !== signs[index - 1]?.room),
  );
  await changeRooms(rooms, 3);
  await tell({ kind: 'close' });
  const before = await usedMemoryOf(pid);
  await open(asked, signs);
  await changeRooms(rooms, 3);
  const figures = await readFrames(pid);
  const grown = (memoryOf(pid) - before) / signs.length;
  const used = ((await usedMemoryOf(pid)) - before) / signs.length;
  return { ...figures, memory: { grown, used } };
}

async function measureBare(signs: Sign[]): Promise<Figures> {
  const settings = { DATABASE_URL: databaseUrl, MANDATOR: String(mandatorId), STATEMENT: readsPlans.sql };
  const bare = start('bare-signs.ts', settings, collecting);
  const port = await answerOf<number>(bare);
  const figures = await measure(bare.pid as number, { port, path: '/', query: '' }, signs);
  await tell({ kind: 'close' });
  bare.kill();
  return figures;
}

const heading = '                   frames   p50 ms   p99 ms   max ms     lost  skipped   us CPU';
function show(name: string, figures: Omit<Figures, 'memory'>): void {
  const { frames, p50, p99, max, behind, skipped, cpu } = figures;
  const cells = [frames, p50.toFixed(1), p99.toFixed(1), max.toFixed(1), behind, skipped, cpu.toFixed(1)];
  say(name.padEnd(16) + cells.map((cell) => String(cell).padStart(9)).join(''));
}

const product: Asked = {
  port: Number(new URL(bench.url).port),
  path: `/${code}/graphql`,
  query: documents.sign.stream,
};

/** Between two processes of one machine the system buffers megabytes, which plans alone would take minutes to fill. */
const columns = 'bookingId kind from to start end subject organizer classes teachers';
const bulky = `subscription ($id: ID!, $after: String) { frame: display(resourceId: $id, after: $after) {
  ... on DisplaySnapshot { cursor ${Array.from({ length: 12 }, (_, n) => `a${n}: schedule { ${columns} }`).join(' ')} } } }`;

async function stall(signs: Sign[]): Promise<void> {
  say(`\n${stalledCount} of them stop reading\n${heading}`);
  const pid = bench.webProcess;
  const stalled = signs.slice(0, stalledCount);
  const before = await usedMemoryOf(pid);
  await open({ ...product, query: bulky }, stalled);
  await tell({ kind: 'pause', count: stalledCount });
  const started = performance.now();
  const theirRooms = [...new Set(stalled.map(({ room }) => room))];
  for (let stuck = 0; stuck < stalledCount; stuck = await metric('roomgate_streams_stalled'))
    await changeRooms(theirRooms, 1, 25);
  show('the others', await readFrames(pid));
  const meanwhile = await usedMemoryOf(pid);
  let cut = 0;
  const since = () => (performance.now() - started) / 1_000;
  for (; cut < stalledCount && since() < 90; cut = await metric('roomgate_streams_cut_total'))
    await changeRooms(rooms, 1);
  say(`${cut} of ${stalledCount} were cut, the last ${since().toFixed(0)} s after they had stopped`);
  const megabytes = (kilobytes: number) => (kilobytes / 1_024).toFixed(0);
  say(`memory before ${megabytes(before)} MB, meanwhile ${megabytes(meanwhile)} MB`);
  await open(product, stalled);
}

async function restart(): Promise<void> {
  say('\nthe Web process is killed, every room changes once, and it is started again');
  await tell({ kind: 'return' });
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
  await storeBookings();
  // One of tomorrow's.
  for (const [index, room] of rooms.entries())
    changing.set(room, { bookingId: 5 * roomCount + index + 1, changes: 0 });
  const signs = await storeSigns();
  await client.query('vacuum analyze');
  await changeRooms(rooms, 1);
  say(`${signCount} signs, ${roomCount} rooms, each of which changes once a second\n\nbare node:http`);
  const bare = await measureBare(signs);
  say('\nroomgate');
  const own = await measure(bench.webProcess, product, signs);
  say(`\n${heading}`);
  show('bare', bare);
  show('roomgate', own);
  say(`p99 of bare     ${(own.p99 / bare.p99).toFixed(2)}`);
  const perSign = ({ memory: { used, grown } }: Figures) =>
    `${used.toFixed(1)} kB, with garbage ${grown.toFixed(1)} kB`;
  say(`memory per sign ${perSign(own)}; bare ${perSign(bare)}`);
  if (!options['skip-stalled']) await stall(signs);
  if (!options['skip-restart']) await restart();
} finally {
  for (const child of processes) child.kill();
  await writers.end();
  await bench.close();
}
