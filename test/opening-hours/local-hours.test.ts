import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type OpeningException, type OpeningRule, openIntervals } from '../../src/opening-hours/local-hours.ts';
import { costOf } from '../_util/growth.ts';

const everyDay = [1, 2, 3, 4, 5, 6, 7];
const rule = (opens: string, closes: string, more: Partial<OpeningRule> = {}): OpeningRule => ({
  weekdays: everyDay,
  opens,
  closes,
  validFrom: null,
  validTo: null,
  ...more,
});
const closed = (fromDate: string, toDate = fromDate): OpeningException => ({
  fromDate,
  toDate,
  closed: true,
  periods: [],
});
const special = (date: string, ...periods: [string, string][]): OpeningException => ({
  fromDate: date,
  toDate: date,
  closed: false,
  periods: periods.map(([opens, closes]) => ({ opens, closes })),
});

/** The intervals as `2026-03-28T08:00Z-17:00Z`; the end has its date where that differs. */
function show(timeZone: string, days: string, rules: OpeningRule[], exceptions: OpeningException[] = []): string[] {
  const [from = '', to = from] = days.split('..');
  return openIntervals({ rules, exceptions }, timeZone, from, to).map(({ start, end }) => {
    const [first, last] = [start, end].map((instant) => instant.toISOString().replace(':00.000Z', 'Z')) as [
      string,
      string,
    ];
    return `${first}-${first.slice(0, 10) === last.slice(0, 10) ? last.slice(11) : last}`;
  });
}

describe('contract 5.1', () => {
  test.each([
    ['Europe/Berlin', '2026-03-28', '09:00', '18:00', '2026-03-28T08:00Z-17:00Z'],
    ['Europe/Berlin', '2026-03-29', '09:00', '18:00', '2026-03-29T07:00Z-16:00Z'],
    ['Europe/Berlin', '2026-10-24', '09:00', '18:00', '2026-10-24T07:00Z-16:00Z'],
    ['Europe/Berlin', '2026-10-25', '09:00', '18:00', '2026-10-25T08:00Z-17:00Z'],
    ['Europe/Berlin', '2026-03-28', '22:00', '06:00', '2026-03-28T21:00Z-2026-03-29T04:00Z'],
    ['Europe/Berlin', '2026-10-24', '22:00', '06:00', '2026-10-24T20:00Z-2026-10-25T05:00Z'],
    ['Asia/Tokyo', '2026-03-30', '09:00', '18:00', '2026-03-30T00:00Z-09:00Z'],
    ['America/Los_Angeles', '2026-03-30', '09:00', '18:00', '2026-03-30T16:00Z-2026-03-31T01:00Z'],
  ])('%s %s %s-%s', (timeZone, date, opens, closes, expected) => {
    expect(show(timeZone, date, [rule(opens, closes)])).toEqual([expected]);
  });
});

describe('a clock time is turned into UTC', () => {
  test.each([
    // The clocks skip 02:00-03:00 on 2026-03-29, and show it twice on 2026-10-25.
    ['opening in the gap', 'Europe/Berlin', '2026-03-29', '02:30', '05:00', ['2026-03-29T01:00Z-03:00Z']],
    ['closing in the gap', 'Europe/Berlin', '2026-03-29', '01:00', '02:30', ['2026-03-29T00:00Z-01:00Z']],
    ['closing as the gap begins', 'Europe/Berlin', '2026-03-29', '01:00', '02:00', ['2026-03-29T00:00Z-01:00Z']],
    ['opening as the gap ends', 'Europe/Berlin', '2026-03-29', '03:00', '04:00', ['2026-03-29T01:00Z-02:00Z']],
    ['all of it in the gap', 'Europe/Berlin', '2026-03-29', '02:00', '03:00', []],
    ['around the gap', 'Europe/Berlin', '2026-03-29', '01:59', '03:01', ['2026-03-29T00:59Z-01:01Z']],
    ['opening in the overlap', 'Europe/Berlin', '2026-10-25', '02:30', '05:00', ['2026-10-25T00:30Z-04:00Z']],
    [
      'closing in the overlap',
      'Europe/Berlin',
      '2026-10-25',
      '00:00',
      '02:30',
      ['2026-10-24T22:00Z-2026-10-25T01:30Z'],
    ],
    ['the overlap itself', 'Europe/Berlin', '2026-10-25', '02:00', '03:00', ['2026-10-25T00:00Z-02:00Z']],
    ['one minute of the overlap', 'Europe/Berlin', '2026-10-25', '02:30', '02:31', ['2026-10-25T00:30Z-01:31Z']],
    ['a night with the gap', 'Europe/Zurich', '2027-03-27', '22:00', '02:30', ['2027-03-27T21:00Z-2027-03-28T01:00Z']],
    [
      'a whole day of 23 hours',
      'Europe/Zurich',
      '2027-03-28',
      '00:00',
      '24:00',
      ['2027-03-27T23:00Z-2027-03-28T22:00Z'],
    ],
    [
      'a whole day of 25 hours',
      'Europe/Zurich',
      '2026-10-25',
      '00:00',
      '24:00',
      ['2026-10-24T22:00Z-2026-10-25T23:00Z'],
    ],
    ['closing at 24:00', 'Europe/Berlin', '2026-06-01', '20:00', '24:00', ['2026-06-01T18:00Z-22:00Z']],
    ['closing at 00:00', 'Europe/Berlin', '2026-06-01', '20:00', '00:00', ['2026-06-01T18:00Z-22:00Z']],
    ['closing when it opens', 'Europe/Berlin', '2026-06-01', '09:00', '09:00', ['2026-06-01T07:00Z-2026-06-02T07:00Z']],
    // Half an hour: 02:00 becomes 02:30 on 2026-10-04, and 02:00 becomes 01:30 on 2026-04-05.
    ['a gap of 30 minutes', 'Australia/Lord_Howe', '2026-10-04', '02:15', '09:00', ['2026-10-03T15:30Z-22:00Z']],
    ['an overlap of 30 minutes', 'Australia/Lord_Howe', '2026-04-05', '01:45', '01:50', ['2026-04-04T14:45Z-15:20Z']],
    [
      'a zone without summer time',
      'Asia/Kolkata',
      '2026-03-29',
      '02:30',
      '18:00',
      ['2026-03-28T21:00Z-2026-03-29T12:30Z'],
    ],
    ['UTC', 'UTC', '2026-03-29', '02:30', '18:00', ['2026-03-29T02:30Z-18:00Z']],
    // Lebanon skips 00:00-01:00: its 29 March 2026 begins at 01:00.
    [
      'a day without a midnight',
      'Asia/Beirut',
      '2026-03-29',
      '00:00',
      '09:00',
      ['2026-03-28T22:00Z-2026-03-29T06:00Z'],
    ],
    ['24:00 where midnight is skipped', 'Asia/Beirut', '2026-03-28', '20:00', '24:00', ['2026-03-28T18:00Z-22:00Z']],
    // The Azores show 00:00-01:00 twice on 25 October 2026.
    [
      '24:00 where midnight comes twice',
      'Atlantic/Azores',
      '2026-10-24',
      '20:00',
      '24:00',
      ['2026-10-24T20:00Z-2026-10-25T01:00Z'],
    ],
    [
      'opening where midnight comes twice',
      'Atlantic/Azores',
      '2026-10-25',
      '00:00',
      '09:00',
      ['2026-10-25T00:00Z-10:00Z'],
    ],
    // Samoa had no 30 December 2011.
    ['a date that never was', 'Pacific/Apia', '2011-12-30', '09:00', '18:00', []],
    [
      'the night before a date that never was',
      'Pacific/Apia',
      '2011-12-29',
      '22:00',
      '06:00',
      ['2011-12-30T08:00Z-10:00Z'],
    ],
    ['two hours of summer time', 'Antarctica/Troll', '2026-03-29', '01:30', '02:30', []],
    ['a year far ahead', 'Europe/Berlin', '2480-07-01', '09:00', '18:00', ['2480-07-01T07:00Z-16:00Z']],
  ])('%s: %s %s %s-%s', (_, timeZone, date, opens, closes, expected) => {
    expect(show(timeZone, date, [rule(opens, closes)])).toEqual(expected);
  });

  test('the clocks change on the date or while it is open', () => {
    const change = (days: string, opens: string, closes: string) =>
      openIntervals({ rules: [rule(opens, closes)], exceptions: [] }, 'Europe/Berlin', days, days)[0]?.clockChange;
    expect([change('2026-03-28', '09:00', '18:00'), change('2026-03-29', '09:00', '18:00')]).toEqual([false, true]);
    expect([change('2026-10-25', '09:00', '18:00'), change('2026-10-26', '09:00', '18:00')]).toEqual([true, false]);
    expect([change('2026-03-28', '22:00', '01:00'), change('2026-03-28', '22:00', '06:00')]).toEqual([false, true]);
    expect([change('2026-03-28', '22:00', '02:30'), change('2026-03-29', '22:00', '06:00')]).toEqual([true, true]);
  });
});

describe('rules and exceptions', () => {
  const berlin = (days: string, rules: OpeningRule[], exceptions?: OpeningException[]) =>
    show('Europe/Berlin', days, rules, exceptions);

  test('a rule counts on its weekdays, from Monday = 1, and within its dates', () => {
    const rules = [rule('09:00', '10:00', { weekdays: [1, 7], validFrom: '2026-06-07', validTo: '2026-06-14' })];
    expect(berlin('2026-06-01..2026-06-30', rules)).toEqual([
      ...['2026-06-07T07:00Z-08:00Z', '2026-06-08T07:00Z-08:00Z', '2026-06-14T07:00Z-08:00Z'],
    ]);
  });

  test('several rules of a day stand in order of their start, also when they overlap', () => {
    expect(berlin('2026-06-01', [rule('14:00', '18:00'), rule('08:00', '12:00'), rule('11:00', '15:00')])).toEqual([
      ...['2026-06-01T06:00Z-10:00Z', '2026-06-01T09:00Z-13:00Z', '2026-06-01T12:00Z-16:00Z'],
    ]);
  });

  test('an exception replaces the hours that start on its dates, but not those of the night before', () => {
    const night = [rule('22:00', '06:00')];
    expect(
      berlin('2026-06-01..2026-06-03', night, [special('2026-06-02', ['10:00', '11:00'], ['23:00', '01:00'])]),
    ).toEqual([
      '2026-06-01T20:00Z-2026-06-02T04:00Z',
      ...['2026-06-02T08:00Z-09:00Z', '2026-06-02T21:00Z-23:00Z'],
      '2026-06-03T20:00Z-2026-06-04T04:00Z',
    ]);
  });

  test('a closed exception also cuts the night before at 00:00', () => {
    const night = [rule('22:00', '06:00')];
    expect(berlin('2026-06-01..2026-06-04', night, [closed('2026-06-02', '2026-06-03')])).toEqual([
      '2026-06-01T20:00Z-22:00Z',
      '2026-06-04T20:00Z-2026-06-05T04:00Z',
    ]);
  });

  test('the cut counts beyond the last date that was asked for', () => {
    expect(berlin('2026-06-01', [rule('22:00', '06:00')], [closed('2026-06-02')])).toEqual([
      '2026-06-01T20:00Z-22:00Z',
    ]);
  });

  test('the night of an exception is cut as well', () => {
    const exceptions = [special('2026-06-01', ['18:00', '03:00']), closed('2026-06-02')];
    expect(berlin('2026-06-01', [], exceptions)).toEqual(['2026-06-01T16:00Z-22:00Z']);
  });

  test('a night is cut at the first of two midnights', () => {
    expect(show('Atlantic/Azores', '2026-10-24', [rule('20:00', '24:00')], [closed('2026-10-25')])).toEqual([
      '2026-10-24T20:00Z-2026-10-25T00:00Z',
    ]);
  });

  test('of several exceptions for a date the first counts', () => {
    const exceptions = [special('2026-06-02', ['10:00', '11:00']), closed('2026-06-01', '2026-06-03')];
    expect(berlin('2026-06-01..2026-06-03', [rule('09:00', '18:00')], exceptions)).toEqual([
      '2026-06-02T08:00Z-09:00Z',
    ]);
  });

  test('an interval says what it comes from', () => {
    const hours = {
      rules: [rule('09:00', '18:00')],
      exceptions: [special('2026-06-02', ['10:00', '24:00'])],
    };
    expect(openIntervals(hours, 'Europe/Berlin', '2026-06-01', '2026-06-02')).toEqual([
      {
        localDate: '2026-06-01',
        opens: '09:00',
        closes: '18:00',
        source: 'Weekly',
        clockChange: false,
        start: new Date('2026-06-01T07:00Z'),
        end: new Date('2026-06-01T16:00Z'),
      },
      {
        localDate: '2026-06-02',
        opens: '10:00',
        closes: '24:00',
        source: 'Exception',
        clockChange: false,
        start: new Date('2026-06-02T08:00Z'),
        end: new Date('2026-06-02T22:00Z'),
      },
    ]);
  });

  test('no dates, no intervals', () => {
    expect(berlin('2026-06-02..2026-06-01', [rule('09:00', '18:00')])).toEqual([]);
  });
});

const clockTime = (least: number, most: number) =>
  fc
    .integer({ min: least, max: most })
    .map((minutes) => `${Math.floor(minutes / 60)}`.padStart(2, '0') + `:${minutes % 60}`.replace(/:(?=.$)/, ':0'));
const zones = [
  ...['Europe/Berlin', 'Europe/Dublin', 'Atlantic/Azores', 'America/Sao_Paulo', 'America/St_Johns'],
  ...['Australia/Lord_Howe', 'Africa/Casablanca', 'Africa/Cairo', 'Asia/Kathmandu', 'Asia/Beirut'],
  ...['Antarctica/Troll', 'Pacific/Chatham', 'Pacific/Apia', 'Asia/Gaza', 'America/Havana', 'UTC'],
];
const dates = fc
  .integer({ min: Date.UTC(2010, 0, 1) / 864e5, max: Date.UTC(2035, 0, 1) / 864e5 })
  .map((day) => new Date(day * 864e5).toISOString().slice(0, 10));

/** What the clocks of a zone show, as milliseconds of a UTC date, by the runtime's formatter: another way than ours. */
function wallClock(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return (instant) => Date.parse(`${format.format(instant).replace(' ', 'T')}Z`);
}

describe('for any zone, date and hours', () => {
  const minute = 60_000;

  test('intervals are ordered, not empty, within 26 hours, and show their clock times', () => {
    fc.assert(
      fc.property(
        ...[fc.constantFrom(...zones), dates],
        fc.array(fc.tuple(clockTime(0, 1439), clockTime(0, 1440)), { minLength: 1, maxLength: 3 }),
        (timeZone, date, periods) => {
          const lastDate = new Date(Date.parse(date) + 20 * 864e5).toISOString().slice(0, 10);
          const rules = periods.map(([opens, closes]) => rule(opens, closes));
          const intervals = openIntervals({ rules, exceptions: [] }, timeZone, date, lastDate);
          const clock = wallClock(timeZone);
          let before = Number.NEGATIVE_INFINITY;
          for (const { localDate, opens, closes, start, end, clockChange } of intervals) {
            const [from, to] = [start.getTime(), end.getTime()];
            expect(from).toBeGreaterThanOrEqual(before);
            expect(to).toBeGreaterThan(from);
            // A change of at most two hours (Troll) makes the longest day.
            expect(to - from).toBeLessThanOrEqual(26 * 60 * minute);
            before = from;
            const minutes = (time: string) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
            const overnight = closes <= opens ? 1440 : 0;
            const shown = [
              Date.parse(localDate) + minutes(opens) * minute,
              Date.parse(localDate) + (overnight + minutes(closes)) * minute,
            ];
            if (!clockChange) expect([clock(from), clock(to)]).toEqual(shown);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  /** Clock changes by the minute: what is skipped, what comes twice. */
  const changes = [
    ['Europe/Berlin', '2026-03-29'],
    ['Europe/Berlin', '2026-10-25'],
    ['Australia/Lord_Howe', '2026-10-04'],
    ['Australia/Lord_Howe', '2026-04-05'],
    ['Atlantic/Azores', '2026-10-25'],
    ['Asia/Beirut', '2026-03-29'],
    ['America/Sao_Paulo', '2018-02-17'],
    ['America/Sao_Paulo', '2018-11-04'],
    ['America/Havana', '2026-11-01'],
    ['Antarctica/Troll', '2026-10-25'],
    ['Africa/Casablanca', '2026-02-15'],
    ['Pacific/Apia', '2011-12-30'],
  ] as const;
  test.each(changes)('%s on %s is as a wall clock shows, minute by minute', (timeZone, date) => {
    const clock = wallClock(timeZone);
    const midnight = Date.parse(date);
    const first = new Map<number, number>();
    const last = new Map<number, number>();
    let previous = clock(midnight - 2 * 864e5);
    for (let instant = midnight - 2 * 864e5; instant < midnight + 3 * 864e5; instant += minute) {
      const shown = clock(instant);
      for (let skipped = previous + minute; skipped < shown; skipped += minute) {
        if (!first.has(skipped)) first.set(skipped, instant);
        if (!last.has(skipped)) last.set(skipped, instant);
      }
      if (!first.has(shown)) first.set(shown, instant);
      last.set(shown, instant);
      previous = shown;
    }
    fc.assert(
      fc.property(clockTime(0, 1439), clockTime(0, 1440), (opens, closes) => {
        const at = (time: string, days: number) =>
          midnight + days * 864e5 + (Number(time.slice(0, 2)) * 60 + Number(time.slice(3))) * minute;
        const start = first.get(at(opens, 0))!;
        const end = last.get(at(closes, closes <= opens ? 1 : 0))!;
        const intervals = openIntervals({ rules: [rule(opens, closes)], exceptions: [] }, timeZone, date, date);
        expect(intervals.map((interval) => [interval.start.getTime(), interval.end.getTime()])).toEqual(
          end > start ? [[start, end]] : [],
        );
      }),
      {
        numRuns: 300,
        examples: [
          ['02:30', '02:30'],
          ['00:00', '24:00'],
          ['00:30', '00:30'],
          ['23:30', '00:30'],
          ['02:00', '03:00'],
        ],
      },
    );
  });
});

test('a term of 200 days takes little time', () => {
  const hours = {
    rules: [rule('08:00', '12:00'), rule('13:00', '18:00')],
    exceptions: [closed('2026-12-24', '2027-01-03')],
  };
  const run = () => openIntervals(hours, 'Europe/Zurich', '2026-09-01', '2027-03-20');
  expect(run()).toHaveLength((201 - 11) * 2);
  expect(costOf(run, 3)).toBeLessThan(3);
});

test('exceptions of other dates take little time', () => {
  const dateAt = (day: number) => new Date(Date.UTC(2100, 0, day)).toISOString().slice(0, 10);
  const exceptions = Array.from({ length: 20_000 }, (_, day) => closed(dateAt(day)));
  const run = () => openIntervals({ rules: [rule('08:00', '18:00')], exceptions }, 'UTC', '2026-01-01', '2027-01-01');
  expect(run()).toHaveLength(366);
  expect(costOf(run, 5)).toBeLessThan(5);
});
