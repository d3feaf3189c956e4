/** CalDAV servers that send answers decline what has no room here (RFC 6638). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { examineMail } from '../../src/mail/health.ts';
import { type CalDavServer, startCalDavServer } from './_util/caldav-server.ts';
import { at, openRoomDesk } from './_util/room-desk.ts';
import { openWritingDesk, type WritingDesk } from './_util/writing-desk.ts';

const stamp = (instant: Date) => `${instant.toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
const date = (days: number) => stamp(at(days, 0)).slice(0, 8);
const rooms = Array.from({ length: 20 }, (_, index) => `C${String(index).padStart(2, '0')}`);
const erika = 'ORGANIZER;CN=Erika Mustermann:mailto:erika@contoso.test';
const guest =
  'ATTENDEE;CN="Müller; Otto, Leiter des Fachbereichs für angewandte Geographie";PARTSTAT=ACCEPTED:mailto:otto@contoso.test';

let server: CalDavServer;
let desk: WritingDesk;
let used = 0;
let room: { id: number; name: string; mandatorId: number; calendarId: number };

beforeAll(async () => {
  server = await startCalDavServer();
  desk = await openWritingDesk(server.settingsOf('school'), rooms);
  await desk.settle();
});
afterAll(async () => {
  await desk?.close();
  await server?.stop();
});
beforeEach(async () => {
  const { id, name } = desk.tenant.resources[used]!;
  room = { id, name: name.toLowerCase(), ...(await desk.keys())[used]! };
  used += 1;
  expect((await desk.admin.patch(`/resources/${room.id}`, { DeclineConflicts: true })).status).toBe(200);
  server.replies.length = 0;
});
afterEach(() => {
  server.setTrouble();
  server.schedule(true);
});

const mailbox = () => `${room.name}@rooms.test`;
const own = (more = '') => `ATTENDEE;ROLE=NON-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE${more}:mailto:${mailbox()}`;
const path = () => server.pathOf(room.name, 'meeting');
const event = (...lines: string[]) => [
  'BEGIN:VEVENT',
  `UID:meeting-${room.name}`,
  'SUMMARY:Board',
  'DTSTAMP:20260101T000000Z',
  ...lines,
  'END:VEVENT',
];
const textOf = (lines: string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//test//EN', ...lines, 'END:VCALENDAR', ''].join('\r\n');
const write = (...lines: string[]) => server.writeText(path(), textOf(lines));
const times = (days: number) => [`DTSTART:${stamp(at(days, 9))}`, `DTEND:${stamp(at(days, 10))}`];
const { read, pass, readAndPass, declineStates: states, ...people } = openRoomDesk(() => ({ desk, room }));
const book = (days: number) => people.book(days, { Subject: 'Exam of Ada' });
const lists = async () => (await desk.admin.get(`/mail-subscriptions/${room.calendarId}`)).body;
const unfolded = () =>
  server
    .textOf(path())
    .replace(/\r\n[ \t]/g, '')
    .split('\r\n');
const reply = (occurrence: string | null = null) => ({ from: mailbox(), to: 'erika@contoso.test', occurrence });

describe('a conflict in a calendar of CalDAV', () => {
  test('is declined by the attendee that is the room; all else stays as it was', async () => {
    await book(1);
    const alarm = ['BEGIN:VALARM', 'ACTION:DISPLAY', 'TRIGGER:-PT5M', 'END:VALARM'];
    write(...event(...times(1), erika, guest, own(), 'X-KEPT;A="b:c":d', ...alarm));
    const before = unfolded();
    await readAndPass();
    expect(server.replies).toEqual([reply()]);
    expect(await states()).toEqual(['Gone Told']);
    const declined = `ATTENDEE;PARTSTAT=DECLINED;ROLE=NON-PARTICIPANT:mailto:${mailbox()}`;
    expect(unfolded()).toEqual(before.map((line) => (line === own() ? declined : line)));
    for (const line of server.textOf(path()).split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
    await readAndPass();
    expect(server.replies).toHaveLength(1);
    expect(await lists()).toMatchObject({
      ConflictCount: 0,
      DeclinedCount: 1,
      Declined: [{ Decline: { State: 'Told' } }],
    });
  });

  test.each([
    [
      'UTC',
      () => times(1),
      () => [`RECURRENCE-ID:${stamp(at(2, 9))}`, `DTSTART:${stamp(at(2, 9))}`, `DTEND:${stamp(at(2, 10))}`],
    ],
    [
      'a zone, with a duration',
      () => [`DTSTART;TZID=Asia/Tokyo:${date(1)}T180000`, 'DURATION:PT1H'],
      () => [
        `RECURRENCE-ID;TZID=Asia/Tokyo:${date(2)}T180000`,
        `DTSTART;TZID=Asia/Tokyo:${date(2)}T180000`,
        'DURATION:PT1H',
      ],
    ],
    [
      'whole days',
      () => [`DTSTART;VALUE=DATE:${date(1)}`, `DTEND;VALUE=DATE:${date(2)}`],
      () => [`RECURRENCE-ID;VALUE=DATE:${date(2)}`, `DTSTART;VALUE=DATE:${date(2)}`, `DTEND;VALUE=DATE:${date(3)}`],
    ],
  ])('of a series in %s is declined by an exception of its own', async (_, series, expected) => {
    await book(2);
    write(...event(...series(), 'RRULE:FREQ=DAILY;COUNT=3', erika, own()));
    await readAndPass();
    expect(server.replies).toHaveLength(1);
    expect(await states()).toEqual(['Booked null', 'Gone Told', 'Booked null']);
    const added = unfolded().slice(unfolded().indexOf('END:VEVENT') + 1);
    expect(added).toEqual([
      ...[
        'BEGIN:VEVENT',
        `UID:meeting-${room.name}`,
        'SUMMARY:Board',
        'DTSTAMP:20260101T000000Z',
        ...expected(),
        erika,
      ],
      ...[`ATTENDEE;PARTSTAT=DECLINED;ROLE=NON-PARTICIPANT:mailto:${mailbox()}`, 'END:VEVENT', 'END:VCALENDAR', ''],
    ]);
  });

  test('of a series that was moved is declined at its exception', async () => {
    await book(5);
    const moved = [`RECURRENCE-ID:${stamp(at(2, 9))}`, ...times(5), erika, own()];
    write(...event(...times(1), 'RRULE:FREQ=DAILY;COUNT=3', erika, own()), ...event(...moved));
    await readAndPass();
    expect(server.replies).toEqual([reply(stamp(at(2, 9)))]);
    expect(unfolded().filter((line) => line === 'BEGIN:VEVENT')).toHaveLength(2);
  });

  test('that its organizer moves is booked where the room is free', async () => {
    await book(1);
    write(...event(...times(1), erika, own()));
    await readAndPass();
    write(...event(...times(3), 'SEQUENCE:1', erika, own()));
    await readAndPass();
    expect(await states()).toEqual(['Booked null']);
  });

  test.each([
    ['nobody has called', () => [own()], 'Nobody'],
    ['the room has called itself', () => [`ORGANIZER:mailto:${mailbox()}`, own(), guest], 'Nobody'],
    ['is not invited to', () => [erika, guest], 'Nobody'],
    [
      'clients answer themselves',
      () => [erika.replace('ORGANIZER', 'ORGANIZER;SCHEDULE-AGENT=CLIENT'), own()],
      'Impossible',
    ],
  ])('%s is not declined', async (_, lines, state) => {
    await book(1);
    write(...event(...times(1), ...lines()));
    const before = server.textOf(path());
    await readAndPass();
    expect(await lists()).toMatchObject({ Conflicts: [{ Decline: { State: state, Reason: expect.any(String) } }] });
    expect(server.textOf(path())).toBe(before);
    expect(server.replies).toEqual([]);
  });

  test('is not declined if the server sends no answers, which is reported', async () => {
    server.schedule(false);
    await book(1);
    write(...event(...times(1), erika, own()));
    const before = server.textOf(path());
    await readAndPass();
    expect(server.textOf(path())).toBe(before);
    expect(await lists()).toMatchObject({ Conflicts: [{ Decline: { State: 'Impossible' } }] });
    const told = (await examineMail(desk.service.context)).map(({ text }) => text).join();
    expect(told).toContain('1 of them is not declined there: The mail server sends no answers');
  });

  test('is not declined where its path is too long to be stored, which is reported and delays no other', async () => {
    for (const days of [1, 2]) await book(days);
    const long = server.pathOf(room.name, 'x'.repeat(600));
    server.writeText(long, textOf(event(...times(1), erika, own())));
    write(...event(...times(2), erika, own()).map((line) => line.replace('UID:meeting', 'UID:other')));
    await readAndPass();
    expect(server.replies).toHaveLength(1);
    expect(await lists()).toMatchObject({
      WritingFault: null,
      Conflicts: [{ Decline: { State: 'Impossible', Reason: expect.stringContaining('too long') } }],
      DeclinedCount: 1,
    });
  });

  test('is told once after an answer that was lost; a refusal is reported', async () => {
    await book(1);
    write(...event(...times(1), erika, own()));
    await read();
    let lost = 0;
    server.setTrouble((method) => (method === 'PUT' && lost++ === 0 ? 'NoAnswer' : undefined));
    await pass();
    expect(lost).toBeGreaterThan(0);
    expect(await states()).toEqual(['Gone Told']);
    expect(server.replies).toHaveLength(1);
    await book(2);
    server.setTrouble((method) => (method === 'PUT' ? { status: 403 } : undefined));
    write(...event(...times(2), 'SEQUENCE:1', erika, own()));
    await read();
    await sql`update mail_item set changed_at = now() - interval '2 minutes'`.execute(desk.db);
    await desk.sweep();
    await desk.runQueued();
    expect(await lists()).toMatchObject({
      WritingFault: expect.stringMatching(/403 to PUT \/\S+; may the account write/),
    });
    server.setTrouble((method) => (method === 'PUT' ? { status: 422 } : undefined));
    await pass();
    expect(await lists()).toMatchObject({
      WritingFault: null,
      Conflicts: [{ Decline: { State: 'Refused', Reason: expect.stringContaining('422') } }],
    });
  });
});
