/** Turns the events of one job into lessons: one for each occurrence and room. */
import { dateText, dayLength, dayOfWall, timeOfWall } from '../time/days.ts';
import { listDays, mostSearched, readRule, WrongRule } from '../time/rule.ts';
import { wallBetween, zoneFor } from '../time/zones.ts';
import type { EventEntry } from './entries.ts';
import type { PlannedLesson, Rules } from './planned.ts';

/** Days over which an event repeats. */
const mostOccurrences = 5_000;
/** By how many days the dates of two zones can differ at one instant. */
const mostApart = 2;
const spent = `more than ${mostSearched} days were searched for the series up to this one; end series that began long ago with UNTIL instead of COUNT`;

/** The starts of an event, as local times of its zone. @throws InvalidInput once too many days were searched */
function startsOf(event: EventEntry, { term, report, search }: Rules): number[] {
  const { start, rule, excluded, added } = event;
  if (rule === null) return [start, ...added];
  const [startDay, clock] = [dayOfWall(start), timeOfWall(start)];
  const read = readRule(rule);
  const until = read.until === null ? Number.POSITIVE_INFINITY : untilOf(read.until, event.zone);
  const from = Math.max(startDay, Math.max(term.first, term.begins) - mostApart);
  const last = Math.min(dayOfWall(until), term.last + mostApart);
  const end = Math.min(last, from + mostOccurrences);
  const refuse = (message: string) => report.fault({ ...event, field: 'RRULE' }, 'InvalidRule', message);
  let days: number[];
  try {
    // A rule with COUNT is searched from its start anyway.
    days = listDays(read, startDay, read.count === null ? from : startDay, end, search);
  } catch (error) {
    if (!(error instanceof WrongRule)) throw error;
    refuse(error.message);
    return [];
  }
  if (search.left < 0) {
    refuse(spent);
    report.check();
  }
  if (end < last && days.length !== read.count)
    refuse(`it repeats for more than ${mostOccurrences} days; send a term, or Since if it began long ago`);
  const without = new Set(excluded);
  const zone = zoneFor(event.zone);
  const takesPlace = (wall: number) => {
    const day = term.dayAt(zone.instantOf(wall));
    return !term.isOutside(day) && !term.isHoliday(day);
  };
  const starts = days
    .filter((day) => day >= from)
    .map((day) => day * dayLength + clock)
    .filter((wall) => wall <= until && takesPlace(wall));
  return [...starts, ...added].filter((wall) => !without.has(wall));
}

/** UNTIL as a local time of the zone; a date includes the whole day. */
function untilOf(text: string, zone: string): number {
  const wall = Date.parse(
    text.replace(
      /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)Z?)?$/,
      (_, year, month, date, hour, minute, second) =>
        `${year}-${month}-${date}T${hour ?? '23'}:${minute ?? '59'}:${second ?? '59'}Z`,
    ),
  );
  return text.endsWith('Z') ? zoneFor(zone).wallOf(wall) : wall;
}

/** @throws InvalidInput with all faults, once too many days were searched for the series of all jobs */
export async function planEvents(entries: readonly EventEntry[], rules: Rules): Promise<PlannedLesson[]> {
  const { term, roomOf, mostLessons, nextSlice } = rules;
  const lessons = new Map<string, PlannedLesson>();
  const home = entries.find(({ replaces }) => replaces === null)?.zone;
  // Ids are times of the series, also of an occurrence that was moved to another zone.
  const homeOf = ({ zone, replaces }: EventEntry) => (replaces === null ? zone : (home ?? zone));
  const originals = new Map(
    entries.map((event) => {
      const { zone, replaces } = event;
      return [event, replaces === null ? null : wallBetween(zone, homeOf(event), replaces)];
    }),
  );
  const replaced = new Set(originals.values());
  const repeats = entries.some(({ rule }) => rule !== null);
  /** The rooms, as files name them, of the events with one original start. */
  const named = new Map<number | null, Set<string>>();
  for (const [event, original] of originals) {
    await nextSlice();
    const names = named.get(original) ?? new Set();
    named.set(original, names);
    for (const name of event.rooms) names.add(name);
  }
  for (const event of entries) {
    await nextSlice();
    const rooms = new Set(event.rooms.map(roomOf).filter((room) => room !== null));
    const original = originals.get(event) ?? null;
    if (rooms.size === 0) continue;
    // It replaces an occurrence outside of the term.
    if (repeats && original !== null && term.isOutside(term.dayAt(zoneFor(homeOf(event)).instantOf(original))))
      continue;
    const isOneOfMany = (named.get(original)?.size ?? 0) > 1;
    const walls = original === null ? startsOf(event, rules).filter((wall) => !replaced.has(wall)) : [event.start];
    for (const wall of walls) {
      await nextSlice();
      if (lessons.size > mostLessons) return [...lessons.values()];
      put(event, wall, original ?? wall, rooms, isOneOfMany);
    }
  }
  return [...lessons.values()];

  function put(event: EventEntry, wall: number, key: number, rooms: ReadonlySet<string>, isOneOfMany: boolean): void {
    const zone = zoneFor(event.zone);
    const start = zone.instantOf(wall);
    if (term.since && start < term.since.getTime()) return;
    const written = `${dateText(dayOfWall(key)).replaceAll('-', '')}T${new Date(timeOfWall(key)).toISOString().slice(11, 19).replaceAll(':', '')}`;
    const suffix = homeOf(event) === 'UTC' ? 'Z' : '';
    const end = zone.instantOf(zone.wallOf(start) + event.length);
    const { line, file, subject, title, status = 'Geplant' } = event;
    for (const room of rooms) {
      const id = `${written}${suffix}${isOneOfMany ? `-${room}` : ''}`;
      lessons.set(id, { id, line, file, start, end, room, subject, title, classes: [], teachers: [], status });
    }
  }
}
