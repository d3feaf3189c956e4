/** The form that makes a booking or a series, and changes one. A refusal keeps what was typed and offers what would be free. */
import { useEffect, useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { addDays, minutesOf } from '../../../time/days.ts';
import { line } from '../../bidi.ts';
import { randomKey } from '../../random-key.ts';
import { type Alternative, ask, hasFault, isUnanswered, type Refusal } from '../client.ts';
import { dayMinutes, instantOf } from '../clock.ts';
import { BookingDetailsDocument } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { Check, Field, once, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt, RefusedBox } from '../parts/refused.ts';
import { gone, refusalIn, type Stale, StaleBox } from '../parts/stale.ts';
import { person } from '../session.ts';
import { conflictTexts } from '../texts/conflicts.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/rooms.ts';
import { changeBooking, createBooking, type Sent } from './book.ts';
import { BookingTimes } from './booking-times.ts';
import { changeBetween } from './change-between.ts';
import { ClosedHint } from './closed-hint.ts';
import { ConflictList } from './conflict.ts';
import { type Draft, draftOf, forget, keep, timesOf, valuesOf, type Wanted } from './draft.ts';
import { Organizer } from './organizer.ts';
import { daysOf, ruleOf } from './repeat.ts';
import { RepeatFields } from './repeat-fields.ts';
import { scopeField } from './scope-field.ts';
import { type Booking, isActive, type Room, type Store, toMinute } from './store.ts';

type FormProperties = { draft: Draft; rooms: readonly Room[]; store: Store; onClose: () => void };

const fieldNames = ['subject', 'description', 'resourceId', 'start', 'end'];
const fieldNamesOfNew = [...fieldNames, 'organizerId', 'recurrenceRule'];

/** What is typed, and the state of the booking before; both are kept while the form is open. */
function useWanted(draft: Draft, zoneOf: (roomId: string) => string) {
  const [base, setBase] = useState(draft);
  const zone = zoneOf(base.roomId);
  const before = timesOf(zone, base.start, base.end);
  const [wanted, setWanted] = useState<Wanted>({
    ...valuesOf(draft, zone),
    repeat: 'none',
    on: [],
    until: addDays(before.day, 28),
    whom: {},
    block: draft.booking?.kind === 'Block',
    scope: 'This',
    ...draft.typed?.wanted,
  });
  // However often this form is sent, it books once.
  const [idempotencyKey] = useState(() => draft.typed?.key ?? randomKey());
  useEffect(() => keep({ ...base, typed: { wanted, key: idempotencyKey } }), [wanted]);
  // Runs however the form is closed, also by Back, but not when the page is reloaded.
  useEffect(() => forget, []);
  const set = (changes: Partial<Wanted>) => setWanted((last) => ({ ...last, ...changes }));
  /** Continues with the new state of the booking and the edited values. */
  function rebase(next: Draft): void {
    const was: Partial<Wanted> = valuesOf(base, zone);
    setBase(next);
    setWanted((last) => {
      const isEdited = (field: string) => last[field as keyof Wanted] !== was[field as keyof Wanted];
      const values = Object.entries(valuesOf(next, zoneOf(next.roomId)));
      return { ...last, ...Object.fromEntries(values.filter(([field]) => !isEdited(field))) };
    });
  }
  /** Continues with a new booking of the same content, for the same person. */
  function detach({ organizer, setupMinutes, teardownMinutes }: Booking): void {
    setBase((last) => ({ ...last, booking: undefined }));
    const { personId: id, displayName: typed = '' } = organizer ?? {};
    const whom = id && id !== person.value?.id ? { typed, id } : {};
    set({ scope: 'This', whom, setupMinutes, teardownMinutes });
  }
  return { base, before, wanted, idempotencyKey, set, rebase, detach };
}

export const BookingForm: Component<FormProperties> = ({ draft, rooms, store, onClose }) => {
  const roomOf = (id: string) => rooms.find((room) => room.id === id) ?? { id, name: '', timeZone: 'UTC' };
  const zoneOf = (id: string) => roomOf(id).timeZone;
  const { base, before, wanted, idempotencyKey, set, rebase, detach } = useWanted(draft, zoneOf);
  const { booking } = base;
  // Others may have ended it meanwhile, which nothing takes back.
  const ended = booking && !isActive(booking) && conflictTexts()[`Booking${booking.status}`];
  const { roomId, from, to, subject, description, isPrivate, repeat, on, until, whom, block, scope } = wanted;
  const [refusal, setRefusal] = useState<Refusal>();
  const [stale, setStale] = useState<Stale>();
  const [isBusy, setBusy] = useState(false);
  const [wasLost, setLost] = useState(draft.typed !== undefined);
  const [hasSkipped, setSkipped] = useState(false);
  const [hasTried, setTried] = useState(false);
  // The bookings of a series keep their dates.
  const { day, lastDay } = scope === 'This' ? wanted : before;
  const timeZone = zoneOf(roomId);
  // Times that nobody has changed stay as they are: a repeated hour cannot be entered unambiguously.
  const areKept = timeZone === zoneOf(base.roomId) && [day, lastDay, from, to].join() === Object.values(before).join();
  const start = areKept ? base.start : instantOf(timeZone, day, minutesOf(from));
  const end = areKept ? base.end : instantOf(timeZone, lastDay, minutesOf(to) || dayMinutes);
  const isBackwards = end <= start;
  const choice = { repeat, on, day, until };
  const rule = ruleOf(choice);
  const isShort = rule !== undefined && until < day;
  const days = rule && !isShort ? daysOf(choice) : [day];

  /** Says what others have changed. @throws Refused */
  async function readAgain(before: Booking): Promise<void> {
    const { booking: now } = await ask(BookingDetailsDocument, { id: before.id });
    if (!now) return setStale(gone);
    store.hear(now);
    rebase(draftOf(now));
    setStale(isActive(now) ? { isGone: false, tell: () => [changeBetween(before, now)] } : undefined);
  }
  async function takeRefusal(refused: Refusal): Promise<void> {
    if (booking) {
      const isStale = refused.code === 'PreconditionFailed';
      setRefusal(isStale ? await readAgain(booking).then(() => undefined, refusalIn) : refused);
      return;
    }
    // The server knows the key, with other content: the lost attempt has booked.
    const isThere = wasLost && hasFault(refused, 'KeyUsed');
    setRefusal(isThere ? { ...refused, code: 'WasBooked', message: '', faults: [] } : refused);
    if (isUnanswered(refused)) setLost(true);
  }
  async function send(changes: Partial<Sent> = {}): Promise<void> {
    setTried(true);
    if (isBusy || ended || isBackwards || isShort || whom.unknown) return;
    const sent = {
      room: roomOf(roomId),
      range: { start: toMinute(start), end: toMinute(end) },
      skips: false,
      ...changes,
    };
    setBusy(true);
    setSkipped(sent.skips);
    const refused = await (booking
      ? changeBooking(store, booking, wanted, sent)
      : createBooking(store, wanted, sent, idempotencyKey));
    if (refused) await takeRefusal(refused);
    else onClose();
    setBusy(false);
  }
  const sendSkipping = () => send({ skips: true });
  async function take({ resourceId, start, end }: Alternative): Promise<void> {
    set({ roomId: resourceId, ...timesOf(zoneOf(resourceId), Date.parse(start), Date.parse(end)) });
    setRefusal(undefined);
    await send({ room: roomOf(resourceId), range: { start, end }, skips: hasSkipped });
  }
  /** A refusal of a place does not hold for another. */
  function setPlace(changes: Partial<Wanted>): void {
    set(changes);
    setRefusal(undefined);
  }
  const roomChoices = rooms.map(({ id, name, locationName }) => ({ value: id, text: line`${name} · ${locationName}` }));
  const isClosed = refusal?.faults.some(({ code }) => code === 'OutsideOpeningHours');
  const isAdmin = person.value?.role === 'Admin';
  // The server lets Admins book closed rooms without notice; it tells others that the room is closed, but not when.
  const mayBeClosed = isClosed || (isAdmin && !block);
  const room = mayBeClosed ? rooms.find(({ id }) => id === roomId) : undefined;
  const maySkip = (rule !== undefined || scope !== 'This') && !hasSkipped;
  const organizerFault = hasTried && whom.unknown ? t().unknownPerson : faultAt(refusal, 'organizerId');
  const form = html`
    <form onSubmit=${submit(() => send())}>
      ${stale && h(StaleBox, { stale })}
      ${ended && html`<p class="stale" role="alert">${[ended, booking.seriesId && t().othersOfSeries].filter(Boolean).join(' ')}</p>`}
      ${h(Field, { label: labels().subject, value: subject, onInput: (text) => set({ subject: text }), required: true, autofocus: true, maxLength: longest.subject, fault: faultAt(refusal, 'subject') })}
      ${h(Field, { label: t().room, value: roomId, onInput: (id) => setPlace({ roomId: id }), choices: roomChoices, fault: faultAt(refusal, 'resourceId') })}
      ${h(BookingTimes, { wanted: { roomId, day, lastDay, from, to, block, scope }, timeZone, start, end, refusal, set: setPlace })}
      ${room && from && to && !isBackwards && h(ClosedHint, { room, days, start, end })}
      ${isClosed && rule && !hasSkipped && html`<div class="buttons"><button type="button" onClick=${once(sendSkipping)}>${t().skipClosed}</button></div>`}
      ${booking?.seriesId && scopeField(scope, (value) => set({ scope: value }))}
      ${!booking && h(RepeatFields, { choice, count: isShort ? undefined : days.length, refusal, set: setPlace })}
      ${!booking && h(Organizer, { whom, onChange: (value) => set({ whom: value }), fault: organizerFault })}
      ${h(Field, { label: labels().description, type: 'textarea', value: description, onInput: (text) => set({ description: text }), maxLength: longest.description, fault: faultAt(refusal, 'description') })}
      ${h(Check, { label: t().isPrivate, checked: isPrivate, onChange: (checked) => set({ isPrivate: checked }) })}
      ${!booking && isAdmin && h(Check, { label: t().block, checked: block, onChange: (checked) => set({ block: checked }) })}
      ${h(RefusedBox, { refusal, fields: booking ? fieldNames : fieldNamesOfNew })}
      ${refusal && h(ConflictList, { refusal, timeZone, nameOf: (id) => roomOf(id).name, onTake: take, onSkip: maySkip && sendSkipping })}
      <div class="buttons end">
        ${
          booking && ended
            ? html`<button type="button" class="main" key="anew" onClick=${once(() => detach(booking))}>${t().bookAnew(booking.seriesId !== null)}</button>`
            : html`<button class="main" key="send" disabled=${isBusy || stale?.isGone}>${booking ? t().save : t().book}</button>`
        }
      </div>
    </form>
  `;
  return h(Dialog, {
    title: booking ? t().editBooking : t().newBooking,
    isKept: true,
    onClose,
    children: form,
  });
};
