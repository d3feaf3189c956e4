/**
 * Declines invitations in calendars of a CalDAV server that sends the answers itself (RFC 6638): the ATTENDEE of the room is set
 * to declined in the room's own copy, which stays. A comment cannot be sent.
 */
import type { MailServerSettings } from '../config.ts';
import { dayLength } from '../time/days.ts';
import { Unreadable } from '../time/ical-lines.ts';
import type { DeclineOutcome, Invitation, ItemPlace, RemoteCalendar, RemoteItem } from './connector.ts';
import { ServerFault } from './connector.ts';
import { failedPreconditions, writeStatuses } from './dav.ts';
import { faultOf } from './faults.ts';
import type { AskServer, ServerAnswer } from './http.ts';
import { readCalendarObject } from './ical.ts';
import { declineObject, isAnsweredByClients } from './ical-declines.ts';
import { always } from './standing.ts';
import { isHash } from './values.ts';

/** How far around the original start of an occurrence its exception is looked for: few are moved further. */
const aroundMs = 400 * dayLength;

const windowOf = (occurrence: string) => {
  if (occurrence === '') return always;
  const at = Date.parse(occurrence);
  return { start: new Date(at - aroundMs), end: new Date(at + aroundMs) };
};

type Found = { answer: ServerAnswer; text: string; item: RemoteItem };

export function openCalDavInvitations(ask: AskServer, settings: MailServerSettings) {
  const base = new URL(settings.Url);
  let schedules = false;

  /** Whether the server sends answers by itself. Only a yes is cached. */
  async function sendsAnswers(address: string, signal: AbortSignal): Promise<boolean> {
    if (!schedules) {
      const { headers } = await ask({ method: 'OPTIONS', address, reads: [404, 405] }, signal);
      schedules = /(^|[,\s])calendar-auto-schedule([,\s]|$)/i.test(headers.get('dav') ?? '');
    }
    return schedules;
  }

  async function find({ mailbox, timeZone }: RemoteCalendar, { group, occurrence }: ItemPlace, signal: AbortSignal) {
    const answer = await ask({ address: new URL(group, base).href, reads: [404, 410] }, signal);
    if (answer.status >= 400) return undefined;
    const text = answer.bytes.toString('utf8');
    const reader = { window: windowOf(occurrence), mailbox, timeZone: timeZone ?? null };
    const { items } = readCalendarObject(group, text, reader);
    const item = items.find((one) => one.occurrence === occurrence);
    return item && ({ answer, text, item } satisfies Found);
  }

  async function put(
    { answer, text: before }: Found,
    text: string,
    mailbox: string,
    signal: AbortSignal,
  ): Promise<DeclineOutcome> {
    const key = answer.headers.get('etag');
    // Without an ETag we could overwrite a change by others.
    if (key === null) return { is: 'Refused', reason: 'The mail server sends no ETag.' };
    if (text === before) return { is: 'Done' };
    // If an account writes into the calendar of another, Cyrus takes the former for the attendee unless this header says otherwise.
    const who = { 'schedule-address': `mailto:${mailbox}` };
    const headers = { 'content-type': 'text/calendar; charset=utf-8', 'if-match': key, ...who };
    const done = await ask(
      { method: 'PUT', address: answer.address, headers, body: text, reads: writeStatuses, isFollowed: true },
      signal,
    );
    const { status, request } = done;
    if (status < 300 && status !== 207) return { is: 'Done' };
    if ([404, 409, 410, 412].includes(status)) return { is: 'Changed' };
    const failed = failedPreconditions(done);
    const isOfObject = failed.some((name) => name !== 'need-privileges');
    if (status === 403 && !isOfObject)
      throw new ServerFault(
        'AccessLost',
        `${base.origin} answers 403 to ${request}; may the account write into this calendar?`,
      );
    if (writeStatuses.includes(status))
      return { is: 'Refused', reason: `The mail server answers ${[status, ...failed].join(' ')}.` };
    throw faultOf(done, base.origin);
  }

  return async (calendar: RemoteCalendar, place: ItemPlace, signal: AbortSignal): Promise<Invitation> => {
    if (isHash(place.group)) return { is: 'Impossible', reason: 'Its path on the mail server is too long.' };
    const found = await find(calendar, place, signal);
    if (!found || found.item.isCancelled) return { is: 'Gone' };
    const { text, item, answer } = found;
    if (item.response === 'Declined') return { is: 'Declined' };
    const reader = {
      window: windowOf(place.occurrence),
      mailbox: calendar.mailbox,
      timeZone: calendar.timeZone ?? null,
    };
    const declined = attempt(() => declineObject(text, place.occurrence, reader));
    if (declined instanceof Unreadable)
      return { is: 'Impossible', reason: `It cannot be declined: ${declined.message}.` };
    if (declined === undefined || item.organizer === null || item.organizer.email === calendar.mailbox.toLowerCase())
      return { is: 'Nobody', reason: 'Nobody has invited the room.' };
    if (isAnsweredByClients(text) || !(await sendsAnswers(answer.address, signal)))
      return { is: 'Impossible', reason: 'The mail server sends no answers to invitations (RFC 6638).' };
    const changeKey = answer.headers.get('etag');
    return {
      is: 'Open',
      item: { ...item, changeKey },
      decline: (_, within) => put(found, declined, calendar.mailbox, within),
    };
  };
}

function attempt<T>(read: () => T): T | Unreadable {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}
