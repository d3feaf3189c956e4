/** The true content of each calendar, which tests compare with the bookings of the service. */
import { type Appointment, isWithin, type Mailbox, type Occurrence, occurrencesOf } from './mailboxes.ts';
import { addDays, toLocal } from './zones.ts';

export type Truth = {
  /** What EWS and Graph call the appointment, or the whole series. */
  itemId: string;
  /** What they call this one. */
  id: string;
  uid: string;
  /** Null for one that does not repeat. */
  originalStart: string | null;
  start: string;
  end: string;
  /** The local dates `[from, to)` of whole days, by the clock of the appointment's zone. */
  days: { from: string; to: string } | null;
  zone: string;
  subject: string;
  sensitivity: Occurrence['sensitivity'];
  shownAs: Occurrence['shownAs'];
  answer: Occurrence['answer'];
  isCancelled: boolean;
  organizer: Appointment['organizer'];
  isException: boolean;
  /** Extended properties that were written over EWS. */
  extended: Record<string, string>;
};

function daysOf({ start, end, appointment }: Occurrence): Truth['days'] {
  if (!appointment.isWholeDay) return null;
  const date = (instant: number) => toLocal(instant, appointment.zone).slice(0, 10);
  const last = date(end - 1);
  return { from: date(start), to: addDays(last, 1) };
}

/** Every occurrence that overlaps `[from, to)`, cancelled and free ones too, by start. */
export function truthOf(mailbox: Mailbox, from: number, to: number): Truth[] {
  return [...mailbox.items.values()]
    .flatMap(occurrencesOf)
    .filter(isWithin(from, to))
    .toSorted((a, b) => a.start - b.start || (a.id < b.id ? -1 : 1))
    .map((one) => ({
      itemId: one.appointment.id,
      id: one.id,
      uid: one.appointment.uid,
      originalStart: one.originalStart === null ? null : new Date(one.originalStart).toISOString(),
      start: new Date(one.start).toISOString(),
      end: new Date(one.end).toISOString(),
      days: daysOf(one),
      zone: one.appointment.zone,
      subject: one.subject,
      sensitivity: one.sensitivity,
      shownAs: one.shownAs,
      answer: one.answer,
      isCancelled: one.isCancelled,
      organizer: one.appointment.organizer,
      isException: one.isException,
      extended: one.appointment.extended,
    }));
}
