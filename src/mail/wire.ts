/** Calendars of rooms on mail servers as REST shows them (contract 7). */
import { z } from 'zod';
import { count, flag, id, instant, maybeId, maybeInstant, maybeText, recordOf, text } from '../fields.ts';
import { type CalendarStatus, type ListedItems, type MailConflict, most, pushWorks, statusValues } from './service.ts';

export const decline = z
  .object({
    State: z.enum(statusValues.declineStates).meta({
      description:
        'It waits to be declined; its organizer was told; nobody has invited the room; the mail server cannot decline; the mail server refuses.',
    }),
    At: maybeInstant('Since when; null while it waits.'),
    Reason: maybeText(500, 'Why its organizer was not told.'),
  })
  .meta({ id: 'MailDecline', description: 'What the mail server told the organizer of a conflict.' });

export const conflict = z
  .object({
    Subject: maybeText(4_000, 'The subject.'),
    Start: instant('When it begins.'),
    End: instant('When it ends.'),
    Uid: maybeText(2_000, 'Its UID (RFC 5545), which the occurrences of a series share.'),
    Reason: maybeText(500, 'Why it is not booked.'),
    OrganizerName: maybeText(500, 'Its organizer as the mail server names them, for private items too.'),
    OrganizerEmail: maybeText(500, 'Their mail address.'),
    BookingId: maybeId('booking', 'The booking in the way; null if the room has become free.'),
    Decline: decline
      .nullable()
      .meta({ description: 'What its organizer was told; null if conflicts are not declined.' }),
  })
  .meta({
    id: 'MailConflict',
    description: 'An item of the mail server that has no booking because its room is taken.',
  });

export const unreadable = z
  .object({
    Uid: maybeText(2_000, 'Its UID (RFC 5545); null if that cannot be read either.'),
    ItemId: text(2_000, 'Its id on the mail server.'),
    Reason: maybeText(500, 'Why it cannot be read.'),
    Since: instant('Since when.'),
  })
  .meta({
    id: 'MailUnreadableItem',
    description: 'An item of the mail server that has no booking because it cannot be read.',
  });

export const unwritten = z
  .object({
    BookingId: id('booking', 'The booking.'),
    Start: instant('When its item begins; it is written from setup to teardown.'),
    End: instant('When its item ends.'),
    Cause: z.enum(statusValues.cause).meta({
      description:
        'It is changed or deleted there again and again, the mail server refuses it, or requests for it fail.',
    }),
    Reason: text(500, 'The reason, for people.'),
    NextTryAt: instant('When it is tried again.'),
  })
  .meta({
    id: 'MailUnwrittenItem',
    description: 'A booking whose item is not in the calendar as it is booked.',
  });

export const fault = z
  .object({
    Kind: z.enum(statusValues.fault).meta({ description: 'The kind of fault.' }),
    Text: text(500, 'For people.'),
  })
  .meta({ id: 'MailFault', description: 'Why the last reading of a calendar failed.' });

const listed = <Member extends z.ZodType>(member: Member, length: number, which = 'first') =>
  z
    .array(member)
    .max(length)
    .meta({ description: `The ${which} ${length} of them; for all calendars together at most ${most.together}.` });

export const calendarRecord = z
  .object({
    Id: id('mailSubscription', 'The id of the calendar.'),
    ResourceId: id('resource', 'The room.'),
    ResourceName: text(200, 'Its name.'),
    Mailbox: text(500, 'The address of the room on the mail server.'),
    Kind: z.enum(statusValues.kind).meta({ description: 'The protocol of the mail server.' }),
    State: z.enum(statusValues.state).nullable().meta({
      description: 'The state of the active subscription, or else of the newest one; null if there has been none yet.',
    }),
    StateSince: maybeInstant('Since when it is in this state.'),
    StateText: maybeText(1_000, 'The last failure of the subscription.'),
    PushWorks: flag('Whether the mail server pushes changes; otherwise they are found by polling.'),
    LastPushAt: maybeInstant(
      'When the mail server was last heard from, with CalDav for any calendar of the tenant; null: never.',
    ),
    ExpiresAt: maybeInstant('When the subscription ends unless it is renewed; null if it does not end.'),
    LastReadAt: maybeInstant('When the calendar was last read to its end; null: never.'),
    NextReadAt: instant('When it is read next, unless a notification comes before.'),
    FoundByPush: count('Changes that were found after a notification.'),
    FoundByPoll: count('Changes that were found only by polling: many of them mean that push does not work.'),
    Fault: fault.nullable().meta({ description: 'Why the last reading failed; null if it succeeded.' }),
    ConflictCount: count('Items that are not over and have no booking because their room is taken.'),
    Conflicts: listed(conflict, most.conflicts),
    DeclinedCount: count('Items that are not over and were declined on the mail server because their room was taken.'),
    Declined: listed(conflict, most.conflicts),
    UnreadableCount: count('Items that have no booking because they cannot be read.'),
    Unreadable: listed(unreadable, most.unreadable, 'newest'),
    WritingFault: maybeText(500, 'Why the calendar cannot be written at the moment.'),
    UnwrittenCount: count('Items that are not over and are not in the calendar as they are booked.'),
    Unwritten: listed(unwritten, most.unwritten),
  })
  .meta({ id: 'MailSubscription', description: 'The status of the calendar of a room on the mail server.' });

const [ofDecline, ofConflict, ofFault, ofCalendar] = [
  recordOf(decline),
  recordOf(conflict),
  recordOf(fault),
  recordOf(calendarRecord),
];
export const [toUnreadableRecord, toUnwrittenRecord] = [recordOf(unreadable), recordOf(unwritten)];

export const toConflictRecord = ({ decline: told, ...item }: MailConflict) =>
  ofConflict({ ...item, decline: told && ofDecline(told) });

export const toCalendarRecord = (calendar: CalendarStatus, items: ListedItems) =>
  ofCalendar({
    ...calendar,
    pushWorks: pushWorks(calendar),
    fault: calendar.fault && ofFault(calendar.fault),
    conflicts: items.conflicts.map(toConflictRecord),
    declined: items.declined.map(toConflictRecord),
    unreadable: items.unreadable.map(toUnreadableRecord),
    unwritten: items.unwritten.map(toUnwrittenRecord),
  });

export const example = {
  Id: 1,
  ResourceId: 2,
  ResourceName: 'HS 101',
  Mailbox: 'hs101@school.example',
  Kind: 'Graph',
  State: 'Active',
  StateSince: '2026-11-20T06:00:00.000Z',
  StateText: null,
  PushWorks: true,
  LastPushAt: '2026-11-20T07:59:00.000Z',
  ExpiresAt: '2026-11-27T06:00:00.000Z',
  LastReadAt: '2026-11-20T07:59:01.000Z',
  NextReadAt: '2026-11-20T08:14:01.000Z',
  FoundByPush: 30,
  FoundByPoll: 1,
  Fault: null,
  ConflictCount: 1,
  Conflicts: [
    {
      Subject: 'Fachkonferenz',
      Start: '2026-11-23T08:00:00.000Z',
      End: '2026-11-23T09:00:00.000Z',
      Uid: '040000008200E00074C5B7101A82E008',
      Reason: 'The room is occupied by a lesson from 2026-11-23T08:00:00.000Z to 2026-11-23T08:45:00.000Z.',
      OrganizerName: 'Ada Admin',
      OrganizerEmail: 'ada@school.example',
      BookingId: 4711,
      Decline: null,
    },
  ],
  DeclinedCount: 0,
  Declined: [],
  UnreadableCount: 0,
  Unreadable: [],
  WritingFault: null,
  UnwrittenCount: 1,
  Unwritten: [
    {
      BookingId: 4712,
      Start: '2026-11-24T08:00:00.000Z',
      End: '2026-11-24T09:00:00.000Z',
      Cause: 'Changed',
      Reason: 'It was changed or deleted there more than 3 times a day.',
      NextTryAt: '2026-11-21T07:00:00.000Z',
    },
  ],
};
