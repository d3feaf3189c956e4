/** Google: an event as it is listed, each occurrence of a series by itself. */
import { createHash } from 'node:crypto';
import type { calendar_v3 } from '@googleapis/calendar';
import type { Answer, Appointment, Mailbox, Occurrence } from './mailboxes.ts';
import type { Repeat } from './series.ts';
import { toLocal } from './zones.ts';

/** What only Google keeps of an appointment. */
export type Own = { id: string; properties: Record<string, string> };

const answers: Record<Answer, string> = {
  accepted: 'accepted',
  tentative: 'tentative',
  declined: 'declined',
  none: 'needsAction',
  organizer: 'accepted',
};

/** Of what was not made through Google. */
export const idOf = (id: string) =>
  [...createHash('sha256').update(id).digest()]
    .map((byte) => (byte % 32).toString(32))
    .join('')
    .slice(0, 26);

export const etagOf = ({ revision }: Appointment) => `"3${String(revision).padStart(15, '0')}"`;

const stamp = (instant: number) => new Date(instant).toISOString().replace(/[-:]|\.\d+/g, '');

export const readStamp = (text: string) => Date.parse(text.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));

export function idOfOccurrence({ id }: Own, { originalStart }: Occurrence): string {
  return originalStart === null ? id : `${id}_${stamp(originalStart)}`;
}

const shorthand = { day: 'DAILY', week: 'WEEKLY', month: 'MONTHLY' } as const;
function ruleOf({ every, interval = 1, days, count, until }: Repeat): string {
  const parts = [`FREQ=${shorthand[every]}`, `INTERVAL=${interval}`];
  if (days) parts.push(`BYDAY=${days.map((day) => day.slice(0, 2).toUpperCase()).join()}`);
  if (count !== undefined) parts.push(`COUNT=${count}`);
  if (until !== undefined) parts.push(`UNTIL=${until.replaceAll('-', '')}`);
  return `RRULE:${parts.join(';')}`;
}

/** A series as a whole, which no list of single events has. */
export function writeSeries(mailbox: Mailbox, own: Own, appointment: Appointment): calendar_v3.Schema$Event {
  const one = { ...appointment, appointment, originalStart: null, isException: false };
  return { ...writeEvent(mailbox, own, one), ...(appointment.repeat && { recurrence: [ruleOf(appointment.repeat)] }) };
}

export function writeEvent(mailbox: Mailbox, own: Own, one: Occurrence): calendar_v3.Schema$Event {
  const { appointment } = one;
  const { zone, isWholeDay, organizer } = appointment;
  const time = (instant: number): calendar_v3.Schema$EventDateTime =>
    isWholeDay
      ? { date: toLocal(instant, zone).slice(0, 10) }
      : { dateTime: new Date(instant).toISOString().replace('.000Z', 'Z'), timeZone: zone };
  const room = { email: mailbox.address, displayName: mailbox.name, self: true };
  const person = organizer ? { email: organizer.email, displayName: organizer.name } : room;
  return {
    kind: 'calendar#event',
    etag: etagOf(appointment),
    id: idOfOccurrence(own, one),
    status: one.isCancelled ? 'cancelled' : one.shownAs === 'tentative' ? 'tentative' : 'confirmed',
    htmlLink: `https://calendar.example/event?eid=${own.id}`,
    created: new Date(appointment.createdAt).toISOString(),
    updated: new Date(appointment.changedAt).toISOString(),
    ...(one.subject !== '' && { summary: one.subject }),
    creator: person,
    organizer: person,
    start: time(one.start),
    end: time(one.end),
    ...(one.originalStart !== null && { recurringEventId: own.id, originalStartTime: time(one.originalStart) }),
    ...(one.shownAs === 'free' && { transparency: 'transparent' }),
    ...(one.sensitivity !== 'normal' && {
      visibility: one.sensitivity === 'confidential' ? 'confidential' : 'private',
    }),
    iCalUID: appointment.uid,
    sequence: appointment.sequence,
    ...(organizer && {
      attendees: [
        { ...person, organizer: true, responseStatus: 'accepted' },
        { ...room, resource: true, responseStatus: answers[one.answer] },
      ],
    }),
    ...(Object.keys(own.properties).length > 0 && { extendedProperties: { private: own.properties } }),
    reminders: { useDefault: false },
    eventType: 'default',
  };
}
