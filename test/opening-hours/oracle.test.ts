/**
 * Opening hours compared with an independent oracle: no Temporal and no transitions, but what `Intl.DateTimeFormat` shows at
 * instants of UTC, minute by minute.
 */
import { expect, test } from '@jest/globals';
import { openIntervals } from '../../src/opening-hours/local-hours.ts';
import { times } from '../_util/long.ts';

const zones = [
  ...['Africa/Abidjan', 'Africa/Cairo', 'Africa/Casablanca', 'Africa/El_Aaiun', 'Africa/Johannesburg'],
  ...['Africa/Lagos', 'Africa/Nairobi', 'America/Anchorage', 'America/Argentina/Buenos_Aires'],
  ...['America/Asuncion', 'America/Bogota', 'America/Caracas', 'America/Chicago', 'America/Denver'],
  ...['America/Halifax', 'America/Havana', 'America/Los_Angeles', 'America/Mexico_City', 'America/Miquelon'],
  ...['America/New_York', 'America/Nuuk', 'America/Phoenix', 'America/Santiago', 'America/Sao_Paulo'],
  ...['America/Scoresbysund', 'America/St_Johns', 'Antarctica/Troll', 'Asia/Beirut', 'Asia/Dhaka'],
  ...['Asia/Gaza', 'Asia/Jerusalem', 'Asia/Kabul', 'Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Shanghai'],
  ...['Asia/Singapore', 'Asia/Tehran', 'Asia/Tokyo', 'Asia/Yangon', 'Atlantic/Azores', 'Atlantic/Reykjavik'],
  ...['Australia/Adelaide', 'Australia/Eucla', 'Australia/Lord_Howe', 'Australia/Sydney', 'Europe/Berlin'],
  ...['Europe/Chisinau', 'Europe/Dublin', 'Europe/Istanbul', 'Europe/London', 'Europe/Moscow'],
  ...['Europe/Zurich', 'Pacific/Apia', 'Pacific/Auckland', 'Pacific/Chatham', 'Pacific/Easter'],
  ...['Pacific/Kiritimati', 'Pacific/Marquesas', 'Pacific/Niue', 'Pacific/Norfolk', 'UTC'],
];

// In minutes since 1970, UTC for instants and as if UTC for what clocks show.
const hour = 60;
const day = 24 * hour;
const minuteOf = (text: string) => Date.parse(text) / 60_000;
const firstDay = minuteOf('2026-01-01');
const lastYear = times(2026, 2028);
const lastDay = minuteOf(`${lastYear}-12-31`);
/** Where the walk begins: no zone is further from UTC than 14 hours, and the last night ends on 2 January. */
const begin = firstDay - 2 * day;
const end = lastDay + 4 * day;

/** How far the clocks of a zone are ahead at an instant, as its formatter shows it. */
function readOffsets(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (instant) => {
    const shown: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(instant * 60_000)) shown[type] = Number(value);
    const { year = 0, month = 0, day: date = 0, hour: hours = 0, minute = 0 } = shown;
    return Date.UTC(year, month - 1, date, hours, minute) / 60_000 - instant;
  };
}

/** For each minute that a clock can show the first and the last instant of it; of a skipped one the instant of the skip. */
function walk(timeZone: string) {
  const offsetAt = readOffsets(timeZone);
  const first = new Int32Array(end - begin);
  const last = new Int32Array(end - begin);
  const changes: number[] = [];
  const note = (shown: number, instant: number) => {
    if (shown < begin || shown >= end) return;
    first[shown - begin] ||= instant;
    last[shown - begin] = instant;
  };
  const step = 6 * hour;
  let before = offsetAt(begin);
  for (let from = begin; from < end; from += step) {
    // Single minutes are checked only if the offset differs six hours later.
    const calm = offsetAt(from + step) === before;
    for (let instant = from; instant < from + step; instant++) {
      const offset = calm ? before : offsetAt(instant);
      if (offset !== before) {
        changes.push(instant);
        for (let skipped = instant + before; skipped < instant + offset; skipped++) note(skipped, instant);
      }
      note(instant + offset, instant);
      before = offset;
    }
  }
  return {
    changes,
    first: (shown: number) => first[shown - begin] as number,
    last: (shown: number) => last[shown - begin] as number,
  };
}

const clock = (text: string) => Number(text.slice(0, 2)) * hour + Number(text.slice(3));

/** Ordinary days, nights, whole days, and times that clock changes of the world skip or show twice. */
const periods = [
  ...[
    ['09:00', '18:00'],
    ['22:00', '06:00'],
    ['00:00', '24:00'],
    ['09:00', '09:00'],
    ['02:30', '05:00'],
  ],
  ...[
    ['01:00', '02:30'],
    ['02:00', '03:00'],
    ['01:45', '01:50'],
    ['00:15', '00:45'],
    ['23:15', '00:30'],
  ],
] as [opens: string, closes: string][];
const everyDay = [1, 2, 3, 4, 5, 6, 7];
const closedDays = ['2026-03-29', '2026-10-25', '2027-03-28', '2027-04-04', '2028-10-29', '2028-12-31'].filter(
  (date) => minuteOf(date) <= lastDay,
);
const hours = {
  rules: periods.map(([opens, closes]) => ({
    opens,
    closes,
    weekdays: everyDay,
    validFrom: null,
    validTo: null,
  })),
  exceptions: closedDays.map((date) => ({
    fromDate: date,
    toDate: date,
    closed: true,
    periods: [],
  })),
};
const closed = new Set(closedDays.map(minuteOf));

/** One line for each interval of a local day. */
function expected(midnight: number, { first, last, changes }: ReturnType<typeof walk>): string[] {
  if (closed.has(midnight)) return [];
  return periods.flatMap(([opens, closes]) => {
    const start = first(midnight + clock(opens));
    const overnight = closes <= opens ? day : 0;
    const nextDay = first(midnight + day);
    const closing = last(midnight + overnight + clock(closes));
    const finish = closed.has(midnight + day) ? Math.min(closing, nextDay) : closing;
    if (finish <= start) return [];
    const changed = changes.some((at) => at >= first(midnight) && (at < nextDay || at <= finish));
    return [`${opens}-${closes} ${start} ${finish} ${changed}`];
  });
}

test('there are 60 zones', () => {
  expect(new Set(zones).size).toBeGreaterThanOrEqual(60);
});

test.each(zones)(`%s: each local day from 2026 to ${lastYear}`, (timeZone) => {
  const wall = walk(timeZone);
  const told = Map.groupBy(
    openIntervals(hours, timeZone, '2026-01-01', `${lastYear}-12-31`),
    ({ localDate }) => localDate,
  );
  const wrong: string[] = [];
  for (let midnight = firstDay; midnight <= lastDay; midnight += day) {
    const date = new Date(midnight * 60_000).toISOString().slice(0, 10);
    const lines = (told.get(date) ?? []).map(
      ({ opens, closes, start, end: finish, clockChange }) =>
        `${opens}-${closes} ${start.getTime() / 60_000} ${finish.getTime() / 60_000} ${clockChange}`,
    );
    const right = expected(midnight, wall);
    if (lines.sort().join() !== right.sort().join()) wrong.push(`${date}: ${lines} but ${right}`);
  }
  expect(wrong).toEqual([]);
  expect(told.size).toBe((lastDay - firstDay) / day + 1 - closedDays.length);
});
