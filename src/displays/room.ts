/** A room that somebody watches, or has watched a moment ago, as this process knows it. */
import { openBeats, phaseOf } from './beats.ts';
import type { DisplayHeartbeat, Privacy, RoomSnapshot } from './display.ts';
import type { RoomPlan } from './local-days.ts';
import { type Content, toContent, toHeartbeat, toSnapshot } from './snapshot.ts';
import { stateAt } from './state.ts';

export type DisplayPace = {
  heartbeatMs: number;
  /** How long a room is kept that nobody watches any more: who comes back finds it as it is. */
  keepMs: number;
  /** Over how long the rooms of a location are read again after its midnight. */
  midnightSpreadMs: number;
  /** Before a read that has failed is tried again; it doubles each time, up to the second. */
  retryMs: readonly [first: number, most: number];
};

/** Told when there may be something new of the room; what it is, it asks for itself. */
export type RoomReader = {
  tell(room: WatchedRoom): void;
  /** The room is no more. */
  end(room: WatchedRoom): void;
};

export type WatchedRoom = {
  readonly id: number;
  /** Undefined before the first read. */
  readonly plan: RoomPlan | undefined;
  readonly isWatched: boolean;
  /** It may have changed since the last read that succeeded began. */
  readonly isStale: boolean;
  /** Counts the heartbeats. */
  readonly beats: number;
  /** Until when its content is known to have been right. */
  asOf(now: number): number;
  /** What there is to be shown; the same object for all who ask at about the same time. */
  cursor(level: Privacy): string;
  snapshot(level: Privacy): RoomSnapshot;
  heartbeat(level: Privacy): DisplayHeartbeat;
  join(reader: RoomReader): void;
  leave(reader: RoomReader): void;
  /** It may have changed. */
  touch(): void;
  /** A read begins, which sees all changes up to now; what it has found is published by what this returns. */
  beginRead(): (plan: RoomPlan) => void;
  /** Ends its readers too. */
  close(): void;
};

export type RoomSurroundings = {
  pace: DisplayPace;
  /** Whether changes are heard of. */
  isListening(): boolean;
  /** The room wants to be read: because it may have changed, or because somebody comes who does not know it yet. */
  wantsRead(room: WatchedRoom, isFirst: boolean): void;
  /** Nobody needs it any more. */
  isDone(room: WatchedRoom): void;
};

/** For so many milliseconds a frame that was made for one reader is good for another. */
export const sharedForMs = 250;
/** By so many milliseconds a timer may be early. */
const earlinessMs = 50;

type View = { content: Content; snapshot?: RoomSnapshot; heartbeat?: DisplayHeartbeat };

export function openRoom(id: number, surroundings: RoomSurroundings): WatchedRoom {
  const { pace } = surroundings;
  const readers = new Set<RoomReader>();
  const views = new Map<Privacy, View>();
  let plan: RoomPlan | undefined;
  let nextChangeAt: number | null = null;
  let renewedAt = 0;
  let isOverdue = false;
  let changes = 1;
  let seenChanges = 0;
  let knownAt = 0;
  let beats = 0;
  let turning: NodeJS.Timeout | undefined;
  let leaving: NodeJS.Timeout | undefined;

  const tellAll = () => {
    for (const reader of readers) reader.tell(room);
  };

  /** Works out anew what depends on the time. */
  function renew(now: number): void {
    views.clear();
    renewedAt = now;
    if (!plan) return;
    const { stored, open } = plan;
    const slots = stored.slots.map(({ isActive, isAway, kind, from, to, checkInFrom, checkInUntil }) => ({
      occupies: isActive && !isAway,
      isBlock: kind === 'Block',
      from,
      to,
      checkIn: checkInFrom === null ? null : { from: checkInFrom, until: checkInUntil, isDone: false },
    }));
    ({ nextChangeAt } = stateAt({ isActive: stored.isActive, slots, open, end: stored.end }, now));
  }

  /** When the day is over at the location, and the plan wants to be read again. */
  const tomorrow = () =>
    isOverdue || !plan
      ? Number.POSITIVE_INFINITY
      : plan.stored.midnight + earlinessMs + phaseOf(id, pace.midnightSpreadMs);

  /** Waits for the next instant at which the room looks different by itself. */
  function waitToTurn(): void {
    clearTimeout(turning);
    if (readers.size === 0) return;
    const due = Math.min(nextChangeAt ?? Number.POSITIVE_INFINITY, tomorrow());
    if (due < Number.POSITIVE_INFINITY) turning = setTimeout(() => turn(due), Math.max(0, due - Date.now())).unref();
  }

  function turn(due: number): void {
    const now = Date.now();
    // Unless the clock was set back meanwhile.
    if (due <= now + earlinessMs) {
      if (tomorrow() <= now + earlinessMs) {
        isOverdue = true;
        room.touch();
      }
      renew(Math.max(now, due));
      tellAll();
    }
    waitToTurn();
  }

  const beating = openBeats(id, pace.heartbeatMs, () => {
    beats++;
    for (const view of views.values()) delete view.heartbeat;
    tellAll();
  });

  function viewOf(level: Privacy, now: number): View {
    if (!plan) throw new Error(`Room ${id} has not been read yet.`);
    if (nextChangeAt !== null && nextChangeAt <= now) renew(now);
    let view = views.get(level);
    if (!view) {
      // A timer that was early has turned it to what is right in a moment.
      const at = now < renewedAt && renewedAt <= now + earlinessMs ? renewedAt : now;
      views.set(level, (view = { content: toContent(plan, level, at) }));
    }
    return view;
  }

  const room: WatchedRoom = {
    id,
    get plan() {
      return plan;
    },
    get isWatched() {
      return readers.size > 0;
    },
    get isStale() {
      return seenChanges !== changes;
    },
    get beats() {
      return beats;
    },
    asOf(now) {
      if (!room.isStale && surroundings.isListening()) knownAt = now;
      return knownAt;
    },
    cursor: (level) => viewOf(level, Date.now()).content.cursor,
    snapshot(level) {
      const now = Date.now();
      const view = viewOf(level, now);
      if (!view.snapshot || Math.abs(now - view.snapshot.serverTime) > sharedForMs)
        view.snapshot = toSnapshot(view.content, now, room.asOf(now));
      return view.snapshot;
    },
    heartbeat(level) {
      const now = Date.now();
      const view = viewOf(level, now);
      if (!view.heartbeat || Math.abs(now - view.heartbeat.serverTime) > sharedForMs)
        view.heartbeat = toHeartbeat(view.content.cursor, now, room.asOf(now));
      return view.heartbeat;
    },
    join(reader) {
      clearTimeout(leaving);
      readers.add(reader);
      // Also what was to be read again when nobody watched it any more, and could not be.
      if (room.isStale) surroundings.wantsRead(room, true);
      if (readers.size > 1) return;
      beating.start();
      waitToTurn();
    },
    leave(reader) {
      if (!readers.delete(reader) || readers.size > 0) return;
      beating.stop();
      clearTimeout(turning);
      leaving = setTimeout(() => surroundings.isDone(room), pace.keepMs).unref();
    },
    touch() {
      changes++;
      surroundings.wantsRead(room, false);
    },
    beginRead() {
      const [seeing, at] = [changes, Date.now()];
      return (found) => {
        seenChanges = seeing;
        // Whether changes since then are heard of, the next frame asks.
        knownAt = Math.max(knownAt, at);
        plan = found;
        isOverdue = false;
        renew(Date.now());
        waitToTurn();
        tellAll();
      };
    },
    close() {
      for (const reader of readers) reader.end(room);
      beating.stop();
      for (const timer of [turning, leaving]) clearTimeout(timer);
    },
  };
  return room;
}
