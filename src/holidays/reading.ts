/** Reads the holidays of an .ics file: its whole-day events, as local dates. Pure. */
import { openSlices } from '../flow/slices.ts';
import { longest } from '../names.ts';
import { addDays, dateText, dayLength, readCompactDate } from '../time/days.ts';
import {
  contentOf,
  type IcalComponent,
  propertiesOf,
  readComponents,
  readDuration,
  readText,
  Unreadable,
} from '../time/ical-lines.ts';
import { listDays, readRule, WrongRule } from '../time/rule.ts';

/** Local dates, inclusive. */
export type Holiday = { fromDate: string; toDate: string; name: string };

export const unusedReasons = ['NoDate', 'TimeOfDay', 'Cancelled', 'NoDays', 'Past'] as const;
type UnusedReason = (typeof unusedReasons)[number];

/** The outcome of a reading: how many events and holidays, and which events have no effect. */
export type HolidayReading = {
  events: number;
  holidays: number;
  unused: { reason: UnusedReason; events: number }[];
};
export type ReadHolidays = { holidays: Holiday[]; reading: HolidayReading };

export const mostHolidays = 5_000;
/** The most events that repeat: each may have to be expanded over many years. */
const mostRules = 100;
export const longestDays = 366;
/** Repetitions are listed from a year ago until this many days ahead. */
const daysAhead = 10 * 366;
const daysBehind = 366;

/** The day of `20261224`; undefined for any other text, such as one with a time of day. */
function readDay(value: string | undefined): number | undefined {
  const text = value?.trim() ?? '';
  return /^(19|2)/.test(text) ? readCompactDate(text) : undefined;
}

/** How many days an event lasts. */
function lengthOf(event: IcalComponent, start: number): number {
  const end = readDay(contentOf(event, 'DTEND'));
  if (end !== undefined) return Math.max(1, end - start);
  return Math.max(1, readDuration(contentOf(event, 'DURATION') ?? '')?.days ?? 0);
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

/** Counts the events by the reason why they have no effect; undefined stands for those that have one. */
function countEvents(events: readonly (UnusedReason | undefined)[], holidays: readonly Holiday[]): HolidayReading {
  const unused = unusedReasons
    .map((reason) => ({ reason, events: events.filter((one) => one === reason).length }))
    .filter((counted) => counted.events > 0);
  return { events: events.length, holidays: holidays.length, unused };
}

const isOver = (holidays: readonly Holiday[], today: Date) => {
  // The date in the zone that is farthest behind UTC.
  const date = dateText(Math.floor(today.getTime() / dayLength) - 1);
  return holidays.every(({ toDate }) => toDate < date);
};

/** The holidays that a tenant file lists, as if they had been read. */
export const readListed = (holidays: Holiday[], today: Date): ReadHolidays => ({
  holidays,
  reading: countEvents(
    holidays.map((holiday) => (isOver([holiday], today) ? 'Past' : undefined)),
    holidays,
  ),
});

/** Why an event is not read as days; undefined if it is. */
function reasonUnused(event: IcalComponent, start: number | undefined): UnusedReason | undefined {
  if (contentOf(event, 'STATUS')?.trim().toUpperCase() === 'CANCELLED') return 'Cancelled';
  if (start !== undefined) return undefined;
  return /^\d{8}T\d{6}Z?$/.test(contentOf(event, 'DTSTART')?.trim() ?? '') ? 'TimeOfDay' : 'NoDate';
}

/**
 * The whole-day events of the text, in order of their dates. Events with a time of day and cancelled ones are left out.
 * @throws Unreadable for text that is not iCalendar, or that exceeds the limits
 */
export async function readHolidays(text: string, today: Date): Promise<ReadHolidays> {
  const now = Math.floor(today.getTime() / dayLength);
  const events = readComponents(text.replace(/^\uFEFF/, '')).components.filter(({ name }) => name === 'VEVENT');
  // An event with RECURRENCE-ID replaces one day of another event.
  const moved = new Set(
    events.flatMap((event) => {
      const day = readDay(contentOf(event, 'RECURRENCE-ID'));
      return day === undefined ? [] : [`${contentOf(event, 'UID') ?? ''} ${day}`];
    }),
  );
  if (events.filter((event) => contentOf(event, 'RRULE') !== undefined).length > mostRules)
    throw new Unreadable(`it has more than ${mostRules} events that repeat`);
  const holidays: Holiday[] = [];
  const reasons: (UnusedReason | undefined)[] = [];
  const nextSlice = openSlices();
  for (const event of events) {
    await nextSlice();
    const start = readDay(contentOf(event, 'DTSTART'));
    const why = reasonUnused(event, start);
    if (why || start === undefined) {
      reasons.push(why);
      continue;
    }
    const length = lengthOf(event, start);
    if (length > longestDays) throw new Unreadable(`it has an event of more than ${longestDays} days`);
    const name = readText(contentOf(event, 'SUMMARY') ?? '')
      .trim()
      .slice(0, longest.name)
      .toWellFormed();
    const before = holidays.length;
    const isMoved = contentOf(event, 'RECURRENCE-ID') !== undefined;
    for (const day of isMoved ? [start] : startsOf(event, start, now, moved)) {
      const fromDate = dateText(day);
      holidays.push({ fromDate, toDate: addDays(fromDate, length - 1), name });
      if (holidays.length > mostHolidays) throw new Unreadable(`it has more than ${mostHolidays} holidays`);
    }
    const own = holidays.slice(before);
    reasons.push(own.length === 0 ? 'NoDays' : isOver(own, today) ? 'Past' : undefined);
  }
  return {
    holidays: holidays.sort((one, other) => (one.fromDate < other.fromDate ? -1 : 1)),
    reading: countEvents(reasons, holidays),
  };
}
