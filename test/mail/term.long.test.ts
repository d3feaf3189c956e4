/**
 * A term of lessons is written into the calendars of its rooms, of a server that lets nobody ask too often and loses answers,
 * while the worker is killed again and again. Each lesson stands there once, and what others change there is read meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { openDice } from '../_util/dice.ts';
import { makeTenant } from '../_util/factories.ts';
import { freePort } from '../_util/free-port.ts';
import { makeJobs } from '../_util/lessons.ts';
import { seed } from '../_util/long.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, type Program, startProgram, until, visit } from '../_util/process.ts';
import { startGoBetween } from './_util/go-between.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';

const [slot, hour, day] = [300_000, 3_600_000, 86_400_000];
const midnight = Math.ceil(Date.now() / day) * day + day;
const [lessonCount, roomCount, weeks, kills] = [20_000, 100, 20, 10];
/** How long each request takes, and which part of the answers is lost. */
const [latencyMs, lostPart] = [15, 0.002];
/** Requests that are refused whatever the limit, also in a batch. */
const busyPart = 0.01;
const restartMs = 10_000;
const patienceMs = 40 * 60_000;

const leaving: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await killPrograms();
  for (const leave of leaving.splice(0).reverse()) await leave();
});

/** How each kind is reached at `url`, and how many requests a second it allows. */
const kinds = {
  async Google(server: MailServer, url: string) {
    const key = JSON.stringify(await server.googleKey());
    return [50, { Url: `${url}/calendar/v3`, TokenUrl: server.googleToken, ServiceAccountKey: key }] as const;
  },
  async Graph(server: MailServer, url: string) {
    const { clientId: ClientId, clientSecret: ClientSecret } = server;
    return [15, { Url: `${url}/v1.0`, TokenUrl: server.token, ClientId, ClientSecret }] as const;
  },
};

/** A limit as mail servers have it: it fills with time. */
function openLimit(perSecond: number) {
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
  async (Kind, reach) => {
    const dice = openDice(seed);
    const server = await startMailServer();
    leaving.push(server.stop);
    const between = await startGoBetween(server.url);
    leaving.push(between.stop);
    const [perSecond, reached] = await reach(server, between.url);
    const isAllowed = openLimit(perSecond);
    between.setFate(async () => {
      if (!isAllowed()) return { status: 429, headers: { 'retry-after': '1' } };
      await sleep(latencyMs);
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
      ...{ BaseUrl: url, IdpUrl: url, LogLevel: 'warn', MailServer__school__Kind: Kind },
      MailServer__school__FutureDays: '200',
    };
    for (const [name, value] of Object.entries(reached)) settings[`MailServer__school__${name}`] = value;
    const web = startProgram(database.url, { ...settings, Role: 'Web', Port: String(port) });
    let worker: Program = startProgram(database.url, { ...settings, Role: 'Worker' });
    await Promise.all([web.ready, worker.ready]);
    const rowsOf = async <Row>(query: ReturnType<typeof sql<Row>>) => (await query.execute(db)).rows;
    await until('the calendars are read', async () => {
      const read = await rowsOf(sql`select from mail_calendar where read_at is not null`);
      return read.length === roomCount && (await server.subscriptions()).length >= roomCount;
    });

    await server.chances({ busy: busyPart, retryAfterSeconds: 1, seed });
    const client = await visit(url, db, tenant);
    const jobs = makeJobs(lessonCount, { rooms: names, perJob: weeks, from: midnight + 7 * hour });
    const before = { ...between.counts };
    expect(await client.importJobs(jobs)).toMatchObject({ ImportStatus: 'LessonsCreated', CreatedCount: lessonCount });
    const begin = performance.now();
    const seconds = () => (performance.now() - begin) / 1_000;

    /** What others book there meanwhile, in the evening. */
    const latencies: number[] = [];
    /** Those long after a death of the worker. */
    const quiet: number[] = [];
    const others: { room: string; start: string }[] = [];
    let isOver = false;
    async function bookThere(): Promise<void> {
      for (let nth = 0; !isOver; nth += 1) {
        const room = dice.oneOf(names);
        // No two at one time: the second would have no booking.
        const start = new Date(midnight + (nth % 100) * day + 18 * hour + Math.floor(nth / 100) * slot).toISOString();
        const end = new Date(Date.parse(start) + slot).toISOString();
        const subject = `Theirs ${nth}`;
        await server.appoint(mailboxOf(room), { start, end, subject, organizer: null });
        const since = performance.now();
        const deaths = killed;
        others.push({ room, start });
        await until(`${subject} is booked`, async () => {
          const booked = await rowsOf(sql`select from booking where kind = 'MailItem' and subject = ${subject}`);
          return booked.length > 0;
        });
        latencies.push(performance.now() - since);
        if (killed === deaths && since > killedAt + restartMs) quiet.push(performance.now() - since);
        await sleep(300);
      }
    }
    const meanwhile = bookThere();

    let killed = 0;
    let killedAt = 0;
    let nearAfter: number | undefined;
    for (let written = 0; written < lessonCount; await sleep(250)) {
      const [now] = await rowsOf(sql<{ written: number; near: number }>`
      select count(*)::int as written, count(*) filter (where starts_at < ${new Date(midnight + 7 * day)})::int as near
      from mail_writing where state = 'Written'`);
      written = now!.written;
      const near = jobs
        .flatMap(({ LektionList }) => LektionList)
        .filter(({ Beginn }) => Date.parse(Beginn) < midnight + 7 * day);
      if (now!.near >= near.length) nearAfter ??= seconds();
      if (killed < kills && written > ((killed + 0.5) * lessonCount) / kills) {
        killed += 1;
        killedAt = performance.now();
        await worker.end('SIGKILL');
        worker = startProgram(database.url, { ...settings, Role: 'Worker' });
      }
      if (seconds() * 1_000 > patienceMs) throw new Error(`${written} of ${lessonCount} items after ${seconds()} s`);
    }
    const tookSeconds = seconds();
    isOver = true;
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
    const sorted = latencies.toSorted((one, other) => one - other);
    const figures = {
      ...{
        items: lessonCount,
        seconds: Math.round(tookSeconds),
        perSecond: Math.round(lessonCount / tookSeconds),
        kills: killed,
      },
      nearestWeekAfterSeconds: Math.round(nearAfter ?? 0),
      ...{ pushed: sorted.length, p50Ms: Math.round(sorted[sorted.length >> 1]!), maxMs: Math.round(sorted.at(-1)!) },
      maxWithoutDeathMs: Math.round(Math.max(...quiet)),
      requests: between.counts.requests - before.requests,
      ...{ writes: between.counts.writes - before.writes, throttled: between.counts.refused - before.refused },
    };
    process.stderr.write(`a term, ${Kind}, TEST_SEED=${seed}: ${JSON.stringify(figures)}\n`);
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(killed).toBe(kills);
    const [echoes] = await rowsOf(sql`select from booking where kind = 'MailItem' and subject not like 'Theirs %'`);
    expect(echoes).toBeUndefined();
  },
);
