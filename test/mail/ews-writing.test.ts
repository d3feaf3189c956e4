/** Bookings are written into calendars of Exchange, as the mail server of the tests simulates it: over the wire. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openLog } from '../../src/log.ts';
import { type RemoteItem, ServerFault, type Write, type WriteOutcome } from '../../src/mail-servers/connector.ts';
import { openEws } from '../../src/mail-servers/ews.ts';
import { startGoBetween } from './_util/go-between.ts';
import { readAll } from './_util/in-steps.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';
import { startExchangeThere, startGoogleThere } from './_util/there.ts';
import { openWritingDesk } from './_util/writing-desk.ts';

const mailbox = 'aula@rooms.test';
const calendar = { mailbox, address: null, timeZone: 'UTC' };
const window = { start: new Date('2031-01-01T00:00:00Z'), end: new Date('2031-02-01T00:00:00Z') };
const signal = () => AbortSignal.timeout(60_000);
const item = (n: number, more: object = {}) => ({
  origin: `booking-${n}@school`,
  start: new Date(Date.UTC(2031, 0, 6, 8, n)),
  end: new Date(Date.UTC(2031, 0, 6, 9, n)),
  subject: `Choir ${n}`,
  isPrivate: false,
  ...more,
});

let server: MailServer;
let connector: ReturnType<typeof openEws>;

beforeAll(async () => {
  server = await startMailServer();
  await server.addRoom(mailbox, { allowConflicts: true });
  const { ews: Url, user: User, password: Password } = server;
  connector = openEws({ Kind: 'Ews', Url, User, Password, PastDays: 1, FutureDays: 365 }, openLog('silent'));
});
afterAll(() => server?.stop());
afterEach(async () => {
  await server.clearFaults();
  await server.setRoom(mailbox, { isAccessible: true });
});

const write = (...writes: Write[]): Promise<WriteOutcome[]> => connector.writes!.write(calendar, writes, signal());
const find = (...origins: string[]) => connector.writes!.find(calendar, origins, signal());
async function make(n: number) {
  const [outcome] = await write({ do: 'Create', item: item(n) });
  if (outcome?.is !== 'Done' || !outcome.at) throw new Error(JSON.stringify(outcome));
  return outcome.at;
}
const truth = async (n: number) =>
  (await server.truth(mailbox)).filter(({ extended }) => Object.values(extended).includes(`booking-${n}@school`));
const faultOf = (outcome: Promise<unknown>) =>
  outcome.then(
    () => 'none',
    (error: unknown) => (error instanceof ServerFault ? error.fault : String(error)),
  );

describe('items of Exchange', () => {
  test('are made, changed and removed by three requests, whatever their order, and read with their mark', async () => {
    const made = await write(...[1, 2, 3].map((n): Write => ({ do: 'Create', item: item(n) })));
    const [first, second] = made.map((outcome) => (outcome.is === 'Done' ? outcome.at! : expect(outcome).toBe('Done')));
    const outcomes = await write(
      { do: 'Change', item: item(1, { subject: 'Prüfung "1" & <2>', isPrivate: true }), at: first! },
      { do: 'Create', item: item(4) },
      { do: 'Remove', origin: item(2).origin, at: second! },
    );
    expect(outcomes.map(({ is }) => is)).toEqual(['Done', 'Done', 'Done']);
    const { groups } = await readAll(connector, calendar, null, window, signal());
    const read = (groups as { items: RemoteItem[] }[]).flatMap(({ items }) => items);
    expect(read.map(({ origin, subject, isPrivate, shownAs }) => [origin, subject, isPrivate, shownAs])).toEqual(
      expect.arrayContaining([
        ['booking-1@school', 'Prüfung "1" & <2>', true, 'Busy'],
        ['booking-3@school', 'Choir 3', false, 'Busy'],
        ['booking-4@school', 'Choir 4', false, 'Busy'],
      ]),
    );
    expect(read).toHaveLength(3);
    const [found] = await find(item(1).origin);
    expect(found).toMatchObject({ item: item(1, { subject: 'Prüfung "1" & <2>', isPrivate: true }) });
    expect(read.find(({ origin }) => origin === item(1).origin)!.changeKey).toBe(found!.changeKey);
  });

  test('that others have changed are not overwritten, and those that are gone are reported', async () => {
    const at = await make(10);
    await server.change(at.id, { subject: 'Theirs' });
    const again: Write = { do: 'Change', item: item(10, { subject: 'Ours' }), at };
    expect(await write(again)).toEqual([{ is: 'Changed' }]);
    expect(await write({ ...again, at: { ...at, changeKey: null } })).toEqual([{ is: 'Changed' }]);
    expect((await truth(10))[0]!.subject).toBe('Theirs');
    const [found] = await find(item(10).origin);
    expect(await write({ ...again, at: found! })).toMatchObject([{ is: 'Done', at: { id: at.id } }]);
    await server.remove(at.id);
    expect(await write(again)).toEqual([{ is: 'Gone' }]);
    expect(await write({ do: 'Remove', origin: item(10).origin, at })).toEqual([{ is: 'Done', at: null }]);
    expect(await find(item(10).origin)).toEqual([]);
  });

  test('of which the server takes some and refuses one: the others stand there', async () => {
    const backwards = item(21, { end: new Date(0) });
    const outcomes = await write(
      { do: 'Create', item: item(20) },
      { do: 'Create', item: backwards },
      { do: 'Create', item: item(22) },
    );
    expect(outcomes).toMatchObject([
      { is: 'Done' },
      { is: 'Refused', reason: expect.stringContaining('ErrorCalendarEndDateIsEarlierThanStartDate') },
      { is: 'Done' },
    ]);
  });

  test('of which the server fails at one: the others stand there; where it fails at all, it is a fault', async () => {
    await server.fault({ fault: 'failed', face: 'Ews', operation: 'CreateItem' });
    const outcomes = await write({ do: 'Create', item: item(25) }, { do: 'Create', item: item(26) });
    expect(outcomes).toMatchObject([{ is: 'Failed', error: expect.any(ServerFault) }, { is: 'Done' }]);
    expect(await find(item(25).origin, item(26).origin)).toMatchObject([{ item: item(26) }]);
    await server.fault({ fault: 'failed', face: 'Ews', operation: 'CreateItem' });
    expect(await faultOf(write({ do: 'Create', item: item(25) }))).toBe('Unreachable');
  });

  test('whose answer was lost are found by their mark, as often as they stand there', async () => {
    await server.fault({ fault: 'reset', face: 'Ews', operation: 'CreateItem' });
    expect(await faultOf(write({ do: 'Create', item: item(30) }))).toBe('Unreachable');
    const [found, ...others] = await find(item(30).origin, item(31).origin);
    expect(others).toEqual([]);
    expect(found).toMatchObject({ item: item(30) });
    await server.appoint(mailbox, {
      start: '2031-01-07T08:00:00Z',
      end: '2031-01-07T09:00:00Z',
      subject: 'Copy',
      organizer: null,
      extended: (await truth(30))[0]!.extended,
    });
    expect(await find(item(30).origin)).toHaveLength(2);
  });

  test('that others have made free, or into a series, differ from all that is written', async () => {
    const at = await make(40);
    await server.change(at.id, { shownAs: 'free' });
    expect((await find(item(40).origin))[0]!.item.subject).toBe('');
    await server.appoint(mailbox, {
      start: '2031-01-08T08:00:00Z',
      end: '2031-01-08T09:00:00Z',
      subject: 'Choir',
      organizer: null,
      repeat: { every: 'day', count: 3 },
      extended: { [Object.keys((await truth(40))[0]!.extended)[0]!]: 'booking-41@school' },
    });
    expect(await find('booking-41@school')).toMatchObject([{ item: { origin: 'booking-41@school', subject: '' } }]);
  });

  test('wait while the server is busy or away, and are not written where the account may not', async () => {
    const attempt = () => faultOf(write({ do: 'Create', item: item(50) }));
    await server.fault({ fault: 'busy', face: 'Ews', operation: 'CreateItem' });
    expect(await attempt()).toBe('Throttled');
    await server.setRoom(mailbox, { isAccessible: false });
    expect(await attempt()).toBe('AccessLost');
    expect(await truth(50)).toEqual([]);
  });

  test('are as many requests as kinds of writes: the outcome of the kinds before a failing one is reported', async () => {
    const at = await make(60);
    await server.fault({ fault: 'busy', face: 'Ews', operation: 'DeleteItem' });
    const outcomes = await write(
      { do: 'Create', item: item(61) },
      { do: 'Remove', origin: item(60).origin, at },
      { do: 'Create', item: item(62) },
    );
    // The third has been made as well, and is looked up by the next job.
    expect(outcomes).toMatchObject([{ is: 'Done' }]);
    expect(await truth(62)).toHaveLength(1);
  });
});

test('an item that Exchange makes after it was given up and made again is removed, whether it is still wanted or not', async () => {
  const there = await startExchangeThere(['aula']);
  const between = await startGoBetween(there.url);
  const desk = await openWritingDesk(there.settings(between.url), ['Aula']);
  try {
    await desk.admin.patch('/tenant', { Parameters: { CalendarWriting: 'Full' } });
    await desk.tell();
    await desk.settle();
    const start = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 48 * 3_600_000);
    const { body } = await desk.user.post('/bookings', {
      ResourceId: desk.tenant.resources[0]!.id,
      Subject: 'Choir',
      Start: start.toISOString(),
      End: new Date(start.getTime() + 3_600_000).toISOString(),
    });
    const [key] = await desk.keys();
    await desk.admin.patch('/tenant', { Parameters: { CalendarEdits: 'TakeOver' } });
    const marks = async () => (await there.list('aula')).map(({ mark }) => mark!.split('@')[0]);
    between.setFate(() => 'NotDone');
    await desk.write(key!);
    between.setFate();
    await desk.settle();
    expect(await marks()).toEqual([`booking-${body['Id']}-2`]);
    const [item] = await there.list('aula');
    const late = { ...item!, mark: item!.mark!.replace('-2@', '@') };
    await there.copy!('aula', late);
    await desk.tell();
    await desk.settle();
    expect(await marks()).toEqual([`booking-${body['Id']}-2`]);
    const kept = await desk.user.get(`/bookings/${body['Id']}`);
    expect(kept.body['Status']).toBe('Confirmed');
    await desk.user.send('DELETE', `/bookings/${body['Id']}`);
    await desk.settle();
    expect(await marks()).toEqual([]);
    await there.copy!('aula', late);
    await desk.tell();
    await desk.settle();
    expect(await marks()).toEqual([]);
  } finally {
    await desk.close();
    await between.stop();
    await there.stop();
  }
});

test.each([
  ['Exchange', startExchangeThere],
  ['Google', startGoogleThere],
] as const)(
  '%s: a copy is booked as an item of others, and left alone whatever becomes of its original',
  async (_, start) => {
    const there = await start(['aula']);
    const desk = await openWritingDesk(there.settings(there.url), ['Aula']);
    try {
      await desk.admin.patch('/tenant', { Parameters: { CalendarWriting: 'Full' } });
      const from = Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 48 * 3_600_000;
      const times = (hours: number) => {
        const begin = from + hours * 3_600_000;
        return { start: new Date(begin), end: new Date(begin + 3_600_000) };
      };
      const made = await desk.user.post('/bookings', {
        ResourceId: desk.tenant.resources[0]!.id,
        Subject: 'Choir',
        Start: times(0).start.toISOString(),
        End: times(0).end.toISOString(),
      });
      expect(made.status).toBe(201);
      const read = async () => {
        await desk.tell();
        await desk.settle();
      };
      await read();
      const lines = async () => {
        const { rows } = await sql<{ at: Date; subject: string }>`
        select lower(occupied) as at, subject from booking
        where kind = 'MailItem' and status in ('Confirmed', 'Tentative')`.execute(desk.db);
        return rows.map(({ at, subject }) => `${(at.getTime() - from) / 3_600_000} ${subject}`);
      };
      const stands = async () =>
        (await there.list('aula'))
          .map(({ start: at, subject }) => `${(at.getTime() - from) / 3_600_000} ${subject}`)
          .sort();
      const [original] = await there.list('aula');
      await there.copy!('aula', { ...original!, ...times(3) });
      await read();
      expect(await lines()).toEqual(['3 Choir']);
      // Whatever is read anew.
      await sql`update mail_calendar set cursor = null`.execute(desk.db);
      await read();
      expect(await lines()).toEqual(['3 Choir']);
      expect(await stands()).toEqual(['0 Choir', '3 Choir']);
      await there.remove('aula', original!);
      await read();
      expect(await lines()).toEqual(['3 Choir']);
      expect(await stands()).toEqual(['0 Choir', '3 Choir']);
      const copy = (await there.list('aula')).find(({ start: at }) => at.getTime() === times(3).start.getTime())!;
      await there.change('aula', copy, { ...copy, subject: 'Theirs' });
      await read();
      await desk.user.send('DELETE', `/bookings/${made.body['Id']}`);
      await desk.settle();
      await read();
      expect(await lines()).toEqual(['3 Theirs']);
      expect(await stands()).toEqual(['3 Theirs']);
    } finally {
      await desk.close();
      await there.stop();
    }
  },
);
