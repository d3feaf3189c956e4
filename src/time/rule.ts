/**
 * Expands recurrence rules (RFC 5545, 3.3.10) to dates, as days since 1970. Pure, and cheap for any rule that a client can
 * write: a rule is bounded before it is expanded, and searched only within the wanted dates.
 */
import { type CivilDay, civil, dayOf, type Wall, weekdayOf, weekOf } from './days.ts';

/** A fault of a rule. The message is a clause about the series that has the rule: `its rule has a wrong COUNT`. */
export class WrongRule extends Error {}

const frequencies = ['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'] as const;
const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

export type Rule = {
  readonly frequency: (typeof frequencies)[number];
  readonly interval: number;
  readonly count: number | null;
  /** UNTIL as written: a date, a local time or an instant. */
  readonly until: string | null;
  readonly weekStart: number;
  readonly months: ReadonlySet<number>;
  readonly monthDays: ReadonlySet<number>;
  readonly yearDays: ReadonlySet<number>;
  readonly weeks: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Weekdays with a number, such as `2MO`, each as `weekday + 7 * number`. */
  readonly numberedWeekdays: ReadonlySet<number>;
  readonly positions: readonly number[];
  /** BYHOUR, BYMINUTE and BYSECOND, which may only repeat the time of the start. */
  readonly clock: readonly (number | null)[];
};

const untilForm = /^\d{8}(T\d{6}Z?)?$/;

function readList(text: string | undefined, name: string, least: number, most: number): number[] {
  if (text === undefined) return [];
  const list = new Set(text.split(',', 1_000).map((each) => (/^[+-]?\d{1,3}$/.test(each) ? Number(each) : Number.NaN)));
  for (const each of list)
    if (!(Math.abs(each) >= least && Math.abs(each) <= most)) throw new WrongRule(`its rule has a wrong ${name}`);
  return [...list];
}

function readNumber(text: string | undefined, name: string, least: number): number | null {
  if (text === undefined) return null;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least)) throw new WrongRule(`its rule has a wrong ${name}`);
  return number;
}

function readParts(text: string): Map<string, string> {
  const parts = new Map<string, string>();
  for (const part of text.toUpperCase().split(';', 40)) {
    const [name = '', value = ''] = part.split('=', 2);
    if (name === '') continue;
    if (parts.has(name)) throw new WrongRule(`its rule has ${name.slice(0, 20)} twice`);
    parts.set(name, value);
  }
  return parts;
}

const known =
  /^(FREQ|INTERVAL|COUNT|UNTIL|WKST|BYMONTH|BYMONTHDAY|BYYEARDAY|BYWEEKNO|BYDAY|BYSETPOS|BYHOUR|BYMINUTE|BYSECOND)$/;

/** @throws WrongRule */
export function readRule(text: string): Rule {
  const parts = readParts(text);
  const part = (name: string) => parts.get(name);
  if (part('RSCALE') === 'GREGORIAN') parts.delete('RSCALE');
  if (part('SKIP') === 'OMIT') parts.delete('SKIP');
  for (const name of parts.keys())
    if (!known.test(name)) throw new WrongRule(`its rule has ${name.slice(0, 20)}, which is not supported`);
  const frequency = frequencies.find((each) => each === part('FREQ'));
  if (!frequency) throw new WrongRule('it does not repeat by days, weeks, months or years');
  const until = part('UNTIL') ?? null;
  if (until !== null && !untilForm.test(until)) throw new WrongRule('its rule has a wrong UNTIL');
  const days = (part('BYDAY')?.split(',', 1_000) ?? []).map(readWeekday);
  const rule: Rule = {
    frequency,
    interval: readNumber(part('INTERVAL'), 'INTERVAL', 1) ?? 1,
    count: readNumber(part('COUNT'), 'COUNT', 1),
    until,
    weekStart: parts.has('WKST') ? readWeekday(part('WKST')!).weekday : 1,
    months: new Set(readList(part('BYMONTH'), 'BYMONTH', 1, 12)),
    monthDays: new Set(readList(part('BYMONTHDAY'), 'BYMONTHDAY', 1, 31)),
    yearDays: new Set(readList(part('BYYEARDAY'), 'BYYEARDAY', 1, 366)),
    weeks: new Set(readList(part('BYWEEKNO'), 'BYWEEKNO', 1, 53)),
    weekdays: new Set(days.filter(({ nth }) => nth === 0).map(({ weekday }) => weekday)),
    numberedWeekdays: new Set(days.filter(({ nth }) => nth !== 0).map(({ weekday, nth }) => weekday + 7 * nth)),
    positions: readList(part('BYSETPOS'), 'BYSETPOS', 1, 366),
    clock: ['BYHOUR', 'BYMINUTE', 'BYSECOND'].map((name) => readClock(part(name), name)),
  };
  checkCombination(rule);
  return rule;
}

function readWeekday(text: string): { weekday: number; nth: number } {
  const [, nth = '', name = ''] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(text) ?? [];
  const weekday = weekdays.indexOf(name);
  if (weekday < 0 || Math.abs(Number(nth)) > 53 || (nth !== '' && Number(nth) === 0))
    throw new WrongRule('its rule has a wrong BYDAY or WKST');
  return { weekday, nth: Number(nth) };
}

/** Reads BYHOUR, BYMINUTE or BYSECOND, which may have one value: a series has one booking a day. */
function readClock(text: string | undefined, name: string): number | null {
  const list = readList(text, name, 0, 60);
  if (list.length > 1) throw new WrongRule('it repeats several times a day');
  return list[0] ?? null;
}

/** @throws WrongRule for parts that RFC 5545 does not allow together, as they have no defined meaning */
function checkCombination({ frequency, weeks, yearDays, monthDays, numberedWeekdays, positions, ...rule }: Rule) {
  const wrong =
    (weeks.size > 0 && frequency !== 'YEARLY') ||
    (yearDays.size > 0 && frequency !== 'YEARLY') ||
    (monthDays.size > 0 && frequency === 'WEEKLY') ||
    (numberedWeekdays.size > 0 && (frequency === 'DAILY' || frequency === 'WEEKLY' || weeks.size > 0)) ||
    (rule.count !== null && rule.until !== null);
  if (wrong) throw new WrongRule('its rule has parts that cannot be combined');
  const others = [rule.months, monthDays, yearDays, weeks, rule.weekdays, numberedWeekdays];
  if (positions.length > 0 && others.every((set) => set.size === 0))
    throw new WrongRule('its rule has BYSETPOS without another BY part');
}

const monthLength = (year: number, month: number) => dayOf(year, month + 1, 1) - dayOf(year, month, 1);
const yearLength = (year: number) => dayOf(year + 1, 1, 1) - dayOf(year, 1, 1);

/** Whether the set has `number`, or the negative number of the same place counted from the end of `length`. */
function isAmong(set: ReadonlySet<number>, number: number, length: number): boolean {
  return set.has(number) || set.has(number - length - 1);
}

function isNumbered(set: ReadonlySet<number>, day: number, first: number, length: number): boolean {
  const weekday = weekdayOf(day);
  const fromStart = Math.floor((day - first) / 7) + 1;
  const fromEnd = -(Math.floor((first + length - 1 - day) / 7) + 1);
  return set.has(weekday + 7 * fromStart) || set.has(weekday + 7 * fromEnd);
}

function isInWeeks({ weeks, weekStart }: Rule, day: number): boolean {
  const of = weekOf(day, weekStart);
  return isAmong(weeks, of.week, of.weeks);
}

/** The month, date and weekday that a rule takes from its start where it names none. */
type Defaults = { month: number | null; date: number | null; weekday: number | null };

function defaultsOf(rule: Rule, start: CivilDay): Defaults {
  const none = { month: null, date: null, weekday: null };
  const hasWeekdays = rule.weekdays.size + rule.numberedWeekdays.size > 0;
  if (hasWeekdays) return none;
  if (rule.frequency === 'DAILY' || rule.monthDays.size + rule.yearDays.size > 0) return none;
  if (rule.frequency === 'WEEKLY' || rule.weeks.size > 0) return { ...none, weekday: weekdayOf(start.day) };
  const month = rule.frequency === 'YEARLY' && rule.months.size === 0 ? start.month : null;
  return { month, date: start.date, weekday: null };
}

function isDay(rule: Rule, defaults: Defaults, day: number): boolean {
  const { year, month, date } = civil(day);
  if (rule.months.size > 0 && !rule.months.has(month)) return false;
  if (defaults.month !== null && defaults.month !== month) return false;
  if (defaults.date !== null && defaults.date !== date) return false;
  if (defaults.weekday !== null && defaults.weekday !== weekdayOf(day)) return false;
  if (rule.monthDays.size > 0 && !isAmong(rule.monthDays, date, monthLength(year, month))) return false;
  const newYear = () => dayOf(year, 1, 1);
  if (rule.yearDays.size > 0 && !isAmong(rule.yearDays, day - newYear() + 1, yearLength(year))) return false;
  if (rule.weeks.size > 0 && !isInWeeks(rule, day)) return false;
  if (rule.weekdays.size + rule.numberedWeekdays.size === 0 || rule.weekdays.has(weekdayOf(day))) return true;
  if (rule.numberedWeekdays.size === 0) return false;
  const ofYear = rule.frequency === 'YEARLY' && rule.months.size === 0;
  return ofYear
    ? isNumbered(rule.numberedWeekdays, day, newYear(), yearLength(year))
    : isNumbered(rule.numberedWeekdays, day, dayOf(year, month, 1), monthLength(year, month));
}

/** The n-th period of a rule: the days `[first, end)` from which it chooses. */
function periodOf(rule: Rule, start: CivilDay, nth: number): { first: number; end: number } {
  const ahead = nth * rule.interval;
  if (rule.frequency === 'DAILY') return { first: start.day + ahead, end: start.day + ahead + 1 };
  if (rule.frequency === 'WEEKLY') {
    const first = start.day - ((weekdayOf(start.day) - rule.weekStart + 7) % 7) + 7 * ahead;
    return { first, end: first + 7 };
  }
  if (rule.frequency === 'MONTHLY')
    return {
      first: dayOf(start.year, start.month + ahead, 1),
      end: dayOf(start.year, start.month + ahead + 1, 1),
    };
  return { first: dayOf(start.year + ahead, 1, 1), end: dayOf(start.year + ahead + 1, 1, 1) };
}

const longestPeriod = { DAILY: 1, WEEKLY: 7, MONTHLY: 31, YEARLY: 366 };

/** How many days to skip to the end of the month, because BYMONTH does not name it. */
function skippedDays(months: ReadonlySet<number>, day: number): number {
  const { year, month } = civil(day);
  return months.has(month) ? 0 : dayOf(year, month + 1, 1) - day;
}

function daysOfPeriod(rule: Rule, defaults: Defaults, { first, end }: { first: number; end: number }): number[] {
  const days: number[] = [];
  for (let day = first; day < end; day++) {
    const skipped = rule.months.size === 0 ? 0 : skippedDays(rule.months, day);
    if (skipped > 0) day += skipped - 1;
    else if (isDay(rule, defaults, day)) days.push(day);
  }
  if (rule.positions.length === 0) return days;
  const chosen = new Set(rule.positions.map((position) => days.at(position > 0 ? position - 1 : position)));
  return days.filter((day) => chosen.has(day));
}

/** Whether the rule itself yields the first day of its series. */
export function fitsStart(rule: Rule, startDay: number): boolean {
  const start = civil(startDay);
  return daysOfPeriod(rule, defaultsOf(rule, start), periodOf(rule, start, 0)).includes(startDay);
}

/** Whether BYHOUR, BYMINUTE and BYSECOND, if the rule has them, repeat the time of its start. */
export function fitsClock(rule: Rule, start: Wall): boolean {
  const at = new Date(start);
  const own = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
  return rule.clock.every((part, index) => part === null || part === own[index]);
}

/** The most days between the start of a rule with COUNT and the end of the wanted dates; 50 years. */
const mostDays = 18_300;

/** The most days that are searched for all series of a calendar together: seconds of computation. */
export const mostSearched = 10_000_000;

/** The days that may be searched for several rules together, and are left; below zero once they did not suffice. */
export type DaySearch = { left: number };

/**
 * The days of a rule from `from` to `to`, inclusive, in order. The start always belongs to the series, as the first of its
 * COUNT (3.8.5.3). The caller applies UNTIL, which may need a time of day.
 * @param search where it has too few days left, days are missing
 * @throws WrongRule for a rule with COUNT that began too long ago
 */
export function listDays(rule: Rule, startDay: number, from: number, to: number, search?: DaySearch): number[] {
  const start = civil(startDay);
  const defaults = defaultsOf(rule, start);
  if (rule.count !== null && to - startDay > mostDays)
    throw new WrongRule('it began too long ago to count its occurrences');
  const days: number[] = startDay >= from && startDay <= to ? [startDay] : [];
  let left = (rule.count ?? Number.POSITIVE_INFINITY) - 1;
  const skipped = Math.floor((from - startDay) / (longestPeriod[rule.frequency] * rule.interval)) - 1;
  for (let nth = rule.count === null ? Math.max(0, skipped) : 0; left > 0; nth++) {
    const period = periodOf(rule, start, nth);
    // Beyond the last year of Date `first` is NaN.
    if (!(period.first <= to)) break;
    if (search && (search.left -= period.end - period.first) < 0) break;
    for (const day of daysOfPeriod(rule, defaults, period)) {
      if (day <= startDay || left === 0) continue;
      left -= 1;
      if (day >= from && day <= to) days.push(day);
    }
  }
  return days;
}
