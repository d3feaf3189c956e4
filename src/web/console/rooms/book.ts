/** Sends the form of a booking, and reports the outcome. */
import { line } from '../../bidi.ts';
import { act, type Refusal } from '../client.ts';
import { dayAt, dayText, rangeIn } from '../clock.ts';
import { ChangeBookingDocument, CreateBookingDocument, type CreateBookingInput } from '../generated/graphql.ts';
import { toast } from '../parts/toast.ts';
import { t } from '../texts/rooms.ts';
import { changeOf } from './change-of.ts';
import type { Wanted } from './draft.ts';
import { ruleOf } from './repeat.ts';
import type { Booking, Room, Store } from './store.ts';

/** Room and time, from the form or from an offer of the server. `skips`: without the dates that are taken or closed. */
export type Sent = {
  room: Pick<Room, 'id' | 'name' | 'timeZone'>;
  range: { start: string; end: string };
  skips: boolean;
};

/** How many of the skipped dates are listed. */
const mostNamed = 6;

/** Makes a booking or a series. @returns the refusal */
export async function createBooking(
  store: Store,
  wanted: Wanted,
  { room: { id, name, timeZone }, range, skips }: Sent,
  idempotencyKey: string,
): Promise<Refusal | undefined> {
  const { subject, description, isPrivate, whom, block, setupMinutes, teardownMinutes } = wanted;
  const dayOf = (instant: string) => dayAt(timeZone, Date.parse(instant));
  const rule = ruleOf({ ...wanted, day: dayOf(range.start) });
  const input: CreateBookingInput = {
    resourceId: id,
    ...range,
    subject,
    isPrivate,
    idempotencyKey,
    ...(description && { description }),
    ...(whom.id && { organizerId: whom.id }),
    ...(rule && { recurrenceRule: rule, conflictHandling: skips ? 'Skip' : 'Fail' }),
    ...(block && { kind: 'Block' }),
    ...(setupMinutes && { setupMinutes }),
    ...(teardownMinutes && { teardownMinutes }),
  };
  const { done, refused } = await act(CreateBookingDocument, { input });
  if (refused) return refused;
  store.hear(done.booking);
  const isRequest = done.booking.status === 'Requested';
  if (done.__typename === 'SeriesCreated') {
    const { bookingIds, skipped } = done;
    const dates = skipped.slice(0, mostNamed).map(({ start }) => dayText(dayOf(start), 'short'));
    const named = [...dates, ...(skipped.length > mostNamed ? ['…'] : [])].join('; ');
    toast((isRequest ? t().requestedSeries : t().bookedSeries)(bookingIds.length, skipped.length, named));
  } else {
    const what = line`${name}, ${rangeIn(timeZone, done.booking.start, done.booking.end)}`;
    toast(isRequest ? t().requested(what) : t().booked(what));
  }
  return undefined;
}

/** Changes a booking, or those of its series that `scope` names. @returns the refusal */
export async function changeBooking(
  store: Store,
  edited: Booking,
  { subject, description, isPrivate, scope }: Wanted,
  { room, range, skips }: Sent,
): Promise<Refusal | undefined> {
  const { id } = edited;
  const live = store.find(id) ?? edited;
  const change = changeOf(edited, live, { resourceId: room.id, ...range, subject, description, isPrivate }, scope);
  const conflictHandling = skips ? 'Skip' : 'Fail';
  const { done, refused } = change
    ? await act(ChangeBookingDocument, { id, scope, conflictHandling, ...change })
    : { done: live };
  if (refused) return refused;
  store.hear(done);
  toast(t().changed(line`${done.resourceName}, ${rangeIn(done.timeZone, done.start, done.end)}`));
  return undefined;
}
