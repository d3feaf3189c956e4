import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { mailFigures } from '../../src/mail/figures.ts';
import { examineMail } from '../../src/mail/health.ts';
import { type CalDavServer, startCalDavServer } from './_util/caldav-server.ts';
import { at, line, openRoomDesk } from './_util/room-desk.ts';
import { openFullDesk, openWritingDesk, type WritingDesk } from './_util/writing-desk.ts';

const hour = 3_600_000;

let server: CalDavServer;
let desk: WritingDesk;
let used = 0;
/** A room of its own for each test. */
let room: { id: number; user: string; mandatorId: number; calendarId: number };
const rooms = Array.from({ length: 30 }, (_, index) => `R${String(index).padStart(2, '0')}`);

const { set, book, change, cancel, booking, bookings, counts, states, read } = openRoomDesk(() => ({ desk, room }));

beforeAll(async () => {
  server = await startCalDavServer();
  desk = await openFullDesk(server.settingsOf('school'), rooms);
});
afterAll(async () => {
  await desk?.close();
  await server?.stop();
});
beforeEach(async () => {
  const { id, name } = desk.tenant.resources[used]!;
  room = { id, user: name.toLowerCase(), ...(await desk.keys())[used]! };
  used += 1;
});
afterEach(() => {
  server.setTrouble();
  server.redirect(false);
});

test('calendars of a read-only server: doctor reports it, once an hour and until writing is Off', async () => {
  const published = await openWritingDesk(
    { MailServer__school__Kind: 'ICalendar', MailServer__school__Url: 'https://127.0.0.1:9/{user}.ics' },
    ['R1'],
  );
  const [key] = await published.keys();
  const write = async (CalendarWriting: string) => {
    await published.admin.patch('/tenant', { Parameters: { CalendarWriting } });
    await published.takeJobs();
    await published.sweep();
    const tasks = (await published.takeJobs()).map(({ task }) => task);
    await published.write(key!);
    await published.sweep();
    const { rows } = await sql<{ fault: string | null }>`select writing_fault as fault from mail_calendar`.execute(
      published.db,
    );
    return { tasks, fault: rows[0]!.fault, again: await published.takeJobs() };
  };
  expect(await write('Full')).toEqual({
    tasks: ['WriteMailCalendar'],
    fault: 'calendars of the kind ICalendar are read and not written',
    again: [],
  });
  expect(await write('Off')).toEqual({ tasks: ['WriteMailCalendar'], fault: null, again: [] });
  await published.close();
});

/** `start summary` of everything in the calendar. */
const there = () =>
  server.list(room.user).map(({ start, end, summary, isPrivate }) => {
    const hours = (Number(end) - Number(start)) / hour;
    return `${start.toISOString().slice(5, 13)}+${hours} ${summary}${isPrivate ? ' private' : ''}`;
  });
const only = () => server.list(room.user)[0]!;

describe('what is booked', () => {
  test('is written once, follows each change, and is deleted with its booking; nothing of it is an echo', async () => {
    const id = await book(1);
    await desk.settle();
    expect(there()).toEqual([line(1, 9, 'Choir 1')]);
    await read();
    await read();
    await change(id, {
      Start: at(1, 11).toISOString(),
      End: at(1, 13).toISOString(),
      Subject: 'Tenors, and; basses\\',
    });
    await desk.settle();
    expect(there()).toEqual([line(1, 11, 'Tenors, and; basses\\', 2)]);
    await read();
    expect(await counts()).toEqual({ written: 2, putBacks: 0, takenOver: 0 });
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Confirmed' }]);
    expect(await mailFigures.roomgate_mail_echoes.read(desk.db)).toBe(0);
    await cancel(id);
    await desk.settle();
    expect(there()).toEqual([]);
    await read();
    expect(await bookings()).toHaveLength(1);
  });

  test('is written with its setup; private without its subject; a series as its bookings; a block too', async () => {
    await book(1, { IsPrivate: true, SetupMinutes: 60 });
    await book(2, { RecurrenceRule: 'FREQ=DAILY;COUNT=2' });
    const block = { Kind: 'Block', Start: at(5, 9).toISOString(), End: at(5, 10).toISOString() };
    const made = await desk.admin.post('/bookings', { ResourceId: room.id, Subject: 'Paint', ...block });
    expect(made.status).toBe(201);
    await desk.settle();
    expect(there()).toEqual([
      `${line(1, 8, 'Belegt', 2)} private`,
      line(2, 9, 'Choir 2'),
      line(3, 9, 'Choir 2'),
      line(5, 9, 'Paint'),
    ]);
  });

  test('follows the setting of the room before that of the tenant; Off removes future items', async () => {
    await set({ CalendarWriting: 'Busy' });
    await book(1);
    await desk.settle();
    expect(there()).toEqual([line(1, 9, 'Belegt')]);
    for (const [CalendarWriting, expected] of [
      ['Full', [line(1, 9, 'Choir 1')]],
      ['Off', []],
      [null, [line(1, 9, 'Choir 1')]],
    ] as const) {
      await set({ CalendarWriting });
      await desk.sweep();
      await desk.settle();
      expect(there()).toEqual(expected);
    }
    await desk.sweep();
    expect(await desk.takeJobs()).toEqual([]);
  });

  test('is written for the coming days first if it is much, and other calendars come before the rest', async () => {
    await book(1, { RecurrenceRule: 'FREQ=DAILY;COUNT=60' });
    await desk.takeJobs();
    await desk.write(room);
    const first = there();
    expect(first.length).toBeGreaterThan(3);
    expect(first.length).toBeLessThan(10);
    const { rows } = await sql<{ isLater: boolean }>`
      select run_at > now() as "isLater" from graphile_worker.jobs where task_identifier = 'WriteMailCalendar'`.execute(
      desk.db,
    );
    expect(rows).toEqual([{ isLater: true }]);
    await desk.settle();
    expect(there().slice(0, first.length)).toEqual(first);
    expect(there()).toHaveLength(60);
  });

  test('is written also where the server redirects writes', async () => {
    server.redirect(true);
    const id = await book(1);
    await desk.settle();
    await change(id, { Subject: 'Tenors' });
    await desk.settle();
    expect(there()).toEqual([line(1, 9, 'Tenors')]);
    await cancel(id);
    await read();
    expect(there()).toEqual([]);
    expect(await counts()).toEqual({ written: 3, putBacks: 0, takenOver: 0 });
  });

  test('goes when it is released, and when the room is another one', async () => {
    const other = desk.tenant.resources[used++]!;
    const id = await book(1);
    await book(2);
    await desk.settle();
    await change(id, { ResourceId: other.id });
    await sql`update booking set status = 'Released' where resource_id = ${room.id} and id <> ${id}`.execute(desk.db);
    await desk.settle();
    expect(there()).toEqual([]);
    expect(server.list(other.name.toLowerCase())).toMatchObject([{ summary: 'Choir 1' }]);
  });
});

describe('each write may come twice, late or never', () => {
  test.each(['NoAnswer', 'NotDone'] as const)('%s: it is looked up, and is there once', async (kind) => {
    for (const method of ['PUT', 'DELETE']) {
      let asked = 0;
      server.setTrouble((one, path) =>
        one === method && path.includes(`/${room.user}/`) && asked++ === 0 ? kind : undefined,
      );
      if (method === 'PUT') await book(1);
      else await cancel(Number(/booking-(\d+)/.exec(only().uid)?.[1]));
      await desk.settle();
      expect(asked).toBeGreaterThan(0);
      expect(there()).toEqual(method === 'PUT' ? [line(1, 9, 'Choir 1')] : []);
      await read();
    }
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Cancelled' }]);
    expect(await counts()).toMatchObject({ putBacks: 0 });
  });

  test('a worker that is killed while it writes leaves what the next one looks up', async () => {
    await book(1);
    await book(2);
    const killed = new AbortController();
    server.setTrouble((method) => {
      if (method === 'PUT') killed.abort();
      return method === 'PUT' ? 'NoAnswer' : undefined;
    });
    await desk.takeJobs();
    await desk.write(room, killed.signal);
    expect(await states()).toEqual(['Writing', 'Writing']);
    server.setTrouble();
    await desk.sweep();
    await desk.settle();
    expect(there()).toEqual([line(1, 9, 'Choir 1'), line(2, 9, 'Choir 2')]);
    expect(await states()).toEqual(['Written', 'Written']);
    expect(await counts()).toMatchObject({ putBacks: 0 });
  });

  test('a reading between the write and its answer is no echo, and no doubt', async () => {
    await book(1);
    server.setTrouble((method) => (method === 'PUT' ? 'NoAnswer' : undefined));
    await desk.runQueued();
    server.setTrouble();
    await read();
    expect(there()).toEqual([line(1, 9, 'Choir 1')]);
    expect(await bookings()).toHaveLength(1);
    expect(await counts()).toMatchObject({ putBacks: 0 });
  });

  test('one that arrives after its booking was cancelled is removed', async () => {
    server.setTrouble((method) => (method === 'PUT' ? 'NotDone' : undefined));
    const id = await book(1);
    await desk.runQueued();
    server.setTrouble();
    await cancel(id);
    await desk.settle();
    expect(await states()).toEqual(['Absent']);
    const { rows } = await sql<{ uid: string }>`select uid from mandator`.execute(desk.db);
    const uid = `booking-${id}@${rows[0]!.uid}`;
    const late = { uid, start: at(1, 9), end: at(1, 10), summary: 'Choir 1', isPrivate: false };
    server.write(server.pathOf(room.user, encodeURIComponent(uid)), late);
    await read();
    expect(there()).toEqual([]);
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Cancelled' }]);
  });

  test('a server that wants a rest gets it, and is read meanwhile', async () => {
    await book(1);
    server.setTrouble((method) => (method === 'PUT' ? { status: 503, headers: { 'retry-after': '600' } } : undefined));
    await desk.runQueued();
    const { rows } = await sql<{ rest: number; fault: string; reads: boolean }>`
      select extract(epoch from writing_not_before - now())::int as rest, writing_fault as fault, not_before is null as reads
      from mail_calendar where id = ${room.calendarId}`.execute(desk.db);
    expect(rows).toEqual([{ rest: expect.any(Number), fault: expect.stringContaining('503'), reads: true }]);
    expect(rows[0]!.rest).toBeGreaterThan(500);
    // What is changed meanwhile, here or there, ends no rest, and the end of the rest is not forgotten.
    await sql`select write_mail_calendars(array[${room.calendarId}::integer], 'again', now())`.execute(desk.db);
    await desk.takeJobs();
    await desk.write(room);
    const { rows: queued } = await sql<{ isAfter: boolean }>`
      select run_at > writing_not_before as "isAfter" from graphile_worker._private_jobs, mail_calendar
      where key = ${`mail writing ${room.calendarId} again`} and mail_calendar.id = ${room.calendarId}`.execute(
      desk.db,
    );
    expect(queued).toEqual([{ isAfter: true }]);
    await desk.sweep();
    server.setTrouble();
    await desk.write(room);
    expect(there()).toEqual([]);
    await desk.settle();
    expect(there()).toEqual([line(1, 9, 'Choir 1')]);
  });
});

test('writing that continues is not slowed by refusals of before', async () => {
  await book(1, { RecurrenceRule: 'FREQ=DAILY;COUNT=6' });
  await sql`update mail_calendar set writing_failures = 8 where id = ${room.calendarId}`.execute(desk.db);
  let puts = 0;
  server.setTrouble((method, path) =>
    method === 'PUT' && path.includes(`/${room.user}/`) && (puts += 1) > 4 ? { status: 503 } : undefined,
  );
  await desk.runQueued();
  await desk.runQueued();
  const { rows } = await sql<{ failures: number; isSoon: boolean }>`
    select writing_failures as failures, writing_not_before < now() + interval '30 seconds' as "isSoon"
    from mail_calendar where id = ${room.calendarId}`.execute(desk.db);
  expect(rows).toEqual([{ failures: 1, isSoon: true }]);
  server.setTrouble();
  await desk.settle();
  expect(there()).toHaveLength(6);
});

describe('what somebody changes there', () => {
  test('is put back, be it moved, renamed, deleted or made a series; the fourth time it is left to people', async () => {
    await book(1);
    await desk.settle();
    const was = there();
    const { uid } = only();
    const origin = uid.replace(/^booking-(\d+)@/, 'booking-$1-2@');
    const acts: (() => void)[] = [
      () => server.write(only().path, { ...only(), start: at(1, 10), end: at(1, 11) }),
      () => server.remove(only().path),
      () => server.write(only().path, only(), 'RRULE:FREQ=DAILY;COUNT=3'),
    ];
    for (const [done, act] of acts.entries()) {
      act();
      await read();
      expect(there()).toEqual(was);
      expect(await counts()).toMatchObject({ putBacks: done + 1 });
    }
    expect(only().uid).toBe(origin);
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Confirmed' }]);
    server.write(only().path, { ...only(), summary: 'Mine' });
    await read();
    expect(there()).toEqual([line(1, 9, 'Mine')]);
    expect(await states()).toEqual(['Conflict']);
    const told = (await examineMail(desk.service.context)).find(({ text }) =>
      text.includes(`/${room.user.toUpperCase()} `),
    );
    expect(told).toMatchObject({
      level: 'warning',
      text: expect.stringContaining('1 item is not in the calendar as written'),
    });
    expect(await mailFigures.roomgate_mail_written_items.read(desk.db)).toMatchObject({ Conflict: 1 });
    // A day later it is tried again.
    await sql`update mail_writing set not_before = now(), put_backs_since = put_backs_since - interval '1 day'
      where state = 'Conflict'`.execute(desk.db);
    await desk.write(room);
    expect(there()).toEqual(was);
  });

  test.each([false, true])(
    'is followed to another path, and stands there once; all is read anew: %s',
    async (isWhole) => {
      const id = await book(1);
      await desk.settle();
      await read();
      server.move(only().path, server.pathOf(room.user, 'moved'));
      if (isWhole) await sql`update mail_calendar set cursor = null where id = ${room.calendarId}`.execute(desk.db);
      await read();
      expect(server.list(room.user)).toMatchObject([{ path: server.pathOf(room.user, 'moved'), summary: 'Choir 1' }]);
      await change(id, { Subject: 'Tenors' });
      await desk.settle();
      expect(server.list(room.user)).toMatchObject([{ path: server.pathOf(room.user, 'moved'), summary: 'Tenors' }]);
      expect(await counts()).toEqual({ written: 2, putBacks: 0, takenOver: 0 });
      await cancel(id);
      await desk.settle();
      expect(there()).toEqual([]);
    },
  );

  test('is removed if it reappears elsewhere after it was put back, or after its booking was cancelled', async () => {
    const id = await book(1);
    await desk.settle();
    await read();
    const was = only();
    const comesBack = () => server.write(server.pathOf(room.user, 'back'), was);
    server.remove(was.path);
    await read();
    const [again] = server.list(room.user);
    expect(again!.uid).not.toBe(was.uid);
    comesBack();
    await read();
    expect(server.list(room.user)).toEqual([again]);
    await cancel(id);
    await desk.settle();
    comesBack();
    await read();
    expect(there()).toEqual([]);
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Cancelled' }]);
    expect(await counts()).toMatchObject({ putBacks: 1 });
  });

  test('is no conflict any more once its booking is cancelled', async () => {
    const id = await book(1);
    await desk.settle();
    for (let times = 0; times < 4; times += 1) {
      server.remove(only().path);
      await read();
    }
    expect(there()).toEqual([]);
    expect(await states()).toEqual(['Conflict']);
    await cancel(id);
    await desk.settle();
    expect(await states()).toEqual(['Absent']);
  });

  test('is taken over as a change of the booking by its rules, and as its end; lessons and blocks are put back', async () => {
    await set({ CalendarEdits: 'TakeOver' });
    const id = await book(1, { SetupMinutes: 60 });
    await desk.settle();
    server.write(only().path, { ...only(), start: at(2, 11), end: at(2, 14), summary: 'Tenors' });
    await read();
    expect(await booking(id)).toMatchObject({
      Start: at(2, 12).toISOString(),
      End: at(2, 14).toISOString(),
      Subject: 'Tenors',
      SetupMinutes: 60,
    });
    expect(await counts()).toEqual({ written: 1, putBacks: 0, takenOver: 1 });
    // Another booking is in the way.
    await book(3);
    await desk.settle();
    const was = there();
    server.write(only().path, { ...only(), start: at(3, 9), end: at(3, 10) });
    await read();
    expect(there()).toEqual(was);
    expect(await counts()).toMatchObject({ putBacks: 1, takenOver: 1 });
    server.remove(only().path);
    await read();
    expect(await booking(id)).toMatchObject({ Status: 'Cancelled' });
    expect(there()).toEqual([line(3, 9, 'Choir 3')]);
    await sql`update booking set kind = 'Block' where resource_id = ${room.id} and status = 'Confirmed'`.execute(
      desk.db,
    );
    server.remove(only().path);
    await read();
    expect(there()).toEqual([line(3, 9, 'Choir 3')]);
    expect(await counts()).toMatchObject({ putBacks: 2, takenOver: 2 });
  });

  test('gives way to what is changed here at the same time', async () => {
    await set({ CalendarEdits: 'TakeOver' });
    const id = await book(1);
    await desk.settle();
    server.write(only().path, { ...only(), start: at(2, 11), end: at(2, 12) });
    await change(id, { Subject: 'Basses' });
    await desk.settle();
    await read();
    expect(there()).toEqual([line(1, 9, 'Basses')]);
    expect(await booking(id)).toMatchObject({ Subject: 'Basses' });
  });

  // More than are looked up by one request.
  test.each([15, 8])('cancels nothing where the whole calendar was emptied, %s items at a time', async (atOnce) => {
    await set({ CalendarEdits: 'TakeOver' });
    await book(1, { RecurrenceRule: 'FREQ=DAILY;COUNT=15' });
    await desk.settle();
    const was = there();
    const all = server.list(room.user);
    for (let next = 0; next < all.length; next += atOnce) {
      for (const { path } of all.slice(next, next + atOnce)) server.remove(path);
      await desk.tell([room.calendarId]);
      await desk.endPauses();
      await desk.run({ task: 'SynchroniseMailCalendar', payload: room });
    }
    await desk.settle();
    expect(there()).toEqual(was);
    expect(new Set((await bookings()).map(({ status }) => status))).toEqual(new Set(['Confirmed']));
  });

  test('renames no booking whose subject does not stand there, though it moves', async () => {
    await set({ CalendarEdits: 'TakeOver' });
    const own = await book(1, { IsPrivate: true });
    await set({ CalendarWriting: 'Busy' });
    const other = await book(3);
    await desk.settle();
    const [first, last] = server.list(room.user);
    server.write(first!.path, { ...first!, summary: 'Hers', start: at(2, 9), end: at(2, 10) });
    server.write(last!.path, { ...last!, summary: 'Hers' });
    await read();
    expect(await booking(own)).toMatchObject({ Subject: 'Choir 1', Start: at(2, 9).toISOString() });
    expect(await booking(other)).toMatchObject({ Subject: 'Choir 3', Start: at(3, 9).toISOString() });
    expect(there()).toEqual([`${line(2, 9, 'Belegt')} private`, line(3, 9, 'Belegt')]);
    expect(await counts()).toMatchObject({ takenOver: 1 });
  });

  test('is adopted if it is unknown here, as after a restore, and is deleted unless a booking needs it', async () => {
    await book(1);
    const lost = await book(2);
    await desk.settle();
    await read();
    const written = await counts();
    await sql`delete from mail_writing where calendar_id = ${room.calendarId}`.execute(desk.db);
    await sql`delete from booking where id = ${lost}`.execute(desk.db);
    await sql`update mail_calendar set cursor = null where id = ${room.calendarId}`.execute(desk.db);
    await read();
    expect(there()).toEqual([line(1, 9, 'Choir 1')]);
    expect(await counts()).toEqual({ ...written, written: written.written + 1 });
    expect(await bookings()).toEqual([{ kind: 'Booking', status: 'Confirmed' }]);
  });

  test('of others is booked, beside what is ours', async () => {
    await book(1);
    await desk.settle();
    const lunch = { uid: 'lunch', start: at(1, 12), end: at(1, 13), summary: 'Lunch', isPrivate: false };
    server.write(server.pathOf(room.user, 'lunch'), lunch);
    await read();
    expect((await bookings()).map(({ kind }) => kind).sort()).toEqual(['Booking', 'MailItem']);
    expect(there()).toEqual([line(1, 9, 'Choir 1'), line(1, 12, 'Lunch')]);
  });
});
