/**
 * The sources that readers of rooms read at their own pace: the latest of each room, never a queue. A process may have
 * thousands, so each keeps little more than the last cursors that it sent, and is an instance of a class, to share methods.
 */
import { mayShow } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Latest } from '../flow/latest.ts';
import type { Board, BoardReader } from './board.ts';
import type { DisplayHeartbeat, Privacy, RoomSnapshot } from './display.ts';
import type { RoomReader, WatchedRoom } from './room.ts';

export type RoomFrame = RoomSnapshot | DisplayHeartbeat;

/** What a stream shows to a viewer; `narrow` leaves the rights that matter to it. */
export type Viewed<T> = Latest<T> & { narrow(viewer: Viewer): Viewer };

abstract class FrameSource implements Viewed<RoomFrame> {
  isOver = false;
  onNews: (() => void) | undefined = undefined;

  protected abstract find(): RoomFrame | undefined;
  /** Stops watching the room or board. */
  protected abstract leave(): void;

  abstract narrow(viewer: Viewer): Viewer;

  take(): RoomFrame | undefined {
    return this.isOver ? undefined : this.find();
  }

  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.leave();
    this.onNews?.();
  }
}

class RoomSource extends FrameSource implements RoomReader {
  readonly #room: WatchedRoom;
  readonly #level: Privacy;
  #cursor: string | undefined;
  #beats = -1;

  constructor(room: WatchedRoom, level: Privacy, seen: string | undefined) {
    super();
    this.#room = room;
    this.#level = level;
    this.#cursor = seen;
    room.join(this);
  }

  protected find(): RoomFrame | undefined {
    const room = this.#room;
    const present = room.cursor(this.#level);
    if (this.#cursor === present && this.#beats === room.beats) return undefined;
    this.#beats = room.beats;
    if (this.#cursor === present) return room.heartbeat(this.#level);
    this.#cursor = present;
    return room.snapshot(this.#level);
  }

  protected leave(): void {
    this.#room.leave(this);
  }

  /** A new room of a location changes the rights of all displays there, of which those at other doors need only know of some. */
  narrow(viewer: Viewer): Viewer {
    const { display } = viewer;
    if (!display) return viewer;
    const { id } = this.#room;
    const own = mayShow(viewer, id) ? [id] : [];
    const others = display.resourceIds.some((one) => one !== id) ? [0] : [];
    return { ...viewer, display: { ...display, resourceIds: [...own, ...others] } };
  }

  tell(): void {
    this.onNews?.();
  }

  end(): void {
    this.close();
  }
}

/**
 * A snapshot at once and whenever the room looks different, and a heartbeat at each beat. A reader that has the present
 * snapshot gets a heartbeat at once.
 * @param room must have been read
 * @param seen the cursor that the reader has
 */
export const readRoom = (room: WatchedRoom, level: Privacy, seen: string | undefined): Viewed<RoomFrame> =>
  new RoomSource(room, level, seen);

class BoardSource extends FrameSource implements RoomReader {
  readonly #board: Board;
  readonly #level: Privacy;
  readonly #mayShow: (resourceId: number) => boolean;
  /** The cursor last sent of each room; null before the first. */
  readonly #shown = new Map<WatchedRoom, string | null>();
  readonly #pending = new Set<WatchedRoom>();
  readonly #reader: BoardReader;
  /** The beats of the board at its last heartbeat; -1 before the first. */
  #beats = -1;

  constructor(board: Board, level: Privacy, mayShow: (resourceId: number) => boolean) {
    super();
    this.#board = board;
    this.#level = level;
    this.#mayShow = mayShow;
    this.#reader = { tell: () => this.#joinRooms(), end: () => this.close() };
    board.join(this.#reader);
    this.#joinRooms();
  }

  #joinRooms(): void {
    const board = this.#board;
    for (const id of board.resourceIds) {
      const room = this.#mayShow(id) ? board.roomOf(id) : undefined;
      if (room && !this.#shown.has(room)) {
        this.#shown.set(room, null);
        this.#pending.add(room);
        room.join(this);
      }
    }
    this.onNews?.();
  }

  protected find(): RoomFrame | undefined {
    for (const room of this.#pending) {
      this.#pending.delete(room);
      const snapshot = this.#takeSnapshot(room);
      if (snapshot) return snapshot;
    }
    const { beats } = this.#board;
    if (this.#beats === beats || (this.#beats < 0 && !this.#isWhole())) return undefined;
    this.#beats = beats;
    return this.#board.heartbeat();
  }

  /** Whether all of its rooms have been read, and so were sent. */
  #isWhole(): boolean {
    return this.#shown.keys().every(({ plan }) => plan);
  }

  #takeSnapshot(room: WatchedRoom): RoomSnapshot | undefined {
    const { plan } = room;
    const seen = this.#shown.get(room);
    if (!plan || seen === undefined) return undefined;
    const isHere = plan.stored.isActive && plan.stored.locationId === this.#board.locationId;
    const present = room.cursor(this.#level);
    const isNews = present !== seen && (isHere || seen !== null);
    this.#shown.set(room, isNews ? present : seen);
    const snapshot = isNews ? room.snapshot(this.#level) : undefined;
    // A stale room is about to be read again, and may turn out to be still in this location.
    if (!isHere && !room.isStale) this.#drop(room);
    return snapshot;
  }

  narrow(viewer: Viewer): Viewer {
    return viewer;
  }

  protected leave(): void {
    for (const room of this.#shown.keys()) room.leave(this);
    this.#board.leave(this.#reader);
  }

  tell(room: WatchedRoom): void {
    this.#pending.add(room);
    this.onNews?.();
  }

  /** The room is gone; it may have been the last for which the first heartbeat waits. */
  end(room: WatchedRoom): void {
    this.#drop(room);
    this.onNews?.();
  }

  /** Stops showing a room. */
  #drop(room: WatchedRoom): void {
    this.#shown.delete(room);
    this.#pending.delete(room);
    room.leave(this);
  }
}

/**
 * The same for the rooms of a location, with the heartbeats of the board; the first follows the first snapshots of all rooms. A
 * room that is retired or moves away is sent once more.
 * @param board must know its rooms
 * @param mayShow whether the reader may see a room
 */
export const readBoard = (board: Board, level: Privacy, mayShow: (resourceId: number) => boolean): Viewed<RoomFrame> =>
  new BoardSource(board, level, mayShow);
