/**
 * The sources that readers of rooms read at their own pace: the latest of each room, never a queue. A process may have
 * thousands of them, so each keeps little more than what was sent last.
 */
import type { Source } from '../db/notifications.ts';
import type { Board } from './board.ts';
import type { DisplayHeartbeat, Privacy, RoomSnapshot } from './display.ts';
import type { RoomReader, WatchedRoom } from './room.ts';

export type RoomFrame = RoomSnapshot | DisplayHeartbeat;

/** A source of what `take` returns; `wake` says that there may be something to take. */
function sourceOf<T>(take: () => T | undefined, close: () => void): Source<T> & { wake(): void } {
  let isClosed = false;
  let waiting: ((frame: T | undefined) => void) | undefined;
  return {
    next() {
      if (isClosed) return Promise.resolve(undefined);
      const frame = take();
      if (frame !== undefined) return Promise.resolve(frame);
      return new Promise((resolve) => {
        waiting = resolve;
      });
    },
    wake() {
      if (!waiting) return;
      const frame = take();
      if (frame === undefined) return;
      const answer = waiting;
      waiting = undefined;
      answer(frame);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      close();
      waiting?.(undefined);
      waiting = undefined;
    },
  };
}

/**
 * A snapshot at once and whenever the room looks different, and a heartbeat at each beat. A reader that has the present
 * snapshot gets a heartbeat at once.
 * @param room must have been read
 * @param seen the cursor that the reader has
 */
export function readRoom(room: WatchedRoom, level: Privacy, seen: string | undefined): Source<RoomFrame> {
  let cursor = seen;
  let beats = -1;
  const source = sourceOf<RoomFrame>(
    () => {
      const present = room.cursor(level);
      if (cursor === present && beats === room.beats) return undefined;
      beats = room.beats;
      if (cursor === present) return room.heartbeat(level);
      cursor = present;
      return room.snapshot(level);
    },
    () => room.leave(reader),
  );
  const reader: RoomReader = { tell: source.wake, end: source.close };
  room.join(reader);
  return source;
}

/**
 * The same for the rooms of a location, with the heartbeats of the board. A room that is retired or moves away is sent once
 * more.
 * @param board must know its rooms
 * @param mayShow whether the reader may see a room
 */
export function readBoard(board: Board, level: Privacy, mayShow: (resourceId: number) => boolean): Source<RoomFrame> {
  /** The cursor last sent of each room; null before the first. */
  const shown = new Map<WatchedRoom, string | null>();
  const pending = new Set<WatchedRoom>();
  // A reader of a board without rooms gets a heartbeat at once.
  let beats = board.resourceIds.some(mayShow) ? board.beats : -1;

  function leave(room: WatchedRoom): void {
    shown.delete(room);
    pending.delete(room);
    room.leave(reader);
  }
  function takeSnapshot(room: WatchedRoom): RoomSnapshot | undefined {
    const { plan } = room;
    const seen = shown.get(room);
    if (!plan || seen === undefined) return undefined;
    const isHere = plan.stored.isActive && plan.stored.locationId === board.locationId;
    const present = room.cursor(level);
    const isNews = present !== seen && (isHere || seen !== null);
    shown.set(room, isNews ? present : seen);
    const snapshot = isNews ? room.snapshot(level) : undefined;
    // A stale room is about to be read again, and may be here then.
    if (!isHere && !room.isStale) leave(room);
    return snapshot;
  }
  const source = sourceOf<RoomFrame>(
    () => {
      for (const room of pending) {
        pending.delete(room);
        const snapshot = takeSnapshot(room);
        if (snapshot) return snapshot;
      }
      if (beats === board.beats) return undefined;
      beats = board.beats;
      return board.heartbeat();
    },
    () => {
      for (const room of shown.keys()) room.leave(reader);
      board.leave(boardReader);
    },
  );
  const reader: RoomReader = {
    tell(room) {
      pending.add(room);
      source.wake();
    },
    end: leave,
  };
  function joinRooms(): void {
    for (const room of board.resourceIds.filter(mayShow).map(board.roomOf))
      if (!shown.has(room)) {
        shown.set(room, null);
        pending.add(room);
        room.join(reader);
      }
    source.wake();
  }
  const boardReader = { tell: joinRooms, end: source.close };
  board.join(boardReader);
  joinRooms();
  return source;
}
