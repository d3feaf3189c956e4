import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import ICAL from 'ical.js';
import * as nodeIcal from 'node-ical';
import type { RemoteItem } from '../../src/mail-servers/connector.ts';
import { readCalendarObject } from '../../src/mail-servers/ical.ts';
import { windowsZones } from '../../src/time/windows-zones.ts';
import { costOf } from '../_util/growth.ts';
import { instantOf } from '../_util/local-times.ts';

const day = 86_400_000;
const window = { start: new Date('2026-11-19T23:00Z'), end: new Date('2027-11-19T23:00Z') };
const mailbox = 'room-a@rooms.test';
const berlin = 'Europe/Berlin';
const zones = [berlin, 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Pacific/Kiritimati'];

const calendar = (...components: string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', ...components, 'END:VCALENDAR', ''].join('\r\n');
const event = (...lines: string[]) => ['BEGIN:VEVENT', 'UID:one@test', ...lines, 'END:VEVENT'].join('\r\n');
const read = (text: string, timeZone: string | null = berlin) =>
  readCalendarObject('/room/one.ics', text, { window, mailbox, timeZone });
const readEvent = (...lines: string[]) => read(calendar(event(...lines)));
const itemOf = (...lines: string[]): RemoteItem => {
  const group = readEvent('DTSTART:20261201T090000Z', 'DTEND:20261201T100000Z', ...lines);
  expect(group).toMatchObject({ items: [{}] });
  return group.items[0]!;
};
const spans = (items: readonly RemoteItem[]) =>
  items.map(({ start, end }) => `${start.toISOString().slice(0, 16)}/${end.toISOString().slice(0, 16)}`).sort();

const compact = (local: number) => new Date(local).toISOString().slice(0, 19).replace(/[-:]/g, '');

/** As Outlook defines a zone that it calls by its display name: with summer time, and in this case as if it were 2 h east of Berlin. */
const outlookZone = (tzid: string) =>
  [
    ...['BEGIN:VTIMEZONE', `TZID:${tzid}`, 'BEGIN:STANDARD', 'DTSTART:16011028T030000'],
    ...['RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10', 'TZOFFSETFROM:+0400', 'TZOFFSETTO:+0300', 'END:STANDARD'],
    ...['BEGIN:DAYLIGHT', 'DTSTART:16010325T020000', 'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3'],
    ...['TZOFFSETFROM:+0300', 'TZOFFSETTO:+0400', 'END:DAYLIGHT', 'END:VTIMEZONE'],
  ].join('\r\n');

describe('the name of a zone', () => {
  const display = '(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna';
  const escaped = display.replaceAll(',', '\\,');

  test.each([
    ['quoted, and as a TEXT where it is defined', escaped, `"${display}"`],
    ['quoted, and not as a TEXT', display, `"${display}"`],
    ['as a TEXT in both places, without quotes', escaped, escaped],
    ['bare in both places', display, display],
    ['as a TEXT in quotes', escaped, `"${escaped}"`],
    ['in quotes where it is defined, too', `"${display}"`, `"${display}"`],
    ['in other letters and with blanks about it', `${escaped.toUpperCase()} `, `" ${display}"`],
    [
      'as older releases of Outlook write it',
      'GMT +0100 (Standard) / GMT +0200 (Daylight)',
      '"GMT +0100 (Standard) / GMT +0200 (Daylight)"',
    ],
    ['with semicolons in it', 'One\\; two', '"One; two"'],
    ['a customized one', 'Customized Time Zone', 'Customized Time Zone'],
  ])('of Outlook, %s: its definition counts', (_, tzid, named) => {
    const lines = [`DTSTART;TZID=${named}:20261201T090000`, `DTEND;VALUE=DATE-TIME;TZID=${named}:20261201T100000`];
    const series = `RRULE:FREQ=WEEKLY;COUNT=3\r\nEXDATE;TZID=${named}:20261208T090000,20261215T090000`;
    expect(spans(read(calendar(outlookZone(tzid), event(...lines, series))).items)).toEqual([
      '2026-12-01T06:00/2026-12-01T07:00',
    ]);
    const summer = `DTSTART;TZID=${named}:20270701T090000\r\nDURATION:PT1H`;
    expect(spans(read(calendar(outlookZone(tzid), event(summer))).items)).toEqual([
      '2027-07-01T05:00/2027-07-01T06:00',
    ]);
  });

  test.each([
    ...['Europe/Berlin', 'EUROPE/BERLIN', 'europe/berlin ', '"Europe/Berlin"'],
    ...['/mozilla.org/20050126_1/Europe/Berlin', '/freeassociation.sourceforge.net/Tzfile/Europe/Berlin'],
    ...['/freeassociation.sourceforge.net/europe/berlin', '/Europe/Berlin', '"/citadel.org/20210210_1/Europe/Berlin"'],
    ...['W. Europe Standard Time', 'w. europe standard time', '"W. Europe Standard Time "'],
  ])('%s is Berlin, with and without a definition', (named) => {
    const lines = event(`DTSTART;TZID=${named}:20261201T090000`, 'DURATION:PT1H');
    expect(spans(read(calendar(lines)).items)).toEqual(['2026-12-01T08:00/2026-12-01T09:00']);
    const bare = named.replaceAll('"', '');
    if (bare.includes('/'))
      expect(spans(read(calendar(outlookZone(bare), lines)).items)).toEqual(['2026-12-01T08:00/2026-12-01T09:00']);
  });

  test.each(['BST', 'cst', 'IST'])('%s, which ICU has for compatibility with Java, is what the text says', (named) => {
    const lines = event(`DTSTART;TZID=${named}:20261201T090000`, 'DURATION:PT1H');
    expect(spans(read(calendar(outlookZone(named), lines)).items)).toEqual(['2026-12-01T06:00/2026-12-01T07:00']);
    expect(read(calendar(lines))).toMatchObject({
      unreadable: expect.stringContaining('in the unknown zone'),
    });
  });
});

test('a VTIMEZONE that sets its clocks thousands of times a day costs no more than another', () => {
  const [start, every] = [Date.UTC(2026, 11, 1), 10_000];
  const times = (count: number, apart: number) =>
    Array.from({ length: count }, (_each, index) => compact(start + index * apart));
  const linesOf = (name: string, walls: readonly string[]) =>
    Array.from({ length: walls.length / 100 }, (_each, line) => `${name}:${walls.slice(line * 100, line * 100 + 100)}`);
  const text = (apart: number) =>
    calendar(
      [
        ...['BEGIN:VTIMEZONE', 'TZID:Hostile', 'BEGIN:STANDARD', 'DTSTART:20261101T000000'],
        ...linesOf('RDATE', times(8_000, apart)),
        ...['TZOFFSETFROM:+0100', 'TZOFFSETTO:+0200', 'END:STANDARD', 'END:VTIMEZONE'],
      ].join('\r\n'),
      event(
        ...['DTSTART;TZID=Hostile:20261201T120000', 'DURATION:PT1H'],
        ...linesOf('RDATE;TZID=Hostile', times(1_800, 4 * every)),
      ),
    );
  const [dense, sparse] = [text(every), text(day)].map((each) =>
    costOf(() => expect(read(each).items.length).toBeGreaterThan(1_700)),
  ) as [number, number];
  expect(dense).toBeLessThan(3 * sparse);
});

describe('an exception for all that follow', () => {
  const weekly = [
    'DTSTART;TZID=Europe/Berlin:20270301T090000',
    'DURATION:PT1H',
    'SUMMARY:before',
    'RRULE:FREQ=WEEKLY;COUNT=6',
  ];
  const from = (id: string, ...lines: string[]) => event(`RECURRENCE-ID;RANGE=THISANDFUTURE;${id}`, ...lines);
  const told = (...components: string[]) =>
    read(calendar(event(...weekly), ...components))
      .items.map(({ occurrence, start, end, subject, isCancelled }) =>
        [
          occurrence.slice(5, 16),
          start.toISOString().slice(5, 16),
          (end.getTime() - start.getTime()) / 60_000,
          subject,
          ...(isCancelled ? ['cancelled'] : []),
        ].join(' '),
      )
      .sort();
  const third = 'TZID=Europe/Berlin:20270315T090000';

  test('moves them by the same time on the clocks of the zone, over a clock change, and changes the same members', () => {
    expect(told(from(third, 'DTSTART;TZID=Europe/Berlin:20270316T103000', 'DURATION:PT90M', 'SUMMARY:after'))).toEqual([
      '03-01T08:00 03-01T08:00 60 before',
      '03-08T08:00 03-08T08:00 60 before',
      '03-15T08:00 03-16T09:30 90 after',
      '03-22T08:00 03-23T09:30 90 after',
      '03-29T07:00 03-30T08:30 90 after',
      '04-05T07:00 04-06T08:30 90 after',
    ]);
  });

  test('to another zone, whose clocks count from then on', () => {
    const there = told(from(third, 'DTSTART;TZID=America/New_York:20270315T090000', 'DURATION:PT1H', 'SUMMARY:after'));
    expect(there.slice(2)).toEqual([
      '03-15T08:00 03-15T13:00 60 after',
      // Clocks in New York have been set forward already, in Berlin they are.
      '03-22T08:00 03-22T13:00 60 after',
      '03-29T07:00 03-29T12:00 60 after',
      '04-05T07:00 04-05T12:00 60 after',
    ]);
  });

  test('gives way to an exception of its own and to a later range, and EXDATE leaves out what it leaves out', () => {
    expect(
      read(
        calendar(
          event(...weekly, 'EXDATE;TZID=Europe/Berlin:20270405T090000'),
          from('TZID=Europe/Berlin:20270329T090000', 'DTSTART;TZID=Europe/Berlin:20270329T140000', 'SUMMARY:last'),
          from('TZID=Europe/Berlin:20270308T090000', 'DTSTART;TZID=Europe/Berlin:20270308T100000', 'SUMMARY:first'),
          event(
            'RECURRENCE-ID;TZID=Europe/Berlin:20270322T090000',
            'DTSTART;TZID=Europe/Berlin:20270322T180000',
            'SUMMARY:own',
          ),
        ),
      )
        .items.map(({ start, subject }) => `${start.toISOString().slice(5, 16)} ${subject}`)
        .sort(),
    ).toEqual([
      ...['03-01T08:00 before', '03-08T09:00 first', '03-15T09:00 first', '03-22T17:00 own', '03-29T12:00 last'],
    ]);
  });

  test('may cancel them, and may be for whole days', () => {
    expect(
      told(
        from(third, 'DTSTART;TZID=Europe/Berlin:20270315T090000', 'DURATION:PT1H', 'SUMMARY:x', 'STATUS:CANCELLED'),
      ).slice(2),
    ).toEqual(['03-15T08:00', '03-22T08:00', '03-29T07:00', '04-05T07:00'].map((at) => `${at} ${at} 60 x cancelled`));
    const days = read(
      calendar(
        event('DTSTART;VALUE=DATE:20270301', 'RRULE:FREQ=WEEKLY;COUNT=3'),
        from('VALUE=DATE:20270308', 'DTSTART;VALUE=DATE:20270310', 'DTEND;VALUE=DATE:20270312'),
      ),
    ).items.map((one) => one.days);
    expect(days).toEqual(
      expect.arrayContaining([
        { from: '2027-03-01', to: '2027-03-02' },
        { from: '2027-03-10', to: '2027-03-12' },
        { from: '2027-03-17', to: '2027-03-19' },
      ]),
    );
  });

  test('reaches into the window from outside of it, both ways', () => {
    const subjects = (start: string, rule: string, id: string, to: string) =>
      read(
        calendar(event(`DTSTART:${start}`, 'DURATION:PT1H', rule), from(id, `DTSTART:${to}`, 'DURATION:PT1H')).replace(
          'RANGE=THISANDFUTURE;:',
          'RANGE=THISANDFUTURE:',
        ),
      ).items.map((one) => one.start.toISOString().slice(0, 10));
    // By 60 days later, and by 60 days earlier.
    expect(subjects('20260901T090000Z', 'RRULE:FREQ=MONTHLY;COUNT=2', ':20260901T090000Z', '20261031T090000Z')).toEqual(
      ['2026-11-30'],
    );
    expect(
      subjects('20271101T090000Z', 'RRULE:FREQ=MONTHLY;COUNT=3', ':20271101T090000Z', '20270902T090000Z').sort(),
    ).toEqual(['2027-09-02', '2027-10-02', '2027-11-02']);
  });

  test('however many there are of them they cost little', () => {
    const many = (count: number) =>
      calendar(
        event('DTSTART:20261201T090000Z', 'DURATION:PT1H', 'RRULE:FREQ=DAILY'),
        ...Array.from({ length: count }, (_, at) =>
          from('', '').replace(
            /RECURRENCE.*/,
            `RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:${compact(Date.UTC(2026, 11, 1, 10) + at * day)}\r\nDTSTART:20261201T1${at % 10}0000Z`,
          ),
        ),
      );
    const texts = many(900);
    expect(costOf(() => read(texts), 1_000)).toBeLessThan(1_000);
  });
});

describe('an appointment', () => {
  test('of the room itself, without anybody invited, is its own', () => {
    expect(itemOf('SUMMARY:Staff\\, all\\nof them', 'LAST-MODIFIED:20261120T080000Z')).toEqual({
      id: '/room/one.ics',
      occurrence: '',
      uid: 'one@test',
      days: null,
      organizer: null,
      start: new Date('2026-12-01T09:00Z'),
      end: new Date('2026-12-01T10:00Z'),
      subject: 'Staff, all of them',
      isPrivate: false,
      isCancelled: false,
      shownAs: 'Busy',
      response: 'Organizer',
      changedAt: new Date('2026-11-20T08:00Z'),
      origin: null,
      changeKey: null,
    });
  });

  test.each([
    ['NEEDS-ACTION', 'None'],
    ['ACCEPTED', 'Accepted'],
    ['TENTATIVE', 'Tentative'],
    ['DECLINED', 'Declined'],
    ['DELEGATED', 'None'],
  ])('the room that is invited has answered %s', (partstat, response) => {
    const others = 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:other@rooms.test';
    const own = `ATTENDEE;CN="Room, A";CUTYPE=ROOM;PARTSTAT=${partstat}:MAILTO:Room-A@rooms.test`;
    expect(itemOf(others, own).response).toBe(response);
    expect(
      itemOf(own.replace('MAILTO:Room-A@rooms.test', 'urn:uuid:1').replace(';', `;EMAIL=${mailbox};`)).response,
    ).toBe(response);
  });

  test('others than the room are invited: it has not answered, or invites them', () => {
    const attendee = 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:other@rooms.test';
    expect(itemOf(attendee).response).toBe('None');
    expect(itemOf(attendee, `ORGANIZER:mailto:${mailbox}`).response).toBe('Organizer');
  });

  test('who organizes it has a name and an address, of which one may be missing', () => {
    const organizerOf = (line: string) => itemOf(line).organizer;
    expect(organizerOf('ORGANIZER;CN="Roe, Jane":mailto:Jane@Rooms.test')).toEqual({
      name: 'Roe, Jane',
      email: 'jane@rooms.test',
    });
    expect(organizerOf("ORGANIZER;CN=^'J^' Roe:urn:uuid:1")).toEqual({ name: '"J" Roe', email: null });
    expect(organizerOf('ORGANIZER:mailto:jane@rooms.test')).toEqual({ name: null, email: 'jane@rooms.test' });
  });

  test('how it is shown, whether it is private and cancelled', () => {
    expect(itemOf('TRANSP:TRANSPARENT').shownAs).toBe('Free');
    expect(itemOf('X-MICROSOFT-CDO-BUSYSTATUS:FREE').shownAs).toBe('Free');
    expect(itemOf('STATUS:TENTATIVE').shownAs).toBe('Tentative');
    expect(itemOf('X-MICROSOFT-CDO-BUSYSTATUS:OOF').shownAs).toBe('Busy');
    expect(['PUBLIC', 'PRIVATE', 'CONFIDENTIAL', 'X-OTHER'].map((each) => itemOf(`CLASS:${each}`).isPrivate)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(itemOf('STATUS:CANCELLED').isCancelled).toBe(true);
  });

  test.each([
    ['UTC', 'DTSTART:20261201T090000Z', 'DTEND:20261201T100000Z', '2026-12-01T09:00/2026-12-01T10:00'],
    ['a zone of IANA', `DTSTART;TZID=${berlin}:20261201T090000`, 'DURATION:PT45M', '2026-12-01T08:00/2026-12-01T08:45'],
    ['in quotes', `DTSTART;TZID="${berlin}":20261201T090000`, 'DURATION:PT45M', '2026-12-01T08:00/2026-12-01T08:45'],
    [
      'a zone of Windows',
      'DTSTART;TZID=W. Europe Standard Time:20270701T090000',
      'DURATION:P1D',
      '2027-07-01T07:00/2027-07-02T07:00',
    ],
    [
      'a zone by its end',
      'DTSTART;TZID=/mozilla.org/20050126_1/America/Argentina/Ushuaia:20261201T090000',
      'DURATION:PT1H',
      '2026-12-01T12:00/2026-12-01T13:00',
    ],
    [
      'a zone by a URL',
      'DTSTART;TZID=tzone://Microsoft/Utc:20261201T090000',
      'DTEND;TZID=tzone://Microsoft/Utc:20261201T100000',
      '2026-12-01T09:00/2026-12-01T10:00',
    ],
    [
      'two zones',
      `DTSTART;TZID=${berlin}:20261201T090000`,
      'DTEND;TZID=America/New_York:20261201T040000',
      '2026-12-01T08:00/2026-12-01T09:00',
    ],
    ['none: the room’s', 'DTSTART:20261201T090000', 'DTEND:20261201T100000', '2026-12-01T08:00/2026-12-01T09:00'],
    ['clocks skip it', `DTSTART;TZID=${berlin}:20270328T023000`, 'DURATION:PT1H', '2027-03-28T01:30/2027-03-28T02:30'],
    [
      'clocks show it twice',
      `DTSTART;TZID=${berlin}:20271031T023000`,
      'DURATION:PT1H',
      '2027-10-31T00:30/2027-10-31T01:30',
    ],
    [
      'days of the clock',
      `DTSTART;TZID=${berlin}:20270327T120000`,
      'DURATION:P1D',
      '2027-03-27T11:00/2027-03-28T10:00',
    ],
  ])('times: %s', (_name, start, end, span) => {
    expect(spans(readEvent(start, end).items)).toEqual([span]);
  });

  test('a zone of which only the text tells', () => {
    const onset = (kind: string, from: string, to: string, start: string, rule: string) =>
      [
        `BEGIN:${kind}`,
        `TZOFFSETFROM:${from}`,
        `TZOFFSETTO:${to}`,
        `DTSTART:${start}`,
        `RRULE:${rule}`,
        `END:${kind}`,
      ].join('\r\n');
    const zone = [
      ...['BEGIN:VTIMEZONE', 'TZID:Customized Time Zone'],
      onset('STANDARD', '+0200', '+0100', '16010101T030000', 'FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10'),
      onset('DAYLIGHT', '+0100', '+0200', '16010101T020000', 'FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3'),
      'END:VTIMEZONE',
    ].join('\r\n');
    const series = (tzid: string) => event(`DTSTART;TZID=${tzid}:20200101T023000`, 'DURATION:PT1H', 'RRULE:FREQ=DAILY');
    const [own, known] = [read(calendar(zone, series('Customized Time Zone'))), read(calendar(series(berlin)))];
    expect(own.items).toHaveLength(365);
    expect(spans(own.items)).toEqual(spans(known.items));
  });

  test('zones of Windows are those that node-ical, another reader, has for them', () => {
    for (const name of Object.keys(windowsZones)) {
      const text = calendar(event(`DTSTART;TZID=${name}:20270701T120000`, 'DURATION:PT1H'));
      const other = Object.values(nodeIcal.sync.parseICS(text)).find(
        (each) => each?.type === 'VEVENT',
      ) as nodeIcal.VEvent;
      expect([name, read(text).items[0]?.start.toISOString()]).toEqual([name, other.start.toISOString()]);
    }
  });

  test('whole days are local dates, the last one not included', () => {
    const daysOf = (...lines: string[]) => readEvent(...lines).items.map(({ days }) => days);
    expect(daysOf('DTSTART;VALUE=DATE:20261201')).toEqual([{ from: '2026-12-01', to: '2026-12-02' }]);
    expect(daysOf('DTSTART;VALUE=DATE:20261201', 'DTEND;VALUE=DATE:20261204')).toEqual([
      { from: '2026-12-01', to: '2026-12-04' },
    ]);
    expect(
      daysOf('DTSTART;VALUE=DATE:20261201', 'DURATION:P2D', 'RRULE:FREQ=WEEKLY;COUNT=2', 'EXDATE;VALUE=DATE:20261201'),
    ).toEqual([{ from: '2026-12-08', to: '2026-12-10' }]);
  });

  test('what does not reach into the window is not there', () => {
    const at = (start: string, end: string) => readEvent(`DTSTART:${start}`, `DTEND:${end}`).items.length;
    expect(at('20261119T220000Z', '20261119T230000Z')).toBe(0);
    expect(at('20261119T220000Z', '20261119T230001Z')).toBe(1);
    expect(at('20271119T225959Z', '20271120T000000Z')).toBe(1);
    expect(at('20271119T230000Z', '20271120T000000Z')).toBe(0);
    expect(at('00010101T000000Z', '20261201T000000Z')).toBe(1);
  });

  test('a whole day reaches into the window where the clocks of the room are far from UTC', () => {
    const later = { start: new Date('2026-11-20T05:00Z'), end: new Date('2026-11-21T00:00Z') };
    const text = (date: string) => calendar(event(`DTSTART;VALUE=DATE:${date}`));
    const at = (date: string) =>
      readCalendarObject('/one.ics', text(date), { window: later, mailbox, timeZone: 'Pacific/Honolulu' }).items;
    expect(['20261117', '20261119', '20261121', '20261123'].map((date) => at(date).length)).toEqual([0, 1, 1, 0]);
  });

  test('tasks and journals are ignored', () => {
    expect(read(calendar('BEGIN:VTODO\r\nUID:t\r\nDUE:20261201T090000Z\r\nEND:VTODO'))).toEqual({
      id: '/room/one.ics',
      items: [],
    });
  });
});

describe('a series', () => {
  const series = (rule: string, ...others: string[]) =>
    calendar(
      event(`DTSTART;TZID=${berlin}:20261201T090000`, 'DURATION:PT1H', `RRULE:${rule}`, 'SUMMARY:Own'),
      ...others,
    );
  const exception = (original: string, ...lines: string[]) => event(`RECURRENCE-ID${original}`, ...lines);
  const found = (text: string) =>
    read(text).items.map(({ occurrence, start, subject }) => [occurrence, start.toISOString(), subject]);
  const iso = (text: string) => `${text}:00.000Z`;

  test('each occurrence has its original start, in which it stays what it is', () => {
    const text = series(
      'FREQ=WEEKLY;COUNT=3',
      exception(`;TZID=${berlin}:20261208T090000`, 'DTSTART:20261208T140000Z', 'SUMMARY:Moved'),
    );
    expect(found(text)).toEqual([
      [iso('2026-12-01T08:00'), iso('2026-12-01T08:00'), 'Own'],
      [iso('2026-12-15T08:00'), iso('2026-12-15T08:00'), 'Own'],
      [iso('2026-12-08T08:00'), iso('2026-12-08T14:00'), 'Moved'],
    ]);
    expect(read(text).items[2]).toMatchObject({
      id: '/room/one.ics 2026-12-08T08:00:00.000Z',
      end: new Date('2026-12-08T15:00Z'),
    });
  });

  test('an exception that moved out of the window is gone, one that moved into it is there', () => {
    const out = exception(':20261208T080000Z', 'DTSTART:20290101T080000Z', 'DURATION:PT1H');
    expect(found(series('FREQ=WEEKLY;COUNT=2', out))).toEqual([
      [iso('2026-12-01T08:00'), iso('2026-12-01T08:00'), 'Own'],
    ]);
    const into = exception(':20280104T080000Z', 'DTSTART:20261224T080000Z', 'DURATION:PT1H', 'SUMMARY:Early');
    expect(found(series('FREQ=WEEKLY', into)).at(-1)).toEqual([
      iso('2028-01-04T08:00'),
      iso('2026-12-24T08:00'),
      'Early',
    ]);
  });

  test('an exception may be cancelled, and of two the newer one counts', () => {
    const cancelled = exception(
      ':20261208T080000Z',
      'DTSTART:20261208T080000Z',
      'DURATION:PT1H',
      'STATUS:CANCELLED',
      'SEQUENCE:2',
    );
    const older = exception(':20261208T080000Z', 'DTSTART:20261209T080000Z', 'DURATION:PT1H', 'SEQUENCE:1');
    for (const order of [
      [cancelled, older],
      [older, cancelled],
    ])
      expect(read(series('FREQ=WEEKLY;COUNT=2', ...order)).items.map(({ isCancelled }) => isCancelled)).toEqual([
        false,
        true,
      ]);
  });

  test('an exception of an occurrence that is left out is none', () => {
    const moved = exception(':20261208T080000Z', 'DTSTART:20261209T080000Z', 'DURATION:PT1H');
    const text = series('FREQ=WEEKLY;COUNT=2', moved).replace('SUMMARY:Own', 'EXDATE:20261208T080000Z');
    expect(spans(read(text).items)).toEqual(['2026-12-01T08:00/2026-12-01T09:00']);
  });

  test('exceptions alone, where the room is invited to no other', () => {
    expect(
      found(calendar(exception(':20261208T080000Z', 'DTSTART:20261208T090000Z', 'DURATION:PT1H', 'SUMMARY:One'))),
    ).toEqual([[iso('2026-12-08T08:00'), iso('2026-12-08T09:00'), 'One']]);
  });

  test('RDATE adds dates, times and periods, EXDATE takes away in whichever zone', () => {
    const lines = [
      `RDATE;TZID=${berlin}:20261203T090000`,
      'RDATE;VALUE=PERIOD:20261204T080000Z/PT2H,20261205T080000Z/20261205T083000Z',
    ];
    const without = ['EXDATE:20261202T080000Z', 'EXDATE;TZID=America/New_York:20261203T030000'];
    const text = event(
      `DTSTART;TZID=${berlin}:20261201T090000`,
      'DURATION:PT1H',
      'RRULE:FREQ=DAILY;COUNT=2',
      ...lines,
      ...without,
    );
    expect(spans(read(calendar(text)).items)).toEqual([
      '2026-12-01T08:00/2026-12-01T09:00',
      '2026-12-04T08:00/2026-12-04T10:00',
      '2026-12-05T08:00/2026-12-05T08:30',
    ]);
  });

  test('an occurrence that began before the window reaches into it', () => {
    expect(spans(readEvent('DTSTART:20261117T080000Z', 'DTEND:20261120T080000Z', 'RRULE:FREQ=YEARLY').items)[0]).toBe(
      '2026-11-17T08:00/2026-11-20T08:00',
    );
  });

  test.each([
    ['a date, which counts whole', 'UNTIL=20261203', 3],
    ['the last start in UTC', 'UNTIL=20261203T080000Z', 3],
    ['a second before it', 'UNTIL=20261203T075959Z', 2],
    ['a local time', 'UNTIL=20261203T085959', 2],
    ['before the start, which there is all the same', 'UNTIL=20201203', 1],
  ])('UNTIL is %s', (_name, until, count) => {
    expect(read(series(`FREQ=DAILY;${until}`)).items).toHaveLength(count);
  });

  test('UNTIL of whole days, which Outlook writes as the midnight of its own clocks', () => {
    const last = (until: string) =>
      readEvent('DTSTART;VALUE=DATE:20261201', `RRULE:FREQ=DAILY;UNTIL=${until}`).items.at(-1)?.days?.from;
    expect(['20261203', '20261202T230000Z', '20261203T050000Z'].map(last)).toEqual([
      '2026-12-03',
      '2026-12-03',
      '2026-12-03',
    ]);
  });

  test('the time of the start may be said again, others not', () => {
    expect(read(series('FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0;COUNT=2')).items).toHaveLength(2);
    expect(read(series('FREQ=DAILY;BYHOUR=10')).unreadable).toMatch('other times of the day');
  });
});

describe('unread parts are reported, and nothing is thrown', () => {
  const many = (count: number, line: (at: number) => string) => Array.from({ length: count }, (_, at) => line(at));
  const stamp = (at: number) => compact(Date.UTC(2026, 11, 1, 9) + at * 61_000);
  const bases = [`DTSTART;TZID=${berlin}:20261201T090000`, 'DURATION:PT1H'];
  const hostile: [name: string, text: () => string, reason: string | number][] = [
    ['not iCalendar', () => '<html>', 'not a single VCALENDAR'],
    ['cut off', () => 'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:x', 'ends inside a component'],
    ['closed otherwise than opened', () => 'BEGIN:VCALENDAR\r\nEND:VEVENT', 'not closed'],
    ['deep', () => many(40, () => 'BEGIN:VEVENT').join('\r\n'), 'levels'],
    ['without a start', () => calendar(event('SUMMARY:x')), 'no DTSTART'],
    ['a date that is none', () => calendar(event('DTSTART:20260230T090000Z')), 'does not exist'],
    ['a time that is none', () => calendar(event('DTSTART:20261201T250000Z')), 'does not exist'],
    ['a start that is none', () => calendar(event('DTSTART:tomorrow')), 'is not a time'],
    ['a zone that nobody knows', () => calendar(event('DTSTART;TZID=Mars/Olympus:20261201T090000')), 'Mars/Olympus'],
    [
      'a zone by a name of JavaScript',
      () => calendar(event('DTSTART;TZID=constructor:20261201T090000')),
      'constructor',
    ],
    ['parameters that are none', () => calendar(event('DTSTART;TZID:20261201T090000')), 'not valid iCalendar'],
    ['a duration that is none', () => calendar(event(bases[0]!, 'DURATION:P1M')), 'DURATION'],
    [
      'a date to a time',
      () => calendar(event(bases[0]!, 'DTEND;VALUE=DATE:20261202')),
      'only one of its start and end',
    ],
    ['beyond the calendar', () => calendar(event(bases[0]!, 'DURATION:P999999W')), 'beyond the supported years'],
    ['two appointments', () => calendar(event(...bases), event(...bases).replace('one@', 'two@')), 'more than one'],
    [
      'exceptions for all that were before',
      () => calendar(event(...bases, 'RECURRENCE-ID;RANGE=THISANDPRIOR:20261201T080000Z')),
      'occurrences before it',
    ],
    ['two rules', () => calendar(event(...bases, 'RRULE:FREQ=DAILY', 'RRULE:FREQ=WEEKLY')), 'more than one rule'],
    ['EXRULE', () => calendar(event(...bases, 'RRULE:FREQ=DAILY', 'EXRULE:FREQ=WEEKLY')), 'EXRULE'],
    ['every second', () => calendar(event(...bases, 'RRULE:FREQ=SECONDLY')), 'does not repeat by days'],
    ['every hour of a day', () => calendar(event(...bases, 'RRULE:FREQ=DAILY;BYHOUR=1,2,3')), 'several times a day'],
    ['an interval of nothing', () => calendar(event(...bases, 'RRULE:FREQ=DAILY;INTERVAL=0')), 'INTERVAL'],
    ['a part that is unknown', () => calendar(event(...bases, 'RRULE:FREQ=DAILY;BYEASTER=1')), 'BYEASTER'],
    ['the year 1', () => calendar(event('DTSTART:00010101T090000Z', 'RRULE:FREQ=DAILY')), 'before 1900'],
    [
      'counted for ages',
      () => calendar(event('DTSTART:19010101T090000Z', 'RRULE:FREQ=DAILY;COUNT=999999999')),
      'too long ago',
    ],
    [
      'counted for long',
      () =>
        calendar(
          event(
            'DTSTART:19800101T090000Z',
            'RRULE:FREQ=YEARLY;COUNT=999999999;BYWEEKNO=1,-1,5,9;BYDAY=MO,TU,WE;BYSETPOS=1,2,-1',
          ),
        ),
      3,
    ],
    ['a huge interval', () => calendar(event(...bases, 'RRULE:FREQ=YEARLY;INTERVAL=999999999')), 1],
    [
      'dates that never come',
      () => calendar(event('DTSTART:19010101T090000Z', 'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30')),
      0,
    ],
    [
      '10,000 EXDATEs',
      () => calendar(event(...bases, 'RRULE:FREQ=DAILY', ...many(10_000, (at) => `EXDATE:${stamp(at)}Z`))),
      'EXDATE',
    ],
    [
      '10,000 EXDATEs in a line',
      () => calendar(event(...bases, 'RRULE:FREQ=DAILY', `EXDATE:${many(10_000, stamp).join(',')}`)),
      'EXDATE',
    ],
    [
      'as many as are read',
      () =>
        calendar(
          event(...bases, 'RRULE:FREQ=DAILY', ...many(2_000, (at) => `EXDATE;TZID=America/New_York:${stamp(at)}`)),
        ),
      354,
    ],
    [
      'many zones',
      () =>
        calendar(
          event(
            ...bases,
            ...many(50, (at) => `RDATE;TZID=Etc/GMT-${at % 15}:20261203T090000`),
            ...many(50, (at) => `RDATE;TZID=Etc/GMT+${at % 13}:20261203T090000`),
          ),
        ),
      'zones',
    ],
    ['100,000 events', () => calendar('BEGIN:VEVENT\r\nEND:VEVENT\r\n'.repeat(29_000)), 'components'],
    [
      'long ones, often',
      () => calendar(event('DTSTART:19500101T090000Z', 'DURATION:P36500D', 'RRULE:FREQ=DAILY')),
      'occurrences',
    ],
    ['1 MiB', () => calendar(event(...bases, `SUMMARY:${'x'.repeat(1_048_576)}`)), 'characters'],
    ['folds', () => calendar(event(...bases, `SUMMARY:${'\r\n x'.repeat(250_000)}`)), 1],
    ['parameters without end', () => calendar(event(`DTSTART${';a=b'.repeat(200_000)}:20261201T090000Z`)), 1],
    ['lists without end', () => calendar(event(`DTSTART;a="x"${',"b"'.repeat(200_000)}:20261201T090000Z`)), 1],
    [
      'everybody is invited',
      () => calendar(event(...bases, ...many(25_000, (at) => `ATTENDEE:mailto:${at}@a.test`))),
      1,
    ],
    [
      'a zone of many parts',
      () => calendar(`BEGIN:VTIMEZONE\r\nTZID:x\r\n${'BEGIN:STANDARD\r\nEND:STANDARD\r\n'.repeat(101)}END:VTIMEZONE`),
      'more than 100 parts',
    ],
  ];

  test.each(hostile)('%s', (_name, text, expected) => {
    const object = text();
    const group = read(object);
    if (typeof expected === 'number') expect([group.unreadable, group.items.length]).toEqual([undefined, expected]);
    else
      expect(group).toEqual({
        id: '/room/one.ics',
        items: [],
        unreadable: expect.stringContaining(expected),
      });
    expect(costOf(() => read(object), 60)).toBeLessThan(60);
  });

  test('times without a zone where the room’s is not known', () => {
    const text = calendar(event('DTSTART:20261201T090000', 'DURATION:PT1H'));
    expect(read(text, null).unreadable).toMatch('times without a zone');
    expect(read(text.replace('T090000', 'T090000Z'), null).items).toHaveLength(1);
  });

  test('any text at all', () => {
    const line = fc.constantFrom(
      'BEGIN:VEVENT',
      'END:VEVENT',
      'BEGIN:VTIMEZONE',
      'END:VTIMEZONE',
      'DTSTART:20261201T090000Z',
      'RRULE:FREQ=DAILY',
      'RRULE:',
      'EXDATE:',
      'RDATE;VALUE=PERIOD:/',
      'TZID:',
      '__proto__:x',
      'DTEND:0',
      ' x',
      ';',
      'ORGANIZER;CN="":',
      'RECURRENCE-ID:20261201T090000Z',
      '\0',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(line, fc.string()), { maxLength: 12 }), (lines) => {
        expect(read(calendar(...lines)).id).toBe('/room/one.ics');
      }),
      { numRuns: 300 },
    );
  });
});

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
const some = <T>(values: readonly T[], maxLength = 3) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength }), { nil: [] as T[] });
const list = (name: string, values: readonly (string | number)[]) =>
  values.length > 0 ? [`${name}=${values.join(',')}`] : [];

/**
 * Rules on which ical.js 2.2.1 can be relied. It loses its way where months lack a day, where days are counted from the end
 * or chosen twice, and among months of other rules than yearly ones.
 */
const rules = fc
  .record({
    freq: fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
    interval: fc.integer({ min: 1, max: 4 }),
    ends: fc.oneof(
      fc.constant([]),
      fc.integer({ min: 1, max: 40 }).map((count) => [`COUNT=${count}`]),
    ),
    weekdays: some(weekdays),
    numbers: fc.array(fc.constantFrom(-2, -1, 1, 2, 3, 4), { minLength: 3, maxLength: 3 }),
    numbered: fc.boolean(),
    monthDays: some([1, 2, 13, 15, 28]),
    months: some([1, 2, 3, 6, 10, 12]),
    positions: some([1, 2, -1], 2),
  })
  .map(({ freq, interval, ends, numbered, ...drawn }) => {
    const isLong = freq === 'MONTHLY' || freq === 'YEARLY';
    const hasDays = drawn.weekdays.length > 0;
    const monthDays = isLong && !hasDays ? drawn.monthDays : [];
    const isOfYear = freq === 'YEARLY' && (hasDays || monthDays.length > 0);
    const months = freq !== 'YEARLY' ? [] : isOfYear && drawn.months.length === 0 ? [3] : drawn.months;
    const days = drawn.weekdays.map((each, at) =>
      numbered && isLong && monthDays.length === 0 ? `${drawn.numbers[at]}${each}` : each,
    );
    const parts = [
      ...list('BYDAY', days),
      ...list('BYMONTHDAY', monthDays),
      ...list(
        'BYMONTH',
        months.toSorted((one, other) => one - other),
      ),
    ];
    const positions = freq === 'MONTHLY' && hasDays && !numbered ? list('BYSETPOS', drawn.positions) : [];
    return [`FREQ=${freq}`, `INTERVAL=${interval}`, ...ends, ...parts, ...positions].join(';');
  });

/** The local starts of a rule after ical.js, to which times without a zone are given: it would put in the process' own. */
function* icalStarts(rule: string, local: number, until: number): Iterable<number> {
  const iterator = ICAL.Recur.fromString(rule).iterator(
    ICAL.Time.fromDateTimeString(new Date(local).toISOString().slice(0, 19)),
  );
  for (let next = iterator.next(); next; next = iterator.next()) {
    const at = Date.UTC(next.year, next.month - 1, next.day, next.hour, next.minute, next.second);
    if (at > until) return;
    yield at;
  }
}

test('series are those of ical.js, in every zone, with what is left out and moved', () => {
  const drawn = fc.record({
    rule: rules,
    zone: fc.constantFrom(...zones),
    start: fc.integer({ min: 0, max: 700 * 24 * 4 }).map((quarters) => Date.UTC(2025, 11, 1) + quarters * 900_000),
    minutes: fc.constantFrom(15, 60, 24 * 60, 4 * 24 * 60),
    excluded: fc.array(fc.nat({ max: 20 }), { maxLength: 3 }),
    moved: fc.option(fc.record({ nth: fc.nat({ max: 20 }), by: fc.integer({ min: -90, max: 90 }) })),
  });
  fc.assert(
    fc.property(drawn, ({ rule, zone, start, minutes, excluded, moved }) => {
      const end = window.end.getTime() + 3 * day;
      // So that the start is one of the rule's own.
      const first = icalStarts(rule, start, end)[Symbol.iterator]().next().value as number | undefined;
      if (first === undefined) return;
      // Of a month without such a date, ical.js takes the first of the next one; RFC 5545 leaves it out.
      const isOfMonths = /FREQ=YEARLY;.*BYMONTH=/.test(rule) && !/BYDAY|BYMONTHDAY/.test(rule);
      if (isOfMonths && new Date(first).getUTCDate() > 28) return;
      const starts = [...icalStarts(rule, first, end)];
      const without = new Set(excluded.map((nth) => starts[nth]).filter((each) => each !== undefined));
      const original = moved ? starts[moved.nth] : undefined;
      const length = minutes * 60_000;
      const expected = starts
        .filter((each) => !without.has(each))
        .map((each) => instantOf(each, zone))
        .map((at, nth, all) =>
          original !== undefined && at === instantOf(original, zone) && !without.has(original)
            ? all[nth]! + moved!.by * day
            : at,
        )
        .map((at) => ({ start: new Date(at), end: new Date(at + length) }))
        .filter((span) => span.start < window.end && span.end > window.start);
      const at = (local: number) => `;TZID=${zone}:${compact(local)}`;
      const exception =
        original === undefined
          ? []
          : [
              event(
                `RECURRENCE-ID${at(original)}`,
                `DTSTART:${compact(instantOf(original, zone) + moved!.by * day)}Z`,
                `DURATION:PT${minutes}M`,
              ),
            ];
      const exdates = [...without].map((each) => `EXDATE${at(each)}`);
      const text = calendar(
        event(`DTSTART${at(first)}`, `DURATION:PT${minutes}M`, `RRULE:${rule}`, ...exdates),
        ...exception,
      );
      expect([rule, spans(read(text).items)]).toEqual([rule, spans(expected as RemoteItem[])]);
    }),
    { numRuns: 150 },
  );
});
