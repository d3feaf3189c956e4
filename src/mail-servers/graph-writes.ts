/**
 * Writes bookings into calendars of Microsoft 365, many with one request. Because of the transactionId, a repeated creation makes
 * only one event; the extended property finds events whose answer was lost.
 */
import type { Event } from '@microsoft/microsoft-graph-types';
import { z } from 'zod';
import { minute } from '../time/durations.ts';
import { type Connector, ServerFault, type Write, type WriteOutcome, type WrittenItem } from './connector.ts';
import { mayConcernOneItem, unlessAllFailed } from './failed-writes.ts';
import type { GraphApi, GraphStep, GraphStepAnswer } from './graph-api.ts';
import { inUtc, markId, readEvent, readStub, selected } from './graph-events.ts';
import { pathOf } from './graph-subscriptions.ts';

const atOnce = 20;
/** Graph passes four requests of a batch to a mailbox at a time. If it does not, the mailbox refuses the others, and batches stay small for a while. */
const fewAtOnce = 4;
const fewMs = 10 * minute;
/** The most copies of one event that are read. */
const mostCopies = 50;
/** Statuses that refuse the event, not the application. */
const ofEvent = [400, 413, 422];

const inJson = { 'content-type': 'application/json' };
const moment = (at: Date) => ({ dateTime: at.toISOString().slice(0, 19), timeZone: 'UTC' });

/** An appointment of the room itself, without attendees and reminders. */
const bodyOf = ({ start, end, subject, isPrivate }: WrittenItem) =>
  ({
    subject,
    start: moment(start),
    end: moment(end),
    isAllDay: false,
    showAs: 'busy',
    sensitivity: isPrivate ? 'private' : 'normal',
    isReminderOn: false,
  }) satisfies Event;

function stepOf(mailbox: string, write: Write): GraphStep {
  const events = `/${pathOf(mailbox)}/events`;
  if (write.do === 'Create') {
    const { origin } = write.item;
    const marks = { transactionId: origin, singleValueExtendedProperties: [{ id: markId, value: origin }] };
    const body = { ...bodyOf(write.item), ...marks } satisfies Event;
    return { method: 'POST', path: events, headers: inJson, body };
  }
  const path = `${events}/${encodeURIComponent(write.at.id)}`;
  const condition: Record<string, string> = write.at.changeKey === null ? {} : { 'if-match': write.at.changeKey };
  if (write.do === 'Remove') return { method: 'DELETE', path, headers: condition };
  // Somebody may have turned the event into a series.
  const body = { ...bodyOf(write.item), recurrence: null } satisfies Event;
  return { method: 'PATCH', path, headers: { ...inJson, ...condition }, body };
}

function questionOf(mailbox: string, origin: string): GraphStep {
  const [id, value] = [markId, origin].map((text) => `'${text.replaceAll("'", "''")}'`);
  const filter = `singleValueExtendedProperties/any(ep: ep/id eq ${id} and ep/value eq ${value})`;
  const encoded = encodeURIComponent(filter).replaceAll("'", '%27');
  const path = `/${pathOf(mailbox)}/events?$filter=${encoded}&${selected}&$top=${mostCopies}`;
  return { method: 'GET', path, headers: { prefer: inUtc } };
}

const createdSchema = z.object({ id: z.string().min(1), '@odata.etag': z.string().nullish() });
const listSchema = z.object({ value: z.array(z.unknown()) });

export function openGraphWrites({ batch, origin: server }: GraphApi): NonNullable<Connector['writes']> {
  let fewUntil = 0;
  const mostNow = () => (Date.now() < fewUntil ? fewAtOnce : atOnce);

  /** Sends requests for one mailbox, up to the first that the mailbox refuses as too many. */
  async function send(steps: readonly GraphStep[], signal: AbortSignal): Promise<GraphStepAnswer[]> {
    const size = mostNow();
    const answers: GraphStepAnswer[] = [];
    while (answers.length < steps.length) {
      const part = await batch(steps.slice(answers.length, answers.length + size), signal);
      answers.push(...part);
      if (!part.some(({ status }) => status === 429)) continue;
      if (part.some(({ code }) => code === 'ApplicationThrottled')) fewUntil = Date.now() + fewMs;
      break;
    }
    return answers;
  }

  const noCalendar = () => new ServerFault('AccessLost', `${server} knows no such mailbox or calendar.`);

  /** @returns a ServerFault for a refusal that may concern more than this event */
  function outcomeOf(write: Write, { status, code, body, fault }: GraphStepAnswer): WriteOutcome | ServerFault {
    if (code === 'ErrorDuplicateTransactionId' || status === 409 || status === 412) return { is: 'Changed' };
    if (status === 403)
      return new ServerFault(
        'AccessLost',
        `${server} answers 403: ${code}; has the application Calendars.ReadWrite for this mailbox?`,
      );
    if (fault?.fault === 'AccessLost') return fault;
    if (status === 404 || status === 410) {
      if (write.do === 'Create') return noCalendar();
      return write.do === 'Remove' ? { is: 'Done', at: null } : { is: 'Gone' };
    }
    if (ofEvent.includes(status)) return { is: 'Refused', reason: fault?.message ?? '' };
    if (fault) return fault;
    if (write.do === 'Remove') return { is: 'Done', at: null };
    const { data } = createdSchema.safeParse(body);
    if (!data) return new ServerFault('Unreadable', `${server} does not say which event it has written.`);
    return { is: 'Done', at: { id: data.id, changeKey: data['@odata.etag'] ?? null } };
  }

  /** The events of an answer to `questionOf`. */
  function foundOf(origin: string, { status, body, fault }: GraphStepAnswer) {
    if (status === 404 && fault?.fault !== 'AccessLost') throw noCalendar();
    if (fault) throw fault;
    const { data } = listSchema.safeParse(body);
    if (!data) throw new ServerFault('Unreadable', `${server} answers with something that is not a list.`);
    return data.value.flatMap((event) => {
      const stub = readStub(event);
      if (!stub) return [];
      const read = readEvent(event, stub);
      const item = 'item' in read ? read.item : undefined;
      // Anything but a single appointment that occupies the room differs from every item that we write.
      const isSingle = stub.type === 'singleInstance' && item?.days === null;
      const stands = isSingle && !item.isCancelled && item.shownAs === 'Busy';
      const { start = new Date(0), end = start, isPrivate = false } = item ?? {};
      const subject = stands ? (item.subject ?? '') : '';
      return [
        { id: stub.id, changeKey: stub['@odata.etag'] ?? null, item: { origin, start, end, subject, isPrivate } },
      ];
    });
  }

  return {
    // The outcome of each request is stored before the next is sent, which may be refused.
    mayDouble: false,
    get atOnce() {
      return mostNow();
    },
    async write({ mailbox }, writes, signal) {
      const steps = writes.map((write) => stepOf(mailbox, write));
      const outcomes: WriteOutcome[] = [];
      for (const [at, answer] of (await send(steps, signal)).entries()) {
        const outcome = outcomeOf(writes[at]!, answer);
        if (!(outcome instanceof ServerFault)) outcomes.push(outcome);
        else if (mayConcernOneItem(outcome)) outcomes.push({ is: 'Failed', error: outcome });
        else if (at === 0) throw outcome;
        // Later requests of the batch may have been done too: they are looked up.
        else break;
      }
      return unlessAllFailed(outcomes);
    },
    async find({ mailbox }, origins, signal) {
      const steps = origins.map((origin) => questionOf(mailbox, origin));
      const answers = await send(steps, signal);
      return answers.flatMap((answer, at) => foundOf(origins[at]!, answer));
    },
  };
}
