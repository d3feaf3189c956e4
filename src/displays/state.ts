/**
 * The state of a room, computed from its schedule. The server and the pages of the signs run this same file, so that a sign
 * without network still changes on time; it is pure. Instants are milliseconds since 1970.
 */
import { minute } from '../time/durations.ts';

export type RoomStatus =
  | 'FREE'
  | 'STARTING_SOON'
  | 'BUSY'
  | 'CHECK_IN_DUE'
  | 'ENDING_SOON'
  | 'CLOSED'
  | 'OUT_OF_SERVICE';

/** What each frame of a stream says of the content that a sign shows. */
export type Freshness = {
  /** Of the present snapshot: a hash of its content, the same in every process; empty in heartbeats of a board. */
  cursor: string;
  serverTime: number;
  /** The latest instant at which the content was known to be right. */
  asOf: number;
  /** The instant from which on the content should no longer be relied on. */
  trustUntil: number;
};

export type TimedSlot = {
  /** False for a lesson that is shown only because it was cancelled or has moved away. */
  occupies: boolean;
  isBlock: boolean;
  /** Half-open, setup and teardown included. */
  from: number;
  to: number;
  /** Null where no check-in is needed. */
  checkIn: { from: number; until: number; isDone: boolean } | null;
};

/** How a lesson differs from the first plan; members that do not differ are null. */
export type SlotChange = {
  /** The weightiest change: a lesson in another room at another time counts as one in another room. */
  kind: 'Cancelled' | 'MovedHere' | 'MovedAway' | 'Rescheduled' | 'Substituted';
  roomBefore: string | null;
  roomNow: string | null;
  startBefore: number | null;
  endBefore: number | null;
  /** The present time of a lesson that has moved away, if it differs. */
  startNow: number | null;
  endNow: number | null;
  teachersBefore: string[] | null;
};

/** One line of a room's plan as a level of privacy shows it; null: hidden or unknown. */
export type PlannedSlot = TimedSlot & {
  version: number;
  start: number;
  end: number;
  kind: 'Booking' | 'Lesson' | 'MailItem' | 'Block';
  /** Not yet certain: tentative, or waiting for approval. */
  isTentative: boolean;
  isRequested: boolean;
  subject: string | null;
  organizer: string | null;
  classes: string[] | null;
  teachers: string[] | null;
  /** For a lesson that differs from the first plan. */
  change: SlotChange | null;
};

export type Schedule<Slot extends TimedSlot = TimedSlot> = {
  /** False for a room that is retired. */
  isActive: boolean;
  /** In order of `from`. */
  slots: readonly Slot[];
  /** When the room is open, in order; adjacent times are merged. */
  open: readonly { start: number; end: number }[];
  /** The end of the schedule. */
  end: number;
};

export type RoomState<Slot extends TimedSlot = TimedSlot> = {
  status: RoomStatus;
  /** When the status ends; null if that is beyond the schedule. */
  until: number | null;
  /** The slot that occupies the room or waits for a check-in. */
  current: Slot | undefined;
  next: Slot | undefined;
  /** Until then the state changes only if the schedule does. */
  nextChangeAt: number | null;
};

/** How long before its end a booking is "ending soon". */
export const endsSoon = 10 * minute;
/** How long before the next booking a free room is "starting soon". */
export const startsSoon = 15 * minute;

const waits = ({ checkIn }: TimedSlot, now: number) =>
  checkIn !== null && !checkIn.isDone && checkIn.from <= now && now < checkIn.until;

export function stateAt<Slot extends TimedSlot>(schedule: Schedule<Slot>, now: number): RoomState<Slot> {
  const occupying = schedule.slots.filter((slot) => slot.occupies && slot.to > now);
  const [first, second] = occupying;
  const current = first && first.from <= now ? first : undefined;
  const next = current ? second : first;
  const state = (status: RoomStatus, until: number | null, shown = current): RoomState<Slot> => ({
    status,
    until: until !== null && until < schedule.end ? until : null,
    current: shown,
    next: shown === next ? occupying[occupying.indexOf(next as Slot) + 1] : next,
    nextChangeAt: nextEdge(schedule, now),
  });
  if (!schedule.isActive) return state('OUT_OF_SERVICE', null);
  if (current?.isBlock) return state('OUT_OF_SERVICE', current.to);
  if (current?.checkIn && waits(current, now)) return state('CHECK_IN_DUE', current.checkIn.until);
  if (current) {
    const end = endOfStretch(occupying);
    return state(end - now <= endsSoon ? 'ENDING_SOON' : 'BUSY', end);
  }
  if (next?.checkIn && waits(next, now)) return state('CHECK_IN_DUE', next.checkIn.until, next);
  const open = schedule.open.find(({ start, end }) => start <= now && now < end);
  if (!open) {
    const opens = schedule.open.find(({ start }) => start > now)?.start ?? schedule.end;
    // A booking may begin before the room opens.
    return state('CLOSED', Math.min(opens, next?.from ?? opens));
  }
  const isSoon = next !== undefined && next.from - now <= startsSoon;
  return state(isSoon ? 'STARTING_SOON' : 'FREE', Math.min(open.end, next?.from ?? open.end));
}

/** The end of the first slot and of those that follow it without a gap. */
function endOfStretch(occupying: readonly TimedSlot[]): number {
  let end = 0;
  for (const { from, to } of occupying) {
    if (end > 0 && from > end) break;
    end = Math.max(end, to);
  }
  return end;
}

/** The next instant at which a part of the state begins or ends. */
function nextEdge({ slots, open }: Schedule, now: number): number | null {
  let next = Number.POSITIVE_INFINITY;
  const meet = (edge: number) => {
    if (edge > now && edge < next) next = edge;
  };
  for (const { from, to, checkIn } of slots) {
    meet(from - startsSoon);
    meet(from);
    meet(to - endsSoon);
    meet(to);
    if (checkIn) {
      meet(checkIn.from);
      meet(checkIn.until);
    }
  }
  for (const { start, end } of open) {
    meet(start);
    meet(end);
  }
  return next === Number.POSITIVE_INFINITY ? null : next;
}
