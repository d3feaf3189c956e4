import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { killPrograms } from '../_util/process.ts';
import { missingRadicale, type Radicale, startRadicale } from '../mail/_util/radicale.ts';
import { describeReal, timeUntil } from '../mail/_util/real-servers.ts';
import { describeBooking, type MailService, startMailService } from '../mail/_util/service.ts';

const [hour, day] = [3_600_000, 86_400_000];
const midnight = Math.ceil(Date.now() / day) * day + day;
const stamp = (instant: number) => `${new Date(instant).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;

describeReal('Radicale: what stands in the calendar of a room is booked', missingRadicale(), () => {
  let radicale: Radicale;
  let service: MailService;

  beforeAll(async () => {
    radicale = await startRadicale(['room1', 'reader']);
    service = await startMailService(
      { Url: `${radicale.url}/{user}/calendar/`, User: 'reader', Password: radicale.password },
      ['room1@rooms.test'],
    );
    await service.start();
    await timeUntil('the calendar is there', 20_000, async () => (await calendar())?.read_at != null);
    radicale.tell(await service.callback());
  });
  afterAll(async () => {
    await service?.stop();
    await killPrograms();
    await radicale?.stop();
  });

  const calendar = () => service.db.selectFrom('mail_calendar').selectAll().executeTakeFirst();
  const eventText = (name: string, start: string, ...lines: string[]) =>
    [
      ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//test//EN', 'BEGIN:VEVENT', `UID:${name}`],
      ...[`SUMMARY:${name}`, `DTSTAMP:${stamp(Date.now())}`, `DTSTART${start}`, ...lines],
      ...['END:VEVENT', 'END:VCALENDAR', ''],
    ].join('\r\n');
  const put = (name: string, start: number, ...lines: string[]) =>
    radicale.put('room1', name, eventText(name, `:${stamp(start)}`, 'DURATION:PT1H', ...lines));
  const booking = (name: string, start: number) =>
    describeBooking(new Date(start), new Date(start + hour), 'Confirmed', name);
  const become = (what: string, expected: string[], limit = 20_000) =>
    timeUntil(
      what,
      limit,
      async () => JSON.stringify((await service.booked(0)).sort()) === JSON.stringify(expected.toSorted()),
    );

  test('a change is told by the hook and booked', async () => {
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const [name, start] = [`single-${round}`, midnight + round * day + 8 * hour];
      expect(await put(name, start)).toBe(201);
      times.push(await become('made', [booking(name, start)]));
      expect(await put(name, start + hour)).toBe(201);
      times.push(await become('moved', [booking(name, start + hour)]));
      expect(await radicale.remove('room1', name)).toBe(200);
      times.push(await become('removed', []));
    }
    times.sort((one, other) => one - other);
    process.stderr.write(
      `Radicale: 15 of 15 changes booked; answer to booking p50 ${Math.round(times[7]!)} ms, max ${Math.round(times[14]!)} ms\n`,
    );
    expect(times[7]).toBeLessThan(1_000);
    expect(await calendar()).toMatchObject({ found_by_poll: 0, fault: null });
  });

  test('times without a zone are those of the room, and so are whole days', async () => {
    const date = Temporal.Instant.fromEpochMilliseconds(midnight + 10 * day)
      .toZonedDateTimeISO('UTC')
      .toPlainDate();
    const at = (plainTime?: string) =>
      date.toZonedDateTime({ timeZone: 'Europe/Berlin', ...(plainTime && { plainTime }) }).epochMilliseconds;
    const compact = date.toString().replaceAll('-', '');
    const text = (name: string, start: string) => eventText(name, start, 'DURATION:PT1H');
    expect(await radicale.put('room1', 'floating', text('floating', `:${compact}T093000`))).toBe(201);
    await become('floating', [booking('floating', at('09:30'))]);
    expect(await radicale.put('room1', 'floating', eventText('floating', `;VALUE=DATE:${compact}`))).toBe(201);
    const wholeDay = describeBooking(new Date(at()), new Date(at() + day), 'Confirmed', 'floating');
    await become('whole day', [wholeDay]);
    expect(await radicale.remove('room1', 'floating')).toBe(200);
    await become('removed', []);
  });

  test('what nobody tells is found by polling, also when the server does not know its token any more', async () => {
    radicale.tell('http://127.0.0.1:9/');
    radicale.loseTokens();
    expect(await put('untold', midnight, 'RRULE:FREQ=WEEKLY;COUNT=3')).toBe(201);
    // As when the time of the next poll has come.
    await sql`update mail_calendar set read_at = read_at - interval '1 day', read_whole_at = read_whole_at - interval '1 hour'`.execute(
      service.db,
    );
    await become(
      'polled',
      [0, 7, 14].map((days) => booking('untold', midnight + days * day)),
    );
    expect(await calendar()).toMatchObject({ fault: null });
  });
});
