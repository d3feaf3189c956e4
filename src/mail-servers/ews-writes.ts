/**
 * Writes bookings into calendars of Exchange, many items with one request. An extended property identifies an item, so that the
 * next attempt finds an item whose answer was lost.
 */
import { type Connector, ServerFault, type Write, type WriteOutcome, type WrittenItem } from './connector.ts';
import { groupFound, markUri } from './ews-items.ts';
import { type CallEws, codeOf, messages, refusalOf, types } from './ews-soap.ts';
import { calendarFolder, type EwsView, propertyUri } from './ews-view.ts';
import { mayConcernOneItem, unlessAllFailed } from './failed-writes.ts';
import { TimedOut } from './faults.ts';
import { standingAs } from './standing.ts';
import { childOf, escapeXml, type XmlElement } from './xml.ts';

const atOnce = 50;
/** The code for what follows an item at which Exchange has stopped: it was not looked at. */
const stopped = 'ErrorBatchProcessingStopped';

/** The properties of an appointment of the room itself, in the order of the schema. */
const membersOf = ({ start, end, subject, isPrivate }: WrittenItem): [property: string, xml: string][] => [
  ['item:Subject', `<t:Subject>${escapeXml(subject)}</t:Subject>`],
  ['item:Sensitivity', `<t:Sensitivity>${isPrivate ? 'Private' : 'Normal'}</t:Sensitivity>`],
  ['item:ReminderIsSet', '<t:ReminderIsSet>false</t:ReminderIsSet>'],
  ['calendar:Start', `<t:Start>${start.toISOString()}</t:Start>`],
  ['calendar:End', `<t:End>${end.toISOString()}</t:End>`],
  ['calendar:IsAllDayEvent', '<t:IsAllDayEvent>false</t:IsAllDayEvent>'],
  ['calendar:LegacyFreeBusyStatus', '<t:LegacyFreeBusyStatus>Busy</t:LegacyFreeBusyStatus>'],
];

function newItem(item: WrittenItem): string {
  const members = membersOf(item);
  const [ofItem, ofCalendar] = ['item:', 'calendar:'].map((kind) =>
    members.flatMap(([property, xml]) => (property.startsWith(kind) ? xml : [])).join(''),
  );
  const marked = `<t:ExtendedProperty>${markUri}<t:Value>${escapeXml(item.origin)}</t:Value></t:ExtendedProperty>`;
  return `<t:CalendarItem>${ofItem}${marked}${ofCalendar}</t:CalendarItem>`;
}

function itemId({ at }: Extract<Write, { at: unknown }>): string {
  const changeKey = at.changeKey === null ? '' : ` ChangeKey="${escapeXml(at.changeKey)}"`;
  return `<t:ItemId Id="${escapeXml(at.id)}"${changeKey}/>`;
}

function itemChange(write: Extract<Write, { do: 'Change' }>): string {
  const updates = membersOf(write.item).map(
    ([property, xml]) =>
      `<t:SetItemField>${propertyUri(property)}<t:CalendarItem>${xml}</t:CalendarItem></t:SetItemField>`,
  );
  return `<t:ItemChange>${itemId(write)}<t:Updates>${updates.join('')}</t:Updates></t:ItemChange>`;
}

const textOf = (write: Write): string =>
  write.do === 'Create' ? newItem(write.item) : write.do === 'Change' ? itemChange(write) : itemId(write);

/** The operations send no invitations, updates or cancellations. */
const operations = {
  Create: (mailbox: string, items: string) =>
    [
      'CreateItem',
      ' SendMeetingInvitations="SendToNone"',
      `<m:SavedItemFolderId>${calendarFolder(mailbox)}</m:SavedItemFolderId><m:Items>${items}</m:Items>`,
    ] as const,
  Change: (_: string, changes: string) =>
    [
      'UpdateItem',
      ' ConflictResolution="NeverOverwrite" SendMeetingInvitationsOrCancellations="SendToNone"',
      `<m:ItemChanges>${changes}</m:ItemChanges>`,
    ] as const,
  // Exchange ignores change keys here, so cancelling a booking deletes its item even if others have changed it.
  Remove: (_: string, ids: string) =>
    [
      'DeleteItem',
      ' DeleteType="SoftDelete" SendMeetingCancellations="SendToNone"',
      `<m:ItemIds>${ids}</m:ItemIds>`,
    ] as const,
};

export function openEwsWrites(call: CallEws, view: EwsView, origin: string): NonNullable<Connector['writes']> {
  /** @throws ServerFault for a refusal that concerns more than this item */
  function outcomeOf(write: Write, response: XmlElement | undefined): WriteOutcome {
    if (!response) throw new ServerFault('Unreadable', `${origin} sends fewer responses than requested.`);
    const code = codeOf(response);
    if (code === 'NoError') {
      if (write.do === 'Remove') return { is: 'Done', at: null };
      const item = childOf(response, messages, 'Items')?.children[0];
      const named = childOf(item, types, 'ItemId')?.attributes;
      const id = named?.get('Id');
      if (!id) throw new ServerFault('Unreadable', `${origin} answers without the id of what it has written.`);
      return { is: 'Done', at: { id, changeKey: named?.get('ChangeKey') ?? null } };
    }
    if (code === 'ErrorItemNotFound') return write.do === 'Remove' ? { is: 'Done', at: null } : { is: 'Gone' };
    if (/^Error(IrresolvableConflict|StaleObject|ChangeKeyRequired)/.test(code)) return { is: 'Changed' };
    const fault = refusalOf(response, origin);
    if (fault.fault === 'Unreadable') return { is: 'Refused', reason: fault.message };
    if (!mayConcernOneItem(fault)) throw fault;
    return { is: 'Failed', error: fault };
  }

  return {
    atOnce,
    mayDouble: true,
    async write({ mailbox }, writes, signal) {
      const outcomes = new Map<Write, WriteOutcome>();
      /** @returns whether the server has answered in time, and for all of them */
      async function send(kind: Write['do'], some: readonly Write[]): Promise<boolean> {
        try {
          const [operation, attributes, body] = operations[kind](mailbox, some.map(textOf).join(''));
          const responses = await call(operation, mailbox, attributes, body, signal);
          for (const [at, write] of some.entries()) {
            if (at > 0 && responses[at] && codeOf(responses[at]) === stopped) return false;
            outcomes.set(write, outcomeOf(write, responses[at]));
          }
        } catch (error) {
          if (!mayConcernOneItem(error)) throw error;
          for (const write of some) if (!outcomes.has(write)) outcomes.set(write, { is: 'Failed', error });
          return !(error instanceof TimedOut);
        }
        return true;
      }
      try {
        for (const [kind, some] of Map.groupBy(writes, (write) => write.do)) {
          const goesOn = await send(kind, some);
          if (!goesOn) break;
        }
      } catch (error) {
        if (!outcomes.has(writes[0]!)) throw error;
      }
      const told = writes.map((write) => outcomes.get(write));
      const unknown = told.indexOf(undefined);
      return unlessAllFailed(told.slice(0, unknown === -1 ? told.length : unknown) as WriteOutcome[]);
    },
    async find({ mailbox }, origins, signal) {
      const asked = new Set(origins);
      const found = await view.findMarked(mailbox, origins, signal);
      return found.flatMap((one) => {
        if (one.origin === null || !asked.has(one.origin)) return [];
        const items = groupFound([one]).flatMap((group) => group.items);
        return [{ id: one.id, changeKey: one.changeKey, item: standingAs(one.origin, items) }];
      });
    },
  };
}
