/** The details of a calendar: why it cannot be read, which items have no booking and why, which were declined, and which bookings are missing in it. */

import { act, ask } from '../client.ts';
import { moment } from '../clock.ts';
import {
  type CalendarFragment,
  CalendarTroublesDocument,
  type CalendarTroublesQuery,
  type ConflictFragment,
  ReadCalendarDocument,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Dialog } from '../parts/dialog.ts';
import { fact } from '../parts/fact.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { ScreenLink } from '../parts/link.ts';
import { toastRefusal } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import { personName } from '../person-name.ts';
import { present } from '../present.ts';
import { t } from '../texts/mail.ts';

type Troubles = Extract<NonNullable<CalendarTroublesQuery['node']>, { __typename: 'MailSubscription' }>;
type Conflict = Troubles['conflicts'][number];
type Unwritten = Troubles['unwritten'][number];

export const stateOf = ({ fault, lastReadAt }: CalendarFragment): string => {
  if (fault) return t().faults[fault.kind] ?? fault.text;
  return lastReadAt ? t().well : t().neverRead;
};

export const nextOf = ({ nextReadAt }: CalendarFragment): string =>
  Date.parse(nextReadAt) <= present() ? t().soon : moment(nextReadAt);

export async function readNow({ id, resource }: CalendarFragment): Promise<CalendarFragment | undefined> {
  const { done, refused } = await act(ReadCalendarDocument, { id });
  if (refused) toastRefusal(refused);
  else toast(t().reading(resource.name));
  return done;
}

type Side = Pick<NonNullable<Unwritten['booking']>, 'subject' | 'kind' | 'organizer'> & {
  bookingId: string | null;
  start: string;
  end: string;
};

const bookingSide = ({ subject, kind, organizer, bookingId, start, end }: Side) => html`
  <b>${subject ?? t().noSubject}</b> (${t().kinds[kind]})<br />${moment(start)} – ${moment(end)}
  <br /><small>${organizer && personName(organizer.displayName)}</small>
  <br />${bookingId && h(ScreenLink, { screen: 'rooms', members: { booking: bookingId }, children: t().openBooking })}
`;

function declineText({ state, at, reason }: NonNullable<ConflictFragment['decline']>): string {
  if (state === 'Told' && at) return t().toldAt(moment(at));
  return [t().declineStates[state], state === 'Refused' && reason].filter(Boolean).join(' ');
}

const smallLine = (text: string | null) => text && html`<br /><small>${text}</small>`;

const itemSide = ({ subject, start, end, organizerName, organizerEmail, decline }: ConflictFragment) => html`
  <b>${subject ?? t().noSubject}</b><br />${moment(start)} – ${moment(end)}
  ${smallLine(organizerName ?? organizerEmail)}
  ${smallLine(decline && declineText(decline))}
`;

const conflictCard = ({ booking, bookingId, ...item }: Conflict) => html`
  <li class="sides">
    <div>
      <h4>${t().item}</h4>
      ${itemSide(item)}
    </div>
    <div>
      <h4>${t().inTheWay}</h4>
      ${booking ? bookingSide({ ...booking, bookingId }) : t().freeNow}
    </div>
  </li>
`;

const unwrittenCard = ({ booking, bookingId, start, end, cause, reason, nextTryAt }: Unwritten) => html`
  <li class="sides">
    <div>
      <h4>${t().booked}</h4>
      ${booking ? bookingSide({ ...booking, bookingId, start, end }) : html`${moment(start)} – ${moment(end)}<br />${t().bookingGone}`}
    </div>
    <div>
      <h4>${t().reason}</h4>
      ${t().causes[cause]}
      ${cause === 'Refused' && html`<br /><small>${t().serverSays}: ${reason}</small>`}
      <br /><small>${t().nextTry(moment(nextTryAt))}</small>
    </div>
  </li>
`;

function troublesOf({ conflicts, declined, unreadable, unwritten }: Troubles): Child {
  return html`
    ${
      conflicts.length > 0 &&
      html`<section><h3>${t().conflicts}</h3><p class="hint">${t().conflictHint}</p><ul class="cards">${conflicts.map(conflictCard)}</ul></section>`
    }
    ${
      declined.length > 0 &&
      html`<section><h3>${t().declined}</h3><p class="hint">${t().declinedHint}</p><ul class="cards">${declined.map((item) => html`<li class="sides"><div>${itemSide(item)}</div></li>`)}</ul></section>`
    }
    ${
      unwritten.length > 0 &&
      html`<section><h3>${t().unwritten}</h3><p class="hint">${t().unwrittenHint}</p><ul class="cards">${unwritten.map(unwrittenCard)}</ul></section>`
    }
    ${
      unreadable.length > 0 &&
      html`<section><h3>${t().unreadable}</h3><p class="hint">${t().unreadableHint}</p>
        <ul>${unreadable.map(({ itemId, uid, reason, since }) => html`<li key=${itemId}><code>${uid ?? itemId}</code>: ${reason} <small>(${t().since} ${moment(since)})</small></li>`)}</ul>
      </section>`
    }
  `;
}

type DetailsProperties = {
  calendar: CalendarFragment | undefined;
  onRead: (calendar: CalendarFragment) => void;
  onClose: () => void;
};

export const Details: Component<DetailsProperties> = ({ calendar, onRead, onClose }) => {
  const id = calendar?.id;
  const asked = useAsked(
    async (stop): Promise<Troubles | undefined> => {
      if (!id) return undefined;
      const { node } = await ask(CalendarTroublesDocument, { id }, stop);
      return node?.__typename === 'MailSubscription' ? node : undefined;
    },
    // Asks again when the live calendar reports a change.
    [
      id,
      calendar?.lastReadAt,
      calendar?.conflictCount,
      calendar?.declinedCount,
      calendar?.unreadableCount,
      calendar?.unwrittenCount,
    ],
  );
  if (!calendar) return h(Dialog, { title: t().title, onClose, children: html`<p>${t().gone}</p>` });
  const { fault, mailbox, kind, lastReadAt, pushWorks, lastPushAt, expiresAt, state, stateText, writingFault } =
    calendar;
  const body = html`
    <dl class="facts">
      ${fact(t().state, stateOf(calendar))}
      ${fact(t().serverSays, fault?.text)}
      ${fact(t().unwritable, writingFault)}
      ${fact(t().lastRead, lastReadAt ? moment(lastReadAt) : t().neverRead)}
      ${fact(t().nextRead, nextOf(calendar))}
      ${fact(t().mailbox, mailbox)}
      ${fact(t().server, t().servers[kind] ?? kind)}
      ${fact(t().push, pushWorks ? t().pushes : t().noPush)}
      ${fact(t().lastPush, lastPushAt && moment(lastPushAt))}
      ${fact(t().subscription, [state, pushWorks ? null : stateText].filter(Boolean).join(': '))}
      ${fact(t().subscriptionEnds, expiresAt && moment(expiresAt))}
    </dl>
    <div class="buttons end">
      <button type="button" class="main" onClick=${() => void readNow(calendar).then((done) => done && onRead(done))}>${t().readNow}</button>
    </div>
    ${showAsked(asked, (troubles) => (troubles ? troublesOf(troubles) : null))}
  `;
  return h(Dialog, { title: calendar.resource.name, wide: true, onClose, children: body });
};
