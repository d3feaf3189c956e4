/** Combines the coupled lessons of one booking, and compares them with the first plan. Pure. */
import { type LessonOrigin, mostNames } from './lektion.ts';

/** Lessons that may share a booking. */
export const mostCoupled = 200;

/** The order in which the lessons of a booking are read. */
export const orderOfLessons = 'job, lektion_id';
/** The approximate limit of their JSON; lessons beyond it are left out. */
export const mostOctets = 100_000;

export type CoupledLesson = {
  status: string;
  klassen: string[] | null;
  lehrpersonen: string[] | null;
  ursprung: LessonOrigin | null;
  /** The room of `ursprung`, and the present name of that room; null if unknown. */
  originRoom: number | null;
  originName: string | null;
};

/** The distinct members of the lists of all lessons, in order, up to `mostNames`; null if all lists are null. */
export function together(lists: readonly (string[] | null)[]): string[] | null {
  const said = lists.filter((list) => list !== null);
  const [first, second] = said;
  return first ? [...new Set(second ? said.flat() : first)].slice(0, mostNames) : null;
}

/** The room and time of a booking; `start` and `end` in milliseconds since 1970. */
type Place = { roomId: number; roomName: string; start: number; end: number };

/** The values of the first plan that have changed; null for the others. */
export type PlanChange = {
  /** The room, by its present name if it is known. */
  roomBefore: string | null;
  timesBefore: { start: number; end: number } | null;
  /** The teachers of all lessons; null also if there were none. */
  teachersBefore: string[] | null;
  /** Whether the teachers have changed, or a lesson has the status Vertretung. */
  isSubstituted: boolean;
};

const isSame = (one: readonly string[] | null, other: readonly string[] | null) =>
  JSON.stringify(one ?? []) === JSON.stringify(other ?? []);

/**
 * How the lessons of a booking differ from the first plan; the former room and times are those of the first that moved.
 */
export function changeOfPlan(lessons: readonly CoupledLesson[], now: Place): PlanChange {
  const isSubstituted = lessons.some(({ status }) => status === 'Vertretung');
  const moves = lessons.flatMap((lesson) => moveOf(lesson, now) ?? []);
  if (moves.length === 0) return { roomBefore: null, timesBefore: null, teachersBefore: null, isSubstituted };
  const move = moves.find(({ roomBefore, timesBefore }) => roomBefore !== null || timesBefore !== null);
  const teachersBefore = together(
    lessons.map(({ ursprung, lehrpersonen }) => (ursprung ? ursprung.Lehrpersonen : lehrpersonen)),
  );
  const hasOthers = !isSame(teachersBefore, together(lessons.map(({ lehrpersonen }) => lehrpersonen)));
  return {
    roomBefore: move?.roomBefore ?? null,
    timesBefore: move?.timesBefore ?? null,
    teachersBefore: hasOthers ? teachersBefore : null,
    isSubstituted: isSubstituted || hasOthers,
  };
}

/** Null for a lesson that has never changed. */
function moveOf({ ursprung, originRoom, originName }: CoupledLesson, now: Place) {
  if (ursprung === null) return null;
  const { RessourceName: name, Beginn, Ende } = ursprung;
  const [start, end] = [Date.parse(Beginn), Date.parse(Ende)];
  // A renamed room is the same room.
  const isElsewhere = originRoom === null ? name !== now.roomName : originRoom !== now.roomId;
  const isAtAnotherTime = start !== now.start || end !== now.end;
  return {
    roomBefore: isElsewhere ? (originName ?? name) : null,
    timesBefore: isAtAnotherTime ? { start, end } : null,
  };
}
