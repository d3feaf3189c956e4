import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { areOnSameDate, atSameClock, expandRule } from '../../src/bookings/recurrence.ts';
import { InvalidInput } from '../../src/errors.ts';
import { costOf } from '../_util/growth.ts';
import { instantOf, shown } from '../_util/local-times.ts';

const berlin = 'Europe/Berlin';
const newYork = 'America/New_York';
const lordHowe = 'Australia/Lord_Howe';
const zones = [berlin, newYork, lordHowe, 'America/St_Johns', 'Africa/Casablanca', 'Pacific/Kiritimati', 'UTC'];

const day = 86_400_000;
const expand = (rule: string, local: string, timeZone: string) =>
  expandRule(rule, new Date(instantOf(Date.parse(`${local}Z`), timeZone)), timeZone).map((start) =>
    start.toISOString(),
  );
/** The local dates and clock times at which a series starts. */
const localStarts = (rule: string, local: string, timeZone = berlin) =>
  expand(rule, local, timeZone).map((start) => new Date(shown(Date.parse(start), timeZone)).toISOString().slice(0, 16));
const dates = (rule: string, local: string) => localStarts(rule, local).map((start) => start.slice(0, 10));

describe('expandRule keeps the clock time of the location', () => {
  test.each([
    [
      'Berlin sets its clocks forward',
      berlin,
      '2026-03-28T09:00',
      ['2026-03-28T08:00', '2026-03-29T07:00', '2026-03-30T07:00'],
    ],
    ['Berlin sets them back', berlin, '2026-10-24T09:00', ['2026-10-24T07:00', '2026-10-25T08:00', '2026-10-26T08:00']],
    [
      'Berlin skips the time: as much later',
      berlin,
      '2026-03-28T02:30',
      ['2026-03-28T01:30', '2026-03-29T01:30', '2026-03-30T00:30'],
    ],
    [
      'Berlin shows it twice: the first',
      berlin,
      '2026-10-24T02:30',
      ['2026-10-24T00:30', '2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    ['New York', newYork, '2026-03-07T02:15', ['2026-03-07T07:15', '2026-03-08T07:15', '2026-03-09T06:15']],
    ['New York in autumn', newYork, '2026-10-31T01:15', ['2026-10-31T05:15', '2026-11-01T05:15', '2026-11-02T06:15']],
    [
      'Lord Howe goes forward half an hour',
      lordHowe,
      '2026-10-03T02:15',
      ['2026-10-02T15:45', '2026-10-03T15:45', '2026-10-04T15:15'],
    ],
    [
      'Lord Howe goes back half an hour',
      lordHowe,
      '2026-04-04T01:45',
      ['2026-04-03T14:45', '2026-04-04T14:45', '2026-04-05T15:15'],
    ],
  ])('%s', (_name, zone, local, starts) => {
    expect(expand('FREQ=DAILY;COUNT=3', local, zone)).toEqual(starts.map((start) => `${start}:00.000Z`));
  });

  test('a series that starts in the second of two equal hours starts there', () => {
    const second = new Date('2026-10-25T01:30Z');
    expect(expandRule('FREQ=DAILY;COUNT=2', second, berlin)).toEqual([second, new Date('2026-10-26T01:30Z')]);
  });
});

describe('expandRule: the dates of a rule', () => {
  test.each([
    ['a list of weekdays', 'FREQ=WEEKLY;BYDAY=MO,WE,FR;COUNT=5', '2026-09-07', '09-07 09-09 09-11 09-14 09-16'],
    ['every other week', 'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;COUNT=4', '2026-09-08', '09-08 09-13 09-22 09-27'],
    [
      'weeks that begin on Sunday',
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;COUNT=4;WKST=SU',
      '2026-09-08',
      '09-08 09-20 09-22 10-04',
    ],
    ['the weekday of Start', 'FREQ=WEEKLY;COUNT=3', '2026-09-10', '09-10 09-17 09-24'],
    ['the last Friday of the month', 'FREQ=MONTHLY;BYDAY=-1FR;COUNT=4', '2026-01-30', '01-30 02-27 03-27 04-24'],
    ['the second Tuesday', 'FREQ=MONTHLY;BYDAY=2TU;COUNT=3', '2026-09-08', '09-08 10-13 11-10'],
    [
      'the last working day',
      'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=4',
      '2026-01-30',
      '01-30 02-27 03-31 04-30',
    ],
    ['months that have no 31st are left out', 'FREQ=MONTHLY;COUNT=4', '2026-01-31', '01-31 03-31 05-31 07-31'],
    ['the last day of the month', 'FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=4', '2026-01-31', '01-31 02-28 03-31 04-30'],
    ['some months only', 'FREQ=DAILY;INTERVAL=10;BYMONTH=1,3;COUNT=5', '2026-01-05', '01-05 01-15 01-25 03-06 03-16'],
    ['Friday the 13th', 'FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=3', '2026-02-13', '02-13 03-13 11-13'],
    ['UNTIL as a date counts whole', 'FREQ=DAILY;UNTIL=20260903', '2026-09-01', '09-01 09-02 09-03'],
    ['UNTIL as the instant of the last start', 'FREQ=DAILY;UNTIL=20260903T070000Z', '2026-09-01', '09-01 09-02 09-03'],
    ['UNTIL as an instant before it', 'FREQ=DAILY;UNTIL=20260903T065959Z', '2026-09-01', '09-01 09-02'],
  ])('%s', (_name, rule, date, expected) => {
    expect(
      dates(rule, `${date}T09:00`)
        .map((each) => each.slice(5))
        .join(' '),
    ).toBe(expected);
  });

  test('29 February, yearly: leap years alone', () => {
    expect(dates('FREQ=YEARLY;COUNT=3', '2028-02-29T09:00')).toEqual(['2028-02-29', '2032-02-29', '2036-02-29']);
  });

  test('days and weeks of the year', () => {
    expect(dates('FREQ=YEARLY;BYYEARDAY=1,-1;COUNT=3', '2026-01-01T09:00')).toEqual([
      '2026-01-01',
      '2026-12-31',
      '2027-01-01',
    ]);
    expect(dates('FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;UNTIL=20330101', '2026-12-28T09:00')).toEqual([
      '2026-12-28',
      '2032-12-27',
    ]);
  });

  test('days of the year, and numbered weekdays of it, choose among others', () => {
    expect(dates('FREQ=YEARLY;BYYEARDAY=244,245;BYMONTHDAY=1;COUNT=3', '2026-09-01T09:00')).toEqual([
      ...['2026-09-01', '2027-09-01', '2028-09-01'],
    ]);
    expect(dates('FREQ=YEARLY;BYYEARDAY=1,2,3,4,5,6,7;BYDAY=MO;COUNT=3', '2026-01-05T09:00')).toEqual([
      ...['2026-01-05', '2027-01-04', '2028-01-03'],
    ]);
    expect(dates('FREQ=YEARLY;BYYEARDAY=-1,60;BYMONTH=12;COUNT=2', '2026-12-31T09:00')).toEqual([
      ...['2026-12-31', '2027-12-31'],
    ]);
    expect(dates('FREQ=YEARLY;BYYEARDAY=1;BYWEEKNO=53;UNTIL=20331231', '2027-01-01T09:00')).toEqual([
      ...['2027-01-01', '2033-01-01'],
    ]);
    expect(dates('FREQ=YEARLY;BYWEEKNO=45,46;BYMONTHDAY=6,9;COUNT=4', '2024-11-06T09:00')).toEqual([
      ...['2024-11-06', '2024-11-09', '2025-11-06', '2025-11-09'],
    ]);
    expect(dates('FREQ=YEARLY;BYDAY=1MO,-1MO,1TU;COUNT=4', '2026-01-05T09:00')).toEqual([
      ...['2026-01-05', '2026-01-06', '2026-12-28', '2027-01-04'],
    ]);
    expect(dates('FREQ=YEARLY;BYDAY=-1TU,TH;BYMONTHDAY=29,31;COUNT=4', '2026-01-29T09:00')).toEqual([
      ...['2026-01-29', '2026-10-29', '2026-12-29', '2026-12-31'],
    ]);
  });

  test('366 occurrences at most', () => {
    expect(dates('FREQ=DAILY;COUNT=366', '2026-09-01T09:00')).toHaveLength(366);
    expect(dates('FREQ=DAILY;UNTIL=20270901', '2026-09-01T09:00')).toHaveLength(366);
  });
});

/** A rule as the oracle reads it. */
type Drawn = {
  freq: 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY';
  interval: number;
  byDay: { nth: number; weekday: number }[];
  byMonthDay: number[];
  byMonth: number[];
  bySetPos: number[];
};

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

function write({ freq, interval, byDay, byMonthDay, byMonth, bySetPos }: Drawn): string {
  const list = (name: string, values: readonly unknown[]) => (values.length > 0 ? [`${name}=${values.join(',')}`] : []);
  return [
    ...[`FREQ=${freq}`, `INTERVAL=${interval}`],
    ...list(
      'BYDAY',
      byDay.map(({ nth, weekday }) => `${nth || ''}${weekdays[weekday]}`),
    ),
    ...[...list('BYMONTHDAY', byMonthDay), ...list('BYMONTH', byMonth), ...list('BYSETPOS', bySetPos)],
  ].join(';');
}

/** The dates of a rule as midnights in UTC, each day looked at by itself. */
function oracle(rule: Drawn, first: number, days: number): number[] {
  const { freq, interval, byDay, byMonthDay, byMonth, bySetPos } = rule;
  const start = new Date(first);
  const monthOf = (date: Date) => date.getUTCFullYear() * 12 + date.getUTCMonth();
  const mondayOf = (midnight: number) => midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * day;
  const periodOf = (midnight: number): number => {
    const date = new Date(midnight);
    if (freq === 'DAILY') return (midnight - first) / day;
    if (freq === 'WEEKLY') return (mondayOf(midnight) - mondayOf(first)) / (7 * day);
    if (freq === 'MONTHLY') return monthOf(date) - monthOf(start);
    return date.getUTCFullYear() - start.getUTCFullYear();
  };
  const matches = (midnight: number): boolean => {
    const date = new Date(midnight);
    const monthDays = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
    const number = date.getUTCDate();
    const inMonth = byMonth.length === 0 || byMonth.includes(date.getUTCMonth() + 1);
    const onDay =
      byMonthDay.length === 0 || byMonthDay.some((each) => (each > 0 ? each : monthDays + 1 + each) === number);
    // In the year only where no month is named.
    const inYear = freq === 'YEARLY' && byMonth.length === 0;
    const newYear = Date.UTC(date.getUTCFullYear(), 0);
    const length = inYear ? (Date.UTC(date.getUTCFullYear() + 1, 0) - newYear) / day : monthDays;
    const place = inYear ? (midnight - newYear) / day : number - 1;
    const onWeekday =
      byDay.length === 0 ||
      byDay.some(
        ({ nth, weekday }) =>
          weekday === date.getUTCDay() &&
          (nth === 0 ||
            (nth > 0 ? Math.floor(place / 7) + 1 === nth : Math.floor((length - 1 - place) / 7) + 1 === -nth)),
      );
    const free = byDay.length === 0 && byMonthDay.length === 0;
    const asStart =
      !free ||
      freq === 'DAILY' ||
      (freq === 'WEEKLY' && date.getUTCDay() === start.getUTCDay()) ||
      (freq === 'MONTHLY' && number === start.getUTCDate()) ||
      (freq === 'YEARLY' &&
        number === start.getUTCDate() &&
        (byMonth.length > 0 || date.getUTCMonth() === start.getUTCMonth()));
    return inMonth && onDay && onWeekday && asStart;
  };
  const periods = new Map<number, number[]>();
  // The first period from its beginning: positions in it count from there.
  for (let midnight = first - 366 * day; midnight < first + days * day + 366 * day; midnight += day) {
    const period = periodOf(midnight);
    if (period >= 0 && period % interval === 0 && matches(midnight))
      periods.set(period, [...(periods.get(period) ?? []), midnight]);
  }
  return [...periods.values()]
    .flatMap((set) =>
      bySetPos.length === 0
        ? set
        : set.filter((_each, at) => bySetPos.some((pos) => pos === at + 1 || pos === at - set.length)),
    )
    .filter((midnight) => first <= midnight && midnight < first + days * day);
}

const someOf = <T>(list: readonly T[]) => fc.subarray([...list], { maxLength: 3 });
const drawn: fc.Arbitrary<Drawn> = fc
  .record({
    freq: fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
    interval: fc.constantFrom(1, 1, 2, 3, 5),
    byDay: fc.uniqueArray(fc.record({ nth: fc.constantFrom(0, 0, 1, 2, -1, -2), weekday: fc.nat(6) }), {
      maxLength: 3,
      selector: ({ nth, weekday }) => nth * 10 + weekday,
    }),
    byMonthDay: someOf([1, 13, 29, 31, -1, -3]),
    byMonth: someOf([1, 2, 6, 10, 12]),
    bySetPos: someOf([1, 2, -1]),
  })
  .map(({ freq, interval, byDay, byMonthDay, byMonth, bySetPos }): Drawn => {
    const numbers = freq === 'MONTHLY' || freq === 'YEARLY';
    const weekdays = numbers ? byDay : byDay.map((each) => ({ ...each, nth: 0 }));
    const monthDays = freq === 'WEEKLY' ? [] : byMonthDay;
    return {
      freq,
      interval,
      byDay: weekdays,
      byMonthDay: monthDays,
      byMonth,
      bySetPos: weekdays.length + monthDays.length > 0 && freq !== 'DAILY' ? bySetPos : [],
    };
  });

test('expandRule gives the dates and instants that an oracle finds day by day with Intl', () => {
  const days = 500;
  fc.assert(
    fc.property(
      drawn,
      fc.integer({ min: 0, max: 700 }),
      fc.nat(95),
      fc.constantFrom(...zones),
      (rule, ahead, quarter, zone) => {
        // The first date of the rule from some day on.
        const from = Date.UTC(2026, 0) + ahead * day;
        const [first] = oracle({ ...rule, interval: 1 }, from, 400);
        fc.pre(first !== undefined);
        const clock = quarter * 15 * 60_000;
        const start = instantOf(first + clock, zone);
        fc.pre(shown(start, zone) === first + clock);
        const until = new Date(first + (days - 2) * day).toISOString().slice(0, 10);
        const expected = oracle(rule, first, days - 1)
          .map((midnight) => instantOf(midnight + clock, zone))
          .map((instant) => new Date(instant).toISOString());
        const found = expandRule(
          `${write(rule)};${expected.length > 366 ? 'COUNT=366' : `UNTIL=${until.replaceAll('-', '')}`}`,
          new Date(start),
          zone,
        ).map((instant) => instant.toISOString());
        expect([write(rule), ...found]).toEqual([write(rule), ...expected.slice(0, 366)]);
      },
    ),
    { numRuns: 150 },
  );
});

describe('expandRule refuses', () => {
  test.each([
    ['', 'is not supported'],
    ['FREQ=HOURLY;COUNT=2', 'FREQ must be'],
    ['freq=daily;COUNT=2', 'is not supported'],
    ['COUNT=2', 'must have FREQ'],
    ['FREQ=DAILY', 'exactly one of COUNT and UNTIL'],
    ['FREQ=DAILY;COUNT=2;UNTIL=20260910', 'exactly one of COUNT and UNTIL'],
    ['FREQ=DAILY;COUNT=2;COUNT=3', 'has COUNT twice'],
    ['FREQ=DAILY;COUNT=0', 'COUNT must be'],
    ['FREQ=DAILY;COUNT=367', 'COUNT must be a whole number from 1 to 366'],
    ['FREQ=DAILY;COUNT=2;', 'is not supported'],
    ['FREQ=DAILY;COUNT=2=3', 'COUNT must be'],
    ['FREQ=DAILY;INTERVAL=0;COUNT=2', 'INTERVAL must be'],
    ['FREQ=DAILY;COUNT=2;BYHOUR=9', '"BYHOUR=9" is not supported'],
    ['FREQ=DAILY;COUNT=2;DTSTART=20260901T090000Z', 'is not supported'],
    ['FREQ=DAILY;COUNT=2\nEXDATE:20260902', 'COUNT must be'],
    ['FREQ=DAILY;COUNT=2\n', 'COUNT must be'],
    ['RRULE:FREQ=DAILY;COUNT=2', 'is not supported'],
    ['FREQ=DAILY;UNTIL=20260931', 'UNTIL=20260931 is not a valid date'],
    ['FREQ=DAILY;UNTIL=20260910T250000Z', 'is not a valid date'],
    ['FREQ=DAILY;UNTIL=20260910T090000', 'UNTIL must be a date'],
    ['FREQ=WEEKLY;BYDAY=XX;COUNT=2', 'BYDAY must be'],
    ['FREQ=WEEKLY;BYDAY=1TU;COUNT=2', 'BYDAY with numbers'],
    ['FREQ=WEEKLY;BYMONTHDAY=1;COUNT=2', 'BYMONTHDAY is allowed only with'],
    ['FREQ=MONTHLY;BYWEEKNO=36;COUNT=2', 'BYWEEKNO is allowed only with'],
    ['FREQ=MONTHLY;BYYEARDAY=244;COUNT=2', 'BYYEARDAY is allowed only with'],
    ['FREQ=YEARLY;BYWEEKNO=36;BYDAY=1TU;COUNT=2', 'is not allowed with BYWEEKNO'],
    ['FREQ=MONTHLY;BYSETPOS=1;COUNT=2', 'BYSETPOS requires'],
    ['FREQ=WEEKLY;BYDAY=MO;COUNT=2', 'its first occurrence must be Start'],
    ['FREQ=DAILY;UNTIL=20260831', 'its first occurrence must be Start'],
    ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31;COUNT=5', 'its first occurrence must be Start'],
    ['FREQ=DAILY;UNTIL=20270902', 'at most 366 occurrences'],
    ['FREQ=YEARLY;COUNT=12', 'must end within 10 years'],
    ['FREQ=YEARLY;UNTIL=20991231', 'must end within 10 years'],
  ])('%j', (rule, text) => {
    // A Tuesday.
    const refused = () => expandRule(rule, new Date('2026-09-01T07:00Z'), berlin);
    expect(refused).toThrow(InvalidInput);
    expect(refused).toThrow(text);
  });

  test('rules that never meet a date, without long thought', () => {
    const hostile = [
      'FREQ=YEARLY;BYMONTHDAY=31;BYMONTH=2;COUNT=5',
      'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=366',
      'FREQ=YEARLY;BYWEEKNO=53;BYYEARDAY=100;COUNT=366',
      `FREQ=YEARLY;BYYEARDAY=${Array.from({ length: 366 }, (_each, at) => at + 1)};BYMONTH=2;BYMONTHDAY=30;BYSETPOS=366;COUNT=366`,
      'FREQ=MONTHLY;INTERVAL=366;BYDAY=5MO;BYMONTH=2;BYSETPOS=-366;COUNT=366',
    ];
    for (const rule of hostile) {
      const refuse = () => expect(() => expandRule(rule, new Date('2026-09-01T07:00Z'), berlin)).toThrow(InvalidInput);
      expect(costOf(refuse, 200)).toBeLessThan(200);
    }
  });
});

describe('atSameClock: a booking on another date', () => {
  const moved = (occurrence: string, start: string, end: string, zone = berlin) => {
    const place = atSameClock(new Date(occurrence), new Date(start), new Date(end), zone);
    return [place.start.toISOString().slice(5, 16), place.end.toISOString().slice(5, 16)];
  };
  test.each([
    [
      'at the same clock time',
      '2026-06-10T05:00Z',
      ['06-10T07:00', '06-10T09:00'],
      '2026-01-07T08:00Z',
      '2026-01-07T10:00Z',
    ],
    [
      'on its own date: itself',
      '2026-01-07T22:00Z',
      ['01-07T08:00', '01-07T10:00'],
      '2026-01-07T08:00Z',
      '2026-01-07T10:00Z',
    ],
    ['over midnight', '2026-06-10T05:00Z', ['06-10T20:00', '06-11T01:00'], '2026-01-07T21:00Z', '2026-01-08T02:00Z'],
    [
      'over a night that is an hour shorter',
      '2026-03-28T12:00Z',
      ['03-28T21:00', '03-29T04:00'],
      '2026-01-07T21:00Z',
      '2026-01-08T05:00Z',
    ],
    [
      'over one that is longer',
      '2026-10-24T12:00Z',
      ['10-24T20:00', '10-25T05:00'],
      '2026-01-07T21:00Z',
      '2026-01-08T05:00Z',
    ],
    [
      'a time that is skipped lasts as long',
      '2026-03-29T12:00Z',
      ['03-29T01:30', '03-29T02:00'],
      '2026-01-07T01:30Z',
      '2026-01-07T02:00Z',
    ],
    [
      'from an hour that comes twice',
      '2026-10-26T12:00Z',
      ['10-26T01:30', '10-26T02:15'],
      '2026-10-25T00:30Z',
      '2026-10-25T01:15Z',
    ],
  ])('%s', (_name, occurrence, expected, start, end) => {
    expect(moved(occurrence, start, end)).toEqual(expected);
  });

  test('is never empty, whatever the clocks do', () => {
    const when = fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2029, 0) });
    fc.assert(
      fc.property(
        when,
        when,
        fc.integer({ min: 1, max: 2_880 }),
        fc.constantFrom(...zones),
        (at, from, minutes, zone) => {
          const place = atSameClock(new Date(at), new Date(from), new Date(from + minutes * 60_000), zone);
          expect(place.end.getTime()).toBeGreaterThan(place.start.getTime());
          expect(areOnSameDate(place.start, new Date(at), zone)).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});

test('a rule that Start does not fit is refused before its years are searched', () => {
  const start = new Date('2028-02-29T09:00Z');
  const costOf = (rule: string) => {
    const { user } = process.cpuUsage();
    for (let times = 0; times < 20; times++)
      try {
        expandRule(rule, start, berlin);
      } catch {
        // Another test checks this error.
      }
    return process.cpuUsage().user - user;
  };
  const searched = costOf('FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;COUNT=4');
  expect(costOf('FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=4')).toBeLessThan(searched / 2);
});

test('areOnSameDate goes by the clocks of the zone', () => {
  const [late, early] = [new Date('2026-06-10T21:30Z'), new Date('2026-06-10T22:30Z')];
  expect([areOnSameDate(late, early, 'UTC'), areOnSameDate(late, early, berlin)]).toEqual([true, false]);
});
