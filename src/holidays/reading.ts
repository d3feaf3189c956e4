/** Reads the holidays of an .ics file: its whole-day events, as local dates. Pure. */
import { addDays, dateText, dayLength, readDate } from '../time/days.ts';
import {
  contentOf,
  type IcalComponent,
  propertiesOf,
  readComponents,
  readText,
  Unreadable,
} from '../time/ical-lines.ts';
import { listDays, readRule, WrongRule } from '../time/rule.ts';

/** Local dates, inclusive. */
export type Holiday = { fromDate: string; toDate: string; name: string };

export const mostHolidays = 5_000;
/** Each may have to be followed over many years. */
const mostRules = 100;
export const longestDays = 366;
export const longestName = 200;
/** What repeats is listed from the year before until so many days later. */
const daysAhead = 10 * 366;
const daysBehind = 366;

/** `20261224` to `2026-12-24`; undefined for anything else, a time of day too. */
function readDay(value: string | undefined): number | undefined {
  const parts = /^(19\d\d|2\d{3})(\d\d)(\d\d)$/.exec(value?.trim() ?? '');
  if (!parts) return undefined;
  const text = `${parts[1]}-${parts[2]}-${parts[3]}`;
  const instant = Date.parse(text);
  return Number.isNaN(instant) || new Date(instant).toISOString().slice(0, 10) !== text ? undefined : readDate(text);
}

/** How many days an event lasts. */
function lengthOf(event: IcalComponent, start: number): number {
  const end = readDay(contentOf(event, 'DTEND'));
  if (end !== undefined) return Math.max(1, end - start);
  const duration = /^P(?:(\d{1,3})W|(\d{1,3})D)$/.exec(contentOf(event, 'DURATION')?.trim() ?? '');
  return Math.max(1, Number(duration?.[1] ?? 0) * 7 + Number(duration?.[2] ?? 0));
}

const datesOf = (event: IcalComponent, name: string) =>
  propertiesOf(event, name).flatMap(({ value }) => value.split(',', mostHolidays).map(readDay));

/** The days on which an event begins. @throws Unreadable */
function startsOf(event: IcalComponent, start: number, today: number, moved: ReadonlySet<string>): number[] {
  const rule = contentOf(event, 'RRULE');
  const uid = contentOf(event, 'UID') ?? '';
  const to = today + daysAhead;
  let days = [start];
  if (rule !== undefined) {
    try {
      const read = readRule(rule);
      const until = read.until === null ? to : (readDay(read.until.slice(0, 8)) ?? to);
      days = listDays(read, start, today - daysBehind, Math.min(to, until));
    } catch (error) {
      throw error instanceof WrongRule ? new Unreadable(error.message) : error;
    }
  }
  const excluded = new Set(datesOf(event, 'EXDATE'));
  const extra = datesOf(event, 'RDATE').filter((day) => day !== undefined);
  return [...new Set([...days, ...extra])].filter((day) => !excluded.has(day) && !moved.has(`${uid} ${day}`));
}

/**
 * The whole-day events of the text, in order; events with a time of day and cancelled ones are no holidays.
 * @throws Unreadable for text that is no iCalendar, or holds too much of it
 */
export function readHolidays(text: string, today: Date): Holiday[] {
  const now = Math.floor(today.getTime() / dayLength);
  const events = readComponents(text.replace(/^\uFEFF/, '')).components.filter(({ name }) => name === 'VEVENT');
  // An event with RECURRENCE-ID stands for one day of another.
  const moved = new Set(
    events.flatMap((event) => {
      const day = readDay(contentOf(event, 'RECURRENCE-ID'));
      return day === undefined ? [] : [`${contentOf(event, 'UID') ?? ''} ${day}`];
    }),
  );
  if (events.filter((event) => contentOf(event, 'RRULE') !== undefined).length > mostRules)
    throw new Unreadable(`it has more than ${mostRules} events that repeat`);
  const holidays: Holiday[] = [];
  for (const event of events) {
    const start = readDay(contentOf(event, 'DTSTART'));
    if (start === undefined || contentOf(event, 'STATUS')?.trim().toUpperCase() === 'CANCELLED') continue;
    const length = lengthOf(event, start);
    if (length > longestDays) throw new Unreadable(`it has an event of more than ${longestDays} days`);
    const name = readText(contentOf(event, 'SUMMARY') ?? '')
      .trim()
      .slice(0, longestName)
      .toWellFormed();
    const isMoved = contentOf(event, 'RECURRENCE-ID') !== undefined;
    for (const day of isMoved ? [start] : startsOf(event, start, now, moved)) {
      const fromDate = dateText(day);
      holidays.push({ fromDate, toDate: addDays(fromDate, length - 1), name });
      if (holidays.length > mostHolidays) throw new Unreadable(`it has more than ${mostHolidays} holidays`);
    }
  }
  return holidays.sort((one, other) => (one.fromDate < other.fromDate ? -1 : 1));
}
