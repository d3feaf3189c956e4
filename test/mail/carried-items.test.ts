/** An item that somebody moves or copies from the calendar of one room to that of another is an appointment of theirs there. */
import { afterEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { startCalDavServer } from './_util/caldav-server.ts';
import { startGoogleThere } from './_util/there.ts';
import { openWritingDesk } from './_util/writing-desk.ts';

const [hour, day] = [3_600_000, 86_400_000];
const from = Math.ceil(Date.now() / day) * day + day;
const leaving: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const leave of leaving.splice(0).reverse()) await leave();
});

/** Two rooms, and a booking of the first that stands in its calendar. */
async function openDesk(settings: Record<string, string>, parameters: Record<string, string>) {
  const desk = await openWritingDesk(settings, ['F0', 'F1']);
  leaving.push(desk.close);
  await desk.admin.patch('/tenant', { Parameters: { CalendarWriting: 'Full', ...parameters } });
  await desk.tell();
  await desk.settle();
  const ResourceId = desk.tenant.resources[0]!.id;
  const [Start, End] = [0, hour].map((after) => new Date(from + after).toISOString());
  const { status, body } = await desk.user.post('/bookings', { ResourceId, Subject: 'Choir', Start, End });
  expect(status).toBe(201);
  const read = async () => {
    await desk.tell();
    await desk.settle();
  };
  await read();
  const bookings = () => listBookings(desk.db);
  return { ...desk, read, bookings, id: body['Id'] };
}

async function listBookings(db: Database): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select resource.name || ' ' || booking.kind || ' ' || booking.status as line
    from booking join resource on resource.id = booking.resource_id order by line`.execute(db);
  return rows.map(({ line }) => line);
}

test('one that was moved is booked where it is, and never removed, even if bookings follow their items', async () => {
  const server = await startCalDavServer();
  leaving.push(server.stop);
  const desk = await openDesk(server.settingsOf('school'), { CalendarEdits: 'TakeOver' });
  const { path, ...appointment } = server.list('f0')[0]!;
  const place = path.replace('/f0/', '/f1/');
  server.move(path, place);
  await desk.read();
  expect(await desk.bookings()).toEqual(['F0 Booking Cancelled', 'F1 MailItem Confirmed']);
  await sql`update mail_calendar set cursor = null`.execute(desk.db);
  await desk.read();
  expect(await desk.bookings()).toEqual(['F0 Booking Cancelled', 'F1 MailItem Confirmed']);
  expect(server.list('f0')).toEqual([]);
  expect(server.list('f1').map(({ summary }) => summary)).toEqual(['Choir']);

  server.write(place, appointment, 'TRANSP:TRANSPARENT');
  await desk.read();
  await sql`update mail_calendar set cursor = null`.execute(desk.db);
  await desk.read();
  expect(server.list('f1').map(({ summary }) => summary)).toEqual(['Choir']);
  expect(await desk.bookings()).toEqual(['F0 Booking Cancelled', 'F1 MailItem Cancelled']);
});

test('a copy is booked too, and stays whatever becomes of its original', async () => {
  const there = await startGoogleThere(['f0', 'f1']);
  leaving.push(there.stop);
  const desk = await openDesk(there.settings(there.url), {});
  const [original] = await there.list('f0');
  await there.copy!('f1', original!);
  await desk.read();
  expect(await desk.bookings()).toEqual(['F0 Booking Confirmed', 'F1 MailItem Confirmed']);
  await desk.user.send('DELETE', `/bookings/${desk.id}`);
  await desk.settle();
  await sql`update mail_calendar set cursor = null`.execute(desk.db);
  await desk.read();
  expect(await desk.bookings()).toEqual(['F0 Booking Cancelled', 'F1 MailItem Confirmed']);
  expect(await there.list('f0')).toEqual([]);
  expect((await there.list('f1')).map(({ subject }) => subject)).toEqual(['Choir']);
});

test('one that was written before a restore, for a booking that stood in another room, is removed', async () => {
  const server = await startCalDavServer();
  leaving.push(server.stop);
  const desk = await openDesk(server.settingsOf('school'), {});
  const { path } = server.list('f0')[0]!;
  server.move(path, path.replace('/f0/', '/f1/'));
  await sql`update mail_calendar set read_at = read_at - interval '3 hours'`.execute(desk.db);
  await desk.read();
  expect(await desk.bookings()).toEqual(['F0 Booking Confirmed']);
  expect(server.list('f1')).toEqual([]);
  expect(server.list('f0').map(({ summary }) => summary)).toEqual(['Choir']);
});

test.each([[[]], [['TRANSP:TRANSPARENT']]])(
  'one stays where it was moved even if its booking follows it there %s',
  async (more) => {
    const server = await startCalDavServer();
    leaving.push(server.stop);
    const desk = await openDesk(server.settingsOf('school'), {});
    const { path, ...appointment } = server.list('f0')[0]!;
    const place = path.replace('/f0/', '/f1/');
    server.remove(path);
    server.write(place, appointment, ...more);
    await desk.read();
    const [Start, End] = [2, 3].map((hours) => new Date(from + hours * hour).toISOString());
    const ResourceId = desk.tenant.resources[1]!.id;
    expect((await desk.user.patch(`/bookings/${desk.id}`, { ResourceId, Start, End })).status).toBe(200);
    await desk.settle();
    await sql`update mail_calendar set cursor = null`.execute(desk.db);
    await desk.read();
    expect(await desk.bookings()).toEqual([
      'F1 Booking Confirmed',
      ...(more.length > 0 ? [] : ['F1 MailItem Confirmed']),
    ]);
    expect(server.list('f0')).toEqual([]);
    expect(server.list('f1').map((one) => [one.start.getTime() - from, one.path === place])).toEqual([
      [0, true],
      [2 * hour, false],
    ]);
  },
);

test('one of a booking that ended long ago, moved to a time to come, is booked and not removed', async () => {
  const server = await startCalDavServer();
  leaving.push(server.stop);
  const desk = await openDesk(server.settingsOf('school'), {});
  await sql`update booking set occupied = tstzrange(now() - interval '40 days', now() - interval '39 days')`.execute(
    desk.db,
  );
  await sql`delete from mail_writing`.execute(desk.db);
  const { path } = server.list('f0')[0]!;
  server.move(path, path.replace('/f0/', '/f1/'));
  await desk.read();
  expect(await desk.bookings()).toEqual(['F0 Booking Confirmed', 'F1 MailItem Confirmed']);
  expect(server.list('f1').map(({ summary }) => summary)).toEqual(['Choir']);
});

test('a series that one becomes is booked as long as it lasts, also once nothing is known of its booking', async () => {
  const server = await startCalDavServer();
  leaving.push(server.stop);
  const desk = await openDesk(server.settingsOf('school'), { CalendarEdits: 'TakeOver' });
  const { path } = server.list('f0')[0]!;
  const text = server.textOf(path);
  const repeat = async (count: number) => {
    const rule = `RRULE:FREQ=DAILY;COUNT=${count}\r\nEND:VEVENT`;
    server.writeText(path.replace('/f0/', '/f1/'), text.replace('END:VEVENT', rule));
    await desk.read();
  };
  server.remove(path);
  await repeat(2);
  await sql`delete from mail_writing`.execute(desk.db);
  await repeat(3);
  const there = Array(3).fill('F1 MailItem Confirmed');
  expect(await desk.bookings()).toEqual(['F0 Booking Cancelled', ...there]);
});
