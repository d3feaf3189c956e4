/** Turns items of a mail server into bookings. Anyone can send an invitation, so an item must affect its own room alone. */
import { createHash } from 'node:crypto';
import type { MailBooking } from '../bookings/service.ts';
import {
  boundId,
  type CalendarChanges,
  cutText,
  organizerOf,
  type ReadingWindow,
  type RemoteGroup,
  type RemoteItem,
} from '../mail-servers/service.ts';
import { dayLength } from '../time/days.ts';
import { startOfDate } from '../time/zones.ts';

/** An item as it is stored, and the booking that it asks for. */
export type MailItem = {
  groupId: string;
  occurrence: string;
  itemId: string;
  uid: string | null;
  /** SHA-256 of all members that matter: equal hashes mean that the item is unchanged. */
  hash: Buffer;
  /** Null: it is not booked, for the `reason`. */
  booking: MailBooking | null;
  state: 'PassedOver' | 'Unreadable' | 'Gone' | null;
  reason: string | null;
  subject: string | null;
  isPrivate: boolean;
  isTentative: boolean;
  /** Null for an item that stands for an unreadable group. */
  precedence: MailBooking['precedence'] | null;
  organizer: { name: string | null; email: string | null } | null;
  /** Null where the times are unreadable. */
  start: Date | null;
  end: Date | null;
  /** The last change on the mail server, where that is known. */
  changedAt: Date | null;
};

/** The context in which items are judged. */
export type ItemSurroundings = {
  window: ReadingWindow;
  /** IANA zone of the room. */
  timeZone: string;
  /** The tenant's part of the UIDs of our own bookings. */
  mandatorUid: string;
  /** Whether the calendar is published, so that the same items may have other ids at each reading. */
  isPublished?: boolean;
};

/** The `occurrence` of an unreadable group; no real occurrence has this name. */
const wholeGroup = '!';
const longestItemMs = 366 * dayLength;
/** The `reason` of items that we have written. */
export const reasonOfOurs = 'It is one of our own bookings.';
const longest = { uid: 1_000, email: 254, reason: 500 };

/** The instants of an item; whole days begin and end at midnight in the room's zone. Null if they are invalid. */
export function instantsOf(
  { start, end, days }: Pick<RemoteItem, 'start' | 'end' | 'days'>,
  timeZone: string,
): { start: Date; end: Date } | null {
  try {
    const instants = days
      ? { start: startOfDate(days.from, timeZone), end: startOfDate(days.to, timeZone) }
      : { start, end };
    const isValid = Number.isFinite(instants.start.getTime()) && Number.isFinite(instants.end.getTime());
    return isValid ? instants : null;
  } catch {
    return null;
  }
}

/** Why the times cannot be read; undefined when they can. */
function faultOf(instants: { start: Date; end: Date } | null): string | undefined {
  if (!instants) return 'It has no valid times.';
  const length = instants.end.getTime() - instants.start.getTime();
  if (length < 0) return 'It ends before it begins.';
  if (length === 0) return 'It ends when it begins.';
  if (length > longestItemMs) return 'It is longer than 366 days.';
  return undefined;
}

/** The booking, and its generation, for which we have written an item; null if we have not written it. */
export function ownOf(
  { origin, uid }: Pick<RemoteItem, 'origin' | 'uid'>,
  mandatorUid: string,
): { bookingId: number; generation: number } | null {
  const form = new RegExp(`^booking-(\\d{1,15})(?:-(\\d{1,9}))?@${mandatorUid}$`, 'i');
  const mark = form.exec((origin ?? '').trim()) ?? form.exec((uid ?? '').trim());
  return mark && { bookingId: Number(mark[1]), generation: Number(mark[2] ?? 1) };
}

/** The state of an item without a booking, and the reason; undefined when it is to be booked. */
function verdictOf(
  item: RemoteItem,
  instants: { start: Date; end: Date } | null,
  mandatorUid: string,
): Pick<MailItem, 'state' | 'reason'> | undefined {
  if (item.isCancelled) return { state: 'Gone', reason: 'It is cancelled.' };
  if (item.response === 'Declined') return { state: 'Gone', reason: 'The room has declined it.' };
  if (ownOf(item, mandatorUid)) return { state: 'PassedOver', reason: reasonOfOurs };
  const fault = faultOf(instants);
  if (fault !== undefined) return { state: 'Unreadable', reason: fault };
  if (item.shownAs === 'Free') return { state: 'PassedOver', reason: 'It is shown as free.' };
  return undefined;
}

const toOrganizer = ({ organizer }: RemoteItem): MailBooking['organizer'] =>
  organizerOf(cutText(organizer?.name), cutText(organizer?.email, longest.email));

const hashOf = (item: Omit<MailItem, 'hash'>, ids: readonly (string | null)[]): Buffer =>
  createHash('sha256')
    .update(
      JSON.stringify([
        ...ids,
        item.state,
        item.reason,
        item.subject,
        item.isPrivate,
        item.isTentative,
        item.precedence,
        item.organizer?.name,
        item.organizer?.email,
        item.start?.getTime(),
        item.end?.getTime(),
      ]),
    )
    .digest();

const withHash = (
  item: Omit<MailItem, 'hash'>,
  { isPublished = false }: Pick<ItemSurroundings, 'isPublished'>,
): MailItem => ({
  ...item,
  hash: hashOf(item, isPublished ? [] : [item.itemId, item.uid]),
});

/** Items that the room has accepted or created precede tentative ones, and these precede unanswered ones. */
const precedences: Record<RemoteItem['response'], MailBooking['precedence']> = {
  Accepted: 0,
  Organizer: 0,
  Tentative: 1,
  None: 2,
  Declined: 2,
};

/** The members of an item that stands for an unreadable group. */
const nothing = {
  uid: null,
  booking: null,
  subject: null,
  precedence: null,
  organizer: null,
  changedAt: null,
  start: null,
  end: null,
};

/** Converts an item of a group. */
function toItem(groupId: string, remote: RemoteItem, surroundings: ItemSurroundings): MailItem {
  const { timeZone, mandatorUid } = surroundings;
  const instants = instantsOf(remote, timeZone);
  const passed = verdictOf(remote, instants, mandatorUid);
  const precedence = precedences[remote.response];
  const isTentative = !(precedence === 0 && remote.shownAs === 'Busy');
  const subject = cutText(remote.subject);
  const uid = cutText(remote.uid, longest.uid);
  const organizer = toOrganizer(remote);
  const { isPrivate } = remote;
  const status = isTentative ? 'Tentative' : 'Confirmed';
  const isReadable = faultOf(instants) === undefined;
  return withHash(
    {
      groupId,
      occurrence: boundId(remote.occurrence),
      itemId: boundId(remote.id),
      uid,
      booking: passed || !instants ? null : { ...instants, status, precedence, subject, isPrivate, organizer, uid },
      state: passed?.state ?? null,
      reason: passed?.reason ?? null,
      subject,
      isPrivate,
      isTentative,
      precedence,
      organizer,
      changedAt: remote.changedAt,
      start: isReadable ? (instants?.start ?? null) : null,
      end: isReadable ? (instants?.end ?? null) : null,
    },
    surroundings,
  );
}

const unreadableGroup = (groupId: string, why: string, surroundings: ItemSurroundings): MailItem =>
  withHash(
    {
      groupId,
      occurrence: wholeGroup,
      itemId: groupId,
      state: 'Unreadable',
      reason: cutText(why, longest.reason) ?? 'It cannot be read.',
      isPrivate: false,
      isTentative: false,
      ...nothing,
    },
    surroundings,
  );

export const isWithin = ({ start, end }: Pick<MailItem, 'start' | 'end'>, window: ReadingWindow) =>
  !start || !end || (start < window.end && end > window.start);

/** A reading, converted for storage. */
export type TakenReading = {
  items: MailItem[];
  /** Groups that were read: their stored items that are not among `items` are gone. */
  groupIds: Set<string>;
  /** Groups that cannot be read: their stored items stay. */
  unreadable: Set<string>;
  /** Ids of groups and of items. */
  removed: Set<string>;
};

/** Converts a reading. Items outside of the window are left out, so they count as gone; if an occurrence comes twice, the last wins. */
export function readItems({ groups, removed }: CalendarChanges, surroundings: ItemSurroundings): TakenReading {
  const items = new Map<string, MailItem>();
  const groupIds = new Set<string>();
  const unreadable = new Set<string>();
  const add = (item: MailItem) => items.set(JSON.stringify([item.groupId, item.occurrence]), item);
  for (const group of groups) {
    const groupId = boundId(group.id);
    groupIds.add(groupId);
    if (group.unreadable !== undefined) {
      unreadable.add(groupId);
      add(unreadableGroup(groupId, group.unreadable, surroundings));
    }
    for (const remote of group.items) {
      const item = toItem(groupId, remote, surroundings);
      if (isWithin(item, surroundings.window)) add(item);
    }
  }
  return { items: [...items.values()], groupIds, unreadable, removed: new Set(removed.map(boundId)) };
}

/** The number of items of a reading; an unreadable group counts as one. */
export const countItems = (groups: readonly RemoteGroup[]): number =>
  groups.reduce((sum, { items, unreadable }) => sum + items.length + Number(unreadable !== undefined), 0);
