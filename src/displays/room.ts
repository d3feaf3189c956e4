/** A room that is watched, or was until a moment ago, as this process knows it. */
import type { Pauses } from '../flow/retry.ts';
import { openBeats, phaseOf } from './beats.ts';
import type { DisplayHeartbeat, Privacy, RoomSnapshot } from './display.ts';
import type { RoomPlan } from './local-days.ts';
import type { Publish } from './publishing.ts';
import { type Content, toContent, toHeartbeat, toSnapshot } from './snapshot.ts';
import { stateAt } from './state.ts';

export type DisplayPace = {
  heartbeatMs: number;
  /** How long a room is kept after its last reader has left. */
  keepMs: number;
  /** The period after midnight over which the rooms of a location are read again. */
  midnightSpreadMs: number;
  /** After failed reads. */
  retries: Pauses;
};

/** `tell` is called when there may be something new; the reader asks for it. */
export type RoomReader = {
  tell(room: WatchedRoom): void;
  end(room: WatchedRoom): void;
};

export type WatchedRoom = {
  readonly id: number;
  /** Undefined before the first read. */
  readonly plan: RoomPlan | undefined;
  readonly isWatched: boolean;
  /** Whether it may have changed since the last successful read began. */
  readonly isStale: boolean;
  readonly beats: number;
  /** The latest instant at which its content is known to have been right. */
  asOf(now: number): number;
  /** What a level shows; the same object for all readers at about the same time. */
  cursor(level: Privacy): string;
  snapshot(level: Privacy): RoomSnapshot;
  heartbeat(level: Privacy): DisplayHeartbeat;
  join(reader: RoomReader): void;
  leave(reader: RoomReader): void;
  /** Marks the room as possibly changed. */
  touch(): void;
  /** Begins a read, which sees all changes up to now. @returns a function that publishes the result */
  beginRead(): (plan: RoomPlan) => void;
  /** Ends its readers too. */
  close(): void;
};

export type RoomSurroundings = {
  pace: DisplayPace;
  publish: Publish;
  /** Whether this process listens to changes. */
  isListening(): boolean;
  /** The room must be read: it may have changed, or (`isFirst`) a reader has come while it was stale. */
  wantsRead(room: WatchedRoom, isFirst: boolean): void;
  isDone(room: WatchedRoom): void;
};

/** For how long a frame is shared by readers. */
export const sharedForMs = 250;
/** How early a timer may fire. */
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

  /** Computes the part that depends on the time. */
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

  /** When the day ends at the location, and the plan must be read again. */
  const tomorrow = () =>
    isOverdue || !plan
      ? Number.POSITIVE_INFINITY
      : plan.stored.midnight + earlinessMs + phaseOf(id, pace.midnightSpreadMs);

  /** Waits for the next instant at which the state of the room changes with the time. */
  function waitToTurn(): void {
    clearTimeout(turning);
    if (readers.size === 0) return;
    const due = Math.min(nextChangeAt ?? Number.POSITIVE_INFINITY, tomorrow());
    if (due === Number.POSITIVE_INFINITY) return;
    turning = setTimeout(() => void surroundings.publish(() => turn(due)), Math.max(0, due - Date.now())).unref();
  }

  function turn(due: number): void {
    if (readers.size === 0) return;
    const now = Date.now();
    // The clock may have been set back meanwhile.
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
      // A timer that fired early has computed the state of a moment later.
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
      // Also after a failed read that was not repeated, because nobody watched the room.
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
