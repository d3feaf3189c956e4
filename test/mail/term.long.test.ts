/**
 * A term of lessons is written into the calendars of its rooms, of a server that lets nobody ask too often and loses answers,
 * while the worker is killed again and again. Each lesson stands there once, and what others change there is read meanwhile.
 * How long that takes is printed, and depends on the machine; what a death or a pause of the server held up is told apart.
 */
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { cpuOf, quantile } from '../../bench/_util/figures.ts';
import { openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { openDice } from '../_util/dice.ts';
import { makeTenant } from '../_util/factories.ts';
import { freePort } from '../_util/free-port.ts';
import { makeJobs } from '../_util/lessons.ts';
import { seed } from '../_util/long.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, type Program, startProgram, until, visit } from '../_util/process.ts';
import { type Refusal, startGoBetween } from './_util/go-between.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';

const [slot, hour, day] = [300_000, 3_600_000, 86_400_000];
const midnight = Math.ceil(Date.now() / day) * day + day;
const [roomCount, weeks, kills] = [100, 20, 10];
/** Which part of the answers is lost. */
const lostPart = 0.002;
/** How long Graph is at an event, of which it does four of a mailbox at a time. */
const eventMs = 200;
/** Requests that are refused whatever the limit, also in a batch. */
const busyPart = 0.01;
/** The pause that the server then asks for. */
const pauseSeconds = 1;
/** The pause between two bookings of others. */
const betweenMs = 500;
const patienceMs = 40 * 60_000;
const soon = { 'retry-after': `${pauseSeconds}` };

/** Of which one is killed at a time; a single one is the harder case. */
const workerCount = Number(process.env['TEST_WORKERS'] ?? 1);

/** What is printed at the end, a line for each kind. */
const table: Record<string, string | number>[] = [];
afterAll(() => {
  const lines = [Object.keys(table[0] ?? {}), ...table.map((row) => Object.values(row))];
  process.stderr.write(`${lines.map((line) => line.join(' | ')).join('\n')}\n`);
});

const leaving: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await killPrograms();
  for (const leave of leaving.splice(0).reverse()) await leave();
});

type Kind = {
  /** Of the term; `TEST_LESSONS` is another number, for a short look. */
  lessons: number;
  settings(server: MailServer, url: string): Promise<Record<string, string>>;
  /** What the server refuses beside what the simulator does itself. */
  limit: () => () => Refusal | undefined;
  /** How long a request takes, by the bytes of its body. */
  latencyMs: (bytes: number) => number;
};

const kinds: Record<string, Kind> = {
  /** Graph takes four requests at a time for a mailbox: the simulator does so too. Beyond that it has a bad second each minute. */
  Graph: {
    lessons: 20_000,
    latencyMs: () => 15,
    async settings({ clientId: ClientId, clientSecret: ClientSecret, token: TokenUrl }, url) {
      return { Kind: 'Graph', Url: `${url}/v1.0`, TokenUrl, ClientId, ClientSecret };
    },
    limit: () => () => (performance.now() % 60_000 < 1_000 ? { status: 429, headers: soon } : undefined),
  },
  /** Exchange gives an account a budget that fills with time; who has used it up is told how long to wait. */
  Exchange: {
    lessons: 20_000,
    // An item has about 900.
    latencyMs: (bytes) => 100 + bytes / 30,
    async settings({ user: User, password: Password }, url) {
      return { Kind: 'Ews', Url: `${url}/EWS/Exchange.asmx`, User, Password };
    },
    limit() {
      const isAllowed = openBudget(30);
      const busy = (name: string) => `<${name}>ErrorServerBusy</${name}>`;
      const wait = `<t:Value Name="BackOffMilliseconds">${pauseSeconds * 1_000}</t:Value>`;
      const spaces = ['messages', 'types'].map(
        (name) => `xmlns:${name[0]}="http://schemas.microsoft.com/exchange/services/2006/${name}"`,
      );
      const detail = `<detail ${spaces.join(' ')}>${busy('m:ResponseCode')}<m:MessageXml>${wait}</m:MessageXml></detail>`;
      const fault = `<s:Fault>${busy('faultcode')}<faultstring>Busy</faultstring>${detail}</s:Fault>`;
      const body = `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${fault}</s:Body></s:Envelope>`;
      const refusal = { status: 500, headers: { 'content-type': 'text/xml; charset=utf-8' }, body };
      return () => (isAllowed() ? undefined : refusal);
    },
  },
  /** Google counts the requests of an account within the last minute, and does not say when it may be asked again. */
  Google: {
    lessons: 2_000,
    latencyMs: () => 100,
    async settings(server, url) {
      const key = JSON.stringify(await server.googleKey());
      return { Kind: 'Google', Url: `${url}/calendar/v3`, TokenUrl: server.googleToken, ServiceAccountKey: key };
    },
    limit() {
      const asked: number[] = [];
      const errors = [{ domain: 'usageLimits', reason: 'rateLimitExceeded', message: 'Rate Limit Exceeded' }];
      const body = JSON.stringify({ error: { code: 403, message: 'Rate Limit Exceeded', errors } });
      return () => {
        const now = performance.now();
        while (asked[0] !== undefined && asked[0] < now - 60_000) asked.shift();
        if (asked.length >= 600) return { status: 403, headers: { 'content-type': 'application/json' }, body };
        asked.push(now);
        return undefined;
      };
    },
  },
};

/** Requests a second, of which so many of one second may come at once. */
function openBudget(perSecond: number) {
  let [left, since] = [perSecond, performance.now()];
  return () => {
    const now = performance.now();
    left = Math.min(perSecond, left + ((now - since) / 1_000) * perSecond);
    since = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

test.each(Object.entries(kinds))(
  `%s: each lesson of a term stands there once (TEST_SEED=${seed})`,
  async (name, { lessons, settings: settingsOf, limit, latencyMs }) => {
    const lessonCount = Number(process.env['TEST_LESSONS'] ?? lessons);
    const dice = openDice(seed);
    const server = await startMailServer({ latencyMs: eventMs });
    leaving.push(server.stop);
    const between = await startGoBetween(server.url);
    leaving.push(between.stop);
    const refuse = limit();
    between.setFate(async ({ body: { length: bytes } }) => {
      const refusal = refuse();
      if (refusal) return refusal;
      await sleep(latencyMs(bytes));
      return dice.roll() < lostPart ? 'NoAnswer' : 'Passes';
    });
    const database = await cloneDatabase();
    const db = openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
    leaving.push(async () => {
      await db.destroy();
      await database.drop();
    });
    const names = Array.from({ length: roomCount }, (_, at) => `T${String(at).padStart(3, '0')}`);
    const tenant = await makeTenant(db, { rooms: names });
    const mailboxOf = (name: string) => `${name.toLowerCase()}@rooms.test`;
    for (const name of names) await server.addRoom(mailboxOf(name), { allowConflicts: true });
    await sql`update resource set mailbox = lower(name) || '@rooms.test'`.execute(db);
    await sql`update mandator set parameters = parameters || '{"CalendarWriting": "Full"}'`.execute(db);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const settings: Record<string, string> = {
      BaseUrl: url,
      IdpUrl: url,
      LogLevel: 'warn',
      MailServer__school__FutureDays: '200',
    };
    for (const [name, value] of Object.entries(await settingsOf(server, between.url)))
      settings[`MailServer__school__${name}`] = value;
    const web = startProgram(database.url, { ...settings, Role: 'Web', Port: String(port) });
    /** Workers that take jobs. */
    const alive = new Set<Program>();
    function startWorker(): Program {
      const worker = startProgram(database.url, { ...settings, Role: 'Worker' });
      worker.ready.then(
        () => alive.add(worker),
        () => {},
      );
      return worker;
    }
    const workers: Program[] = Array.from({ length: workerCount }, startWorker);
    await Promise.all([web, ...workers].map(({ ready }) => ready));
    const rowsOf = async <Row>(query: ReturnType<typeof sql<Row>>) => (await query.execute(db)).rows;
    await until('the calendars are read', async () => {
      const read = await rowsOf(sql`select from mail_calendar where read_at is not null`);
      return read.length === roomCount && (await server.subscriptions()).length >= roomCount;
    });

    await server.chances({ busy: busyPart, retryAfterSeconds: pauseSeconds, seed });
    const client = await visit(url, db, tenant);
    const jobs = makeJobs(lessonCount, { rooms: names, perJob: weeks, from: midnight + 7 * hour });
    const before = { ...between.counts };
    expect(await client.importJobs(jobs)).toMatchObject({ ImportStatus: 'LessonsCreated', CreatedCount: lessonCount });
    const begin = performance.now();
    const seconds = () => (performance.now() - begin) / 1_000;

    /** What others book there meanwhile, in the evening; not slower where it is read slowly. */
    const others: { room: string; start: string }[] = [];
    /** `met`: what kept it from being read for a time. */
    type Pushed = { room: string; since: number; met: Set<'Death' | 'Pause'> };
    /** Those that are not booked yet, by subject. */
    const pending = new Map<string, Pushed>();
    const read: { ms: number; met: Pushed['met'] }[] = [];
    let isOver = false;
    async function bookThere(): Promise<void> {
      for (let nth = 0; !isOver; nth += 1) {
        const room = dice.oneOf(names);
        // No two at one time: the second would have no booking.
        const start = new Date(midnight + (nth % 100) * day + 18 * hour + Math.floor(nth / 100) * slot).toISOString();
        const end = new Date(Date.parse(start) + slot).toISOString();
        const subject = `Theirs ${nth}`;
        await server.appoint(mailboxOf(room), { start, end, subject, organizer: null });
        pending.set(subject, { room, since: performance.now(), met: new Set() });
        others.push({ room, start });
        await sleep(betweenMs);
      }
    }
    async function awaitBookings(): Promise<void> {
      const subjects = [...pending.keys()];
      const [now] = await rowsOf(sql<{ booked: string[]; resting: string[] }>`
        select array(select subject from booking where kind = 'MailItem' and subject = any (${subjects})) as booked,
          array(select resource.name from mail_calendar as calendar
            join resource on (resource.mandator_id, resource.id) = (calendar.mandator_id, calendar.resource_id)
            where calendar.failures > 0) as resting`);
      const { booked, resting } = now!;
      for (const { room, met } of pending.values()) {
        if (alive.size === 0) met.add('Death');
        // The server has refused a reading, or lost its answer, and is asked again after a pause.
        if (resting.includes(room)) met.add('Pause');
      }
      const at = performance.now();
      for (const subject of booked) {
        const { since, met } = pending.get(subject)!;
        pending.delete(subject);
        read.push({ ms: at - since, met });
      }
    }
    const watching = new AbortController();
    const keepWatching = async () => {
      for (; !watching.signal.aborted; await sleep(50)) await awaitBookings();
    };

    let killed = 0;
    let workerCpu = 0;
    const meanwhile = Promise.all([bookThere(), keepWatching()]);
    leaving.push(async () => {
      isOver = true;
      watching.abort();
      await meanwhile.catch(() => {});
    });
    let nearAfter: number | undefined;
    const near = jobs
      .flatMap(({ LektionList }) => LektionList)
      .filter(({ Beginn }) => Date.parse(Beginn) < midnight + 7 * day);
    for (let written = 0; written < lessonCount; await sleep(250)) {
      const [now] = await rowsOf(sql<{ written: number; near: number }>`
        select count(*)::int as written, count(*) filter (where starts_at < ${new Date(midnight + 7 * day)})::int as near
        from mail_writing where state = 'Written'`);
      written = now!.written;
      if (now!.near >= near.length) nearAfter ??= seconds();
      if (killed < kills && written > ((killed + 0.5) * lessonCount) / kills) {
        const which = killed % workerCount;
        killed += 1;
        workerCpu += cpuOf(workers[which]!.pid);
        alive.delete(workers[which]!);
        if (alive.size === 0) for (const { met } of pending.values()) met.add('Death');
        await workers[which]!.end('SIGKILL');
        workers[which] = startWorker();
      }
      if (seconds() * 1_000 > patienceMs) throw new Error(`${written} of ${lessonCount} items after ${seconds()} s`);
    }
    const tookSeconds = seconds();
    isOver = true;
    await until('all that others booked is booked', () => pending.size === 0);
    watching.abort();
    await meanwhile;

    await server.clearFaults();
    const truths = await Promise.all(names.map((name) => server.truth(mailboxOf(name))));
    const wanted = new Map<string, number>();
    const lineOf = (room: string, start: string) => `${room} ${Date.parse(start)}`;
    for (const { LektionList } of jobs)
      for (const { RessourceName, Beginn } of LektionList) wanted.set(lineOf(RessourceName, Beginn), 1);
    for (const { room, start } of others) wanted.set(lineOf(room, start), (wanted.get(lineOf(room, start)) ?? 0) + 1);
    for (const [at, truth] of truths.entries())
      for (const { start } of truth) {
        const line = lineOf(names[at]!, start);
        wanted.set(line, (wanted.get(line) ?? 0) - 1);
      }
    const wrong = [...wanted].filter(([, left]) => left !== 0);
    const figuresOf = (unsorted: readonly number[]) => {
      const times = unsorted.toSorted((one, other) => one - other);
      const at = (part: number) => (times.length > 0 ? Math.round(quantile(times, part)) : null);
      return { pushed: times.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
    };
    const timesOf = (some: typeof read) => figuresOf(some.map(({ ms }) => ms));
    const undisturbed = read.filter(({ met }) => met.size === 0);
    const told = (name: 'requests' | 'writes' | 'refused' | 'throttled') => between.counts[name] - before[name];
    const figures = {
      items: lessonCount,
      seconds: Math.round(tookSeconds),
      perSecond: Math.round(lessonCount / tookSeconds),
      deaths: killed,
      nearestWeekAfterSeconds: Math.round(nearAfter ?? 0),
      read: timesOf(read),
      readAfterDeath: timesOf(read.filter(({ met }) => met.has('Death'))),
      readAfterPause: timesOf(read.filter(({ met }) => met.has('Pause') && !met.has('Death'))),
      readUndisturbed: timesOf(undisturbed),
      requests: told('requests'),
      writes: told('writes'),
      throttled: told('refused') + told('throttled'),
      workerCpuSeconds: Math.round((workerCpu + workers.reduce((sum, { pid }) => sum + cpuOf(pid), 0)) / 1_000_000),
      loadOfMachine: os.loadavg().map(Math.round).join(' '),
    };
    process.stderr.write(`a term, ${name}, TEST_SEED=${seed}: ${JSON.stringify(figures)}\n`);
    const sumOf = (lefts: number[]) => lefts.reduce((sum, left) => sum + Math.abs(left), 0);
    const lefts = wrong.map(([, left]) => left);
    const inSeconds = ({ pushed, p50Ms, p99Ms, maxMs }: ReturnType<typeof figuresOf>) =>
      `${pushed}: ${[p50Ms, p99Ms, maxMs].map((ms) => (ms === null ? '-' : (ms / 1_000).toFixed(1))).join(' ')}`;
    table.push({
      kind: name,
      items: lessonCount + others.length,
      workers: workerCount,
      deaths: killed,
      doubled: sumOf(lefts.filter((left) => left < 0)),
      missing: sumOf(lefts.filter((left) => left > 0)),
      seconds: figures.seconds,
      'read (p50 p99 max in s)': inSeconds(figures.read),
      'no worker alive': inSeconds(figures.readAfterDeath),
      'a pause of the server': inSeconds(figures.readAfterPause),
      neither: inSeconds(figures.readUndisturbed),
    });
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(killed).toBe(kills);
    const [echoes] = await rowsOf(sql`select from booking where kind = 'MailItem' and subject not like 'Theirs %'`);
    expect(echoes).toBeUndefined();
  },
);
