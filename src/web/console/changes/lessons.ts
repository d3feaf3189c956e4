/** The lessons of a day and what has changed about each, by class, teacher or room. */
import { addDays } from '../../../time/days.ts';
import { ask, pages } from '../client.ts';
import { dayAt, dayText, instantOf, ownZone, timeText } from '../clock.ts';
import { type DayLessonFragment, DayLessonsDocument, type LessonFilter } from '../generated/graphql.ts';
import { present } from '../present.ts';
import type { Room } from '../rooms/store.ts';
import { t } from '../texts/changes.ts';

export type Lesson = DayLessonFragment & { timeZone: string; locationId: string };

export const groupings = ['class', 'teacher', 'room'] as const;
export type Grouping = (typeof groupings)[number];

export type Wish = { day: string; by: Grouping; only: string; location: string; all: boolean };

const filterNames = { class: 'class', teacher: 'teacher', room: 'resourceName' } as const;

/** The changed lessons of a day; with `all`, every lesson of the named class, teacher or room. */
export async function readDay({ day, by, only, all }: Wish, rooms: readonly Room[], stop: AbortSignal) {
  const zones = [...new Set(rooms.map(({ timeZone }) => timeZone)), ...(rooms.length ? [] : [ownZone])];
  const window = {
    from: new Date(Math.min(...zones.map((zone) => instantOf(zone, day, 0)))).toISOString(),
    to: new Date(Math.max(...zones.map((zone) => instantOf(zone, addDays(day, 1), 0)))).toISOString(),
  };
  const byId = new Map(rooms.map((room) => [room.id, room]));
  const found = new Map<string, Lesson>();
  const filters: LessonFilter[] = [{ ...window, changed: true }];
  if (all && only) filters.push({ ...window, [filterNames[by]]: only });
  for (const filter of filters) {
    const read = async (after: string | null) => (await ask(DayLessonsDocument, { filter, after }, stop)).lessons;
    for await (const nodes of pages(read))
      for (const lesson of nodes) {
        const { timeZone = zones[0] as string, locationId = '' } = byId.get(lesson.resourceId) ?? {};
        const isThen = (at: string) => dayAt(timeZone, Date.parse(at)) === day;
        // A day is another range of instants in each zone.
        if (isThen(lesson.start) || (lesson.origin && isThen(lesson.origin.start)))
          found.set(lesson.id, { ...lesson, timeZone, locationId });
      }
  }
  return { lessons: [...found.values()], readAt: present() };
}

const list = (names: readonly string[] | null | undefined) => (names ?? []).join(', ');

const spanText = (timeZone: string, { start, end }: { start: string; end: string }) =>
  `${timeText(timeZone, Date.parse(start))}–${timeText(timeZone, Date.parse(end))}`;

/** A value, and what it was before its change. */
export type Told = { now: string; before?: string };
const told = (now: string, before: string): Told => (now === before ? { now } : { now, before });

export type Mark = keyof ReturnType<typeof t>['marks'];
export type Line = {
  lesson: Lesson;
  /** Its place in the order of the shown day. */
  at: number;
  mark: Mark | undefined;
  time: Told;
  subject: Told;
  classes: string;
  teachers: Told;
  room: Told;
};

/** The line of a lesson on a day. */
function lineOf(lesson: Lesson, day: string): Line {
  const { origin, timeZone, start, status } = lesson;
  const was = origin ?? lesson;
  const [dayNow, dayBefore] = [start, was.start].map((at) => dayAt(timeZone, Date.parse(at))) as [string, string];
  const dated = (on: string, at: { start: string; end: string }) =>
    `${on === day ? '' : `${dayText(on, 'short')} `}${spanText(timeZone, at)}`;
  const time = told(dated(dayNow, lesson), dated(dayBefore, was));
  const subject = told(
    lesson.subject ?? lesson.title ?? '',
    (origin ? origin.subject : lesson.subject) ?? lesson.title ?? '',
  );
  const teachers = told(list(lesson.teachers), list(was.teachers));
  const room = told(lesson.resourceName, was.resourceName);
  const mark = ((): Mark | undefined => {
    if (status === 'Entfaellt') return 'cancelled';
    if (dayNow !== dayBefore) return dayNow === day ? 'here' : 'away';
    if (status === 'Vertretung') return 'substituted';
    if ((time.before ?? room.before) !== undefined) return 'moved';
    return (teachers.before ?? subject.before) === undefined ? undefined : 'changed';
  })();
  const at = Date.parse(dayNow === day ? start : was.start);
  return { lesson, at, mark, time, subject, classes: list(lesson.classes), teachers, room };
}

const namesOf = {
  class: ({ classes }: Lesson) => classes,
  teacher: ({ teachers, origin }: Lesson) => [...(teachers ?? []), ...(origin?.teachers ?? [])],
  room: ({ resourceName, origin }: Lesson) => [resourceName, ...(origin ? [origin.resourceName] : [])],
};

/** For each class, teacher or room, former ones too: the lines that concern it, in order of time. */
export function groupsOf(lessons: readonly Lesson[], { day, by, only, location }: Wish): [string, Line[]][] {
  const groups = new Map<string, Line[]>();
  for (const lesson of lessons) {
    if (location && lesson.locationId !== location) continue;
    const names = namesOf[by](lesson);
    const line = lineOf(lesson, day);
    for (const name of new Set(names?.length ? names : [t().without[by]])) {
      const lines = groups.get(name) ?? [];
      groups.set(name, lines);
      lines.push(line);
    }
  }
  const wanted = only.trim().toLocaleLowerCase();
  const names = [...groups.keys()];
  const isOne = names.some((name) => name.toLocaleLowerCase() === wanted);
  const fits = (name: string) =>
    isOne ? name.toLocaleLowerCase() === wanted : name.toLocaleLowerCase().includes(wanted);
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return [...groups]
    .filter(([name]) => fits(name))
    .map(([name, lines]): [string, Line[]] => [name, lines.sort((one, other) => one.at - other.at)])
    .sort(([one], [other]) => compare(one, other));
}
