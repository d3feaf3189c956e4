/** Applies substitutions, cancellations and moves (GPU014) to the lessons of a job. */
import type { ChangeEntry } from './entries.ts';
import { sorted } from './entries.ts';
import { type PlannedLesson, placeKey, type Rules } from './planned.ts';
import { weekdayFrom } from './term.ts';
import { bits } from './untis.ts';

const goesAway = bits.cancelled | bits.moved | bits.released | bits.noLessons;

/** Finds the lesson that a change applies to; of several, that of the absent teacher or in the old room. */
function findLesson(
  there: readonly PlannedLesson[],
  change: ChangeEntry,
  { roomOf }: Rules,
): PlannedLesson | undefined {
  if (there.length <= 1) return there[0];
  return (
    there.find(({ teachers }) => teachers.includes(change.absentTeacher)) ??
    there.find(({ room }) => change.oldRoom !== '' && room === roomOf(change.oldRoom))
  );
}

/** Makes a lesson that the timetable does not have. */
function extraLesson(
  change: ChangeEntry,
  taken: ReadonlySet<string>,
  { term, report, roomOf }: Rules,
): PlannedLesson | undefined {
  const { file, line, id, day, period } = change;
  const times = term.timesOf(weekdayFrom(day), period);
  const room = change.room === '' ? null : roomOf(change.room);
  if ((change.bits & goesAway) !== 0 || room === null) {
    report.notice(
      { file, line },
      'NoSuchLesson',
      `Substitution ${id} is of no lesson of the timetable and is left out`,
    );
    return undefined;
  }
  if (!times) {
    report.fault(
      { file, line, column: 3, field: 'Stunde' },
      'UnknownPeriod',
      `the time grid has no period ${period} on this day; add it to the time grid`,
    );
    return undefined;
  }
  const key = placeKey(day, period);
  return {
    id: taken.has(key) ? `${key}-v${id}` : key,
    file,
    line,
    room,
    status: 'Vertretung',
    slot: { day, period },
    start: term.instantOf(day, times.begin),
    end: term.instantOf(day, times.end),
    subject: change.subject,
    classes: [...change.classes],
    teachers: change.teacher === '' ? [] : [change.teacher],
    ...(change.text && { remark: change.text }),
  };
}

/** Applies changes to lessons. Later changes win, whatever their order in the file. */
export function applyChanges(lessons: PlannedLesson[], changes: readonly ChangeEntry[], rules: Rules): PlannedLesson[] {
  if (changes.length === 0) return lessons;
  const { term, report, roomOf } = rules;
  const extra: PlannedLesson[] = [];
  const ids = new Set(lessons.map(({ id }) => id));
  const places = Map.groupBy(lessons, ({ slot }) => `${slot?.day} ${slot?.period}`);
  /** The substitutes by original teacher: a change names the teacher of the timetable, even if an earlier change replaced them. */
  const instead = new Map<PlannedLesson, Map<string, string>>();
  const planned = new Map(lessons.map((lesson) => [lesson, { ...lesson, teachers: [...lesson.teachers] }]));
  const order = changes.toSorted((one, other) =>
    one.enteredAt === other.enteredAt ? one.id - other.id : one.enteredAt < other.enteredAt ? -1 : 1,
  );
  for (const change of order) {
    const { file, line, id, day } = change;
    if (day < term.first) continue;
    if (term.isOutside(day)) {
      report.notice({ file, line }, 'OutsideTerm', `Substitution ${id} is outside of the term and is left out`);
      continue;
    }
    const lesson = findLesson(places.get(`${day} ${change.period}`) ?? [], change, rules);
    if (!lesson) {
      const added = extraLesson(change, ids, rules);
      if (!added) continue;
      ids.add(added.id);
      extra.push(added);
      continue;
    }
    const now = planned.get(lesson) as PlannedLesson;
    const teachers = instead.get(lesson) ?? new Map<string, string>();
    instead.set(lesson, teachers);
    const isCancelled = (change.bits & goesAway) !== 0;
    const stays = lesson.teachers.filter((teacher) => teacher !== change.absentTeacher && teachers.get(teacher) !== '');
    if (isCancelled && (stays.length === 0 || !lesson.teachers.includes(change.absentTeacher))) {
      now.status = 'Entfaellt';
      continue;
    }
    now.status = 'Vertretung';
    if (isCancelled) {
      teachers.set(change.absentTeacher, '');
      continue;
    }
    if (change.teacher !== '') teachers.set(change.absentTeacher, change.teacher);
    if (change.subject !== '') now.subject = change.subject;
    if (change.classes.length > 0 && change.classes.some((name) => !lesson.classes.includes(name)))
      now.classes = [...change.classes];
    const room = change.room === '' ? null : roomOf(change.room);
    if (room !== null) now.room = room;
  }
  return [
    ...lessons.map((lesson) => {
      const now = planned.get(lesson) as PlannedLesson;
      const teachers = instead.get(lesson);
      if (!teachers || now.status === 'Entfaellt')
        return now.status === 'Entfaellt' ? { ...lesson, status: now.status } : now;
      const kept = lesson.teachers.map((teacher) => teachers.get(teacher) ?? teacher).filter(Boolean);
      const added = [...teachers].filter(([absent]) => !lesson.teachers.includes(absent)).map(([, teacher]) => teacher);
      return { ...now, teachers: sorted([...kept, ...added].filter(Boolean)) };
    }),
    ...extra,
  ];
}
