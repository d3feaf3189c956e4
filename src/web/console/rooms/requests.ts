/** The requests about which the person decides. */
import { ask } from '../client.ts';
import { RequestsDocument } from '../generated/graphql.ts';
import { type Asked, useAsked } from '../parts/asked.ts';
import { Dialog } from '../parts/dialog.ts';
import { type Component, h, html } from '../parts/html.ts';
import { t } from '../texts/rooms.ts';
import { rangeIn } from './conflict.ts';
import type { Steps } from './steps.ts';
import type { Booking } from './store.ts';
import { subjectOf } from './view.ts';

export const useRequests = (): Asked<Booking[]> =>
  useAsked(async (stop) => (await ask(RequestsDocument, {}, stop)).bookings?.nodes ?? [], []);

type RequestsProperties = { requests: readonly Booking[]; steps: Steps; onDone: () => void; onClose: () => void };

export const Requests: Component<RequestsProperties> = ({ requests, steps, onDone, onClose }) => {
  const decide = (booking: Booking, verdict: 'Approved' | 'Declined') => () =>
    void steps.decide(booking, 'This', verdict, '').then(onDone);
  const list = html`<ul class="cards">
    ${requests.map(
      (booking) => html`<li key=${booking.id} class="panel">
        <div><b>${subjectOf(booking)}</b><br />${booking.resourceName}, ${rangeIn(booking.timeZone, booking.start, booking.end)}<br /><small>${booking.organizer?.displayName}</small></div>
        <div class="buttons">
          <button type="button" class="main" aria-label="${t().approve}: ${subjectOf(booking)}" onClick=${decide(booking, 'Approved')}>${t().approve}</button>
          <button type="button" class="danger" aria-label="${t().decline}: ${subjectOf(booking)}" onClick=${decide(booking, 'Declined')}>${t().decline}</button>
        </div>
      </li>`,
    )}
  </ul>`;
  return h(Dialog, {
    title: t().requestsTitle,
    onClose,
    children: requests.length > 0 ? list : html`<p>${t().noRequests}</p>`,
  });
};
