/** Reads an event of iCalendar (RFC 5545). */
import { createHash } from 'node:crypto';
import { dayLength, readWall, timeOfWall } from '../time/days.ts';
import {
  contentOf,
  type IcalComponent,
  type IcalProperty,
  propertiesOf,
  propertyOf,
  readDuration,
  readText,
} from '../time/ical-lines.ts';
import { fitsClock, readRule, WrongRule } from '../time/rule.ts';
import { ofWindows } from '../time/windows-zones.ts';
import { isTimeZone, wallBetween } from '../time/zones.ts';
import { type EventEntry, listOf } from './entries.ts';
import { shown, UnreadableFile } from './faults.ts';
import type { FileReading } from './file-reading.ts';

/** The most recurrence rules: each may have to be expanded over years. */
const mostRules = 2_000;
/** The most dates that an event adds to its rule, and that it excludes. */
const mostDates = 2_000;

/** Where a property stands, and where its parameters or its value begin. */
export type PropertyPlace = { line: number; column: number };

/** `series` counts the events with a rule. */
export type IcalReading = FileReading & { series: { count: number } };

/** An event that begins at a line, and where its properties stand. */
type EventReading = IcalReading & {
  component: IcalComponent;
  line: number;
  places: ReadonlyMap<string, PropertyPlace>;
};

/** The start of an event, in which most programs write all its times, but not all programs. */
type Start = { zone: string; wall: number };

/** Thrown once a fault of an event is reported: reading continues with the next event. */
export class SkippedEvent extends Error {}

const placeOf = ({ file, line, places }: EventReading, field: string) => ({ file, line, ...places.get(field), field });

function stop(event: EventReading, field: string, code: string, message: string): never {
  event.report.fault(placeOf(event, field), code, message);
  throw new SkippedEvent();
}

const hasTime = ({ value }: IcalProperty) => value.includes('T');
const isUtc = (value: string) => value.trim().endsWith('Z');

const textOf = ({ component }: EventReading, name: string) => readText(contentOf(component, name) ?? '').trim();

const roomsOf = (event: EventReading) => listOf(textOf(event, 'LOCATION'), /~/);

/** An event without a UID, or with a mere counter as its UID, is identified by its content. */
function keyOf(event: EventReading): string {
  const uid = textOf(event, 'UID');
  if (uid.length > 4) return uid;
  const content = `${textOf(event, 'SUMMARY')}\n${roomsOf(event).join('~')}`;
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

function zoneOf(event: EventReading, property: IcalProperty, value = property.value): string {
  if (isUtc(value)) return 'UTC';
  const named = property.parameters.get('TZID')?.replace(/^\//, '');
  if (named === undefined) return event.term.zoneName;
  const known = isTimeZone(named) ? named : ofWindows(named);
  const message = `the time zone ${shown(named)} is unknown; export with IANA names such as Europe/Berlin`;
  return known ?? stop(event, property.name, 'UnknownTimeZone', message);
}

function wallOf(event: EventReading, property: IcalProperty, value = property.value): number {
  return (
    readWall(value.trim().replace(/Z$/, '')) ??
    stop(event, property.name, 'InvalidDate', `${shown(value)} is not a date and time such as 20270315T080000`)
  );
}

/** A time in the zone of the start. */
function alignedWallOf(event: EventReading, start: Start, property: IcalProperty, value = property.value): number {
  const written = wallOf(event, property, value);
  if (!value.includes('T')) return written + timeOfWall(start.wall);
  const isFloating = !isUtc(value) && !property.parameters.has('TZID');
  return isFloating ? written : wallBetween(zoneOf(event, property, value), start.zone, written);
}

/** The times of all properties of a name, which hold lists. */
function wallsOf(event: EventReading, start: Start, name: string): number[] {
  const walls = propertiesOf(event.component, name).flatMap((property) =>
    property.value.split(',').map((value) => alignedWallOf(event, start, property, value)),
  );
  return walls.length <= mostDates ? walls : stop(event, name, 'InvalidRule', `it names more than ${mostDates} dates`);
}

function lengthOf(event: EventReading, { zone, wall }: Start): number {
  const { component, places } = event;
  const end = propertyOf(component, 'DTEND');
  const written = end ? undefined : readDuration(contentOf(component, 'DURATION') ?? 'PT0S');
  const length = end ? wallOf(event, end) - wall : written && written.days * dayLength + written.exact;
  if (end && zoneOf(event, end) !== zone)
    stop(event, 'DTEND', 'InvalidTime', 'the event begins in one time zone and ends in another');
  if (length !== undefined && length > 0 && length <= dayLength) return length;
  const field = !end && places.has('DURATION') ? 'DURATION' : 'DTEND';
  return stop(event, field, 'InvalidTime', 'the event must end after it begins, by at most 24 hours');
}

function ruleOf(event: EventReading, { wall }: Start): string | null {
  const { component, term, report, series } = event;
  const refuse = (message: string, field = 'RRULE') => stop(event, field, 'InvalidRule', message);
  const rule = contentOf(component, 'RRULE');
  if (propertiesOf(component, 'RRULE').length > 1) refuse('it has more than one rule');
  if (contentOf(component, 'EXRULE') !== undefined)
    refuse('it has an EXRULE, which is not supported; export the exceptions as EXDATE', 'EXRULE');
  if (rule === undefined) return null;
  if (++series.count > mostRules) {
    report.fault(placeOf(event, 'RRULE'), 'TooManyLines', `more than ${mostRules} events that repeat`);
    throw new UnreadableFile();
  }
  try {
    const read = readRule(rule);
    if (!term.hasTerm && read.count === null && read.until === null) refuse('it repeats without an end; send a term');
    if (!fitsClock(read, wall)) refuse('it repeats at other times of the day than its start');
  } catch (error) {
    if (!(error instanceof WrongRule)) throw error;
    refuse(error.message);
  }
  return rule;
}

/** The property that names the start of the occurrence that an event with times replaces. */
function findReplaced(event: EventReading): IcalProperty | undefined {
  const replaced = propertyOf(event.component, 'RECURRENCE-ID');
  const refuse = (code: string, message: string) => stop(event, 'RECURRENCE-ID', code, message);
  if (replaced?.parameters.has('RANGE'))
    refuse('InvalidRule', 'it changes all later occurrences too (RANGE); export each of them, or another series');
  if (replaced && !hasTime(replaced)) refuse('InvalidDate', 'it names a day, but its series has times');
  return replaced;
}

/** An event that takes up no room. */
const nothing = {
  kind: 'event',
  title: '',
  length: 0,
  rule: null,
  rooms: [],
  excluded: [],
  added: [],
  subject: '',
  classes: [],
  teachers: [],
} as const;

/** An event of whole days is no lesson; an occurrence that it replaces does not take place. */
function readWholeDays(event: EventReading): EventEntry | undefined {
  const { file, line, report, component } = event;
  report.notice({ file, line }, 'WholeDay', 'The event lasts whole days and is left out; a lesson has times');
  const replaced = propertyOf(component, 'RECURRENCE-ID');
  if (!replaced || !hasTime(replaced)) return undefined;
  const was = wallOf(event, replaced);
  return { ...nothing, file, line, zone: zoneOf(event, replaced), start: was, replaces: was };
}

function readLesson(event: EventReading, written: IcalProperty): EventEntry | undefined {
  const { file, line, report, component } = event;
  const start = { zone: zoneOf(event, written), wall: wallOf(event, written) };
  const length = lengthOf(event, start);
  const rule = ruleOf(event, start);
  const [title, rooms] = [textOf(event, 'SUMMARY'), roomsOf(event)];
  if (rooms.length === 0)
    report.notice(
      { file, line },
      'WithoutRoom',
      `Event ${shown(title)} has no LOCATION and is left out; a lesson names its room there`,
    );
  const replaced = findReplaced(event);
  const isCancelled = contentOf(component, 'STATUS')?.trim().toUpperCase() === 'CANCELLED';
  const entry: EventEntry = {
    ...nothing,
    file,
    line,
    title,
    zone: start.zone,
    start: start.wall,
    length,
    rule,
    excluded: wallsOf(event, start, 'EXDATE'),
    added: wallsOf(event, start, 'RDATE'),
    replaces: replaced ? alignedWallOf(event, start, replaced) : null,
    rooms,
    subject: listOf(textOf(event, 'CATEGORIES'), /,/)[0] ?? '',
    ...(isCancelled && { status: 'Entfaellt' }),
  };
  // An occurrence that has lost its room does not stay in its former one.
  return rooms.length > 0 || replaced ? entry : undefined;
}

/** @throws SkippedEvent once a fault of the event is reported, UnreadableFile once one of the file is */
export async function takeEvent(event: EventReading): Promise<void> {
  const start =
    propertyOf(event.component, 'DTSTART') ?? stop(event, 'DTSTART', 'MissingValue', 'the event has no start');
  const entry = hasTime(start) ? readLesson(event, start) : readWholeDays(event);
  if (entry) await event.take(keyOf(event), entry);
}
