/** The doctor's findings about items without a booking, and bookings without their item. */
import type { Judgment } from '../finding.ts';
import type { UnreadableItem } from './item-lists.ts';
import type { CalendarStatus } from './status.ts';

/** The most unreadable items of a calendar that are named. */
const mostNamed = 3;

/** An instant for people, to the minute. */
export const since = (at: Date | null) => (at ? at.toISOString().replace(/:\d\d\.\d+Z$/, 'Z') : 'never');

function conflictTrouble({ conflictCount }: CalendarStatus): Judgment | undefined {
  if (conflictCount === 0) return undefined;
  return {
    level: 'warning',
    text: `${conflictCount} ${conflictCount === 1 ? 'item is' : 'items are'} not booked, because the room is taken`,
    remedy: '"roomgate mail list --json" lists them; they are booked as soon as the room is free.',
  };
}

function unreadableTrouble(
  { unreadableCount: count }: CalendarStatus,
  items: readonly UnreadableItem[],
): Judgment | undefined {
  if (count === 0) return undefined;
  const named = items
    .slice(0, mostNamed)
    .map((item) => `${item.uid ?? item.itemId} since ${since(item.since)} (${item.reason})`);
  const more = count - named.length;
  return {
    level: 'warning',
    text: `${count} ${count === 1 ? 'item is' : 'items are'} not booked, because ${count === 1 ? 'it' : 'they'} cannot be read: ${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}`,
    remedy:
      '"roomgate mail list" lists them. Change or delete them in the calendar; items that become readable are booked automatically.',
  };
}

function untoldTrouble({ untoldCount: count, untoldReason }: CalendarStatus): Judgment | undefined {
  if (count === 0) return undefined;
  return {
    level: 'warning',
    text: `${count} of them ${count === 1 ? 'is' : 'are'} not declined there: ${untoldReason}`,
    remedy:
      'Tell their organizers; "roomgate mail list --json" lists the items. Or set DeclineConflicts of the resource to false.',
  };
}

export function writingTrouble({
  writingFault,
  unwrittenCount,
  unwrittenReason,
}: CalendarStatus): Judgment | undefined {
  if (writingFault !== null)
    return {
      level: 'warning',
      text: `cannot be written: ${writingFault}`,
      remedy:
        'Set CalendarWriting of the resource to Off and DeclineConflicts to false, or allow the account of MailServer to write into the calendar, if docs/mail-servers.md says that its kind can be written. It is retried automatically.',
    };
  if (unwrittenCount === 0) return undefined;
  return {
    level: 'warning',
    text: `${unwrittenCount} ${unwrittenCount === 1 ? 'item is not' : 'items are not'} in the calendar as written: ${unwrittenReason}`,
    remedy:
      '"roomgate mail list --json" lists the items with their Cause. Ask those who change them there to change the booking instead. All are retried automatically.',
  };
}

export const itemTroubles = (
  calendar: CalendarStatus,
  unreadable: readonly UnreadableItem[],
): (Judgment | undefined)[] => [
  conflictTrouble(calendar),
  untoldTrouble(calendar),
  unreadableTrouble(calendar, unreadable),
];
