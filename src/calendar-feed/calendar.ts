/** Writes the bookings of a resource as an iCalendar file (RFC 5545): equal bookings give equal bytes. */
import ical, {
  escape as escapeText,
  ICalCalendarMethod,
  ICalEventClass,
  ICalEventStatus,
  ICalEventTransparency,
} from 'ical-generator';
import { type Booking, busySubject, changeOfPlan, isActive } from '../bookings/service.ts';
import { openSlices } from '../flow/slices.ts';
import { clockTimeOf, localDateOf } from '../time/zones.ts';

const refreshSeconds = 15 * 60;

const statuses = {
  Requested: ICalEventStatus.TENTATIVE,
  Confirmed: ICalEventStatus.CONFIRMED,
  Tentative: ICalEventStatus.TENTATIVE,
  Declined: ICalEventStatus.CANCELLED,
  Cancelled: ICalEventStatus.CANCELLED,
  Released: ICalEventStatus.CANCELLED,
};

/** RFC 5545, 3.1 allows no control characters but tabs and line breaks. */
const clean = (text: string) => text.replaceAll(/[^\P{Cc}\t\r\n]/gu, '');

/** The most characters of a list of names, which may have hundreds. */
const mostListed = 1_000;

/** A list of names in a line; of a long one the first. */
function listed(name: string, values: readonly string[] | null): string[] {
  if (!values || values.length === 0) return [];
  let length = 0;
  const fitting = values.filter((value) => (length += value.length + 2) <= mostListed);
  return [`${name}: ${[...fitting, ...(length > mostListed ? ['…'] : [])].join(', ')}`];
}

/** A time span in the zone, in German. The end has no date, as lessons end on the day on which they begin. */
function spanText(start: Date, end: Date, timeZone: string): string {
  const [year, month, day] = localDateOf(start, timeZone).split('-');
  return `${day}.${month}.${year}, ${clockTimeOf(start, timeZone)}–${clockTimeOf(end, timeZone)}`;
}

/** How the lessons of a booking differ from the first plan: in words, and the planned values. */
function changesOf(booking: Booking) {
  const { start, end, resourceId, resourceName, timeZone, status, lektion } = booking;
  const now = { roomId: resourceId, roomName: resourceName, start: start.getTime(), end: end.getTime() };
  const { roomBefore, timesBefore, teachersBefore, isSubstituted } = changeOfPlan(lektion?.lessons ?? [], now);
  const words =
    status === 'Cancelled'
      ? ['Entfällt']
      : [...(isSubstituted ? ['Vertretung'] : []), ...(timesBefore || roomBefore !== null ? ['Verlegt'] : [])];
  const was = [
    ...(timesBefore ? [spanText(new Date(timesBefore.start), new Date(timesBefore.end), timeZone)] : []),
    ...(roomBefore === null ? [] : [roomBefore]),
    ...(teachersBefore ?? []),
  ];
  return { words, was };
}

/** The description of an event, with the members of a booking that iCalendar has no property for. */
function describe(booking: Booking): string | null {
  const { description, lektion, setupMinutes, teardownMinutes } = booking;
  const lines = [
    ...(description ? [description] : []),
    ...(lektion ? [...listed('Klassen', lektion.klassen), ...listed('Lehrpersonen', lektion.lehrpersonen)] : []),
    ...(lektion ? listed('Ursprünglich', changesOf(booking).was) : []),
    ...(setupMinutes > 0 ? [`Vorbereitung: ${setupMinutes} min`] : []),
    ...(teardownMinutes > 0 ? [`Nachbereitung: ${teardownMinutes} min`] : []),
  ];
  return lines.length > 0 ? clean(lines.join('\n')) : null;
}

/** The subject, with the changes of a lesson before it. */
function summarize(booking: Booking): string {
  const subject = booking.subject ?? busySubject;
  const words = booking.lektion ? changesOf(booking).words : [];
  return words.length > 0 ? `${words.join(', ')}: ${subject}` : subject;
}

/** ORGANIZER needs an e-mail address: an organizer without one is omitted. */
function toOrganizer(organizer: Booking['organizer']) {
  if (!organizer?.email) return null;
  const { email } = organizer;
  return { name: clean(organizer.displayName) || email, email: encodeURI(email) };
}

function toEvent(booking: Booking) {
  const { organizer, changedAt } = booking;
  return {
    id: booking.uid,
    sequence: booking.version - 1,
    // DTSTAMP is the last change, not the time of writing: otherwise equal bookings would give different bytes.
    stamp: changedAt,
    created: booking.createdAt,
    lastModified: changedAt,
    start: booking.start,
    end: booking.end,
    summary: clean(summarize(booking)),
    description: describe(booking),
    location: clean(booking.resourceName),
    status: statuses[booking.status],
    transparency: isActive(booking) ? ICalEventTransparency.OPAQUE : ICalEventTransparency.TRANSPARENT,
    class: booking.isPrivate ? ICalEventClass.PRIVATE : ICalEventClass.PUBLIC,
    organizer: toOrganizer(organizer),
  };
}

/** A part of the ETag; must increase when a new release writes other bytes for the same bookings. */
export const edition = 5;

const end = 'END:VCALENDAR';

/** Writes a calendar without its last line. */
function writePart(name: string, bookings: readonly Booking[]): string {
  const calendar = ical({
    prodId: { company: 'roomgate', product: 'calendar feed', language: 'DE' },
    method: ICalCalendarMethod.PUBLISH,
    // The library does not escape the name.
    name: escapeText(clean(name), false),
    ttl: refreshSeconds,
    events: bookings.map(toEvent),
  });
  return calendar.toString().slice(0, -end.length);
}

/** Bookings that are written at once, and the most octets of a calendar. */
const writtenAtOnce = 20;
export const mostOctets = 10_000_000;

/**
 * Writes the first bookings, up to `mostOctets`.
 * @param name the name of the calendar @param bookings the bookings as the viewer may see them, in pieces
 * @param reader once it is aborted, nothing more is written
 */
export async function writeCalendar(
  name: string,
  bookings: AsyncIterable<Booking[]>,
  reader: AbortSignal,
): Promise<string> {
  const head = writePart(name, []);
  const parts = [head];
  const whole = () => `${parts.join('')}${end}\r\n`;
  let octets = Buffer.byteLength(whole());
  const pause = openSlices();
  for await (const some of bookings)
    for (let first = 0; first < some.length; first += writtenAtOnce) {
      await pause();
      const part = writePart(name, some.slice(first, first + writtenAtOnce)).slice(head.length);
      octets += Buffer.byteLength(part);
      if (octets > mostOctets || reader.aborted) return whole();
      parts.push(part);
    }
  return whole();
}
