/**
 * Writes bookings into calendars of Google. The id of an event is derived from its origin, so that the next attempt finds an
 * event whose answer was lost. The id of a deleted event stays taken.
 */
import { createHash } from 'node:crypto';
import type { calendar_v3 } from '@googleapis/calendar';
import { type Connector, ServerFault, type Write, type WriteOutcome, type WrittenItem } from './connector.ts';
import { type GoogleAnswer, type GoogleApi, pathOf } from './google-api.ts';
import { isSeries, markName, readEvent } from './google-events.ts';
import { standingAs } from './standing.ts';

/** Google limits how fast one calendar is written, so a call has one write: a batch would only keep readings waiting. */
const atOnce = 1;
const mostFoundAtOnce = 5;
const silent = { sendUpdates: 'none' };

/** Google allows the digits of base32hex in an id, which include those of hexadecimal. */
export const eventIdOf = (origin: string): string => `rg${createHash('sha256').update(origin).digest('hex')}`;

const bodyOf = ({ origin, start, end, subject, isPrivate }: WrittenItem) =>
  ({
    summary: subject,
    start: { dateTime: start.toISOString() },
    end: { dateTime: end.toISOString() },
    transparency: 'opaque',
    visibility: isPrivate ? 'private' : 'default',
    reminders: { useDefault: false },
    extendedProperties: { private: { [markName]: origin } },
  }) satisfies calendar_v3.Schema$Event;

export function openGoogleWrites({ call, origin: server }: GoogleApi): NonNullable<Connector['writes']> {
  const pathOfEvent = (mailbox: string, id: string) => `${pathOf(mailbox)}/events/${encodeURIComponent(id)}`;

  async function find(mailbox: string, origin: string, signal: AbortSignal) {
    const id = eventIdOf(origin);
    const answer = await call({ path: pathOfEvent(mailbox, id), what: 'GET event' }, signal);
    if (answer.status === 404 || answer.status === 410) return undefined;
    if (answer.fault) throw answer.fault;
    const event = readEvent(answer.body, mailbox);
    if (!event) throw new ServerFault('Unreadable', `${server} answers with something that is not an event.`);
    if (event.read === null) return undefined;
    // The id alone says that it is ours: a program that replaces an event drops the properties that it does not know.
    const item = 'item' in event.read ? event.read.item : undefined;
    // A series is something else than what we write.
    const items = item && !isSeries(answer.body) ? [item] : [];
    return { id, changeKey: item?.changeKey ?? null, item: standingAs(origin, items) };
  }

  async function create(mailbox: string, item: WrittenItem, signal: AbortSignal): Promise<WriteOutcome> {
    const body = { id: eventIdOf(item.origin), ...bodyOf(item) };
    const question = { method: 'POST', path: `${pathOf(mailbox)}/events`, query: silent, body } as const;
    const answer = await call({ ...question, what: 'POST event' }, signal);
    if (answer.status !== 409) return outcomeOf(answer, body.id);
    // Either the event exists already, or it was deleted and its id stays taken for ever.
    return (await find(mailbox, item.origin, signal)) ? { is: 'Changed' } : { is: 'Gone' };
  }

  async function change(
    mailbox: string,
    { item, at }: Extract<Write, { do: 'Change' }>,
    signal: AbortSignal,
  ): Promise<WriteOutcome> {
    const { start, end, ...rest } = bodyOf(item);
    // Google merges objects and keeps what is not named: somebody may have made the event last whole days, or a series.
    const body = {
      ...rest,
      start: { ...start, date: null },
      end: { ...end, date: null },
      recurrence: [],
    } satisfies calendar_v3.Schema$Event;
    const question = { method: 'PATCH', path: pathOfEvent(mailbox, at.id), query: silent, body } as const;
    const answer = await call({ ...question, ifMatch: at.changeKey, what: 'PATCH event' }, signal);
    if (answer.status === 404 || answer.status === 410) return { is: 'Gone' };
    // Google also answers 403 to a change of a deleted event.
    if (answer.status === 403 && !(await find(mailbox, item.origin, signal))) return { is: 'Gone' };
    return outcomeOf(answer, at.id);
  }

  async function remove(
    mailbox: string,
    { at }: Extract<Write, { do: 'Remove' }>,
    signal: AbortSignal,
  ): Promise<WriteOutcome> {
    const question = { method: 'DELETE', path: pathOfEvent(mailbox, at.id), query: silent } as const;
    const answer = await call({ ...question, ifMatch: at.changeKey, what: 'DELETE event' }, signal);
    if (answer.status === 404 || answer.status === 410) return { is: 'Done', at: null };
    const outcome = outcomeOf(answer, at.id);
    return outcome.is === 'Done' ? { is: 'Done', at: null } : outcome;
  }

  function write(mailbox: string, one: Write, signal: AbortSignal): Promise<WriteOutcome> {
    if (one.do === 'Create') return create(mailbox, one.item, signal);
    return one.do === 'Change' ? change(mailbox, one, signal) : remove(mailbox, one, signal);
  }

  return {
    atOnce,
    mayDouble: false,
    async write({ mailbox }, writes, signal) {
      const outcomes: WriteOutcome[] = [];
      for (const one of writes)
        try {
          outcomes.push(await write(mailbox, one, signal));
        } catch (error) {
          const isThrottled = error instanceof ServerFault && error.fault === 'Throttled';
          if (!isThrottled || outcomes.length === 0) throw error;
          break;
        }
      return outcomes;
    },
    async find({ mailbox }, origins, signal) {
      const found = [];
      for (let next = 0; next < origins.length; next += mostFoundAtOnce) {
        const some = origins.slice(next, next + mostFoundAtOnce);
        found.push(...(await Promise.all(some.map((origin) => find(mailbox, origin, signal)))));
      }
      return found.flatMap((one) => one ?? []);
    },
  };
}

/** @throws ServerFault for a refusal that concerns more than this item */
function outcomeOf({ status, body, isOfEvent, fault }: GoogleAnswer, id: string): WriteOutcome {
  if (status === 412) return { is: 'Changed' };
  if (isOfEvent) return { is: 'Refused', reason: fault?.message ?? 'Google refuses it.' };
  if (status === 404)
    throw new ServerFault(
      'AccessLost',
      `${fault?.message ?? ''} Is the calendar shared with the service account?`.trim(),
    );
  if (fault) throw fault;
  const etag = (body as { etag?: unknown } | undefined)?.etag;
  return { is: 'Done', at: { id, changeKey: typeof etag === 'string' ? etag : null } };
}
