/** What one item meets holds up no other item of its calendar; a server that fails at all of them is left alone. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { examineMail } from '../../src/mail/health.ts';
import { ServerFault } from '../../src/mail-servers/connector.ts';
import { messages } from '../../src/mail-servers/ews-soap.ts';
import { mayConcernOneItem } from '../../src/mail-servers/failed-writes.ts';
import { AccountRefused, ServerFailed, TimedOut } from '../../src/mail-servers/faults.ts';
import { eventIdOf } from '../../src/mail-servers/google-writes.ts';
import { type Fate, startGoBetween } from './_util/go-between.ts';
import { midnight } from './_util/room-desk.ts';
import { startCalDavThere, startExchangeThere, startGoogleThere, startGraphThere, type There } from './_util/there.ts';
import { openWritingDesk, type WritingDesk } from './_util/writing-desk.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const rooms = Array.from({ length: 12 }, (_, index) => `F${index}`);
const names = rooms.map((name) => name.toLowerCase());

test.each<[string, unknown, boolean]>([
  ['our own error', new RangeError('Invalid time value'), true],
  ['a failure of the server', new ServerFailed('500', 500), true],
  ['what is not understood', new ServerFault('Unreadable', '405'), true],
  ['a request that is not answered in time', new TimedOut('15 s'), true],
  ['a right that is missing', new ServerFault('AccessLost', '403'), true],
  ['an account that is refused', new AccountRefused('401'), false],
  ['a limit', new ServerFault('Throttled', '429'), false],
  ['a server that is away', new ServerFault('Unreachable', 'ECONNREFUSED'), false],
])('%s may concern one item, or not', (_, error, may) => {
  expect(mayConcernOneItem(error)).toBe(may);
});

describe.each<[string, () => Promise<There>]>([
  ['CalDAV', startCalDavThere],
  ['Google', () => startGoogleThere(names)],
  ['Exchange', () => startExchangeThere(names)],
  ['Graph', () => startGraphThere(names)],
])('%s', (kind, start) => {
  let there: There;
  let between: Awaited<ReturnType<typeof startGoBetween>>;
  let desk: WritingDesk;
  let used = 0;
  /** A room of its own for each test. */
  let room: { id: number; name: string; mandatorId: number; calendarId: number };

  beforeAll(async () => {
    there = await start();
    between = await startGoBetween(there.url);
    desk = await openWritingDesk(there.settings(between.url), rooms);
    await desk.admin.patch('/tenant', { Parameters: { CalendarWriting: 'Full' } });
    await desk.tell();
    await desk.sweep();
    await desk.settle();
  });
  afterAll(async () => {
    await desk?.close();
    await between?.stop();
    await there?.stop();
  });
  beforeEach(async () => {
    room = { id: desk.tenant.resources[used]!.id, name: names[used]!, ...(await desk.keys())[used]! };
    used += 1;
    refused = 0;
    between.setFate();
  });

  afterEach(() => void jest.restoreAllMocks());

  async function book(days: number, Subject: string): Promise<number> {
    const from = midnight + days * day;
    const times = { Start: new Date(from).toISOString(), End: new Date(from + hour).toISOString() };
    const made = await desk.user.post('/bookings', { ResourceId: room.id, Subject, ...times });
    expect(made.status).toBe(201);
    return Number(made.body['Id']);
  }
  const change = (id: number, columns: string) =>
    sql`update booking set ${sql.raw(columns)} where mandator_id = ${room.mandatorId} and id = ${id}`.execute(desk.db);
  /** Requests that were refused. */
  let refused = 0;
  /** Refuses each write that says `word`, or each write without one; and what `isToo` says of the path and the body. */
  function refuse(fate: Fate | (() => Fate), word = '', isToo = (_: string) => false): void {
    between.setFate(({ method, path, body }) => {
      const text = body.toString();
      const isWrite =
        ['PUT', 'PATCH', 'DELETE'].includes(method) ||
        /<m:(Create|Update|Delete)Item[ >]/.test(text) ||
        (path.includes('/calendar/v3/') && method === 'POST') ||
        (path.endsWith('$batch') && /"(POST|PATCH|DELETE)"/.test(text));
      if (!(isWrite && text.includes(word)) && !isToo(`${path} ${text}`)) return 'Passes';
      refused += 1;
      return typeof fate === 'function' ? fate() : fate;
    });
  }
  const stands = async () => (await there.list(room.name)).map(({ subject }) => subject).toSorted();
  const rows = async () =>
    (
      await sql<{ state: string; failures: number; reason: string | null; restMs: number | null }>`
        select state, failures, reason, (extract(epoch from not_before - now()) * 1000)::float8 as "restMs"
        from mail_writing where calendar_id = ${room.calendarId} order by booking_id`.execute(desk.db)
    ).rows;
  const calendar = async () =>
    (
      await sql<{ fault: string | null; failures: number; isResting: boolean; isCompared: boolean }>`
        select writing_fault as fault, writing_failures as failures, coalesce(writing_not_before > now(), false) as "isResting",
          compared_at is not null as "isCompared"
        from mail_calendar where id = ${room.calendarId}`.execute(desk.db)
    ).rows[0]!;
  const endRests = () =>
    sql`update mail_writing set not_before = now() where calendar_id = ${room.calendarId} and state = 'Failed'`.execute(
      desk.db,
    );
  const unwritten = async () => {
    const { body } = await desk.admin.get('/mail-subscriptions');
    const all = body['Items'] as { ResourceId: number; Unwritten: object[] }[];
    return all.find(({ ResourceId }) => ResourceId === room.id)!.Unwritten;
  };

  test.each([500, 403])('%s for one item: the others stand there, and it is tried again by itself', async (status) => {
    await book(1, 'Poison');
    for (const n of [2, 3, 4]) await book(n, `Choir ${n}`);
    refuse({ status }, 'Poison');
    await desk.settle();
    expect(await stands()).toEqual(['Choir 2', 'Choir 3', 'Choir 4']);
    const [poison, ...others] = await rows();
    expect(poison).toMatchObject({ state: 'Failed', reason: expect.stringContaining(`${status}`) });
    // It may be read.
    expect(poison!.reason).not.toMatch(/the account read/);
    expect(poison!.restMs).toBeGreaterThan(0.5 * minute);
    expect(others.map(({ state, failures }) => [state, failures])).toEqual(Array(3).fill(['Written', 0]));
    expect(await calendar()).toEqual({ fault: null, failures: 0, isResting: false, isCompared: true });
    expect(await unwritten()).toMatchObject([{ Cause: 'Refused', Reason: expect.stringContaining(`${status}`) }]);
    const told = (await examineMail(desk.service.context)).find(({ text }) => text.includes(`${room.name}@`));
    expect(told).toMatchObject({
      level: 'warning',
      text: expect.stringContaining('1 item is not in the calendar as written'),
    });
    // It rests, and others are still written.
    const before = refused;
    await desk.sweep();
    expect(await desk.countJobs()).toBe(0);
    await book(5, 'Choir 5');
    await desk.settle();
    expect(refused).toBe(before);
    between.setFate();
    await endRests();
    await desk.sweep();
    await desk.settle();
    expect(await stands()).toEqual(['Choir 2', 'Choir 3', 'Choir 4', 'Choir 5', 'Poison']);
    expect((await rows()).map(({ state, failures }) => [state, failures])).toEqual(Array(5).fill(['Written', 0]));
    expect(await unwritten()).toEqual([]);
  });

  test('500 for the nearest items: those that have failed come last', async () => {
    for (const n of [1, 2, 3, 4]) await book(n, `Poison ${n}`);
    for (const n of [5, 6]) await book(n, `Choir ${n}`);
    refuse({ status: 500 }, 'Poison');
    for (let round = 0; round < 3; round += 1) await desk.runQueued();
    expect(await stands()).toEqual(['Choir 5', 'Choir 6']);
    await desk.settle();
    expect(await calendar()).toMatchObject({ fault: null, isCompared: true });
    expect(await unwritten()).toHaveLength(4);
  });

  test('500 for everything: a few are tried, and then the calendar rests, longer each time', async () => {
    for (let n = 1; n <= 9; n += 1) await book(n, `Choir ${n}`);
    refuse({ status: 500 });
    const restOf = async () => {
      const before = refused;
      await desk.runQueued();
      // No more than a calendar's first writes, side by side.
      expect(refused - before).toBeLessThanOrEqual(4);
      return await calendar();
    };
    for (const failures of [1, 2, 3])
      expect(await restOf()).toMatchObject({ failures, isResting: true, fault: expect.stringContaining('500') });
    const waiting = (await rows()).filter(({ state }) => state === 'Failed');
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.every(({ restMs }) => restMs! <= 0)).toBe(true);
    between.setFate();
    await desk.settle();
    expect(await stands()).toEqual(Array.from({ length: 9 }, (_, n) => `Choir ${n + 1}`));
    expect(await calendar()).toMatchObject({ fault: null, failures: 0 });
  });

  test('500 for the only item: its calendar rests at first, and then the item by itself', async () => {
    await book(1, 'Poison');
    refuse({ status: 500 });
    for (const failures of [1, 2, 3, 4]) {
      await desk.runQueued();
      expect(await calendar()).toMatchObject({ failures, isResting: true });
    }
    await desk.runQueued();
    const [poison] = await rows();
    expect(poison).toMatchObject({ state: 'Failed', failures: 5 });
    expect(poison!.restMs).toBeGreaterThan(5 * minute);
    expect(await calendar()).toMatchObject({ fault: null, failures: 0, isCompared: true });
    expect(await desk.countJobs()).toBe(0);
    // Another one is written, at once.
    refuse({ status: 500 }, 'Poison');
    await book(2, 'Choir 2');
    await desk.settle();
    expect(await stands()).toEqual(['Choir 2']);
    // A change of the booking is tried at once.
    between.setFate();
    await sql`update booking set subject = 'Cure' where resource_id = ${room.id} and subject = 'Poison'`.execute(
      desk.db,
    );
    await desk.write(room);
    expect(await stands()).toEqual(['Choir 2', 'Cure']);
  });

  test('500 for looking one item up too: the others are written at each attempt, which waits longer each time', async () => {
    const id = await book(1, 'Poison');
    for (const n of [2, 3, 4]) await book(n, `Choir ${n}`);
    const { uid } = await desk.db
      .selectFrom('mandator')
      .select('uid')
      .where('id', '=', room.mandatorId)
      .executeTakeFirstOrThrow();
    const ofGoogle = [1, 2, 3, 4].map((nth) => eventIdOf(`booking-${id}${nth > 1 ? `-${nth}` : ''}@${uid}`));
    const named = new RegExp([`booking-${id}\\b`, ...ofGoogle].join('|'));
    refuse({ status: 500 }, 'Poison', (text) => named.test(text));
    for (let round = 0; round < 3; round += 1) await desk.runQueued();
    expect(await stands()).toEqual(['Choir 2', 'Choir 3', 'Choir 4']);
    const { failures } = await calendar();
    for (const more of [1, 2, 3]) {
      const before = refused;
      await desk.runQueued();
      expect(refused - before).toBe(1);
      expect(await calendar()).toMatchObject({
        failures: failures + more,
        isResting: true,
        fault: expect.stringContaining('500'),
      });
    }
    await book(5, 'Choir 5');
    await desk.runQueued();
    expect(await stands()).toEqual(['Choir 2', 'Choir 3', 'Choir 4', 'Choir 5']);
    between.setFate();
    await desk.settle();
    expect(await stands()).toEqual(['Choir 2', 'Choir 3', 'Choir 4', 'Choir 5', 'Poison']);
    expect((await rows()).map(({ state, failures }) => [state, failures])).toEqual(Array(5).fill(['Written', 0]));
    expect(await calendar()).toMatchObject({ fault: null, failures: 0, isCompared: true });
  });

  test('500 for looking several items up: they are asked for last', async () => {
    const ids = [];
    for (const n of [1, 2, 3]) ids.push(await book(n, `Poison ${n}`));
    for (const n of [4, 5]) await book(n, `Choir ${n}`);
    await desk.settle();
    await sql`update mail_writing set state = 'Doubtful' where calendar_id = ${room.calendarId}`.execute(desk.db);
    const { rows: at } = await sql<{ origin: string; place: string }>`
      select 'booking-' || booking_id || '@' || mandator.uid as origin, native_id as place from mail_writing
      join mandator on mandator.id = mandator_id where booking_id = any (${ids}::bigint[])`.execute(desk.db);
    const named = at.flatMap(({ origin, place }) => [origin, encodeURIComponent(origin), eventIdOf(origin), place]);
    refuse({ status: 500 }, 'nothing', (text) => named.some((name) => text.includes(name)));
    for (let round = 0; round < 2; round += 1) await desk.write(room).then(desk.endPauses);
    expect((await rows()).map(({ state }) => state)).toEqual([...Array(3).fill('Doubtful'), 'Written', 'Written']);
    between.setFate();
    await desk.settle();
    expect((await rows()).map(({ state, failures }) => [state, failures])).toEqual(Array(5).fill(['Written', 0]));
  });

  test('no answer for one item in time: the others stand there, and it is tried again by itself', async () => {
    await book(1, 'Poison');
    for (const n of [2, 3, 4]) await book(n, `Choir ${n}`);
    const deadlines: AbortController[] = [];
    jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const deadline = new AbortController();
      deadlines.push(deadline);
      return deadline.signal;
    });
    refuse(() => {
      for (const deadline of deadlines) deadline.abort(new DOMException('It is too late.', 'TimeoutError'));
      return 'NotDone';
    }, 'Poison');
    await desk.settle();
    expect(await stands()).toEqual(['Choir 2', 'Choir 3', 'Choir 4']);
    const [poison] = await rows();
    expect(poison).toMatchObject({ state: 'Failed', reason: expect.stringContaining('did not answer in time') });
    expect(poison!.restMs).toBeGreaterThan(0.5 * minute);
    expect(await calendar()).toEqual({ fault: null, failures: 0, isResting: false, isCompared: true });
    between.setFate();
    await endRests();
    await desk.sweep();
    await desk.settle();
    expect(await stands()).toEqual(['Choir 2', 'Choir 3', 'Choir 4', 'Poison']);
  });

  test('a booking is cancelled whose change was refused: its item is removed at once; a removal that fails rests', async () => {
    const [first, second] = [await book(1, 'Choir 1'), await book(2, 'Choir 2')];
    await desk.settle();
    refuse({ status: 500 }, 'Poison');
    await change(first, "subject = 'Poison'");
    await book(3, 'Choir 3');
    await desk.settle();
    expect(await stands()).toEqual(['Choir 1', 'Choir 2', 'Choir 3']);
    expect((await rows())[0]!.restMs).toBeGreaterThan(0.5 * minute);
    await change(first, "status = 'Cancelled'");
    await desk.write(room);
    expect(await stands()).toEqual(['Choir 2', 'Choir 3']);
    refuse({ status: 500 });
    await change(second, "status = 'Cancelled'");
    for (let round = 0; round < 5; round += 1) await desk.write(room).then(desk.endPauses);
    const [, removal] = await rows();
    expect(removal).toMatchObject({ state: 'Failed', failures: 5 });
    expect(removal!.restMs).toBeGreaterThan(5 * minute);
    const before = refused;
    await desk.write(room);
    expect(refused).toBe(before);
    between.setFate();
    await endRests();
    await desk.write(room);
    expect(await stands()).toEqual(['Choir 3']);
  });

  test('what could not be written is tried again at once when an Admin has the calendar read', async () => {
    await book(1, 'Poison');
    await book(2, 'Choir 2');
    refuse({ status: 500 }, 'Poison');
    await desk.settle();
    expect((await rows())[0]).toMatchObject({ state: 'Failed' });
    between.setFate();
    await desk.settle();
    expect(await stands()).toEqual(['Choir 2']);
    expect((await desk.admin.post(`/mail-subscriptions/${room.calendarId}/read`, {})).status).toBe(200);
    await desk.settle();
    expect(await stands()).toEqual(['Choir 2', 'Poison']);
  });

  if (kind === 'Exchange')
    test('a batch that the server stops at one item: those that it has not looked at are written at once', async () => {
      await book(1, 'Poison');
      for (const n of [2, 3, 4]) await book(n, `Choir ${n}`);
      const response = (code: string) =>
        `<m:CreateItemResponseMessage ResponseClass="Error"><m:ResponseCode>${code}</m:ResponseCode></m:CreateItemResponseMessage>`;
      const stopped = ['ErrorAccessDeniedByPolicy', ...Array(3).fill('ErrorBatchProcessingStopped')].map(response);
      const body = `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:m="${messages}"><s:Body><m:CreateItemResponse><m:ResponseMessages>${stopped.join('')}</m:ResponseMessages></m:CreateItemResponse></s:Body></s:Envelope>`;
      refuse({ status: 200, body }, 'Poison');
      await desk.settle();
      expect(refused).toBe(1);
      expect(await stands()).toEqual(['Choir 2', 'Choir 3', 'Choir 4']);
      expect((await rows()).map(({ state }) => state)).toEqual(['Failed', 'Written', 'Written', 'Written']);
    });

  const refusals: Record<string, Fate> = {
    CalDAV: {
      status: 403,
      body: '<?xml version="1.0"?><D:error xmlns:D="DAV:"><C:max-resource-size xmlns:C="urn:ietf:params:xml:ns:caldav"/></D:error>',
    },
    Google: {
      status: 403,
      body: JSON.stringify({ error: { code: 403, message: 'No.', errors: [{ reason: 'eventTypeRestriction' }] } }),
    },
  };
  const refusal = refusals[kind];
  if (refusal)
    test('a refusal of one item, by its reason: it is tried again after an hour, and then later each time', async () => {
      refuse(refusal, 'Poison');
      await book(1, 'Poison');
      await book(2, 'Choir 2');
      await desk.settle();
      expect(await stands()).toEqual(['Choir 2']);
      expect(refused).toBe(1);
      for (const failures of [1, 2, 3]) {
        const [poison] = await rows();
        expect(poison).toMatchObject({
          state: 'Failed',
          failures,
          reason: expect.stringMatching(/max-resource-size|eventTypeRestriction/),
        });
        expect(poison!.restMs).toBeGreaterThan(0.7 * 2 ** (failures - 1) * hour);
        expect(await calendar()).toMatchObject({ fault: null, failures: 0 });
        await endRests();
        await desk.sweep();
        await desk.settle();
      }
    });
});
