/** Declines invitations in calendars of Microsoft 365, which then removes the event from the calendar. */
import { z } from 'zod';
import type { DeclineOutcome, Invitation, ItemPlace, RemoteCalendar } from './connector.ts';
import { ServerFault } from './connector.ts';
import type { GraphApi, GraphStep, GraphStepAnswer } from './graph-api.ts';
import { inUtc, readEvent, readStub, selected } from './graph-events.ts';
import { pathOf } from './graph-subscriptions.ts';

const organized = z.object({ isOrganizer: z.boolean().nullish() });

export function openGraphInvitations({ batch, origin }: GraphApi) {
  /** @throws ServerFault for a refusal that concerns more than this event */
  async function send(step: GraphStep, signal: AbortSignal): Promise<GraphStepAnswer> {
    const [answer] = (await batch([step], signal)) as [GraphStepAnswer];
    const { status, code, fault } = answer;
    if (status === 403)
      throw new ServerFault(
        'AccessLost',
        `${origin} answers 403: ${code}; has the application Calendars.ReadWrite for this mailbox?`,
      );
    if (fault && (fault.fault === 'AccessLost' || ![400, 404, 409, 410, 412, 422].includes(status))) throw fault;
    return answer;
  }

  async function decline(path: string, comment: string, signal: AbortSignal): Promise<DeclineOutcome> {
    const headers = { 'content-type': 'application/json' };
    const body = { comment, sendResponse: true };
    const { status, fault } = await send({ method: 'POST', path: `${path}/decline`, headers, body }, signal);
    if (!fault) return { is: 'Done' };
    return status === 400 || status === 422 ? { is: 'Refused', reason: fault.message } : { is: 'Changed' };
  }

  return async ({ mailbox }: RemoteCalendar, { id }: ItemPlace, signal: AbortSignal): Promise<Invitation> => {
    const path = `/${pathOf(mailbox)}/events/${encodeURIComponent(id)}`;
    const question = { method: 'GET', path: `${path}?${selected}`, headers: { prefer: inUtc } } as const;
    const { fault, body } = await send(question, signal);
    // Graph refuses an id that no longer exists with 400.
    if (fault) return { is: 'Gone' };
    const stub = readStub(body);
    const read = stub && readEvent(body, stub);
    if (!read || !('item' in read))
      throw new ServerFault('Unreadable', `${origin} answers with something that is not an event.`);
    const { item } = read;
    if (item.isCancelled) return { is: 'Gone' };
    if (item.response === 'Declined') return { is: 'Declined' };
    if (item.response === 'Organizer' || organized.safeParse(body).data?.isOrganizer === true)
      return { is: 'Nobody', reason: 'It was created in the calendar of the room itself.' };
    return { is: 'Open', item, decline: (comment, within) => decline(path, comment, within) };
  };
}
