/**
 * Many rooms by day or week. Only the visible rows are in the page, and they are recycled. One element of the grid can have the
 * focus (roving tabindex), which stays there when bookings come, go and move.
 */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { addDays } from '../../../time/days.ts';
import { clockText, dayMinutes, dayText } from '../clock.ts';
import { type Component, html } from '../parts/html.ts';
import { present } from '../present.ts';
import { t } from '../texts/rooms.ts';
import type { Cursor, TimelineProperties } from './acts.ts';
import { makeDrag } from './drag.ts';
import { fractionAt } from './geometry.ts';
import { pressKey } from './grid-keys.ts';
import { makeRowCache, now, rowHeight } from './row.ts';

const beyond = 5;
const mostRows = 46;
/** Pixels; if an hour would be narrower, the grid scrolls sideways. */
const narrowestHour = { 1: 56, 7: 14 } as Record<number, number>;

function Head({ store: { day, days }, scale }: Pick<TimelineProperties, 'store' | 'scale'>) {
  const every = days === 1 ? 1 : 6;
  const marks: { at: number; text: string }[] = [];
  for (let d = 0; d < days; d++)
    for (let hour = Math.ceil(scale.from / 60); hour * 60 < scale.to; hour++)
      if (days === 1 || (hour % every === 0 && hour * 60 > scale.from))
        marks.push({ at: d * dayMinutes + hour * 60, text: clockText(hour * 60) });
  const left = (minutes: number) => ({ left: `${fractionAt(scale, minutes) * 100}%` });
  return html`
    <div class="head" role="row" aria-rowindex="1">
      <div class="name" role="columnheader">${t().room}</div>
      <div class="track ${days > 1 ? 'week' : ''}" role="columnheader" aria-label=${dayText(day)}>
        ${
          days > 1 &&
          Array.from(
            { length: days },
            (_, d) =>
              html`<b key=${d} style=${left(d * dayMinutes + scale.from)}>${dayText(addDays(day, d), 'short')}</b>`,
          )
        }
        ${marks.map(({ at, text }) => html`<span key=${at} style=${left(at)}>${text}</span>`)}
      </div>
    </div>
  `;
}

export const Timeline: Component<TimelineProperties> = (properties) => {
  const { rooms, store, found, problems } = properties;
  const view = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const [count, setCount] = useState(20);
  const [cursor, setCursor] = useState<Cursor>({ roomId: '', key: 'room' });
  const wantsFocus = useRef(false);
  const lastLeft = useRef(0);
  const [rowNode] = useState(makeRowCache);
  const [drag] = useState(() => makeDrag(view));
  // While something is dragged, the hours stay where they are below the pointer.
  const shownScale = useRef(properties.scale);
  if (!drag.isRunning.value || shownScale.current.days !== store.days) shownScale.current = properties.scale;
  const scale = shownScale.current;

  const last = Math.min(rooms.length, first + count);
  const cursorRow = rooms.findIndex(({ id }) => id === cursor.roomId);
  const isCursorShown = cursorRow >= first && cursorRow < last;

  useLayoutEffect(() => {
    const box = view.current;
    if (!box) return;
    const measure = () => setCount(Math.min(mostRows, Math.ceil(box.clientHeight / rowHeight) + 2 * beyond));
    const watched = new ResizeObserver(measure);
    watched.observe(box);
    measure();
    return () => watched.disconnect();
  }, []);
  useEffect(() => {
    const timer = setInterval(() => (now.value = present()), 30_000);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    store.prefer(rooms.slice(first, last).map(({ id }) => id));
  }, [store, rooms, first]);

  const scroll = () => {
    const box = view.current as HTMLDivElement;
    const top = Math.max(0, Math.min(rooms.length - count, Math.floor(box.scrollTop / rowHeight) - beyond));
    const focused = document.activeElement?.closest<HTMLElement>('[data-row]');
    const row = Number(focused?.dataset['row']);
    // Before a row shows another room, its focus moves to the grid.
    if (focused && box.contains(focused) && (row < top || row >= top + count)) box.focus({ preventScroll: true });
    setFirst(top);
  };

  /** Brings a row into sight and gives its stop the focus, once it is drawn. */
  const moveTo = (roomId: string, key: string) => {
    const box = view.current as HTMLDivElement;
    const at = rooms.findIndex(({ id }) => id === roomId) * rowHeight;
    const room = box.clientHeight - rowHeight * 2;
    if (at < box.scrollTop) box.scrollTop = at;
    else if (at > box.scrollTop + room) box.scrollTop = at - room;
    wantsFocus.current = true;
    setCursor({ roomId, key });
  };
  const keepFocus = () => {
    const box = view.current as HTMLDivElement;
    const row = box.querySelector<HTMLElement>(`[data-row="${cursorRow}"]`);
    const isLost =
      box.dataset['focus'] === 'in' &&
      document.activeElement === document.body &&
      !document.querySelector('dialog[open]');
    if (!wantsFocus.current && !isLost) return;
    if (!row) return;
    wantsFocus.current = false;
    // The stop may be gone: a free time has become a booking. The nearest cell gets the focus.
    const distance = (cell: HTMLElement) => Math.abs(cell.offsetLeft - lastLeft.current);
    const cells = [...row.querySelectorAll<HTMLElement>('.track [data-cell]')];
    const nearest = cells.sort((one, other) => distance(one) - distance(other))[0];
    const cell = row.querySelector<HTMLElement>(`[data-cell="${cursor.key}"]`) ?? nearest;
    cell?.focus({ preventScroll: true });
    cell?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  useLayoutEffect(keepFocus);
  // Rows redraw themselves when their bookings change.
  const drawn = useRef(keepFocus);
  drawn.current = keepFocus;
  const [onDrawn] = useState(() => () => drawn.current());

  const whereOf = (target: EventTarget | null): Cursor | undefined => {
    if (!(target instanceof HTMLElement)) return undefined;
    const key = target.closest<HTMLElement>('[data-cell]')?.dataset['cell'];
    const roomId = rooms[Number(target.closest<HTMLElement>('[data-row]')?.dataset['row'])]?.id;
    return key && roomId ? { roomId, key } : undefined;
  };
  const onFocusIn = (event: FocusEvent) => {
    // A dialog gives the focus back even while the screen is being left.
    (event.currentTarget as HTMLDivElement).dataset['focus'] = 'in';
    const at = whereOf(event.target);
    if (at) lastLeft.current = (event.target as HTMLElement).offsetLeft;
    if (at && (at.roomId !== cursor.roomId || at.key !== cursor.key)) setCursor(at);
  };
  const onFocusOut = (event: FocusEvent) => {
    // Without a next element, the focused one has gone, or the window has lost the focus.
    if (event.relatedTarget) delete (event.currentTarget as HTMLDivElement).dataset['focus'];
  };

  const shownRows = Math.max(1, Math.floor((view.current?.clientHeight ?? 400) / rowHeight) - 2);
  const onKeyDown = (event: KeyboardEvent) => pressKey(event, { ...properties, scale, cursor, moveTo, shownRows });
  drag.update({ ...properties, scale });
  useEffect(() => drag.listen(), []);

  const hourWidth = narrowestHour[store.days] ?? 14;
  const narrowest = `calc(var(--name) + ${((scale.to - scale.from) / 60) * store.days * hourWidth}px)`;
  const hasZones = new Set(rooms.map(({ timeZone }) => timeZone)).size > 1;
  const hours = store.days === 1 ? (scale.to - scale.from) / 60 : store.days;
  return html`
    <div class="timeline" role="grid" ref=${view} tabindex=${isCursorShown ? -1 : 0} aria-label=${t().timeline(dayText(store.day))}
      aria-rowcount=${rooms.length + 1} aria-busy=${store.isLoading.value} onScroll=${scroll} onKeyDown=${onKeyDown} onFocusIn=${onFocusIn} onFocusOut=${onFocusOut}>
      <div role="none" class="canvas" style=${{ minWidth: narrowest, '--hours': String(hours), '--offset': String((scale.from % 60) / 60) }}>
        ${Head({ store, scale })}
        <div class="rows" role="rowgroup" style=${{ height: `${rooms.length * rowHeight}px` }}>
          ${rooms.slice(first, last).map((room, at) => {
            const index = first + at;
            return rowNode(index % count, {
              room,
              index,
              store,
              scale,
              found,
              problems: problems.get(room.id) ?? 0,
              showZone: hasZones,
              onDrawn,
              active: room.id === cursor.roomId ? cursor.key : undefined,
            });
          })}
        </div>
      </div>
    </div>
  `;
};
