/** What the keys do in the timeline. A booking that is moved by keys is sent when the keys rest. */

import { addDays } from '../../../time/days.ts';
import { minute } from '../../../time/durations.ts';
import { dayMinutes, instantOf } from '../clock.ts';
import { announce } from '../parts/toast.ts';
import { present } from '../present.ts';
import type { Cursor, TimelineProperties } from './acts.ts';
import { step } from './geometry.ts';
import { type Booking, spanOf, toMinute } from './store.ts';
import { placeText, rulerOf, type Stop, stopsOf } from './view.ts';

type KeyProperties = TimelineProperties & {
  cursor: Cursor;
  moveTo: (roomId: string, key: string) => void;
  shownRows: number;
};

const rest = 600;
let waiting: { id: string; before: Booking; timer: ReturnType<typeof setTimeout> } | undefined;

/** Looks up the rows at each key, because they may have changed since the timeline was drawn. */
export function pressKey(
  event: KeyboardEvent,
  { rooms, store, scale, acts, cursor, moveTo, shownRows }: KeyProperties,
) {
  const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
  /** It has the focus while the cursor is out of sight. */
  const isOnGrid = event.target === event.currentTarget;
  const row = Math.max(
    0,
    rooms.findIndex(({ id }) => id === cursor.roomId),
  );
  const room = rooms[row];
  const stops = room ? stopsOf(room, store, scale) : [];
  const at = stops.findIndex(({ key }) => key === cursor.key);
  const stop = stops[at];

  function toRow(wanted: number): void {
    const next = rooms[Math.min(rooms.length - 1, Math.max(0, wanted))];
    if (!next) return;
    const time = stop?.start ?? scale.from;
    const nearest =
      stop &&
      stopsOf(next, store, scale).reduce<Stop | undefined>(
        (best, each) => (each.start <= time || !best ? each : best),
        undefined,
      );
    moveTo(next.id, nearest?.key ?? 'room');
  }
  function toStop(wanted: number): void {
    if (!room) return;
    const next = stops[Math.min(stops.length - 1, wanted)];
    moveTo(room.id, wanted < 0 || !next ? 'room' : next.key);
  }

  /** Draws a change at once; sends all changes together. */
  function shift(booking: Booking, changes: { start?: number; end?: number; rooms?: number }): void {
    if (waiting?.id !== booking.id && !acts.mayChange(booking)) {
      announce(acts.whyNot(booking));
      return;
    }
    const { start, end } = spanOf(booking);
    const target = rooms[row + (changes.rooms ?? 0)];
    if (!target) return;
    const [from, to] = [start + (changes.start ?? 0) * minute, end + (changes.end ?? 0) * minute];
    if (to - from < step * minute) return;
    const moved: Booking = {
      ...booking,
      resourceId: target.id,
      resourceName: target.name,
      start: toMinute(from),
      end: toMinute(to),
      isPending: true,
    };
    if (waiting && waiting.id !== booking.id) send();
    const before = waiting?.before ?? booking;
    if (waiting) clearTimeout(waiting.timer);
    waiting = { id: booking.id, before, timer: setTimeout(send, rest) };
    store.put(moved);
    const ruler = rulerOf(target, store);
    announce(placeText(target, { start: ruler(from), end: ruler(to) }, store));
    moveTo(target.id, `b${booking.id}`);
  }
  function send(): void {
    if (!waiting) return;
    const { id, before, timer } = waiting;
    clearTimeout(timer);
    waiting = undefined;
    const wanted = store.find(id);
    store.put(before);
    if (wanted) acts.move(before, wanted);
  }

  function open(): void {
    if (!room) return;
    if (stop?.booking) acts.open(stop.booking);
    else if (!stop) acts.openWeek(room);
    else {
      const day = Math.floor(stop.start / dayMinutes);
      const start = instantOf(
        room.timeZone,
        addDays(store.day, day),
        Math.ceil((stop.start - day * dayMinutes) / step) * step,
      );
      const end = instantOf(room.timeZone, addDays(store.day, day), stop.end - day * dayMinutes);
      acts.book(
        room,
        Math.max(start, nextStep(start, end)),
        Math.min(end, Math.max(start, nextStep(start, end)) + 60 * minute),
      );
    }
  }
  /** The start of a booking in a free time: if that has begun, from now on. */
  function nextStep(start: number, end: number): number {
    const next = Math.ceil(present() / (step * minute)) * step * minute;
    return next > start && next < end ? next : start;
  }

  if (metaKey) return;
  const booking = stop?.booking;
  const acted = ((): boolean => {
    if (altKey || shiftKey) {
      if (!booking || ctrlKey) return false;
      if (key === 'ArrowLeft') shift(booking, altKey ? { end: -step } : { start: -step, end: -step });
      else if (key === 'ArrowRight') shift(booking, altKey ? { end: step } : { start: step, end: step });
      else if (shiftKey && key === 'ArrowUp') shift(booking, { rooms: -1 });
      else if (shiftKey && key === 'ArrowDown') shift(booking, { rooms: 1 });
      else return false;
      return true;
    }
    // Space scrolls; nothing out of sight is opened or cancelled.
    if (isOnGrid && [' ', 'Enter', 'Delete'].includes(key)) return false;
    if (isOnGrid && key.startsWith('Arrow')) {
      moveTo(room?.id ?? '', cursor.key);
      return true;
    }
    const moves: Record<string, () => void> = {
      ArrowLeft: () => toStop(at - 1),
      ArrowRight: () => toStop(at + 1),
      ArrowUp: () => toRow(row - 1),
      ArrowDown: () => toRow(row + 1),
      PageUp: () => toRow(row - shownRows),
      PageDown: () => toRow(row + shownRows),
      Home: () => (ctrlKey ? toRow(0) : toStop(-1)),
      End: () => (ctrlKey ? toRow(rooms.length - 1) : toStop(stops.length - 1)),
      Enter: open,
      ' ': open,
      Delete: () => booking && acts.cancel(booking),
    };
    moves[key]?.();
    return key in moves;
  })();
  if (acted) event.preventDefault();
  if (key === 'Enter') send();
}
