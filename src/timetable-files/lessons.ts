/** Turns the entries of one job into lessons by the rules for all formats. Pure, and independent of the order of lines. */
import { openSlices } from '../flow/slices.ts';
import { dateText, dayLength, dayOfWall, timeOfWall } from '../time/days.ts';
import { listDays, readRule, WrongRule } from '../time/rule.ts';
import { findZone, wallBetween } from '../time/zones.ts';
import type {
  ChangeEntry,
  DatedEntry,
  EntrySource,
  EventEntry,
  SlotEntry,
  SpanEntry,
  TimetableEntry,
} from './entries.ts';
import { sorted } from './entries.ts';
import { shown } from './faults.ts';
import { keyOf, type PlannedLesson, placeKey, type Rules } from './planned.ts';
import { applyChanges } from './substitutions.ts';

/** The lessons of a weekday and period on one date: one for each room. */
function lessonsAt(slots: readonly SlotEntry[], day: number, jobID: string, { term, roomOf }: Rules): PlannedLesson[] {
  const [{ day: weekday, period }] = slots as [SlotEntry];
  const times = term.timesOf(weekday, period);
  if (!times) return [];
  const rooms = new Map<string, SlotEntry[]>();
  for (const slot of slots) {
    const room = roomOf(slot.room);
    if (room === null) continue;
    const same = rooms.get(room);
    if (same) same.push(slot);
    else rooms.set(room, [slot]);
  }
  const key = placeKey(day, period);
  const several = rooms.size > 1;
  const planned = [...rooms].map(([room, same]): PlannedLesson => {
    const first = same.reduce((least, slot) => (slot.line < least.line ? slot : least));
    const remark = sorted(same.flatMap((slot) => slot.remark ?? [])).join('; ');
    return {
      id: key,
      line: first.line,
      file: first.file,
      room,
      status: 'Geplant',
      slot: { day, period },
      start: term.instantOf(day, times.begin),
      end: term.instantOf(day, times.end),
      subject: sorted(same.map(({ subject }) => subject).filter(Boolean)).join('/'),
      classes: sorted(same.flatMap(({ classes }) => classes)),
      teachers: sorted(same.flatMap(({ teachers }) => teachers)),
      ...(first.title && { title: first.title }),
      ...(remark && { remark }),
      ...(several && { coupling: keyOf(`${jobID}-${key}`) }),
    };
  });
  if (!several) return planned;
  const count = (teacher: string) => planned.filter(({ teachers }) => (teachers[0] ?? '') === teacher).length;
  return planned.map((lesson) => {
    const teacher = lesson.teachers[0] ?? '';
    return { ...lesson, id: `${key}-${teacher}${count(teacher) > 1 ? `-${lesson.room}` : ''}` };
  });
}

function weekly(
  slots: readonly SlotEntry[],
  spans: readonly SpanEntry[],
  jobID: string,
  rules: Rules,
): PlannedLesson[] {
  const { term, report, roomOf } = rules;
  const lessons: PlannedLesson[] = [];
  const spanned = new Map<number, boolean>();
  const isSpanned = (day: number): boolean => {
    const known = spanned.get(day) ?? (spans.length === 0 || spans.some((span) => term.fits(span, day)));
    spanned.set(day, known);
    return known;
  };
  for (const same of Map.groupBy(slots, ({ day, period }) => `${day} ${period}`).values()) {
    const [first] = same as [SlotEntry];
    const before = lessons.length;
    for (const day of term.daysOn(first.day)) {
      if (!isSpanned(day)) continue;
      const fitting = same.filter((slot) => term.fits(slot, day));
      if (fitting.length > 0) lessons.push(...lessonsAt(fitting, day, jobID, rules));
    }
    // Since may be later than the last of them, which then stays as it is.
    const isMissing = lessons.length === before && !Number.isFinite(term.first);
    if (isMissing && same.some(({ room }) => roomOf(room) !== null))
      report.notice(
        first,
        'NoDay',
        'The lesson takes place on no day of the term and is left out; are its weeks and the term right?',
      );
  }
  return lessons;
}

/** Merges the lines of a lesson, such as one for each class, into one lesson per room. A CSV may have all of its lines in one job. */
async function dated(entries: readonly DatedEntry[], { report, roomOf }: Rules): Promise<PlannedLesson[]> {
  const lessons: PlannedLesson[] = [];
  const nextSlice = openSlices();
  for (const [id, same] of Map.groupBy(entries, ({ id }) => id)) {
    await nextSlice();
    const [first, ...others] = same.toSorted((one, other) => one.line - other.line) as [DatedEntry, ...DatedEntry[]];
    const { line, file, start, end, hasOwnId, status = 'Geplant' } = first;
    for (const other of others)
      if (other.start !== start || other.end !== end || (hasOwnId && other.line !== line))
        report.fault(
          { file: other.file, line: other.line, column: other.idColumn, field: 'Key' },
          'DuplicateLesson',
          `the lesson ${shown(id)} was already in line ${line}; give each lesson an id of its own`,
        );
    const rooms = Map.groupBy(same, ({ room }) => roomOf(room));
    rooms.delete(null);
    for (const [room, there] of rooms)
      lessons.push({
        id: rooms.size > 1 ? `${id}-${room}` : id,
        line,
        file,
        start,
        end,
        room: room as string,
        status,
        subject: first.subject,
        title: first.title,
        remark: sorted(there.flatMap(({ remark }) => remark ?? [])).join('; '),
        classes: sorted(there.flatMap(({ classes }) => classes)),
        teachers: sorted(there.flatMap(({ teachers }) => teachers)),
        ...(rooms.size > 1 && { coupling: keyOf(`${id}-${start}`) }),
      });
  }
  return lessons;
}

/** Occurrences of an event, and days over which it repeats. */
const mostOccurrences = 5_000;

/** The starts of an event, as local times of its zone. */
function startsOf(event: EventEntry, { term, report }: Rules): number[] {
  const { start, rule, excluded, added } = event;
  if (rule === null) return [start, ...added];
  const [startDay, clock] = [dayOfWall(start), timeOfWall(start)];
  const read = readRule(rule);
  const until = read.until === null ? Number.POSITIVE_INFINITY : untilOf(read.until, event.zone);
  const from = Math.max(startDay, term.first, term.begins);
  const last = Math.min(dayOfWall(until), term.last);
  const end = Math.min(last, from + mostOccurrences);
  const refuse = (message: string) => report.fault({ ...event, field: 'RRULE' }, 'InvalidRule', message);
  let days: number[];
  try {
    const isOver = () => read.count !== null && listDays(read, startDay, startDay, end).length === read.count;
    if (end < last && !isOver())
      refuse(`it repeats for more than ${mostOccurrences} days; send a term, or Since if it began long ago`);
    days = listDays(read, startDay, from, end);
  } catch (error) {
    if (!(error instanceof WrongRule)) throw error;
    refuse(error.message);
    return [];
  }
  const without = new Set(excluded);
  const starts = days
    .filter((day) => !term.isHoliday(day))
    .map((day) => day * dayLength + clock)
    .filter((wall) => wall <= until);
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
  return text.endsWith('Z') ? (findZone(zone)?.wallOf(wall) ?? wall) : wall;
}

function events(entries: readonly EventEntry[], rules: Rules): PlannedLesson[] {
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
  const put = (event: EventEntry, wall: number, key: number, room: string, isOneOfMany: boolean) => {
    const zone = findZone(event.zone);
    const day = dayOfWall(wall);
    if (!zone || day < rules.term.first) return;
    const written = `${dateText(dayOfWall(key)).replaceAll('-', '')}T${new Date(timeOfWall(key)).toISOString().slice(11, 19).replaceAll(':', '')}`;
    const id = `${written}${homeOf(event) === 'UTC' ? 'Z' : ''}${isOneOfMany ? `-${room}` : ''}`;
    const start = zone.instantOf(wall);
    const { line, file, subject, title, status = 'Geplant' } = event;
    lessons.set(id, {
      id,
      line,
      file,
      start,
      end: zone.instantOf(wall + event.length),
      room,
      subject,
      title,
      classes: [],
      teachers: [],
      status,
    });
  };
  const replaced = new Set(originals.values());
  const repeats = entries.some(({ rule }) => rule !== null);
  for (const event of entries) {
    const room = event.room === '' ? null : rules.roomOf(event.room);
    if (room === null) continue;
    if (lessons.size > rules.mostLessons) break;
    const original = originals.get(event) ?? null;
    // It replaces what a rule would have made outside of the term.
    if (repeats && original !== null && rules.term.isOutside(dayOfWall(original))) continue;
    const isOneOfMany = entries.some((other) => originals.get(other) === original && other.room !== event.room);
    if (original !== null) put(event, event.start, original, room, isOneOfMany);
    else for (const wall of startsOf(event, rules)) if (!replaced.has(wall)) put(event, wall, wall, room, isOneOfMany);
  }
  return [...lessons.values()];
}

/** The most entries of one job, as all of them may have to be compared with each other; of these, the most that repeat by a rule. */
const [mostCompared, mostRules] = [2_000, 200];

/** The lessons of a job, in the order of their ids. */
export async function planJob(
  jobID: string,
  entries: readonly TimetableEntry[],
  rules: Rules,
): Promise<PlannedLesson[]> {
  const of = <Kind extends TimetableEntry['kind']>(kind: Kind) =>
    entries.filter((entry): entry is Extract<TimetableEntry, { kind: Kind }> => entry.kind === kind);
  const slots = of('slot');
  const isTooMany = (excess: EntrySource | undefined, most: string): boolean => {
    const message = `more than ${most} of one lesson, ${shown(jobID)}; is this the right file?`;
    if (excess) rules.report.fault(excess, 'TooManyLines', message);
    return excess !== undefined;
  };
  for (const kind of ['slot', 'span', 'change', 'event'] as const)
    if (isTooMany(of(kind)[mostCompared], `${mostCompared} lines`)) return [];
  if (isTooMany(of('event').filter(({ rule }) => rule !== null)[mostRules], `${mostRules} events that repeat`))
    return [];
  const changes: ChangeEntry[] = of('change');
  const lessons = [
    ...applyChanges(weekly(slots, of('span'), jobID, rules), changes, rules),
    ...(await dated(of('dated'), rules)),
    ...events(of('event'), rules),
  ];
  for (const lesson of lessons)
    if (rules.isShared(lesson.room)) {
      const { room, slot, start } = lesson;
      lesson.coupling = keyOf(`raum-${room}-${slot ? placeKey(slot.day, slot.period) : new Date(start).toISOString()}`);
    }
  return lessons.sort((one, other) => (one.id < other.id ? -1 : 1));
}
