/** The form that makes a booking or a series, and changes one. A refusal keeps what was typed and offers what would be free. */

import { useEffect, useState } from 'preact/hooks';
import { minutesOf } from '../../../time/days.ts';
import { line } from '../../bidi.ts';
import { randomKey } from '../../random-key.ts';
import { type Alternative, act, ask, isUnanswered, mandator, type Refusal } from '../client.ts';
import {
  addDays,
  clockText,
  dayAt,
  daysBetween,
  dayText,
  instantOf,
  isDay,
  minutesAt,
  offsetAt,
  ownZone,
  rangeIn,
  timeText,
  weekdayOf,
} from '../clock.ts';
import {
  BookingDetailsDocument,
  ChangeBookingDocument,
  CreateBookingDocument,
  type CreateBookingInput,
  type Scope,
} from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { Check, Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt, RefusedBox } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import { person } from '../session.ts';
import { t } from '../texts/rooms.ts';
import { changeOf } from './change-of.ts';
import { ClosedHint } from './closed-hint.ts';
import { ConflictList } from './conflict.ts';
import { type ForWhom, Organizer } from './organizer.ts';
import { daysOf, type Repeat, repeats, ruleOf, sayRule, weekdayName, weekdays } from './repeat.ts';
import { scopeField } from './scope-field.ts';
import { type Booking, instant, type Room, type Store } from './store.ts';

export type Draft = {
  /** The booking to change; undefined for a new one. */
  booking?: Booking | undefined;
  roomId: string;
  start: number;
  end: number;
  /** What was typed before the page was reloaded, and its Idempotency-Key. */
  typed?: { wanted: Wanted; key: string } | undefined;
};

export const draftOf = (booking: Booking): Draft => ({
  booking,
  roomId: booking.resourceId,
  start: Date.parse(booking.start),
  end: Date.parse(booking.end),
});

type Wanted = {
  roomId: string;
  day: string;
  /** The last day, which is another for a block of several days and for what lasts past midnight. */
  lastDay: string;
  from: string;
  to: string;
  subject: string;
  description: string;
  isPrivate: boolean;
  repeat: Repeat;
  on: readonly number[];
  until: string;
  whom: ForWhom;
  block: boolean;
  scope: Scope;
};

const kept = 'roomgate booking';
/** The form that was open when the page was reloaded. */
export function readKept(): Draft | undefined {
  const { who, draft } = JSON.parse(sessionStorage.getItem(kept) ?? '{}') as { who?: string; draft?: Draft };
  return who === `${mandator} ${person.value?.id}` ? draft : undefined;
}

type FormProperties = { draft: Draft; rooms: readonly Room[]; store: Store; onClose: () => void };

/** How many of the skipped dates are listed. */
const mostNamed = 6;
const fieldNames = ['subject', 'description', 'resourceId', 'organizerId', 'start', 'end', 'recurrenceRule'];

const timesOf = (zone: string, start: number, end: number) => ({
  day: dayAt(zone, start),
  // What ends at midnight ends at 24:00 of the day before.
  lastDay: dayAt(zone, end - 1),
  from: clockText(minutesAt(zone, start)),
  to: clockText(minutesAt(zone, end)),
});

/** In seconds. Arrow keys go by five minutes, unless a time is none of these: browsers refuse a value between two steps. */
const stepOf = (text: string) => (minutesOf(text) % 5 === 0 ? 300 : 60);

export const BookingForm: Component<FormProperties> = ({ draft, rooms, store, onClose }) => {
  const [base, setBase] = useState(draft);
  const { booking } = base;
  const zoneOf = (id: string) => rooms.find((room) => room.id === id)?.timeZone ?? 'UTC';
  const valuesOf = ({ booking, roomId, start, end }: Draft) => ({
    roomId,
    ...timesOf(zoneOf(roomId), start, end),
    subject: booking?.subject ?? '',
    description: booking?.description ?? '',
    isPrivate: booking?.isPrivate ?? false,
  });
  const zone = zoneOf(base.roomId);
  const before = timesOf(zone, base.start, base.end);
  const [wanted, setWanted] = useState<Wanted>({
    ...valuesOf(draft),
    repeat: 'none',
    on: [],
    until: addDays(before.day, 28),
    whom: {},
    block: booking?.kind === 'Block',
    scope: 'This',
    ...draft.typed?.wanted,
  });
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  // However often this form is sent, it books once.
  const [idempotencyKey] = useState(() => draft.typed?.key ?? randomKey());
  const [wasLost, setLost] = useState(draft.typed !== undefined);
  useEffect(() => {
    const typed = { wanted, key: idempotencyKey };
    sessionStorage.setItem(kept, JSON.stringify({ who: `${mandator} ${person.value?.id}`, draft: { ...base, typed } }));
  }, [wanted]);
  // However it is closed, by Back, too; a reloaded page closes nothing.
  useEffect(() => () => sessionStorage.removeItem(kept), []);
  const set = (changes: Partial<typeof wanted>) => setWanted((before) => ({ ...before, ...changes }));
  const { roomId, from, to, subject, description, isPrivate, repeat, on, until, whom, block, scope } = wanted;
  const [hasSkipped, setSkipped] = useState(false);
  const [hasTried, setTried] = useState(false);
  // The bookings of a series keep their dates.
  const { day, lastDay } = scope === 'This' ? wanted : before;
  const timeZone = zoneOf(roomId);
  // Times that nobody has changed stay as they are: a repeated hour cannot be entered unambiguously.
  const areKept = timeZone === zone && [day, lastDay, from, to].join() === Object.values(before).join();
  const start = areKept ? base.start : instantOf(timeZone, day, minutesOf(from));
  const end = areKept ? base.end : instantOf(timeZone, lastDay, minutesOf(to) || 1440);
  const isBackwards = end <= start;
  const nameOf = (id: string) => rooms.find((room) => room.id === id)?.name ?? '';

  const choice = { repeat, on, day, until };
  const rule = ruleOf(choice);
  const isShort = rule !== undefined && until < day;

  async function create(room: string, range: { start: string; end: string }, skips: boolean): Promise<void> {
    const rule = ruleOf({ ...choice, day: dayAt(zoneOf(room), Date.parse(range.start)) });
    const input: CreateBookingInput = {
      resourceId: room,
      ...range,
      subject,
      isPrivate,
      idempotencyKey,
      ...(description && { description }),
      ...(whom.id && { organizerId: whom.id }),
      ...(rule && { recurrenceRule: rule, conflictHandling: skips ? 'Skip' : 'Fail' }),
      ...(block && { kind: 'Block' }),
    };
    const { done, refused } = await act(CreateBookingDocument, { input });
    if (refused) {
      // The server knows the key, with other content: the lost attempt has booked.
      const isThere = wasLost && refused.code === 'InvalidInput' && refused.faults.length === 0;
      setRefusal(isThere ? { ...refused, code: 'WasBooked', message: '' } : refused);
      if (isUnanswered(refused)) setLost(true);
      return;
    }
    store.hear(done.booking);
    const what = line`${nameOf(room)}, ${rangeIn(zoneOf(room), done.booking.start, done.booking.end)}`;
    const isRequest = done.booking.status === 'Requested';
    if (done.__typename === 'SeriesCreated') {
      const { bookingIds, skipped } = done;
      const dates = skipped
        .slice(0, mostNamed)
        .map(({ start }) => dayText(dayAt(zoneOf(room), Date.parse(start)), 'short'));
      const named = [...dates, ...(skipped.length > mostNamed ? ['…'] : [])].join('; ');
      toast((isRequest ? t().requestedSeries : t().bookedSeries)(bookingIds.length, skipped.length, named));
    } else toast(isRequest ? t().requested(what) : t().booked(what));
    onClose();
  }
  async function change(
    edited: Booking,
    place: Pick<Booking, 'resourceId' | 'start' | 'end'>,
    skips: boolean,
  ): Promise<void> {
    const { id } = edited;
    const live = store.find(id) ?? edited;
    const change = changeOf(edited, live, { ...place, subject, description, isPrivate }, scope);
    const handling = skips ? 'Skip' : 'Fail';
    const { done, refused } = change
      ? await act(ChangeBookingDocument, { id, scope, conflictHandling: handling, ...change })
      : { done: live };
    if (refused) {
      if (refused.code === 'PreconditionFailed') await readAgain(id);
      setRefusal(refused);
      return;
    }
    store.hear(done);
    toast(t().changed(line`${done.resourceName}, ${rangeIn(done.timeZone, done.start, done.end)}`));
    onClose();
  }
  /** Shows the new state of the booking, with what was edited. */
  async function readAgain(id: string): Promise<void> {
    const { booking: now } = await ask(BookingDetailsDocument, { id }).catch(() => ({ booking: null }));
    if (!now) return;
    store.hear(now);
    const next = draftOf(now);
    const was: Partial<Wanted> = valuesOf(base);
    setBase(next);
    setWanted((last) => {
      const isEdited = (field: string) => last[field as keyof Wanted] !== was[field as keyof Wanted];
      return { ...last, ...Object.fromEntries(Object.entries(valuesOf(next)).filter(([field]) => !isEdited(field))) };
    });
  }
  async function send(
    room = roomId,
    range = { start: instant(start), end: instant(end) },
    skips = false,
  ): Promise<void> {
    setTried(true);
    if (isBusy || isBackwards || isShort || whom.unknown) return;
    setBusy(true);
    setSkipped(skips);
    await (booking ? change(booking, { resourceId: room, ...range }, skips) : create(room, range, skips));
    setBusy(false);
  }
  function take({ resourceId, start: first, end: last }: Alternative): void {
    set({ roomId: resourceId, ...timesOf(zoneOf(resourceId), Date.parse(first), Date.parse(last)) });
    setRefusal(undefined);
    void send(resourceId, { start: first, end: last });
  }
  const timeFault = isBackwards ? t().endsBeforeStart : (faultAt(refusal, 'end') ?? faultAt(refusal, 'start'));
  const roomChoices = rooms.map(({ id, name, locationName }) => ({ value: id, text: line`${name} · ${locationName}` }));
  const isElsewhere = offsetAt(timeZone, start) !== offsetAt(ownZone, start);
  const isTwofold = [start, end].some((at) => timeText(timeZone, at) !== clockText(minutesAt(timeZone, at)));
  const days = rule && !isShort ? daysOf(choice) : [day];
  const isClosed = refusal?.faults.some(({ code }) => code === 'OutsideOpeningHours');
  // The server lets Admins book at any time, and says nothing of it; it tells others that the room is closed, but not when.
  const mayBeClosed = isClosed || (person.value?.role === 'Admin' && !block);
  const room = mayBeClosed ? rooms.find(({ id }) => id === roomId) : undefined;
  const maySkip = (rule !== undefined || scope !== 'This') && !hasSkipped;
  const repeatFields = html`
    <div class="fields">
      ${h(Field, { label: t().repeat, value: repeat, onInput: (text) => set({ repeat: text as Repeat }), choices: repeats.map((value) => ({ value, text: t().repeats[value] })), fault: faultAt(refusal, 'recurrenceRule') })}
      ${repeat !== 'none' && h(Field, { label: t().until, type: 'date', value: until, min: day, onInput: (text) => set({ until: text }), required: true, fault: isShort ? t().endsBeforeStart : undefined })}
    </div>
    ${
      (repeat === 'weekly' || repeat === 'biweekly') &&
      html`<fieldset class="weekdays"><legend>${t().onWeekdays}</legend>
        ${weekdays.map((each) => h(Check, { key: each, label: weekdayName(each), checked: on.includes(each) || each === weekdayOf(day), disabled: each === weekdayOf(day), onChange: (checked) => set({ on: checked ? [...on, each] : on.filter((other) => other !== each) }) }))}
      </fieldset>`
    }
    ${rule && !isShort && html`<p class="hint" role="status">${sayRule(rule)}: ${t().bookings(days.length)}</p>`}
  `;
  const form = html`
    <form onSubmit=${submit(() => send())}>
      ${h(Field, { label: t().subject, value: subject, onInput: (text) => set({ subject: text }), required: true, autofocus: true, maxLength: 200, fault: faultAt(refusal, 'subject') })}
      ${h(Field, { label: t().room, value: roomId, onInput: (id) => set({ roomId: id }), choices: roomChoices, fault: faultAt(refusal, 'resourceId') })}
      <div class="fields">
        ${h(Field, { label: t().date, type: 'date', value: day, onInput: (text) => isDay(text) && set({ day: text, lastDay: addDays(text, daysBetween(day, lastDay)) }), required: true, disabled: scope !== 'This', hint: scope === 'This' ? undefined : t().datesStay })}
        ${(block || lastDay !== day || isBackwards) && h(Field, { label: t().lastDay, type: 'date', value: lastDay, min: day, onInput: (text) => isDay(text) && set({ lastDay: text }), required: true, disabled: scope !== 'This' })}
        ${h(Field, { label: t().from, type: 'time', value: from, onInput: (text) => set({ from: text }), required: true, step: stepOf(from) })}
        ${h(Field, { label: t().to, type: 'time', value: to, onInput: (text) => set({ to: text }), required: true, step: stepOf(to) })}
      </div>
      ${isElsewhere && !isBackwards && html`<p class="hint">${t().yourTime(rangeIn(ownZone, instant(start), instant(end)))}</p>`}
      ${isTwofold && !isBackwards && html`<p class="hint">${rangeIn(timeZone, instant(start), instant(end))}</p>`}
      ${room && !isBackwards && h(ClosedHint, { room, days, start, end })}
      ${timeFault && html`<p class="fault" role="alert">${timeFault}</p>`}
      ${isClosed && rule && !hasSkipped && html`<div class="buttons"><button type="button" onClick=${() => void send(roomId, undefined, true)}>${t().skipClosed}</button></div>`}
      ${booking?.seriesId && scopeField(scope, (value) => set({ scope: value }))}
      ${!booking && repeatFields}
      ${!booking && h(Organizer, { whom, onChange: (value) => set({ whom: value }), fault: hasTried && whom.unknown ? t().unknownPerson : faultAt(refusal, 'organizerId') })}
      ${h(Field, { label: t().description, type: 'textarea', value: description, onInput: (text) => set({ description: text }), maxLength: 2000, fault: faultAt(refusal, 'description') })}
      ${h(Check, { label: t().isPrivate, checked: isPrivate, onChange: (checked) => set({ isPrivate: checked }) })}
      ${!booking && person.value?.role === 'Admin' && h(Check, { label: t().block, checked: block, onChange: (checked) => set({ block: checked }) })}
      ${h(RefusedBox, { refusal, fields: fieldNames })}
      ${refusal && h(ConflictList, { refusal, timeZone, nameOf, onTake: take, onSkip: maySkip && (() => void send(roomId, undefined, true)) })}
      <div class="buttons end">
        <button class="main" disabled=${isBusy}>${booking ? t().save : t().book}</button>
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
