/** Turns the entries of one job into lessons by the rules for all formats. Pure, and independent of the order of lines. */
import type { ChangeEntry, DatedEntry, EntrySource, SlotEntry, SpanEntry, TimetableEntry } from './entries.ts';
import { planEvents } from './events.ts';
import { shown } from './faults.ts';
import { Unplannable, uniteNames, uniteTexts } from './merging.ts';
import { couplingIn, keyOf, type PlannedLesson, placeKey, type Rules } from './planned.ts';
import { applyChanges } from './substitutions.ts';

/** The lessons of a weekday and period on one date: one for each room. @throws Unplannable */
async function lessonsAt(
  slots: readonly SlotEntry[],
  day: number,
  jobID: string,
  rules: Rules,
): Promise<PlannedLesson[]> {
  const { term, roomOf } = rules;
  const [{ day: weekday, period }] = slots as [SlotEntry];
  const times = term.timesOf(weekday, period);
  if (!times) return [];
  const rooms = Map.groupBy(slots, ({ room }) => roomOf(room));
  rooms.delete(null);
  const key = placeKey(day, period);
  const several = rooms.size > 1;
  const planned: PlannedLesson[] = [];
  for (const [room, same] of rooms) {
    const first = same.reduce((least, slot) => (slot.line < least.line ? slot : least));
    const remark = await uniteTexts(same, 'remark', '; ', rules);
    planned.push({
      id: key,
      line: first.line,
      file: first.file,
      room: room as string,
      status: 'Geplant',
      slot: { day, period },
      start: term.instantOf(day, times.begin),
      end: term.instantOf(day, times.end),
      subject: await uniteTexts(same, 'subject', '/', rules),
      classes: await uniteNames(same, 'classes', rules),
      teachers: await uniteNames(same, 'teachers', rules),
      ...(first.title && { title: first.title }),
      ...(remark && { remark }),
      ...(several && { coupling: keyOf(`${jobID}-${key}`) }),
    });
  }
  if (!several) return planned;
  const byTeacher = Map.groupBy(planned, ({ teachers }) => teachers[0] ?? '');
  return planned.map((lesson) => {
    const teacher = lesson.teachers[0] ?? '';
    const isOnly = byTeacher.get(teacher)?.length === 1;
    return { ...lesson, id: `${key}-${teacher}${isOnly ? '' : `-${lesson.room}`}` };
  });
}

/** @throws Unplannable */
async function weekly(
  slots: readonly SlotEntry[],
  spans: readonly SpanEntry[],
  jobID: string,
  rules: Rules,
): Promise<PlannedLesson[]> {
  const { term, report, roomOf, nextSlice } = rules;
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
      await nextSlice();
      if (!isSpanned(day)) continue;
      const fitting = same.filter((slot) => term.fits(slot, day));
      if (fitting.length > 0) lessons.push(...(await lessonsAt(fitting, day, jobID, rules)));
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

/**
 * Merges the lines of a lesson, such as one for each class, into one lesson per room. A CSV may have all of its lines in one job.
 * @throws Unplannable
 */
async function dated(entries: readonly DatedEntry[], rules: Rules): Promise<PlannedLesson[]> {
  const { report, roomOf, nextSlice } = rules;
  const lessons: PlannedLesson[] = [];
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
        remark: await uniteTexts(there, 'remark', '; ', rules),
        classes: await uniteNames(there, 'classes', rules),
        teachers: await uniteNames(there, 'teachers', rules),
        ...(rooms.size > 1 && { coupling: keyOf(`${id}-${start}`) }),
      });
  }
  return lessons;
}

/** The most entries of one job, which may all have to be compared with each other; and the most with a rule. */
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
  let lessons: PlannedLesson[];
  try {
    const changes: ChangeEntry[] = of('change');
    lessons = [
      ...(await applyChanges(await weekly(slots, of('span'), jobID, rules), changes, rules)),
      ...(await dated(of('dated'), rules)),
      ...(await planEvents(of('event'), rules)),
    ];
  } catch (error) {
    if (error instanceof Unplannable) return [];
    throw error;
  }
  for (const lesson of lessons)
    if (rules.isShared(lesson.room)) {
      const { room, slot, start } = lesson;
      lesson.coupling = couplingIn(room, slot ? placeKey(slot.day, slot.period) : new Date(start).toISOString());
    }
  return lessons.sort((one, other) => (one.id < other.id ? -1 : 1));
}
