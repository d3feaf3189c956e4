/** Bookings are written into calendars of Google, as the mail server of the tests simulates it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openGoogleClient } from './_util/google-client.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';
import { midnight } from './_util/room-desk.ts';
import { openFullDesk, type WritingDesk } from './_util/writing-desk.ts';

const at = (hours: number) => new Date(midnight + hours * 3_600_000).toISOString();
const date = (days: number) => at(24 * days).slice(0, 10);

let server: MailServer;
let google: Awaited<ReturnType<typeof openGoogleClient>>;
let desk: WritingDesk;
let used = 0;
/** A room of its own for each test. */
let room: { id: number; mailbox: string; mandatorId: number; calendarId: number };
const rooms = Array.from({ length: 10 }, (_, index) => `W${index}`);
const mailboxOf = (name: string) => `${name.toLowerCase()}@rooms.test`;

beforeAll(async () => {
  server = await startMailServer();
  google = await openGoogleClient(server);
  for (const name of rooms) await server.addRoom(mailboxOf(name), { allowConflicts: true });
  desk = await openFullDesk(
    {
      MailServer__school__Kind: 'Google',
      MailServer__school__Url: server.google,
      MailServer__school__TokenUrl: server.googleToken,
      MailServer__school__ServiceAccountKey: JSON.stringify(await server.googleKey()),
    },
    rooms,
  );
});
afterAll(async () => {
  await desk?.close();
  await server?.stop();
});
beforeEach(async () => {
  const { id, name } = desk.tenant.resources[used]!;
  room = { id, mailbox: mailboxOf(name), ...(await desk.keys())[used]! };
  used += 1;
});

async function book(): Promise<number> {
  const booking = { ResourceId: room.id, Subject: 'Choir', Start: at(9), End: at(10) };
  const made = await desk.user.post('/bookings', booking);
  expect(made.status).toBe(201);
  await desk.settle();
  await read();
  return made.body['Id'] as number;
}
const truth = () => server.truth(room.mailbox);
const only = async () => (await truth())[0]!;
async function there(): Promise<string[]> {
  return (await truth()).map(({ start, end, subject, days }) => `${days ? 'days ' : ''}${start} ${end} ${subject}`);
}
const bookings = async () => {
  const { rows } = await sql<{ kind: string; status: string; start: Date }>`
    select kind, status, lower(occupied) as start from booking where resource_id = ${room.id} order by id`.execute(
    desk.db,
  );
  return rows.map(({ kind, status, start }) => `${kind} ${status} ${start.toISOString()}`);
};
const putBacks = async () => {
  const { rows } = await sql<{ count: number }>`
    select put_backs::int as count from mail_calendar where id = ${room.calendarId}`.execute(desk.db);
  return rows[0]!.count;
};
/** Marks the calendar as changed; it is read, and written where needed. */
async function read({ isWhole = false } = {}): Promise<void> {
  if (isWhole) await sql`update mail_calendar set cursor = null where id = ${room.calendarId}`.execute(desk.db);
  await desk.tell([room.calendarId]);
  await desk.settle();
}

describe.each(['PutBack', 'TakeOver'])('with %s, what somebody makes', (CalendarEdits) => {
  beforeEach(async () => {
    expect((await desk.admin.patch(`/resources/${room.id}`, { CalendarEdits })).status).toBe(200);
  });

  test('a whole day is put back', async () => {
    await book();
    const was = await there();
    await server.change((await only()).itemId, { isWholeDay: true, start: date(0), end: date(1) });
    expect(await there()).toEqual([expect.stringContaining('days')]);
    await read();
    expect(await there()).toEqual(was);
    expect(await bookings()).toEqual([`Booking Confirmed ${at(9)}`]);
    expect(await putBacks()).toBe(1);
    // At rest nothing more is written.
    await read({ isWhole: true });
    expect(await there()).toEqual(was);
    expect(await putBacks()).toBe(1);
  });

  test.each([false, true])('a series is put back, and books nothing; all is read anew: %s', async (isWhole) => {
    const id = await book();
    const was = await there();
    await server.change((await only()).itemId, { repeat: { every: 'day', count: 3 } });
    expect(await truth()).toHaveLength(3);
    await read({ isWhole });
    expect(await there()).toEqual(was);
    expect(await bookings()).toEqual([`Booking Confirmed ${at(9)}`]);
    expect(await putBacks()).toBe(1);
    await read({ isWhole });
    expect(await putBacks()).toBe(1);
    // It follows its booking as before.
    expect((await desk.user.send('DELETE', `/bookings/${id}`)).status).toBe(200);
    await read({ isWhole });
    expect(await truth()).toEqual([]);
  });
});

describe('an event that another program replaces, moved and without our mark,', () => {
  /** The private properties of the events in the calendar. */
  const marks = async () => {
    const { data } = await google.events.list({ calendarId: room.mailbox, singleEvents: true });
    return (data.items ?? []).map(({ extendedProperties }) => extendedProperties?.private ?? null);
  };
  async function replace(): Promise<void> {
    const { data } = await google.events.list({ calendarId: room.mailbox, singleEvents: true });
    const [{ id, summary }] = data.items as [{ id: string; summary: string }];
    const requestBody = { summary, start: { dateTime: at(11) }, end: { dateTime: at(12) } };
    await google.events.update({ calendarId: room.mailbox, eventId: id, requestBody });
    expect(await marks()).toEqual([null]);
    await read();
  }

  test('is put back, with its mark', async () => {
    expect((await desk.admin.patch(`/resources/${room.id}`, { CalendarEdits: 'PutBack' })).status).toBe(200);
    await book();
    const [was, marked] = [await there(), await marks()];
    await replace();
    expect(await there()).toEqual(was);
    expect(await marks()).toEqual(marked);
    expect(await bookings()).toEqual([`Booking Confirmed ${at(9)}`]);
    expect(await putBacks()).toBe(1);
  });

  test('is followed by its booking', async () => {
    expect((await desk.admin.patch(`/resources/${room.id}`, { CalendarEdits: 'TakeOver' })).status).toBe(200);
    const id = await book();
    await replace();
    expect(await bookings()).toEqual([`Booking Confirmed ${at(11)}`]);
    expect(await truth()).toHaveLength(1);
    expect((await desk.user.send('DELETE', `/bookings/${id}`)).status).toBe(200);
    await read();
    expect(await truth()).toEqual([]);
  });
});

test('a series goes with its booking, and nobody has made its occurrences', async () => {
  const id = await book();
  await server.change((await only()).itemId, { repeat: { every: 'day', count: 3 } });
  expect((await desk.user.send('DELETE', `/bookings/${id}`)).status).toBe(200);
  await desk.settle();
  await read();
  expect(await truth()).toEqual([]);
  expect(await bookings()).toEqual([`Booking Cancelled ${at(9)}`]);
});
