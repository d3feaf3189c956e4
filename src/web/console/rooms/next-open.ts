/** If no shown room is open: finds the day on which one is open next. */
import { addDays } from '../../../time/days.ts';
import { place } from '../address.ts';
import { ask } from '../client.ts';
import { dayMinutes, dayText } from '../clock.ts';
import { NextOpeningDocument } from '../generated/graphql.ts';
import { useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { ScreenLink } from '../parts/link.ts';
import { t } from '../texts/rooms.ts';
import { askEach } from './ask-each.ts';
import type { Span } from './geometry.ts';
import type { Room, Store } from './store.ts';
import { rulerOf } from './view.ts';

/** How far ahead it looks. */
const weeks = 6;

/** The first day from `from` on which one of the rooms is open; undefined if there is none in these weeks. */
async function readNextOpen(rooms: readonly Room[], from: string, stop: AbortSignal): Promise<string | undefined> {
  const meant = new Set(rooms.map(({ id }) => id));
  const locationIds = [...new Set(rooms.map(({ locationId }) => locationId))];
  const firstOf = async (locationId: string, week: number) => {
    const first = addDays(from, week * 7);
    const { openingHours } = await ask(NextOpeningDocument, { locationId, from: first, to: addDays(first, 6) }, stop);
    return (openingHours?.resources ?? [])
      .filter(({ resourceId }) => meant.has(resourceId))
      .flatMap(({ intervals }) => intervals.map(({ localDate }) => localDate));
  };
  // One week at a time: usually the first has an open day, and six weeks of many rooms are a lot to read.
  for (let week = 0; week < weeks; week++) {
    const days = (await askEach(locationIds, (id) => firstOf(id, week))).flat();
    if (days.length > 0) return days.reduce((one, other) => (other < one ? other : one));
  }
  return undefined;
}

function isClosed(room: Room, store: Store): boolean {
  const ruler = rulerOf(room, store);
  const isAway = ({ start, end }: Span) => ruler(end) <= 0 || ruler(start) >= store.days * dayMinutes;
  return store.hoursOf(room.id).value?.every(isAway) ?? false;
}

const DayLink: Component<{ day: string }> = ({ day }) =>
  h(ScreenLink, { screen: 'rooms', members: { ...place.value, day }, children: t().nextOpen(dayText(day)) });

export const NextOpen: Component<{ rooms: readonly Room[]; store: Store }> = ({ rooms, store }) => {
  const from = addDays(store.day, store.days);
  const isShut = rooms.length > 0 && rooms.every((room) => isClosed(room, store));
  const asked = useAsked(
    async (stop) => (isShut ? { from, rooms, day: await readNextOpen(rooms, from, stop) } : undefined),
    [isShut, from, rooms],
  );
  const found = asked.data?.from === from && asked.data.rooms === rooms ? asked.data : undefined;
  return html`${
    isShut &&
    html`<p class="zone" role="status">
      ${t().shut(store.days)} ${found && (found.day ? h(DayLink, { day: found.day }) : t().shutLong(weeks))}
    </p>`
  }`;
};
