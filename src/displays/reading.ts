/**
 * Reads rooms for all their readers. Rooms of a tenant that change while a read runs are read together by the next one. A
 * read that fails is repeated as long as the room is watched.
 */
import type { Context } from '../context.ts';
import { backOff } from '../flow/retry.ts';
import { workFor } from '../flow/working.ts';
import type { LocalDays } from './local-days.ts';
import { readPlans } from './plan.ts';
import type { Publish } from './publishing.ts';
import type { DisplayPace, WatchedRoom } from './room.ts';

/** The rooms of a tenant to read. */
export type ReadQueue = {
  readonly mandatorId: number;
  readonly wanted: Set<WatchedRoom>;
  /** `running`: the rooms being read, with the promise of that read; `waiting`: those whose next read a caller waits for. */
  readonly running: Map<WatchedRoom, PromiseWithResolvers<void>>;
  readonly waiting: Map<WatchedRoom, PromiseWithResolvers<void>>;
  /** Consecutive failures; no read begins while `isPaused`. */
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
   * @param anew false: for a room that was never read, a read already under way is enough
   */
  readOnce(queue: ReadQueue, room: WatchedRoom, anew: boolean): Promise<void>;
  /** Drops the room; callers who wait for it are still answered. */
  forget(queue: ReadQueue, room: WatchedRoom): void;
  /** Counted from the start of the process. */
  readonly figures: { readonly statements: number; readonly roomsRead: number };
};

/** The most rooms of one read. */
const mostRooms = 200;
/** The most reads at a time. One tenant has all but one of them at most: its reads may take long. */
const mostReads = 3;

/** A promise whose rejection need not be handled. */
function promised(): PromiseWithResolvers<void> {
  const made = Promise.withResolvers<void>();
  made.promise.catch(() => {});
  return made;
}

/** @param isGone called for a room that its tenant does not have */
export function openReading(
  { db, log, notifications }: Context,
  days: LocalDays,
  pace: DisplayPace,
  publish: Publish,
  isGone: (room: WatchedRoom, mandatorId: number) => void,
): RoomReading {
  const hungry = new Set<ReadQueue>();
  const figures = { statements: 0, roomsRead: 0 };
  let reads = 0;
  let isScheduled = false;

  /** Deferred, so that all changes of one COMMIT are read together. */
  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    workFor(undefined, () =>
      setImmediate(() => {
        isScheduled = false;
        for (const queue of hungry) {
          if (reads >= mostReads) return;
          start(queue);
        }
      }),
    );
  }

  function want(queue: ReadQueue, room: WatchedRoom): void {
    queue.wanted.add(room);
    hungry.add(queue);
    schedule();
  }

  function start(queue: ReadQueue): void {
    if (queue.isPaused || (queue.running.size > 0 && reads === mostReads - 1)) return;
    // Rooms being read wait for the next read, or the older of two plans might be published last.
    const rooms = [...queue.wanted].filter((room) => !queue.running.has(room)).slice(0, mostRooms);
    // Moves the tenant to the end of the line.
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
      // A caller who waits wants current data; without LISTEN no cached day can be trusted.
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
      const found = await readAndPublish(mandatorId, rooms);
      queue.failures = 0;
      for (const room of rooms) {
        answered(room)?.resolve();
        // A waiting read will see whether the room has come back.
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

  /** Reads the rooms and publishes them. @returns the ids of those that exist */
  async function readAndPublish(mandatorId: number, rooms: readonly WatchedRoom[]): Promise<Set<number>> {
    const publishing = new Map(rooms.map((room) => [room.id, room.beginRead()]));
    figures.statements++;
    figures.roomsRead += rooms.length;
    const stored = await readPlans(db, mandatorId, [...publishing.keys()], new Date());
    const plans = await days.complete(mandatorId, stored);
    await Promise.all(plans.map((plan) => publish(() => publishing.get(plan.stored.resourceId)?.(plan))));
    return new Set(stored.map(({ resourceId }) => resourceId));
  }

  function pause(queue: ReadQueue): void {
    queue.isPaused = true;
    const go = () => {
      queue.isPaused = false;
      if (queue.wanted.size > 0) hungry.add(queue);
      schedule();
    };
    setTimeout(go, backOff(queue.failures++, pace.retries)).unref();
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
