/**
 * Parses the text of iCalendar (RFC 5545: 3.1, 3.2 and 3.6) into components with properties. Any sender of an invitation writes
 * it, so sizes are checked first.
 */

export type IcalProperty = {
  /** In upper case. */
  readonly name: string;
  /** Unquoted values by names in upper case; the first value of a list. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly value: string;
};

export type IcalComponent = {
  readonly name: string;
  readonly properties: readonly IcalProperty[];
  readonly components: readonly IcalComponent[];
};

/** Thrown by all readers of iCalendar for text that they cannot read; the message is for people. */
export class Unreadable extends Error {}

const mostCharacters = 1024 * 1024;
const mostLines = 60_000;
const mostComponents = 1_000;
const deepest = 4;

const spoken = new Set(
  [
    'UID SEQUENCE DTSTAMP LAST-MODIFIED RECURRENCE-ID',
    'DTSTART DTEND DURATION RRULE RDATE EXDATE EXRULE',
    'SUMMARY LOCATION CATEGORIES ORGANIZER ATTENDEE STATUS CLASS TRANSP X-MICROSOFT-CDO-BUSYSTATUS',
    'TZID TZOFFSETFROM TZOFFSETTO',
  ].flatMap((names) => names.split(' ')),
);

const parameter = /;([\w-]+)=("[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*/y;
/** Exchange and Outlook do not always quote zone names with a colon (`(UTC+01:00) Amsterdam\, …`); dates have no colon. */
const ofDates = new Set(['DTSTART', 'DTEND', 'RECURRENCE-ID', 'RDATE', 'EXDATE']);
const parameterOfDate = /;([\w-]+)=("[^"]*"|[^";]*)(?:,"[^"]*")*/y;

function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1) : text;
}
function readProperty(name: string, rest: string): IcalProperty {
  const isDate = ofDates.has(name);
  const form = isDate ? parameterOfDate : parameter;
  const colon = isDate ? rest.lastIndexOf(':') : rest.length;
  const head = rest.slice(0, colon);
  const parameters = new Map<string, string>();
  let at = 0;
  while (head[at] === ';') {
    form.lastIndex = at;
    const found = form.exec(head);
    if (!found) throw new Unreadable(`its ${name} is not valid iCalendar`);
    parameters.set(found[1]!.toUpperCase(), unquote(found[2]!));
    at = form.lastIndex;
  }
  if (rest[at] !== ':') throw new Unreadable(`its ${name} is not valid iCalendar`);
  return { name, parameters, value: rest.slice(at + 1) };
}

type Open = { name: string; properties: IcalProperty[]; components: IcalComponent[] };

/** The text with its folded lines as one each (RFC 5545, 3.1). */
export const unfolded = (text: string): string => text.replace(/\r?\n[ \t]/g, '');
export const linesOf = (text: string): string[] => unfolded(text).split(/\r\n|\n|\r/);

function readLines(text: string): string[] {
  if (text.length > mostCharacters) throw new Unreadable(`it has more than ${mostCharacters} characters`);
  const lines = linesOf(text);
  if (lines.length > mostLines) throw new Unreadable(`it has more than ${mostLines} lines`);
  return lines;
}

/** Reads the VCALENDAR of a text, with the properties that this service knows. */
export function readComponents(text: string): IcalComponent {
  const root: Open = { name: '', properties: [], components: [] };
  const open: Open[] = [root];
  let count = 0;
  for (const line of readLines(text)) {
    const name = /^[\w-]{1,64}(?=[;:])/.exec(line)?.[0].toUpperCase();
    if (name === undefined) continue;
    const value = () =>
      line
        .slice(name.length + 1)
        .trim()
        .toUpperCase();
    if (name === 'BEGIN') {
      if ((count += 1) > mostComponents) throw new Unreadable(`it has more than ${mostComponents} components`);
      if (open.length > deepest) throw new Unreadable(`its components are nested deeper than ${deepest} levels`);
      const component: Open = { name: value(), properties: [], components: [] };
      open.at(-1)!.components.push(component);
      open.push(component);
    } else if (name === 'END') {
      if (open.length === 1 || open.pop()!.name !== value())
        throw new Unreadable('its components are not closed in the order in which they were opened');
    } else if (spoken.has(name)) open.at(-1)!.properties.push(readProperty(name, line.slice(name.length)));
  }
  if (open.length > 1) throw new Unreadable('it ends inside a component');
  const calendar = root.components[0];
  if (root.components.length !== 1 || calendar?.name !== 'VCALENDAR')
    throw new Unreadable('it is not a single VCALENDAR');
  return calendar;
}

/** The value of the first property of this name; undefined without one. */
export function contentOf(component: IcalComponent, name: string): string | undefined {
  return propertyOf(component, name)?.value;
}

export function propertyOf(component: IcalComponent, name: string): IcalProperty | undefined {
  return component.properties.find((property) => property.name === name);
}

export function propertiesOf(component: IcalComponent, name: string): IcalProperty[] {
  return component.properties.filter((property) => property.name === name);
}

const escapes: Readonly<Record<string, string>> = { n: '\n', N: '\n' };

/** Unescapes a value of type TEXT (3.3.11) and makes it fit for the database. */
export function readText(value: string): string {
  return (
    value
      .replace(/\\(.)/g, (_, escaped: string) => escapes[escaped] ?? escaped)
      .toWellFormed()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away.
      .replace(/[\0-\x08\v\f\x0e-\x1f\x7f]/g, '')
  );
}

/** Local days, then exact milliseconds (RFC 5545, 3.8.5.3). */
export type IcalLength = { days: number; exact: number };

const duration = /^([+-]?)P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?$/i;

/** Reads a DURATION; undefined for any other text. */
export function readDuration(text: string): IcalLength | undefined {
  const found = duration.exec(text.trim());
  if (!found) return undefined;
  const sign = found[1] === '-' ? -1 : 1;
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = found.slice(2).map((part) => Number(part ?? 0));
  return { days: sign * (7 * weeks + days), exact: sign * ((hours * 60 + minutes) * 60 + seconds) * 1_000 };
}
