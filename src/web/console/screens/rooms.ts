/** Rooms: who has which room when, live; to book, move and cancel. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { go, place } from '../address.ts';
import type { Refusal } from '../client.ts';
import { addDays, dayAt, dayMinutes, instantOf, minute, ownZone, zoneText } from '../clock.ts';
import { useProblemCounts } from '../open-problems.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Dialog } from '../parts/dialog.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useKeys } from '../parts/keys.ts';
import { RefusedBox } from '../parts/refused.ts';
import { present } from '../present.ts';
import type { Acts } from '../rooms/acts.ts';
import { BookingForm, type Draft, draftOf, readKept } from '../rooms/booking-form.ts';
import { ConflictList } from '../rooms/conflict.ts';
import { Details } from '../rooms/details.ts';
import { Filters, firstDay, fitting, mostFree, readFound, readFree, readWish } from '../rooms/filters.ts';
import type { Scale } from '../rooms/geometry.ts';
import { BookingList } from '../rooms/list.ts';
import { NextOpen } from '../rooms/next-open.ts';
import { Requests, useRequests } from '../rooms/requests.ts';
import { now } from '../rooms/row.ts';
import { makeShownHours } from '../rooms/shown-hours.ts';
import { makeSteps } from '../rooms/steps.ts';
import { type Booking, type Location, openStore, type Room, readRooms } from '../rooms/store.ts';
import { Timeline } from '../rooms/timeline.ts';
import { person } from '../session.ts';
import { problemTexts } from '../texts/problems.ts';
import { t } from '../texts/rooms.ts';

type Read = { rooms: Room[]; locations: Location[] };

type Opened = { draft: Draft } | { conflict: { wanted: Booking; refusal: Refusal } } | { requests: true };

const Plan: Component<Read> = ({ rooms, locations }) => {
  const wish = readWish(locations[0]?.timeZone ?? ownZone);
  const day = firstDay(wish);
  const days = wish.view === 'week' ? 7 : 1;
  const [opened, setOpened] = useState<Opened | undefined>(() => {
    const draft = readKept();
    return draft && { draft };
  });
  // The dialog is in the address, so that Back closes it; the address alone does not open it.
  const isOpen = place.value['dialog'] !== undefined;
  const wasOpen = useRef(isOpen);
  const show = (next: Opened) => {
    setOpened(next);
    go({ dialog: 'open' });
  };
  const close = () => {
    setOpened(undefined);
    go({ dialog: undefined }, 'replace');
  };
  useEffect(() => {
    if (wasOpen.current && !isOpen) setOpened(undefined);
    if (isOpen && !opened) go({ dialog: undefined }, 'replace');
    wasOpen.current = isOpen;
  }, [isOpen]);
  const zones = [...new Set(rooms.map(({ timeZone }) => timeZone))].join(' ') || ownZone;
  const store = useMemo(() => openStore(day, days, zones.split(' ')), [day, days, zones]);
  useEffect(() => () => store.close(), [store]);
  const requests = useRequests();
  const problems = useProblemCounts(({ resourceId }) => resourceId);
  const hours = useAsked(async () => {
    await store.readHours(locations.map(({ id }) => id));
    return store;
  }, [store, locations]);
  const areHoursKnown = hours.data === store;
  const free = useAsked(
    async (stop) => (wish.free ? await readFree(wish, stop) : undefined),
    [wish.free, wish.location, wish.capacity, wish.equipment, wish.free && Math.floor(now.value / minute)],
  );
  const { find, by } = wish;
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
    [rooms, wish.location, wish.capacity, wish.equipment, wish.free, free.data, found],
  );
  useEffect(() => store.read(shown.map(({ id }) => id)), [store, shown]);
  useKeys(() => t().keys);

  const hoursShown = useMemo(() => makeShownHours(rooms, shown, store), [rooms, shown, store]);
  const [from, to] = wish.wholeDay ? [0, dayMinutes] : [hoursShown.from.value, hoursShown.to.value];
  const scale = useMemo<Scale>(() => ({ days, from, to }), [days, from, to]);
  const steps = useMemo(() => makeSteps(store, (wanted, refusal) => show({ conflict: { wanted, refusal } })), [store]);

  const { id: me, role } = person.value ?? {};
  const mayChange = ({ kind, organizer, createdBy, isPending, leaving }: Booking) =>
    !isPending &&
    !leaving &&
    (kind === 'Booking' || kind === 'Block') &&
    (role === 'Admin' || organizer?.personId === me || createdBy?.personId === me);
  const acts = useMemo<Acts>(
    () => ({
      mayChange,
      whyNot: () => problemTexts()['Forbidden'] ?? '',
      open: ({ id }) => go({ booking: id }),
      book: ({ id }, start, end) => show({ draft: { roomId: id, start, end } }),
      move: (before, wanted) => void steps.move(before, wanted),
      cancel: (booking) => mayChange(booking) && steps.cancel(booking),
    }),
    [steps, me, role],
  );
  const nameOf = (id: string) => rooms.find((room) => room.id === id)?.name ?? '';
  const bookNow = () => {
    const [room] = shown;
    if (!room) return;
    const next = Math.ceil(present() / (15 * minute)) * 15 * minute;
    const isToday = wish.day === dayAt(room.timeZone, next);
    const start = isToday ? next : instantOf(room.timeZone, wish.day, Math.max(480, scale.from));
    const midnight = instantOf(room.timeZone, addDays(wish.day, 1), 0);
    // An hour from now on is over before an hour from the next quarter on.
    const until = (isToday && free.data?.get(room.id)) || midnight;
    const end = Math.min(start + 60 * minute, midnight, until);
    show({ draft: { roomId: room.id, start, end } });
  };
  const waiting = requests.data ?? [];
  const zone = locations.find(({ id }) => id === wish.location)?.timeZone ?? shown[0]?.timeZone;
  const bookingId = place.value['booking'];
  const zoneNote =
    new Set(shown.map(({ timeZone }) => timeZone)).size > 1
      ? t().zones
      : zone && zone !== ownZone && t().zone(`${zone} (${zoneText(zone, present())})`);
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
    ${zoneNote && html`<p class="zone">${zoneNote}</p>`}
    ${free.data && free.data.size >= mostFree && html`<p class="zone" role="status">${t().firstFree(mostFree)}</p>`}
    ${areHoursKnown && h(NextOpen, { rooms: shown, store })}
    ${h(RefusedBox, { refusal: hours.refusal ?? store.refusal.value ?? free.refusal ?? search.refusal })}
    ${shown.length === 0 ? empty : wish.isList ? h(BookingList, { rooms: shown, store, found: found?.bookings }) : h(Timeline, { rooms: shown, store, scale, found: found?.bookings, problems, acts })}
    ${
      bookingId &&
      !opened &&
      h(Details, {
        id: bookingId,
        store,
        steps,
        mayChange,
        mayDecide: ({ id }) => waiting.some((request) => request.id === id),
        onEdit: (booking) => show({ draft: draftOf(booking) }),
        onClose: () => go({ booking: undefined }, 'replace'),
      })
    }
    ${
      opened &&
      'draft' in opened &&
      h(BookingForm, {
        draft: opened.draft,
        rooms,
        store,
        onClose: () => {
          close();
          go({ booking: undefined }, 'replace');
        },
      })
    }
    ${opened && 'requests' in opened && h(Requests, { requests: waiting, steps, onDone: requests.reload, onClose: close })}
    ${
      opened &&
      'conflict' in opened &&
      h(Dialog, {
        title: t().conflictTitle,
        onClose: close,
        children: [
          h(RefusedBox, { refusal: opened.conflict.refusal }),
          h(ConflictList, {
            refusal: opened.conflict.refusal,
            timeZone: opened.conflict.wanted.timeZone,
            nameOf,
            onTake: ({ resourceId, resourceName, start, end }) => {
              const { wanted } = opened.conflict;
              const before = store.find(wanted.id);
              close();
              if (before) void steps.move(before, { ...wanted, resourceId, resourceName, start, end });
            },
          }),
        ],
      })
    }
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
