/** Cyrus tells organizers what the room has declined. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLog } from '../../src/log.ts';
import { openCalDav } from '../../src/mail-servers/caldav.ts';
import { type Cyrus, missingCyrus, startCyrus } from '../mail/_util/cyrus.ts';
import { readAll } from '../mail/_util/in-steps.ts';
import { describeReal, timeUntil } from '../mail/_util/real-servers.ts';

const soon = () => AbortSignal.timeout(60_000);
const window = { start: new Date('2031-01-01T00:00:00Z'), end: new Date('2031-02-01T00:00:00Z') };

describeReal('Cyrus IMAP: what has no room here is declined', missingCyrus(), () => {
  let cyrus: Cyrus;
  let connector: ReturnType<typeof openCalDav>;
  let place: { mailbox: string; address: null; timeZone: string };

  beforeAll(async () => {
    cyrus = await startCyrus(['teacher', 'writer', 'room1']);
    await cyrus.letRead('writer', ['room1'], 'lrswitedn');
    const Url = `${cyrus.url}/dav/calendars/user/{user}/Default/`;
    const account = { User: 'writer', Password: cyrus.password };
    connector = openCalDav({ Kind: 'CalDav', Url, ...account, PastDays: 1, FutureDays: 365 }, openLog('silent'));
    place = { mailbox: cyrus.addressOf('room1'), address: null, timeZone: 'Europe/Zurich' };
  });
  afterAll(() => cyrus?.stop());

  async function invite(name: string, ...events: string[][]): Promise<void> {
    const [organizer, room] = ['teacher', 'room1'].map(cyrus.addressOf);
    const event = (lines: string[]) => [
      ...['BEGIN:VEVENT', `UID:${name}`, 'DTSTAMP:20260101T000000Z', `SUMMARY:${name}`, ...lines],
      ...[`ORGANIZER;CN=Teacher:mailto:${organizer}`, `ATTENDEE;PARTSTAT=ACCEPTED:mailto:${organizer}`],
      ...[`ATTENDEE;CUTYPE=ROOM;RSVP=TRUE;PARTSTAT=NEEDS-ACTION:mailto:${room}`, 'END:VEVENT'],
    ];
    const calendar = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//test//EN', ...events.flatMap(event)];
    const text = [...calendar, 'END:VCALENDAR', ''];
    expect(await cyrus.put('teacher', name, text.join('\r\n'))).toBe(201);
  }
  const itemsOf = async (uid: string) => {
    const { groups } = await readAll(connector, place, null, window, soon());
    return groups.flatMap(({ id, items }) =>
      items.filter((item) => item.uid === uid).map((item) => ({ group: id, item })),
    );
  };
  async function decline(uid: string, start: string) {
    await timeUntil('the room has it', 20_000, async () => (await itemsOf(uid)).length > 0);
    const { group, item } = (await itemsOf(uid)).find((one) => one.item.start.toISOString() === start)!;
    const at = { id: item.id, group, occurrence: item.occurrence };
    const found = await connector.invitation!(place, at, soon());
    if (found.is !== 'Open') throw new Error(JSON.stringify(found));
    expect(await found.decline('', soon())).toEqual({ is: 'Done' });
    expect(await connector.invitation!(place, at, soon())).toEqual({ is: 'Declined' });
    // Under an ETag that has gone.
    expect(await found.decline('', soon())).toEqual({ is: 'Changed' });
  }
  /** What the organizer sees of the room, in each VEVENT. */
  async function seen(name: string): Promise<string[]> {
    const text = (await cyrus.get('teacher', name)).replace(/\r\n[ \t]/g, '');
    return [...text.matchAll(/BEGIN:VEVENT.*?END:VEVENT/gs)].map(([event]) => {
      const line = event.split('\r\n').find((each) => each.startsWith('ATTENDEE') && each.includes('room1')) ?? '';
      const occurrence = /^RECURRENCE-ID[^:]*:(.*)$/m.exec(event)?.[1]?.trim() ?? '';
      return `${occurrence} ${/PARTSTAT=([\w-]+)/.exec(line)?.[1]}`.trim();
    });
  }

  test('a meeting is, and its organizer sees so', async () => {
    await invite('council', ['DTSTART:20310106T080000Z', 'DTEND:20310106T090000Z']);
    await decline('council', '2031-01-06T08:00:00.000Z');
    await timeUntil('the organizer was told', 20_000, async () => (await seen('council')).join() === 'DECLINED');
    expect((await itemsOf('council')).map(({ item }) => item.response)).toEqual(['Declined']);
  });

  test('of a series an occurrence that was changed is declined alone, and its organizer sees so', async () => {
    const moved = ['RECURRENCE-ID:20310114T080000Z', 'DTSTART:20310114T100000Z', 'DTEND:20310114T110000Z'];
    const series = ['DTSTART:20310107T080000Z', 'DTEND:20310107T090000Z', 'RRULE:FREQ=WEEKLY;COUNT=3'];
    await invite('course', series, moved);
    await decline('course', '2031-01-14T10:00:00.000Z');
    const told = ['NEEDS-ACTION', '20310114T080000Z DECLINED'].join();
    await timeUntil('the organizer was told', 20_000, async () => (await seen('course')).join() === told);
    const answers = (await itemsOf('course')).map(
      ({ item }) => `${item.start.toISOString().slice(8, 10)} ${item.response}`,
    );
    expect(answers.toSorted()).toEqual(['07 None', '14 Declined', '21 None']);
  });

  test('of a series any occurrence is declined alone, and Cyrus says that it has told so', async () => {
    await invite('lecture', ['DTSTART:20310108T080000Z', 'DTEND:20310108T090000Z', 'RRULE:FREQ=WEEKLY;COUNT=3']);
    await decline('lecture', '2031-01-15T08:00:00.000Z');
    const answers = (await itemsOf('lecture')).map(
      ({ item }) => `${item.start.toISOString().slice(8, 10)} ${item.response}`,
    );
    expect(answers.toSorted()).toEqual(['08 None', '15 Declined', '22 None']);
    // It keeps the answer in the calendar of the organizer only where that occurrence was changed before.
    expect(await cyrus.get('room1', 'lecture')).toContain('SCHEDULE-STATUS=1.2');
  });
});
