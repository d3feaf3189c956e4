/** When the occurrences of a series are. */
import { addDays, dayMs, toInstant, toLocal, weekday } from './zones.ts';

export const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
export type DayName = (typeof dayNames)[number];

export type Repeat = {
  every: 'day' | 'week' | 'month';
  interval?: number;
  /** Of weeks; that of the first one when absent. */
  days?: DayName[];
  /** One of both, or neither: it does not end. */
  count?: number;
  /** A local date, inclusive. */
  until?: string;
};

/** A series that does not end is written down this far. */
const longest = 1_200;

function* datesOf(first: string, { every, interval = 1, days }: Repeat): Generator<string> {
  const wanted = new Set((days ?? [dayNames[weekday(first)]!]).map((day) => dayNames.indexOf(day)));
  const monday = addDays(first, -((weekday(first) + 6) % 7));
  for (let step = 0; ; step += interval) {
    if (every === 'day') yield addDays(first, step);
    else if (every === 'week') {
      for (let day = 0; day < 7; day++) {
        const date = addDays(monday, step * 7 + day);
        if (date >= first && wanted.has(weekday(date))) yield date;
      }
    } else {
      const [year, month, day] = first.split('-').map(Number) as [number, number, number];
      const last = new Date(Date.UTC(year, month + step, 0)).getUTCDate();
      // Exchange takes the last day of a month that is too short.
      yield new Date(Date.UTC(year, month - 1 + step, Math.min(day, last))).toISOString().slice(0, 10);
    }
  }
}

/** The starts of all occurrences, by the clock of their zone. */
export function startsOf(start: number, zone: string, repeat: Repeat): number[] {
  const local = toLocal(start, zone);
  const starts: number[] = [];
  for (const date of datesOf(local.slice(0, 10), repeat)) {
    if (starts.length >= Math.min(repeat.count ?? longest, longest)) break;
    if (repeat.until && date > repeat.until) break;
    starts.push(toInstant(`${date}${local.slice(10)}`, zone));
  }
  return starts;
}

/** The end of an occurrence: whole days stay whole when the clocks change. */
export function endOf(start: number, length: number, isWholeDay: boolean, zone: string): number {
  if (!isWholeDay) return start + length;
  return toInstant(addDays(toLocal(start, zone).slice(0, 10), Math.round(length / dayMs)), zone);
}
