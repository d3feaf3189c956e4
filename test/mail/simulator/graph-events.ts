/** An event as Graph writes it. */
import type { Event, FreeBusyStatus, RecurrencePattern, ResponseType } from '@microsoft/microsoft-graph-types';
import {
  type Answer,
  type Appointment,
  changeKeyOf,
  type Mailbox,
  type Occurrence,
  type ShownAs,
} from './mailboxes.ts';
import { type DayName, dayNames } from './series.ts';
import { toLocal, weekday } from './zones.ts';

const answers: Record<Answer, ResponseType> = {
  accepted: 'accepted',
  tentative: 'tentativelyAccepted',
  declined: 'declined',
  none: 'notResponded',
  organizer: 'organizer',
};
const shown: Record<ShownAs, FreeBusyStatus> = {
  free: 'free',
  tentative: 'tentative',
  busy: 'busy',
  oof: 'oof',
  elsewhere: 'workingElsewhere',
};

/** @param zone what `Prefer: outlook.timezone` asks for; whole days have no zone: they begin at midnight in each */
function timeIn(instant: number, zone: string, isWholeDay: boolean, zoneOfDay: string) {
  return {
    dateTime: `${toLocal(instant, isWholeDay ? zoneOfDay : zone)}.0000000`,
    timeZone: zone,
  };
}

function recurrenceOf({ repeat, start, zone }: Appointment): NonNullable<Event['recurrence']> | null {
  if (!repeat) return null;
  const date = toLocal(start, zone).slice(0, 10);
  const { every, interval = 1, days = [dayNames[weekday(date)]!], count, until } = repeat;
  const lower = (day: DayName) => day.toLowerCase() as 'sunday';
  const pattern: RecurrencePattern =
    every === 'day'
      ? { type: 'daily', interval }
      : every === 'week'
        ? { type: 'weekly', interval, daysOfWeek: days.map(lower), firstDayOfWeek: 'monday' }
        : { type: 'absoluteMonthly', interval, dayOfMonth: Number(date.slice(8)) };
  const type = count !== undefined ? 'numbered' : until !== undefined ? 'endDate' : 'noEnd';
  return {
    pattern,
    range: {
      type,
      startDate: date,
      endDate: until ?? '0001-01-01',
      numberOfOccurrences: count ?? 0,
      recurrenceTimeZone: zone,
    },
  };
}

export type Tagged<Body> = Body & { '@odata.etag': string };

export const etagOf = ({ revision }: Appointment) => `W/"${changeKeyOf(revision)}"`;

function typeOf(appointment: Appointment, occurrence: Occurrence | null): NonNullable<Event['type']> {
  if (!appointment.repeat) return 'singleInstance';
  if (!occurrence) return 'seriesMaster';
  return occurrence.isException ? 'exception' : 'occurrence';
}

/** @param occurrence null for what is one, and for the master of a series */
export function writeEvent(
  mailbox: Mailbox,
  appointment: Appointment,
  occurrence: Occurrence | null,
  zone: string,
): Tagged<Event> {
  const facts = occurrence ?? appointment;
  const person = appointment.organizer ?? { name: mailbox.name, email: mailbox.address };
  const time = (instant: number) => timeIn(instant, zone, appointment.isWholeDay, appointment.zone);
  const type = typeOf(appointment, occurrence);
  const isOfSeries = type === 'occurrence' || type === 'exception';
  return {
    '@odata.etag': etagOf(appointment),
    id: occurrence?.id ?? appointment.id,
    changeKey: changeKeyOf(appointment.revision),
    createdDateTime: new Date(appointment.createdAt).toISOString(),
    lastModifiedDateTime: new Date(appointment.changedAt).toISOString(),
    iCalUId: appointment.uid,
    categories: [],
    originalStartTimeZone: appointment.zone,
    originalEndTimeZone: appointment.zone,
    ...(isOfSeries && occurrence?.originalStart != null
      ? { originalStart: new Date(occurrence.originalStart).toISOString() }
      : {}),
    subject: facts.subject,
    bodyPreview: '',
    importance: 'normal',
    sensitivity: facts.sensitivity,
    showAs: shown[facts.shownAs],
    isAllDay: appointment.isWholeDay,
    isCancelled: facts.isCancelled,
    isDraft: false,
    isOrganizer: appointment.organizer === null,
    responseRequested: true,
    seriesMasterId: isOfSeries ? appointment.id : null,
    type,
    responseStatus: { response: answers[facts.answer], time: new Date(appointment.changedAt).toISOString() },
    body: { contentType: 'html', content: '' },
    start: time(facts.start),
    end: time(facts.end),
    location: { displayName: mailbox.name, locationType: 'default' },
    recurrence: type === 'seriesMaster' ? recurrenceOf(appointment) : null,
    attendees: [
      {
        type: 'resource',
        status: { response: 'none', time: '0001-01-01T00:00:00Z' },
        emailAddress: { name: mailbox.name, address: mailbox.address },
      },
    ],
    organizer: { emailAddress: { name: person.name, address: person.email } },
  };
}

/** What delta says of an occurrence that has nothing for itself. */
export function writeStub(occurrence: Occurrence, zone: string): Tagged<Event> {
  const { appointment } = occurrence;
  const time = (instant: number) => timeIn(instant, zone, appointment.isWholeDay, appointment.zone);
  return {
    '@odata.etag': etagOf(appointment),
    id: occurrence.id,
    seriesMasterId: appointment.id,
    type: 'occurrence',
    start: time(occurrence.start),
    end: time(occurrence.end),
  };
}
