/** What may be said of a room, given what is known of it and how old that is. */
import { type RoomStatus, stateAt } from '../../displays/state.ts';
import type { ShownRoom, ShownSlot } from './frames.ts';

export type Status = RoomStatus | 'UNKNOWN';

export type Sight = {
  status: Status;
  until: number | null;
  current: ShownSlot | undefined;
  next: ShownSlot | undefined;
  /** Stale: to be shown with its age. Lost: nobody should rely on it, and least of all on the room being free. */
  age: 'fresh' | 'stale' | 'lost';
};

export function lookAt(snapshot: ShownRoom, now: number): Sight {
  const { status, until, current, next } = stateAt(snapshot, now);
  const sight = { status, until, current, next };
  if (now < snapshot.trustUntil && now < snapshot.end)
    return { ...sight, age: now - snapshot.asOf > snapshot.staleAfterSeconds * 1_000 ? 'stale' : 'fresh' };
  // What was booked is most likely still so, and is no promise.
  if (status === 'OUT_OF_SERVICE' || status === 'CLOSED') return { ...sight, age: 'lost' };
  if (current && current.from <= now) return { ...sight, status: 'BUSY', age: 'lost' };
  return { status: 'UNKNOWN', until: null, current: undefined, next: next ?? current, age: 'lost' };
}
