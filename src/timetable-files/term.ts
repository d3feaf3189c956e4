/** The days and clock times of a term: on which days a weekly lesson takes place, and at which instants. */
import { InvalidInput } from '../errors.ts';
import { dateText, dayLength, dayOfWall, isoWeekdayOf, minutesOf, mondayOf, readDate, weekOf } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { findZone, isTimeZone, startOfDate } from '../time/zones.ts';
import type { Weeks } from './entries.ts';
import type { CompleteRequest } from './profiles.ts';

const longestTerm = 400;

type Times = { begin: number; end: number };

/** The first and the last day of a stretch. @throws InvalidInput where the last is before the first, or years later */
function readDays(name: string, { From, To }: { From: string; To: string }): [number, number] {
  const [from, to] = [readDate(From), readDate(To)];
  if (to < from) throw new InvalidInput(`${name}: it ends on ${To}, before it begins on ${From}.`);
  if (to - from > longestTerm)
    throw new InvalidInput(
      `${name}: it lasts from ${From} to ${To}, longer than ${longestTerm} days; is one of the years wrong?`,
    );
  return [from, to];
}

export type TermDays = ReturnType<typeof openTerm>;

type TermRequest = Pick<CompleteRequest, 'Term' | 'Periods' | 'Since'>;

/** @throws InvalidInput for a term or a grid that contradicts itself */
export function openTerm({ Term: term, Periods: grid, Since: since }: TermRequest, zoneName: string) {
  const zone = isTimeZone(zoneName) ? findZone(zoneName) : undefined;
  if (!zone)
    throw new InvalidInput(`TimeZone: ${zoneName} is not a time zone; use an IANA name such as Europe/Berlin.`);
  const first = since ? readDate(since) : Number.NEGATIVE_INFINITY;
  const sinceInstant = since ? startOfDate(since, zoneName) : null;
  const holidays = new Set<number>();
  const byWeekday: number[][] = Array.from({ length: 8 }, () => []);
  const weekNames = new Map<number, string>();
  if (term) {
    const [from, to] = readDays('Term', term);
    for (const [at, holiday] of term.Holidays.entries()) {
      const [start, end] = readDays(`Term.Holidays[${at}] ${holiday.Name}`, holiday);
      for (let day = start; day <= end; day++) holidays.add(day);
    }
    for (const [at, { Monday, Name }] of term.Weeks.entries()) {
      const day = readDate(Monday);
      if (isoWeekdayOf(day) !== 1) throw new InvalidInput(`Term.Weeks[${at}]: ${Monday} is not a Monday.`);
      weekNames.set(day, Name);
    }
    for (let day = from; day <= to; day++)
      if (!holidays.has(day) && day >= first) byWeekday[isoWeekdayOf(day)]?.push(day);
  }
  const times = new Map<string, Times>();
  const ownDays = new Set<number>();
  for (const [at, { Day, Period, Begin, End }] of grid.entries()) {
    const [begin, end] = [minutesOf(Begin), minutesOf(End)];
    if (end <= begin) throw new InvalidInput(`Periods[${at}]: period ${Period} must end after it begins.`);
    const key = `${Day ?? 0} ${Period}`;
    if (times.has(key)) throw new InvalidInput(`Periods[${at}]: period ${Period} is listed twice.`);
    times.set(key, { begin, end });
    if (Day) ownDays.add(Day);
  }
  const names = new Set(weekNames.values());
  const groups = new Map((term?.Groups ?? []).map(({ Name, Weeks }) => [Name, new Set(Weeks)]));
  const begins = term ? readDate(term.From) : Number.NEGATIVE_INFINITY;
  const ends = term ? readDate(term.To) : Number.POSITIVE_INFINITY;
  const mondays = term ? mondayOf(begins) : 0;

  /** Whether a day lies in the weeks of this name; undefined: the name is unknown. */
  function isInWeeks(name: string, day: number): boolean | undefined {
    const weekName = weekNames.get(mondayOf(day));
    const group = groups.get(name);
    if (group) return weekName !== undefined && group.has(weekName);
    if (names.has(name)) return weekName === name;
    // A text such as `0110` has one digit for each week of the term.
    if (/^[01]{2,60}$/.test(name)) return name[(mondayOf(day) - mondays) / 7] === '1';
    const { week } = weekOf(day, 1);
    if (name === 'U') return week % 2 === 1;
    if (name === 'G') return week % 2 === 0;
    return undefined;
  }

  return {
    id: term?.Name,
    zoneName,
    hasTerm: term != null,
    /** The day of Since. */
    first,
    /** Lessons that begin before it stay as they are stored. */
    since: sinceInstant,
    begins,
    last: ends,
    isOutside: (day: number) => day < begins || day > ends,
    isHoliday: (day: number) => holidays.has(day),
    /** The days of a weekday with lessons. */
    daysOn: (weekday: number): readonly number[] => byWeekday[weekday] ?? [],
    isDay: (day: number) => byWeekday[isoWeekdayOf(day)]?.includes(day) === true,
    knowsWeeks: (name: string) => isInWeeks(name, mondays) !== undefined,
    fits: ({ weeks, from, to }: Weeks, day: number): boolean =>
      day >= (from ?? day) && day <= (to ?? day) && (!weeks || isInWeeks(weeks, day) === true),
    /** Undefined if the grid has no such period. A weekday with periods of its own has no others. */
    timesOf: (weekday: number, period: number): Times | undefined =>
      times.get(`${ownDays.has(weekday) ? weekday : 0} ${period}`),
    /** The local day of an instant. */
    dayAt: (instant: number): number => dayOfWall(zone.wallOf(instant)),
    hasGrid: grid.length > 0,
    /** @param minutes since the local midnight */
    instantOf: (day: number, minutes: number): number => zone.instantOf(day * dayLength + minutes * minute),
  };
}

/** Writes a day as `20270315`. */
export const compactDate = (day: number): string => dateText(day).replaceAll('-', '');
