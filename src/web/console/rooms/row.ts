/** A row of the timeline: the room's name, its bookings and its free times. Rows are recycled while the list is scrolled. */

import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { dayMinutes } from '../clock.ts';
import { type Component, h, html } from '../parts/html.ts';
import { ScreenLink } from '../parts/link.ts';
import { present } from '../present.ts';
import { t } from '../texts/rooms.ts';
import { fractionAt, type Scale } from './geometry.ts';
import type { Booking, Room, Store } from './store.ts';
import {
  closedBackground,
  dayOf,
  detailOf,
  rulerOf,
  type Stop,
  statusText,
  stopsOf,
  stopText,
  subjectOf,
  timesOf,
} from './view.ts';

export const rowHeight = 44;

/** Ticks, to move the line of the present. */
export const now = signal(present());

export type RowProperties = {
  room: Room;
  index: number;
  store: Store;
  scale: Scale;
  /** The key of the stop with the cursor; `room` for the name; undefined if the cursor is in another row. */
  active: string | undefined;
  found: ReadonlySet<string> | undefined;
  /** The number of open problems. */
  problems: number;
  showZone: boolean;
  /** Called when the row with the cursor has been drawn. */
  onDrawn: () => void;
};

const percent = (fraction: number) => `${(fraction * 100).toFixed(4)}%`;

function classOf(booking: Booking, found: RowProperties['found']): string {
  const parts = ['booking', booking.kind, booking.status];
  if (booking.isPending) parts.push('pending');
  if (booking.leaving) parts.push('leaving');
  if (booking.lessonSummary?.status === 'Vertretung') parts.push('substituted');
  if (booking.checkIn?.checkedInAt) parts.push('here');
  if (found && !found.has(booking.id)) parts.push('faded');
  return parts.join(' ');
}

function showStop(stop: Stop, { scale, store, active, found }: RowProperties) {
  const { booking, key, lane, lanes } = stop;
  const left = fractionAt(scale, stop.start);
  const width = fractionAt(scale, stop.end - 0.001) - left;
  const label = stopText(stop, store);
  const style = {
    left: percent(left),
    width: percent(width),
    ...(lanes > 1 && { top: `${(lane / lanes) * 100}%`, height: `${100 / lanes}%` }),
  };
  if (!booking)
    return html`<div key=${key} role="gridcell" data-cell=${key} tabindex=${active === key ? 0 : -1} class="free" aria-label=${label} style=${style}></div>`;
  // Its accessible name is its text.
  return html`<div key=${key} role="gridcell" data-cell=${key} tabindex=${active === key ? 0 : -1} title=${label} class=${classOf(booking, found)} style=${style}>
    <b>${subjectOf(booking)}</b> <span class=${lanes > 1 || booking.leaving ? 'unseen' : ''}>${timesOf(stop)} ${detailOf(booking)}</span>
    <span class=${booking.leaving ? '' : 'unseen'}>${statusText(booking)}</span>
    <span class="unseen">${dayOf(stop, store)}</span>
  </div>`;
}

const Row: Component<RowProperties> = (properties) => {
  const { room, index, store, scale, active, problems, showZone, onDrawn } = properties;
  useLayoutEffect(() => {
    if (active !== undefined) onDrawn();
  });
  const nowAt = rulerOf(room, store)(now.value);
  const isNow = nowAt >= 0 && nowAt < store.days * dayMinutes;
  const { capacity, name } = room;
  const facts = [capacity && t().seats(capacity), showZone && room.timeZone].filter(Boolean).join(' · ');
  return html`
    <div role="row" class="row" data-row=${index} aria-rowindex=${index + 2} style=${{ transform: `translateY(${index * rowHeight}px)` }}>
      <div role="rowheader" class="name" data-cell="room" tabindex=${active === 'room' ? 0 : -1} title="${[t().weekOf(name), ...room.equipment].join(', ')}">
        ${h(ScreenLink, { screen: 'changes', members: { room: room.id, day: store.day }, inGrid: true, children: html`<b>${name}</b>` })}${problems > 0 && html`<em class="problems">${t().problems(problems)}</em>`}<span>${facts}</span>
      </div>
      <div role="none" class="track" style=${{ backgroundImage: closedBackground(room, store, scale) }}>
        ${isNow && html`<i class="now" style=${{ left: percent(fractionAt(scale, nowAt)) }}></i>`}
        ${stopsOf(room, store, scale).map((stop) => showStop(stop, properties))}
      </div>
    </div>
  `;
};

/** Rows with the same properties keep their node, so that they cost nothing while others come and go. */
export function makeRowCache() {
  const kept = new Map<number, { properties: RowProperties; node: ReturnType<typeof html> }>();
  return (slot: number, properties: RowProperties) => {
    const before = kept.get(slot);
    const isSame =
      before &&
      (Object.keys(properties) as (keyof RowProperties)[]).every(
        (name) => before.properties[name] === properties[name],
      );
    if (isSame) return before.node;
    const node = h(Row, { ...properties, key: slot });
    kept.set(slot, { properties, node });
    return node;
  };
}
