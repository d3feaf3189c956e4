/** Calendars that are published as iCalendar, from their settings to the bookings that come of them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openTurns } from '../../src/flow/turns.ts';
import { alignCalendars } from '../../src/mail/calendars.ts';
import { openCallback } from '../../src/mail/callback.ts';
import { examineMail } from '../../src/mail/health.ts';
import { nextRead, requestReadings } from '../../src/mail/polling.ts';
import { synchroniseCalendar } from '../../src/mail/sync.ts';
import { markCalendars } from '../../src/mail-subscriptions/marks.ts';
import { queueProvisioning } from '../../src/mail-subscriptions/provisioning.ts';
import { type ScriptedServer, startScriptedServer } from '../_util/scripted-server.ts';
import { type Service, startService } from '../_util/service.ts';

const day = 86_400_000;
const midnight = Math.ceil(Date.now() / day) * day + day;
const secret = 'private-5f3a9c';
const count = 12;

let publisher: ScriptedServer;
let service: Service;
let work: Database;
let used = 0;
let room: { mandatorId: number; calendarId: number; resourceId: number };
/** What the room's address publishes: `uid@hour of the day after tomorrow`. */
let published: string[];

beforeAll(async () => {
  publisher = await startScriptedServer();
  const rooms = Array.from({ length: count }, (_, at) => `R${at}`);
  const Calendars = rooms.map((name) => ({
    Mailbox: `${name}@school.example`,
    ResourceName: name,
    Url: `${secret}/${name}.ics`,
  }));
  service = await startService(
    {
      Role: 'Web',
      MailServer__school__Kind: 'ICalendar',
      MailServer__school__Url: `${publisher.origin}/ical/`,
      MailServer__school__Calendars: JSON.stringify(Calendars),
      MailServer__school__TrustedOrigins: publisher.origin,
    },
    rooms,
  );
  work = openDatabase(service.databaseUrl, { max: 4, log: service.context.log, statementTimeout: 0 });
  await alignCalendars(work, service.context.config);
});
afterAll(async () => {
  await work.destroy();
  await service.stop();
  await publisher.close();
});
beforeEach(async () => {
  const { mandatorId, resources } = service.tenant;
  const { id: resourceId } = resources[used++]!;
  const found = work.selectFrom('mail_calendar').where('resource_id', '=', resourceId).select('id');
  room = { mandatorId, resourceId, calendarId: (await found.executeTakeFirstOrThrow()).id };
  publisher.answer(() => ({ body: write(published) }));
});

const stamp = (instant: number) => new Date(instant).toISOString().replace(/[-:]|\.\d+/g, '');
function write(items: readonly string[]): string {
  const events = items.flatMap((item) => {
    const [uid, hour, subject = 'Choir'] = item.split('@');
    const start = midnight + Number(hour) * 3_600_000;
    return [
      ...['BEGIN:VEVENT', `UID:${uid?.replace('#', '@')}`, `DTSTAMP:${stamp(Date.now())}`, `SUMMARY:${subject}`],
      ...[`DTSTART:${stamp(start)}`, `DTEND:${stamp(start + 3_600_000)}`, 'END:VEVENT'],
    ];
  });
  return ['BEGIN:VCALENDAR', 'REFRESH-INTERVAL;VALUE=DURATION:PT2H', ...events, 'END:VCALENDAR', ''].join('\r\n');
}

const run = () =>
  synchroniseCalendar(
    { ...service.context, runner: 'test', turns: openTurns(8), work, signal: new AbortController().signal },
    room,
  );
async function read(...items: string[]): Promise<string[]> {
  published = items;
  await sql`update mail_calendar set not_before = null where id = ${room.calendarId}`.execute(work);
  await markCalendars(work, [room.calendarId], 'Poll');
  await run();
  return await booked();
}
/** `hour subject version` of each booking that stands. */
async function booked(): Promise<string[]> {
  const { rows } = await sql<{ start: Date; subject: string; version: number }>`
    select lower(occupied) as start, subject, version from booking
    where resource_id = ${room.resourceId} and status = 'Confirmed' order by lower(occupied)`.execute(work);
  return rows.map(({ start, subject, version }) => `${(start.getTime() - midnight) / 3_600_000} ${subject} ${version}`);
}
const fault = async () =>
  (
    await work
      .selectFrom('mail_calendar')
      .where('id', '=', room.calendarId)
      .select('fault_text')
      .executeTakeFirstOrThrow()
  ).fault_text;

describe('what is published is booked', () => {
  test('and moves, also to other words; what is our own is not booked', async () => {
    const { uid } = await work
      .selectFrom('mandator')
      .where('id', '=', room.mandatorId)
      .select('uid')
      .executeTakeFirstOrThrow();
    const own = `booking-1#${uid}`;
    expect(await read('a@8', 'b@9', `${own}@10`)).toEqual(['8 Choir 1', '9 Choir 1']);
    expect(await read('a@8', 'b@11@Band', `${own}@10`)).toEqual(['8 Choir 1', '11 Band 2']);
  });

  test('what is missing is gone when it is missing twice, and not when it comes back', async () => {
    const all = ['8 Choir 1', '9 Choir 1'];
    expect(await read('a@8', 'b@9')).toEqual(all);
    expect(await read('a@8')).toEqual(all);
    expect(await read('a@8', 'b@9')).toEqual(all);
    expect(await read('a@8')).toEqual(all);
    // The same once more: what decides is that it was read, whether or not it has changed.
    expect(await read('a@8')).toEqual(['8 Choir 1']);
  });

  test('other UIDs at each reading make no other bookings', async () => {
    for (const turn of [1, 2, 3]) expect(await read(`x${turn}@8`, `y${turn}@9`)).toEqual(['8 Choir 1', '9 Choir 1']);
    expect(await read('x4@8', 'y4@10')).toEqual(['8 Choir 1', '9 Choir 1', '10 Choir 1']);
    expect(await read('x5@8', 'y5@10')).toEqual(['8 Choir 1', '10 Choir 1']);
  });
});

describe('what is published by mistake changes nothing', () => {
  const whole = ['a@8', 'b@9', 'c@10', 'd@11', 'e@12', 'f@13'];

  test.each<[string, string[], RegExp]>([
    ['nothing', [], /It lacks 6 of its previous 6 items/],
    ['less than half', ['a@8', 'b@9'], /It lacks 4 of its previous 6 items/],
  ])('%s: until an operator takes it as it is', async (_, rest, words) => {
    await read(...whole);
    for (const __ of [1, 2, 3]) {
      expect(await read(...rest)).toHaveLength(6);
      expect(await fault()).toMatch(words);
    }
    await requestReadings(work, room.mandatorId, [room.calendarId], { whole: true });
    expect(await read(...rest)).toHaveLength(rest.length);
    expect(await fault()).toBeNull();
  });

  test('a page of a proxy; the address is not disclosed', async () => {
    await read(...whole);
    publisher.answer(() => ({ body: '<html>Sign in</html>' }));
    expect(await read(...whole)).toHaveLength(6);
    expect(await fault()).toMatch(/^The calendar that http:\S+ publishes cannot be read: it is not iCalendar\.$/);
    expect(JSON.stringify(await examineMail(service.context))).not.toContain(secret);
    const { rows } = await sql`select mail_calendar::text as row from mail_calendar`.execute(work);
    expect(JSON.stringify(rows)).not.toContain(secret);
  });
});

test('it is read as often as the publisher asks for, nobody is asked to push, and there is no callback', async () => {
  await read('a@8');
  const { rows } = await sql<{ minutes: number }>`
    select extract(epoch from ${nextRead} - read_at)::int / 60 as minutes
    from mail_calendar as calendar where id = ${room.calendarId}`.execute(work);
  expect(rows).toEqual([{ minutes: 120 }]);
  await queueProvisioning(work, service.context.config);
  expect(await work.selectFrom('mail_subscription').select('id').execute()).toEqual([]);
  await expect(openCallback(service.context, 'school')).rejects.toThrow('published at addresses');
  const [found] = await examineMail(service.context);
  expect(found).toMatchObject({ check: 'Mail', text: expect.stringContaining('read every few minutes') });
});
