/** Large items in a calendar of Debian's Radicale are booked, and no worker dies. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { killPrograms } from '../_util/process.ts';
import { missingRadicale, type Radicale, startRadicale } from '../mail/_util/radicale.ts';
import { describeReal, timeUntil } from '../mail/_util/real-servers.ts';
import { describeBooking, type MailService, startMailService } from '../mail/_util/service.ts';

const [hour, day] = [3_600_000, 86_400_000];
const midnight = Math.ceil(Date.now() / day) * day + day;
const stamp = (instant: number) => `${new Date(instant).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
const eventLines = (name: string, start: number, minutes: number, ...lines: string[]) => [
  ...['BEGIN:VEVENT', `UID:${name}`, `SUMMARY:${name}`, `DTSTAMP:${stamp(midnight)}`, `DTSTART:${stamp(start)}`],
  ...[`DURATION:PT${minutes}M`, ...lines, 'END:VEVENT'],
];
const calendarText = (...events: string[][]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//test//EN', ...events.flat(), 'END:VCALENDAR', ''].join('\r\n');
const rooms = ['attachment', 'many', 'usual'];
const count = 10_000;

/** Random, so that it stays large when it is compressed, in lines of 75 octets. */
function attachment(bytes: number): string {
  const content = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536))).toString('base64');
  const text = content.repeat(Math.ceil(bytes / 49_152)).slice(0, Math.ceil((bytes * 4) / 3));
  const shuffled = text.match(/.{1,60}/g)!.map((line, at) => line.slice(at % 60) + line.slice(0, at % 60));
  return ['ATTACH;ENCODING=BASE64;VALUE=BINARY:', ...shuffled.map((line) => ` ${line}`)].join('\r\n');
}

describeReal('Radicale: large objects and many', missingRadicale(), () => {
  let radicale: Radicale;
  let service: MailService;

  beforeAll(async () => {
    radicale = await startRadicale([...rooms, 'reader']);
    const settings = { Url: `${radicale.url}/{user}/calendar/`, User: 'reader', Password: radicale.password };
    service = await startMailService(
      settings,
      rooms.map((room) => `${room}@rooms.test`),
    );
  });
  afterAll(async () => {
    await service?.stop();
    await killPrograms();
    await radicale?.stop();
  });

  test('an attachment of 200 KB, 10,000 events, and one like any other: all are booked', async () => {
    const large = calendarText(eventLines('large', midnight, 60, attachment(200_000)));
    expect(await radicale.put('attachment', 'large', large)).toBe(201);
    const many = (at: number): [string, string] => [
      `many-${at}`,
      calendarText(eventLines(`many-${at}`, midnight + at * 20 * 60_000, 20)),
    ];
    radicale.fill(
      'many',
      Array.from({ length: count }, (_, at) => many(at)),
    );
    expect(await radicale.put('usual', 'usual', calendarText(eventLines('usual', midnight, 60)))).toBe(201);
    await service.start();
    const booked = (room: number, wanted: number) => async () => (await service.booked(room)).length === wanted;
    const times = [
      await timeUntil('the attachment is booked', 60_000, booked(0, 1)),
      await timeUntil('the usual one is booked', 60_000, booked(2, 1)),
      await timeUntil('the many are booked', 600_000, booked(1, count)),
    ];
    const one = (name: string) => [describeBooking(new Date(midnight), new Date(midnight + hour), 'Confirmed', name)];
    expect(await service.booked(0)).toEqual(one('large'));
    expect(await service.booked(2)).toEqual(one('usual'));
    const [attached, usual, all] = times.map((time) => `${(time / 1_000).toFixed(1)} s`);
    process.stderr.write(
      `Radicale: booked after ${attached} (attachment), ${usual} (usual), ${all} (${count} events)\n`,
    );
    // It would say so if it had died.
    expect(await service.end('SIGTERM')).toMatchObject({ code: 0 });
  }, 720_000);
});
