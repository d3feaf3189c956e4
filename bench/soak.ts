/**
 * `npm run bench:soak`: a day in an hour. Door signs receive changes, people read, a timetable is imported and deleted every minute,
 * and a mail server sends a storm of notifications in every period, all at once on one Web and one Worker process. Reports for each
 * period the latency of reads and frames, the longest turn of each event loop, and the memory of the processes beside that of half-time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { documents } from '../src/web/display/frames.ts';
import { makeJobs } from '../test/_util/lessons.ts';
import { startMailServer } from '../test/mail/_util/mail-server.ts';
import { median, memoryOf, quantile, say, show } from './_util/figures.ts';
import { answerOf, load, longestTurnOf, openBench, term, watchingLoop } from './_util/harness.ts';
import { mailSettings, numbered, openMailboxes } from './_util/mailboxes.ts';
import { seconds as inSeconds, readOptions, whole } from './_util/options.ts';
import { requestsOf } from './_util/requests.ts';
import { openChanges } from './_util/room-changes.ts';
import type { Order, Report } from './_util/sign-readers.ts';
import { storeMeetings, storeSigns } from './_util/stored-signs.ts';

const options = readOptions(
  {
    seconds: { about: 'how long all of it lasts', read: inSeconds, usual: '3600', smoke: '1' },
    periods: { about: 'into how many parts it is cut', read: whole(2), usual: '12', smoke: '2' },
    signs: { about: 'door signs', read: whole(), usual: '5000', smoke: '2' },
    rooms: { about: 'rooms, each of which has one or more', read: whole(), usual: '500', smoke: '2' },
    changes: { about: 'changes of rooms a second', read: whole(), usual: '50', smoke: '20' },
    reads: { about: 'reads a second', read: whole(), usual: '100', smoke: '20' },
    lessons: { about: 'lessons of an import', read: whole(), usual: '1000', smoke: '10' },
    every: { about: 'seconds from import to import', read: inSeconds, usual: '60', smoke: '0.5' },
    storm: {
      about: 'seconds of each period with 500 notifications a second',
      read: inSeconds,
      usual: '20',
      smoke: '0.1',
    },
  },
  ({ signs, rooms }) => (rooms > signs ? `--signs=${signs}: each of --rooms=${rooms} needs one` : undefined),
);
const period = options.seconds / options.periods;
const mailServer = await startMailServer();
const bench = await openBench(options.rooms, options, {
  NODE_OPTIONS: watchingLoop,
  LogLevel: 'error',
  Limits__RequestsPerMinute: '1000000',
  ...mailSettings(mailServer),
});
const { tenant } = bench;
const { code, resources } = tenant;
const rooms = resources.map(({ id }) => id);
const port = Number(new URL(bench.url).port);
const changes = openChanges(bench);
const mailboxes = openMailboxes(bench, mailServer);
const [readers, callers, senders] = ['sign-readers.ts', 'load.ts', 'load.ts'].map((program) => bench.start(program));
const processes = { Web: bench.web, Worker: bench.worker };

function tell<T = number>(order: Order): Promise<T> {
  readers!.send(order);
  return answerOf<T>(readers!);
}

/** What people read: a room, its week, its booking, the availability of rooms, and a plan over GraphQL. */
function readsOf(): string[] {
  const { get, post } = requestsOf(bench.token);
  const week = `From=${new Date(term).toISOString()}&To=${new Date(term + 7 * 86_400_000).toISOString()}`;
  const today = new Date().toISOString().slice(0, 10);
  return rooms.flatMap((id, at) => [
    get(`/${code}/api/v1.0/resources/${id}`),
    get(`/${code}/api/v1.0/bookings/${at + 1}`),
    get(`/${code}/api/v1.0/bookings?ResourceId=${id}&${week}`),
    get(`/${code}/api/v1.0/availability?ResourceIds=${id}&${week}`),
    post(`/${code}/graphql`, {
      query: `query ($id: ID!, $from: DateTime!, $to: DateTime!) {
        resource(id: $id) { name location { name } bookings(first: 20, filter: { from: $from, to: $to }) { nodes { subject start end } } } }`,
      variables: { id: String(id), from: `${today}T00:00:00Z`, to: `${today}T23:59:59Z` },
    }),
  ]);
}

/** Imports a timetable in place of the previous one, again and again. @returns the number of imports */
async function importAgain(isOver: () => boolean): Promise<number> {
  const jobs = makeJobs(options.lessons, { rooms: bench.rooms, from: term });
  const encode = (body: unknown) => Buffer.from(JSON.stringify(body));
  const [created, deleted] = [encode(jobs), encode(jobs.map(({ JobID }) => ({ JobID })))];
  for (let imports = 0; ; imports++) {
    const next = performance.now() + options.every * 1_000;
    await bench.end(await bench.post('create', created), options.lessons);
    await bench.end(await bench.post('delete', deleted), options.lessons);
    while (performance.now() < next && !isOver()) await sleep(100);
    if (isOver()) return imports + 1;
  }
}

type Period = {
  waits: number[];
  frames: Report;
  turns: number[];
  /** The median kilobytes of each process in the period. */
  memory: number[];
  cpu: number;
};

async function measure(notifications: string[]): Promise<Period> {
  await bench.renewToken();
  const reads = readsOf();
  let isOver = false;
  const seen: number[][] = [];
  async function watchMemory(): Promise<void> {
    while (!isOver) {
      seen.push(Object.values(processes).map((process) => (process?.pid ? memoryOf(process.pid) : 0)));
      await sleep(Math.min(5_000, period * 100));
    }
  }
  const before = await bench.cpu();
  const watching = watchMemory();
  const [{ waits = [] }] = await Promise.all([
    load(callers!, { port, requests: reads, connections: 16, milliseconds: period * 1_000, perSecond: options.reads }),
    load(senders!, {
      port,
      requests: notifications,
      connections: 64,
      milliseconds: Math.min(options.storm, period) * 1_000,
      numbered,
      perSecond: 500,
    }),
    changes.changeRooms(rooms, period, options.changes / rooms.length),
  ]);
  isOver = true;
  await watching;
  const turns: number[] = [];
  for (const process of Object.values(processes)) turns.push(process ? await longestTurnOf(process) : 0);
  return {
    waits,
    frames: await tell<Report>({ kind: 'report' }),
    turns,
    memory: Object.keys(processes).map((_, at) => median(seen.map((one) => one[at] as number))),
    cpu: ((await bench.cpu()) - before) / (period * 1_000_000),
  };
}

try {
  // So that ten times all rooms change at one instant.
  await storeMeetings(bench, { at: new Date(Date.now() + 90_000), minutes: options.seconds / 300 });
  const signs = await storeSigns(bench, options.signs);
  const subscriptions = await mailboxes.subscribe();
  await bench.settle();
  // A reader waits for the number of a change.
  await changes.changeRooms(rooms, 1);
  await tell({ kind: 'open', asked: { port, path: `/${code}/graphql`, query: documents.sign.stream }, signs });
  say(`${signs.length} signs, ${rooms.length} rooms; ${options.seconds} s in ${options.periods} periods`);
  const notifications = mailboxes.requestsOf(subscriptions);
  for (const process of Object.values(processes)) if (process) await longestTurnOf(process);
  await tell({ kind: 'report' });
  let isOver = false;
  const importing = importAgain(() => isOver);
  const periods: Period[] = [];
  while (periods.length < options.periods) {
    const one = await measure(notifications);
    periods.push(one);
    // A run that fails after hours has told what it knew.
    const [turns, megabytes] = [
      one.turns.map(Math.round),
      one.memory.map((kilobytes) => Math.round(kilobytes / 1_024)),
    ];
    say(`period ${periods.length}: longest turns ${turns.join(', ')} ms; resident ${megabytes.join(', ')} MB`);
  }
  isOver = true;
  say(`${await importing} imports of ${options.lessons} lessons were made and deleted`);
  const halfTime = periods[periods.length >> 1] as Period;
  show(
    'period',
    {
      reads: 0,
      'p50 ms': 1,
      'p99 ms': 1,
      frames: 0,
      'frame p99 ms': 1,
      skipped: 0,
      'longest turn ms, Web': 0,
      'Worker ms': 0,
      'MB, Web': 0,
      'MB, Worker': 0,
      'us CPU/s of all': 0,
      'memory ratio to half-time': 2,
    },
    periods.map(({ waits, frames, turns: [web = 0, worker = 0], memory, cpu }, at) => [
      `${at + 1}`,
      waits.length,
      quantile(waits, 0.5),
      quantile(waits, 0.99),
      frames.frames,
      frames.p99,
      frames.skipped,
      web,
      worker,
      ...memory.map((kilobytes) => kilobytes / 1_024),
      cpu * 1_000_000,
      memory.reduce((sum, one) => sum + one) / halfTime.memory.reduce((sum, one) => sum + one),
    ]),
  );
} finally {
  await changes.close();
  await bench.close();
  await mailServer.stop();
}
