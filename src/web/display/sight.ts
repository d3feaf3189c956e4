/** What may be shown of a room, given the age of its data. */
import { type RoomStatus, stateAt } from '../../displays/state.ts';
import type { ShownRoom, ShownSlot } from './frames.ts';

export type Status = RoomStatus | 'UNKNOWN';

export type Sight = {
  status: Status;
  until: number | null;
  current: ShownSlot | undefined;
  next: ShownSlot | undefined;
  /** Stale: shown with its age. Lost: not reliable; a room is never shown as free. */
  age: 'fresh' | 'stale' | 'lost';
};

export function lookAt(snapshot: ShownRoom, now: number): Sight {
  const { status, until, current, next } = stateAt(snapshot, now);
  const sight = { status, until, current, next };
  if (now < snapshot.trustUntil && now < snapshot.end)
    return { ...sight, age: now - snapshot.asOf > snapshot.staleAfterSeconds * 1_000 ? 'stale' : 'fresh' };
  // Beyond its end, the plan knows of no opening hours.
  if (status === 'OUT_OF_SERVICE' || (status === 'CLOSED' && now < snapshot.end)) return { ...sight, age: 'lost' };
  // The booking that was known is most likely still there.
  if (current && current.from <= now) return { ...sight, status: 'BUSY', age: 'lost' };
  return { status: 'UNKNOWN', until: null, current: undefined, next: next ?? current, age: 'lost' };
}
