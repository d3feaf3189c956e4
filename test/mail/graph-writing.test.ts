/** Bookings are written into calendars of Microsoft 365, as the mail server of the tests simulates it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Event } from '@microsoft/microsoft-graph-types';
import { sql } from 'kysely';
import { openLog } from '../../src/log.ts';
import { mailFigures } from '../../src/mail/figures.ts';
import { examineMail } from '../../src/mail/health.ts';
import type { Write, WriteOutcome } from '../../src/mail-servers/connector.ts';
import { openGraph } from '../../src/mail-servers/graph.ts';
import { faultOf } from './_util/fault-of.ts';
import { authorize } from './_util/graph-client.ts';
import { readAll } from './_util/in-steps.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';
import { type Relay, startRelay } from './_util/relay.ts';
import { at, line, openRoomDesk } from './_util/room-desk.ts';
import { openFullDesk, type WritingDesk } from './_util/writing-desk.ts';

const hour = 3_600_000;
const span = (days: number, hours: number, length = 1) => ({
  start: at(days, hours).toISOString(),
  end: at(days, hours + length).toISOString(),
});
const soon = () => AbortSignal.timeout(60_000);

let server: MailServer;
let relay: Relay;
let desk: WritingDesk;
let person: Awaited<ReturnType<typeof openPerson>>;
let used = 0;
/** A room of its own for each test. */
let room: { id: number; mailbox: string; mandatorId: number; calendarId: number };
const rooms = Array.from({ length: 30 }, (_, index) => `G${String(index).padStart(2, '0')}`);
const mailboxOf = (name: string) => `${name.toLowerCase()}@rooms.test`;

/** The person who edits there. */
async function openPerson(): Promise<(method: string, path: string, body: Event) => Promise<number>> {
  const authorized = await authorize(server);
  return async (method, path, body) => {
    const headers = { ...authorized, 'content-type': 'application/json' };
    return (await fetch(server.graph + path, { method, headers, body: JSON.stringify(body) })).status;
  };
}

const settings = (url: string) => ({
  Kind: 'Graph' as const,
  Url: `${url}/v1.0`,
  TokenUrl: server.token,
  PastDays: 1,
  FutureDays: 365,
  ClientId: server.clientId,
  ClientSecret: server.clientSecret,
});

const { set, book, change, cancel, booking, bookings, counts, states, read } = openRoomDesk(() => ({ desk, room }));

beforeAll(async () => {
  server = await startMailServer();
  relay = await startRelay(server.url);
  person = await openPerson();
  for (const name of rooms) await server.addRoom(mailboxOf(name), { allowConflicts: true });
  const { PastDays: _, FutureDays: __, ...told } = settings(relay.url);
  desk = await openFullDesk(
    Object.fromEntries(Object.entries(told).map(([name, value]) => [`MailServer__school__${name}`, value])),
    rooms,
  );
});
afterAll(async () => {
  await desk?.close();
  await relay?.stop();
  await server?.stop();
});
beforeEach(async () => {
  const { id, name } = desk.tenant.resources[used]!;
  room = { id, mailbox: mailboxOf(name), ...(await desk.keys())[used]! };
  used += 1;
  relay.asked.length = 0;
});
afterEach(async () => {
  relay.lose();
  await server.clearFaults();
  await server.options({ heedsIfMatch: true, tellsTransactions: true, batchAtOnce: 4, latencyMs: 0 });
});

const truth = () => server.truth(room.mailbox);
const only = async () => (await truth())[0]!;
/** `start subject` of everything in the calendar. */
const there = async () =>
  (await truth()).map(({ start, end, subject, sensitivity }) => {
    const hours = (Date.parse(end) - Date.parse(start)) / hour;
    return `${start.slice(5, 13)}+${hours} ${subject}${sensitivity === 'private' ? ' private' : ''}`;
  });

type Step = { id: string; method: string; url: string; headers?: Record<string, string>; body?: Event };
const batches = () =>
  relay.asked
    .filter(({ path }) => path.endsWith('/$batch'))
    .map(({ body }) => (JSON.parse(body) as { requests: Step[] }).requests);
/** Methods of all that was written, in order. */
const sent = () =>
  batches()
    .flat()
    .map(({ method }) => method)
    .filter((method) => method !== 'GET');
const isBatchOf =
  (method: string) =>
  ({ path, body }: { path: string; body: string }) =>
    path.endsWith('/$batch') && body.includes(`"method":"${method}"`);

describe('what is booked', () => {
  test('is written once, follows each change, and is deleted with its booking; nothing of it is an echo', async () => {
    const id = await book(1);
    await desk.settle();
    expect(await there()).toEqual([line(1, 9, 'Choir 1')]);
    await read();
    await read();
    await change(id, { Start: at(1, 11).toISOString(), End: at(1, 13).toISOString(), Subject: 'Tenors & "basses"' });
    await desk.settle();
    expect(await there()).toEqual([line(1, 11, 'Tenors & "basses"', 2)]);
    await read();
    expect(await counts()).toEqual({ written: 2, putBacks: 0, takenOver: 0 });
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Confirmed' }]);
    expect(await mailFigures.roomgate_mail_echoes.read(desk.db)).toBe(0);
    await cancel(id);
    await desk.settle();
    expect(await there()).toEqual([]);
    await read();
    expect(await bookings()).toHaveLength(1);
    expect(sent()).toEqual(['POST', 'PATCH', 'DELETE']);
  });

  test('is recognized by its place if its transaction is not returned', async () => {
    await server.options({ tellsTransactions: false });
    await book(1);
    await desk.settle();
    await read();
    await server.change((await only()).itemId, span(1, 10));
    await read();
    expect(await there()).toEqual([line(1, 9, 'Choir 1')]);
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Confirmed' }]);
    expect(sent()).toEqual(['POST', 'PATCH']);
  });

  test('is written with its setup; private without its subject; a series as its bookings; a block too', async () => {
    await book(1, { IsPrivate: true, SetupMinutes: 60 });
    await book(2, { RecurrenceRule: 'FREQ=DAILY;COUNT=2' });
    const block = { Kind: 'Block', Start: at(5, 9).toISOString(), End: at(5, 10).toISOString() };
    const made = await desk.admin.post('/bookings', { ResourceId: room.id, Subject: 'Paint', ...block });
    expect(made.status).toBe(201);
    await desk.settle();
    expect(await there()).toEqual([
      `${line(1, 8, 'Belegt', 2)} private`,
      line(2, 9, 'Choir 2'),
      line(3, 9, 'Choir 2'),
      line(5, 9, 'Paint'),
    ]);
    expect(batches()).toHaveLength(1);
    expect(JSON.stringify(batches())).not.toContain('Choir 1');
  });

  test('follows the setting of the room before that of the tenant; Off removes future items', async () => {
    await set({ CalendarWriting: 'Busy' });
    await book(1);
    await desk.settle();
    expect(await there()).toEqual([line(1, 9, 'Belegt')]);
    for (const [CalendarWriting, expected] of [
      ['Full', [line(1, 9, 'Choir 1')]],
      ['Off', []],
      [null, [line(1, 9, 'Choir 1')]],
    ] as const) {
      await set({ CalendarWriting });
      await desk.sweep();
      await desk.settle();
      expect(await there()).toEqual(expected);
    }
    const told = (await examineMail(desk.service.context)).filter(({ level }) => level !== 'ok');
    expect(JSON.stringify(told)).not.toContain('read and not written');
  });

  test('is written also for a long series, twenty by each request', async () => {
    await book(1, { RecurrenceRule: 'FREQ=DAILY;COUNT=45' });
    await desk.settle();
    expect(await truth()).toHaveLength(45);
    expect(batches().map((steps) => steps.length)).toEqual([20, 20, 5]);
    await read();
    expect(await bookings()).toHaveLength(45);
    expect(sent()).toHaveLength(45);
  });
});

describe('each write may come twice, late or never', () => {
  test('an answer that is lost is looked up, and its event is there once', async () => {
    const id = await book(1);
    for (const [method, act, expected] of [
      ['POST', async () => {}, [line(1, 9, 'Choir 1')]],
      ['PATCH', () => change(id, { Subject: 'Tenors' }), [line(1, 9, 'Tenors')]],
      ['DELETE', () => cancel(id), []],
    ] as const) {
      await act();
      let lost = 0;
      relay.lose((one) => isBatchOf(method)(one) && lost++ === 0);
      await desk.settle();
      expect(lost).toBeGreaterThan(0);
      expect(await there()).toEqual(expected);
      await read();
    }
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Cancelled' }]);
    expect(await counts()).toMatchObject({ putBacks: 0 });
    expect(sent()).toEqual(['POST', 'PATCH', 'DELETE']);
  });

  test('a worker that is killed while it writes leaves what the next one looks up', async () => {
    await book(1);
    await book(2);
    const killed = new AbortController();
    relay.lose((one) => {
      if (isBatchOf('POST')(one)) killed.abort();
      return true;
    });
    await desk.takeJobs();
    await desk.write(room, killed.signal);
    expect(killed.signal.aborted).toBe(true);
    expect(await states()).toEqual(['Writing', 'Writing']);
    relay.lose();
    await desk.sweep();
    await desk.settle();
    expect(await there()).toEqual([line(1, 9, 'Choir 1'), line(2, 9, 'Choir 2')]);
    expect(await states()).toEqual(['Written', 'Written']);
    expect(await counts()).toMatchObject({ putBacks: 0 });
    expect(sent()).toEqual(['POST', 'POST']);
  });

  test('a reading between the write and its answer is no echo, and no doubt', async () => {
    await book(1);
    relay.lose(isBatchOf('POST'));
    await desk.runQueued();
    relay.lose();
    await read();
    expect(await there()).toEqual([line(1, 9, 'Choir 1')]);
    expect(await bookings()).toHaveLength(1);
    expect(await counts()).toMatchObject({ putBacks: 0 });
  });

  test.each([['$batch'], ['/events']])(
    'a limit gets its rest, be it of %s, and reading continues',
    async (operation) => {
      for (const days of [1, 2, 3]) await book(days);
      await server.chances({ retryAfterSeconds: 600 });
      // Of the batch the first is refused, and others may be done.
      await server.fault({ fault: 'busy', face: 'Graph', operation });
      await desk.runQueued();
      const { rows } = await sql<{ rest: number; fault: string; reads: boolean }>`
      select extract(epoch from writing_not_before - now())::int as rest, writing_fault as fault, not_before is null as reads
      from mail_calendar where id = ${room.calendarId}`.execute(desk.db);
      expect(rows).toEqual([{ rest: expect.any(Number), fault: expect.stringContaining('429'), reads: true }]);
      expect(rows[0]!.rest).toBeGreaterThan(500);
      await desk.settle();
      expect(await there()).toEqual([1, 2, 3].map((days) => line(days, 9, `Choir ${days}`)));
      await read();
      expect(await bookings()).toHaveLength(3);
      expect(await counts()).toMatchObject({ putBacks: 0 });
    },
  );

  test('after many acts amid limits, failures and lost answers exactly the bookings are there', async () => {
    await server.chances({ seed: 7, busy: 0.15, unavailable: 0.1, reset: 0.15 });
    const ids: number[] = [];
    for (let step = 1; step <= 60; step += 1) {
      const one = ids[(step * 7) % Math.max(1, ids.length)];
      if (step % 4 === 3 && one !== undefined) await change(one, { Subject: `Band ${step}` });
      else if (step % 8 === 4 && one !== undefined) await cancel(ids.splice(ids.indexOf(one), 1)[0]!);
      else ids.push(await book(step));
      if (step % 2 === 0) await desk.runQueued();
      if (step % 5 === 0) await desk.tell([room.calendarId]);
    }
    await server.clearFaults();
    await desk.sweep();
    await read();
    const { rows } = await sql<{ start: Date; subject: string }>`
      select lower(occupied) as start, subject from booking
      where resource_id = ${room.id} and status = 'Confirmed' order by 1`.execute(desk.db);
    expect(rows).toHaveLength(ids.length);
    expect(await there()).toEqual(rows.map(({ start, subject }) => `${start.toISOString().slice(5, 13)}+1 ${subject}`));
    expect(new Set((await bookings()).map(({ kind }) => kind))).toEqual(new Set(['Booking']));
    expect(await counts()).toMatchObject({ putBacks: 0 });
    const troubles = relay.asked.filter(({ answer }) => answer === '' || /"error"/.test(answer));
    expect(troubles.length).toBeGreaterThan(5);
    // At rest nothing more is written.
    const before = sent().length;
    await read();
    expect(sent()).toHaveLength(before);
  });

  const creations = (count: number) =>
    Array.from({ length: count }, (_, days): Write => {
      const times = { start: at(days, 9), end: at(days, 10) };
      return { do: 'Create', item: { origin: `booking-${days}@x`, subject: 'L', isPrivate: false, ...times } };
    });

  test('a mailbox that takes four at a time gets no more, once it has refused the others', async () => {
    await server.options({ batchAtOnce: 20, latencyMs: 5 });
    const open = openGraph(settings(relay.url), openLog('silent'));
    const writes = creations(10);
    const place = { mailbox: room.mailbox, address: null };
    expect(open.writes!.atOnce).toBe(20);
    const first = await open.writes!.write(place, writes, soon());
    // One request for each call: what it has done is kept when the next is refused.
    expect(open.writes!.atOnce).toBe(4);
    expect(first.map(({ is }) => is)).toEqual(Array(4).fill('Done'));
    const others = await open.writes!.write(place, writes.slice(4), soon());
    expect(others.map(({ is }) => is)).toEqual(Array(6).fill('Done'));
    expect(batches().map((steps) => steps.length)).toEqual([10, 4, 2]);
    expect(await truth()).toHaveLength(10);
  });

  test('a limit that is not that of a mailbox leaves batches as large as they were', async () => {
    const open = openGraph(settings(relay.url), openLog('silent'));
    const write = (from: number): Promise<WriteOutcome[]> =>
      open.writes!.write({ mailbox: room.mailbox, address: null }, creations(10).slice(from), soon());
    await server.fault({ fault: 'busy', face: 'Graph', operation: '/events' });
    await expect(write(0)).rejects.toMatchObject({ fault: 'Throttled' });
    await write(1);
    expect(batches().map((steps) => steps.length)).toEqual([10, 9]);
  });
});

describe('what somebody changes there', () => {
  const asSeries = async (): Promise<void> => {
    const { itemId, start } = await only();
    const range = { type: 'numbered', numberOfOccurrences: 3, startDate: start.slice(0, 10) } as const;
    const recurrence = { pattern: { type: 'daily', interval: 1 }, range } as const;
    const path = `/users/${room.mailbox}/events/${encodeURIComponent(itemId)}`;
    expect(await person('PATCH', path, { recurrence })).toBe(200);
    expect(await truth()).toHaveLength(3);
  };

  test('is put back, be it moved, deleted or made a series; the fourth time it is left to people', async () => {
    await book(1);
    await desk.settle();
    const was = await there();
    const acts = [
      async () => void (await server.change((await only()).itemId, span(1, 10))),
      async () => void (await server.remove((await only()).itemId)),
      asSeries,
    ];
    for (const [done, act] of acts.entries()) {
      await act();
      await read();
      expect(await there()).toEqual(was);
      expect(await counts()).toMatchObject({ putBacks: done + 1 });
    }
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Confirmed' }]);
    await server.change((await only()).itemId, { subject: 'Mine' });
    await read();
    expect(await there()).toEqual([line(1, 9, 'Mine')]);
    expect(await states()).toEqual(['Conflict']);
    expect(sent()).toEqual(['POST', 'PATCH', 'POST', 'PATCH']);
  });

  test('is taken over as a change of the booking, and as its end', async () => {
    await set({ CalendarEdits: 'TakeOver' });
    const id = await book(1, { SetupMinutes: 60 });
    await desk.settle();
    await server.change((await only()).itemId, { ...span(2, 11, 3), subject: 'Tenors' });
    await read();
    expect(await booking(id)).toMatchObject({
      Start: at(2, 12).toISOString(),
      End: at(2, 14).toISOString(),
      Subject: 'Tenors',
      SetupMinutes: 60,
    });
    expect(await counts()).toEqual({ written: 1, putBacks: 0, takenOver: 1 });
    await server.remove((await only()).itemId);
    await read();
    expect(await booking(id)).toMatchObject({ Status: 'Cancelled' });
    expect(sent()).toEqual(['POST']);
  });

  test.each([true, false])('gives way to what is changed here at the same time; If-Match heeded: %s', async (heeds) => {
    await server.options({ heedsIfMatch: heeds });
    await set({ CalendarEdits: 'TakeOver' });
    const id = await book(1);
    await desk.settle();
    await server.change((await only()).itemId, span(2, 11));
    await change(id, { Subject: 'Basses' });
    await desk.settle();
    await read();
    expect(await there()).toEqual([line(1, 9, 'Basses')]);
    expect(await booking(id)).toMatchObject({ Subject: 'Basses' });
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Confirmed' }]);
    expect(sent()).toEqual(heeds ? ['POST', 'PATCH', 'PATCH'] : ['POST', 'PATCH']);
  });

  test('of others is booked, beside what is ours', async () => {
    await book(1);
    await desk.settle();
    await server.appoint(room.mailbox, { ...span(1, 12), subject: 'Lunch', organizer: null });
    await read();
    expect((await bookings()).map(({ kind }) => kind)).toEqual(['Booking', 'MailItem']);
    expect(await there()).toEqual([line(1, 9, 'Choir 1'), line(1, 12, 'Lunch')]);
  });
});

describe('what is sent', () => {
  const origin = 'booking-7@0d9f3a52-5c1e-4a43-9d5e-0f5a3f0f8d11';
  const item = (more: object = {}) => ({
    origin,
    subject: "Lesson's end",
    isPrivate: true,
    start: at(1, 8),
    end: at(1, 9),
    ...more,
  });
  const open = () => openGraph(settings(relay.url), openLog('silent'));
  const place = () => ({ mailbox: room.mailbox, address: null });
  const write = (...writes: Write[]) => open().writes!.write(place(), writes, soon());
  const find = (...origins: string[]) => open().writes!.find(place(), origins, soon());
  async function create() {
    const [outcome] = await write({ do: 'Create', item: item() });
    if (outcome?.is !== 'Done' || !outcome.at) throw new Error(`not created: ${JSON.stringify(outcome)}`);
    return outcome.at;
  }

  test('a second time makes no second event, and what is gone is reported', async () => {
    const at = await create();
    expect(await write({ do: 'Create', item: item() })).toEqual([{ is: 'Done', at }]);
    expect(await write({ do: 'Create', item: item({ subject: 'Other' }) })).toEqual([{ is: 'Changed' }]);
    expect(await truth()).toHaveLength(1);
    await write({ do: 'Change', item: item({ subject: 'Moved' }), at });
    expect(await write({ do: 'Change', item: item(), at }, { do: 'Remove', origin, at })).toEqual([
      { is: 'Changed' },
      { is: 'Changed' },
    ]);
    const [now] = await find(origin);
    expect(await write({ do: 'Remove', origin, at: now! })).toEqual([{ is: 'Done', at: null }]);
    expect(await write({ do: 'Remove', origin, at }, { do: 'Change', item: item(), at })).toEqual([
      { is: 'Done', at: null },
      { is: 'Gone' },
    ]);
    expect(await write({ do: 'Create', item: item() })).toEqual([{ is: 'Changed' }]);
    expect(await find(origin)).toEqual([]);
  });

  test('is known again when it is read, by its mark and its change key', async () => {
    const { id, changeKey } = await create();
    const window = { start: at(0, 0), end: at(9, 0) };
    const { groups } = await readAll(open(), place(), null, window, soon());
    expect(groups).toMatchObject([{ id, items: [{ id, origin, changeKey }] }]);
    expect(changeKey).toMatch(/^W\/"/);
  });

  test('is refused alone; a refusal of all is a fault, and what comes before it is reported', async () => {
    const end = item({ start: at(1, 10) });
    expect(await write({ do: 'Create', item: end }, { do: 'Create', item: item() })).toMatchObject([
      { is: 'Refused', reason: expect.stringContaining('ErrorCalendarEndDateIsEarlierThanStartDate') },
      { is: 'Done' },
    ]);
    const others = [1, 2, 3].map((number): Write => ({ do: 'Create', item: item({ origin: `booking-${number}@x` }) }));
    await server.fault({ fault: 'busy', face: 'Graph', operation: 'DELETE' });
    const [made] = await find(origin);
    expect(await write(...others, { do: 'Remove', origin, at: made! })).toHaveLength(3);
    await server.fault({ fault: 'unavailable', face: 'Graph', operation: '/events' });
    expect(await faultOf(write(others[0]!))).toMatchObject({ fault: 'Throttled' });
    await server.fault({ fault: 'busy', face: 'Graph', operation: '/events' });
    expect(await faultOf(find(origin))).toMatchObject({ fault: 'Throttled', retryAt: expect.any(Date) });
    await server.fault({ fault: 'reset', face: 'Graph', operation: '$batch' });
    const lost = item({ origin: 'booking-9@x' });
    expect(await faultOf(write({ do: 'Create', item: lost }))).toMatchObject({ fault: 'Unreachable' });
    expect(await find('booking-9@x')).toMatchObject([{ item: lost }]);
  });

  test('may fail alone: the others of its batch are reported as done; if all fail, it is a fault', async () => {
    await server.fault({ fault: 'failed', face: 'Graph', operation: '/events' });
    const both = [1, 2].map((number): Write => ({ do: 'Create', item: item({ origin: `booking-${number}@x` }) }));
    expect(await write(...both)).toMatchObject([
      { is: 'Failed', error: expect.objectContaining({ message: expect.stringContaining('500') }) },
      { is: 'Done' },
    ]);
    expect(await find('booking-1@x', 'booking-2@x')).toHaveLength(1);
    await server.fault({ fault: 'failed', face: 'Graph', operation: '/events' });
    expect(await faultOf(write(both[0]!))).toMatchObject({ fault: 'Unreachable', status: 500 });
  });

  test('nothing is written where the application has no right to, or no mailbox is', async () => {
    await server.setRoom(room.mailbox, { isAccessible: false });
    expect(await faultOf(write({ do: 'Create', item: item() }))).toMatchObject({
      fault: 'AccessLost',
      message: expect.stringContaining('Calendars.ReadWrite'),
    });
    await server.setRoom(room.mailbox, { isAccessible: true });
    const nowhere = { mailbox: 'nobody@rooms.test', address: null };
    for (const attempt of [
      () => open().writes!.write(nowhere, [{ do: 'Create', item: item() }], soon()),
      () => open().writes!.find(nowhere, [origin], soon()),
    ])
      expect(await faultOf(attempt())).toMatchObject({ fault: 'AccessLost' });
  });
});
