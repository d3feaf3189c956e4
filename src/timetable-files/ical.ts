/** Reads the events of iCalendar (RFC 5545) one after another. */
import { createHash } from 'node:crypto';
import { dayLength, readWall, timeOfWall } from '../time/days.ts';
import {
  contentOf,
  type IcalComponent,
  type IcalProperty,
  Unreadable as NoCalendar,
  propertiesOf,
  propertyOf,
  readComponents,
  readDuration,
  readText,
} from '../time/ical-lines.ts';
import { fitsClock, readRule, WrongRule } from '../time/rule.ts';
import { ofWindows } from '../time/windows-zones.ts';
import { isTimeZone, wallBetween } from '../time/zones.ts';
import { type EventEntry, listOf, type TakeEntry } from './entries.ts';
import { type FaultReport, shown, UnreadableFile } from './faults.ts';
import type { TermDays } from './term.ts';

const longestLine = 65_536;
const mostEvents = 200_000;
const mostLinesOfEvent = 2_000;
/** The most recurrence rules: each may have to be expanded over years. */
const mostRules = 2_000;
/** The most dates that an event adds to its rule, and that it excludes. */
const mostDates = 2_000;

/** The unfolded lines of a text, each with the number of its first line. @throws UnreadableFile once a fault is reported */
async function* unfold(text: AsyncGenerator<string>, file: number, report: FaultReport) {
  let rest = '';
  let line = 0;
  let held: { line: number; text: string } | undefined;
  const refuse = (): never => {
    report.fault(
      { file, line: line + 1 },
      'LineTooLong',
      `more than ${longestLine} characters; is this the right file?`,
    );
    throw new UnreadableFile();
  };
  async function* lines() {
    for await (const piece of text) {
      const whole = (rest + piece).split('\n');
      rest = whole.pop() ?? '';
      yield* whole;
      if (rest.length > longestLine) refuse();
    }
    if (rest) yield rest;
  }
  for await (const raw of lines()) {
    const written = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    line++;
    if (held && (written.startsWith(' ') || written.startsWith('\t'))) {
      if (held.text.length + written.length > longestLine) refuse();
      held.text += written.slice(1);
    } else {
      if (held) yield held;
      held = { line, text: written };
    }
  }
  if (held) yield held;
}

/** Where a property stands, and where its parameters or its value begin. */
type Place = { line: number; column: number };

const hasTime = ({ value }: IcalProperty) => value.includes('T');

function lengthOf(text: string): number | undefined {
  const length = readDuration(text);
  return length && length.days * dayLength + length.exact;
}

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

export function openIcal(file: number, term: TermDays, report: FaultReport, take: TakeEntry) {
  let rules = 0;
  async function takeEvent(event: IcalComponent, at: number, places: ReadonlyMap<string, Place>): Promise<void> {
    const place = (field: string) => ({ file, line: at, ...places.get(field), field });
    const stop = (field: string, code: string, message: string): never => {
      report.fault(place(field), code, message);
      throw new Skipped();
    };
    const textOf = (name: string) => readText(contentOf(event, name) ?? '').trim();
    const rooms = listOf(textOf('LOCATION'), /~/);
    const title = textOf('SUMMARY');
    /** An event without a UID, or with a mere counter as its UID, is identified by its content. */
    function keyOf(): string {
      const uid = textOf('UID');
      const content = `${title}\n${rooms.join('~')}`;
      return uid.length > 4 ? uid : createHash('sha256').update(content).digest('hex').slice(0, 16);
    }
    const start = propertyOf(event, 'DTSTART');
    if (!start) return stop('DTSTART', 'MissingValue', 'the event has no start');
    const replaced = propertyOf(event, 'RECURRENCE-ID');
    function zoneOf(property: IcalProperty, value = property.value): string {
      if (value.trim().endsWith('Z')) return 'UTC';
      const named = property.parameters.get('TZID')?.replace(/^\//, '');
      if (named === undefined) return term.zoneName;
      const known = isTimeZone(named) ? named : ofWindows(named);
      const message = `the time zone ${shown(named)} is unknown; export with IANA names such as Europe/Berlin`;
      return known ?? stop(property.name, 'UnknownTimeZone', message);
    }
    const wallOf = (property: IcalProperty, value = property.value): number =>
      readWall(value.trim().replace(/Z$/, '')) ??
      stop(property.name, 'InvalidDate', `${shown(value)} is not a date and time such as 20270315T080000`);
    if (!hasTime(start)) {
      report.notice({ file, line: at }, 'WholeDay', 'The event lasts whole days and is left out; a lesson has times');
      if (!replaced || !hasTime(replaced)) return;
      // The occurrence that lasts whole days now does not take place when it did.
      const was = wallOf(replaced);
      await take(keyOf(), { ...nothing, file, line: at, zone: zoneOf(replaced), start: was, replaces: was });
      return;
    }
    const zone = zoneOf(start);
    const wall = wallOf(start);
    /** A time in the zone of the start, in which most programs write all times, but not all programs. */
    function alignedWallOf(property: IcalProperty, value = property.value): number {
      const written = wallOf(property, value);
      if (!value.includes('T')) return written + timeOfWall(wall);
      const isFloating = !value.trim().endsWith('Z') && !property.parameters.has('TZID');
      return isFloating ? written : wallBetween(zoneOf(property, value), zone, written);
    }
    function wallsOf(name: string): number[] {
      const walls = propertiesOf(event, name).flatMap((property) =>
        property.value.split(',').map((value) => alignedWallOf(property, value)),
      );
      return walls.length <= mostDates ? walls : stop(name, 'InvalidRule', `it names more than ${mostDates} dates`);
    }
    const end = propertyOf(event, 'DTEND');
    const length = end ? wallOf(end) - wall : lengthOf(contentOf(event, 'DURATION') ?? 'PT0S');
    if (end && zoneOf(end) !== zone)
      stop('DTEND', 'InvalidTime', 'the event begins in one time zone and ends in another');
    if (length === undefined || length <= 0 || length > dayLength)
      stop(
        !end && places.has('DURATION') ? 'DURATION' : 'DTEND',
        'InvalidTime',
        'the event must end after it begins, by at most 24 hours',
      );
    const rule = contentOf(event, 'RRULE') ?? null;
    if (propertiesOf(event, 'RRULE').length > 1) stop('RRULE', 'InvalidRule', 'it has more than one rule');
    if (contentOf(event, 'EXRULE') !== undefined)
      stop('EXRULE', 'InvalidRule', 'it has an EXRULE, which is not supported; export the exceptions as EXDATE');
    if (rule !== null && ++rules > mostRules) {
      report.fault(place('RRULE'), 'TooManyLines', `more than ${mostRules} events that repeat`);
      throw new UnreadableFile();
    }
    try {
      if (rule !== null) {
        const read = readRule(rule);
        if (!term.hasTerm && read.count === null && read.until === null)
          stop('RRULE', 'InvalidRule', 'it repeats without an end; send a term');
        if (!fitsClock(read, wall)) stop('RRULE', 'InvalidRule', 'it repeats at other times of the day than its start');
      }
    } catch (error) {
      if (!(error instanceof WrongRule)) throw error;
      stop('RRULE', 'InvalidRule', error.message);
    }
    if (rooms.length === 0)
      report.notice(
        { file, line: at },
        'WithoutRoom',
        `Event ${shown(title)} has no LOCATION and is left out; a lesson names its room there`,
      );
    if (replaced?.parameters.has('RANGE'))
      stop(
        'RECURRENCE-ID',
        'InvalidRule',
        'it changes all later occurrences too (RANGE); export each of them, or another series',
      );
    if (replaced && !hasTime(replaced))
      stop('RECURRENCE-ID', 'InvalidDate', 'it names a day, but its series has times');
    const entry: EventEntry = {
      ...nothing,
      file,
      line: at,
      title,
      zone,
      start: wall,
      length: length as number,
      rule,
      excluded: wallsOf('EXDATE'),
      added: wallsOf('RDATE'),
      replaces: replaced ? alignedWallOf(replaced) : null,
      rooms,
      subject: listOf(textOf('CATEGORIES'), /,/)[0] ?? '',
      ...(contentOf(event, 'STATUS')?.trim().toUpperCase() === 'CANCELLED' && { status: 'Entfaellt' }),
    };
    // An occurrence that has lost its room does not stay in its former one.
    if (rooms.length > 0 || replaced) await take(keyOf(), entry);
  }

  /** @returns how many events there are. @throws UnreadableFile once a fault is reported */
  return async (text: AsyncGenerator<string>): Promise<number> => {
    let lines: string[] | undefined;
    let places = new Map<string, Place>();
    let [from, depth, count, last] = [0, 0, 0, 1];
    let isClosed = false;
    for await (const { line, text: written } of unfold(text, file, report)) {
      last = line;
      const head = written.slice(0, 80).trim().toUpperCase();
      if (head === 'BEGIN:VEVENT' && !lines) {
        if (++count > mostEvents) {
          report.fault({ file, line }, 'TooManyLines', `more than ${mostEvents} events; send a file for each term`);
          throw new UnreadableFile();
        }
        lines = [];
        places = new Map();
        from = line;
        depth = 0;
      }
      if (head === 'END:VCALENDAR') isClosed = true;
      if (!lines) continue;
      lines.push(written);
      if (lines.length > mostLinesOfEvent) {
        report.fault({ file, line: from }, 'LineTooLong', `an event of more than ${mostLinesOfEvent} lines`);
        throw new UnreadableFile();
      }
      const [name] = /^[\w-]+(?=[;:])/.exec(head) ?? [];
      if (name && depth === 1 && !places.has(name)) places.set(name, { line, column: name.length + 2 });
      if (head.startsWith('BEGIN:')) depth++;
      if (head.startsWith('END:')) depth--;
      if (depth > 0) continue;
      const body = `BEGIN:VCALENDAR\n${lines.join('\n')}\nEND:VCALENDAR`;
      lines = undefined;
      try {
        await takeEvent(readComponents(body).components[0] as IcalComponent, from, places);
      } catch (error) {
        if (error instanceof NoCalendar)
          report.fault({ file, line: from }, 'InvalidEvent', `the event cannot be read: ${error.message}`);
        else if (!(error instanceof Skipped)) throw error;
      }
    }
    if (!isClosed || lines) {
      report.fault(
        { file, line: last },
        'CutOff',
        'the file ends before END:VCALENDAR; it was truncated, so export it again',
      );
      throw new UnreadableFile();
    }
    if (count === 0) {
      report.fault({ file, line: 1 }, 'EmptyFile', 'the calendar has no events');
      throw new UnreadableFile();
    }
    return count;
  };
}

/** Thrown once a fault of an event is reported: reading continues with the next event. */
class Skipped extends Error {}
