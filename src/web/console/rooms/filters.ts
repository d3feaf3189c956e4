/** The day, the view and the filters, all of which are kept in the address. */

import { useEffect, useState } from 'preact/hooks';
import { addDays } from '../../../time/days.ts';
import { go, place } from '../address.ts';
import { ask, pages } from '../client.ts';
import { dayAt, dayText, isDay, mondayOf, ownZone } from '../clock.ts';
import { type BookingFilter, FoundBookingsDocument, FreeRoomsDocument } from '../generated/graphql.ts';
import { DayField } from '../parts/day-field.ts';
import { Check, Field } from '../parts/field.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { present } from '../present.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/rooms.ts';
import type { Location, Room } from './store.ts';

export const findBy = ['all', 'class', 'teacher', 'subject'] as const;
export type FindBy = (typeof findBy)[number];

export type Wish = {
  view: 'day' | 'week';
  isList: boolean;
  day: string;
  location: string;
  capacity: number;
  equipment: string;
  free: boolean;
  find: string;
  by: FindBy;
  wholeDay: boolean;
};

/** Reads them from the address. @param zone the time zone that decides which day is today */
export function readWish(zone: string): Wish {
  const { view, day, as, location = '', capacity, equipment = '', free, find = '', by, hours } = place.value;
  return {
    view: view === 'week' ? 'week' : 'day',
    isList: as === 'list',
    day: isDay(day) ? day : dayAt(zone, present()),
    location,
    capacity: Number(capacity) || 0,
    equipment,
    free: free === '60',
    find,
    by: findBy.find((each) => each === by) ?? 'all',
    wholeDay: hours === 'all',
  };
}

export const firstDay = ({ view, day }: Wish): string => (view === 'week' ? mondayOf(day) : day);

/** The rooms that match the filters of their properties. */
export const fitting = (rooms: readonly Room[], { location, capacity, equipment }: Wish): Room[] =>
  rooms.filter(
    (room) =>
      (!location || room.locationId === location) &&
      (room.capacity ?? 0) >= capacity &&
      (!equipment || room.equipment.includes(equipment)),
  );

/** The most rooms that the API returns at once. */
export const mostFree = 200;

/**
 * The rooms that are free for an hour from now, each with the end of its free time; the 200 smallest that fit, which are one page
 * of the API.
 */
export async function readFree(
  { location, capacity, equipment }: Pick<Wish, 'location' | 'capacity' | 'equipment'>,
  stop: AbortSignal,
): Promise<Map<string, number>> {
  const input = {
    minutes: 60,
    limit: mostFree,
    ...(location && { locationId: location }),
    ...(capacity > 0 && { minCapacity: capacity }),
    ...(equipment && { equipment: [equipment] }),
  };
  const { freeResources } = await ask(FreeRoomsDocument, { input }, stop);
  return new Map((freeResources ?? []).map(({ resourceId, freeUntil }) => [resourceId, Date.parse(freeUntil)]));
}

/** The bookings with these words, and their rooms. */
export async function readFound(
  { find, by }: Pick<Wish, 'find' | 'by'>,
  window: { from: string; to: string },
  stop: AbortSignal,
) {
  const filter: BookingFilter = { ...window, occupying: true, [by === 'all' ? 'search' : by]: find };
  const bookings = new Set<string>();
  const rooms = new Set<string>();
  const read = async (after: string | null) => (await ask(FoundBookingsDocument, { filter, after }, stop)).bookings;
  for await (const nodes of pages(read))
    for (const { id, resourceId } of nodes) {
      bookings.add(id);
      rooms.add(resourceId);
    }
  return { bookings, rooms };
}

type FiltersProperties = {
  wish: Wish;
  rooms: readonly Room[];
  locations: readonly Location[];
  count: number;
  children?: Child;
};

export const Filters: Component<FiltersProperties> = ({ wish, rooms, locations, count, children }) => {
  const { view, day, isList, location, capacity, equipment, free, find, by, wholeDay } = wish;
  const [typed, setTyped] = useState(find);
  useEffect(() => setTyped(find), [find]);
  useEffect(() => {
    if (typed === find) return undefined;
    const timer = setTimeout(() => go({ find: typed }, 'replace'), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  const stride = view === 'week' ? 7 : 1;
  const zone = locations.find(({ id }) => id === location)?.timeZone ?? locations[0]?.timeZone ?? ownZone;
  const show = (next: string, how?: 'push' | 'replace') =>
    go({ day: next === dayAt(zone, present()) ? undefined : next, booking: undefined }, how);
  const toDay = (next: string) => () => show(next);
  const every = [...new Set(rooms.flatMap((room) => room.equipment))].sort((one, other) => one.localeCompare(other));
  const active = [location, capacity, equipment, free, find].filter(Boolean).length;
  const clear = {
    location: undefined,
    capacity: undefined,
    equipment: undefined,
    free: undefined,
    find: undefined,
    by: undefined,
  };
  const shown =
    view === 'week'
      ? `${dayText(mondayOf(day), 'short')} – ${dayText(addDays(mondayOf(day), 6), 'medium')}`
      : dayText(day);
  return html`
    <div class="bar">
      <div class="tools">
        <h1>${shown}</h1>
        <span class="gap"></span>
        <div class="buttons" role="group" aria-label=${t().changeDay}>
          <button type="button" class="icon" aria-label=${t().earlier} onClick=${toDay(addDays(day, -stride))}>‹</button>
          <button type="button" onClick=${toDay(dayAt(zone, present()))}>${t().today}</button>
          <button type="button" class="icon" aria-label=${t().later} onClick=${toDay(addDays(day, stride))}>›</button>
        </div>
        ${h(DayField, { label: t().shownDay, day, onPick: show })}
        <div class="buttons" role="group" aria-label=${t().view}>
          <button type="button" aria-pressed=${view === 'day'} onClick=${() => go({ view: undefined })}>${t().day}</button>
          <button type="button" aria-pressed=${view === 'week'} onClick=${() => go({ view: 'week' })}>${t().week}</button>
          <button type="button" aria-pressed=${isList} onClick=${() => go({ as: isList ? undefined : 'list' })}>${t().list}</button>
        </div>
        ${children}
      </div>
      <details class="filters" open=${innerWidth > 900 || active > 0}>
        <summary>${active ? t().filtersOn(active) : t().filters} <small role="status">${t().rooms(count)}</small></summary>
        <div class="tools">
          ${h(Field, { label: t().find, hideLabel: true, placeholder: t().find, type: 'search', value: typed, onInput: setTyped })}
          ${h(Field, { label: t().findIn, hideLabel: true, value: by, onInput: (text) => go({ by: text === 'all' ? undefined : text }, 'replace'), choices: findBy.map((value) => ({ value, text: t().findBy[value] })) })}
          ${locations.length > 1 && h(Field, { label: t().location, hideLabel: true, value: location, onInput: (id) => go({ location: id }), choices: [{ value: '', text: t().everywhere }, ...locations.map(({ id, name }) => ({ value: id, text: name }))] })}
          ${every.length > 0 && h(Field, { label: labels().equipment, hideLabel: true, value: equipment, onInput: (text) => go({ equipment: text }), choices: [{ value: '', text: t().anyEquipment }, ...every.map((value) => ({ value, text: value }))] })}
          ${h(Field, { label: t().capacity, hideLabel: true, placeholder: t().capacity, type: 'number', min: 0, value: capacity ? String(capacity) : '', onInput: (text) => go({ capacity: text }, 'replace') })}
          <button type="button" aria-pressed=${free} onClick=${() => go({ free: free ? undefined : '60' })}>${t().freeNow}</button>
          ${h(Check, { label: t().wholeDay, checked: wholeDay, onChange: (checked) => go({ hours: checked ? 'all' : undefined }) })}
          ${active > 0 && html`<button type="button" class="quiet" onClick=${() => go(clear)}>${t().clear}</button>`}
        </div>
      </details>
    </div>
  `;
};
