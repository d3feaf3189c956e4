/**
 * Reads rooms for all who watch them: those of a tenant that have changed while a read ran are read together by the next.
 * A read that fails is tried again for as long as somebody watches.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../context.ts';
import type { LocalDays } from './local-days.ts';
import { readPlans } from './plan.ts';
import type { DisplayPace, WatchedRoom } from './room.ts';

/** What is to be read of a tenant. */
export type ReadQueue = {
  readonly mandatorId: number;
  readonly wanted: Set<WatchedRoom>;
  /** Being read, and who waits for that; then who waits for the read after it. */
  readonly running: Map<WatchedRoom, PromiseWithResolvers<void>>;
  readonly waiting: Map<WatchedRoom, PromiseWithResolvers<void>>;
  /** Reads that have failed one after the other; no other begins while `isPaused`. */
  failures: number;
  isPaused: boolean;
};

export const openQueue = (mandatorId: number): ReadQueue => ({
  mandatorId,
  wanted: new Set(),
  running: new Map(),
  waiting: new Map(),
  failures: 0,
  isPaused: false,
});

export type RoomReading = {
  /** Reads the room soon. */
  want(queue: ReadQueue, room: WatchedRoom): void;
  /**
   * Fulfilled by a read that begins after this call.
   * @param anew false: of a room that was never read, the one that runs is as good
   */
  readOnce(queue: ReadQueue, room: WatchedRoom, anew: boolean): Promise<void>;
  /** Nobody watches the room any more; who waits for it is still answered. */
  forget(queue: ReadQueue, room: WatchedRoom): void;
  /** Counted from the start of the process. */
  readonly figures: { readonly statements: number; readonly roomsRead: number };
};

/** Rooms of one read, and reads at a time. */
const mostRooms = 200;
const mostReads = 2;
/** Rooms that are published before others have their turn. */
const publishedAtOnce = 20;

/** A promise whose failure is no fault when nobody waits for it. */
function promised(): PromiseWithResolvers<void> {
  const made = Promise.withResolvers<void>();
  made.promise.catch(() => {});
  return made;
}

/** @param isGone told of a room that its tenant does not have */
export function openReading(
  { db, log, notifications }: Context,
  days: LocalDays,
  pace: DisplayPace,
  isGone: (room: WatchedRoom, mandatorId: number) => void,
): RoomReading {
  const hungry = new Set<ReadQueue>();
  const figures = { statements: 0, roomsRead: 0 };
  let reads = 0;
  let isScheduled = false;

  /** Soon, so that what changes with one COMMIT is read together. */
  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      for (const queue of hungry) {
        if (reads >= mostReads) return;
        start(queue);
      }
    });
  }

  function want(queue: ReadQueue, room: WatchedRoom): void {
    queue.wanted.add(room);
    hungry.add(queue);
    schedule();
  }

  function start(queue: ReadQueue): void {
    if (queue.isPaused) return;
    // Who is being read is read again after that, or the older of two plans might be published last.
    const rooms = [...queue.wanted].filter((room) => !queue.running.has(room)).slice(0, mostRooms);
    // The next time it is another tenant's turn first.
    hungry.delete(queue);
    for (const room of rooms) queue.wanted.delete(room);
    if (rooms.length === 0) return;
    if (queue.wanted.size > 0) hungry.add(queue);
    reads++;
    void read(queue, rooms).finally(() => {
      reads--;
      if (queue.wanted.size > 0) hungry.add(queue);
      schedule();
    });
  }

  async function read(queue: ReadQueue, rooms: readonly WatchedRoom[]): Promise<void> {
    const { mandatorId, running, waiting } = queue;
    for (const room of rooms) {
      // Who waits for it wants all of it as it is now; without LISTEN nobody says what has changed.
      if (waiting.has(room) || !notifications.listening) days.forgetRoom(mandatorId, room.id);
      running.set(room, waiting.get(room) ?? promised());
      waiting.delete(room);
    }
    const answered = (room: WatchedRoom) => {
      const answer = running.get(room);
      running.delete(room);
      return answer;
    };
    try {
      const found = await publish(mandatorId, rooms);
      queue.failures = 0;
      for (const room of rooms) {
        answered(room)?.resolve();
        // It may be there by now: the next read finds that out.
        if (!found.has(room.id) && !waiting.has(room)) isGone(room, mandatorId);
      }
    } catch (error) {
      log.warn({ err: (error as Error).message, rooms: rooms.length }, 'displays: rooms could not be read');
      for (const room of rooms) {
        answered(room)?.reject(error);
        if (room.isWatched) want(queue, room);
      }
      pause(queue);
    }
  }

  /** Reads the rooms and shows them to their readers. @returns the ids of those that there are */
  async function publish(mandatorId: number, rooms: readonly WatchedRoom[]): Promise<Set<number>> {
    const publishing = new Map(rooms.map((room) => [room.id, room.beginRead()]));
    figures.statements++;
    figures.roomsRead += rooms.length;
    const stored = await readPlans(db, mandatorId, [...publishing.keys()], new Date());
    const plans = await days.complete(mandatorId, stored);
    for (const [index, plan] of plans.entries()) {
      if (index > 0 && index % publishedAtOnce === 0) await nextTurn();
      publishing.get(plan.stored.resourceId)?.(plan);
    }
    return new Set(stored.map(({ resourceId }) => resourceId));
  }

  function pause(queue: ReadQueue): void {
    const [first, most] = pace.retryMs;
    queue.isPaused = true;
    const go = () => {
      queue.isPaused = false;
      if (queue.wanted.size > 0) hungry.add(queue);
      schedule();
    };
    setTimeout(go, Math.min(most, first * 2 ** queue.failures++)).unref();
  }

  return {
    want,
    forget(queue, room) {
      if (!queue.waiting.has(room)) queue.wanted.delete(room);
    },
    readOnce(queue, room, anew) {
      const current = queue.running.get(room);
      if (current && !anew && !room.plan && !queue.wanted.has(room)) return current.promise;
      const answer = queue.waiting.get(room) ?? promised();
      queue.waiting.set(room, answer);
      want(queue, room);
      return answer.promise;
    },
    figures,
  };
}
