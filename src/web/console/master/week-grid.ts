/** The week as a grid: dragging over closed time opens it, dragging a period or its edges moves it; the arrow keys do the same. */
import { useRef, useState } from 'preact/hooks';
import { dayMinutes } from '../clock.ts';
import { type Component, html } from '../parts/html.ts';
import { announce } from '../parts/toast.ts';
import { snap, step } from '../rooms/geometry.ts';
import { t } from '../texts/hours.ts';
import { type Period, periodText, weekdays, within } from './week.ts';

type GridProperties = {
  periods: readonly Period[];
  /** Whether there are weekly hours in any season; without them no day is closed. */
  hasHours: boolean;
  onChange: (before: Period | undefined, after: Period | undefined) => void;
  onOpen: (period: Period) => void;
  /** The season of a newly drawn period. */
  season: Pick<Period, 'validFrom' | 'validTo'>;
};

type Grip = 'new' | 'move' | 'from' | 'to';
type Drag = { grip: Grip; before: Period | undefined; now: Period; at: number; hasMoved: boolean };

const edge = 8;
const hours = [0, 3, 6, 9, 12, 15, 18, 21, 24];

/** By how many minutes a key moves the opening and the closing. */
function shiftOf({ key, altKey, shiftKey }: KeyboardEvent): [number, number] | undefined {
  const minutes = key === 'ArrowLeft' ? -step : key === 'ArrowRight' ? step : 0;
  if (!minutes) return undefined;
  return altKey ? [0, minutes] : shiftKey ? [minutes, 0] : [minutes, minutes];
}

export const WeekGrid: Component<GridProperties> = ({ periods, hasHours, onChange, onOpen, season }) => {
  const [drag, setDrag] = useState<Drag>();
  // A click follows the end of a drag.
  const hasDragged = useRef(false);
  const minutesAt = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return ((event.clientX - box.left) / box.width) * dayMinutes;
  };
  const begin = (day: number) => (event: PointerEvent) => {
    hasDragged.current = false;
    if (event.button !== 0 || event.pointerType === 'touch') return;
    const at = minutesAt(event);
    const bar = (event.target as HTMLElement).closest<HTMLElement>('[data-at]');
    const before = bar ? periods[Number(bar.dataset['at'])] : undefined;
    const box = bar?.getBoundingClientRect();
    const start = Math.floor(at / step) * step;
    const grip =
      !before || !box
        ? 'new'
        : event.clientX - box.left < edge
          ? 'from'
          : box.right - event.clientX < edge && before.to <= dayMinutes
            ? 'to'
            : 'move';
    setDrag({ grip, before, now: before ?? { day, from: start, to: start + step, ...season }, at, hasMoved: false });
  };
  const move = (event: PointerEvent) => {
    if (!drag) return;
    // Released elsewhere.
    if (event.buttons === 0) return setDrag(undefined);
    const { grip, before, at } = drag;
    const there = minutesAt(event);
    if (!drag.hasMoved && Math.abs(there - at) < step / 2) return;
    // Not before it moves: what has the capture gets the click, too.
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    const by = snap(there - at);
    const from = before?.from ?? Math.floor(at / step) * step;
    const to = before?.to ?? from + step;
    const ends = Math.min(dayMinutes, Math.max(0, snap(there)));
    const now = {
      new: { from: Math.min(from, ends), to: Math.max(from, ends) },
      move: { from: from + by, to: to + by },
      from: { from: Math.min(to - step, from + by), to },
      to: { from, to: Math.max(from + step, to + by) },
    }[grip];
    setDrag({ ...drag, now: within({ ...drag.now, ...now }), hasMoved: true });
  };
  const end = () => {
    if (!drag) return;
    hasDragged.current = drag.hasMoved;
    setDrag(undefined);
    if (drag.hasMoved) change(drag.before, drag.now);
  };
  function change(before: Period | undefined, after: Period | undefined): void {
    onChange(before, after);
    announce(after ? `${t().days[after.day]} ${periodText(after)}` : t().removed);
  }
  const onKey = (period: Period) => (event: KeyboardEvent) => {
    const shift = shiftOf(event);
    if (shift) change(period, within({ ...period, from: period.from + shift[0], to: period.to + shift[1] }));
    else if (event.key === 'Delete') change(period, undefined);
    else return;
    event.preventDefault();
  };
  const open = (period: Period) => () => {
    if (!hasDragged.current) onOpen(period);
    hasDragged.current = false;
  };
  const place = ({ from, to }: Period) => ({
    left: `${(from / dayMinutes) * 100}%`,
    width: `${((Math.min(to, dayMinutes) - from) / dayMinutes) * 100}%`,
  });
  return html`
    <div class="week-grid">
      <div class="hours" aria-hidden="true">${hours.map((hour) => html`<span style=${{ left: `${(hour / 24) * 100}%` }}>${hour}</span>`)}</div>
      ${weekdays.map((day) => {
        const ofDay = periods.flatMap((period, at) => (period.day === day ? [{ period, at }] : []));
        return html`
          <div class="day" role="group" aria-label=${t().days[day]} key=${day}>
            <span class="name" aria-hidden="true">${t().days[day]}</span>
            <div class="track" onPointerDown=${begin(day)} onPointerMove=${move} onPointerUp=${end} onPointerCancel=${() => setDrag(undefined)}>
              ${ofDay.map(
                ({ period, at }, index) => html`
                  <button type="button" key=${index} data-at=${at} class="period ${drag?.before === period ? 'held' : ''}" style=${place(period)}
                    aria-label=${`${t().days[day]} ${periodText(period)}`} onClick=${open(period)} onKeyDown=${onKey(period)}>${periodText(period)}</button>
                `,
              )}
              ${drag?.hasMoved && drag.now.day === day && html`<span class="period ghost" aria-hidden="true" style=${place(drag.now)}>${periodText(drag.now)}</span>`}
              ${hasHours && ofDay.length === 0 && !drag && html`<span class="none">${t().closed}</span>`}
            </div>
          </div>
        `;
      })}
    </div>
  `;
};
