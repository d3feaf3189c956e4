/**
 * Calendars of an Exchange server and of Graph under random edits, while notifications are lost, doubled, late and out of
 * order, the mail server refuses, forgets and restarts, and our own processes are killed: once all is quiet and each calendar
 * was read once more, our bookings are what the mail server's ledger says, each once, and whatever it says was acknowledged
 * is in our inbox.
 */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { createPin } from '../../src/identity/service.ts';
import { openLog } from '../../src/log.ts';
import { openDice } from '../_util/dice.ts';
import { makeTenant } from '../_util/factories.ts';
import { freePort } from '../_util/free-port.ts';
import { seed, times } from '../_util/long.ts';
import { pepper } from '../_util/pepper.ts';
import { cloneDatabase } from '../_util/postgres.ts';
import { killPrograms, type Program, startProgram } from '../_util/process.ts';
import { type Acts, disturbServer, editSomething } from './_util/acts.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';
import type { Truth } from './simulator/ledger.ts';

const edits = times(20, 1_000);
const roomsOfTenant = 3;

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let db: Database;
let client: pg.Client;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, { max: 2, log: openLog('silent'), statementTimeout: 0 });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
const leaving: (() => Promise<void>)[] = [];
afterEach(async () => {
  await killPrograms();
  for (const leave of leaving.splice(0)) await leave();
});
afterAll(async () => {
  await db.destroy();
  await client.end();
  await database.drop();
});

/** Whether the condition held in time. */
async function waitUntil(isSo: () => Promise<boolean>, milliseconds: number): Promise<boolean> {
  const end = performance.now() + milliseconds;
  while (!(await isSo())) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

type Room = { address: string; resourceId: number; mandator: string; zone: string };

async function addTenant(code: string, server: MailServer) {
  const zone = 'Europe/Berlin';
  const names = Array.from({ length: roomsOfTenant }, (_, index) => `Room ${index}`);
  const tenant = await makeTenant(db, { code, rooms: names, timeZone: zone });
  const rooms: Room[] = [];
  for (const [index, { id }] of tenant.resources.entries()) {
    const address = `room${index}@${code}.test`;
    const settings = {
      zone,
      autoAccept: index !== 1,
      allowConflicts: index === 2,
      addOrganizerToSubject: index === 2,
    };
    await server.addRoom(address, settings);
    await client.query('update resource set mailbox = $1 where id = $2', [address, id]);
    rooms.push({ address, resourceId: id, mandator: code, zone });
  }
  const { pin } = await createPin(db, pepper, {
    mandatorId: tenant.mandatorId,
    personId: tenant.person('Admin').id,
  });
  return { rooms, pin };
}

function settingsOf(exchange: string, graph: string, port: number, server: MailServer): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  return {
    BaseUrl: url,
    IdpUrl: url,
    LogLevel: 'debug',
    [`MailServer__${exchange}__Kind`]: 'Ews',
    [`MailServer__${exchange}__Url`]: server.ews,
    [`MailServer__${exchange}__User`]: server.user,
    [`MailServer__${exchange}__Password`]: server.password,
    [`MailServer__${exchange}__FutureDays`]: '60',
    [`MailServer__${graph}__Kind`]: 'Graph',
    [`MailServer__${graph}__Url`]: server.graph,
    [`MailServer__${graph}__TokenUrl`]: server.token,
    [`MailServer__${graph}__ClientId`]: server.clientId,
    [`MailServer__${graph}__ClientSecret`]: server.clientSecret,
    [`MailServer__${graph}__FutureDays`]: '60',
  };
}

type Booked = {
  start: string;
  end: string;
  status: string;
  subject: string | null;
  isPrivate: boolean;
  uid: string;
};

/** The booking that an item of the mail server must have; undefined for none. */
function toBooked(truth: Truth, zone: string): Booked | undefined {
  if (truth.isCancelled || truth.answer === 'declined' || truth.shownAs === 'free') return undefined;
  const midnight = (date: string) => {
    const noon = Date.parse(`${date}T12:00:00Z`);
    const format = new Intl.DateTimeFormat('en', { timeZone: zone, hour: 'numeric', hourCycle: 'h23' });
    // A zone of Europe, where the clocks are not changed between midnight and noon of these days but on Sundays.
    for (let at = noon - 16 * 3_600_000; ; at += 900_000)
      if (format.format(at) === '00' && new Date(at).getUTCMinutes() === 0) return new Date(at).toISOString();
  };
  const { days } = truth;
  const isFirm = truth.answer === 'accepted' || truth.answer === 'organizer';
  return {
    start: days ? midnight(days.from) : truth.start,
    end: days ? midnight(days.to) : truth.end,
    status: isFirm && truth.shownAs !== 'tentative' ? 'Confirmed' : 'Tentative',
    // A subject here has at most 200 characters.
    subject: truth.subject.trim().slice(0, 200) || null,
    isPrivate: truth.sensitivity === 'private' || truth.sensitivity === 'confidential',
    uid: truth.uid,
  };
}

type Page = {
  Items: {
    Start: string;
    End: string;
    Status: string;
    Subject: string | null;
    IsPrivate: boolean;
    Origin: { MailItemId: string };
  }[];
  NextCursor: string | null;
};

async function readBooked(url: string, token: string, room: Room): Promise<Booked[]> {
  const booked: Booked[] = [];
  const window = { From: new Date(Date.now() - 5 * 86_400_000), To: new Date(Date.now() + 100 * 86_400_000) };
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({
      ResourceId: String(room.resourceId),
      From: window.From.toISOString(),
      To: window.To.toISOString(),
      ...(cursor && { Cursor: cursor }),
    });
    const answer = await fetch(`${url}/${room.mandator}/api/v1.0/bookings?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (!answer.ok) throw new Error(await answer.text());
    const page = (await answer.json()) as Page;
    for (const { Start, End, Status, Subject, IsPrivate, Origin } of page.Items)
      if (Status === 'Confirmed' || Status === 'Tentative')
        booked.push({
          start: Start,
          end: End,
          status: Status,
          subject: Subject,
          isPrivate: IsPrivate,
          uid: Origin.MailItemId,
        });
    cursor = page.NextCursor;
  }
  return booked;
}

const keyOf = (one: Booked) =>
  JSON.stringify(Object.values({ ...one, start: Date.parse(one.start), end: Date.parse(one.end) }));
const overlaps = (a: Booked, b: Booked) =>
  Date.parse(a.start) < Date.parse(b.end) && Date.parse(b.start) < Date.parse(a.end);

/** Each expected booking must exist once; the room of an item without a booking must be taken. */
function compare(room: Room, wanted: readonly Booked[], booked: readonly Booked[]): string[] {
  const open = new Map<string, Booked[]>();
  for (const one of wanted) open.set(keyOf(one), [...(open.get(keyOf(one)) ?? []), one]);
  const surplus = booked.filter((one) => !open.get(keyOf(one))?.pop());
  const missing = [...open.values()].flat().filter((one) => !booked.some((other) => overlaps(one, other)));
  return [
    ...surplus.map(
      (one) =>
        `${room.address}: booked, and not there: ${JSON.stringify(one)}; its calendar has ${JSON.stringify(wanted.filter(({ uid }) => uid === one.uid).slice(0, 2))}`,
    ),
    ...missing.map((one) => `${room.address}: there, and not booked: ${JSON.stringify(one)}`),
  ];
}

/** Half an hour, on both sides: what is silent is found to be dead, and another subscription takes its place. */
async function passTime(server: MailServer, subscriptions: number): Promise<void> {
  const columns = ['created_at', 'state_since', 'seen_at', 'due_at', 'expires_at', 'renew_at'];
  const back = (names: readonly string[]) => names.map((name) => `${name} = ${name} - interval '5 minutes'`).join();
  for (let step = 0; step < 6; step++) {
    // In the order of the ids, as the service does it.
    for (const [table, times] of [
      ['mail_subscription', columns],
      ['mail_calendar', ['read_at', 'read_whole_at', 'not_before']],
    ] as const)
      await client.query(`
        with held as materialized (select id from ${table} order by id for update)
        update ${table} as one set ${back(times)} from held where held.id = one.id`);
    await server.advance({ minutes: 5 });
  }
  await waitUntil(async () => (await server.subscriptions()).length >= subscriptions, 3_000);
}

async function playRun(): Promise<string[]> {
  const dice = openDice(seed);
  const server = await startMailServer();
  leaving.push(server.stop);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const [exchange, graph] = ['exchange', 'graph'];
  const [ofExchange, ofGraph] = [await addTenant(exchange, server), await addTenant(graph, server)];
  const settings = settingsOf(exchange, graph, port, server);
  const processes: Record<'Web' | 'Worker', Program> = {
    Web: startProgram(database.url, { ...settings, Role: 'Web', Port: String(port) }),
    Worker: startProgram(database.url, { ...settings, Role: 'Worker' }),
  };
  async function killAndStart(role: 'Web' | 'Worker'): Promise<void> {
    await processes[role].end('SIGKILL');
    processes[role] = startProgram(database.url, {
      ...settings,
      Role: role,
      Port: role === 'Web' ? String(port) : '0',
    });
  }
  const rooms = [...ofExchange.rooms, ...ofGraph.rooms];
  const ownRooms = [ofExchange, ofGraph].map((tenant) => tenant.rooms.map(({ address }) => address));
  await processes.Web.ready;
  await waitUntil(async () => (await server.subscriptions()).length >= rooms.length, 15_000);

  for (let done = 0; done < edits; done++) {
    const acts: Acts = { server, dice, rooms: dice.oneOf(ownRooms) };
    await editSomething(acts);
    if (dice.roll() < 0.12) await disturbServer(acts);
    if (dice.roll() < 0.025) await killAndStart(dice.oneOf(['Web', 'Worker'] as const));
    if (dice.roll() < 0.02) await passTime(server, rooms.length);
    // Bursts, and times in which what has changed is read.
    if (dice.roll() < 0.2) await new Promise((resolve) => setTimeout(resolve, dice.below(700)));
  }

  await server.clearFaults();
  await server.comeBack();
  await Promise.all([processes.Web.ready, processes.Worker.ready]);
  await server.quiesce({ advance: true });
  await client.query('update mail_calendar set not_before = null where retired_at is null');
  await client.query(
    `select mark_mail_calendars(array_agg(id), 'Poll', 0) from mail_calendar where retired_at is null`,
  );

  const faults = await waitForTruth();
  faults.push(...(await missingInInbox(server)));
  const isUnexpected = ({ level, msg }: { level: string; msg: string }) =>
    level === 'error' || msg.includes('unexpected');
  for (const { lines, name } of Object.values(processes))
    faults.push(...lines.filter(isUnexpected).map((line) => `${name} says ${JSON.stringify(line)}`));
  await Promise.all(Object.values(processes).map((program) => program.end('SIGTERM')));
  return faults.map((fault) => `TEST_SEED=${seed}: ${fault}`);

  async function signIn(mandator: string, apikey: string): Promise<string> {
    const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey };
    const answer = await fetch(`${url}/connect/token`, { method: 'POST', body: new URLSearchParams(form) });
    const { access_token } = (await answer.json()) as { access_token?: string };
    if (!access_token) throw new Error(`${mandator} cannot sign in: ${answer.status}`);
    return access_token;
  }

  async function waitForTruth(): Promise<string[]> {
    const tokens: Record<string, string> = {
      [exchange]: await signIn(exchange, ofExchange.pin),
      [graph]: await signIn(graph, ofGraph.pin),
    };
    for (const end = performance.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
      const { rows: calendars } = await client.query<{
        resource_id: number;
        window_start: Date | null;
        window_end: Date | null;
        state: string | null;
      }>(
        `select resource_id, window_start, window_end, coalesce(fault_text, case when dirty_since is not null then 'dirty' end) as state
         from mail_calendar where retired_at is null`,
      );
      const faults: string[] = [];
      for (const room of rooms) {
        const calendar = calendars.find(({ resource_id }) => resource_id === room.resourceId);
        if (!calendar?.window_start || calendar.state !== null) {
          faults.push(`${room.address} was not read: ${calendar?.state}`);
          continue;
        }
        const truth = await server.truth(room.address, calendar.window_start, calendar.window_end!);
        const wanted = truth.flatMap((one) => toBooked(one, room.zone) ?? []);
        faults.push(...compare(room, wanted, await readBooked(url, tokens[room.mandator]!, room)));
      }
      if (faults.length === 0 || performance.now() > end) return faults;
    }
  }

  /** Each that was acknowledged is there as often as it was; of Graph each item of a request, whose secret is not kept. */
  async function missingInInbox(mailServer: MailServer): Promise<string[]> {
    const withoutSecret = (text: string) => JSON.stringify({ ...JSON.parse(text), clientState: null });
    const { rows } = await client.query<{ dialect: string; hash: string; body: Buffer }>(
      `select dialect, encode(body_hash, 'hex') as hash, body from mail_notification where kind <> 'Handshake'`,
    );
    const counts = new Map<string, number>();
    for (const { dialect, hash, body } of rows) {
      const key = dialect === 'Graph' ? withoutSecret(body.toString()) : hash;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const isStored = (key: string) => {
      const left = counts.get(key) ?? 0;
      counts.set(key, left - 1);
      return left > 0;
    };
    const acknowledged = await mailServer.deliveries({ state: 'Acknowledged' });
    return acknowledged
      .filter(({ kind }) => kind !== 'handshake')
      .filter(({ face, body, bodyHash }) => {
        const keys =
          face === 'Ews'
            ? [bodyHash]
            : (JSON.parse(body) as { value: object[] }).value.map((item) => withoutSecret(JSON.stringify(item)));
        return !keys.map(isStored).every(Boolean);
      })
      .map(({ face, kind, madeAt }) => `a ${kind} of ${face} from ${madeAt} was acknowledged, and is not in the inbox`);
  }
}

test(
  `bookings follow the mail server (TEST_SEED=${seed})`,
  async () => {
    expect(await playRun()).toEqual([]);
  },
  600_000 + edits * 500,
);
