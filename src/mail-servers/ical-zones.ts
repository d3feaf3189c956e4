/** The time zones of iCalendar's local times: IANA zones, Windows zones, and zones that a text defines. */
import { dayLength, dayOfWall, readWall as findWall, timeOfWall, type Wall } from '../time/days.ts';
import { contentOf, type IcalComponent, propertiesOf, readText, Unreadable } from '../time/ical-lines.ts';
import { listDays, readRule } from '../time/rule.ts';
import { ofWindows } from '../time/windows-zones.ts';
import { makeZone, utc, type Zone } from '../time/zone.ts';
import { findZone } from '../time/zones.ts';
import type { ReadingWindow } from './connector.ts';

/** Finds a zone by its TZID; null for a time without one. @throws Unreadable for an unknown zone */
export type IcalZones = (tzid: string | null) => Zone;

/** The instant of a change of offset, with the offsets before and after it. */
type Onset = { at: number; from: number; to: number };

const mostObservances = 100;
/** The most zones that an appointment may name. */
const usualZones = 20;
const year = 366 * dayLength;

function readOffset(observance: IcalComponent, name: string): number {
  const found = /^([+-])(\d{2})(\d{2})(\d{2})?$/.exec(contentOf(observance, name) ?? '');
  if (!found) throw new Unreadable(`its VTIMEZONE has a wrong ${name}`);
  const [, sign, hours, minutes, seconds = '0'] = found;
  return Number(`${sign}1`) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
}
function onsetsOf(observance: IcalComponent, window: ReadingWindow): Onset[] {
  const [from, to] = [readOffset(observance, 'TZOFFSETFROM'), readOffset(observance, 'TZOFFSETTO')];
  const start = readWall(contentOf(observance, 'DTSTART') ?? '');
  const text = contentOf(observance, 'RRULE');
  const walls = [
    start,
    ...propertiesOf(observance, 'RDATE').flatMap(({ value }) => value.split(',', mostObservances).map(readWall)),
  ];
  if (text !== undefined) walls.push(...repeated(text, start, window));
  return walls.map((wall) => ({ at: wall - from, from, to }));
}

function repeated(text: string, start: Wall, window: ReadingWindow): Wall[] {
  const rule = readRule(text);
  if (rule.frequency !== 'YEARLY' || rule.count !== null || rule.months.size !== 1)
    throw new Unreadable('its VTIMEZONE does not repeat once a year');
  const until = rule.until === null ? Number.POSITIVE_INFINITY : readWall(rule.until.replace('Z', ''));
  // The end changes only every ten years, so that later items keep their instants between readings.
  const end = Math.ceil((window.end.getTime() + 2 * year) / (10 * year)) * 10 * year;
  const last = Math.min(end, until);
  const first = Math.min(last, window.start.getTime()) - 2 * year;
  return listDays(rule, dayOfWall(start), dayOfWall(first), dayOfWall(last))
    .map((day) => day * dayLength + timeOfWall(start))
    .filter((wall) => wall <= until + dayLength);
}

function defineZone(timeZone: IcalComponent, window: ReadingWindow): Zone {
  const onsets = timeZone.components
    .filter(({ name }) => name === 'STANDARD' || name === 'DAYLIGHT')
    .flatMap((observance) => onsetsOf(observance, window))
    .sort((one, other) => one.at - other.at);
  const [first] = onsets;
  if (!first) throw new Unreadable('its VTIMEZONE is empty');
  // No zone changes its offset twice within three days, so only the later of such changes counts.
  const changes = onsets.filter(({ at }, index) => !((onsets[index + 1]?.at ?? Number.NaN) - at < 3 * dayLength));
  return makeZone((instant) => {
    let [low, high] = [0, changes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (changes[middle]!.at <= instant) low = middle + 1;
      else high = middle;
    }
    return {
      from: changes[low - 1]?.at ?? Number.NEGATIVE_INFINITY,
      to: changes[low]?.at ?? Number.POSITIVE_INFINITY,
      offset: changes[low - 1]?.to ?? first.from,
    };
  });
}

/** Reads the local time `20261201T093000`, or the midnight of `20261201`. */
export function readWall(text: string): Wall {
  const wall = findWall(text);
  if (wall === null) throw new Unreadable('it has a date that does not exist');
  return wall;
}

/** Normalises the name of a zone, which is a TEXT in some places and a parameter in others, in varying case and quotes. */
function nameOf(tzid: string): string {
  return readText(tzid)
    .replace(/["\s]+/g, ' ')
    .trim()
    .toLowerCase();
}

const findWindowsZone = (name: string): Zone | undefined => findZone(ofWindows(name) ?? '');

/** Finds a zone by the name that Exchange uses. */
export function findZoneOfExchange(name: string): Zone | undefined {
  return findWindowsZone(nameOf(name)) ?? findZone(name);
}

/** Finds an IANA zone by the end of a name such as `/mozilla.org/20050126_1/Europe/Berlin`. */
function findByEnd(name: string): Zone | undefined {
  const parts = name.split('/', 12);
  if (parts.length < 3) return undefined;
  return findZone(parts.slice(-2).join('/')) ?? findZone(parts.slice(-3).join('/'));
}

/**
 * Reads the zones of a VCALENDAR. A zone that is known by its name takes precedence over the text's own definition.
 * @param floating the room's zone, for times without one; null where it is unknown
 * @param mostZones the most different zones that may be used
 * @throws Unreadable for a VTIMEZONE of more than 100 observances
 */
export function readZones(
  calendar: IcalComponent,
  window: ReadingWindow,
  floating: string | null,
  mostZones = usualZones,
): IcalZones {
  const defined = new Map<string, IcalComponent>();
  for (const component of calendar.components) {
    if (component.name !== 'VTIMEZONE') continue;
    if (component.components.length > mostObservances)
      throw new Unreadable(`its VTIMEZONE has more than ${mostObservances} parts`);
    defined.set(nameOf(contentOf(component, 'TZID') ?? ''), component);
  }
  const known = new Map<string | null, Zone>();
  function look(tzid: string | null): Zone {
    if (tzid === null) {
      const zone = findZone(floating ?? '');
      if (!zone) throw new Unreadable('it has times without a zone');
      return zone;
    }
    const name = nameOf(tzid);
    const definition = defined.get(name);
    const found =
      findZone(name) ??
      findByEnd(name) ??
      (definition && defineZone(definition, window)) ??
      findWindowsZone(name) ??
      (/^tzone:\/\/Microsoft\/Utc$/i.test(name) ? utc : undefined);
    if (!found) throw new Unreadable(`it has times in the unknown zone ${JSON.stringify(tzid.slice(0, 60))}`);
    return found;
  }
  return (tzid) => {
    let zone = known.get(tzid);
    if (known.size === mostZones && !zone) throw new Unreadable(`it has times in more than ${mostZones} zones`);
    if (!zone) known.set(tzid, (zone = look(tzid)));
    return zone;
  };
}
