/**
 * Reads one calendar object of a CalDAV server (RFC 4791, 4.1), an appointment or a series with its exceptions, as the items of
 * a window. Anyone can send an invitation, so the expansion of a series is bounded.
 */
import { dayLength } from '../time/days.ts';
import {
  contentOf,
  type IcalComponent,
  type IcalLength,
  propertiesOf,
  propertyOf,
  readComponents,
  readText,
  Unreadable,
} from '../time/ical-lines.ts';
import { type DaySearch, WrongRule } from '../time/rule.ts';
import type { ReadingWindow, RemoteGroup, RemoteItem } from './connector.ts';
import {
  type IcalMoment,
  type IcalSpan,
  instantOf,
  listOccurrences,
  moveAlike,
  readExcluded,
  readLength,
  readMoment,
  readOriginal,
  spanOf,
} from './ical-times.ts';
import { type IcalZones, readWall, readZones } from './ical-zones.ts';
import { boundId, cutText, organizerOf, readAddress, readUid } from './values.ts';

export type ObjectReader = {
  window: ReadingWindow;
  /** The room's address, by which its ATTENDEE is found. */
  mailbox: string;
  /** The room's zone, for times without one; null: such times are unreadable. */
  timeZone: string | null;
  /** The zones that times may name; those of the object itself if left out. */
  zones?: IcalZones;
  /** Bounds the expansion of all series that are read with it; that of each series is bounded in any case. */
  search?: DaySearch;
};

const mostItems = 5_000;

/**
 * Reads the items of a calendar object that overlap the window. An unreadable object is a group with a reason, not an error.
 * @param id the server's id
 */
export function readCalendarObject(id: string, text: string, reader: ObjectReader): RemoteGroup {
  try {
    return { id, items: readItems(id, text, reader) };
  } catch (error) {
    if (error instanceof Unreadable || error instanceof WrongRule)
      return { id, items: [], unreadable: `It cannot be read: ${error.message}.` };
    throw error;
  }
}
function readItems(id: string, text: string, reader: ObjectReader): RemoteItem[] {
  const calendar = readComponents(text);
  const events = calendar.components.filter(({ name }) => name === 'VEVENT');
  const uids = new Set(events.map((event) => contentOf(event, 'UID') ?? ''));
  if (uids.size > 1) throw new Unreadable('it holds more than one appointment');
  const zones = reader.zones ?? readZones(calendar, reader.window, reader.timeZone);
  const items = [...listParts(events, zones, reader)]
    .filter(({ span, isDate }) => overlaps(span, isDate, reader.window))
    .map((part) => makeItem(id, part, reader.mailbox));
  if (items.length > mostItems) throw new Unreadable(`it has more than ${mostItems} occurrences`);
  return items;
}

type Part = { event: IcalComponent; occurrence: string; span: IcalSpan; isDate: boolean };

/** Dates get a margin of a day, as the room's days begin and end up to half a day before or after those of UTC. */
function overlaps({ start, end }: IcalSpan, isDate: boolean, window: ReadingWindow): boolean {
  const margin = isDate ? dayLength : 0;
  const [from, to] = [window.start.getTime() - margin, window.end.getTime() + margin];
  return start < to && (end > from || (end <= start && start >= from));
}

/** Compares revisions by SEQUENCE, then by DTSTAMP (RFC 5546, 2.1.5). */
function isNewer(event: IcalComponent, than: IcalComponent): boolean {
  const sequence = (each: IcalComponent) => Number(/^\d{1,9}$/.exec(contentOf(each, 'SEQUENCE') ?? '')?.[0] ?? 0);
  const stamp = (each: IcalComponent) => contentOf(each, 'DTSTAMP') ?? '';
  return sequence(event) === sequence(than) ? stamp(event) >= stamp(than) : sequence(event) > sequence(than);
}
function* listParts(events: IcalComponent[], zones: IcalZones, reader: ObjectReader): Iterable<Part> {
  let master: IcalComponent | undefined;
  for (const event of events)
    if (!propertyOf(event, 'RECURRENCE-ID') && (!master || isNewer(event, master))) master = event;
  const start = master && readStart(master, zones);
  const length = master && start ? readLength(master, start, zones) : null;
  const exceptions = readExceptions(events, { start: start ?? null, length }, zones);
  const isExcluded = master && start ? readExcluded(master, start, zones) : () => false;
  const isOwn = (original: number) => !exceptions.has(original) && !isExcluded(original);
  const ranges = [...exceptions.values()].filter(({ isRange }) => isRange).sort((one, other) => one.at - other.at);
  if (master && start) yield* listOwn({ event: master, start, length, ranges, isOwn }, zones, reader);
  for (const [original, { event, ...moved }] of exceptions)
    if (!isExcluded(original)) yield partOf(event, original, moved.start, moved.length);
}

function partOf(event: IcalComponent, original: number, start: IcalMoment, length: IcalLength | null): Part {
  const isDate = start.zone === null;
  return { event, occurrence: new Date(original).toISOString(), span: spanOf(start, length), isDate };
}

/** An exception replaces one occurrence, and with a range all later ones too. */
type Exception = {
  event: IcalComponent;
  original: IcalMoment;
  /** The instant of `original`. */
  at: number;
  isRange: boolean;
  start: IcalMoment;
  length: IcalLength | null;
};

/** Reads the exceptions by the instants of their original starts. */
function readExceptions(
  events: IcalComponent[],
  series: { start: IcalMoment | null; length: IcalLength | null },
  zones: IcalZones,
): Map<number, Exception> {
  const exceptions = new Map<number, Exception>();
  for (const event of events) {
    const property = propertyOf(event, 'RECURRENCE-ID');
    if (!property) continue;
    const { original, isRange } = readOriginal(property, series.start, zones);
    const at = instantOf(original);
    const known = exceptions.get(at);
    if (known && !isNewer(event, known.event)) continue;
    const start = readStart(event, zones);
    const length = readLength(event, start, zones) ?? series.length;
    exceptions.set(at, { event, original, at, isRange, start, length });
  }
  return exceptions;
}

type Series = {
  event: IcalComponent;
  start: IcalMoment;
  length: IcalLength | null;
  /** In the order of their original starts. */
  ranges: Exception[];
  /** Whether an original start is neither replaced by an exception nor left out by EXDATE. */
  isOwn: (original: number) => boolean;
};

/** Lists everything but exceptions: a single appointment, or the occurrences that may reach into the window. */
function* listOwn(series: Series, zones: IcalZones, { window, search }: ObjectReader): Iterable<Part> {
  const { event, start, length, ranges, isOwn } = series;
  const isDate = start.zone === null;
  const isSeries = ['RRULE', 'RDATE', 'EXRULE'].some((name) => propertyOf(event, name));
  if (!isSeries) {
    if (isOwn(instantOf(start))) yield { event, occurrence: '', span: spanOf(start, length), isDate };
    return;
  }
  const lasts = (one: IcalMoment, its: IcalLength | null) => Math.max(0, spanOf(one, its).end - instantOf(one));
  const before = Math.max(
    lasts(start, length),
    ...ranges.map((each) => lasts(each.start, each.length) + movedBy(each)),
  );
  const after = Math.max(0, ...ranges.map((each) => -movedBy(each)));
  const from = window.start.getTime() - before - 2 * dayLength;
  const to = window.end.getTime() + after + 2 * dayLength;
  for (const each of listOccurrences(event, start, zones, { from, to }, search)) {
    if (!isOwn(each.original)) continue;
    const range = ranges.findLast(({ at }) => at < each.original);
    yield range
      ? partOf(range.event, each.original, moveAlike(each.start, range.original, range.start), range.length)
      : partOf(event, each.original, each.start, each.length ?? length);
  }
}

const movedBy = ({ at, start }: Exception) => instantOf(start) - at;
function readStart(event: IcalComponent, zones: IcalZones): IcalMoment {
  const property = propertyOf(event, 'DTSTART');
  if (!property) throw new Unreadable('it has no DTSTART');
  return readMoment(property, zones);
}

function makeItem(id: string, { event, occurrence, span, isDate }: Part, mailbox: string): RemoteItem {
  const uid = contentOf(event, 'UID');
  const [start, end] = [dateOf(span.start), dateOf(span.end)];
  const summary = contentOf(event, 'SUMMARY');
  return {
    id: occurrence === '' ? id : boundId(`${id} ${occurrence}`),
    occurrence,
    uid: readUid(uid === undefined ? null : readText(uid)),
    start,
    end,
    days: isDate ? { from: start.toISOString().slice(0, 10), to: end.toISOString().slice(0, 10) } : null,
    subject: summary === undefined ? null : cutText(readText(summary)),
    organizer: readOrganizer(event),
    isPrivate: (contentOf(event, 'CLASS') ?? 'PUBLIC').toUpperCase() !== 'PUBLIC',
    isCancelled: upper(event, 'STATUS') === 'CANCELLED',
    response: readResponse(event, mailbox.toLowerCase()),
    shownAs: readShownAs(event),
    changedAt: readChangedAt(event),
    origin: null,
    changeKey: null,
  };
}

/** @throws Unreadable for years beyond those of ISO dates and of the database */
function dateOf(instant: number): Date {
  if (!(instant > Date.UTC(0, 0) - 2_000 * 366 * dayLength && instant < Date.UTC(9999, 0)))
    throw new Unreadable('it lasts beyond the supported years');
  return new Date(instant);
}

const upper = (event: IcalComponent, name: string) => contentOf(event, name)?.trim().toUpperCase();

/** Reads TRANSP and STATUS, and Exchange's own property, which says more. */
function readShownAs(event: IcalComponent): RemoteItem['shownAs'] {
  const shown = upper(event, 'X-MICROSOFT-CDO-BUSYSTATUS');
  if (upper(event, 'TRANSP') === 'TRANSPARENT' || shown === 'FREE') return 'Free';
  return upper(event, 'STATUS') === 'TENTATIVE' || shown === 'TENTATIVE' ? 'Tentative' : 'Busy';
}

/** The address of a `mailto:`, or else of the parameter EMAIL (RFC 7986), in lower case; null without one. */
export function addressOf(value: string, parameters: ReadonlyMap<string, string>): string | null {
  const text = /^mailto:(.+)$/i.exec(value.trim())?.[1] ?? parameters.get('EMAIL') ?? '';
  return readAddress(text)?.toLowerCase() ?? null;
}

const circumflexes: Readonly<Record<string, string>> = { n: '\n', '^': '^', "'": '"' };

function readOrganizer(event: IcalComponent): RemoteItem['organizer'] {
  const property = propertyOf(event, 'ORGANIZER');
  if (!property) return null;
  // RFC 6868.
  const name = property.parameters.get('CN')?.replace(/\^([n^'])/g, (_, each: string) => circumflexes[each]!);
  return organizerOf(cutText(name), addressOf(property.value, property.parameters));
}

const responses = new Map<string, RemoteItem['response']>([
  ['ACCEPTED', 'Accepted'],
  ['TENTATIVE', 'Tentative'],
  ['DECLINED', 'Declined'],
]);

/** Reads the room's response; 'Organizer' if nobody is invited, or the room itself is the organizer. */
function readResponse(event: IcalComponent, mailbox: string): RemoteItem['response'] {
  const invited = propertiesOf(event, 'ATTENDEE');
  const own = invited.find(({ value, parameters }) => addressOf(value, parameters) === mailbox);
  if (own) return responses.get(own.parameters.get('PARTSTAT')?.toUpperCase() ?? '') ?? 'None';
  return invited.length === 0 || readOrganizer(event)?.email === mailbox ? 'Organizer' : 'None';
}

function readChangedAt(event: IcalComponent): Date | null {
  for (const name of ['LAST-MODIFIED', 'DTSTAMP']) {
    const text = contentOf(event, name);
    if (text !== undefined && /^\d{8}T\d{6}Z$/.test(text)) {
      try {
        return new Date(readWall(text.slice(0, -1)));
      } catch {}
    }
  }
  return null;
}
