/** Declines invitations in calendars of Google, where the event stays, marked as declined by the room. */
import type { calendar_v3 } from '@googleapis/calendar';
import { z } from 'zod';
import { type DeclineOutcome, type Invitation, type ItemPlace, type RemoteCalendar, ServerFault } from './connector.ts';
import { type GoogleApi, pathOf } from './google-api.ts';
import { isPersonOf, readEvent } from './google-events.ts';

const person = z.object({ email: z.string().nullish(), self: z.boolean().nullish() });
const invited = z.object({ organizer: person.nullish(), attendees: z.array(person).nullish() });

export function openGoogleInvitations({ call, origin }: GoogleApi) {
  async function decline(
    path: string,
    ifMatch: string | null,
    attendee: calendar_v3.Schema$EventAttendee,
    signal: AbortSignal,
  ): Promise<DeclineOutcome> {
    // With `attendeesOmitted`, only the response of this attendee changes.
    const body = { attendeesOmitted: true, attendees: [attendee] } satisfies calendar_v3.Schema$Event;
    const question = { method: 'PATCH', path, query: { sendUpdates: 'all' }, body, ifMatch } as const;
    const { status, isOfEvent, fault } = await call({ ...question, what: 'PATCH event' }, signal);
    if (!fault) return { is: 'Done' };
    if ([404, 409, 410, 412].includes(status)) return { is: 'Changed' };
    if (isOfEvent) return { is: 'Refused', reason: fault.message };
    throw fault;
  }

  return async ({ mailbox }: RemoteCalendar, { id }: ItemPlace, signal: AbortSignal): Promise<Invitation> => {
    const path = `${pathOf(mailbox)}/events/${encodeURIComponent(id)}`;
    const { status, body, fault } = await call({ path, what: 'GET event' }, signal);
    if (status === 404 || status === 410) return { is: 'Gone' };
    if (fault) throw fault;
    const found = readEvent(body, mailbox);
    if (found?.read === null) return { is: 'Gone' };
    const { data } = invited.safeParse(body);
    if (!found?.read || !('item' in found.read) || !data)
      throw new ServerFault('Unreadable', `${origin} answers with something that is not an event.`);
    const { item } = found.read;
    const isRoom = isPersonOf(mailbox);
    const own = data.attendees?.find(isRoom);
    const isOwn = data.organizer != null && isRoom(data.organizer);
    if (!own || isOwn) return { is: 'Nobody', reason: 'Nobody has invited the room.' };
    if (item.response === 'Declined') return { is: 'Declined' };
    const answer = { email: own.email ?? mailbox, responseStatus: 'declined' };
    return {
      is: 'Open',
      item,
      decline: (comment, within) => decline(path, item.changeKey, { ...answer, comment }, within),
    };
  };
}
