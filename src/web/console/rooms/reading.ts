/**
 * Reads the bookings of some rooms at a time, the visible ones first. It begins with the first frame of the subscription, so that
 * no change is missed. If no frame comes, it reads nevertheless, and again after the first frame.
 */
import { signal } from '@preact/signals';
import { type Refusal, Refused } from '../client.ts';

const atOnce = 3;
const patienceMs = 2_000;
/** The bookings in a page. */
const pageSize = 200;
const mostRooms = 100;

type Reader = {
  /** The number of rooms in a query. If they have few bookings, the next queries are of more rooms. */
  size: number;
  /** @returns how many bookings they have */
  read: (roomIds: readonly string[], stop: AbortSignal) => Promise<number>;
  /** Called when all is about to be read again. */
  forget: () => void;
  /** Called when no reading is under way. */
  rest: () => void;
};

export function openReading({ size, read, forget, rest }: Reader) {
  const isLoading = signal(true);
  /** Why some rooms could not be read; they are read again later. */
  const refusal = signal<Refusal | undefined>(undefined);
  let stop = new AbortController();
  let all: readonly string[] = [];
  let waiting: string[] = [];
  let running = 0;
  const done = { rooms: 0, bookings: 0 };
  let isHalted = false;
  /** `early`: before the subscription has answered. */
  let state: 'waiting' | 'early' | 'followed' = 'waiting';
  let impatience = beImpatient();
  let again: ReturnType<typeof setTimeout> | undefined;

  function beImpatient(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      state = 'early';
      readOn();
    }, patienceMs);
  }

  /** The number of rooms that have about one page of bookings together, estimated from those that were read. */
  function nextSize(): number {
    const perRoom = done.bookings / done.rooms;
    return done.rooms === 0 ? size : Math.max(size, Math.min(mostRooms, Math.floor(pageSize / perRoom)));
  }
  function readOn(): void {
    while (state !== 'waiting' && !isHalted && running < atOnce && waiting.length > 0) {
      const some = waiting.splice(0, nextSize());
      const { signal } = stop;
      running += 1;
      read(some, signal)
        .then(
          (bookings) => {
            refusal.value = undefined;
            if (signal.aborted) return;
            done.rooms += some.length;
            done.bookings += bookings;
          },
          (error: unknown) => {
            if (signal.aborted) return;
            if (!(error instanceof Refused)) throw error;
            waiting.unshift(...some);
            isHalted = true;
            refusal.value = error.refusal;
            again = setTimeout(readAgain, (error.refusal.retryAfterSeconds ?? 5) * 1_000);
          },
        )
        .finally(() => {
          running -= 1;
          if (running === 0) rest();
          if (running === 0 && waiting.length === 0) isLoading.value = false;
          readOn();
        });
    }
  }
  /** Reads the rooms that could not be read, once the server answers again. */
  function readAgain(): void {
    clearTimeout(again);
    isHalted = false;
    readOn();
  }
  function readAll(): void {
    stop.abort();
    stop = new AbortController();
    forget();
    waiting = [...all];
    readAgain();
  }

  return {
    isLoading,
    refusal,
    isUnderWay: () => running > 0,
    /** Tells that the subscription has sent a frame. */
    heard(): void {
      const before = state;
      state = 'followed';
      clearTimeout(impatience);
      if (before === 'early') readAll();
      else readAgain();
    },
    /** Reads all again: missed changes can no longer be read one by one. */
    restart(): void {
      state = 'waiting';
      clearTimeout(impatience);
      impatience = beImpatient();
      readAll();
    },
    /** Adds rooms to read, in the order in which they are shown. */
    add(ids: readonly string[]): void {
      const before = new Set(all);
      const added = ids.filter((id) => !before.has(id));
      all = [...all, ...added];
      waiting.push(...added);
      readOn();
    },
    /** Reads these rooms first, which are visible now. */
    prefer(ids: readonly string[]): void {
      const wanted = new Set(ids);
      waiting.sort((one, other) => Number(wanted.has(other)) - Number(wanted.has(one)));
    },
    close(): void {
      stop.abort();
      waiting = [];
      clearTimeout(impatience);
      clearTimeout(again);
    },
  };
}
