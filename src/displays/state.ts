/**
 * The state of a room, computed from its schedule. Pure and without imports, because the server and the browsers of the
 * signs run this same file: a sign turns at the minute, with the network cut too. Instants are milliseconds since 1970.
 */

export type RoomStatus = 'FREE' | 'BUSY' | 'CHECK_IN_DUE' | 'ENDING_SOON' | 'CLOSED' | 'OUT_OF_SERVICE';

export type TimedSlot = {
  /** Whether it keeps others out; a lesson that is cancelled or has moved away is shown, and does not. */
  occupies: boolean;
  /** Keeps the room from being used at all. */
  isBlock: boolean;
  /** Half-open, setup and teardown included. */
  from: number;
  to: number;
  /** Null where nobody has to check in. */
  checkIn: { from: number; until: number; isDone: boolean } | null;
};

/** How a lesson differs from what was first planned; null for what does not. */
export type SlotChange = {
  /** The weightiest: of a lesson in another room at another time that it is in another room. */
  kind: 'Cancelled' | 'MovedHere' | 'MovedAway' | 'Rescheduled' | 'Substituted';
  roomBefore: string | null;
  roomNow: string | null;
  startBefore: number | null;
  endBefore: number | null;
  teachersBefore: string[] | null;
};

/** One line of a room's plan, as a level of privacy lets it be shown; null: not to be shown, or not known. */
export type PlannedSlot = TimedSlot & {
  version: number;
  start: number;
  end: number;
  kind: 'Booking' | 'Lesson' | 'MailItem' | 'Block';
  isTentative: boolean;
  subject: string | null;
  organizer: string | null;
  classes: string[] | null;
  teachers: string[] | null;
  /** Of a lesson that is not as it was first planned. */
  change: SlotChange | null;
};

export type Schedule<Slot extends TimedSlot = TimedSlot> = {
  /** False for a room that is retired. */
  isActive: boolean;
  /** In order of `from`. */
  slots: readonly Slot[];
  /** When the room is open: in order, with nothing between two that touch. */
  open: readonly { start: number; end: number }[];
  /** As far as the schedule reaches. */
  end: number;
};

export type RoomState<Slot extends TimedSlot = TimedSlot> = {
  status: RoomStatus;
  /** When the status ends: null where that is not within the schedule. */
  until: number | null;
  /** What occupies the room, or what is to be checked in. */
  current: Slot | undefined;
  /** What occupies it after that. */
  next: Slot | undefined;
  /** Before this instant the state stays as it is, unless the schedule changes. */
  nextChangeAt: number | null;
};

const minute = 60_000;
/** For as long before its end a room that is free afterwards is "ending soon". */
export const endsSoon = 10 * minute;

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
    // Also before it opens somebody may have booked it.
    return state('CLOSED', Math.min(opens, next?.from ?? opens));
  }
  return state('FREE', Math.min(open.end, next?.from ?? open.end));
}

/** Where the first of these, and those that follow without a gap, end. */
function endOfStretch(occupying: readonly TimedSlot[]): number {
  let end = 0;
  for (const { from, to } of occupying) {
    if (end > 0 && from > end) break;
    end = Math.max(end, to);
  }
  return end;
}

/** The next instant at which anything that a state is made of begins or ends. */
function nextEdge({ slots, open }: Schedule, now: number): number | null {
  let next = Number.POSITIVE_INFINITY;
  const meet = (edge: number) => {
    if (edge > now && edge < next) next = edge;
  };
  for (const { from, to, checkIn } of slots) {
    for (const edge of [from, to - endsSoon, to]) meet(edge);
    if (checkIn) for (const edge of [checkIn.from, checkIn.until]) meet(edge);
  }
  for (const { start, end } of open) for (const edge of [start, end]) meet(edge);
  return next === Number.POSITIVE_INFINITY ? null : next;
}
