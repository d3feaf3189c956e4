/** Calendar dates as days since 1970, and local clock times, both without a time zone. */

/** In milliseconds. */
export const dayLength = 86_400_000;

/** A local date and time, as the instant in milliseconds at which clocks in UTC show it. */
export type Wall = number;

export const dayOfWall = (wall: Wall): number => Math.floor(wall / dayLength);
/** The time of the day, in milliseconds. */
export const timeOfWall = (wall: Wall): number => wall - dayOfWall(wall) * dayLength;

export type CivilDay = { day: number; year: number; month: number; date: number };

export function civil(day: number): CivilDay {
  const at = new Date(day * dayLength);
  return {
    day,
    year: at.getUTCFullYear(),
    month: at.getUTCMonth() + 1,
    date: at.getUTCDate(),
  };
}

/** The day of a date. Months count from 1; a month or date beyond its end counts on into the next year or month. */
export function dayOf(year: number, month: number, date: number): number {
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, date);
  return at.getTime() / dayLength;
}

/** 0 = Sunday … 6 = Saturday. */
export const weekdayOf = (day: number): number => (((day + 4) % 7) + 7) % 7;

/** 1 = Monday … 7 = Sunday (ISO 8601). */
export const isoWeekdayOf = (day: number): number => weekdayOf(day) || 7;

/** The Monday of the week of a day. */
export const mondayOf = (day: number): number => day - isoWeekdayOf(day) + 1;

/** The first day of week 1 of a year, the first week with at least four days in it (RFC 5545, 3.3.10). */
function firstWeek(year: number, weekStart: number): number {
  const newYear = dayOf(year, 1, 1);
  const since = (weekdayOf(newYear) - weekStart + 7) % 7;
  return since <= 3 ? newYear - since : newYear - since + 7;
}

/** The week of a day, its week-numbering year, and that year's number of weeks; ISO 8601 weeks with Monday as `weekStart`. */
export function weekOf(day: number, weekStart: number): { year: number; week: number; weeks: number } {
  const { year } = civil(day);
  const years = [year - 1, year, year + 1, year + 2];
  const starts = years.map((each) => firstWeek(each, weekStart));
  const of = starts.findLastIndex((start) => start <= day);
  return {
    year: years[of]!,
    week: Math.floor((day - starts[of]!) / 7) + 1,
    weeks: (starts[of + 1]! - starts[of]!) / 7,
  };
}

/** The day of a date `2026-12-01`. @throws RangeError for text that is no date */
export function readDate(text: string): number {
  const at = Date.parse(`${text}T00:00Z`);
  if (dateText(at / dayLength) !== text) throw new RangeError(`${text} is not a date`);
  return at / dayLength;
}

export const dateText = (day: number): string => new Date(day * dayLength).toISOString().slice(0, 10);

export const addDays = (date: string, days: number): string => dateText(readDate(date) + days);

/** The minutes since midnight of a clock time `09:30`; `24:00` is allowed. */
export const minutesOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5));

/** The day of a date `20261201`; undefined for text that is no date. */
export function readCompactDate(text: string): number | undefined {
  const wall = text.includes('T') ? null : readWall(text);
  return wall === null ? undefined : wall / dayLength;
}

/** Reads `20261201T093000`, or `20261201` as its midnight; null for text that is no date or time. */
export function readWall(text: string): Wall | null {
  const found = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2}))?$/.exec(text);
  if (!found) return null;
  const [years, months, dates, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const day = dayOf(years, months, dates);
  const { month, date } = civil(day);
  if (month !== months || date !== dates || hours > 23 || minutes > 59 || seconds > 60) return null;
  return day * dayLength + ((hours * 60 + minutes) * 60 + Math.min(seconds, 59)) * 1000;
}
