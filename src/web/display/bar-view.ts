/** Draws a bar of time. */
import type { ZoneOffsets } from './clock.ts';
import type { Bar, BarPart } from './day-bar.ts';
import { make } from './dom.ts';
import type { Text } from './german.ts';
import { timesLine } from './lines.ts';

function block(kind: string, { left, width }: BarPart): HTMLElement {
  const element = make('i', { class: kind });
  element.style.left = `${left}%`;
  element.style.width = `${width}%`;
  return element;
}

/** A short key of what a bar shows, for `show`. */
export const barKey = ({ start, end, slots, open, now }: Bar) => [
  start,
  end,
  now === null ? null : Math.round(now * 10),
  open,
  slots.map(({ left, width, slot }) => [left, width, slot.kind, slot.isTentative]),
];

/** @param label for screen readers */
export function drawBar(bar: Bar, label: string): HTMLElement[] {
  const track = make('div', { class: 'track' });
  for (const open of bar.open) track.append(block('open', open));
  for (const { slot, ...stretch } of bar.slots)
    track.append(block(`slot ${slot.isBlock ? 'blocked' : ''} ${slot.isTentative ? 'tentative' : ''}`, stretch));
  if (bar.now !== null) track.append(block('present', { left: bar.now, width: 0 }));
  const hours = make('div', { class: 'hours' });
  for (const hour of bar.hours) {
    const mark = make('span', {}, hour.label);
    mark.style.left = `${hour.left}%`;
    hours.append(mark);
  }
  return [make('div', { class: 'bar', role: 'img', 'aria-label': label }, track, hours)];
}

export function describeBar(
  text: Text,
  offsets: ZoneOffsets,
  bar: Bar,
  open: readonly { start: number; end: number }[],
): string {
  const hours = open.filter(({ start, end }) => start < bar.end && end > bar.start);
  return text.planOf(bar.slots.length, hours.map((one) => timesLine(text, offsets, one, bar.start)).join(', '));
}
