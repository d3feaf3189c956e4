/** The rooms of a location that is watched as a whole, as this process knows them. */
import { openBeats } from './beats.ts';
import type { DisplayHeartbeat } from './display.ts';
import { type DisplayPace, sharedForMs, type WatchedRoom } from './room.ts';
import { toHeartbeat } from './snapshot.ts';

/** `tell` is called when the location may have other rooms, and at each heartbeat. */
export type BoardReader = { tell(): void; end(): void };

export type Board = {
  readonly locationId: number;
  readonly isWatched: boolean;
  /** Whether its rooms have been read. */
  readonly isKnown: boolean;
  readonly beats: number;
  /** The ids of its rooms, in order of their names. */
  readonly resourceIds: readonly number[];
  roomOf(id: number): WatchedRoom;
  /** Its `asOf` holds for all rooms shown; the same object for all readers at about the same time. */
  heartbeat(): DisplayHeartbeat;
  /** Marks the list of rooms as possibly changed. */
  touch(): void;
  /** Begins a read of its rooms. @returns a function that publishes the result */
  beginRead(): (ids: readonly number[]) => void;
  join(reader: BoardReader): void;
  leave(reader: BoardReader): void;
  /** Ends its readers. */
  close(): void;
};

export type BoardSurroundings = {
  pace: DisplayPace;
  isListening(): boolean;
  roomOf(id: number): WatchedRoom;
  findRoom(id: number): WatchedRoom | undefined;
  isDone(board: Board): void;
};

export function openBoard(locationId: number, surroundings: BoardSurroundings): Board {
  const { pace } = surroundings;
  const readers = new Set<BoardReader>();
  let members: readonly number[] = [];
  let isKnown = false;
  let changes = 0;
  let seenChanges = -1;
  let reads = 0;
  let shownRead = 0;
  let knownAt = 0;
  let beats = 0;
  let last: DisplayHeartbeat | undefined;

  const tellAll = () => {
    for (const reader of readers) reader.tell();
  };
  const beating = openBeats(locationId, pace.heartbeatMs, () => {
    beats++;
    last = undefined;
    tellAll();
  });

  const board: Board = {
    locationId,
    get isWatched() {
      return readers.size > 0;
    },
    get isKnown() {
      return isKnown;
    },
    get beats() {
      return beats;
    },
    get resourceIds() {
      return members;
    },
    roomOf: surroundings.roomOf,
    heartbeat() {
      const now = Date.now();
      if (last && Math.abs(now - last.serverTime) <= sharedForMs) return last;
      if (seenChanges === changes && surroundings.isListening()) knownAt = now;
      const shown = members.map(surroundings.findRoom).filter((room) => room?.plan && room.isWatched);
      const asOf = Math.min(knownAt, ...shown.map((room) => (room as WatchedRoom).asOf(now)));
      last = toHeartbeat('', now, asOf);
      return last;
    },
    touch() {
      changes++;
    },
    beginRead() {
      const [read, seeing, at] = [++reads, changes, Date.now()];
      return (ids) => {
        // Of two overlapping reads the later one may end first.
        if (read < shownRead) return;
        shownRead = read;
        seenChanges = seeing;
        isKnown = true;
        knownAt = Math.max(knownAt, at);
        members = ids;
        tellAll();
      };
    },
    join(reader) {
      readers.add(reader);
      if (readers.size === 1) beating.start();
    },
    leave(reader) {
      if (!readers.delete(reader) || readers.size > 0) return;
      beating.stop();
      surroundings.isDone(board);
    },
    close() {
      for (const reader of readers) reader.end();
      beating.stop();
    },
  };
  return board;
}
