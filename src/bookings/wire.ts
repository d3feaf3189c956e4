/** Bookings as clients see and send them: REST in Pascal case, GraphQL in camel case (contract 5.2). */
import { z } from 'zod';
import {
  type Fields,
  flag,
  id,
  instant,
  maybeBatchId,
  maybeId,
  maybeInstant,
  maybeText,
  positive,
  sentId,
  sentInstant,
  sentText,
  text,
} from '../fields.ts';
import { personReference, toPersonReference } from '../tenants/service.ts';
import {
  type Booking,
  bookingKinds,
  bookingStatuses,
  conflictHandlings,
  type NewBooking,
  originSystems,
  scopes,
} from './booking.ts';
import { decision, toDecisionRecord } from './decision-wire.ts';
import { lektion, toLektion } from './lektion.ts';

export { decision, lektion };

export const bookingStatus = z.enum(bookingStatuses).meta({
  id: 'BookingStatus',
  description:
    'Requested (until somebody has approved it), Confirmed and Tentative occupy the resource; Declined, Cancelled and Released do not.',
});
export const bookingKind = z.enum(bookingKinds).meta({
  id: 'BookingKind',
  description: 'A booking by a person, a lesson of the timetable, an item of a mailbox, or a block.',
});
export const originSystem = z
  .enum(originSystems)
  .meta({ id: 'OriginSystem', description: 'Through what a booking came.' });
export const scope = z.enum(scopes).meta({
  id: 'Scope',
  description:
    'Which bookings of a series: the one that is named, it and those that start later, or all that have not ended.',
});
export const conflictHandling = z.enum(conflictHandlings, 'must be Fail or Skip').meta({
  id: 'ConflictHandling',
  description:
    'What happens to a series of which some bookings meet others: nothing is done at all, or those are left as they are.',
});

export const newBookingStatus = z.enum(['Confirmed', 'Tentative'], 'must be Confirmed or Tentative').meta({
  id: 'NewBookingStatus',
  description: 'How a booking is sent: certain or not, either of which occupies the resource.',
});
export const newBookingKind = z.enum(['Booking', 'Block'], 'must be Booking or Block').meta({
  id: 'NewBookingKind',
  description: 'What is made: a booking, or a block.',
});

const longestSubject = 200;
const longestDescription = 4_000;
const mostMinutes = 1_440;
/** The subject of a lesson is its Titel or Fach. */
const longestText = 4_000;
const longestRule = 500;

const told = {
  resourceId: 'The resource that it occupies.',
  subject: 'What it is about.',
  description: 'More about it.',
  start: 'When it begins; the setup lies before.',
  end: 'When it ends; the teardown lies behind.',
  isPrivate: 'Whether only its organizer, who made it, and Admins see what it is about.',
  setupMinutes: 'Minutes before its start for which it occupies the resource too.',
  teardownMinutes: 'Minutes after its end for which it occupies the resource too.',
  recurrenceRule: 'How its series repeats: an RRULE of RFC 5545.',
};

export const organizer = z
  .object({
    PersonId: maybeId('person', 'The id of the person; null for somebody from outside, of whom a mail server tells.'),
    DisplayName: text(254, 'As it is shown.'),
    Email: maybeText(254, 'The address by which the person is reached; null where the mail server does not tell it.'),
  })
  .meta({ id: 'Organizer', description: 'Whom a booking is for.' });

export const checkIn = z
  .object({
    Required: z.boolean().meta({ description: 'Whether it is released when nobody checks in.' }),
    From: instant('The first instant at which it can be checked in.'),
    Until: instant('The instant from which it is released as a no-show.'),
    CheckedInAt: maybeInstant('When it was checked in; null while it is not.'),
  })
  .meta({ id: 'CheckIn', description: 'When a booking is to be checked in.' });

export const origin = z
  .object({
    System: originSystem.meta({ description: 'Through what it came.' }),
    BatchId: maybeBatchId('Of a lesson: the batch that made it.'),
    JobID: maybeText(128, 'Of a lesson: its job; of coupled lessons that of the first.'),
    LektionId: maybeText(128, 'Of a lesson: its id in the job; of coupled lessons that of the first.'),
    MailItemId: maybeText(
      1_000,
      'Of an item of a mailbox: its UID there (RFC 5545), which a series shares; null where it is private.',
    ),
  })
  .meta({ id: 'BookingOrigin', description: 'Where a booking came from.' });

export const bookingRecord = z
  .object({
    Id: id('booking', 'The id of the booking.'),
    Uid: text(100, 'The UID of its iCalendar event.'),
    ResourceId: id('resource', told.resourceId),
    ResourceName: text(200, 'The name of the resource.'),
    LocationId: id('location', 'The location of the resource.'),
    Subject: maybeText(longestText, `${told.subject} Belegt where it is private.`),
    Description: maybeText(longestDescription, `${told.description} Null where it is private.`),
    Start: instant(told.start),
    End: instant(told.end),
    TimeZone: text(64, 'IANA name of the zone of the location.'),
    Status: bookingStatus.meta({ description: 'Whether it takes place.' }),
    Kind: bookingKind.meta({ description: 'What it is.' }),
    Organizer: organizer
      .nullable()
      .meta({ description: 'Whom it is for; null for a lesson, and where it is private.' }),
    IsPrivate: z.boolean().meta({ description: told.isPrivate }),
    SeriesId: maybeId('series', 'The series that it belongs to; null for a single booking, and where it is private.'),
    RecurrenceRule: maybeText(longestRule, `${told.recurrenceRule} Null where it is private.`),
    SetupMinutes: z.int().min(0).max(mostMinutes).meta({ description: told.setupMinutes }),
    TeardownMinutes: z.int().min(0).max(mostMinutes).meta({ description: told.teardownMinutes }),
    CheckIn: checkIn.nullable().meta({ description: 'Null where nobody checks in.' }),
    Origin: origin,
    Lektion: lektion.nullable().meta({ description: 'Null for what is no lesson, and where it is private.' }),
    CreatedAt: instant('When it was made.'),
    CreatedBy: personReference.nullable().meta({ description: 'Who made it; null where it is private.' }),
    Decision: decision.nullable().meta({
      description: 'Null where nobody had to approve it or has decided yet, and where it is private.',
    }),
    ChangedAt: instant('When it was last changed.'),
    Version: positive('Counts the changes of the booking; its ETag.'),
  })
  .meta({ id: 'Booking', description: 'A resource, occupied for a time.' });

const wrongInstant = 'must be a date-time in UTC or with an offset, such as 2027-02-01T08:00:00Z';
const sentMinutes = (least: number, description: string) => z.int().min(least).max(mostMinutes).meta({ description });

const sent = {
  ResourceId: sentId('resource').meta({ description: told.resourceId }),
  Subject: sentText(longestSubject).meta({ description: told.subject }),
  Description: maybeText(longestDescription, told.description),
  Start: sentInstant(wrongInstant).meta({ description: told.start }),
  End: sentInstant(wrongInstant).meta({ description: told.end }),
  Status: newBookingStatus.meta({
    description:
      'Confirmed or Tentative; either occupies the resource. A booking that has to be approved is Requested in any case.',
  }),
  IsPrivate: flag(told.isPrivate),
  SetupMinutes: sentMinutes(0, told.setupMinutes),
  TeardownMinutes: sentMinutes(0, told.teardownMinutes),
};

export const newBooking = z
  .strictObject({
    ...sent,
    Description: sent.Description.default(null).meta({ description: told.description }),
    Kind: newBookingKind
      .default('Booking')
      .meta({ description: 'Booking, or Block to keep the resource from being booked, for Admins.' }),
    Status: sent.Status.default('Confirmed'),
    IsPrivate: sent.IsPrivate.default(false),
    SetupMinutes: sent.SetupMinutes.default(0),
    TeardownMinutes: sent.TeardownMinutes.default(0),
    OrganizerId: sentId('person')
      .meta({
        description:
          'Whom it is for, oneself when left out or null: another person for Admins, and for groups that the policy of the resource lets book for others.',
      })
      .nullable()
      .default(null),
    RecurrenceRule: sentText(longestRule)
      .meta({
        description: `${told.recurrenceRule} With COUNT or UNTIL, without RRULE:, at most 366 bookings; null for a single one.`,
      })
      .nullable()
      .default(null),
    ConflictHandling: conflictHandling.default('Fail').meta({
      description:
        'Of a series: with Skip the bookings that meet others, or lie outside of the opening hours, are left out; with Fail none is made then.',
    }),
  })
  .meta({ id: 'NewBooking', description: 'A booking, or a series of them, to be made.' });

export const bookingChanges = z
  .strictObject(sent)
  .partial()
  .meta({ id: 'BookingChanges', description: 'What to change; null clears a description.' });

export const extension = z
  .strictObject({ Minutes: sentMinutes(1, 'By how many minutes it ends later.') })
  .meta({ id: 'Extension', description: 'How long a booking is extended.' });

export function toNewBooking({
  organizerId,
  recurrenceRule,
  ...others
}: Fields<z.output<typeof newBooking>>): NewBooking {
  return { ...others, organizerId: organizerId ?? undefined, recurrenceRule: recurrenceRule ?? undefined };
}

/** Instants are texts, which `JSON.stringify` writes in a fifth of the time of dates. */
export function toBookingRecord(booking: Booking) {
  const { organizer, checkIn, origin, lektion, createdBy, decision } = booking;
  return {
    Id: booking.id,
    Uid: booking.uid,
    ResourceId: booking.resourceId,
    ResourceName: booking.resourceName,
    LocationId: booking.locationId,
    Subject: booking.subject,
    Description: booking.description,
    Start: booking.start.toISOString(),
    End: booking.end.toISOString(),
    TimeZone: booking.timeZone,
    Status: booking.status,
    Kind: booking.kind,
    Organizer: organizer && {
      PersonId: organizer.personId,
      DisplayName: organizer.displayName,
      Email: organizer.email,
    },
    IsPrivate: booking.isPrivate,
    SeriesId: booking.seriesId,
    RecurrenceRule: booking.recurrenceRule,
    SetupMinutes: booking.setupMinutes,
    TeardownMinutes: booking.teardownMinutes,
    CheckIn: checkIn && {
      Required: checkIn.required,
      From: checkIn.from.toISOString(),
      Until: checkIn.until.toISOString(),
      CheckedInAt: checkIn.checkedInAt?.toISOString() ?? null,
    },
    Origin: {
      System: origin.system,
      BatchId: origin.batchId,
      JobID: origin.jobId,
      LektionId: origin.lektionId,
      MailItemId: origin.mailItemId,
    },
    Lektion: lektion && toLektion(lektion),
    CreatedAt: booking.createdAt.toISOString(),
    CreatedBy: createdBy && toPersonReference(createdBy),
    Decision: decision && toDecisionRecord(decision),
    ChangedAt: booking.changedAt.toISOString(),
    Version: booking.version,
  };
}
