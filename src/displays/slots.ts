/** What a level of privacy shows of a room's plan. Pure. */
import type { DisplaySlot, Privacy } from './display.ts';
import type { StoredLesson, StoredPlan, StoredSlot } from './plan.ts';
import type { SlotChange } from './state.ts';

/** What each level shows; a private booking is shown as BusyOnly at every level. */
const shown = {
  Title: { subject: true, people: true },
  Organizer: { subject: false, people: true },
  BusyOnly: { subject: false, people: false },
} satisfies Record<Privacy, { subject: boolean; people: boolean }>;

/** The distinct entries of coupled lessons, in order; null where no lesson has a list. */
function together(lists: readonly (string[] | null)[]): string[] | null {
  const said = lists.filter((list) => list !== null);
  const [first, second] = said;
  return first ? [...new Set(second ? said.flat() : first)] : null;
}

const isSame = (one: readonly string[] | null, other: readonly string[] | null) =>
  JSON.stringify(one ?? []) === JSON.stringify(other ?? []);

/** How the lessons of a booking differ from the first plan; if several are coupled, the first changed one counts. */
function changeOf(slot: StoredSlot, lessons: readonly StoredLesson[]): SlotChange | null {
  const lesson = lessons.find(({ before }) => before !== null) ?? lessons[0];
  const before = lesson?.before;
  const isElsewhere =
    before != null && (lesson?.originId == null ? before.room !== slot.roomName : lesson.originId !== slot.roomId);
  const isAtAnotherTime = before != null && !slot.isAway && (before.start !== slot.start || before.end !== slot.end);
  const isLater = slot.isAway && slot.isActive && (slot.startNow !== slot.start || slot.endNow !== slot.end);
  // None differs from before where nothing is known of before.
  const teachersBefore =
    before != null ? together(lessons.map((one) => (one.before ? one.before.teachers : one.lehrpersonen))) : null;
  const hasOthers =
    before != null && !isSame(teachersBefore, together(lessons.map(({ lehrpersonen }) => lehrpersonen)));
  const kind = kindOfChange(slot, { isElsewhere, isAtAnotherTime, hasOthers, lessons });
  return (
    kind && {
      kind,
      roomBefore: isElsewhere ? (lesson?.originName ?? before.room) : null,
      roomNow: isElsewhere ? slot.roomName : null,
      startBefore: isAtAnotherTime ? before.start : null,
      endBefore: isAtAnotherTime ? before.end : null,
      startNow: isLater ? slot.startNow : null,
      endNow: isLater ? slot.endNow : null,
      teachersBefore: hasOthers ? teachersBefore : null,
    }
  );
}

function kindOfChange(
  { isActive, isAway }: StoredSlot,
  found: {
    isElsewhere: boolean;
    isAtAnotherTime: boolean;
    hasOthers: boolean;
    lessons: readonly StoredLesson[];
  },
): SlotChange['kind'] | null {
  if (!isActive) return 'Cancelled';
  if (isAway) return 'MovedAway';
  if (found.isElsewhere) return 'MovedHere';
  if (found.isAtAnotherTime) return 'Rescheduled';
  return found.hasOthers || found.lessons.some(({ status }) => status === 'Vertretung') ? 'Substituted' : null;
}

function toSlot(stored: StoredSlot, level: Privacy): DisplaySlot {
  const { subject: showsSubject, people: showsPeople } = stored.isPrivate ? shown.BusyOnly : shown[level];
  const lessons = stored.lessons ?? [];
  const change = stored.kind === 'Lesson' ? changeOf(stored, lessons) : null;
  return {
    bookingId: stored.bookingId,
    version: stored.version,
    kind: stored.kind,
    occupies: stored.isActive && !stored.isAway,
    isBlock: stored.kind === 'Block',
    isTentative: stored.isTentative,
    isRequested: stored.isRequested,
    from: stored.from,
    to: stored.to,
    start: stored.start,
    end: stored.end,
    subject: showsSubject ? stored.subject : null,
    organizer: showsPeople ? stored.organizer : null,
    classes: showsSubject ? together(lessons.map(({ klassen }) => klassen)) : null,
    teachers: showsPeople ? together(lessons.map(({ lehrpersonen }) => lehrpersonen)) : null,
    checkIn:
      stored.checkInFrom === null
        ? null
        : { from: stored.checkInFrom, until: stored.checkInUntil, isDone: stored.checkedInAt !== null },
    checkedInAt: stored.checkedInAt,
    change: change && !showsPeople ? { ...change, teachersBefore: null } : change,
  };
}

export const toSlots = ({ slots }: StoredPlan, level: Privacy): DisplaySlot[] =>
  slots.map((stored) => toSlot(stored, level));

/** The resources that a plan names besides its own: when one of them is renamed, the plan changes. */
export const resourcesIn = ({ resourceId, slots }: StoredPlan): number[] =>
  slots
    .flatMap(({ roomId, lessons }) => [roomId, ...(lessons ?? []).map(({ originId }) => originId)])
    .filter((id) => id !== null && id !== resourceId) as number[];
