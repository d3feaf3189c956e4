/** Converts calendar items of Exchange. */

import type { RemoteGroup, RemoteItem } from './connector.ts';
import { types } from './ews-soap.ts';
import { groupItems, type ReadItem } from './groups.ts';
import { boundId, cutText, organizerOf, readAddress, readInstant, readUid } from './values.ts';
import { readDay } from './whole-days.ts';
import { childOf, childrenOf, textOf, type XmlElement } from './xml.ts';

/** In the order of a request. Only GetItem returns the organizer's address. */
export const itemProperties = [
  'item:ItemClass',
  'item:Subject',
  'item:Sensitivity',
  'item:LastModifiedTime',
  'calendar:UID',
  'calendar:RecurrenceId',
  'calendar:Start',
  'calendar:End',
  'calendar:OriginalStart',
  'calendar:IsAllDayEvent',
  'calendar:LegacyFreeBusyStatus',
  'calendar:IsMeeting',
  'calendar:IsCancelled',
  'calendar:CalendarItemType',
  'calendar:MyResponseType',
  'calendar:Organizer',
  'calendar:StartTimeZone',
  'calendar:EndTimeZone',
];

/** The property that marks items that were written from here; its value is the origin. Graph uses the same property. */
const mark = { set: '3aa6b3e6-2c18-457d-ab1a-a802c77a44a9', name: 'roomgate' };
export const markUri = `<t:ExtendedFieldURI PropertySetId="${mark.set}" PropertyName="${mark.name}" PropertyType="String"/>`;

export type RemoteOrganizer = RemoteItem['organizer'];
/** An item as FindItem returns it; `id` is Exchange's. */
export type FoundItem = {
  id: string;
  changeKey: string | null;
  uid: string | null;
  origin: string | null;
  organizer: RemoteOrganizer;
  /** The original start, where GetItem has returned it. */
  place?: Date | undefined;
  element: XmlElement;
};

/** @returns undefined for the server's own data (IPM.SchedulePlus.FreeBusy.BinaryData), and without an id */
export function readFound(element: XmlElement): FoundItem | undefined {
  const named = childOf(element, types, 'ItemId')?.attributes;
  const id = named?.get('Id');
  const kind = textOf(element, types, 'ItemClass') ?? '';
  if (element.name !== 'CalendarItem' || !id || /^IPM\.SchedulePlus\./i.test(kind)) return undefined;
  return {
    id,
    changeKey: named?.get('ChangeKey') ?? null,
    uid: readUid(textOf(element, types, 'UID')),
    origin: readMark(element),
    organizer: readOrganizer(element),
    element,
  };
}

function readMark(element: XmlElement): string | null {
  const marked = childrenOf(element, types, 'ExtendedProperty').find((property) => {
    const uri = childOf(property, types, 'ExtendedFieldURI')?.attributes;
    return uri?.get('PropertySetId')?.toLowerCase() === mark.set && uri.get('PropertyName') === mark.name;
  });
  return cutText(textOf(marked, types, 'Value'));
}

export function readOrganizer(element: XmlElement): RemoteOrganizer {
  const mailbox = childOf(childOf(element, types, 'Organizer'), types, 'Mailbox');
  return organizerOf(cutText(textOf(mailbox, types, 'Name')), readAddress(textOf(mailbox, types, 'EmailAddress')));
}

const responses = new Map<string, RemoteItem['response']>([
  ['Organizer', 'Organizer'],
  ['Tentative', 'Tentative'],
  ['Accept', 'Accepted'],
  ['Decline', 'Declined'],
]);

function responseOf(text: (name: string) => string | undefined): RemoteItem['response'] {
  const known = responses.get(text('MyResponseType') ?? '');
  // An appointment without attendees was created in the calendar itself.
  return known ?? (text('IsMeeting') === 'false' ? 'Organizer' : 'None');
}

/** The group of an item: its UID, or without one its id. */
export const groupOf = ({ uid, id }: FoundItem): string => uid ?? boundId(id);

/** Groups all items of a view. */
export function groupFound(found: readonly FoundItem[]): RemoteGroup[] {
  const expanded = new Set(found.filter((one) => !isMaster(one)).map(groupOf));
  return groupItems(
    found
      .filter((one) => !isMaster(one) || !expanded.has(groupOf(one)))
      .map((one) => ({ group: groupOf(one), id: boundId(one.id), ...readItem(one) })),
  );
}

const typeOf = ({ element }: FoundItem) => textOf(element, types, 'CalendarItemType') ?? 'Single';
const isMaster = (found: FoundItem) => typeOf(found) === 'RecurringMaster';

/** Whether the item is a single appointment: it is not of a series, nor the only occurrence to which the room was invited. */
export const isAlone = (found: FoundItem): boolean =>
  typeOf(found) === 'Single' && textOf(found.element, types, 'RecurrenceId') === undefined;

/** Whether the item is an exception without its original start, which FindItem has not returned and GetItem must. */
export function lacksPlace(found: FoundItem): boolean {
  return typeOf(found) === 'Exception' && !readPlace(found.element);
}

/** The original start of an occurrence. */
export function readPlace(element: XmlElement): Date | undefined {
  return readInstant(textOf(element, types, 'OriginalStart')) ?? readInstant(textOf(element, types, 'RecurrenceId'));
}

/** '' except for occurrences. An invitation to one occurrence, without its series, has only a RecurrenceId. */
function occurrenceOf(found: FoundItem, start: Date): string {
  const place =
    typeOf(found) === 'Single'
      ? readInstant(textOf(found.element, types, 'RecurrenceId'))
      : (found.place ?? readPlace(found.element) ?? start);
  return place?.toISOString() ?? '';
}

function readItem(found: FoundItem): ReadItem {
  const text = (name: string) => textOf(found.element, types, name);
  const zone = (name: string) => childOf(found.element, types, name)?.attributes.get('Id');
  const [start, end] = [readInstant(text('Start')), readInstant(text('End'))];
  if (isMaster(found)) return { unreadable: 'The server does not list the occurrences of this series.' };
  if (!start || !end) return { unreadable: 'The start or the end of an item is not a date.' };
  return {
    item: {
      id: boundId(found.id),
      occurrence: occurrenceOf(found, start),
      uid: found.uid,
      start,
      end,
      days:
        text('IsAllDayEvent') === 'true'
          ? { from: readDay(start, zone('StartTimeZone')), to: readDay(end, zone('EndTimeZone')) }
          : null,
      subject: cutText(text('Subject')),
      organizer: found.organizer,
      isPrivate: ['Private', 'Confidential'].includes(text('Sensitivity') ?? ''),
      isCancelled: text('IsCancelled') === 'true',
      response: responseOf(text),
      shownAs: shownAs(text('LegacyFreeBusyStatus')),
      changedAt: readInstant(text('LastModifiedTime')) ?? null,
      origin: found.origin,
      changeKey: found.changeKey,
    },
  };
}

/** "Out of office" and "working elsewhere" occupy a room too. */
function shownAs(status: string | undefined): RemoteItem['shownAs'] {
  return status === 'Free' || status === 'Tentative' ? status : 'Busy';
}
