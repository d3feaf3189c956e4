/** The doctor's findings about items without a booking, and bookings without their item. */
import type { Finding } from '../finding.ts';
import type { UnreadableItem } from './item-lists.ts';
import type { CalendarStatus } from './status.ts';

export type CalendarTrouble = Pick<Finding, 'level' | 'text' | 'remedy'>;

/** The most unreadable items of a calendar that are named. */
const mostNamed = 3;

/** An instant for people, to the minute. */
export const since = (at: Date | null) => (at ? at.toISOString().replace(/:\d\d\.\d+Z$/, 'Z') : 'never');

function conflictTrouble({ conflictCount }: CalendarStatus): CalendarTrouble | undefined {
  if (conflictCount === 0) return undefined;
  return {
    level: 'warning',
    text: `${conflictCount} ${conflictCount === 1 ? 'item is' : 'items are'} not booked, as something is in the way`,
    remedy: '"roomgate mail list --json" names them; they are booked as soon as the room is free.',
  };
}

function unreadableTrouble(
  { unreadableCount: count }: CalendarStatus,
  items: readonly UnreadableItem[],
): CalendarTrouble | undefined {
  if (count === 0) return undefined;
  const named = items
    .slice(0, mostNamed)
    .map((item) => `${item.uid ?? item.itemId} since ${since(item.since)} (${item.reason})`);
  const more = count - named.length;
  return {
    level: 'warning',
    text: `${count} ${count === 1 ? 'item is' : 'items are'} not booked, as ${count === 1 ? 'it' : 'they'} cannot be read: ${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}`,
    remedy:
      '"roomgate mail list" names them. Change or delete them in the calendar; what can be read again is booked by itself.',
  };
}

function untoldTrouble({ untoldCount: count, untoldReason }: CalendarStatus): CalendarTrouble | undefined {
  if (count === 0) return undefined;
  return {
    level: 'warning',
    text: `${count} of them ${count === 1 ? 'is' : 'are'} not declined there: ${untoldReason}`,
    remedy:
      'Tell their organizers; "roomgate mail list --json" names the items. Or set DeclineConflicts of the resource to false.',
  };
}

export function writingTrouble({
  writingFault,
  unwrittenCount,
  unwrittenReason,
}: CalendarStatus): CalendarTrouble | undefined {
  if (writingFault !== null)
    return {
      level: 'warning',
      text: `cannot be written: ${writingFault}`,
      remedy:
        'Set CalendarWriting of the resource to Off and DeclineConflicts to false, or let the account of MailServer write into it where docs/mail-servers.md says that such calendars are written. It is tried again by itself.',
    };
  if (unwrittenCount === 0) return undefined;
  return {
    level: 'warning',
    text: `${unwrittenCount} ${unwrittenCount === 1 ? 'item is' : 'items are'} not as it was written: ${unwrittenReason}`,
    remedy:
      'Ask who changes it there to change the booking instead; "roomgate mail list --json" names them. It is tried again by itself.',
  };
}

export const itemTroubles = (
  calendar: CalendarStatus,
  unreadable: readonly UnreadableItem[],
): (CalendarTrouble | undefined)[] => [
  conflictTrouble(calendar),
  untoldTrouble(calendar),
  unreadableTrouble(calendar, unreadable),
];
