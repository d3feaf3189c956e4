/** Reads the times of a component: its start, its length, and the occurrences of a series (RFC 5545, 3.8.2 and 3.8.5). */
import { dayLength, dayOfWall, timeOfWall, type Wall } from '../time/days.ts';
import {
  contentOf,
  type IcalComponent,
  type IcalLength,
  type IcalProperty,
  propertiesOf,
  propertyOf,
  readDuration,
  Unreadable,
} from '../time/ical-lines.ts';
import { type DaySearch, fitsClock, listDays, type Rule, readRule } from '../time/rule.ts';
import { utc, type Zone } from '../time/zone.ts';
import { type IcalZones, readWall } from './ical-zones.ts';

/** A date, or a time on the clocks of a zone. */
export type IcalMoment = {
  wall: Wall;
  /** Null for a date. */
  zone: Zone | null;
  /** Whether the text names no zone, so that `zone` is the room's. */
  isFloating: boolean;
};

export type IcalSpan = { start: number; end: number };

export function readMoment({ name, parameters, value }: IcalProperty, zones: IcalZones): IcalMoment {
  if (parameters.get('VALUE')?.toUpperCase() === 'DATE' || /^\d{8}$/.test(value))
    return { wall: readWall(value.slice(0, 8)), zone: null, isFloating: false };
  if (!/^\d{8}T\d{6}Z?$/.test(value)) throw new Unreadable(`its ${name} is not a time`);
  if (value.endsWith('Z')) return { wall: readWall(value.slice(0, -1)), zone: utc, isFloating: false };
  const tzid = parameters.get('TZID') ?? null;
  return { wall: readWall(value), zone: zones(tzid), isFloating: tzid === null };
}

/** The instant of a moment; for a date, its midnight in UTC. */
export function instantOf({ wall, zone }: IcalMoment): number {
  return zone === null ? wall : zone.instantOf(wall);
}

function getDuration(text: string): IcalLength {
  const length = readDuration(text);
  if (!length) throw new Unreadable('its DURATION is not a duration');
  return length;
}

/** @returns null where the component has neither DTEND nor DURATION */
export function readLength(component: IcalComponent, start: IcalMoment, zones: IcalZones): IcalLength | null {
  const end = propertyOf(component, 'DTEND');
  if (end) {
    const moment = readMoment(end, zones);
    if ((moment.zone === null) !== (start.zone === null))
      throw new Unreadable('only one of its start and end has a time');
    if (moment.zone === null) return { days: (moment.wall - start.wall) / dayLength, exact: 0 };
    return { days: 0, exact: instantOf(moment) - instantOf(start) };
  }
  const duration = contentOf(component, 'DURATION');
  return duration === undefined ? null : getDuration(duration);
}

/** Adds a length to a start: its days are local days, the rest is exact (RFC 5545, 3.8.5.3). */
export function spanOf(start: IcalMoment, length: IcalLength | null): IcalSpan {
  const { days, exact } = length ?? { days: start.zone === null ? 1 : 0, exact: 0 };
  const end = instantOf({ ...start, wall: start.wall + days * dayLength }) + exact;
  return { start: instantOf(start), end };
}

/** Converts a moment to the type of the series: to a date in a series of dates, otherwise to a local time. */
function alignTo(series: IcalMoment, moment: IcalMoment): IcalMoment {
  if (series.zone === null) return { ...series, wall: dayOfWall(moment.wall) * dayLength };
  if (moment.zone === null) return { ...series, wall: moment.wall + timeOfWall(series.wall) };
  return moment.isFloating ? { ...series, wall: moment.wall } : moment;
}

/** Reads the original start of the occurrence that an exception replaces, and whether it replaces all later ones too (3.2.13). */
export function readOriginal(
  property: IcalProperty,
  series: IcalMoment | null,
  zones: IcalZones,
): { original: IcalMoment; isRange: boolean } {
  const range = property.parameters.get('RANGE')?.toUpperCase();
  if (range !== undefined && range !== 'THISANDFUTURE')
    throw new Unreadable('it has an exception for occurrences before it');
  const moment = readMoment(property, zones);
  return { original: series ? alignTo(series, moment) : moment, isRange: range !== undefined };
}

/** The local time of a moment in `zone`; its date if `zone` is null. */
function wallIn(zone: Zone | null, moment: IcalMoment): Wall {
  if (zone === null) return dayOfWall(moment.wall) * dayLength;
  return moment.zone === null || moment.zone === zone ? moment.wall : zone.wallOf(instantOf(moment));
}

/** Moves an occurrence by the local time by which another one was moved, from `from` to `to`. */
export function moveAlike(occurrence: IcalMoment, from: IcalMoment, to: IcalMoment): IcalMoment {
  return { ...to, wall: wallIn(to.zone, occurrence) + to.wall - wallIn(to.zone, from) };
}

const mostDates = 2_000;

type Dated = { moment: IcalMoment; length: () => IcalLength | null };

/** Reads EXDATE or RDATE, in the type of the series. */
function readDates(component: IcalComponent, name: 'EXDATE' | 'RDATE', series: IcalMoment, zones: IcalZones): Dated[] {
  const texts = propertiesOf(component, name).flatMap(({ value, ...property }) =>
    value.split(',', mostDates + 1).map((text) => ({ ...property, value: text.trim() })),
  );
  if (texts.length > mostDates) throw new Unreadable(`it has more than ${mostDates} values of ${name}`);
  return texts.filter(({ value }) => value !== '').map((each) => readDate(each, series, zones));
}

/** Reads a date, a time, or a period (3.3.9), which has its own length. */
function readDate(property: IcalProperty, series: IcalMoment, zones: IcalZones): Dated {
  const [start = '', end] = property.value.split('/', 2);
  if (end === undefined) return { moment: alignTo(series, readMoment(property, zones)), length: () => null };
  const parameters = withoutValue(property.parameters);
  const moment = alignTo(series, readMoment({ ...property, parameters, value: start }, zones));
  if (/^[+-]?P/.test(end)) return { moment, length: () => getDuration(end) };
  const until = readMoment({ ...property, parameters, value: end }, zones);
  return { moment, length: () => ({ days: 0, exact: instantOf(until) - instantOf(moment) }) };
}

function withoutValue(parameters: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...parameters].filter(([name]) => name !== 'VALUE'));
}

/** The last local time and the last instant of a rule. */
function readUntil(rule: Rule, start: IcalMoment): { wall: Wall; instant: number } {
  const never = Number.POSITIVE_INFINITY;
  if (rule.until === null) return { wall: never, instant: never };
  if (!rule.until.includes('T')) return { wall: readWall(rule.until) + dayLength - 1, instant: never };
  const wall = readWall(rule.until.replace('Z', ''));
  // Outlook writes its local midnight in UTC, which may be the evening before.
  if (start.zone === null) return { wall: Math.floor(wall / dayLength + 0.5) * dayLength, instant: never };
  return rule.until.endsWith('Z') ? { wall: never, instant: wall } : { wall, instant: never };
}

/** Reads EXDATE. @returns a function that says whether the series excludes the occurrence with this original start */
export function readExcluded(
  component: IcalComponent,
  start: IcalMoment,
  zones: IcalZones,
): (original: number) => boolean {
  // Dates are converted to instants when their day is asked for, as a series may have thousands.
  const byDay = new Map<number, IcalMoment[]>();
  for (const { moment } of readDates(component, 'EXDATE', start, zones)) {
    const day = dayOfWall(moment.wall);
    const others = byDay.get(day);
    if (others) others.push(moment);
    else byDay.set(day, [moment]);
  }
  const instants = new Map<number, Set<number>>();
  function instantsOf(day: number): Set<number> {
    let found = instants.get(day);
    if (!found) instants.set(day, (found = new Set(byDay.get(day)?.map(instantOf))));
    return found;
  }
  return (original) => {
    const day = dayOfWall(original);
    return [day - 1, day, day + 1].some((each) => byDay.has(each) && instantsOf(each).has(original));
  };
}

export type IcalOccurrence = { original: number; start: IcalMoment; length: IcalLength | null };

const mostOccurrences = 3_000;
const firstYear = Date.UTC(1900, 0);

/**
 * Lists the occurrences of a series that originally begin between the local times `from` and `to`, including those that are
 * replaced by exceptions or excluded by EXDATE.
 */
export function listOccurrences(
  component: IcalComponent,
  start: IcalMoment,
  zones: IcalZones,
  { from, to }: { from: Wall; to: Wall },
  search: DaySearch | undefined,
): IcalOccurrence[] {
  if (start.wall < firstYear) throw new Unreadable('its series begins before 1900');
  if (contentOf(component, 'EXRULE') !== undefined) throw new Unreadable('it has an EXRULE, which is not supported');
  const rules = propertiesOf(component, 'RRULE').map(({ value }) => readRule(value));
  if (rules.length > 1) throw new Unreadable('it has more than one rule');
  const occurrences = new Map<number, IcalOccurrence>();
  const add = (moment: IcalMoment, length: IcalLength | null) => {
    const original = instantOf(moment);
    occurrences.set(original, { original, start: moment, length });
    if (occurrences.size > mostOccurrences) throw new Unreadable(`it has more than ${mostOccurrences} occurrences`);
  };
  add(start, null);
  for (const rule of rules) {
    if (start.zone !== null && !fitsClock(rule, start.wall))
      throw new Unreadable('it repeats at other times of the day than its start');
    const until = readUntil(rule, start);
    const time = timeOfWall(start.wall);
    const last = dayOfWall(Math.min(to, until.wall, until.instant + dayLength));
    for (const day of listDays(rule, dayOfWall(start.wall), dayOfWall(from), last, search)) {
      const moment = { ...start, wall: day * dayLength + time };
      if (moment.wall <= until.wall && instantOf(moment) <= until.instant) add(moment, null);
    }
  }
  for (const { moment, length } of readDates(component, 'RDATE', start, zones))
    if (moment.wall >= from && moment.wall <= to) add(moment, length());
  return [...occurrences.values()];
}
