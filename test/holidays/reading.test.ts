import { describe, expect, test } from '@jest/globals';
import { readHolidays } from '../../src/holidays/reading.ts';
import { isPublic } from '../../src/http/public-fetch.ts';

const today = new Date('2026-11-22T12:00:00Z');
const event = (...lines: string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'].join('\r\n');
const calendar = (...events: string[]) => ['BEGIN:VCALENDAR', ...events, 'END:VCALENDAR', ''].join('\r\n');
const read = async (...events: string[]) =>
  (await readHolidays(calendar(...events), today)).holidays.map(
    ({ fromDate, toDate, name }) => `${fromDate} ${toDate} ${name}`,
  );

test('what closes nothing to come is counted by its reason', async () => {
  const { reading } = await readHolidays(
    calendar(
      event('DTSTART:20261224', 'DTEND:20261227'),
      event('DTSTART:20260101'),
      event('DTSTART:20261224T100000Z'),
      event('DTSTART;TZID=Europe/Zurich:20261224T100000'),
      event('DTSTART:20261224T100000Z', 'STATUS:CANCELLED'),
      event('DTSTART:20260230'),
      event('SUMMARY:no start'),
      event('DTSTART:20100101', 'RRULE:FREQ=YEARLY;UNTIL=20120101'),
      event('DTSTART:20261101', 'RRULE:FREQ=MONTHLY;COUNT=3'),
    ),
    today,
  );
  expect(reading).toEqual({
    events: 9,
    holidays: 5,
    unused: [
      { reason: 'NoDate', events: 2 },
      { reason: 'TimeOfDay', events: 2 },
      { reason: 'Cancelled', events: 1 },
      { reason: 'NoDays', events: 1 },
      { reason: 'Past', events: 1 },
    ],
  });
});

describe('a holiday is', () => {
  test.each<[string, string[], string[]]>([
    [
      'a whole-day event, whose end is not in it',
      [event('DTSTART;VALUE=DATE:20261224', 'DTEND;VALUE=DATE:20270104', 'SUMMARY:Weihnachten\\, Ferien')],
      ['2026-12-24 2027-01-03 Weihnachten, Ferien'],
    ],
    [
      'one day without an end',
      [event('DTSTART:20260801', 'SUMMARY:Bundesfeier')],
      ['2026-08-01 2026-08-01 Bundesfeier'],
    ],
    ['as long as its duration', [event('DTSTART:20260801', 'DURATION:P2W')], ['2026-08-01 2026-08-14 ']],
    ['no event with a time of day', [event('DTSTART:20260801T100000Z', 'SUMMARY:Sitzung')], []],
    ['no cancelled event', [event('DTSTART:20260801', 'STATUS:CANCELLED')], []],
    ['no date that there is not', [event('DTSTART:20260230')], []],
    [
      'each day of a rule, but those that are excluded or stand elsewhere',
      [
        event('UID:a', 'DTSTART:20200101', 'RRULE:FREQ=YEARLY;UNTIL=20300101', 'EXDATE:20270101', 'SUMMARY:Neujahr'),
        event('UID:a', 'RECURRENCE-ID:20280101', 'DTSTART:20280103', 'SUMMARY:Neujahr nachgeholt'),
      ],
      [
        '2026-01-01 2026-01-01 Neujahr',
        '2028-01-03 2028-01-03 Neujahr nachgeholt',
        '2029-01-01 2029-01-01 Neujahr',
        '2030-01-01 2030-01-01 Neujahr',
      ],
    ],
  ])('%s', async (_, events, expected) => expect(await read(...events)).toEqual(expected));
});

test.each([
  ['no calendar', 'hello', 'it is not a single VCALENDAR'],
  ['half a calendar', 'BEGIN:VCALENDAR\r\nBEGIN:VEVENT', 'it ends inside a component'],
  ['an event of years', calendar(event('DTSTART:20260101', 'DTEND:20300101')), 'more than 366 days'],
  ['a rule that says nothing', calendar(event('DTSTART:20260101', 'RRULE:FREQ=HOURLY')), 'it does not repeat by days'],
  [
    'more holidays than a life has',
    calendar(...Array.from({ length: 4 }, () => event('DTSTART:20260101', 'RRULE:FREQ=DAILY'))),
    'more than 5000 holidays',
  ],
  [
    'more rules than anybody writes',
    calendar(...Array.from({ length: 101 }, () => event('DTSTART:20260101', 'RRULE:FREQ=YEARLY'))),
    'more than 100 events that repeat',
  ],
  ['more than a mebibyte', `BEGIN:VCALENDAR\r\n${'X'.repeat(1024 * 1024)}`, 'more than 1048576 characters'],
])('refused: %s', async (_, text, message) => {
  await expect(readHolidays(text, today)).rejects.toThrow(message);
});

test('rules that take long to list leave turns of the event loop to others', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const slow = event('DTSTART:19870101', 'RRULE:FREQ=YEARLY;COUNT=9999;BYYEARDAY=-366;BYWEEKNO=1;BYDAY=MO');
  const { reading } = await readHolidays(calendar(...Array.from({ length: 40 }, () => slow)), today);
  clearImmediate(counting);
  expect(reading.events).toBe(40);
  expect(turns).toBeGreaterThan(2);
});

test.each([
  ...['10.1.2.3', '127.0.0.1', '169.254.169.254', '192.168.1.1', '172.20.0.1', '100.64.1.1', '0.0.0.0', '224.0.0.1'],
  ...['::1', '::', 'fe80::1', 'fd00::1', '::ffff:10.0.0.1', '64:ff9b::a00:1', '2002:a00:1::', '2001:db8::1', 'name'],
])('%s is inside', (address) => expect(isPublic(address)).toBe(false));
test.each(['8.8.8.8', '172.32.0.1', '2606:4700::1111'])('%s is of the internet', (address) =>
  expect(isPublic(address)).toBe(true),
);
