/** Organizers hear by their mail server that their item has no room here. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { bookConflicts } from '../../src/mail/conflicts.ts';
import { examineMail } from '../../src/mail/health.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';
import { type Relay, startRelay } from './_util/relay.ts';
import { midnight, openRoomDesk } from './_util/room-desk.ts';
import { openWritingDesk, type WritingDesk } from './_util/writing-desk.ts';

const [hour, day] = [3_600_000, 86_400_000];
const at = (days: number, hours: number) => new Date(midnight + days * day + hours * hour).toISOString();
const span = (days: number) => ({ start: at(days, 9), end: at(days, 10) });
const roomsOf = (kind: string) => Array.from({ length: 24 }, (_, index) => `${kind}${String(index).padStart(2, '0')}`);
const mailboxOf = (name: string) => `${name.toLowerCase()}@rooms.test`;
const erika = 'erika@contoso.test';

type Kind = {
  kind: 'Graph' | 'Ews' | 'Google';
  settings(server: MailServer, url: string): Record<string, string> | Promise<Record<string, string>>;
  /** Whether a request declines. */
  isDecline(one: { method: string; path: string; body: string }): boolean;
  /** Whether what is declined stays in the calendar. */
  keeps: boolean;
  operation: string;
  /** The server's answer to an account that may only read. */
  refusal: string;
};

const kinds: Kind[] = [
  {
    kind: 'Graph',
    settings: ({ token, clientId, clientSecret }, url) => ({
      Kind: 'Graph',
      Url: `${url}/v1.0`,
      TokenUrl: token,
      ClientId: clientId,
      ClientSecret: clientSecret,
    }),
    isDecline: ({ body }) => body.includes('/decline"'),
    keeps: false,
    operation: '/decline',
    refusal: '403',
  },
  {
    kind: 'Ews',
    settings: ({ user, password }, url) => ({
      Kind: 'Ews',
      Url: `${url}/EWS/Exchange.asmx`,
      User: user,
      Password: password,
    }),
    isDecline: ({ body }) => body.includes('DeclineItem'),
    keeps: false,
    operation: 'CreateItem',
    refusal: 'ErrorAccessDenied',
  },
  {
    kind: 'Google',
    settings: async (server, url) => ({
      Kind: 'Google',
      Url: `${url}/calendar/v3`,
      TokenUrl: server.googleToken,
      ServiceAccountKey: JSON.stringify(await server.googleKey()),
    }),
    isDecline: ({ method, body }) => method === 'PATCH' && body.includes('declined'),
    keeps: true,
    operation: 'PATCH',
    refusal: '403',
  },
];

/** It shows the same calendars to the clients of every kind; each has rooms of its own. */
let server: MailServer;
beforeAll(async () => {
  server = await startMailServer();
});
afterAll(() => server.stop());

describe.each(kinds)(
  'a conflict in a calendar of $kind',
  ({ kind, settings, isDecline, keeps, operation, refusal }) => {
    const rooms = roomsOf(kind);
    let relay: Relay;
    let desk: WritingDesk;
    let used = 0;
    let room: { id: number; mailbox: string; mandatorId: number; calendarId: number };

    beforeAll(async () => {
      relay = await startRelay(server.url);
      for (const name of rooms) await server.addRoom(mailboxOf(name), { allowConflicts: true });
      const told = Object.entries(await settings(server, relay.url));
      desk = await openWritingDesk(
        Object.fromEntries(told.map(([name, value]) => [`MailServer__school__${name}`, value])),
        rooms,
      );
      await desk.tell();
      await desk.settle();
    });
    afterAll(async () => {
      await desk?.close();
      await relay?.stop();
    });
    beforeEach(async () => {
      const { id, name } = desk.tenant.resources[used]!;
      room = { id, mailbox: mailboxOf(name), ...(await desk.keys())[used]! };
      used += 1;
      expect((await desk.admin.patch(`/resources/${room.id}`, { DeclineConflicts: true })).status).toBe(200);
      relay.asked.length = 0;
    });
    afterEach(async () => {
      relay.lose();
      relay.refuse();
      await server.clearFaults();
    });

    const { read, pass, readAndPass, declineStates: states, ...people } = openRoomDesk(() => ({ desk, room }));
    const book = (days: number, more: object = {}) => people.book(days, { Subject: 'Exam of Ada', ...more });
    const free = async (id: number) => expect((await desk.user.send('DELETE', `/bookings/${id}`)).status).toBe(200);
    const invite = async (days: number, more: object = {}) =>
      (await server.appoint(room.mailbox, { ...span(days), subject: 'Board', ...more })).itemId!;
    const declines = () => {
      const ours = room.mailbox.split('@', 1)[0]!;
      return relay.asked.filter((one) => isDecline(one) && `${one.path}${one.body}`.includes(ours));
    };
    const answers = () => server.answers(room.mailbox);
    type Told = { State: string; At: string | null; Reason: string | null } | null;
    type Listed = { Start: string; Reason: string | null; BookingId: number | null; Decline: Told };
    type Lists = {
      ConflictCount: number;
      Conflicts: Listed[];
      DeclinedCount: number;
      Declined: Listed[];
      WritingFault: string | null;
    };
    const lists = async () => (await desk.admin.get(`/mail-subscriptions/${room.calendarId}`)).body as unknown as Lists;
    const findings = async () =>
      (await examineMail(desk.service.context)).filter(
        ({ text }) => text.includes(room.mailbox) && /not booked|declined|written/.test(text),
      );

    test('is told to its organizer once, and stays in the lists as declined', async () => {
      const bookingId = await book(1);
      await invite(1);
      await read();
      expect((await lists()).Conflicts).toMatchObject([{ Decline: { State: 'Waiting', At: null, Reason: null } }]);
      expect(await answers()).toEqual([]);
      await pass();
      expect(await answers()).toMatchObject([{ to: erika, originalStart: null, start: at(1, 9) }]);
      expect(await states()).toEqual(['Gone Told']);
      const { ConflictCount, Conflicts, DeclinedCount, Declined } = await lists();
      expect([ConflictCount, Conflicts, DeclinedCount]).toEqual([0, [], 1]);
      expect(Declined).toMatchObject([
        {
          Subject: 'Board',
          Start: at(1, 9),
          OrganizerEmail: erika,
          BookingId: bookingId,
          Reason: `The room is occupied by a booking from ${at(1, 9)} to ${at(1, 10)}.`,
          Decline: { State: 'Told', At: expect.stringMatching(/^\d{4}-/), Reason: null },
        },
      ]);
      expect(await findings()).toEqual([]);
      await readAndPass();
      await readAndPass();
      expect(declines()).toHaveLength(1);
      expect(await server.truth(room.mailbox)).toHaveLength(keeps ? 1 : 0);
    });

    test('is told only with the room and the time, whoever may see what is in the way', async () => {
      await book(1, { IsPrivate: true, SetupMinutes: 30 });
      await invite(1);
      await readAndPass();
      const { comment = '' } = (await answers())[0] ?? {};
      const { name } = desk.tenant.resources[used - 1]!;
      const [german, english, ...others] = comment.split('\n');
      expect(others).toEqual([]);
      const zone = /\(([^)]+)\)\.$/.exec(english!)?.[1];
      const clock = (instant: string) =>
        new Date(instant).toLocaleTimeString('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' });
      expect(english).toContain(`${name} is already taken: `);
      expect(german).toContain(`${name} ist schon belegt: `);
      for (const line of [german, english]) {
        expect(line).toContain(clock(at(1, 8.5)));
        expect(line).toContain(clock(at(1, 10)));
      }
      for (const one of declines()) expect(one.body).not.toMatch(/Exam|Ada|User/);
    });

    test('is told to nobody unless the tenant or the room says so', async () => {
      const set = (path: string, body: object) => desk.admin.patch(path, body);
      expect((await desk.admin.get('/tenant')).body).toMatchObject({ Parameters: { DeclineConflicts: false } });
      await set(`/resources/${room.id}`, { DeclineConflicts: null });
      await book(1);
      await invite(1);
      await readAndPass();
      expect((await lists()).Conflicts).toMatchObject([{ Decline: null }]);
      await set('/tenant', { Parameters: { DeclineConflicts: true } });
      await set(`/resources/${room.id}`, { DeclineConflicts: false });
      await pass();
      expect(declines()).toEqual([]);
      await set(`/resources/${room.id}`, { DeclineConflicts: null });
      await pass();
      await set('/tenant', { Parameters: { DeclineConflicts: false } });
      expect(await answers()).toHaveLength(1);
    });

    test('rests for a minute: one that is resolved meanwhile is booked, and nothing is sent', async () => {
      const bookingId = await book(1);
      await invite(1);
      await read();
      await desk.sweep();
      await desk.settle();
      expect(declines()).toEqual([]);
      await free(bookingId);
      await pass();
      expect(declines()).toEqual([]);
      expect(await bookConflicts(desk.db)).toBe(1);
      expect(await states()).toEqual(['Booked null']);
    });

    test('is declined also where the room has accepted it, and not where the mail server itself has two of them', async () => {
      await server.setRoom(room.mailbox, { autoAccept: false });
      await invite(1, { subject: 'First', answer: 'accepted' });
      await invite(1, {
        subject: 'Second',
        answer: 'accepted',
        organizer: { name: 'Otto', email: 'otto@contoso.test' },
      });
      await readAndPass();
      expect((await lists()).Conflicts).toMatchObject([{ Decline: null }]);
      expect(declines()).toEqual([]);
    });

    test('that nobody has invited the room to is only listed', async () => {
      await book(1);
      await invite(1, { organizer: null });
      await readAndPass();
      expect((await lists()).Conflicts).toMatchObject([{ Decline: { State: 'Nobody', Reason: expect.any(String) } }]);
      await pass();
      expect(declines()).toEqual([]);
      expect(await server.truth(room.mailbox)).toHaveLength(1);
    });

    test('is not told twice after an answer that was lost', async () => {
      await book(1);
      await invite(1);
      await read();
      let lost = 0;
      relay.lose((one) => isDecline(one) && lost++ === 0);
      await pass();
      expect(lost).toBeGreaterThan(0);
      expect(await states()).toEqual(['Gone Told']);
      await readAndPass();
      expect(await answers()).toHaveLength(1);
      expect(declines()).toHaveLength(1);
      expect((await lists()).Declined).toHaveLength(1);
    });

    test('is not told twice after a worker that was killed, and is told once where it was killed before', async () => {
      await book(1);
      await book(2);
      await invite(1);
      await read();
      await sql`update mail_item set changed_at = now() - interval '2 minutes'`.execute(desk.db);
      const killed = new AbortController();
      relay.lose((one) => {
        if (isDecline(one)) killed.abort();
        return isDecline(one);
      });
      await desk.takeJobs();
      await desk.write(room, killed.signal);
      expect(killed.signal.aborted).toBe(true);
      expect(await states()).toEqual(['Conflict Telling']);
      relay.lose();
      await pass();
      expect(await states()).toEqual(['Gone Told']);
      expect(declines()).toHaveLength(1);
      // Killed before it asked: the row alone says that it was about to.
      await invite(2);
      await read();
      await sql`
      insert into mail_decline (mandator_id, item_id, calendar_id, version, state)
      select mandator_id, id, calendar_id, content_hash, 'Telling' from mail_item
      where calendar_id = ${room.calendarId} and state = 'Conflict'`.execute(desk.db);
      await pass();
      expect(await answers()).toHaveLength(2);
    });

    test('whose decline has failed is booked as soon as its room is free', async () => {
      const bookingId = await book(1);
      await invite(1);
      await read();
      await sql`
      insert into mail_decline (mandator_id, item_id, calendar_id, version, state)
      select mandator_id, id, calendar_id, content_hash, 'Telling' from mail_item
      where calendar_id = ${room.calendarId}`.execute(desk.db);
      await free(bookingId);
      // It may have been declined.
      expect(await bookConflicts(desk.db)).toBe(0);
      await pass();
      expect(await bookConflicts(desk.db)).toBe(1);
      expect(declines()).toEqual([]);
      expect(await states()).toEqual(['Booked null']);
    });

    test('is told by one of two jobs that come together', async () => {
      await book(1);
      await invite(1);
      await read();
      await sql`update mail_item set changed_at = now() - interval '2 minutes'`.execute(desk.db);
      await desk.takeJobs();
      await desk.write(room);
      await desk.write(room);
      expect(declines()).toHaveLength(1);
    });

    test('that its organizer moves is handled again: booked if the room is free, and declined again if not', async () => {
      await book(1);
      await book(2);
      const itemId = await invite(1);
      await readAndPass();
      const again = async (days: number) => {
        if (keeps) return void (await server.change(itemId, { ...span(days), answer: 'none' }));
        const truth = await server.truth(room.mailbox);
        for (const one of truth) await server.remove(one.itemId);
        await invite(days, { uid: 'the-same' });
      };
      await again(2);
      await readAndPass();
      expect((await answers()).map(({ start }) => start)).toEqual([at(1, 9), at(2, 9)]);
      await again(3);
      await readAndPass();
      expect(await states()).toContain('Booked null');
      await again(2);
      await readAndPass();
      expect((await answers()).map(({ start }) => start)).toEqual([at(1, 9), at(2, 9), at(2, 9)]);
    });

    test('that has changed there since it was read is not declined', async () => {
      await book(1);
      const itemId = await invite(1);
      await read();
      await server.change(itemId, span(4));
      await sql`update mail_item set changed_at = now() - interval '2 minutes'`.execute(desk.db);
      await desk.takeJobs();
      await desk.write(room);
      expect(declines()).toEqual([]);
      await readAndPass();
      expect(await states()).toEqual(['Booked null']);
    });

    test('of a series is declined alone', async () => {
      await book(2);
      await invite(1, { repeat: { every: 'day', count: 3 } });
      await readAndPass();
      expect(await answers()).toMatchObject([{ to: erika, originalStart: at(2, 9) }]);
      const open = (await server.truth(room.mailbox)).filter(({ answer }) => answer !== 'declined');
      expect(open.map(({ start }) => start)).toEqual([at(1, 9), at(3, 9)]);
      expect(await states()).toEqual(['Booked null', 'Gone Told', 'Booked null']);
    });

    test('on whole days is declined, too', async () => {
      await book(1);
      await invite(1, { start: at(1, 0).slice(0, 10), end: at(2, 0).slice(0, 10), isWholeDay: true });
      await readAndPass();
      expect(await answers()).toHaveLength(1);
    });

    test('is told later if the server asks for a rest, and the list says why if it may not be declined', async () => {
      await book(1);
      await invite(1);
      await read();
      await server.chances({ retryAfterSeconds: 600 });
      await server.fault({ fault: 'busy', face: kind, operation });
      await sql`update mail_item set changed_at = now() - interval '2 minutes'`.execute(desk.db);
      await desk.sweep();
      await desk.runQueued();
      const { rows } = await sql<{ rest: number; reads: boolean }>`
      select extract(epoch from writing_not_before - now())::int as rest, not_before is null as reads
      from mail_calendar where id = ${room.calendarId}`.execute(desk.db);
      expect(rows).toEqual([{ rest: expect.any(Number), reads: true }]);
      // Google says not how long.
      if (kind !== 'Google') expect(rows[0]!.rest).toBeGreaterThan(500);
      await server.setRoom(room.mailbox, { isReadOnly: true });
      await desk.runQueued();
      const { WritingFault, Conflicts } = await lists();
      expect(WritingFault).toContain(refusal);
      expect(Conflicts).toMatchObject([{ Decline: { State: 'Waiting' } }]);
      expect(await findings()).toMatchObject([{ level: 'warning', remedy: expect.any(String) }]);
      await server.setRoom(room.mailbox, { isReadOnly: false });
      await pass();
      expect((await lists()).WritingFault).toBeNull();
      expect(await answers()).toHaveLength(1);
    });

    test('is one of twenty a minute, the nearest first; readings continue', async () => {
      await book(1, { RecurrenceRule: 'FREQ=DAILY;COUNT=25' });
      for (let days = 25; days >= 1; days -= 1) await invite(days);
      await read();
      const told = async () => (await answers()).map(({ start }) => start).toSorted();
      /** Passes until so many are told; a job may end before. */
      const passUntil = async (count: number, before = 'now()') => {
        for (let round = 0; round < 100 && (await told()).length < count; round += 1) {
          await sql`update mail_decline set at = ${sql.raw(before)}`.execute(desk.db);
          await pass();
        }
      };
      await passUntil(20);
      await sql`update mail_decline set at = now()`.execute(desk.db);
      await pass();
      expect(await told()).toEqual(Array.from({ length: 20 }, (_, index) => at(index + 1, 9)));
      expect((await lists()).DeclinedCount).toBe(20);
      await passUntil(25, "now() - interval '2 minutes'");
      expect(await told()).toHaveLength(25);
    });

    test('that is accepted again and again is left to people after three times a day', async () => {
      await book(1);
      await invite(1);
      await read();
      await sql`
      insert into mail_decline (mandator_id, item_id, calendar_id, version, state, times, times_since)
      select mandator_id, id, calendar_id, '', 'Told', 3, now() from mail_item
      where calendar_id = ${room.calendarId}`.execute(desk.db);
      await pass();
      expect(declines()).toEqual([]);
      expect((await lists()).Conflicts).toMatchObject([
        { Decline: { State: 'Refused', Reason: expect.stringContaining('several times a day') } },
      ]);
      expect((await findings())[0]?.text).toContain('1 of them is not declined there: It was declined several times');
    });

    /** Whether a request is about the item that was read at this time. */
    async function isAbout(days: number): Promise<(one: { path: string; body: string }) => boolean> {
      const { rows } = await sql<{ id: string }>`select item_id as id from mail_item
        where calendar_id = ${room.calendarId} and lower(occupied) = ${at(days, 9)}`.execute(desk.db);
      const [{ id }] = rows as [{ id: string }];
      return ({ path, body }) => [id, encodeURIComponent(id)].some((name) => `${path} ${body}`.includes(name));
    }
    const endRests = () =>
      sql`update mail_decline set not_before = now() where calendar_id = ${room.calendarId} and state = 'Refused'`.execute(
        desk.db,
      );
    /** As if the sweep came; nothing is read. */
    async function write(): Promise<void> {
      await sql`update mail_item set changed_at = now() - interval '2 minutes'`.execute(desk.db);
      await desk.takeJobs();
      await desk.write(room);
    }

    test('that the server fails at delays no other, and is tried again by itself', async () => {
      for (const days of [1, 2, 3]) {
        await book(days);
        await invite(days);
      }
      await read();
      const isPoison = await isAbout(1);
      relay.refuse((one) => isDecline(one) && isPoison(one));
      await pass();
      expect((await answers()).map(({ start }) => start)).toEqual([at(2, 9), at(3, 9)]);
      expect(await lists()).toMatchObject({
        WritingFault: null,
        Conflicts: [{ Start: at(1, 9), Decline: { State: 'Refused', Reason: expect.stringContaining('500') } }],
      });
      expect((await findings())[0]?.text).toMatch(/1 of them is not declined there: .*500/);
      const asked = declines().length;
      await pass();
      expect(declines()).toHaveLength(asked);
      await endRests();
      await pass();
      expect(declines()).toHaveLength(asked + 1);
      expect(await lists()).toMatchObject({ WritingFault: null });
      relay.refuse();
      await endRests();
      await pass();
      expect(await answers()).toHaveLength(3);
      expect(await states()).toEqual(['Gone Told', 'Gone Told', 'Gone Told']);
    });

    test('that the server fails at, as the only one, lets its calendar rest at first, and then rests by itself', async () => {
      await book(1);
      await invite(1);
      await read();
      relay.refuse(isDecline);
      for (let round = 0; round < 4; round += 1) {
        await write();
        expect((await lists()).WritingFault).toContain('500');
        await desk.endPauses();
      }
      await write();
      expect(await lists()).toMatchObject({
        WritingFault: null,
        Conflicts: [{ Decline: { State: 'Refused', Reason: expect.stringContaining('500') } }],
      });
      await endRests();
      await write();
      expect(declines()).toHaveLength(6);
      expect((await lists()).WritingFault).toBeNull();
      relay.refuse();
      await endRests();
      await pass();
      expect(await answers()).toHaveLength(1);
    });

    test('that the server fails at, with all others, lets its calendar rest after a few', async () => {
      for (const days of [1, 2, 3, 4, 5]) {
        await book(days);
        await invite(days);
      }
      await read();
      relay.refuse(isDecline);
      await write();
      expect(declines()).toHaveLength(3);
      expect((await lists()).WritingFault).toContain('500');
      // Those that have failed come last.
      await endRests();
      await desk.endPauses();
      relay.refuse((one) => isDecline(one) && declines().length > 5);
      await write();
      expect((await answers()).map(({ start }) => start)).toEqual([at(4, 9), at(5, 9)]);
      relay.refuse();
      await endRests();
      await pass();
      expect(await answers()).toHaveLength(5);
    });

    test('that a request has declined although it failed is listed as declined', async () => {
      const bookingId = await book(1);
      await book(2);
      for (const days of [1, 2]) await invite(days);
      await read();
      const isPoison = await isAbout(1);
      relay.lose((one) => isDecline(one) && isPoison(one) && 500);
      await pass();
      relay.lose();
      await endRests();
      await pass();
      expect(declines()).toHaveLength(2);
      expect((await lists()).Declined).toMatchObject([
        {
          Start: at(1, 9),
          BookingId: bookingId,
          Reason: `The room is occupied by a booking from ${at(1, 9)} to ${at(1, 10)}.`,
          Decline: { State: 'Told', Reason: null },
        },
        { Start: at(2, 9) },
      ]);
    });

    test('that cannot be looked up after its decline is booked once a reading has found it and its room is free', async () => {
      const bookingId = await book(1);
      await book(2);
      for (const days of [1, 2]) await invite(days);
      await read();
      await sql`
      insert into mail_decline (mandator_id, item_id, calendar_id, version, state)
      select mandator_id, id, calendar_id, content_hash, 'Telling' from mail_item
      where calendar_id = ${room.calendarId} and lower(occupied) = ${at(1, 9)}`.execute(desk.db);
      relay.refuse(await isAbout(1));
      await write();
      expect(await states()).toEqual(['Conflict Refused', expect.stringContaining('Told')]);
      await free(bookingId);
      expect(await bookConflicts(desk.db)).toBe(0);
      relay.refuse();
      await read();
      expect(await bookConflicts(desk.db)).toBe(1);
      expect((await states())[0]).toBe('Booked null');
    });
  },
);
