/** The details of a booking, and what can be done with it. */

import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { ask } from '../client.ts';
import { dayAt, offsetAt, ownZone, rangeIn, timeText } from '../clock.ts';
import { BookingDetailsDocument, type BookingDetailsQuery, type Scope } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Dialog } from '../parts/dialog.ts';
import { fact } from '../parts/fact.ts';
import { Field } from '../parts/field.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { ScreenLink } from '../parts/link.ts';
import { personName } from '../person-name.ts';
import { present } from '../present.ts';
import { t } from '../texts/rooms.ts';
import { sayRule } from './repeat.ts';
import { scopeField } from './scope-field.ts';
import type { Steps } from './steps.ts';
import { type Booking, isActive, type Room, type Store } from './store.ts';
import { organizerText, subjectOf } from './view.ts';

type DetailsProperties = {
  id: string;
  store: Store;
  rooms: readonly Room[];
  steps: Steps;
  mayChange: (booking: Booking) => boolean;
  mayDecide: (booking: Booking) => boolean;
  onEdit: (booking: Booking) => void;
  onClose: () => void;
};

type Read = Partial<NonNullable<BookingDetailsQuery['booking']>>;

/** @param read the members that are not updated live */
function facts(booking: Booking, { recurrenceRule, decision }: Read, rooms: readonly Room[]): Child {
  const {
    start,
    end,
    timeZone,
    lessonSummary,
    organizer,
    checkIn,
    status,
    kind,
    description,
    resourceId,
    resourceName,
  } = booking;
  const elsewhere = offsetAt(timeZone, Date.parse(start)) !== offsetAt(ownZone, Date.parse(start));
  // A retired room has no week to show.
  const isInUse = rooms.some(({ id }) => id === resourceId);
  const state = [
    t().kinds[kind],
    t().statuses[status],
    booking.leaving && t().leaving[booking.leaving],
    lessonSummary && t().lessonStatuses[lessonSummary.status],
  ];
  const isDue = checkIn && !checkIn.checkedInAt && present() < Date.parse(checkIn.until);
  if (checkIn?.checkedInAt) state.push(t().hasCheckedIn(timeText(timeZone, Date.parse(checkIn.checkedInAt))));
  else if (isDue) state.push(t().checkInUntil(timeText(timeZone, Date.parse(checkIn.until))));
  if (decision?.decidedBy)
    state.push(t().decidedBy(decision.verdict, personName(decision.decidedBy.displayName), decision.reason));
  return html`<dl class="facts">
    ${fact(t().when, html`${rangeIn(timeZone, start, end)}${elsewhere && html`<br /><small>${t().yourTime(rangeIn(ownZone, start, end))}</small>`}`)}
    ${fact(t().room, isInUse ? h(ScreenLink, { screen: 'changes', members: { room: resourceId, day: dayAt(timeZone, Date.parse(start)) }, children: t().weekOf(resourceName) }) : resourceName)}
    ${fact(t().organizer, organizerText(organizer))}
    ${fact(t().classes, lessonSummary?.classes?.join(', '))}
    ${fact(t().teachers, lessonSummary?.teachers?.join(', '))}
    ${fact(t().what, description)}
    ${fact(t().series, recurrenceRule && sayRule(recurrenceRule))}
    ${fact(t().state, state.filter(Boolean).join(', '))}
  </dl>`;
}

const Actions: Component<Omit<DetailsProperties, 'id'> & { booking: Booking }> = (properties) => {
  const { booking, steps, mayChange, mayDecide, onEdit, onClose } = properties;
  const [scope, setScope] = useState<Scope>('This');
  const [reason, setReason] = useState('');
  const { start, end, status, checkIn, seriesId } = booking;
  const now = present();
  const runs = Date.parse(start) <= now && now < Date.parse(end);
  const may = mayChange(booking) && isActive(booking) && !booking.leaving && now < Date.parse(end);
  const decides = status === 'Requested' && mayDecide(booking);
  const canCheckIn =
    may && checkIn && !checkIn.checkedInAt && now >= Date.parse(checkIn.from) && now < Date.parse(checkIn.until);
  const then = (run: () => unknown) => () => {
    onClose();
    void run();
  };
  return html`
    ${decides && h(Field, { label: t().reason, value: reason, onInput: setReason, maxLength: longest.reason })}
    ${(may || decides) && seriesId && scopeField(scope, setScope)}
    <div class="buttons end">
      ${
        decides &&
        html`
        <button type="button" class="main" onClick=${then(() => steps.decide(booking, scope, 'Approved', reason))}>${t().approve}</button>
        <button type="button" class="danger" onClick=${then(() => steps.decide(booking, scope, 'Declined', reason))}>${t().decline}</button>`
      }
      ${canCheckIn && html`<button type="button" class="main" onClick=${then(() => steps.checkIn(booking))}>${t().checkIn}</button>`}
      ${may && runs && html`<button type="button" onClick=${then(() => steps.release(booking))}>${t().release}</button>`}
      ${may && html`<button type="button" class="danger" onClick=${then(() => steps.cancel(booking, scope))}>${t().cancel}</button>`}
      ${may && html`<button type="button" onClick=${() => onEdit(booking)}>${t().edit}</button>`}
    </div>
  `;
};

export const Details: Component<DetailsProperties> = (properties) => {
  const { id, store, rooms, onClose } = properties;
  const live = store.follow(id);
  // Unlike live data, this says who has decided, and whether the booking was cancelled.
  const asked = useAsked(
    async (stop) => (await ask(BookingDetailsDocument, { id }, stop)).booking,
    [id, live?.version],
  );
  const read = asked.data;
  const booking: Booking | null | undefined = live && (!read || live.version >= read.version) ? live : read;
  const body = booking
    ? html`${facts(booking, read ?? {}, rooms)}${h(Actions, { ...properties, booking })}`
    : showAsked(asked, () => html`<p>${t().gone}</p>`);
  return h(Dialog, { title: booking ? subjectOf(booking) : '…', onClose, children: body });
};
