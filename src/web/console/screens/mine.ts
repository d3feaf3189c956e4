/** The bookings of the person who has signed in, across all rooms: to find, open and cancel. */
import { dayLength } from '../../../time/days.ts';
import { line } from '../../bidi.ts';
import { addressWith, go, place } from '../address.ts';
import { act, ask, pages } from '../client.ts';
import { dayAt, offsetAt, ownZone, rangeIn } from '../clock.ts';
import {
  CancelBookingDocument,
  FollowAllBookingsDocument,
  MyBookingsDocument,
  type MyBookingsQuery,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { opening, ScreenLink } from '../parts/link.ts';
import { useRefresh } from '../parts/refresh.ts';
import { useRevocation } from '../parts/revoke.ts';
import { table } from '../parts/table.ts';
import { present } from '../present.ts';
import { timeColumns } from '../rooms/columns.ts';
import { isActive, isOfPersons } from '../rooms/store.ts';
import { person } from '../session.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/mine.ts';
import { t as rooms } from '../texts/rooms.ts';

type Booking = NonNullable<MyBookingsQuery['bookings']>['nodes'][number];

/** The longest window of a list. */
const windowMs = 366 * dayLength;
/** Bookings begin at most three years ahead. */
const windowsAhead = 3;

async function readWindow(from: number, stop: AbortSignal): Promise<Booking[]> {
  const at = (instant: number) => new Date(instant).toISOString();
  const filter = { personId: person.value?.id ?? null, from: at(from), to: at(from + windowMs) };
  const read = async (after: string | null) => (await ask(MyBookingsDocument, { filter, after }, stop)).bookings;
  const found: Booking[] = [];
  for await (const nodes of pages(read)) found.push(...nodes);
  return found;
}

/** Upcoming ones in their order, past ones the latest first. */
async function readMine(isPast: boolean, stop: AbortSignal): Promise<Booking[]> {
  const now = present();
  const starts = isPast ? [now - windowMs] : Array.from({ length: windowsAhead }, (_, n) => now + n * windowMs);
  const found = (await Promise.all(starts.map((from) => readWindow(from, stop)))).flat();
  // One that reaches into the next window is in both.
  const each = [...new Map(found.map((booking) => [booking.id, booking])).values()];
  return isPast ? each.filter(({ end }) => Date.parse(end) <= now).toReversed() : each;
}

const subjectOf = ({ subject }: Booking) => subject ?? rooms().noSubject;
const whenOf = ({ timeZone, start, end }: Booking) => rangeIn(timeZone, start, end);

/** For who is in another zone than the room. */
function showOwnTime({ timeZone, start, end }: Booking) {
  const at = Date.parse(start);
  const isElsewhere = offsetAt(timeZone, at) !== offsetAt(ownZone, at);
  return isElsewhere && html`<br /><small>${rooms().yourTime(rangeIn(ownZone, start, end))}</small>`;
}

const List: Component<{ isPast: boolean }> = ({ isPast }) => {
  const asked = useAsked((stop) => readMine(isPast, stop), []);
  useRefresh(asked.reload, FollowAllBookingsDocument);
  const { revoke, isGoing } = useRevocation(
    ({ id, version }: Booking) => act(CancelBookingDocument, { id, version, scope: 'This' }),
    t().willCancel,
    asked.reload,
  );
  const [date, from, to] = timeColumns<Booking>();
  const mayCancel = (booking: Booking) =>
    Date.parse(booking.end) > present() && isOfPersons(booking) && isActive(booking);
  const stateOf = (booking: Booking) =>
    [rooms().kinds[booking.kind], isGoing(booking) ? rooms().leaving.cancel : rooms().statuses[booking.status]]
      .filter(Boolean)
      .join(', ');
  const cancelButton = (booking: Booking) =>
    mayCancel(booking) &&
    html`<button type="button" disabled=${isGoing(booking)} aria-label=${t().cancelThis(line`${subjectOf(booking)} (${booking.resourceName}, ${whenOf(booking)})`)} onClick=${() => revoke(booking)}>${t().act}</button>`;
  return showAsked(
    asked,
    (bookings) => html`
      ${isPast && html`<p class="hint">${t().ofLastYear}</p>`}
      ${table<Booking>({
        caption: isPast ? t().past : t().upcoming,
        name: 'my-bookings',
        rows: bookings,
        id: ({ id }) => id,
        columns: [
          date,
          from,
          { ...to, show: (booking) => html`${to.value(booking)}${showOwnTime(booking)}` },
          { key: 'room', title: rooms().room, value: ({ resourceName }) => resourceName },
          {
            key: 'subject',
            title: labels().subject,
            value: subjectOf,
            show: (booking) => {
              const day = dayAt(booking.timeZone, Date.parse(booking.start));
              return h(ScreenLink, {
                screen: 'rooms',
                members: { day, booking: booking.id },
                children: subjectOf(booking),
              });
            },
          },
          { key: 'state', title: rooms().state, value: stateOf },
          ...(isPast ? [] : [{ key: 'act', title: t().act, value: () => '', show: cancelButton }]),
        ],
      })}
    `,
    { when: (bookings) => bookings.length === 0, text: isPast ? t().nonePast : t().noneUpcoming },
  ) as ReturnType<typeof html>;
};

export const Screen: Component<object> = () => {
  const isPast = place.value['as'] === 'past';
  const tab = (name: 'upcoming' | 'past') => {
    const change = { as: name === 'past' ? name : undefined, filter: undefined, sort: undefined, page: undefined };
    const isCurrent = isPast === (name === 'past');
    return html`<a key=${name} href=${addressWith(change)} aria-current=${isCurrent ? 'page' : undefined} onClick=${opening(() => go(change))}>${t()[name]}</a>`;
  };
  return html`
    <div class="page">
      <h1>${t().title}</h1>
      <p class="hint">${t().what}</p>
      <nav class="tabs" aria-label=${t().title}>${(['upcoming', 'past'] as const).map(tab)}</nav>
      ${h(List, { key: String(isPast), isPast })}
    </div>
  `;
};
