/** The bookings of the shown rooms as a table: to filter, sort, print and export. */

import { addDays } from '../../../time/days.ts';
import { go } from '../address.ts';
import { dayMinutes, dayText } from '../clock.ts';
import { type Component, html } from '../parts/html.ts';
import { table } from '../parts/table.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/rooms.ts';
import { timeColumns } from './columns.ts';
import type { Booking, Room, Store } from './store.ts';
import { detailOf, localSpan, subjectOf } from './view.ts';

type ListProperties = { rooms: readonly Room[]; store: Store; found: ReadonlySet<string> | undefined };

const daysText = ({ day, days }: Store) =>
  days === 1 ? dayText(day) : `${dayText(day, 'medium')} – ${dayText(addDays(day, days - 1), 'medium')}`;

export const BookingList: Component<ListProperties> = ({ rooms, store, found }) => {
  const at = ({ start }: Booking) => Date.parse(start);
  // The data that were read cover these days in all zones of the rooms.
  const isThen = (booking: Booking) => {
    const { start, end } = localSpan(booking, store);
    return start < store.days * dayMinutes && end > 0;
  };
  const rows = rooms
    .flatMap(({ id }) => store.ofRoom(id).value)
    .filter((booking) => (!found || found.has(booking.id)) && isThen(booking))
    .toSorted((one, other) => at(one) - at(other) || one.resourceName.localeCompare(other.resourceName));
  const open = (id: string) => () => go({ booking: id });
  return html`<div class="page">
    ${table({
      caption: t().timeline(daysText(store)),
      name: `rooms-${store.day}`,
      rows,
      id: ({ id }) => id,
      columns: [
        ...timeColumns<Booking>(),
        { key: 'room', title: t().room, value: ({ resourceName }) => resourceName },
        {
          key: 'subject',
          title: labels().subject,
          value: subjectOf,
          show: (booking) =>
            html`<button type="button" class="link" onClick=${open(booking.id)}>${subjectOf(booking)}</button>`,
        },
        { key: 'who', title: t().organizer, value: detailOf },
        {
          key: 'state',
          title: t().state,
          value: ({ kind, status }) => [t().kinds[kind], t().statuses[status]].filter(Boolean).join(', '),
        },
      ],
    })}
  </div>`;
};
