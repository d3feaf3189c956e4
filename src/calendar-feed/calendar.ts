/** Bookings of a resource as an iCalendar file (RFC 5545): the same bookings are the same bytes. */
import ical, {
  escape as escapeText,
  ICalCalendarMethod,
  ICalEventClass,
  ICalEventStatus,
  ICalEventTransparency,
} from 'ical-generator';
import { type Booking, isActive } from '../bookings/service.ts';

const refreshSeconds = 15 * 60;

const statuses = {
  Confirmed: ICalEventStatus.CONFIRMED,
  Tentative: ICalEventStatus.TENTATIVE,
  Cancelled: ICalEventStatus.CANCELLED,
  Released: ICalEventStatus.CANCELLED,
};

/** RFC 5545, 3.1: no control characters but tabs and the breaks of lines. */
const clean = (text: string) => text.replaceAll(/[^\P{Cc}\t\r\n]/gu, '');

const listed = (name: string, values: readonly string[] | null) =>
  values && values.length > 0 ? [`${name}: ${values.join(', ')}`] : [];

/** What an event tells besides its members; the resource is occupied before and after it too. */
function describe({ description, lektion, setupMinutes, teardownMinutes }: Booking): string | null {
  const lines = [
    ...(description ? [description] : []),
    ...(lektion ? [...listed('Klassen', lektion.klassen), ...listed('Lehrpersonen', lektion.lehrpersonen)] : []),
    ...(setupMinutes > 0 ? [`Vorbereitung: ${setupMinutes} min`] : []),
    ...(teardownMinutes > 0 ? [`Nachbereitung: ${teardownMinutes} min`] : []),
  ];
  return lines.length > 0 ? clean(lines.join('\n')) : null;
}

/** It stands for an address there, so somebody without one cannot be told of. */
function toOrganizer(organizer: Booking['organizer']) {
  if (!organizer?.email) return null;
  const { email } = organizer;
  return { name: clean(organizer.displayName) || email, email: encodeURI(email) };
}

function toEvent(booking: Booking) {
  const { organizer, subject, changedAt } = booking;
  return {
    id: booking.uid,
    sequence: booking.version - 1,
    // The file is a state, not a message: the event is as it was when it last changed.
    stamp: changedAt,
    created: booking.createdAt,
    lastModified: changedAt,
    start: booking.start,
    end: booking.end,
    summary: clean(subject ?? 'Belegt'),
    description: describe(booking),
    location: clean(booking.resourceName),
    status: statuses[booking.status],
    transparency: isActive(booking) ? ICalEventTransparency.OPAQUE : ICalEventTransparency.TRANSPARENT,
    class: booking.isPrivate ? ICalEventClass.PRIVATE : ICalEventClass.PUBLIC,
    organizer: toOrganizer(organizer),
  };
}

/** To be raised when other bytes are made of the same bookings: it stands in the ETag. */
export const edition = 2;

const end = 'END:VCALENDAR';

/** A calendar, cut before its end. */
function writePart(name: string, bookings: readonly Booking[]): string {
  const calendar = ical({
    prodId: { company: 'roomgate', product: 'calendar feed', language: 'DE' },
    method: ICalCalendarMethod.PUBLISH,
    // Which the library writes as it stands.
    name: escapeText(clean(name), false),
    ttl: refreshSeconds,
    events: bookings.map(toEvent),
  });
  return calendar.toString().slice(0, -end.length);
}

/** @param name of the resource @param bookings as somebody may see them, some at a time */
export async function writeCalendar(name: string, bookings: AsyncIterable<Booking[]>): Promise<string> {
  const head = writePart(name, []);
  const parts = [head];
  for await (const some of bookings) parts.push(writePart(name, some).slice(head.length));
  return `${parts.join('')}${end}\r\n`;
}
