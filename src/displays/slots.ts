/** What a level of privacy shows of a room's plan. Pure. */
import { type CoupledLesson, changeOfPlan, type PlanChange, together } from '../bookings/service.ts';
import type { DisplaySlot, Privacy } from './display.ts';
import type { StoredPlan, StoredSlot } from './plan.ts';
import type { SlotChange } from './state.ts';

/** What each level shows; a private booking is shown as BusyOnly at every level. */
const shown = {
  Title: { subject: true, people: true },
  Organizer: { subject: false, people: true },
  BusyOnly: { subject: false, people: false },
} satisfies Record<Privacy, { subject: boolean; people: boolean }>;

/** How the lessons of a booking differ from the first plan. */
function changeOf(slot: StoredSlot, lessons: readonly CoupledLesson[]): SlotChange | null {
  const change = changeOfPlan(lessons, slot);
  // A lesson that has moved away is shown at the time at which it was planned.
  const before = slot.isAway ? null : change.timesBefore;
  const isLater = slot.isAway && slot.isActive && (slot.startNow !== slot.start || slot.endNow !== slot.end);
  const kind = kindOfChange(slot, change);
  return (
    kind && {
      kind,
      roomBefore: change.roomBefore,
      roomNow: change.roomBefore === null ? null : slot.roomName,
      startBefore: before?.start ?? null,
      endBefore: before?.end ?? null,
      startNow: isLater ? slot.startNow : null,
      endNow: isLater ? slot.endNow : null,
      teachersBefore: change.teachersBefore,
    }
  );
}

function kindOfChange({ isActive, isAway }: StoredSlot, change: PlanChange): SlotChange['kind'] | null {
  if (!isActive) return 'Cancelled';
  if (isAway) return 'MovedAway';
  if (change.roomBefore !== null) return 'MovedHere';
  if (change.timesBefore) return 'Rescheduled';
  return change.isSubstituted ? 'Substituted' : null;
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
    .flatMap(({ roomId, lessons }) => [roomId, ...(lessons ?? []).map(({ originRoom }) => originRoom)])
    .filter((id) => id !== null && id !== resourceId) as number[];
