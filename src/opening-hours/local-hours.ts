/**
 * Local clock times of a zone as intervals of UTC (specification 2.5, contract 5.1). Pure: nothing here knows the
 * database, and the time zone data is that of the runtime.
 *
 * A **local date** is `YYYY-MM-DD`, a **clock time** `HH:MM`, "24:00" included.
 */
import { dateText, dayLength, minutesOf, readDate, weekdayOf } from '../time/days.ts';
import { zoneFor } from '../time/zones.ts';

/** From one clock time to another; Closes at or before Opens means the next day. */
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

/** Of several exceptions for a date the first counts. */
export type Hours = { rules: readonly OpeningRule[]; exceptions: readonly OpeningException[] };

export type OpenInterval = Period & {
  /** The date on which it starts. */
  localDate: string;
  start: Date;
  end: Date;
  source: 'Weekly' | 'Exception';
  /** The clocks change on its local date or while it lasts. */
  clockChange: boolean;
};

const minute = 60_000;

const covers = ({ fromDate, toDate }: OpeningException, date: string) => fromDate <= date && date <= toDate;

/** When it is open on the intervals that start on this local date, before any clock is looked at. */
function listPeriods(
  hours: Hours,
  day: number,
  date: string,
): { source: OpenInterval['source']; periods: readonly Period[] } {
  const exception = hours.exceptions.find((candidate) => covers(candidate, date));
  if (exception) return { source: 'Exception', periods: exception.closed ? [] : exception.periods };
  const weekday = weekdayOf(day) || 7;
  const periods = hours.rules.filter(
    ({ weekdays, validFrom, validTo }) =>
      weekdays.includes(weekday) && (validFrom ?? date) <= date && date <= (validTo ?? date),
  );
  return { source: 'Weekly', periods };
}

/**
 * The intervals that start on the local dates `fromDate` … `toDate` (inclusive), in order of their start; intervals of
 * rules that overlap stay apart.
 *
 * An exception replaces every interval that starts on its dates; a closed one also cuts the night before at 00:00. At
 * clock changes opening takes the earlier instant and closing the later, a time that the clocks skip is the instant of
 * the change, and an interval that this leaves empty is dropped.
 * @param timeZone an IANA zone
 */
export function openIntervals(hours: Hours, timeZone: string, fromDate: string, toDate: string): OpenInterval[] {
  const zone = zoneFor(timeZone);
  const [first, last] = [readDate(fromDate), readDate(toDate)];
  // A day more on each side than offsets and nights can reach.
  const [, ...changes] = zone.offsetsIn((first - 2) * dayLength, (last + 4) * dayLength);
  const intervals: OpenInterval[] = [];
  for (let day = first; day <= last; day++) {
    const localDate = dateText(day);
    const { source, periods } = listPeriods(hours, day, localDate);
    if (periods.length === 0) continue;
    const tomorrow = dateText(day + 1);
    const midnight = day * dayLength;
    const dayStart = zone.earliest(midnight);
    const dayEnd = zone.earliest(midnight + dayLength);
    const cut = hours.exceptions.find((candidate) => covers(candidate, tomorrow))?.closed
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
