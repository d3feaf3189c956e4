/** Graph: events that a client creates, changes and deletes, and what it has left at them. */
import type { Event, FreeBusyStatus, PatternedRecurrence } from '@microsoft/microsoft-graph-types';
import { etagOf } from './graph-events.ts';
import { refusal } from './graph-replies.ts';
import type { Call, Reply } from './json-calls.ts';
import { type Appointment, type Facts, type Mailbox, reshape, type ShownAs } from './mailboxes.ts';
import { type DayName, dayNames, type Repeat } from './series.ts';
import type { World } from './world.ts';
import { isZone, toInstant, zoneOfWindows } from './zones.ts';

/** What only Graph keeps of an appointment. */
export type Own = { transactionId: string | null; properties: Map<string, string> };

const shown: Partial<Record<FreeBusyStatus, ShownAs>> = {
  free: 'free',
  tentative: 'tentative',
  busy: 'busy',
  oof: 'oof',
  workingElsewhere: 'elsewhere',
};

function repeatOf({ pattern, range }: PatternedRecurrence): Repeat {
  const { type, interval = 1, daysOfWeek } = pattern ?? {};
  const named = daysOfWeek?.map((day) => dayNames.find((name) => name.toLowerCase() === day) as DayName);
  return {
    every: type === 'daily' ? 'day' : type === 'weekly' ? 'week' : 'month',
    interval,
    ...(named && { days: named }),
    ...(range?.type === 'numbered' && { count: range.numberOfOccurrences ?? 1 }),
    ...(range?.type === 'endDate' && range.endDate && { until: range.endDate }),
  };
}

function instantOf(time: Event['start']): number {
  const zone = time?.timeZone ?? 'UTC';
  return toInstant((time?.dateTime ?? '').slice(0, 19), isZone(zone) ? zone : (zoneOfWindows(zone) ?? 'UTC'));
}

const factsOf = ({ start, end, subject, sensitivity, showAs }: Event): Partial<Facts> => ({
  ...(start && { start: instantOf(start) }),
  ...(end && { end: instantOf(end) }),
  ...(subject != null && { subject }),
  ...(sensitivity && { sensitivity }),
  ...(showAs && { shownAs: shown[showAs] ?? 'busy' }),
});

export function openWrites(world: World) {
  const { mailboxes, options } = world;
  const owned = new WeakMap<Appointment, Own>();
  /** By mailbox and id: an id counts also when its event is gone. */
  const transactions = new Map<string, { item: Appointment; asked: string }>();

  const earlier = () =>
    refusal(400, 'ErrorCalendarEndDateIsEarlierThanStartDate', 'The end date is earlier than the start date.');
  const duplicate = () =>
    refusal(
      400,
      'ErrorDuplicateTransactionId',
      "Your request can't be completed. The TransactionId specified in the request has already been used to create a different event.",
    );

  function keepProperties(item: Appointment, { singleValueExtendedProperties }: Event): void {
    const own = owned.get(item) ?? { transactionId: null, properties: new Map() };
    for (const { id, value } of singleValueExtendedProperties ?? []) own.properties.set(id ?? '', value ?? '');
    owned.set(item, own);
  }

  return {
    ownOf: (item: Appointment): Own | undefined => owned.get(item),
    /** @returns the event, or a refusal */
    create(call: Call, mailbox: Mailbox): Appointment | Reply {
      const wanted = JSON.parse(call.body) as Event;
      const { transactionId = null } = wanted;
      const key = `${mailbox.address} ${transactionId}`;
      const known = transactionId === null ? undefined : transactions.get(key);
      if (known) return known.asked === call.body && mailbox.items.has(known.item.id) ? known.item : duplicate();
      const { start = Number.NaN, end = Number.NaN, ...facts } = factsOf(wanted);
      if (!(start <= end)) return earlier();
      const repeat = wanted.recurrence ? repeatOf(wanted.recurrence) : null;
      const draft = { start, end, subject: '', ...facts, repeat, organizer: null, zone: 'UTC' };
      const item = mailboxes.invite(mailbox, draft) as Appointment;
      owned.set(item, { transactionId, properties: new Map() });
      keepProperties(item, wanted);
      if (transactionId !== null) transactions.set(key, { item, asked: call.body });
      return item;
    },
    /** @returns undefined when it is done */
    change(call: Call, mailbox: Mailbox, item: Appointment, originalStart: number | null): Reply | undefined {
      const match = call.headers['if-match'];
      if (options.heedsIfMatch && match !== undefined && match !== '*' && match !== etagOf(item))
        return refusal(
          412,
          'ErrorIrresolvableConflict',
          'The send or update operation could not be performed because the change key passed in the request does not match the current change key for the item.',
        );
      if (call.method === 'DELETE') {
        mailboxes.remove(mailbox, item, originalStart, true);
        return undefined;
      }
      const wanted = JSON.parse(call.body) as Event;
      if (wanted.transactionId !== undefined)
        return refusal(400, 'ErrorInvalidPropertySet', 'The TransactionId cannot be set on an update.');
      const facts = factsOf(wanted);
      if ((facts.start ?? item.start) > (facts.end ?? item.end)) return earlier();
      const { recurrence, isAllDay } = wanted;
      reshape(item, {
        ...(recurrence !== undefined && { repeat: recurrence && repeatOf(recurrence) }),
        ...(isAllDay != null && { isWholeDay: isAllDay }),
      });
      keepProperties(item, wanted);
      mailboxes.change(mailbox, item, facts, originalStart);
      return undefined;
    },
    /** @returns undefined when it is done */
    decline(call: Call, mailbox: Mailbox, item: Appointment, originalStart: number | null): Reply | undefined {
      const { comment = '', sendResponse = true, ...others } = JSON.parse(call.body) as Record<string, unknown>;
      const isForm = typeof comment === 'string' && typeof sendResponse === 'boolean';
      const unknown = Object.keys(others).filter((name) => name !== 'proposedNewTime');
      if (!isForm || unknown.length > 0)
        return refusal(400, 'BadRequest', 'The value of a parameter is not of the type that it has.');
      // Whoever has called a meeting cannot decline it.
      if (item.organizer === null)
        return refusal(404, 'ErrorItemNotFound', 'The specified object was not found in the store.');
      mailboxes.decline(mailbox, item, originalStart, { comment, isSent: sendResponse, keeps: false });
      return undefined;
    },
    /** The events that `$filter` asks for by an extended property; undefined for any other filter. */
    filtered(mailbox: Mailbox, filter: string): Appointment[] | undefined {
      const form =
        /^singleValueExtendedProperties\/any\(ep: ?ep\/id eq '((?:[^']|'')+)' and ep\/value eq '((?:[^']|'')+)'\)$/i;
      const [id, value] = (form.exec(filter) ?? []).slice(1).map((text) => text.replaceAll("''", "'"));
      if (id === undefined || value === undefined) return undefined;
      const isMarked = (item: Appointment) =>
        owned.get(item)?.properties.get(id)?.toLowerCase() === value.toLowerCase();
      return [...mailbox.items.values()].filter(isMarked);
    },
  };
}
