/**
 * Local clock times of a zone as intervals of UTC (specification 2.5, contract 5.1). Pure: nothing here knows the
 * database, and the time zone data is that of the runtime.
 *
 * A **local date** is `YYYY-MM-DD`, a **clock time** `HH:MM`, "24:00" included.
 */
import { Temporal } from 'temporal-polyfill';
import { zoneFor } from '../zones.ts';

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

/** A stretch of time with one offset; all in milliseconds. */
type Segment = { from: number; to: number; offset: number };

const minute = 60_000;
const day = 24 * 60 * minute;

/** A local date as the milliseconds that its midnight would be in UTC. */
const midnightOf = (date: string) => Date.parse(`${date}T00:00Z`);
const dateOf = (midnight: number) => new Date(midnight).toISOString().slice(0, 10);
export const minutesOf = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

/** The local date so many days later. */
export const addDays = (date: string, days: number) => dateOf(midnightOf(date) + days * day);

/** The offsets of a zone around [from, to], without gaps. */
function listSegments(timeZone: string, from: number, to: number): Segment[] {
  const segments: Segment[] = [];
  let at = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zoneFor(timeZone));
  let start = Number.NEGATIVE_INFINITY;
  for (;;) {
    const offset = at.offsetNanoseconds / 1e6;
    const next = at.getTimeZoneTransition('next');
    if (!next || next.epochMilliseconds > to)
      return [...segments, { from: start, to: Number.POSITIVE_INFINITY, offset }];
    segments.push({ from: start, to: next.epochMilliseconds, offset });
    start = next.epochMilliseconds;
    at = next;
  }
}

/** The offsets of a zone in [from, to): the first one from `from` on, each other one from its change of the clocks on. */
export function listOffsets(
  timeZone: string,
  from: number,
  to: number,
): { from: number; offsetMinutes: number }[] {
  return listSegments(timeZone, from, to - 1).map((segment) => ({
    from: Math.max(segment.from, from),
    offsetMinutes: segment.offset / minute,
  }));
}

/** The first instant that shows this local time or, where the clocks skip it, the instant at which they do. */
function earliest(segments: readonly Segment[], local: number): number {
  const segment = segments.find(({ to, offset }) => local - offset < to)!;
  return Math.max(local - segment.offset, segment.from);
}

/** The same with the last instant of a local time that the clocks show twice. */
function latest(segments: readonly Segment[], local: number): number {
  const segment = segments.findLast(({ from, offset }) => from <= local - offset)!;
  return Math.min(local - segment.offset, segment.to);
}

const covers = ({ fromDate, toDate }: OpeningException, date: string) => fromDate <= date && date <= toDate;

/** When it is open on the intervals that start on this local date, before any clock is looked at. */
function listPeriods(
  hours: Hours,
  midnight: number,
): { source: OpenInterval['source']; periods: readonly Period[] } {
  const date = dateOf(midnight);
  const exception = hours.exceptions.find((candidate) => covers(candidate, date));
  if (exception) return { source: 'Exception', periods: exception.closed ? [] : exception.periods };
  const weekday = new Date(midnight).getUTCDay() || 7;
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
export function openIntervals(
  hours: Hours,
  timeZone: string,
  fromDate: string,
  toDate: string,
): OpenInterval[] {
  const first = midnightOf(fromDate);
  const last = midnightOf(toDate);
  // A day more on each side than offsets and nights can reach.
  const segments = listSegments(timeZone, first - 2 * day, last + 4 * day);
  const intervals: OpenInterval[] = [];
  for (let midnight = first; midnight <= last; midnight += day) {
    const localDate = dateOf(midnight);
    const tomorrow = dateOf(midnight + day);
    const { source, periods } = listPeriods(hours, midnight);
    if (periods.length === 0) continue;
    const dayStart = earliest(segments, midnight);
    const dayEnd = earliest(segments, midnight + day);
    const cut = hours.exceptions.find((candidate) => covers(candidate, tomorrow))?.closed
      ? dayEnd
      : Number.POSITIVE_INFINITY;
    for (const { opens, closes } of periods) {
      const overnight = closes <= opens ? day : 0;
      const start = earliest(segments, midnight + minutesOf(opens) * minute);
      const end = Math.min(latest(segments, midnight + overnight + minutesOf(closes) * minute), cut);
      if (end <= start) continue;
      const clockChange = segments.some(({ from }) => dayStart <= from && (from < dayEnd || from <= end));
      intervals.push({
        ...{ localDate, opens, closes, source, clockChange },
        start: new Date(start),
        end: new Date(end),
      });
    }
  }
  return intervals.sort(
    (one, other) => Number(one.start) - Number(other.start) || Number(one.end) - Number(other.end),
  );
}

/** The local date that the clocks of a zone show at an instant. */
export function localDateOf(instant: Date, timeZone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(instant.getTime())
    .toZonedDateTimeISO(zoneFor(timeZone))
    .toPlainDate()
    .toString();
}

/** The first instant of a local date, also where the clocks skip its midnight. @throws RangeError for what is no date */
export function startOfDate(date: string, timeZone: string): Date {
  return new Date(Temporal.PlainDate.from(date).toZonedDateTime(zoneFor(timeZone)).epochMilliseconds);
}
