/**
 * Converts local clock times of a zone to intervals of UTC (specification 2.5, contract 5.1). Pure: without the database,
 * with the time zone data of the runtime.
 *
 * A **local date** is `YYYY-MM-DD`, a **clock time** `HH:MM`, "24:00" included.
 */

import { dateText, dayLength, isoWeekdayOf, minutesOf, readDate } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { zoneFor } from '../time/zones.ts';

/** Clock times; if `closes` is not after `opens`, it is on the next day. */
export type Period = { opens: string; closes: string };

export type OpeningRule = Period & {
  /** 1 = Monday … 7 = Sunday: the days on which the interval starts. */
  weekdays: readonly number[];
  /** Local dates, inclusive. */
  validFrom: string | null;
  validTo: string | null;
};

export type OpeningException = {
  /** Local dates, inclusive. */
  fromDate: string;
  toDate: string;
  closed: boolean;
  periods: readonly Period[];
};

/** The first of several exceptions for a date applies. */
export type Hours = { rules: readonly OpeningRule[]; exceptions: readonly OpeningException[] };

export type OpenInterval = Period & {
  /** The date on which the interval starts. */
  localDate: string;
  start: Date;
  end: Date;
  source: 'Weekly' | 'Exception';
  /** Whether the clocks change on its local date or during it. */
  clockChange: boolean;
};

const covers = ({ fromDate, toDate }: OpeningException, date: string) => fromDate <= date && date <= toDate;

/** The periods that start on this local date, in clock times. */
function listPeriods(
  hours: Hours,
  day: number,
  date: string,
): { source: OpenInterval['source']; periods: readonly Period[] } {
  const exception = hours.exceptions.find((candidate) => covers(candidate, date));
  if (exception) return { source: 'Exception', periods: exception.closed ? [] : exception.periods };
  const weekday = isoWeekdayOf(day);
  const periods = hours.rules.filter(
    ({ weekdays, validFrom, validTo }) =>
      weekdays.includes(weekday) && (validFrom ?? date) <= date && date <= (validTo ?? date),
  );
  return { source: 'Weekly', periods };
}

/**
 * Lists the intervals that start on the local dates `fromDate` … `toDate` (inclusive), in order of their start, without
 * merging intervals of overlapping rules.
 *
 * An exception replaces every interval that starts on its dates; a closed one also ends the night before at 00:00. If the
 * clocks show a time twice, opening is the earlier instant and closing the later; if they skip it, both are the instant
 * of the change. Empty intervals are dropped.
 * @param timeZone an IANA zone
 */
export function openIntervals(hours: Hours, timeZone: string, fromDate: string, toDate: string): OpenInterval[] {
  const zone = zoneFor(timeZone);
  const [first, last] = [readDate(fromDate), readDate(toDate)];
  // One day more on each side than offsets and nights can reach.
  const [, ...changes] = zone.offsetsIn((first - 2) * dayLength, (last + 4) * dayLength);
  const dayAfter = dateText(last + 1);
  const near = {
    rules: hours.rules,
    exceptions: hours.exceptions.filter((one) => one.fromDate <= dayAfter && fromDate <= one.toDate),
  };
  const intervals: OpenInterval[] = [];
  for (let day = first; day <= last; day++) {
    const localDate = dateText(day);
    const { source, periods } = listPeriods(near, day, localDate);
    if (periods.length === 0) continue;
    const tomorrow = dateText(day + 1);
    const midnight = day * dayLength;
    const dayStart = zone.earliest(midnight);
    const dayEnd = zone.earliest(midnight + dayLength);
    const cut = near.exceptions.find((candidate) => covers(candidate, tomorrow))?.closed
      ? dayEnd
      : Number.POSITIVE_INFINITY;
    for (const { opens, closes } of periods) {
      const overnight = closes <= opens ? dayLength : 0;
      const start = zone.earliest(midnight + minutesOf(opens) * minute);
      const end = Math.min(zone.latest(midnight + overnight + minutesOf(closes) * minute), cut);
      if (end <= start) continue;
      const clockChange = changes.some(({ from }) => dayStart <= from && (from < dayEnd || from <= end));
      intervals.push({
        localDate,
        opens,
        closes,
        source,
        clockChange,
        start: new Date(start),
        end: new Date(end),
      });
    }
  }
  return intervals.sort((one, other) => Number(one.start) - Number(other.start) || Number(one.end) - Number(other.end));
}
