/** The week of a room: its lessons and bookings in a grid with times. It prints on one page in landscape. */

import { addDays } from '../../../time/days.ts';
import { go } from '../address.ts';
import { ask, pages } from '../client.ts';
import { clockText, dayAt, dayMinutes, dayText, instantOf, makeRuler, mondayOf, timeText } from '../clock.ts';
import { FollowAllBookingsDocument, type RoomBookingFragment, RoomBookingsDocument } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useRefresh } from '../parts/refresh.ts';
import { RefusedBox } from '../parts/refused.ts';
import { personName } from '../person-name.ts';
import { present } from '../present.ts';
import type { Room } from '../rooms/store.ts';
import { person } from '../session.ts';
import { t } from '../texts/changes.ts';

type Booking = RoomBookingFragment;
type Cell = { bookings: Booking[]; slots: number };

const minutesOfWeek = 7 * dayMinutes;

/** The times at which something begins or ends, and the bookings between them on each day. */
function gridOf(bookings: readonly Booking[], timeZone: string, monday: string) {
  const ruler = makeRuler(timeZone, monday, 7);
  const parts = bookings.flatMap((booking) => {
    const from = Math.max(0, ruler(Date.parse(booking.start)));
    const to = Math.min(minutesOfWeek, ruler(Date.parse(booking.end)));
    const found: { booking: Booking; day: number; from: number; to: number }[] = [];
    for (let day = Math.floor(from / dayMinutes); day * dayMinutes < to; day += 1) {
      const midnight = day * dayMinutes;
      found.push({ booking, day, from: Math.max(0, from - midnight), to: Math.min(dayMinutes, to - midnight) });
    }
    return found;
  });
  const times = [...new Set(parts.flatMap(({ from, to }) => [from, to]))].sort((one, other) => one - other);
  const days = Math.max(5, ...parts.map(({ day }) => day + 1));
  // A cell is undefined if one above spans it.
  const cells = Array.from({ length: days }, () =>
    times.slice(1).map((): Cell | undefined => ({ bookings: [], slots: 1 })),
  );
  for (const { booking, day, from, to } of parts.sort((one, other) => one.from - other.from)) {
    const column = cells[day] as (Cell | undefined)[];
    let first = times.indexOf(from);
    const last = times.indexOf(to);
    while (!column[first]) first -= 1;
    const cell = column[first] as Cell;
    cell.bookings.push(booking);
    cell.slots = Math.max(cell.slots, last - first);
    for (let slot = first + 1; slot < last; slot += 1) {
      cell.bookings.push(...(column[slot]?.bookings ?? []));
      column[slot] = undefined;
    }
  }
  return { times, days, cells };
}

const about = ({ subject, lessonSummary, organizer }: Booking, timeZone: string, at: Booking) => html`
  <small>${timeText(timeZone, Date.parse(at.start))}–${timeText(timeZone, Date.parse(at.end))}</small>
  <b>${lessonSummary?.subject ?? subject}</b>
  <span>${[...(lessonSummary?.classes ?? []), ...(lessonSummary?.teachers ?? []), organizer && personName(organizer.displayName)].filter(Boolean).join(', ')}</span>
`;

type Read = { bookings: Booking[]; readAt: number };

export const Week: Component<{ room: Room; day: string }> = ({ room, day }) => {
  const { timeZone } = room;
  const monday = mondayOf(day);
  const asked = useAsked<Read>(
    async (stop) => {
      const filter = {
        resourceId: [room.id],
        from: new Date(instantOf(timeZone, monday, 0)).toISOString(),
        to: new Date(instantOf(timeZone, addDays(monday, 7), 0)).toISOString(),
        occupying: true,
      };
      const bookings: Booking[] = [];
      const read = async (after: string | null) => (await ask(RoomBookingsDocument, { filter, after }, stop)).bookings;
      for await (const nodes of pages(read)) bookings.push(...nodes);
      return { bookings, readAt: present() };
    },
    [room.id, monday],
  );
  useRefresh(asked.reload, FollowAllBookingsDocument);
  const show = ({ bookings, readAt }: Read) => {
    const { times, days, cells } = gridOf(bookings, timeZone, monday);
    const dates = Array.from({ length: days }, (_, index) => addDays(monday, index));
    return html`
      <p class="as-of">${t().asOf(timeText(timeZone, readAt))}</p>
      <div class="sheet" tabindex="0" role="region" aria-label=${t().weekOf(room.name)}>
        <table class="room-week">
          <thead><tr>
            <th scope="col">${t().time}</th>
            ${dates.map((date) => html`<th scope="col" aria-current=${date === dayAt(timeZone, present()) ? 'date' : undefined}>${dayText(date, 'short')}</th>`)}
          </tr></thead>
          <tbody>
            ${times.slice(0, -1).map(
              (from, slot) => html`
              <tr>
                <th scope="row">${clockText(from)}</th>
                ${cells.map((column) => {
                  const cell = column[slot];
                  return (
                    cell &&
                    html`<td rowspan=${cell.slots} class=${cell.bookings[0]?.kind ?? ''}>${cell.bookings.map((booking) => about(booking, timeZone, booking))}</td>`
                  );
                })}
              </tr>`,
            )}
          </tbody>
        </table>
        ${bookings.length === 0 && html`<p class="state">${t().free}</p>`}
      </div>
    `;
  };
  const to = (next: string) => () => go({ day: next });
  return html`
    <header class="notice-head">
      <p>${person.value?.tenantName}</p>
      <h1>${t().weekOf(room.name)}</h1>
      <p>${room.locationName}, ${dayText(monday, 'short')} – ${dayText(addDays(monday, 6), 'medium')}</p>
    </header>
    <div class="tools">
      <a href="?screen=changes" onClick=${(event: Event) => {
        event.preventDefault();
        go({ room: undefined });
      }}>← ${t().back}</a>
      <span class="gap"></span>
      <div class="buttons">
        <button type="button" class="icon" aria-label=${t().earlier} onClick=${to(addDays(monday, -7))}>‹</button>
        <button type="button" onClick=${() => go({ day: undefined })}>${t().today}</button>
        <button type="button" class="icon" aria-label=${t().later} onClick=${to(addDays(monday, 7))}>›</button>
      </div>
      <button type="button" class="main" onClick=${() => print()}>${t().print}</button>
    </div>
    ${asked.data && h(RefusedBox, { refusal: asked.refusal })}
    ${showAsked(asked, show)}
  `;
};
