/** Dates of the calendar as numbers of days since 1970, and clocks by themselves, without any zone. */

/** In milliseconds. */
export const dayLength = 86_400_000;

/** What clocks show, as the instant at which clocks in UTC would, in milliseconds. */
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

/** The day of a date; of one beyond the end of its month, as many days later. Months count from 1 and may run over. */
export function dayOf(year: number, month: number, date: number): number {
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, date);
  return at.getTime() / dayLength;
}

/** 0 = Sunday … 6 = Saturday. */
export const weekdayOf = (day: number): number => (((day + 4) % 7) + 7) % 7;

/** The first day of week 1 of a year, the first week with at least four days in it (RFC 5545, 3.3.10). */
function firstWeek(year: number, weekStart: number): number {
  const newYear = dayOf(year, 1, 1);
  const since = (weekdayOf(newYear) - weekStart + 7) % 7;
  return since <= 3 ? newYear - since : newYear - since + 7;
}

/** The week of a day, the year that counts it, and how many weeks this has; with Monday as `weekStart` those of ISO 8601. */
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

/** The day of a date `2026-12-01`. @throws RangeError for what is no date of the calendar */
export function readDate(text: string): number {
  const at = Date.parse(`${text}T00:00Z`);
  if (dateText(at / dayLength) !== text) throw new RangeError(`${text} is no date`);
  return at / dayLength;
}

export const dateText = (day: number): string => new Date(day * dayLength).toISOString().slice(0, 10);

/** The date so many days later. */
export const addDays = (date: string, days: number): string => dateText(readDate(date) + days);

/** Of a clock time `09:30`, "24:00" included. */
export const minutesOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

/** What `20261201T093000` shows, or the midnight of `20261201`; null for what is not in the calendar. */
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
