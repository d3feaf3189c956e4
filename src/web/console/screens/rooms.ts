/** Rooms: who has which room when, live; to book, move and cancel. */

import { useEffect, useMemo } from 'preact/hooks';
import { addDays } from '../../../time/days.ts';
import { minute } from '../../../time/durations.ts';
import { go, goToScreen, leave, place } from '../address.ts';
import { dayAt, dayMinutes, instantOf, ownZone, zoneText } from '../clock.ts';
import { useProblemCounts } from '../open-problems.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useKeys } from '../parts/keys.ts';
import { useOpened } from '../parts/opened.ts';
import { RefusedBox } from '../parts/refused.ts';
import { present } from '../present.ts';
import type { Acts } from '../rooms/acts.ts';
import { Details } from '../rooms/details.ts';
import { Dialogs, type Opened } from '../rooms/dialogs.ts';
import { type Draft, draftOf, readKept } from '../rooms/draft.ts';
import { Filters, firstDay, fitting, mostFree, readFound, readFree, readWish, type Wish } from '../rooms/filters.ts';
import type { Scale } from '../rooms/geometry.ts';
import { BookingList } from '../rooms/list.ts';
import { NextOpen } from '../rooms/next-open.ts';
import { useRequests } from '../rooms/requests.ts';
import { now } from '../rooms/row.ts';
import { makeShownHours } from '../rooms/shown-hours.ts';
import { makeSteps } from '../rooms/steps.ts';
import {
  type Booking,
  isOfPersons,
  type Location,
  openStore,
  type Room,
  readRooms,
  type Store,
} from '../rooms/store.ts';
import { Timeline } from '../rooms/timeline.ts';
import { person } from '../session.ts';
import { problemTexts } from '../texts/problems.ts';
import { t } from '../texts/rooms.ts';

type Read = { rooms: Room[]; locations: Location[] };

/** The bookings of the days that are shown, and the hours of all rooms. */
function useStore({ rooms, locations }: Read, day: string, days: number) {
  const zones = [...new Set(rooms.map(({ timeZone }) => timeZone))].join(' ') || ownZone;
  const store = useMemo(() => openStore(day, days, zones.split(' ')), [day, days, zones]);
  useEffect(() => () => store.close(), [store]);
  const hours = useAsked(async () => {
    await store.readHours(locations.map(({ id }) => id));
    return store;
  }, [store, locations]);
  return { store, areHoursKnown: hours.data === store, refusal: hours.refusal ?? store.refusal.value };
}

/** The rooms that fit the wish: those that are free, and those with a booking that was searched for. */
function useShown(rooms: readonly Room[], wish: Wish, store: Store) {
  const { location, capacity, equipment, find, by } = wish;
  const free = useAsked(
    async (stop) => (wish.free ? await readFree(wish, stop) : undefined),
    [wish.free, location, capacity, equipment, wish.free && Math.floor(now.value / minute)],
  );
  const search = useAsked(
    async (stop) => (find ? await readFound({ find, by }, store.window, stop) : undefined),
    [find, by, store],
  );
  const found = find ? search.data : undefined;
  const shown = useMemo(
    () =>
      fitting(rooms, wish).filter(
        ({ id }) => (!wish.free || !free.data || free.data.has(id)) && (!found || found.rooms.has(id)),
      ),
    [rooms, location, capacity, equipment, wish.free, free.data, found],
  );
  useEffect(() => store.read(shown.map(({ id }) => id)), [store, shown]);
  return { shown, found: found?.bookings, free: free.data, refusal: free.refusal ?? search.refusal };
}

/** Whether the person may change a booking, as far as the console knows. */
function mayChange({ kind, organizer, createdBy, isPending, leaving }: Booking): boolean {
  const { id: me, role } = person.value ?? {};
  return (
    !isPending &&
    !leaving &&
    isOfPersons({ kind }) &&
    (role === 'Admin' || organizer?.personId === me || createdBy?.personId === me)
  );
}

/**
 * An hour from the next quarter of an hour on, also if that begins tomorrow; on another day from the morning or the first
 * shown minute on.
 */
function nextDraft({ id, timeZone }: Room, day: string, firstShown: number, freeUntil: number | undefined): Draft {
  const next = Math.ceil(present() / (15 * minute)) * 15 * minute;
  const isToday = day === dayAt(timeZone, present());
  const start = isToday ? next : instantOf(timeZone, day, Math.max(480, firstShown));
  const midnight = instantOf(timeZone, addDays(dayAt(timeZone, start), 1), 0);
  // The room may be free only for an hour from now, which ends before an hour from the next quarter.
  const until = (isToday && freeUntil) || midnight;
  return { roomId: id, start, end: Math.min(start + 60 * minute, midnight, until) };
}

/** The zone of the shown times; nothing if it is the viewer's own. */
function zoneNote(shown: readonly Room[], chosen: Location | undefined) {
  if (new Set(shown.map(({ timeZone }) => timeZone)).size > 1) return t().zones;
  const zone = chosen?.timeZone ?? shown[0]?.timeZone;
  return zone && zone !== ownZone && t().zone(`${zone} (${zoneText(zone, present())})`);
}

const Plan: Component<Read> = ({ rooms, locations }) => {
  const wish = readWish(locations[0]?.timeZone ?? ownZone);
  const day = firstDay(wish);
  const days = wish.view === 'week' ? 7 : 1;
  const { opened, show, close } = useOpened<Opened>('open', () => {
    const draft = readKept();
    return draft && { draft };
  });
  const requests = useRequests();
  const problems = useProblemCounts(({ resourceId }) => resourceId);
  const { store, areHoursKnown, refusal: ofStore } = useStore({ rooms, locations }, day, days);
  const { shown, found, free, refusal: ofShown } = useShown(rooms, wish, store);
  useKeys(() => t().keys);

  const hoursShown = useMemo(() => makeShownHours(rooms, shown, store), [rooms, shown, store]);
  const [from, to] = wish.wholeDay ? [0, dayMinutes] : [hoursShown.from.value, hoursShown.to.value];
  const scale = useMemo<Scale>(() => ({ days, from, to }), [days, from, to]);
  const steps = useMemo(() => makeSteps(store, (wanted, refusal) => show({ conflict: { wanted, refusal } })), [store]);
  const { id: me, role } = person.value ?? {};
  const acts = useMemo<Acts>(
    () => ({
      mayChange,
      whyNot: () => problemTexts()['Forbidden'] ?? '',
      open: ({ id }) => go({ booking: id }),
      openWeek: ({ id }) => goToScreen('changes', { room: id, day: store.day }),
      book: ({ id }, start, end) => show({ draft: { roomId: id, start, end } }),
      move: (before, wanted) => void steps.move(before, wanted),
      cancel: (booking) => mayChange(booking) && steps.cancel(booking),
    }),
    [steps, me, role],
  );
  const bookNow = () => {
    const [room] = shown;
    if (room) show({ draft: nextDraft(room, wish.day, scale.from, free?.get(room.id)) });
  };
  const waiting = requests.data ?? [];
  const bookingId = place.value['booking'];
  const note = zoneNote(
    shown,
    locations.find(({ id }) => id === wish.location),
  );
  const empty = html`<p class="state">${rooms.length === 0 ? t().noRooms : t().noMatch}</p>`;

  return html`
    ${h(Filters, {
      wish,
      rooms,
      locations,
      count: shown.length,
      children: html`
        ${waiting.length > 0 && html`<button type="button" onClick=${() => show({ requests: true })}>${t().requests(waiting.length)}</button>`}
        <button type="button" class="main" disabled=${shown.length === 0} onClick=${bookNow}>${t().book} …</button>
      `,
    })}
    ${note && html`<p class="zone">${note}</p>`}
    ${free && free.size >= mostFree && html`<p class="zone" role="status">${t().firstFree(mostFree)}</p>`}
    ${areHoursKnown && h(NextOpen, { rooms: shown, store })}
    ${h(RefusedBox, { refusal: ofStore ?? ofShown })}
    ${shown.length === 0 ? empty : wish.isList ? h(BookingList, { rooms: shown, store, found }) : h(Timeline, { rooms: shown, store, scale, found, problems, acts })}
    ${
      bookingId &&
      !opened &&
      h(Details, {
        id: bookingId,
        store,
        rooms,
        steps,
        mayChange,
        mayDecide: ({ id }) => waiting.some((request) => request.id === id),
        onEdit: (booking) => show({ draft: draftOf(booking) }),
        onClose: () => leave('booking'),
      })
    }
    ${h(Dialogs, { opened, onClose: close, rooms, store, steps, requests: waiting, onDecided: requests.reload })}
  `;
};

export const Screen: Component<object> = () => {
  const asked = useAsked(readRooms, []);
  useEffect(() => {
    // Reads the rooms again when somebody returns to the page: they may have changed.
    const back = () => document.visibilityState === 'visible' && asked.reload();
    addEventListener('focus', back);
    document.addEventListener('visibilitychange', back);
    return () => {
      removeEventListener('focus', back);
      document.removeEventListener('visibilitychange', back);
    };
  }, []);
  return html`<div class="rooms-screen">${showAsked(asked, (read) => h(Plan, read), undefined, t().title)}</div>`;
};
