/**
 * The rooms and bookings of some days: read room by room, and kept up to date by a subscription that begins before. The person's
 * own changes are drawn at once, and reverted if they are refused.
 */

import { batch, type Signal, signal } from '@preact/signals';
import { addDays } from '../../../time/days.ts';
import { minute } from '../../../time/durations.ts';
import { ask, type Outcome, pages } from '../client.ts';
import { instantOf } from '../clock.ts';
import {
  FollowBookingsDocument,
  LocationsDocument,
  type RoomBookingFragment,
  RoomBookingsDocument,
  RoomHoursDocument,
  RoomsDocument,
  type RoomsQuery,
  type Scope,
} from '../generated/graphql.ts';
import { follow } from '../live.ts';
import { present } from '../present.ts';
import { askEach } from './ask-each.ts';
import type { Span } from './geometry.ts';
import { openReading } from './reading.ts';

export type Room = NonNullable<RoomsQuery['resources']>['nodes'][number] & { timeZone: string; locationName: string };
/** Actions that are sent once they can no longer be undone. */
export type Leaving = 'cancel' | 'release';
/** `isPending`: drawn, but not yet confirmed by the server. `leaving`: shown until the action is done. */
export type Booking = RoomBookingFragment & { isPending?: boolean; leaving?: Leaving | undefined };
export type Location = { id: string; name: string; timeZone: string };

/** All rooms that can be booked, in the order of their locations and names. */
export async function readRooms(stop: AbortSignal): Promise<{ rooms: Room[]; locations: Location[] }> {
  const { locations: all } = await ask(LocationsDocument, {}, stop);
  const locations = (all ?? []).filter(({ active }) => active);
  const byId = new Map(locations.map((location) => [location.id, location]));
  const rooms: Room[] = [];
  const read = async (after: string | null) =>
    (await ask(RoomsDocument, { filter: { active: true }, after }, stop)).resources;
  for await (const nodes of pages(read))
    for (const node of nodes) {
      const { timeZone = 'UTC', name: locationName = '' } = byId.get(node.locationId) ?? {};
      rooms.push({ ...node, timeZone, locationName });
    }
  const order = new Intl.Collator(undefined, { numeric: true });
  rooms.sort(
    (one, other) => order.compare(one.locationName, other.locationName) || order.compare(one.name, other.name),
  );
  return { rooms, locations };
}

/** Whether it occupies its room, or waits to. */
export const isActive = ({ status }: Pick<Booking, 'status'>): boolean =>
  status === 'Requested' || status === 'Confirmed' || status === 'Tentative';
/** Whether a person has made it, not a timetable or a mail server. */
export const isOfPersons = ({ kind }: Pick<Booking, 'kind'>): boolean => kind === 'Booking' || kind === 'Block';
export const spanOf = ({ start, end }: { start: string; end: string }): Span => ({
  start: Date.parse(start),
  end: Date.parse(end),
});

const nothing: readonly Booking[] = [];
/** The usual number of bookings of a room on a day; a page holds 200. */
const usual = 10;

/** The signal of an id, which the first call makes. */
function signalIn<T>(signals: Map<string, Signal<T>>, id: string, first: T): Signal<T> {
  let found = signals.get(id);
  if (!found) signals.set(id, (found = signal(first)));
  return found;
}

export type Store = ReturnType<typeof openStore>;

export function openStore(day: string, days: number, zones: readonly string[]) {
  const from = Math.min(...zones.map((zone) => instantOf(zone, day, 0)));
  const to = Math.max(...zones.map((zone) => instantOf(zone, addDays(day, days), 0)));
  const window = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const byRoom = new Map<string, Signal<readonly Booking[]>>();
  const known = new Map<string, Booking>();
  const followed = new Map<string, Signal<Booking | undefined>>();
  const leaving = new Map<string, Leaving>();
  /** The state that the server sent of a booking while a change of it was under way. */
  const heard = new Map<string, Booking>();
  /** The version at which a booking was removed while pages were read: a page that arrives later may still have it. */
  const away = new Map<string, number>();
  const hours = new Map<string, Signal<readonly Span[] | undefined>>();
  const stop = new AbortController();
  let made = 0;

  const ofRoom = (id: string) => signalIn(byRoom, id, nothing);
  const hoursOf = (id: string) => signalIn(hours, id, undefined);
  function know(id: string, booking: Booking | undefined): void {
    if (booking) known.set(id, booking);
    else known.delete(id);
    const open = followed.get(id);
    if (open) open.value = booking;
  }
  function remove(id: string): void {
    const before = known.get(id);
    if (!before) return;
    know(id, undefined);
    const list = ofRoom(before.resourceId);
    list.value = list.value.filter((booking) => booking.id !== id);
  }
  function takeAway(id: string, version: number): void {
    if (reading.isUnderWay()) away.set(id, version);
  }
  /** Draws the present state of a booking, or removes it. */
  function put(booking: Booking): void {
    const before = known.get(booking.id);
    const { start, end } = spanOf(booking);
    const isShown = isActive(booking) && end > from && start < to;
    if (before && (before.resourceId !== booking.resourceId || !isShown)) remove(booking.id);
    if (!isShown) {
      takeAway(booking.id, booking.version);
      return;
    }
    const drawn = { ...booking, leaving: leaving.get(booking.id) };
    know(booking.id, drawn);
    const list = ofRoom(booking.resourceId);
    list.value = [...list.value.filter(({ id }) => id !== booking.id), drawn];
  }
  function redraw(ids: readonly string[]): void {
    batch(() => {
      for (const id of ids) {
        const booking = known.get(id);
        if (booking) put(booking);
      }
    });
  }
  /** The state from the server, unless a newer one is known. */
  function hear(booking: Booking): void {
    const before = known.get(booking.id);
    if ((before && before.version > booking.version) || (away.get(booking.id) ?? 0) >= booking.version) return;
    if (before?.isPending) heard.set(booking.id, booking);
    else put(booking);
  }
  /** Many bookings of few rooms: each room is drawn once. */
  const hearAll = (bookings: readonly Booking[]) => batch(() => hearEach(bookings));
  function hearEach(bookings: readonly Booking[]): void {
    const fresh = new Map<string, Booking[]>();
    for (const booking of bookings) {
      if (known.has(booking.id) || leaving.has(booking.id) || away.has(booking.id)) {
        hear(booking);
        continue;
      }
      know(booking.id, booking);
      const list = fresh.get(booking.resourceId) ?? [];
      fresh.set(booking.resourceId, list);
      list.push(booking);
    }
    for (const [id, list] of fresh) ofRoom(id).value = [...ofRoom(id).value, ...list];
  }

  const reading = openReading({
    size: Math.max(3, Math.floor(200 / (usual * days))),
    async read(resourceId, stop) {
      const filter = { ...window, resourceId: [...resourceId], occupying: true };
      const read = async (after: string | null) => (await ask(RoomBookingsDocument, { filter, after }, stop)).bookings;
      let count = 0;
      for await (const nodes of pages(read)) {
        hearAll(nodes);
        count += nodes.length;
      }
      return count;
    },
    forget() {
      batch(() => {
        for (const id of [...known.keys()]) know(id, undefined);
        for (const list of byRoom.values()) list.value = nothing;
      });
      away.clear();
    },
    rest: () => away.clear(),
  });
  const endFollowing = follow(
    FollowBookingsDocument,
    { filter: window },
    {
      next: ({ bookings }) => {
        batch(() => {
          for (const booking of bookings.bookings) {
            if (away.get(booking.id) === Number.POSITIVE_INFINITY) away.delete(booking.id);
            hear(booking);
          }
          for (const id of bookings.gone) {
            takeAway(id, Number.POSITIVE_INFINITY);
            remove(id);
          }
        });
        reading.heard();
      },
      cursor: ({ bookings }) => bookings.cursor,
      restart: reading.restart,
    },
  );

  return {
    day,
    days,
    window,
    isLoading: reading.isLoading,
    refusal: reading.refusal,
    ofRoom,
    hoursOf,
    put,
    remove,
    hear,
    find: (id: string) => known.get(id),
    /** Like `find`; the reader is notified of changes. */
    follow: (id: string) => signalIn(followed, id, known.get(id)).value,
    /** Draws them as about to be removed until `stay`, whatever the server sends about them. */
    leave(ids: readonly string[], how: Leaving): void {
      for (const id of ids) leaving.set(id, how);
      redraw(ids);
    },
    stay(ids: readonly string[]): void {
      for (const id of ids) leaving.delete(id);
      redraw(ids);
    },
    /** The shown bookings of its series that `scope` covers. */
    meant({ id, seriesId, start }: Booking, scope: Scope): string[] {
      const isMeant = (other: Booking) =>
        other.id === id ||
        (scope !== 'This' &&
          seriesId !== null &&
          other.seriesId === seriesId &&
          (scope === 'All' || other.start > start) &&
          Date.parse(other.end) > present());
      return [...known.values()].filter(isMeant).map((each) => each.id);
    },
    read: reading.add,
    prefer: reading.prefer,
    async readHours(locationIds: readonly string[]): Promise<void> {
      const lastDay = addDays(day, days - 1);
      await askEach(locationIds, async (locationId) => {
        const { openingHours } = await ask(
          RoomHoursDocument,
          { locationId, from: addDays(day, -1), to: lastDay },
          stop.signal,
        );
        // Without weekly hours a room is always open.
        batch(() => {
          for (const { resourceId, weekly, intervals } of openingHours?.resources ?? [])
            if (weekly.length > 0 || intervals.length > 0) hoursOf(resourceId).value = intervals.map(spanOf);
        });
      });
    },
    /** Draws `booking` at once, asks the server, and reverts it if the server refuses. @returns the outcome */
    async attempt<Result>(
      booking: Booking,
      run: () => Promise<Outcome<Result>>,
      result: (done: Outcome<Result>['done']) => Booking | undefined,
    ): Promise<Outcome<Result>> {
      const before = known.get(booking.id);
      put({ ...booking, isPending: true });
      const outcome = await run();
      const now = (outcome.done && result(outcome.done)) ?? before;
      const told = heard.get(booking.id);
      heard.delete(booking.id);
      batch(() => {
        remove(booking.id);
        if (told && (!now || told.version > now.version)) put(told);
        else if (now) put({ ...now, isPending: false });
      });
      return outcome;
    },
    /** A provisional id, until the server gives one. */
    newId: () => `new-${(made += 1)}`,
    close() {
      stop.abort();
      reading.close();
      endFollowing();
    },
  };
}

/** An instant for the API, rounded to the minute, as forms have it. */
export const toMinute = (at: number): string => new Date(Math.round(at / minute) * minute).toISOString();
