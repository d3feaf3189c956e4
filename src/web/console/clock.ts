/** Local clock times of the rooms' zones, which need not be the browser's. */
import { instantOf as findInstant, isShownTwice } from '../../time/clock-changes.ts';
import { addDays, dateText, dayLength, isoWeekdayOf, minutesOf, readDate } from '../../time/days.ts';
import { minute } from '../../time/durations.ts';
import { named, zoneName } from '../zone-names.ts';
import { locale } from './look.ts';

export const dayMinutes = 1440;

const kept = new Map<string, Intl.DateTimeFormat>();

/** Formats are slow to make. */
function format(tag: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${tag} ${JSON.stringify(options)}`;
  const known = kept.get(key) ?? new Intl.DateTimeFormat(tag, options);
  kept.set(key, known);
  return known;
}

const allParts: Intl.DateTimeFormatOptions = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
};

/** How many minutes the clocks of a zone are ahead of UTC. */
export function offsetAt(timeZone: string, at: number): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of format('en-US', { ...allParts, timeZone }).formatToParts(at))
    parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute: minutes = 0, second = 0 } = parts;
  return Math.round((Date.UTC(year, month - 1, day, hour, minutes, second) - Math.floor(at / 1000) * 1000) / minute);
}

/** The local date of an instant: 2026-11-22. */
export const dayAt = (timeZone: string, at: number): string =>
  new Date(at + offsetAt(timeZone, at) * minute).toISOString().slice(0, 10);

/** Minutes since local midnight, by the clock. */
export function minutesAt(timeZone: string, at: number): number {
  const local = at + offsetAt(timeZone, at) * minute;
  return Math.floor((local % dayLength) / minute);
}

const millisecondsAhead = (timeZone: string) => (at: number) => offsetAt(timeZone, at) * minute;

/** The instant of a local time, which is minutes after the midnight of a day. */
export const instantOf = (timeZone: string, day: string, minutes: number): number =>
  findInstant(millisecondsAhead(timeZone), Date.parse(`${day}T00:00:00Z`) + minutes * minute);

export const daysBetween = (from: string, to: string): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / dayLength);

/** From 1, Monday, to 7, Sunday. */
export const weekdayOf = (day: string): number => isoWeekdayOf(readDate(day));
/** The Monday of the week. */
export const mondayOf = (day: string): string => addDays(day, 1 - weekdayOf(day));

/** Whether a text is a date of the calendar, which 2026-02-30 is not. */
export function isDay(text: string | undefined): text is string {
  const at = text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(at) && dateText(at / dayLength) === text;
}

const two = (n: number) => String(Math.floor(n)).padStart(2, '0');

/** Minutes since some midnight, which may be that of a later day, as 09:30. */
export function clockText(minutes: number): string {
  const ofDay = ((minutes % dayMinutes) + dayMinutes) % dayMinutes;
  return `${two(ofDay / 60)}:${two(ofDay % 60)}`;
}

const changes = new Map<string, boolean>();

/** Whether the clocks of a zone change around that day; cached, because a page shows thousands of times. */
function isNearChange(timeZone: string, at: number): boolean {
  const day = Math.floor(at / dayLength);
  const key = `${timeZone} ${day}`;
  let known = changes.get(key);
  if (known === undefined) {
    const [before, after] = [(day - 1) * dayLength, (day + 2) * dayLength];
    changes.set(key, (known = offsetAt(timeZone, before) !== offsetAt(timeZone, after)));
  }
  return known;
}

/** The clock time of an instant, with the name of the zone if its clocks show it twice. @param time the clock time */
export const timeText = (timeZone: string, at: number, time = clockText(minutesAt(timeZone, at))): string =>
  isNearChange(timeZone, at) && isShownTwice(millisecondsAhead(timeZone), at)
    ? named(time, zoneText(timeZone, at))
    : time;

/** A local date for people. */
export const dayText = (day: string, style: 'full' | 'medium' | 'short' = 'full'): string =>
  format(locale.value, {
    timeZone: 'UTC',
    weekday: style === 'full' ? 'long' : 'short',
    day: 'numeric',
    month: style === 'full' ? 'long' : 'numeric',
    ...(style !== 'short' && { year: 'numeric' }),
  }).format(Date.parse(`${day}T00:00:00Z`));

/** An instant for people, with its date. */
export const momentText = (timeZone: string, at: number): string =>
  `${dayText(dayAt(timeZone, at), 'medium')}, ${timeText(timeZone, at)}`;

/** An instant of the API for people, in the viewer's zone unless another is given. */
export const moment = (at: string, timeZone = ownZone): string => momentText(timeZone, Date.parse(at));

/** A moment in the viewer's zone, or what is said without one. */
export const momentOr = (at: string | null | undefined, otherwise = ''): string => (at ? moment(at) : otherwise);

/** A range of instants; its end has a date if that differs from the date of the start. */
export const rangeIn = (timeZone: string, start: string, end: string): string => {
  const [from, to] = [Date.parse(start), Date.parse(end)];
  return `${momentText(timeZone, from)}–${dayAt(timeZone, from) === dayAt(timeZone, to) ? timeText(timeZone, to) : momentText(timeZone, to)}`;
};

/** A text of the server with its spans, such as `2027-02-01 07:15-08:45 UTC`, as local times. */
export const withLocalTimes = (timeZone: string, text: string): string =>
  text.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d)-(\d\d:\d\d) UTC/g, (_, day: string, start: string, end: string) =>
    rangeIn(timeZone, `${day}T${start}Z`, `${end > start ? day : addDays(day, 1)}T${end}Z`),
  );

/** The short name of a zone at an instant: MEZ. */
export const zoneText = (timeZone: string, at: number): string => zoneName(locale.value, timeZone, at);

export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The value of an input of type datetime-local, in the zone. */
export const toInput = (timeZone: string, at: number): string =>
  `${dayAt(timeZone, at)}T${clockText(minutesAt(timeZone, at))}`;
export const fromInput = (timeZone: string, text: string): number =>
  instantOf(timeZone, text.slice(0, 10), minutesOf(text.slice(11)));

/** Turns instants into minutes since the local midnight of a day. The days share one offset unless the clocks change in them. */
export function makeRuler(timeZone: string, day: string, days: number): (at: number) => number {
  const start = Date.parse(`${day}T00:00:00Z`);
  const [before, after] = [start - dayLength, start + (days + 1) * dayLength];
  const offset = offsetAt(timeZone, before);
  const isConstant = offset === offsetAt(timeZone, after);
  return (at) => (at - start) / minute + (isConstant ? offset : offsetAt(timeZone, at));
}
