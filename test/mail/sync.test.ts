import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase, poolOf } from '../../src/db/database.ts';
import { openHub } from '../../src/displays/hub.ts';
import { watchRoom } from '../../src/displays/live.ts';
import { nextOf } from '../../src/flow/latest.ts';
import { openTurns, type Turns } from '../../src/flow/turns.ts';
import { openLog } from '../../src/log.ts';
import { alignCalendars } from '../../src/mail/calendars.ts';
import { bookConflicts } from '../../src/mail/conflicts.ts';
import { openNotes } from '../../src/mail/deaths.ts';
import { examineMail } from '../../src/mail/health.ts';
import { endPauses, requestReadings } from '../../src/mail/polling.ts';
import type { Calendar } from '../../src/mail/reading.ts';
import { synchroniseCalendar } from '../../src/mail/sync.ts';
import { type DirtyBy, markCalendars } from '../../src/mail-subscriptions/marks.ts';
import { holdRunner, unlockAll } from '../../src/worker/leases.ts';
import { insertBookings } from '../_util/bookings-table.ts';
import { makeDisplay } from '../_util/factories.ts';
import { heardOfAll } from '../_util/graphql.ts';
import { hold, releaseAll } from '../_util/hold.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';
import { makeSubscription } from './_util/rows.ts';
import { eventAt, type ScriptedGraph, startScriptedGraph } from './_util/scripted-graph.ts';

const hour = 3_600_000;
const day = 24 * hour;
/** Midnight UTC of the day after tomorrow. */
const midnight = Math.ceil(Date.now() / day) * day + day;
const at = (days: number, hours: number) => midnight + days * day + hours * hour;
const iso = (instant: number) => new Date(instant).toISOString();

let graph: ScriptedGraph;
let service: Service;
let work: Database;
let admin: MasterData;
let user: MasterData;
let used = 0;
/** The arguments of every job. */
const job = { runner: 'test', turns: openTurns(8) };

/** A room of its own for each test. */
let room: { mailbox: string; resourceId: number; calendarId: number; mandatorId: number };

beforeAll(async () => {
  graph = await startScriptedGraph();
  const rooms = Array.from({ length: 80 }, (_, index) => `R${index}`);
  service = await startService({ Role: 'Web', ...graph.settingsOf('school') }, rooms);
  const { context, databaseUrl, tenant } = service;
  work = openDatabase(databaseUrl, { max: 6, log: context.log, statementTimeout: 0 });
  admin = masterData(service, await service.signIn(tenant, 'Admin'));
  user = masterData(service, await service.signIn());
  await sql`update resource set mailbox = lower(name) || '@school.example'`.execute(work);
  await alignCalendars(work, context.config);
  // As if each had been read before.
  await sql`update mail_calendar set dirty_since = null, dirty_by = null`.execute(work);
});
afterAll(async () => {
  await releaseAll();
  await work.destroy();
  await service.stop();
  await graph.stop();
});
beforeEach(async () => {
  const { tenant } = service;
  const { id: resourceId, name } = tenant.resources[used++]!;
  const { id: calendarId } = await work
    .selectFrom('mail_calendar')
    .where('resource_id', '=', resourceId)
    .select('id')
    .executeTakeFirstOrThrow();
  const mailbox = `${name.toLowerCase()}@school.example`;
  room = { mailbox, resourceId, calendarId, mandatorId: tenant.mandatorId };
  graph.log.length = 0;
});

const run = (signal = new AbortController().signal) =>
  synchroniseCalendar({ ...service.context, ...job, work, signal }, room);

/** However slow the machine is, a step is over by its number of items alone. */
const holdClock = () => jest.spyOn(performance, 'now').mockReturnValue(performance.now());

const mark = (by: DirtyBy = 'Push') => markCalendars(work, [room.calendarId], by);

/** Marks the calendar as changed, and reads it. */
async function sync(by: DirtyBy = 'Push'): Promise<void> {
  await mark(by);
  await run();
}

type Row = Record<string, unknown> & { Id: number };

/** All bookings of the room, whatever their status, in order. */
async function listBookings(caller = admin, more = ''): Promise<Row[]> {
  const window = `from=${iso(at(-10, 0))}&to=${iso(at(300, 0))}`;
  const answer = await caller.get(`/bookings?resourceId=${room.resourceId}&${window}${more}`);
  expect(answer.status).toBe(200);
  return answer.body['Items'] as Row[];
}

/** Of each booking its beginning, status and subject. */
const seen = async () => (await listBookings()).map(({ Start, Status, Subject }) => [Start, Status, Subject]);
/** Of those that occupy the room, their beginnings. */
const occupied = async () =>
  (await listBookings())
    .filter(({ Status }) => Status === 'Confirmed' || Status === 'Tentative')
    .map(({ Start, Subject }) => [Start, Subject]);

const calendar = () =>
  work.selectFrom('mail_calendar').where('id', '=', room.calendarId).selectAll().executeTakeFirstOrThrow();
const items = () =>
  work
    .selectFrom('mail_item')
    .where('calendar_id', '=', room.calendarId)
    .select(['item_id as id', 'state', 'reason', 'booking_id as bookingId'])
    .orderBy('item_id')
    .execute();
const states = async () => Object.fromEntries((await items()).map(({ id, state }) => [id, state]));
/** All that a client may notice. */
const countChanges = async () => {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from change`.execute(work);
  return rows[0]!.n;
};

/** The versions of the rows of items. */
const written = async () => {
  const { rows } =
    await sql`select id, xmin::text from mail_item where calendar_id = ${room.calendarId} order by id`.execute(work);
  return rows;
};

/** A booking of somebody else in the room. */
async function occupy(days: number, hours: number): Promise<number> {
  const [id] = await insertBookings(work, room.mandatorId, room.resourceId);
  await sql`update booking set occupied = tstzrange(${iso(at(days, hours))}, ${iso(at(days, hours + 1))}) where id = ${id}`.execute(
    work,
  );
  return id as number;
}

describe('an item becomes a booking', () => {
  test('with all of its members, and an organizer from outside', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sync();
    const [booking] = await listBookings();
    expect(booking).toMatchObject({
      Kind: 'MailItem',
      Status: 'Confirmed',
      Subject: 'Subject of a',
      IsPrivate: false,
      Version: 1,
      Start: iso(at(1, 8)),
      End: iso(at(1, 9)),
      CreatedBy: null,
      CheckIn: null,
      Organizer: { PersonId: null, DisplayName: 'Vera Kunz', Email: 'vera@outside.example' },
      Origin: { System: 'Mail', MailItemId: 'uid-a' },
    });
    expect(await listBookings(user, '&kind=MailItem')).toEqual([booking]);
    const { data } = await user.ask(
      'query ($id: ID!) { booking(id: $id) { organizer { personId displayName email } } }',
      {
        id: booking!.Id,
      },
    );
    expect(data).toEqual({
      booking: { organizer: { personId: null, displayName: 'Vera Kunz', email: 'vera@outside.example' } },
    });
  });

  test('of a person of the tenant, by the address in any case', async () => {
    const organizer = { emailAddress: { name: 'U.', address: 'USER@school.example' } };
    graph.put(room.mailbox, eventAt('a', at(1, 8), { organizer }));
    await sync();
    const { id, name, email } = service.tenant.person('User');
    expect(await listBookings()).toMatchObject([{ Organizer: { PersonId: id, DisplayName: name, Email: email } }]);
  });

  test('private: others see that the room is occupied, Admins and its organizer all of it', async () => {
    const organizer = { emailAddress: { name: 'U.', address: 'user@school.example' } };
    const sensitivity = 'private';
    graph.put(
      room.mailbox,
      eventAt('a', at(1, 8), { sensitivity }),
      eventAt('b', at(1, 9), { sensitivity, organizer }),
    );
    await sync();
    const shown = async (caller: MasterData) => (await listBookings(caller)).map(({ Subject }) => Subject);
    expect(await shown(user)).toEqual(['Belegt', 'Subject of b']);
    expect(await shown(admin)).toEqual(['Subject of a', 'Subject of b']);
    expect((await listBookings(user))[0]).toMatchObject({ IsPrivate: true, Organizer: null });
  });

  test('tentative, while it is not accepted or shown as such', async () => {
    const responseStatus = { response: 'notResponded' };
    graph.put(
      room.mailbox,
      eventAt('a', at(1, 8), { responseStatus }),
      eventAt('b', at(1, 9), { showAs: 'tentative' }),
    );
    await sync();
    expect((await listBookings()).map(({ Status }) => Status)).toEqual(['Tentative', 'Tentative']);
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sync();
    expect((await listBookings()).map(({ Status, Version }) => [Status, Version])).toEqual([
      ['Confirmed', 2],
      ['Tentative', 1],
    ]);
  });

  test('of whole days from midnight to midnight on the clocks of the room', async () => {
    const from = new Date(at(3, 0)).toISOString().slice(0, 10);
    graph.put(room.mailbox, eventAt('a', at(3, 0), { isAllDay: true, hours: 48 }));
    await sync();
    const [booking] = await listBookings();
    const clock = (instant: unknown) => new Date(instant as string).toLocaleString('sv', { timeZone: 'Europe/Berlin' });
    expect(clock(booking!['Start'])).toBe(`${from} 00:00:00`);
    expect(clock(booking!['End'])).toMatch(/ 00:00:00$/);
    expect(booking!['Start']).not.toMatch(/T00:00/);
  });

  test.each(['free', 'cancelled', 'declined'])('%s: none', async (why) => {
    const more = {
      free: { showAs: 'free' },
      cancelled: { isCancelled: true },
      declined: { responseStatus: { response: 'declined' } },
    }[why]!;
    graph.put(room.mailbox, eventAt('a', at(1, 8), more));
    await sync();
    expect(await listBookings()).toEqual([]);
    // What is there becomes so.
    graph.put(room.mailbox, eventAt('b', at(1, 9)));
    await sync();
    graph.put(room.mailbox, eventAt('b', at(1, 9), more));
    await sync();
    expect(await seen()).toEqual([[iso(at(1, 9)), 'Cancelled', 'Subject of b']]);
  });

  test('our own booking, which returns through the calendar feed: none', async () => {
    const id = await occupy(1, 8);
    const uid = (await admin.get(`/bookings/${id}`)).body['Uid'];
    graph.put(room.mailbox, eventAt('echo', at(1, 8), { iCalUId: uid }));
    await sync();
    expect(await items()).toMatchObject([{ state: 'PassedOver', bookingId: null }]);
    expect(await listBookings()).toHaveLength(1);
  });

  test('one that ends before it begins, or at once: none, and others are booked', async () => {
    graph.put(
      room.mailbox,
      eventAt('a', at(1, 8), { hours: -1 }),
      eventAt('b', at(1, 8), { hours: 0 }),
      eventAt('c', at(1, 8), { hours: 24 * 367 }),
      eventAt('d', at(1, 8)),
    );
    await sync();
    expect(await states()).toEqual({ a: 'Unreadable', b: 'Unreadable', c: 'Unreadable', d: 'Booked' });
    expect(await occupied()).toEqual([[iso(at(1, 8)), 'Subject of d']]);
  });

  test('that cannot be read: it is named with the reason until it can be read, or is gone', async () => {
    const readSubscriptions = async () => {
      const { data } = await admin.ask(
        '{ mailSubscriptions { mailbox unreadableCount unreadable { uid itemId reason since } } }',
      );
      const all = data!['mailSubscriptions'] as Record<string, unknown>[];
      const { unreadableCount, unreadable } = all.find(({ mailbox }) => mailbox === room.mailbox)!;
      return { unreadableCount, unreadable } as {
        unreadableCount: number;
        unreadable: Record<string, string>[];
      };
    };
    const backwards = (id: string) => ({ ...eventAt(id, at(1, 9)), end: eventAt('', at(1, 7)).start });
    const subject = 'Geheim';
    const noDate = { ...eventAt('x', at(2, 9), { subject }), start: { dateTime: 'soon', timeZone: 'UTC' } };
    graph.put(room.mailbox, eventAt('good', at(1, 8)), backwards('y'), noDate);
    const lines: string[] = [];
    const log = openLog('warn', { write: (line) => void lines.push(line) });
    await mark();
    await synchroniseCalendar({ ...service.context, ...job, log, work, signal: new AbortController().signal }, room);
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(told).toMatchObject(
      Array(2).fill({ msg: 'mail item cannot be read', mailbox: room.mailbox, reason: expect.any(String) }),
    );
    expect(told.map(({ itemId }) => itemId).sort()).toEqual(['x', 'y']);
    expect(await occupied()).toEqual([[iso(at(1, 8)), 'Subject of good']]);
    const first = await readSubscriptions();
    const since = expect.any(String);
    expect(first.unreadableCount).toBe(2);
    expect(first.unreadable).toHaveLength(2);
    expect(first.unreadable).toEqual(
      expect.arrayContaining([
        { uid: 'uid-y', itemId: 'y', reason: 'It ends before it begins.', since },
        { uid: null, itemId: 'x', reason: 'The start or the end of an event is not a date.', since },
      ]),
    );
    expect(JSON.stringify(first)).not.toContain(subject);
    // Another reason: it is as long unreadable as before.
    graph.put(room.mailbox, { ...backwards('y'), end: eventAt('', at(1, 9)).start });
    await sync();
    expect((await readSubscriptions()).unreadable).toContainEqual({
      uid: 'uid-y',
      itemId: 'y',
      reason: 'It ends when it begins.',
      since: first.unreadable.find(({ itemId }) => itemId === 'y')!['since'],
    });
    graph.put(room.mailbox, eventAt('y', at(1, 9)));
    graph.remove(room.mailbox, 'x');
    await sync();
    expect(await readSubscriptions()).toEqual({ unreadableCount: 0, unreadable: [] });
    expect(await occupied()).toHaveLength(2);
  });

  test('texts that no database takes are made fit', async () => {
    const organizer = {
      emailAddress: { name: 'V\u0000e\ud800ra\r\nEVIL:1', address: 'vera@outside.example' },
    };
    graph.put(
      room.mailbox,
      eventAt('a', at(1, 8), { subject: `\u0000a\u2028b ${'x'.repeat(5_000)}\ud83d`, organizer }),
    );
    await sync();
    const [booking] = await listBookings();
    expect((booking!['Subject'] as string).startsWith('a b xxx')).toBe(true);
    expect((booking!['Subject'] as string).isWellFormed()).toBe(true);
    expect(JSON.stringify(booking!['Organizer'])).not.toMatch(/[\\]|\n/);
  });
});

test('the sign at the door shows it, and who organizes it', async () => {
  const { context, tenant } = service;
  const { viewer } = await makeDisplay(context.db, tenant, {
    resourceIds: [room.resourceId],
    privacy: 'Organizer',
  });
  const hub = openHub(context);
  await heardOfAll(context);
  const frames = await watchRoom(context, viewer, room.resourceId, undefined, hub);
  try {
    expect(await nextOf(frames)).toMatchObject({ kind: 'snapshot', schedule: [] });
    const now = Math.floor(Date.now() / hour) * hour;
    graph.put(room.mailbox, eventAt('a', now, { hours: 2 }));
    await sync();
    const shown = { kind: 'MailItem', organizer: 'Vera Kunz', subject: null };
    expect(await nextOf(frames)).toMatchObject({ kind: 'snapshot', status: 'BUSY', schedule: [shown] });
  } finally {
    frames.close();
    await hub.close();
  }
});

describe('an item changes', () => {
  test('is moved: the same booking is elsewhere', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sync();
    const [before] = await listBookings();
    graph.put(room.mailbox, eventAt('a', at(2, 10)));
    await sync();
    expect(await listBookings()).toMatchObject([{ Id: before!.Id, Start: iso(at(2, 10)), Version: 2 }]);
  });

  test('is deleted: its booking is cancelled; what is unknown is not missed', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)), eventAt('b', at(1, 9)));
    await sync();
    graph.remove(room.mailbox, 'a', 'never heard of');
    await sync();
    expect(await seen()).toEqual([
      [iso(at(1, 8)), 'Cancelled', 'Subject of a'],
      [iso(at(1, 9)), 'Confirmed', 'Subject of b'],
    ]);
  });

  test('is cancelled and restored: it gets another booking, as a cancelled one stays cancelled', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sync();
    graph.put(room.mailbox, eventAt('a', at(1, 8), { isCancelled: true }));
    await sync();
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sync();
    expect((await listBookings()).map(({ Status }) => Status).sort()).toEqual(['Cancelled', 'Confirmed']);
  });

  test('two swap their places, and three go round, in one reading', async () => {
    const put = (...hours: number[]) =>
      graph.put(room.mailbox, ...hours.map((one, index) => eventAt(`e${index}`, at(1, one))));
    put(8, 9, 10, 11, 12);
    await sync();
    const ids = (await listBookings()).map(({ Id }) => Id);
    put(9, 8, 11, 12, 10);
    await sync();
    const after = (await listBookings()).map(({ Id, Subject, Version }) => [Id, Subject, Version]);
    expect(after).toEqual([
      [ids[1], 'Subject of e1', 2],
      [ids[0], 'Subject of e0', 2],
      [ids[4], 'Subject of e4', 2],
      [ids[2], 'Subject of e2', 2],
      [ids[3], 'Subject of e3', 2],
    ]);
  });

  test('nothing has: nothing is written', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)), eventAt('b', at(1, 9), { showAs: 'free' }));
    await sync();
    const [before, changes, stored] = [await listBookings(), await countChanges(), await written()];
    graph.put(room.mailbox, eventAt('a', at(1, 8)), eventAt('b', at(1, 9), { showAs: 'free' }));
    await sync();
    await sql`update mail_calendar set cursor = null where id = ${room.calendarId}`.execute(work);
    await sync();
    expect([await listBookings(), await countChanges(), await written()]).toEqual([before, changes, stored]);
    expect(Number((await calendar()).readings)).toBe(3);
  });

  test('a series: each occurrence is a booking; an exception moves, one goes, the rest stay', async () => {
    const series = (places: (readonly [number, number])[]) =>
      graph.putSeries(
        room.mailbox,
        's',
        places.map(([days, hours]) =>
          eventAt(`s-${days}`, at(days, hours), { originalStart: iso(at(days, 8)), iCalUId: 'uid-s' }),
        ),
      );
    series([
      [1, 8],
      [8, 8],
      [15, 8],
    ]);
    await sync();
    const ids = (await listBookings()).map(({ Id }) => Id);
    expect(ids).toHaveLength(3);
    series([
      [1, 8],
      [8, 14],
    ]);
    await sync();
    expect((await listBookings()).map(({ Id, Start, Status, Version }) => [Id, Start, Status, Version])).toEqual([
      [ids[0], iso(at(1, 8)), 'Confirmed', 1],
      [ids[1], iso(at(8, 14)), 'Confirmed', 2],
      [ids[2], iso(at(15, 8)), 'Cancelled', 2],
    ]);
    graph.remove(room.mailbox, 's');
    await sync();
    expect(await occupied()).toEqual([]);
  });

  test('nobody here changes or cancels it', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sync();
    const [{ Id } = { Id: 0 }] = await listBookings();
    for (const answer of [
      await admin.patch(`/bookings/${Id}`, { Subject: 'Other' }),
      await admin.send('DELETE', `/bookings/${Id}`, { headers: { 'If-Match': '*' } }),
    ])
      expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('mail server')]);
  });
});

describe('the room is occupied', () => {
  test('the item is a conflict, which Admins see, and is booked when the room is free', async () => {
    const inTheWay = await occupy(1, 8);
    graph.put(room.mailbox, eventAt('a', at(1, 8.5)), eventAt('b', at(1, 9.5)));
    await sync();
    expect(await states()).toEqual({ a: 'Conflict', b: 'Booked' });
    const [a] = await items();
    expect(a!.reason).toBe(`The room is occupied by a booking from ${iso(at(1, 8))} to ${iso(at(1, 9))}.`);
    const { data } = await admin.ask('{ mailSubscriptions { resource { id } conflicts { subject bookingId } } }');
    const calendars = data!['mailSubscriptions'] as { resource: { id: string }; conflicts: unknown[] }[];
    expect(calendars.find(({ resource }) => resource.id === `${room.resourceId}`)!.conflicts).toEqual([
      { subject: 'Subject of a', bookingId: `${inTheWay}` },
    ]);
    expect(await bookConflicts(work)).toBe(0);
    await sql`update booking set status = 'Cancelled' where id = ${inTheWay}`.execute(work);
    expect(await bookConflicts(work)).toBe(1);
    expect(await occupied()).toEqual([
      [iso(at(1, 8.5)), 'Subject of a'],
      [iso(at(1, 9.5)), 'Subject of b'],
    ]);
    expect(await bookConflicts(work)).toBe(0);
  });

  test('an item that had its place elsewhere loses it: it is not there any more', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sync();
    await occupy(2, 8);
    graph.put(room.mailbox, eventAt('a', at(2, 8)));
    await sync();
    expect(await seen()).toContainEqual([iso(at(1, 8)), 'Cancelled', 'Subject of a']);
    expect(await states()).toEqual({ a: 'Conflict' });
  });

  test('one of two items at one time gets the room, and keeps it; the other one follows', async () => {
    graph.put(room.mailbox, eventAt('b', at(1, 8)));
    await sync();
    graph.put(room.mailbox, eventAt('a', at(1, 7.5)), eventAt('b', at(1, 8), { subject: 'Renamed' }));
    await sync();
    expect(await states()).toEqual({ a: 'Conflict', b: 'Booked' });
    graph.remove(room.mailbox, 'b');
    await sync();
    await bookConflicts(work);
    expect(await occupied()).toEqual([[iso(at(1, 7.5)), 'Subject of a']]);
  });
});

describe('of two items at one time the answer of the room decides', () => {
  const answers = { accepted: 'accepted', tentative: 'tentativelyAccepted', pending: 'notResponded' };
  const put = (id: string, hours: number, answer: keyof typeof answers, more = {}) =>
    graph.put(room.mailbox, eventAt(id, at(1, hours), { responseStatus: { response: answers[answer] }, ...more }));

  test('in one reading: the accepted one, then the tentative one, whichever begins first', async () => {
    put('a', 8, 'pending');
    put('b', 8.5, 'tentative');
    put('c', 9.25, 'accepted');
    put('d', 11, 'pending');
    put('e', 11, 'tentative');
    put('f', 13, 'pending', { isOrganizer: false });
    put('g', 13, 'pending', { responseStatus: { response: 'organizer' } });
    await sync();
    expect(await states()).toEqual({
      a: 'Booked',
      b: 'Conflict',
      c: 'Booked',
      d: 'Conflict',
      e: 'Booked',
      f: 'Conflict',
      g: 'Booked',
    });
  });

  test('an accepted one takes the place of what was not answered, which gets it back', async () => {
    put('a', 8, 'pending');
    await sync();
    put('b', 8.5, 'accepted');
    await sync();
    expect(await states()).toEqual({ a: 'Conflict', b: 'Booked' });
    expect((await items())[0]!.reason).toBe(
      `The room is occupied by another item from ${iso(at(1, 8.5))} to ${iso(at(1, 9.5))}.`,
    );
    expect(await seen()).toEqual([
      [iso(at(1, 8)), 'Cancelled', 'Subject of a'],
      [iso(at(1, 8.5)), 'Confirmed', 'Subject of b'],
    ]);
    expect(await bookConflicts(work)).toBe(0);
    graph.remove(room.mailbox, 'b');
    await sync();
    expect(await bookConflicts(work)).toBe(1);
    expect(await occupied()).toEqual([[iso(at(1, 8)), 'Subject of a']]);
  });

  test('also when an answer changes later: to one that comes first, and to one that comes last', async () => {
    put('a', 8, 'accepted');
    put('b', 8, 'pending');
    put('c', 8, 'tentative');
    await sync();
    expect(await states()).toEqual({ a: 'Booked', b: 'Conflict', c: 'Conflict' });
    put('a', 8, 'pending');
    await sync();
    expect(await states()).toEqual({ a: 'Conflict', b: 'Conflict', c: 'Booked' });
    put('b', 8, 'accepted');
    await sync();
    expect(await states()).toEqual({ a: 'Conflict', b: 'Booked', c: 'Conflict' });
    // Equals keep what they have.
    put('a', 8, 'accepted');
    await sync();
    expect(await states()).toEqual({ a: 'Conflict', b: 'Booked', c: 'Conflict' });
  });

  test('one that waits for a booking to go then comes before an item that is not accepted', async () => {
    const inTheWay = await occupy(1, 8);
    put('a', 8, 'accepted', { hours: 2 });
    put('b', 9, 'pending');
    await sync();
    expect(await states()).toEqual({ a: 'Conflict', b: 'Booked' });
    expect(await bookConflicts(work)).toBe(0);
    await sql`update booking set status = 'Cancelled' where id = ${inTheWay}`.execute(work);
    expect(await bookConflicts(work)).toBe(1);
    expect(await states()).toEqual({ a: 'Booked', b: 'Conflict' });
    expect(await bookConflicts(work)).toBe(0);
  });
});

test('what has ended stays booked, though it is cancelled or deleted afterwards', async () => {
  const past = Math.floor(Date.now() / hour) * hour - 5 * hour;
  graph.put(room.mailbox, eventAt('a', past), eventAt('b', past + 2 * hour));
  await sync();
  graph.put(room.mailbox, eventAt('a', past, { isCancelled: true }));
  graph.remove(room.mailbox, 'b');
  await sync();
  expect(await seen()).toEqual([
    [iso(past), 'Confirmed', 'Subject of a'],
    [iso(past + 2 * hour), 'Confirmed', 'Subject of b'],
  ]);
});

describe('the room gets another mailbox while a meeting runs', () => {
  const now = Math.floor(Date.now() / hour) * hour - hour;
  async function move(): Promise<void> {
    graph.put(room.mailbox, eventAt('a', now, { hours: 4 }), eventAt('b', at(1, 8)));
    await sync();
    room.mailbox = `new-${room.mailbox}`;
    await work.updateTable('resource').set({ mailbox: room.mailbox }).where('id', '=', room.resourceId).execute();
    await alignCalendars(work, service.context.config);
  }

  test('the meeting keeps the room, though the new mailbox does not have it', async () => {
    await move();
    graph.put(room.mailbox, eventAt('c', now + 2 * hour), eventAt('d', at(1, 8)));
    await run();
    expect(await occupied()).toEqual([
      [iso(now), 'Subject of a'],
      [iso(at(1, 8)), 'Subject of d'],
    ]);
    expect(await states()).toEqual({ a: 'Gone', b: 'Gone', c: 'Conflict', d: 'Booked' });
  });

  test('the meeting follows its item, if the new mailbox has it', async () => {
    await move();
    const [before] = await listBookings();
    graph.put(room.mailbox, eventAt('a', now, { hours: 3 }), eventAt('b', at(1, 8)));
    await run();
    expect(await states()).toEqual({ a: 'Booked', b: 'Booked' });
    expect((await listBookings())[0]).toMatchObject({
      Id: before!.Id,
      Status: 'Confirmed',
      End: iso(now + 3 * hour),
    });
    graph.remove(room.mailbox, 'a');
    await sync();
    expect((await occupied()).map(([, subject]) => subject)).toEqual(['Subject of b']);
  });
});

test('an item that has ended keeps its room from one that goes first, which is not tried again and again', async () => {
  const past = Math.floor(Date.now() / hour) * hour - 5 * hour;
  graph.put(room.mailbox, eventAt('a', past, { responseStatus: { response: 'notResponded' } }));
  await sync();
  graph.put(room.mailbox, eventAt('b', past - hour, { hours: 24 }));
  await sync();
  expect(await states()).toEqual({ a: 'Booked', b: 'Conflict' });
  const { notifications } = service.context;
  await heardOfAll(service.context);
  const heard = await notifications.subscribe(`mail_calendar:${room.mandatorId}`);
  expect(await bookConflicts(work)).toBe(0);
  await sql`select pg_notify('roomgate', ${`mail_calendar:${room.mandatorId}:0`})`.execute(work);
  expect([...(await heard.next())!.keys]).toEqual(['0']);
  heard.close();
  expect(await states()).toEqual({ a: 'Booked', b: 'Conflict' });
});

test('a conflict of a calendar that is retired is not booked', async () => {
  const inTheWay = await occupy(1, 8);
  graph.put(room.mailbox, eventAt('a', at(1, 8)));
  await sync();
  await sql`update mail_calendar set retired_at = now() where id = ${room.calendarId}`.execute(work);
  await sql`update booking set status = 'Cancelled' where id = ${inTheWay}`.execute(work);
  expect(await bookConflicts(work)).toBe(0);
});

describe('the thread is lost', () => {
  test('everything is read again: absent items are cancelled, ended ones and those outside the window stay', async () => {
    const past = Math.floor(Date.now() / hour) * hour - 3 * hour;
    graph.put(
      room.mailbox,
      eventAt('past', past),
      eventAt('a', at(1, 8)),
      eventAt('b', at(2, 8)),
      eventAt('far', at(200, 8)),
    );
    await sync();
    expect(await occupied()).toHaveLength(4);
    graph.empty(room.mailbox);
    graph.put(room.mailbox, eventAt('b', at(2, 8)));
    graph.forgetCursors();
    // As if the settings named fewer days now.
    const { config } = service.context;
    const fewer = { ...config, MailServer: { school: { ...config.MailServer['school']!, FutureDays: 100 } } };
    await mark();
    await synchroniseCalendar(
      { ...service.context, ...job, config: fewer, work, signal: new AbortController().signal },
      room,
    );
    expect(await occupied()).toEqual([
      [iso(past), 'Subject of past'],
      [iso(at(2, 8)), 'Subject of b'],
      [iso(at(200, 8)), 'Subject of far'],
    ]);
    expect(await states()).toEqual({ past: 'Booked', a: 'Gone', b: 'Booked', far: 'Booked' });
    expect(graph.log.filter((line) => line.endsWith('/delta'))).toHaveLength(2);
    expect(await calendar()).toMatchObject({ fault: null, dirty_since: null });
  });
});

describe('the mail server does not answer as it should', () => {
  test('throttled: the calendar is left alone until it may be asked again', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    graph.trouble({ status: 429, headers: { 'retry-after': '120' } });
    const asked = Date.now();
    await sync();
    const stored = await calendar();
    expect(stored).toMatchObject({ fault: 'Throttled', failures: 1, dirty_by: 'Push', cursor: null });
    const until = stored.not_before!.getTime();
    expect(until).toBeGreaterThan(asked + 119_000);
    expect(until).toBeLessThan(Date.now() + 121_000);
    const { rows } = await sql<{ runAt: Date }>`
      select run_at as "runAt" from graphile_worker._private_jobs
      where key = ${`mail calendar ${room.calendarId}`}`.execute(work);
    expect(rows[0]!.runAt.getTime() / 1_000).toBeCloseTo(until / 1_000, 0);
    const requests = graph.log.length;
    await sync('Poll');
    expect(graph.log).toHaveLength(requests);
    await sql`update mail_calendar set not_before = now() where id = ${room.calendarId}`.execute(work);
    await sync();
    expect(await calendar()).toMatchObject({ fault: null, failures: 0, not_before: null, dirty_since: null });
    expect(await occupied()).toHaveLength(1);
  });

  test('throttled by a server that names no time: the calendar is asked again after a second', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    graph.trouble({ status: 429 });
    await sync();
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from not_before - now()) * 1000)::float8 as ms from mail_calendar
      where id = ${room.calendarId}`.execute(work);
    expect(rows[0]!.ms).toBeLessThan(1_260);
    await sql`update mail_calendar set not_before = now() where id = ${room.calendarId}`.execute(work);
    await sync();
    expect(await occupied()).toHaveLength(1);
  });

  test('back again: calendars that wait for the same reason wait no longer, and those to be left alone do', async () => {
    const { mandatorId, calendarId } = room;
    const others = await work
      .selectFrom('mail_calendar')
      .where('id', '>', calendarId)
      .select('id')
      .orderBy('id')
      .limit(3)
      .execute();
    const [same, throttled, refused] = others.map(({ id }) => id) as [number, number, number];
    const wait = (id: number, fault: string) =>
      sql`
        update mail_calendar set fault = ${fault}, fault_text = 'x', failures = 9, not_before = now() + interval '1 hour'
        where id = ${id}`.execute(work);
    await wait(same, 'Unreachable');
    await wait(throttled, 'Throttled');
    await wait(refused, 'AccessLost');
    const { rows } = await sql<{ id: number }>`
      insert into mail_subscription (mandator_id, calendar_id, kind, server_url, callback_url, state, failures, fault, fault_text, due_at)
      values (${mandatorId}, ${same}, 'Graph', 'x', 'x', 'Active', 4, 'Unreachable', 'x', now() + interval '15 minutes')
      returning id`.execute(work);
    graph.trouble({ status: 500 });
    await sync();
    await sql`update mail_calendar set not_before = now() where id = ${calendarId}`.execute(work);
    await sync();
    expect(await calendar()).toMatchObject({ fault: null, failures: 0 });
    const waiting = await work
      .selectFrom('mail_calendar')
      .where('id', 'in', [same, throttled, refused])
      .select(['not_before', 'dirty_by'])
      .orderBy('id')
      .execute();
    expect(waiting).toEqual([
      { not_before: null, dirty_by: 'Poll' },
      { not_before: expect.any(Date), dirty_by: null },
      { not_before: expect.any(Date), dirty_by: null },
    ]);
    const renewal = await sql<{ due: boolean }>`
      select due_at <= now() as due from mail_subscription where id = ${rows[0]!.id}`.execute(work);
    expect(renewal.rows).toEqual([{ due: true }]);
    await sql`delete from mail_subscription where id = ${rows[0]!.id}`.execute(work);
    await sql`
      update mail_calendar set fault = null, fault_text = null, failures = 0, not_before = null, dirty_since = null, dirty_by = null
      where id > ${calendarId}`.execute(work);
  });

  test.each([
    ['had to make room for others is put off, and has failed at nothing', true, { fault: null, failures: 0 }],
    ['was silent for all of its time has failed', false, { fault: 'Unreachable', failures: 1 }],
  ])('whose mail server %s', async (_which, isCutShort, expected) => {
    await mark();
    const end = new AbortController();
    const cut = { begin: () => end.abort(new Error('over')), answered: () => {}, throttled: () => {} };
    const turns: Turns = {
      async take(_of, read) {
        await read({ ...cut, signal: end.signal, isCutShort: () => isCutShort });
        return undefined;
      },
    };
    const { signal } = new AbortController();
    await synchroniseCalendar({ ...service.context, ...job, turns, work, signal }, room);
    expect(await calendar()).toMatchObject({ ...expected, dirty_by: 'Push', not_before: expect.any(Date) });
  });

  test('that is to be left alone: its calendars are put off once, however often it is asked for', async () => {
    await mark();
    const turns: Turns = { take: async () => ({ againMs: 60_000, isForAll: true }) };
    const { signal } = new AbortController();
    const refuse = () => synchroniseCalendar({ ...service.context, ...job, turns, work, signal }, room);
    await refuse();
    const before = await calendar();
    expect(before).toMatchObject({ dirty_by: 'Push', not_before: expect.any(Date) });
    await refuse();
    const { marks, not_before: until } = await calendar();
    expect([marks, until]).toEqual([before.marks, before.not_before]);
  });

  test('that refuses a reading: the calendar keeps its place among those that wait, until its third failure in a row', async () => {
    await mark();
    await sql`update mail_calendar set dirty_since = now() - interval '1 minute' where id = ${room.calendarId}`.execute(
      work,
    );
    const waited: (number | undefined)[] = [];
    const real = openTurns(8);
    const turns: Turns = {
      take(of, read) {
        waited.push(of.waitedMs);
        return real.take(of, read);
      },
    };
    for (let failures = 0; failures < 4; failures += 1) {
      graph.trouble({ status: 429 });
      const { signal } = new AbortController();
      await synchroniseCalendar({ ...service.context, ...job, turns, work, signal }, room);
      await sql`update mail_calendar set not_before = now() where id = ${room.calendarId}`.execute(work);
    }
    expect(await calendar()).toMatchObject({ fault: 'Throttled', failures: 4 });
    expect(waited.map((ms) => ms! >= 60_000)).toEqual([true, true, true, false]);
  });

  test('that cannot be reached: the waits stop growing at five minutes', async () => {
    await sql`update mail_calendar set failures = 12 where id = ${room.calendarId}`.execute(work);
    graph.trouble({ status: 500 });
    const asked = Date.now();
    await sync();
    const { not_before: until, fault, fault_status: status } = await calendar();
    expect([fault, status]).toEqual(['Unreachable', 500]);
    expect(until!.getTime()).toBeGreaterThan(asked + 3.7 * 60_000);
    expect(until!.getTime()).toBeLessThan(Date.now() + 6.3 * 60_000);
  });

  test('more items than are booked: nothing is booked', async () => {
    const clock = holdClock();
    graph.put(room.mailbox, ...Array.from({ length: 20_001 }, (_, index) => eventAt(`${index}`, at(1, index / 60))));
    await sync();
    for (let steps = 1; steps < 11; steps++) await run();
    clock.mockRestore();
    expect(await calendar()).toMatchObject({
      continuation: null,
      continuation_items: 0,
      fault: 'TooLarge',
      fault_text: expect.stringContaining('20000'),
    });
    expect(await listBookings()).toEqual([]);
    graph.empty(room.mailbox);
  });

  test('each further fault waits twice as long', async () => {
    for (let count = 0; count < 4; count++) {
      graph.trouble({ status: 500 });
      const asked = Date.now();
      await sync();
      const until = (await calendar()).not_before!.getTime();
      expect(until).toBeGreaterThan(asked + 1_000 * 2 ** count * 0.74);
      expect(until).toBeLessThan(Date.now() + 1_000 * 2 ** count * 1.26);
      await sql`update mail_calendar set not_before = null where id = ${room.calendarId}`.execute(work);
    }
  });
});

describe('a large calendar is read in steps', () => {
  let clock: ReturnType<typeof holdClock>;
  beforeAll(() => {
    clock = holdClock();
  });
  afterAll(() => clock.mockRestore());

  /** A quarter of an hour each, so that a step holds 2,000 of them, in pages of 100. */
  const fill = (from: number, count: number) =>
    graph.put(
      room.mailbox,
      ...Array.from({ length: count }, (_, index) =>
        eventAt(`${from + index}`, at(1, (from + index) / 4), { hours: 0.25 }),
      ),
    );
  const counts = async () => {
    const { rows } = await sql<{ bookings: number; pages: number }>`
      select (select count(*)::int from booking where resource_id = ${room.resourceId} and status = 'Confirmed') as bookings,
        (select count(*)::int from mail_reading_page where calendar_id = ${room.calendarId}) as pages`.execute(work);
    return rows[0]!;
  };
  const pending = () => sql`update mail_calendar set not_before = null where id = ${room.calendarId}`.execute(work);
  const isQueued = async () => {
    const { rows } = await sql`
      select from graphile_worker._private_jobs where key = ${`mail calendar ${room.calendarId}`}`.execute(work);
    return rows.length === 1;
  };

  test('each is kept, others get their turn in between, and it is taken over at its end as one', async () => {
    fill(0, 4_100);
    await sync();
    const first = await calendar();
    expect(first).toMatchObject({
      cursor: null,
      continuation_items: 2_000,
      dirty_by: 'Push',
      fault: null,
      reading_since: null,
    });
    expect(await counts()).toEqual({ bookings: 0, pages: 1 });
    expect(await isQueued()).toBe(true);
    await run();
    expect(await calendar()).toMatchObject({
      continuation_items: 4_000,
      continuation_since: first.continuation_since,
    });
    await run();
    expect(await calendar()).toMatchObject({
      continuation: null,
      continuation_items: 0,
      dirty_by: null,
      fault: null,
      window_end: first.window_end,
      cursor: expect.any(String),
    });
    expect(await counts()).toEqual({ bookings: 4_100, pages: 0 });
    expect(graph.log).toHaveLength(41);
    // What has changed since its beginning is found by the next one, and nothing twice.
    graph.log.length = 0;
    await sync();
    expect(graph.log).toHaveLength(1);
    graph.empty(room.mailbox);
  });

  test('a fault in the middle costs nothing of what was read, and says how much that is', async () => {
    fill(0, 2_300);
    graph.trouble(...Array.from({ length: 5 }, () => undefined), { status: 503 });
    await sync();
    expect(await calendar()).toMatchObject({
      fault: 'Throttled',
      failures: 1,
      continuation_items: 500,
      fault_text: expect.stringContaining('The 500 items that were read before are kept.'),
    });
    await pending();
    graph.log.length = 0;
    await run();
    expect(await calendar()).toMatchObject({ fault: null, failures: 0, continuation: null, dirty_by: null });
    expect(graph.log).toHaveLength(18);
    expect(await counts()).toEqual({ bookings: 2_300, pages: 0 });
    graph.empty(room.mailbox);
  });

  test('what changes meanwhile, and who says so, is not missed', async () => {
    fill(0, 2_050);
    await sync();
    graph.remove(room.mailbox, '7');
    graph.put(room.mailbox, eventAt('8', at(300, 0)), eventAt('new', at(299, 0)));
    await mark();
    await run();
    expect(await calendar()).toMatchObject({ continuation: null, dirty_by: 'Push' });
    await run();
    expect(await calendar()).toMatchObject({ dirty_by: null });
    expect(await counts()).toEqual({ bookings: 2_050, pages: 0 });
    const states = Object.fromEntries((await items()).map(({ id, state }) => [id, state]));
    expect([states['7'], states['8'], states['new']]).toEqual(['Gone', 'Booked', 'Booked']);
    graph.empty(room.mailbox);
  });

  test('a notification after a worker that died between a step and its fault is not missed', async () => {
    fill(0, 2_300);
    graph.trouble(...Array.from({ length: 5 }, () => undefined), { status: 503 });
    await sql`
      create function die() returns trigger language plpgsql as $$ begin raise exception 'dead'; end $$;
      create trigger die before update on mail_calendar for each row when (new.fault is not null)
        execute function die()`.execute(work);
    await expect(sync()).rejects.toThrow('dead');
    await sql`drop function die() cascade`.execute(work);
    expect(await calendar()).toMatchObject({ fault: null, continuation_items: 500, dirty_by: 'Push' });
    await mark();
    await run();
    expect(await calendar()).toMatchObject({ continuation: null, dirty_by: 'Push' });
    graph.empty(room.mailbox);
  });

  test('one that loses the thread in the middle begins anew, as one that is asked for does', async () => {
    fill(0, 2_100);
    await sync();
    graph.trouble({ status: 410, body: { error: { code: 'SyncStateNotFound' } } });
    await run();
    expect(await calendar()).toMatchObject({ continuation_items: 2_000, fault: null });
    expect(await counts()).toEqual({ bookings: 0, pages: 1 });
    const { mandatorId, calendarId } = room;
    await requestReadings(work, mandatorId, [calendarId], { whole: true });
    expect(await calendar()).toMatchObject({ continuation: null, continuation_items: 0 });
    await run();
    await run();
    expect(await calendar()).toMatchObject({ continuation: null, dirty_by: null, fault: null });
    expect(await counts()).toEqual({ bookings: 2_100, pages: 0 });
    graph.empty(room.mailbox);
  });

  test.each([
    ['an answer that cannot be read', async () => graph.trouble(undefined, { status: 200, body: {} })],
    [
      'a continuation of another release',
      async () => {
        await sql`
          update mail_calendar set continuation = json_build_object('place', '{"link":"/","told":null}', 'marks', 1)::text
          where id = ${room.calendarId}`.execute(work);
      },
    ],
  ])('%s does not hold it up: it begins anew', async (_name, spoil) => {
    fill(0, 2_300);
    await sync();
    await spoil();
    await run();
    const { fault } = await calendar();
    if (fault !== null)
      expect(await calendar()).toMatchObject({
        fault: 'Unreadable',
        continuation: null,
        continuation_items: 0,
      });
    await pending();
    graph.log.length = 0;
    await run();
    if (fault !== null) await run();
    expect(await calendar()).toMatchObject({ fault: null, continuation: null, dirty_by: null });
    expect(graph.log).toHaveLength(fault === null ? 3 : 23);
    expect(await counts()).toEqual({ bookings: 2_300, pages: 0 });
    graph.empty(room.mailbox);
  });

  test('what was kept does not come back after the reading that is asked for', async () => {
    fill(0, 2_100);
    await sync();
    expect(await counts()).toEqual({ bookings: 0, pages: 1 });
    graph.remove(room.mailbox, ...Array.from({ length: 2_000 }, (_, index) => `${index}`));
    await requestReadings(work, room.mandatorId, [room.calendarId], { whole: true });
    expect(await counts()).toEqual({ bookings: 0, pages: 0 });
    await run();
    expect(await counts()).toEqual({ bookings: 100, pages: 0 });
    fill(2_100, 2_100);
    await sync();
    expect(await calendar()).toMatchObject({ continuation_items: 2_000 });
    await run();
    expect(await calendar()).toMatchObject({ continuation: null, dirty_by: null });
    expect(await counts()).toEqual({ bookings: 2_200, pages: 0 });
    graph.empty(room.mailbox);
  });

  test('an event that has lost its id keeps its booking in a reading of the whole calendar', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)), eventAt('b', at(2, 8)));
    await sync();
    const both = await occupied();
    expect(both).toHaveLength(2);
    const again = async () => {
      await requestReadings(work, room.mandatorId, [room.calendarId], { whole: true });
      await run();
      return await occupied();
    };
    graph.remove(room.mailbox, 'a');
    graph.put(room.mailbox, { ...eventAt('a', at(1, 8)), id: '' });
    expect(await again()).toEqual(both);
    graph.empty(room.mailbox);
    graph.put(room.mailbox, eventAt('b', at(2, 8)));
    expect(await again()).toHaveLength(1);
    graph.empty(room.mailbox);
  });

  test('of a calendar that is retired nothing is kept', async () => {
    fill(0, 2_100);
    await sync();
    const { context } = service;
    const name = (yes: boolean) =>
      sql`update resource set mailbox = ${yes ? room.mailbox : null} where id = ${room.resourceId}`.execute(work);
    await name(false);
    await alignCalendars(work, context.config);
    expect(await counts()).toEqual({ bookings: 0, pages: 0 });
    await name(true);
    await alignCalendars(work, context.config);
    await run();
    expect(await counts()).toEqual({ bookings: 0, pages: 1 });
    await run();
    expect(await counts()).toEqual({ bookings: 2_100, pages: 0 });
    graph.empty(room.mailbox);
  });

  test('also of what has changed since a cursor', async () => {
    await sync();
    fill(0, 2_100);
    await sync();
    const { cursor, continuation_items: items } = await calendar();
    expect([typeof cursor, items]).toEqual(['string', 2_000]);
    await run();
    expect(await calendar()).toMatchObject({ continuation: null, dirty_by: null });
    expect(await counts()).toEqual({ bookings: 2_100, pages: 0 });
    graph.empty(room.mailbox);
  });
});

describe('its reader dies', () => {
  const pending = () => sql`update mail_calendar set not_before = null where id = ${room.calendarId}`.execute(work);
  /** The state that a worker leaves that was killed in the middle. */
  const die = (deaths = 0) =>
    sql`
      update mail_calendar set reading_since = now(), reading_by = 'dead', deaths = deaths + ${deaths}
      where id = ${room.calendarId}`.execute(work);
  const minutesOfRest = async () => {
    const { not_before: until } = await calendar();
    return until && (until.getTime() - Date.now()) / 60_000;
  };

  test('once or twice: it is read at once; a reading that ends clears the account', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await die(1);
    await sync();
    expect(await calendar()).toMatchObject({
      deaths: 0,
      reading_since: null,
      fault: null,
      dirty_since: null,
    });
    expect(await occupied()).toHaveLength(1);
  });

  test('again and again: it rests, twice as long each time, even when a worker starts, and the doctor reports it', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await die(2);
    await sync();
    expect(graph.log).toEqual([]);
    expect(await calendar()).toMatchObject({ deaths: 3, reading_since: null, dirty_by: 'Push' });
    expect(await minutesOfRest()).toBeCloseTo(1, 0);
    await endPauses(work);
    expect(await minutesOfRest()).toBeCloseTo(1, 0);
    await pending();
    await die();
    await sync();
    expect(await minutesOfRest()).toBeCloseTo(2, 0);
    await sql`update mail_calendar set deaths = 20 where id = ${room.calendarId}`.execute(work);
    await pending();
    await die();
    await sync();
    expect(await minutesOfRest()).toBeCloseTo(360, 0);
    expect(graph.log).toEqual([]);
    const found = await examineMail({ ...service.context, db: work });
    expect(found).toContainEqual(
      expect.objectContaining({
        check: 'Calendar',
        level: 'fault',
        text: expect.stringContaining('The worker has died 21 times in a row while it read this calendar'),
      }),
    );
    await pending();
    await sync();
    expect(await calendar()).toMatchObject({ deaths: 0, fault: null });
    expect(await occupied()).toHaveLength(1);
  });

  test('an outage of the database is not a death: a living reader removes the mark when it is back', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sql`update mail_calendar set deaths = 2 where id = ${room.calendarId}`.execute(work);
    const held = graph.hold();
    const reading = sync();
    const outcome = expect(reading).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await held.reached;
    const away = jest.spyOn(poolOf(work), 'connect').mockImplementation(() => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    });
    held.open();
    await outcome;
    away.mockRestore();
    expect(await calendar()).toMatchObject({ deaths: 2, reading_since: expect.any(Date) });
    await run();
    expect(await calendar()).toMatchObject({ deaths: 0, reading_since: null, fault: null, dirty_by: null });
    expect(await occupied()).toHaveLength(1);
  });

  test('a worker that was away for long does not end the note of its successor', async () => {
    const held = graph.hold();
    const reading = sync();
    await held.reached;
    await sql`
      update mail_calendar set readings = readings + 1, deaths = 1, reading_since = clock_timestamp(), reading_by = 'heir'
      where id = ${room.calendarId}`.execute(work);
    held.open();
    await reading;
    expect(await calendar()).toMatchObject({ deaths: 1, reading_since: expect.any(Date) });
  });

  describe('or does not', () => {
    const leave = (by: string | null, since = sql`now()`) =>
      sql`
        update mail_calendar set deaths = 2, reading_by = ${by}, reading_since = ${since}
        where id = ${room.calendarId}`.execute(work);

    test.each<[string, () => Promise<unknown>]>([
      ['another worker that lives has lost the link', () => leave('living')],
      ['PostgreSQL was started since', () => leave('dead', sql`pg_postmaster_start_time() - interval '1 second'`)],
      ['a worker of an older release does not say who it was', () => leave(null)],
    ])('%s: that is no death', async (_name, leaveNote) => {
      graph.put(room.mailbox, eventAt('a', at(1, 8)));
      await leaveNote();
      await work.connection().execute(async (session) => {
        await holdRunner(session, 'living');
        await sync();
        await unlockAll(session);
      });
      // A third one would have had it rest.
      expect(await calendar()).toMatchObject({ deaths: 0, fault: null, reading_by: null, dirty_by: null });
      expect(await occupied()).toHaveLength(1);
    });

    test('a worker that was wrongly counted as dead corrects that, and leaves the mark of its successor', async () => {
      const held = graph.hold();
      const reading = sync();
      await held.reached;
      const heldAgain = graph.hold();
      const { signal } = new AbortController();
      const heir = synchroniseCalendar({ ...service.context, ...job, runner: 'heir', work, signal }, room);
      await heldAgain.reached;
      expect(await calendar()).toMatchObject({ deaths: 1, death_of: 'test', reading_by: 'heir' });
      held.open();
      await reading;
      expect(await calendar()).toMatchObject({ deaths: 0, death_of: null, reading_by: 'heir' });
      heldAgain.open();
      await heir;
      expect(await calendar()).toMatchObject({ deaths: 0, reading_since: null, reading_by: null });
    });

    test.each(['as it makes its note', 'later'])(
      'who is asked to stop %s ends its note at once, not with what it still writes',
      async (when) => {
        const stop = new AbortController();
        const written = Promise.withResolvers<void>();
        const { readings } = await calendar();
        const { mandatorId, calendarId: id, mailbox } = room;
        const left = { leftBy: null, leftSince: null, isLeftBeforeStart: false };
        const noted = {
          ...left,
          mandatorId,
          mandator: 'school',
          id,
          mailbox,
          readings,
          deaths: 0,
          dirtyBy: 'Push',
        };
        let isDone = false;
        const begun = Promise.withResolvers<void>();
        if (when !== 'later') stop.abort();
        const reading = openNotes()
          .readNoted({ ...service.context, ...job, work, signal: stop.signal }, noted as Calendar, () => {
            begun.resolve();
            return written.promise;
          })
          .then(() => {
            isDone = true;
          });
        await begun.promise;
        if (when === 'later') expect(await calendar()).toMatchObject({ reading_by: 'test' });
        stop.abort();
        await until('it is not any more', async () => (await calendar()).reading_by === null);
        expect(isDone).toBe(false);
        written.resolve();
        await reading;
      },
    );
  });

  test('of calendars at which somebody has died one is read at a time, so that it shows which of them it was', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    const held = graph.hold();
    await die();
    const first = sync();
    await held.reached;
    const other = service.tenant.resources[used++]!;
    const { id } = await work
      .selectFrom('mail_calendar')
      .where('resource_id', '=', other.id)
      .select('id')
      .executeTakeFirstOrThrow();
    await sql`update mail_calendar set reading_since = now(), reading_by = 'dead' where id = ${id}`.execute(work);
    await markCalendars(work, [id], 'Push');
    const { signal } = new AbortController();
    const key = { mandatorId: room.mandatorId, calendarId: id };
    await synchroniseCalendar({ ...service.context, ...job, work, signal }, key);
    const state = () => work.selectFrom('mail_calendar').where('id', '=', id).selectAll().executeTakeFirstOrThrow();
    expect(await state()).toMatchObject({ readings: 0, dirty_by: 'Push', not_before: expect.any(Date) });
    held.open();
    await first;
    await sql`update mail_calendar set not_before = null where id = ${id}`.execute(work);
    await synchroniseCalendar({ ...service.context, ...job, work, signal }, key);
    expect(await state()).toMatchObject({ readings: 1, deaths: 0, dirty_by: null });
  });
});

describe('somebody else is at it', () => {
  test('a notification during a reading leads to another one', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    const held = graph.hold();
    const reading = sync();
    await held.reached;
    graph.put(room.mailbox, eventAt('b', at(1, 9)));
    await mark();
    held.open();
    await reading;
    expect(await calendar()).toMatchObject({ dirty_since: expect.any(Date), fault: null });
    expect(await occupied()).toHaveLength(1);
    await run();
    expect(await calendar()).toMatchObject({ dirty_since: null });
    expect(await occupied()).toHaveLength(2);
  });

  test('two readings of one calendar: the slower one changes nothing', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await mark();
    const held = graph.hold();
    const slow = run();
    await held.reached;
    const { totalCount, idleCount } = poolOf(work);
    // It holds no connection of the database while it waits for the mail server.
    expect(totalCount - idleCount).toBe(0);
    graph.put(room.mailbox, eventAt('a', at(1, 10)));
    await run();
    held.open();
    await slow;
    expect(await listBookings()).toMatchObject([{ Start: iso(at(1, 10)), Version: 1 }]);
    expect(await calendar()).toMatchObject({ readings: 1, fault: null });
    await run();
    expect(graph.log).toHaveLength(2);
  });

  test('a room that an import holds: the mail server is not asked, and no job waits', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    const release = await hold(work, (trx) =>
      sql`select from resource where id = ${room.resourceId} for no key update`.execute(trx),
    );
    await sync();
    expect(graph.log).toEqual([]);
    expect(await calendar()).toMatchObject({ dirty_by: 'Push', not_before: expect.any(Date), fault: null });
    await release();
    await sql`update mail_calendar set not_before = now() where id = ${room.calendarId}`.execute(work);
    await run();
    expect(await occupied()).toHaveLength(1);
  });

  test('a room that is locked when the answer arrives: it is booked as soon as the lock is free', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    const held = graph.hold();
    const reading = sync();
    await held.reached;
    const release = await hold(work, (trx) =>
      sql`select from resource where id = ${room.resourceId} for no key update`.execute(trx),
    );
    held.open();
    const { rows } = await sql`select pg_sleep(0.3)`.execute(work);
    expect(rows).toHaveLength(1);
    expect(await occupied()).toEqual([]);
    await release();
    await reading;
    expect(await occupied()).toHaveLength(1);
  });

  test('a process that stops in the middle leaves all as it was', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await mark();
    const stopping = new AbortController();
    const held = graph.hold();
    const reading = run(stopping.signal);
    await held.reached;
    stopping.abort();
    await reading;
    held.open();
    expect(await calendar()).toMatchObject({ dirty_by: 'Push', fault: null, readings: 0 });
    await run();
    expect(await occupied()).toHaveLength(1);
  });

  test('a calendar that is retired meanwhile: nothing is booked', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    const held = graph.hold();
    const reading = sync();
    await held.reached;
    await sql`update mail_calendar set retired_at = now() where id = ${room.calendarId}`.execute(work);
    held.open();
    await reading;
    expect(await listBookings()).toEqual([]);
  });
});

describe('who has found it', () => {
  test('counts changes of bookings by who said first that something has changed', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)), eventAt('b', at(1, 9)));
    await sync('Push');
    graph.remove(room.mailbox, 'a');
    await sync('Poll');
    graph.put(room.mailbox, eventAt('b', at(1, 10)));
    await sync('Request');
    expect(await calendar()).toMatchObject({ found_by_push: 2, found_by_poll: 1 });
  });

  test('a poll that finds what should have been pushed long ago makes the subscription Suspect', async () => {
    graph.put(room.mailbox, eventAt('a', at(1, 8)));
    await sync();
    const id = await makeSubscription(work, room, ['Active'], {
      kind: 'Graph',
      columns: "state_since = now() - interval '1 hour'",
    });
    const stateAfter = async (minutes: number) => {
      const lastModifiedDateTime = iso(Date.now() - minutes * 60_000);
      graph.put(room.mailbox, eventAt('a', at(1, 8), { subject: `${minutes}`, lastModifiedDateTime }));
      await sync('Poll');
      return (await sql<{ state: string }>`select state from mail_subscription where id = ${id}`.execute(work)).rows[0]!
        .state;
    };
    expect(await stateAfter(4)).toBe('Active');
    expect(await stateAfter(90)).toBe('Active');
    expect(await stateAfter(6)).toBe('Suspect');
  });
});
