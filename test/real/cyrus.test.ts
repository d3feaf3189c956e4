import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { killPrograms } from '../_util/process.ts';
import { type Cyrus, missingCyrus, startCyrus } from '../mail/_util/cyrus.ts';
import { describeReal, timeUntil } from '../mail/_util/real-servers.ts';
import { type Booked, describeBooking, type MailService, startMailService } from '../mail/_util/service.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const midnight = Math.ceil(Date.now() / day) * day + day;
const rooms = ['room1', 'room2'];

type Meeting = {
  name: string;
  start: number;
  minutes: number;
  rule?: string;
  moved?: { nth: number; to: number };
};

const stamp = (instant: number) => `${new Date(instant).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;

describeReal('Cyrus IMAP: what organizers change is booked', missingCyrus(), () => {
  let cyrus: Cyrus;
  let service: MailService;
  let sequence = 0;

  beforeAll(async () => {
    cyrus = await startCyrus(['teacher', 'reader', ...rooms]);
    await cyrus.letRead('reader', rooms);
    service = await startMailService(
      { Url: `${cyrus.url}/dav/calendars/user/{user}/Default/`, User: 'reader', Password: cyrus.password },
      rooms.map(cyrus.addressOf),
    );
    await service.start();
    await timeUntil('the calendars are there', 20_000, async () => (await calendarsRead()) === rooms.length);
    cyrus.tell(await service.callback());
  });
  afterAll(async () => {
    await service?.stop();
    await killPrograms();
    await cyrus?.stop();
  });

  const calendarsRead = async () =>
    (await service.db.selectFrom('mail_calendar').where('read_at', 'is not', null).select('id').execute()).length;

  function textOf({ name, start, minutes, rule, moved }: Meeting, room: string): string {
    sequence += 1;
    const event = (...lines: string[]) => [
      ...[
        'BEGIN:VEVENT',
        `UID:${name}`,
        `DTSTAMP:${stamp(Date.now())}`,
        `SEQUENCE:${sequence}`,
        `SUMMARY:${name}`,
        ...lines,
      ],
      `ORGANIZER;CN=Teacher:mailto:${cyrus.addressOf('teacher')}`,
      `ATTENDEE;PARTSTAT=ACCEPTED:mailto:${cyrus.addressOf('teacher')}`,
      `ATTENDEE;CUTYPE=ROOM;RSVP=TRUE;PARTSTAT=NEEDS-ACTION:mailto:${cyrus.addressOf(room)}`,
      'END:VEVENT',
    ];
    const at = (from: number) => [`DTSTART:${stamp(from)}`, `DTEND:${stamp(from + minutes * minute)}`];
    const own = event(...at(start), ...(rule === undefined ? [] : [`RRULE:${rule}`]));
    const exception = moved ? event(`RECURRENCE-ID:${stamp(start + moved.nth * 7 * day)}`, ...at(moved.to)) : [];
    return [
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'PRODID:-//test//test//EN',
      ...own,
      ...exception,
      'END:VCALENDAR',
      '',
    ].join('\r\n');
  }

  /** The bookings of a meeting: each of four weeks of a series, or one. */
  const bookingsOf = ({ name, start, minutes, rule, moved }: Meeting): Booked[] =>
    Array.from({ length: rule === undefined ? 1 : 4 }, (_, nth) =>
      moved?.nth === nth ? moved.to : start + nth * 7 * day,
    ).map((from) => describeBooking(new Date(from), new Date(from + minutes * minute), 'Tentative', name));

  async function isBooked(room: number, wanted: readonly Meeting[]): Promise<boolean> {
    const expected = wanted.flatMap(bookingsOf).sort();
    return JSON.stringify((await service.booked(room)).sort()) === JSON.stringify(expected);
  }

  test('30 of 30 changes are right bookings, half of them within a second', async () => {
    const times: number[] = [];
    const wanted: Meeting[][] = [[], []];

    /** One change by the organizer, until it is what is booked. */
    async function change(room: number, meeting: Meeting, kind: 'put' | 'remove'): Promise<void> {
      const others = wanted[room]!.filter(({ name }) => name !== meeting.name);
      wanted[room] = kind === 'put' ? [...others, meeting] : others;
      const begin = performance.now();
      const status =
        kind === 'put'
          ? await cyrus.put('teacher', meeting.name, textOf(meeting, rooms[room]!))
          : await cyrus.remove('teacher', meeting.name);
      expect([200, 201, 204]).toContain(status);
      await timeUntil(`change ${times.length + 1}: ${kind} ${JSON.stringify(meeting)}`, 20_000, () =>
        isBooked(room, wanted[room]!),
      );
      times.push(performance.now() - begin);
    }

    for (let round = 0; round < 6; round++) {
      const room = round % 2;
      const begin = midnight + round * day;
      const single: Meeting = { name: `single-${round}`, start: begin + 8 * hour, minutes: 60 };
      const series: Meeting = {
        name: `series-${round}`,
        start: begin + 12 * hour,
        minutes: 45,
        rule: 'FREQ=WEEKLY;COUNT=4',
      };
      await change(room, single, 'put');
      await change(room, { ...single, start: begin + 9 * hour, minutes: 90 }, 'put');
      await change(room, series, 'put');
      await change(room, { ...series, moved: { nth: 2, to: begin + 15 * day } }, 'put');
      await change(room, single, 'remove');
    }
    times.sort((one, other) => one - other);
    const [p50, p90, max] = [times[14]!, times[26]!, times[29]!].map(Math.round);
    const { rows } = await figures();
    process.stderr.write(
      `Cyrus: 30 of 30 changes booked; PUT to booking p50 ${p50} ms, p90 ${p90} ms, max ${max} ms; ${rows}\n`,
    );
    expect(times).toHaveLength(30);
    expect(p50).toBeLessThan(1_000);
  });

  async function figures(): Promise<{ rows: string }> {
    const [notifications, readings] = await Promise.all([
      service.db.selectFrom('mail_notification').select('verdict').execute(),
      service.db.selectFrom('mail_calendar').select(['found_by_push', 'found_by_poll', 'readings']).execute(),
    ]);
    return {
      rows: JSON.stringify({
        notifications: Object.fromEntries(
          Object.entries(Object.groupBy(notifications, ({ verdict }) => verdict)).map(([verdict, each]) => [
            verdict,
            each!.length,
          ]),
        ),
        readings,
      }),
    };
  }

  test('what changes while this service is down is booked within 30 s of its return', async () => {
    const before = await service.booked(1);
    await service.end('SIGKILL');
    const meetings = Array.from(
      { length: 5 },
      (_, at): Meeting => ({ name: `missed-${at}`, start: midnight + (40 + at) * day, minutes: 60 }),
    );
    for (const meeting of meetings)
      expect(await cyrus.put('teacher', meeting.name, textOf(meeting, rooms[1]!))).toBe(201);
    const expected = [...before, ...meetings.flatMap(bookingsOf)].sort();
    const begin = performance.now();
    await service.start();
    await timeUntil(
      'what was missed is booked',
      30_000,
      async () => JSON.stringify((await service.booked(1)).sort()) === JSON.stringify(expected),
    );
    process.stderr.write(
      `Cyrus: 5 changes while down, booked ${Math.round(performance.now() - begin)} ms after the start\n`,
    );
  });
});
