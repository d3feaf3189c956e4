/**
 * Booking, moving and resizing with a mouse or pen. The dragged booking is drawn above the rows, so that live changes do not move
 * it. Fingers scroll; a tap opens a booking or a free time.
 */

import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { addDays } from '../../../time/days.ts';
import { minute } from '../../../time/durations.ts';
import { line } from '../../bidi.ts';
import { dayMinutes, instantOf } from '../clock.ts';
import { announce } from '../parts/toast.ts';
import type { TimelineProperties } from './acts.ts';
import { fractionAt, minutesAtFraction, snap, step } from './geometry.ts';
import { rowHeight } from './row.ts';
import { type Booking, type Room, spanOf, toMinute } from './store.ts';
import { placeText, rangeText, rulerOf, subjectOf } from './view.ts';

type Grip = 'new' | 'move' | 'start' | 'end';
type Drag = {
  grip: Grip;
  booking?: Booking | undefined;
  /** Where it began: local minutes, row, and the point. */
  from: { minutes: number; row: number; x: number; y: number };
  start: number;
  end: number;
  row: number;
};

const edge = 7;
const threshold = 4;

export function makeDrag(view: RefObject<HTMLDivElement | null>) {
  let now: TimelineProperties;
  let drag: Drag | undefined;
  /** Whether what was pressed has moved. */
  const isRunning = signal(false);
  let ghost: HTMLElement | undefined;

  const placeOf = ({ clientX, clientY }: PointerEvent | MouseEvent) => {
    const rows = view.current?.querySelector<HTMLElement>('.rows') as HTMLElement;
    const box = rows.getBoundingClientRect();
    const name = view.current?.querySelector<HTMLElement>('.head .name')?.offsetWidth ?? 0;
    const row = Math.min(now.rooms.length - 1, Math.max(0, Math.floor((clientY - box.top) / rowHeight)));
    const fraction = (clientX - box.left - name) / (box.width - name);
    return { row, minutes: minutesAtFraction(now.scale, fraction), name, width: box.width - name };
  };
  const roomAt = (row: number) => now.rooms[row] as Room;
  /** The instant of local minutes in the zone of a room. */
  const at = (room: Room, minutes: number) => {
    const day = Math.min(now.store.days - 1, Math.max(0, Math.floor(minutes / dayMinutes)));
    return instantOf(room.timeZone, addDays(now.store.day, day), minutes - day * dayMinutes);
  };

  function draw(): void {
    if (!drag) return;
    const rows = view.current?.querySelector<HTMLElement>('.rows') as HTMLElement;
    if (!ghost) {
      ghost = document.createElement('div');
      ghost.className = 'ghost';
      ghost.ariaHidden = 'true';
      rows.append(ghost);
    }
    const [left, right] = [fractionAt(now.scale, drag.start), fractionAt(now.scale, drag.end - 0.001)];
    ghost.style.transform = `translateY(${drag.row * rowHeight}px)`;
    ghost.style.left = `calc(var(--name) + (100% - var(--name)) * ${left})`;
    ghost.style.width = `calc((100% - var(--name)) * ${right - left})`;
    ghost.textContent = line`${rangeText(drag)} ${drag.booking ? subjectOf(drag.booking) : ''}`;
  }
  function end(): void {
    ghost?.remove();
    ghost = undefined;
    drag = undefined;
    isRunning.value = false;
  }

  function gripAt(cell: HTMLElement, { clientX }: PointerEvent): Grip {
    const { left, right, width } = cell.getBoundingClientRect();
    if (width < 4 * edge) return 'move';
    return clientX - left < edge ? 'start' : right - clientX < edge ? 'end' : 'move';
  }
  /** Sets the pointer's shape where an edge can be dragged. */
  function hint(event: PointerEvent): void {
    const cell = event.target instanceof HTMLElement && event.target.closest<HTMLElement>('.booking');
    const booking = cell && now.store.find(cell.dataset['cell']?.slice(1) ?? '');
    const isEdge = booking && now.acts.mayChange(booking) && gripAt(cell, event) !== 'move';
    (view.current as HTMLElement).dataset['grip'] = isEdge ? 'edge' : '';
  }

  function onPointerDown(event: PointerEvent): void {
    if (event.button !== 0 || event.pointerType === 'touch' || !(event.target instanceof HTMLElement)) return;
    const track = event.target.closest('.rows .track');
    if (!track) return;
    const { row, minutes } = placeOf(event);
    const cell = event.target.closest<HTMLElement>('[data-cell]');
    const id = cell?.dataset['cell']?.startsWith('b') ? cell.dataset['cell'].slice(1) : undefined;
    const booking = id ? now.store.find(id) : undefined;
    const from = { minutes, row, x: event.clientX, y: event.clientY };
    if (!booking) {
      const start = Math.floor(minutes / step) * step;
      drag = { grip: 'new', from, start, end: start + step, row };
      return;
    }
    if (!now.acts.mayChange(booking)) return;
    const ruler = rulerOf(roomAt(row), now.store);
    const { start, end } = spanOf(booking);
    drag = {
      grip: gripAt(cell as HTMLElement, event),
      booking,
      from,
      start: ruler(start),
      end: ruler(end),
      row,
    };
  }

  function onPointerMove(event: PointerEvent): void {
    // The release was missed, for example outside of the browser.
    if (event.buttons === 0) end();
    if (!drag) {
      hint(event);
      return;
    }
    const { from } = drag;
    if (!isRunning.value && Math.hypot(event.clientX - from.x, event.clientY - from.y) < threshold) return;
    if (!isRunning.value) view.current?.setPointerCapture(event.pointerId);
    isRunning.value = true;
    event.preventDefault();
    const { row, minutes } = placeOf(event);
    const { booking } = drag;
    if (!booking) {
      const day = Math.floor(from.minutes / dayMinutes);
      const within = Math.min((day + 1) * dayMinutes, Math.max(day * dayMinutes, minutes));
      drag.start = Math.floor(Math.min(from.minutes, within) / step) * step;
      drag.end = Math.max(drag.start + step, Math.ceil(Math.max(from.minutes, within) / step) * step);
    } else {
      const ruler = rulerOf(roomAt(from.row), now.store);
      const span = spanOf(booking);
      const [start, end] = [ruler(span.start), ruler(span.end)];
      const by = minutes - from.minutes;
      if (drag.grip === 'start') drag.start = Math.min(end - step, snap(start + by));
      else if (drag.grip === 'end') drag.end = Math.max(start + step, snap(end + by));
      else {
        drag.start = snap(start + by);
        drag.end = drag.start + end - start;
        drag.row = row;
      }
    }
    scrollAtEdges(event);
    draw();
  }
  function scrollAtEdges({ clientX, clientY }: PointerEvent): void {
    const box = (view.current as HTMLElement).getBoundingClientRect();
    const by = (from: number, to: number, value: number) => (value < from + 30 ? -12 : value > to - 30 ? 12 : 0);
    view.current?.scrollBy(by(box.left, box.right, clientX), by(box.top + rowHeight, box.bottom, clientY));
  }

  function onPointerUp(): void {
    if (!drag || !isRunning.value) {
      end();
      return;
    }
    const { booking, row, start, end: until } = drag;
    const room = roomAt(row);
    const [from, to] = [at(room, start), at(room, until)];
    end();
    // The click that follows is part of the drag.
    const swallow = (click: Event) => click.stopPropagation();
    addEventListener('click', swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener('click', swallow, { capture: true }), 0);
    if (!booking) now.acts.book(room, from, to);
    else {
      announce(placeText(room, { start, end: until }, now.store));
      now.acts.move(booking, {
        ...booking,
        resourceId: room.id,
        resourceName: room.name,
        start: toMinute(from),
        end: toMinute(to),
      });
    }
  }

  function onClick(event: MouseEvent): void {
    if (!(event.target instanceof HTMLElement)) return;
    const cell = event.target.closest<HTMLElement>('[data-cell]');
    const key = cell?.dataset['cell'];
    if (key === 'room' || !event.target.closest('.rows .track')) return;
    const booking = key?.startsWith('b') ? now.store.find(key.slice(1)) : undefined;
    if (booking) {
      now.acts.open(booking);
      return;
    }
    const { row, minutes } = placeOf(event);
    const start = Math.floor(minutes / 30) * 30;
    const room = roomAt(row);
    now.acts.book(room, at(room, start), at(room, start) + 60 * minute);
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') end();
  };

  return {
    isRunning,
    update(properties: TimelineProperties) {
      now = properties;
    },
    listen() {
      const box = view.current as HTMLElement;
      const listeners = [
        [box, 'pointerdown', onPointerDown],
        [box, 'pointermove', onPointerMove],
        [box, 'click', onClick],
        // A button that is pressed here may be released anywhere.
        [window, 'pointerup', onPointerUp],
        [window, 'pointercancel', end],
      ] as [EventTarget, string, EventListener][];
      for (const [target, name, listener] of listeners) target.addEventListener(name, listener);
      addEventListener('keydown', onKeyDown);
      return () => {
        for (const [target, name, listener] of listeners) target.removeEventListener(name, listener);
        removeEventListener('keydown', onKeyDown);
      };
    },
  };
}
