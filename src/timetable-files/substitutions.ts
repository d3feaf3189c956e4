/** Applies substitutions, cancellations and moves (GPU014) to the lessons of a job. */
import { isoWeekdayOf } from '../time/days.ts';
import type { ChangeEntry } from './entries.ts';
import { sorted } from './entries.ts';
import { uniteNames } from './merging.ts';
import { couplingIn, type PlannedLesson, placeKey, type Rules } from './planned.ts';
import { bits } from './untis.ts';

const goesAway = bits.cancelled | bits.moved | bits.released | bits.noLessons;

/**
 * Finds the lessons that a change applies to. If there are several, these are the lessons of the absent teacher in the
 * old rooms, or the only one in an old room; none if the old rooms are left out.
 */
function findLessons(
  there: readonly PlannedLesson[],
  change: ChangeEntry,
  { roomOf }: Rules,
): readonly PlannedLesson[] {
  if (there.length <= 1) return there;
  if (change.oldRooms.length > 0 && change.oldRooms.every((room) => roomOf(room) === null)) return [];
  const oldRooms = new Set(change.oldRooms.map(roomOf));
  const inOldRooms = (lessons: readonly PlannedLesson[]) => lessons.filter(({ room }) => oldRooms.has(room));
  const ofAbsent = there.filter(({ teachers }) => teachers.includes(change.absentTeacher));
  if (ofAbsent.length === 0) return inOldRooms(there).slice(0, 1);
  const named = inOldRooms(ofAbsent);
  return named.length > 0 ? named : ofAbsent;
}

/** The rooms to which a change moves its lesson: none if all of them are left out; undefined if it stays where it is. */
function newRoomsOf({ rooms }: ChangeEntry, { roomOf }: Rules): string[] | undefined {
  return rooms.length === 0 ? undefined : sorted(rooms.flatMap((room) => roomOf(room) ?? []));
}

/** The rooms to which a change moves its lessons, and the one that a lesson gets, unless all are left out. */
type Move = { rooms: readonly string[]; home: string | undefined; change: ChangeEntry };

/** Assigns the rooms of a move: lessons that are in one of them stay; the others share the remaining rooms. */
function shareOut(lessons: readonly PlannedLesson[], rooms: readonly string[]): Map<PlannedLesson, string | undefined> {
  const former = new Set(lessons.map(({ room }) => room));
  const left = rooms.filter((room) => !former.has(room));
  const homeOf = ({ room }: PlannedLesson) => (rooms.includes(room) ? room : (left.shift() ?? rooms[0]));
  return new Map(lessons.map((lesson) => [lesson, homeOf(lesson)]));
}

const placeOf = ({ slot, room }: Pick<PlannedLesson, 'slot' | 'room'>) => `${slot?.day} ${slot?.period} ${room}`;

/** A lesson that the timetable does not have, and the changes that it takes its names from. */
type Extra = { lesson: PlannedLesson; changes: ChangeEntry[] };

/**
 * Adds lessons that the timetable does not have: one for each room. Several changes in one room at one time, such as one for each
 * teacher, are one lesson, or share their booking if they are of several jobs of this timetable.
 */
function addExtra(extra: Map<string, Extra>, change: ChangeEntry, taken: Set<string>, rules: Rules): void {
  const { term, source, report } = rules;
  const { file, line, id, day, period, subject, text } = change;
  const times = term.timesOf(isoWeekdayOf(day), period);
  const rooms = newRoomsOf(change, rules) ?? [];
  if ((change.bits & goesAway) !== 0 || rooms.length === 0) {
    report.notice(
      { file, line },
      'NoSuchLesson',
      `Substitution ${id} belongs to no lesson of the timetable and is left out`,
    );
    return;
  }
  if (!times) {
    report.fault(
      { file, line, column: 3, field: 'Stunde' },
      'UnknownPeriod',
      `the time grid has no period ${period} on this day; add it to the time grid`,
    );
    return;
  }
  const key = placeKey(day, period);
  for (const room of rooms) {
    const place = placeOf({ slot: { day, period }, room });
    const there = extra.get(place);
    if (there) {
      there.changes.push(change);
      there.lesson.subject ||= subject;
      continue;
    }
    const name = [key, `${key}-v${id}`].find((each) => !taken.has(each)) ?? `${key}-v${id}-${room}`;
    taken.add(name);
    const lesson: PlannedLesson = {
      id: name,
      file,
      line,
      room,
      status: 'Vertretung',
      slot: { day, period },
      start: term.instantOf(day, times.begin),
      end: term.instantOf(day, times.end),
      subject,
      classes: [],
      teachers: [],
      coupling: couplingIn(room, key, source),
      ...(text && { remark: text }),
    };
    extra.set(place, { lesson, changes: [change] });
  }
}

/** @throws Unplannable */
async function withNames({ lesson, changes }: Extra, rules: Rules): Promise<PlannedLesson> {
  const substitutes = changes.map((change) => ({ ...change, teachers: [change.teacher] }));
  const classes = await uniteNames(changes, 'classes', rules);
  return { ...lesson, classes, teachers: await uniteNames(substitutes, 'teachers', rules) };
}

/** Applies changes to lessons. Later changes win, whatever their order in the file. @throws Unplannable */
export async function applyChanges(
  lessons: PlannedLesson[],
  changes: readonly ChangeEntry[],
  rules: Rules,
): Promise<PlannedLesson[]> {
  if (changes.length === 0) return lessons;
  const { term, report, nextSlice } = rules;
  const extra = new Map<string, Extra>();
  const ids = new Set(lessons.map(({ id }) => id));
  const places = Map.groupBy(lessons, ({ slot }) => `${slot?.day} ${slot?.period}`);
  /** The substitutes by original teacher: a change names the teacher of the timetable, even if an earlier change replaced them. */
  const instead = new Map<PlannedLesson, Map<string, string>>();
  const moved = new Map<PlannedLesson, Move>();
  const planned = new Map(lessons.map((lesson) => [lesson, { ...lesson, teachers: [...lesson.teachers] }]));
  const order = changes.toSorted((one, other) =>
    one.enteredAt === other.enteredAt ? one.id - other.id : one.enteredAt < other.enteredAt ? -1 : 1,
  );
  for (const change of order) {
    await nextSlice();
    const { file, line, id, day } = change;
    if (day < term.first) continue;
    if (term.isOutside(day)) {
      report.notice({ file, line }, 'OutsideTerm', `Substitution ${id} is outside of the term and is left out`);
      continue;
    }
    const found = findLessons(places.get(`${day} ${change.period}`) ?? [], change, rules);
    if (found.length === 0) addExtra(extra, change, ids, rules);
    const rooms = newRoomsOf(change, rules);
    const homes = shareOut(found, rooms ?? []);
    for (const lesson of found) applyTo(lesson, change, rooms && { rooms, home: homes.get(lesson), change });
  }
  const changed = lessons.flatMap((lesson): { lesson: PlannedLesson; rooms: readonly string[] }[] => {
    const now = planned.get(lesson) as PlannedLesson;
    const teachers = instead.get(lesson);
    if (now.status === 'Entfaellt') return [{ lesson: { ...lesson, status: now.status }, rooms: [] }];
    if (!teachers) return [{ lesson: now, rooms: [] }];
    const kept = lesson.teachers.map((teacher) => teachers.get(teacher) ?? teacher).filter(Boolean);
    const added = [...teachers].filter(([absent]) => !lesson.teachers.includes(absent)).map(([, teacher]) => teacher);
    const move = moved.get(lesson);
    if (move && move.home === undefined) {
      const { file, line, id } = move.change;
      report.notice({ file, line }, 'WithoutRoom', `The lesson of substitution ${id} moves to no room and is left out`);
      return [];
    }
    const rooms = move?.rooms ?? [lesson.room];
    const room = move?.home ?? lesson.room;
    const { file, line } = move?.change ?? lesson;
    return [{ lesson: { ...now, file, line, room, teachers: sorted([...kept, ...added].filter(Boolean)) }, rooms }];
  });
  const added: PlannedLesson[] = [];
  for (const each of extra.values()) added.push(await withNames(each, rules));
  return [...changed.map(({ lesson }) => lesson), ...inFurtherRooms(changed), ...added];

  function applyTo(lesson: PlannedLesson, change: ChangeEntry, move: Move | undefined): void {
    const now = planned.get(lesson) as PlannedLesson;
    const teachers = instead.get(lesson) ?? new Map<string, string>();
    instead.set(lesson, teachers);
    const isCancelled = (change.bits & goesAway) !== 0;
    const stays = lesson.teachers.filter((teacher) => teacher !== change.absentTeacher && teachers.get(teacher) !== '');
    if (isCancelled && (stays.length === 0 || !lesson.teachers.includes(change.absentTeacher))) {
      now.status = 'Entfaellt';
      return;
    }
    now.status = 'Vertretung';
    if (isCancelled) {
      teachers.set(change.absentTeacher, '');
      return;
    }
    if (change.teacher !== '') teachers.set(change.absentTeacher, change.teacher);
    if (change.subject !== '') now.subject = change.subject;
    if (change.classes.length > 0 && change.classes.some((name) => !lesson.classes.includes(name)))
      now.classes = [...change.classes];
    if (move) moved.set(lesson, move);
  }
}

/** A lesson that moves to several rooms takes place in each of them, unless another lesson of its number does. */
function inFurtherRooms(changed: readonly { lesson: PlannedLesson; rooms: readonly string[] }[]): PlannedLesson[] {
  const taken = new Set(changed.flatMap(({ lesson }) => (lesson.status === 'Entfaellt' ? [] : placeOf(lesson))));
  return changed.flatMap(({ lesson, rooms }) =>
    rooms.flatMap((room) => {
      const further = { ...lesson, id: `${lesson.id}-${room}`, room };
      if (taken.has(placeOf(further))) return [];
      taken.add(placeOf(further));
      return further;
    }),
  );
}
