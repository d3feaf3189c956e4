/** The requests about which the person decides. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { ask } from '../client.ts';
import { rangeIn } from '../clock.ts';
import { FollowRequestsDocument, RequestsDocument, type Scope } from '../generated/graphql.ts';
import { follow } from '../live.ts';
import { type Asked, useAsked } from '../parts/asked.ts';
import { Dialog } from '../parts/dialog.ts';
import { Field, once, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { t } from '../texts/rooms.ts';
import { scopeField } from './scope-field.ts';
import type { Steps } from './steps.ts';
import type { Booking } from './store.ts';
import { organizerText, subjectOf } from './view.ts';

export function useRequests(): Asked<Booking[]> {
  const asked = useAsked(async (stop) => (await ask(RequestsDocument, {}, stop)).bookings?.nodes ?? [], []);
  const latest = useRef(asked);
  latest.current = asked;
  useEffect(() => {
    const reload = () => latest.current.reload();
    let isHeard = false;
    return follow(
      FollowRequestsDocument,
      {},
      {
        next({ bookings: { bookings } }) {
          const waits = (id: string) => latest.current.data?.some((request) => request.id === id);
          // The first reading and the frames miss the changes between them.
          const isFirst = !isHeard;
          isHeard = true;
          if (isFirst || bookings.some(({ id, status }) => status === 'Requested' || waits(id))) reload();
        },
        cursor: ({ bookings }) => bookings.cursor,
        restart: reload,
      },
    );
  }, []);
  return asked;
}

type RequestsProperties = { requests: readonly Booking[]; steps: Steps; onDone: () => void; onClose: () => void };

const Request: Component<Omit<RequestsProperties, 'requests' | 'onClose'> & { booking: Booking }> = (properties) => {
  const { booking, steps, onDone } = properties;
  const [isDeclining, setDeclining] = useState(false);
  const [reason, setReason] = useState('');
  const [scope, setScope] = useState<Scope>('This');
  const { resourceName, timeZone, start, end, organizer, description, seriesId } = booking;
  const decide = (verdict: 'Approved' | 'Declined') => () =>
    steps.decide(booking, scope, verdict, reason.trim()).then(onDone);
  return html`<li class="panel">
    <div><b>${subjectOf(booking)}</b><br />${resourceName}, ${rangeIn(timeZone, start, end)}<br /><small>${[organizerText(organizer), description].filter(Boolean).join(': ')}</small></div>
    ${seriesId && scopeField(scope, setScope)}
    ${
      isDeclining
        ? html`<form class="decline" onSubmit=${submit(decide('Declined'))}>
          ${h(Field, { label: t().reason, value: reason, onInput: setReason, maxLength: longest.reason, autofocus: true })}
          <div class="buttons">
            <button class="danger" aria-label="${t().decline}: ${subjectOf(booking)}">${t().decline}</button>
            <button type="button" onClick=${() => setDeclining(false)}>${t().keep}</button>
          </div>
        </form>`
        : html`<div class="buttons">
          <button type="button" class="main" aria-label="${t().approve}: ${subjectOf(booking)}" onClick=${once(decide('Approved'))}>${t().approve}</button>
          <button type="button" class="danger" aria-label="${t().decline} …: ${subjectOf(booking)}" onClick=${() => setDeclining(true)}>${t().decline} …</button>
        </div>`
    }
  </li>`;
};

export const Requests: Component<RequestsProperties> = ({ requests, steps, onDone, onClose }) => {
  const list = html`<ul class="cards">
    ${requests.map((booking) => h(Request, { key: booking.id, booking, steps, onDone }))}
  </ul>`;
  return h(Dialog, {
    title: t().requestsTitle,
    onClose,
    children: requests.length > 0 ? list : html`<p>${t().noRequests}</p>`,
  });
};
