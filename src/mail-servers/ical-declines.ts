/**
 * Writes the answer of a room into the calendar object of an invitation: its ATTENDEE is set to declined. Nothing else is
 * changed, as servers refuse other changes by attendees (RFC 6638, 3.2.2.1).
 */
import {
  type IcalComponent,
  type IcalProperty,
  linesOf,
  propertiesOf,
  propertyOf,
  readComponents,
  Unreadable,
} from '../time/ical-lines.ts';
import { addressOf, type ObjectReader } from './ical.ts';
import { foldLine } from './ical-fold.ts';
import { type IcalMoment, instantOf, readLength, readMoment, readOriginal, spanOf } from './ical-times.ts';
import { type IcalZones, readZones } from './ical-zones.ts';

/** The range of the unfolded lines of a VEVENT, from its BEGIN to its END, and its content. */
type Block = { from: number; to: number; event: IcalComponent };

function blocksOf(lines: readonly string[], calendar: IcalComponent): Block[] {
  const begins = lines.flatMap((line, at) => (/^BEGIN:VEVENT\s*$/i.test(line) ? at : []));
  const events = calendar.components.filter(({ name }) => name === 'VEVENT');
  return events.map((event, index) => {
    const from = begins[index]!;
    return { from, to: lines.findIndex((line, at) => at > from && /^END:VEVENT\s*$/i.test(line)), event };
  });
}

const attendeeForm = /^(ATTENDEE)((?:;[\w-]+=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)*)(:.*)$/i;
const parameterForm = /;([\w-]+)=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*/g;
const replaced = ['PARTSTAT', 'RSVP', 'SCHEDULE-STATUS', 'SCHEDULE-FORCE-SEND'];

function declinedLine(line: string): string {
  const [, name, head = '', value] = attendeeForm.exec(line) ?? [];
  if (name === undefined) throw new Unreadable('its ATTENDEE is not valid iCalendar');
  const others = [...head.matchAll(parameterForm)].filter(([, key]) => !replaced.includes(key!.toUpperCase()));
  return `${name};PARTSTAT=DECLINED${others.map(([text]) => text).join('')}${value}`;
}

const isRoom =
  (mailbox: string) =>
  ({ value, parameters }: IcalProperty) =>
    addressOf(value, parameters) === mailbox.toLowerCase();

/** Sets the ATTENDEE of the room to declined in the lines of one VEVENT. */
function decline(lines: readonly string[], event: IcalComponent, mailbox: string): string[] {
  const attendees = propertiesOf(event, 'ATTENDEE');
  let seen = 0;
  return lines.map((line) => {
    if (!/^ATTENDEE[;:]/i.test(line)) return line;
    const attendee = attendees[seen++];
    return attendee && isRoom(mailbox)(attendee) ? declinedLine(line) : line;
  });
}

/** Lines of the VEVENT itself, without its alarms. */
function withoutParts(lines: readonly string[]): string[] {
  let depth = 0;
  return lines.filter((line, at) => {
    const isBegin = /^BEGIN:/i.test(line) && at > 0;
    if (isBegin) depth += 1;
    const isInner = depth > 0;
    if (isInner && /^END:/i.test(line)) depth -= 1;
    return !isInner;
  });
}

const nameOf = (line: string) => /^[\w-]+/.exec(line)?.[0].toUpperCase() ?? '';
const valueAt = ({ zone, isFloating }: IcalMoment, instant: number, isUtc: boolean): string => {
  const text = new Date(zone === null ? instant : zone.wallOf(instant)).toISOString().replace(/[-:]|\.\d+Z/g, '');
  return zone === null ? text.slice(0, 8) : `${text.slice(0, 15)}${isUtc && !isFloating ? 'Z' : ''}`;
};

/** An occurrence of the series as an exception of its own, which only says that the room has declined. */
function exceptionOf(lines: readonly string[], master: IcalComponent, original: number, zones: IcalZones): string[] {
  const property = propertyOf(master, 'DTSTART');
  if (!property) throw new Unreadable('it has no DTSTART');
  const start = readMoment(property, zones);
  const { end } = spanOf(
    { ...start, wall: start.zone === null ? original : start.zone.wallOf(original) },
    readLength(master, start, zones),
  );
  const at = (line: string, of: IcalProperty, instant: number) =>
    line.slice(0, line.length - of.value.length) + valueAt(readMoment(of, zones), instant, of.value.endsWith('Z'));
  return withoutParts(lines).flatMap((line) => {
    const name = nameOf(line);
    if (['RRULE', 'RDATE', 'EXDATE', 'EXRULE'].includes(name)) return [];
    if (name === 'DTSTART') {
      const written = at(line, property, original);
      return [written.replace(/^DTSTART/i, 'RECURRENCE-ID'), written];
    }
    return name === 'DTEND' ? at(line, propertyOf(master, 'DTEND')!, end) : line;
  });
}

/**
 * @param occurrence '' or the original start of an occurrence, as in `RemoteItem`
 * @returns undefined if nobody else has invited the room to it
 * @throws Unreadable when it cannot be answered by itself
 */
export function declineObject(text: string, occurrence: string, reader: ObjectReader): string | undefined {
  const calendar = readComponents(text);
  const zones = readZones(calendar, reader.window, reader.timeZone);
  const lines = linesOf(text);
  const blocks = blocksOf(lines, calendar);
  const master = blocks.find(({ event }) => !propertyOf(event, 'RECURRENCE-ID'));
  const original = Date.parse(occurrence);
  const series = master && propertyOf(master.event, 'DTSTART');
  const start = series ? readMoment(series, zones) : null;
  const exception = blocks.find(({ event }) => {
    const property = propertyOf(event, 'RECURRENCE-ID');
    if (!property) return false;
    const { original: its, isRange } = readOriginal(property, start, zones);
    if (isRange) throw new Unreadable('its occurrences were changed from one on');
    return instantOf(its) === original;
  });
  const block = exception ?? master;
  if (!block || !propertiesOf(block.event, 'ATTENDEE').some(isRoom(reader.mailbox))) return undefined;
  const { from, to, event } = block;
  const own = decline(lines.slice(from, to + 1), event, reader.mailbox);
  const isAdded = occurrence !== '' && block === master;
  const written = isAdded
    ? [...lines.slice(0, to + 1), ...exceptionOf(own, event, original, zones), ...lines.slice(to + 1)]
    : [...lines.slice(0, from), ...own, ...lines.slice(to + 1)];
  return written.map(foldLine).join('\r\n');
}

/** Whether the server leaves answers to clients (RFC 6638, 7.1). */
export const isAnsweredByClients = (text: string): boolean =>
  readComponents(text)
    .components.flatMap((event) => propertiesOf(event, 'ORGANIZER'))
    .some(({ parameters }) => /^(CLIENT|NONE)$/i.test(parameters.get('SCHEDULE-AGENT') ?? ''));
