/** Reads the items of a calendar of Exchange, and finds which of them have changed. */
import { LRUCache } from 'lru-cache';
import { atMost } from '../flow/caches.ts';
import { dayLength } from '../time/days.ts';
import { type ReadingWindow, ServerFault } from './connector.ts';
import {
  type FoundItem,
  itemProperties,
  lacksPlace,
  markUri,
  readFound,
  readOrganizer,
  readPlace,
} from './ews-items.ts';
import { type CallEws, codeOf, messages, refusalOf, refuseError, types } from './ews-soap.ts';
import { readSlices, type SlicePlace, type TimeSlice } from './slices.ts';
import { childOf, escapeXml, textOf, type XmlElement } from './xml.ts';

/** Half of Exchange's limit of items in one answer. */
const mostFound = 500;
const mostChanges = 512;
const longestState = 1_048_576;
const itemsAtOnce = 50;
const [mostOrganizers, organizersFor] = [20_000, dayLength];

export type EwsView = {
  /** The items of the calendar that carry one of these marks. */
  findMarked(mailbox: string, origins: readonly string[], signal: AbortSignal): Promise<FoundItem[]>;
  /** One item by its id; undefined if it is gone. */
  getItem(mailbox: string, id: string, signal: AbortSignal): Promise<FoundItem | undefined>;
  /** Reads the items of the window from `place` on, slice by slice. */
  find(
    mailbox: string,
    window: ReadingWindow,
    place: SlicePlace,
    signal: AbortSignal,
  ): AsyncIterable<TimeSlice<FoundItem>>;
  /** The items of these ids, without those that are gone; undefined if one cannot be read by itself. */
  get(mailbox: string, ids: readonly string[], signal: AbortSignal): Promise<FoundItem[] | undefined>;
  /** Reads some of the changes since `state`; without one, some of all items. */
  sync(
    mailbox: string,
    state: string | null,
    signal: AbortSignal,
  ): Promise<{ state: string; isLast: boolean; changes: EwsChanges }>;
};

/** Changed and removed items; a series is reported by its master alone. */
export type EwsChanges = { changed: { id: string; changeKey: string | null }[]; removed: string[] };

/** Names the mailbox as well, in case the server ignores the impersonation. */
export function calendarFolder(mailbox: string): string {
  return `<t:DistinguishedFolderId Id="calendar"><t:Mailbox><t:EmailAddress>${escapeXml(mailbox)}</t:EmailAddress></t:Mailbox></t:DistinguishedFolderId>`;
}

export const propertyUri = (name: string) => `<t:FieldURI FieldURI="${name}"/>`;

/** @param more addresses of properties that have no name */
function shape(properties: readonly string[], more = ''): string {
  const fields = properties.map(propertyUri).join('') + more;
  const additional = fields && `<t:AdditionalProperties>${fields}</t:AdditionalProperties>`;
  return `<m:ItemShape><t:BaseShape>IdOnly</t:BaseShape>${additional}</m:ItemShape>`;
}

export function openEwsView(call: CallEws, origin: string): EwsView {
  /** Organizers by mailbox and UID, as a meeting's organizer does not change and FindItem returns only the name. */
  const organizers = new LRUCache<string, { organizer: FoundItem['organizer'] }>({
    ...atMost(mostOrganizers),
    ttl: organizersFor,
  });

  /** @returns undefined if there are too many for one answer */
  async function findItems(
    mailbox: string,
    body: string,
    signal: AbortSignal,
  ): Promise<readonly XmlElement[] | undefined> {
    const [response] = await call('FindItem', mailbox, ' Traversal="Shallow"', body, signal);
    if (codeOf(response!) === 'ErrorExceededFindCountLimit') return undefined;
    refuseError(response!, origin);
    const folder = childOf(response, messages, 'RootFolder');
    if (!folder) throw new ServerFault('Unreadable', `${origin} answers FindItem without a RootFolder.`);
    const items = childOf(folder, types, 'Items')?.children ?? [];
    const isCut = folder.attributes.get('IncludesLastItemInRange') === 'false' || items.length >= mostFound;
    return isCut ? undefined : items;
  }

  async function findSlice(mailbox: string, { start, end }: ReadingWindow, signal: AbortSignal) {
    const view = `<m:CalendarView MaxEntriesReturned="${mostFound}" StartDate="${start.toISOString()}" EndDate="${end.toISOString()}"/>`;
    const body = `${shape(itemProperties, markUri)}${view}<m:ParentFolderIds>${calendarFolder(mailbox)}</m:ParentFolderIds>`;
    const items = await findItems(mailbox, body, signal);
    return items?.map(readFound).filter((item) => item !== undefined);
  }

  async function findMarked(mailbox: string, origins: readonly string[], signal: AbortSignal) {
    const each = origins.map(
      (mark) =>
        `<t:IsEqualTo>${markUri}<t:FieldURIOrConstant><t:Constant Value="${escapeXml(mark)}"/></t:FieldURIOrConstant></t:IsEqualTo>`,
    );
    const asked = each.length === 1 ? each[0] : `<t:Or>${each.join('')}</t:Or>`;
    const page = `<m:IndexedPageItemView MaxEntriesReturned="${mostFound}" Offset="0" BasePoint="Beginning"/>`;
    const body = `${shape(itemProperties, markUri)}${page}<m:Restriction>${asked}</m:Restriction><m:ParentFolderIds>${calendarFolder(mailbox)}</m:ParentFolderIds>`;
    const items = await findItems(mailbox, body, signal);
    if (!items)
      throw new ServerFault('TooLarge', `${origin} has too many copies of items that were written from here.`);
    return items.map(readFound).filter((item) => item !== undefined);
  }

  /** The responses are in the order of the ids; an item may be gone by now. */
  async function getItems(mailbox: string, ids: readonly string[], asked: string, signal: AbortSignal) {
    const found: { element: XmlElement | undefined; response: XmlElement | undefined }[] = [];
    for (let at = 0; at < ids.length; at += itemsAtOnce) {
      const some = ids.slice(at, at + itemsAtOnce);
      const items = some.map((id) => `<t:ItemId Id="${escapeXml(id)}"/>`).join('');
      const responses = await call('GetItem', mailbox, '', `${asked}<m:ItemIds>${items}</m:ItemIds>`, signal);
      for (const [index] of some.entries()) {
        const response = responses[index];
        found.push({ response, element: childOf(response, messages, 'Items')?.children[0] });
      }
    }
    return found;
  }

  async function get(mailbox: string, ids: readonly string[], signal: AbortSignal) {
    const found: FoundItem[] = [];
    for (const { element, response } of await getItems(mailbox, ids, shape(itemProperties, markUri), signal)) {
      const code = response && codeOf(response);
      if (code === 'ErrorItemNotFound') continue;
      const fault = code === 'NoError' ? undefined : response && refusalOf(response, origin);
      if (fault && fault.fault !== 'Unreadable') throw fault;
      if (!element) return undefined;
      const one = readFound(element);
      if (one) found.push(one);
    }
    return found;
  }

  /** Adds what FindItem does not return: organizers' addresses and the original starts of exceptions. */
  async function complete(mailbox: string, found: readonly FoundItem[], signal: AbortSignal): Promise<void> {
    const keyOf = ({ uid, id }: FoundItem) => JSON.stringify(uid === null ? [mailbox, null, id] : [mailbox, uid]);
    const asked = new Map<string, FoundItem>();
    const isUnknown = (one: FoundItem) => one.organizer && !one.organizer.email && !organizers.has(keyOf(one));
    for (const one of found) if (isUnknown(one)) asked.set(keyOf(one), one);
    const all = [...new Set([...asked.values(), ...found.filter(lacksPlace)])];
    const ids = all.map(({ id }) => id);
    const lacking = shape(['calendar:RecurrenceId', 'calendar:OriginalStart', 'calendar:Organizer']);
    for (const [index, { element }] of (await getItems(mailbox, ids, lacking, signal)).entries()) {
      const one = all[index]!;
      if (element && lacksPlace(one)) one.place = readPlace(element);
      if (asked.get(keyOf(one)) === one)
        organizers.set(keyOf(one), { organizer: (element && readOrganizer(element)) ?? one.organizer });
    }
    for (const one of found)
      if (one.organizer && !one.organizer.email) one.organizer = organizers.get(keyOf(one))?.organizer ?? one.organizer;
  }

  return {
    findMarked,
    async getItem(mailbox, id, signal) {
      const body = `${shape(itemProperties, markUri)}<m:ItemIds><t:ItemId Id="${escapeXml(id)}"/></m:ItemIds>`;
      const [response] = await call('GetItem', mailbox, '', body, signal);
      if (/^Error(ItemNotFound|InvalidId.*)$/.test(codeOf(response!))) return undefined;
      refuseError(response!, origin);
      const element = childOf(response, messages, 'Items')?.children[0];
      return element && readFound(element);
    },
    get,
    async *find(mailbox, window, place, signal) {
      for await (const slice of readSlices(window, place, mostFound, async (times) => {
        const found = await findSlice(mailbox, times, signal);
        if (found) await complete(mailbox, found, signal);
        return found;
      }))
        yield slice;
    },
    async sync(mailbox, state, signal) {
      const known = state === null ? '' : `<m:SyncState>${escapeXml(state)}</m:SyncState>`;
      const body = `${shape([])}<m:SyncFolderId>${calendarFolder(mailbox)}</m:SyncFolderId>${known}<m:MaxChangesReturned>${mostChanges}</m:MaxChangesReturned>`;
      const [response] = await call('SyncFolderItems', mailbox, '', body, signal);
      refuseError(response!, origin);
      const next = textOf(response, messages, 'SyncState') ?? '';
      const isLast = textOf(response, messages, 'IncludesLastItemInRange') !== 'false';
      if (next === '') throw new ServerFault('Unreadable', `${origin} answers without a SyncState.`);
      if (next.length > longestState) throw new ServerFault('TooLarge', `${origin} has too large a SyncState.`);
      if (!isLast && next === state) throw new ServerFault('Unreadable', `${origin} reports changes without an end.`);
      return { state: next, isLast, changes: readChanges(childOf(response, messages, 'Changes'), origin) };
    },
  };
}

function readChanges(told: XmlElement | undefined, origin: string): EwsChanges {
  const changes: EwsChanges = { changed: [], removed: [] };
  for (const change of told?.children ?? []) {
    // The read flag of an item does not matter.
    if (change.name === 'ReadFlagChange') continue;
    const [item] = change.children;
    const named = (item?.name === 'ItemId' ? item : childOf(item, types, 'ItemId'))?.attributes;
    const id = named?.get('Id');
    if (!id) throw new ServerFault('Unreadable', `${origin} reports a change without an id.`);
    if (change.name === 'Delete') changes.removed.push(id);
    else changes.changed.push({ id, changeKey: named?.get('ChangeKey') ?? null });
  }
  return changes;
}
