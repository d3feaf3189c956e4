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
import { longest } from '../names.ts';
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
    'Requested (until it is approved), Confirmed and Tentative occupy the resource; Declined, Cancelled and Released do not.',
});
export const bookingKind = z.enum(bookingKinds).meta({
  id: 'BookingKind',
  description: 'A booking by a person, a lesson of the timetable, an item of a mailbox, or a block.',
});
export const originSystem = z
  .enum(originSystems)
  .meta({ id: 'OriginSystem', description: 'The channel through which a booking was created.' });
export const scope = z.enum(scopes).meta({
  id: 'Scope',
  description:
    'Which bookings of a series: only the named one, it and those that start later, or all that have not ended.',
});
export const conflictHandling = z.enum(conflictHandlings, 'must be Fail or Skip').meta({
  id: 'ConflictHandling',
  description:
    'What happens if some bookings of a series have conflicts: nothing is done at all, or these are left out.',
});

export const newBookingStatus = z.enum(['Confirmed', 'Tentative'], 'must be Confirmed or Tentative').meta({
  id: 'NewBookingStatus',
  description: 'Whether a new booking is certain; both values occupy the resource.',
});
export const newBookingKind = z.enum(['Booking', 'Block'], 'must be Booking or Block').meta({
  id: 'NewBookingKind',
  description: 'The kind of a new booking.',
});

const mostMinutes = 1_440;
/** The subject of a lesson is its Titel or Fach. */
const longestText = 4_000;
const longestRule = 500;

const descriptions = {
  resourceId: 'The resource that it occupies.',
  subject: 'The subject.',
  description: 'The description.',
  start: 'When it begins, after its setup.',
  end: 'When it ends, before its teardown.',
  isPrivate: 'Whether only its organizer, its creator and Admins see its content.',
  setupMinutes: 'Minutes before its start in which it also occupies the resource.',
  teardownMinutes: 'Minutes after its end in which it also occupies the resource.',
  recurrenceRule: 'The recurrence rule of its series: an RRULE of RFC 5545.',
};

export const organizer = z
  .object({
    PersonId: maybeId('person', 'The id of the person; null for somebody from outside, whom a mail server has named.'),
    DisplayName: text(254, 'The display name.'),
    Email: maybeText(254, 'The e-mail address; null if the mail server does not give one.'),
  })
  .meta({ id: 'Organizer', description: 'The person whom a booking is for.' });

export const checkIn = z
  .object({
    Required: z.boolean().meta({ description: 'Whether it is released if nobody checks in.' }),
    From: instant('The first instant at which it can be checked in.'),
    Until: instant('When it is released as a no-show.'),
    CheckedInAt: maybeInstant('When it was checked in; null if it was not.'),
  })
  .meta({ id: 'CheckIn', description: 'When a booking must be checked in.' });

export const origin = z
  .object({
    System: originSystem.meta({ description: 'The channel.' }),
    BatchId: maybeBatchId('For a lesson: the batch that created it.'),
    JobID: maybeText(128, 'For a lesson: its job; for coupled lessons, that of the first.'),
    LektionId: maybeText(128, 'For a lesson: its id in the job; for coupled lessons, that of the first.'),
    MailItemId: maybeText(
      1_000,
      'For an item of a mailbox: its UID there (RFC 5545), which the items of a series share; null if it is private.',
    ),
  })
  .meta({ id: 'BookingOrigin', description: 'The origin of a booking.' });

export const bookingRecord = z
  .object({
    Id: id('booking', 'The id of the booking.'),
    Uid: text(100, 'The UID of its iCalendar event.'),
    ResourceId: id('resource', descriptions.resourceId),
    ResourceName: text(200, 'The name of the resource.'),
    LocationId: id('location', 'The location of the resource.'),
    Subject: maybeText(longestText, `${descriptions.subject} Belegt if it is private.`),
    Description: maybeText(longest.description, `${descriptions.description} Null if it is private.`),
    Start: instant(descriptions.start),
    End: instant(descriptions.end),
    TimeZone: text(64, 'The IANA time zone of the location.'),
    Status: bookingStatus.meta({ description: 'The status.' }),
    Kind: bookingKind.meta({ description: 'The kind.' }),
    Organizer: organizer
      .nullable()
      .meta({ description: 'The person whom it is for; null for a lesson, and if it is private.' }),
    IsPrivate: z.boolean().meta({ description: descriptions.isPrivate }),
    SeriesId: maybeId('series', 'The series; null for a single booking, and if it is private.'),
    RecurrenceRule: maybeText(longestRule, `${descriptions.recurrenceRule} Null if it is private.`),
    SetupMinutes: z.int().min(0).max(mostMinutes).meta({ description: descriptions.setupMinutes }),
    TeardownMinutes: z.int().min(0).max(mostMinutes).meta({ description: descriptions.teardownMinutes }),
    CheckIn: checkIn.nullable().meta({ description: 'Null if it needs no check-in.' }),
    Origin: origin,
    Lektion: lektion.nullable().meta({ description: 'Null unless it is a lesson, and if it is private.' }),
    CreatedAt: instant('When it was created.'),
    CreatedBy: personReference.nullable().meta({ description: 'Who created it; null if it is private.' }),
    Decision: decision.nullable().meta({
      description: 'Null if it needs no approval or is not decided yet, and if it is private.',
    }),
    ChangedAt: instant('When it was last changed.'),
    Version: positive('Increases with each change of the booking; its ETag.'),
  })
  .meta({ id: 'Booking', description: 'A resource that is occupied for a time.' });

const wrongInstant = 'must be a date-time in UTC or with an offset, such as 2027-02-01T08:00:00Z';
const sentMinutes = (least: number, description: string) => z.int().min(least).max(mostMinutes).meta({ description });

const sent = {
  ResourceId: sentId('resource').meta({ description: descriptions.resourceId }),
  Subject: sentText(longest.subject).meta({ description: descriptions.subject }),
  Description: maybeText(longest.description, descriptions.description),
  Start: sentInstant(wrongInstant).meta({ description: descriptions.start }),
  End: sentInstant(wrongInstant).meta({ description: descriptions.end }),
  Status: newBookingStatus.meta({
    description:
      'Confirmed or Tentative; both occupy the resource. A booking that needs approval becomes Requested in any case.',
  }),
  IsPrivate: flag(descriptions.isPrivate),
  SetupMinutes: sentMinutes(0, descriptions.setupMinutes),
  TeardownMinutes: sentMinutes(0, descriptions.teardownMinutes),
};

export const newBooking = z
  .strictObject({
    ...sent,
    Description: sent.Description.default(null).meta({ description: descriptions.description }),
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
          'The person whom it is for; the caller if left out or null. Another person only for Admins, and for groups that the policy of the resource allows to book for others.',
      })
      .nullable()
      .default(null),
    RecurrenceRule: sentText(longestRule)
      .meta({
        description: `${descriptions.recurrenceRule} With COUNT or UNTIL, without RRULE:, at most 366 bookings; null for a single booking.`,
      })
      .nullable()
      .default(null),
    ConflictHandling: conflictHandling.default('Fail').meta({
      description:
        'For a series: with Skip, bookings with conflicts, or outside of the opening hours if these apply to the caller, are left out; with Fail, none is created then.',
    }),
  })
  .meta({ id: 'NewBooking', description: 'A booking or a series to create.' });

export const bookingChanges = z
  .strictObject(sent)
  .partial()
  .meta({ id: 'BookingChanges', description: 'Changes; null clears a description.' });

export const extension = z
  .strictObject({ Minutes: sentMinutes(1, 'By how many minutes the end moves.') })
  .meta({ id: 'Extension', description: 'An extension of a booking.' });

export function toNewBooking({
  organizerId,
  recurrenceRule,
  ...others
}: Fields<z.output<typeof newBooking>>): NewBooking {
  return { ...others, organizerId: organizerId ?? undefined, recurrenceRule: recurrenceRule ?? undefined };
}

/** @param write gives the value of an instant */
const recordWith = <Instant>(booking: Booking, write: (instant: Date) => Instant) => {
  const { organizer, checkIn, origin, lektion, createdBy, decision } = booking;
  return {
    Id: booking.id,
    Uid: booking.uid,
    ResourceId: booking.resourceId,
    ResourceName: booking.resourceName,
    LocationId: booking.locationId,
    Subject: booking.subject,
    Description: booking.description,
    Start: write(booking.start),
    End: write(booking.end),
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
      From: write(checkIn.from),
      Until: write(checkIn.until),
      CheckedInAt: checkIn.checkedInAt && write(checkIn.checkedInAt),
    },
    Origin: {
      System: origin.system,
      BatchId: origin.batchId,
      JobID: origin.jobId,
      LektionId: origin.lektionId,
      MailItemId: origin.mailItemId,
    },
    Lektion: lektion && toLektion(lektion),
    CreatedAt: write(booking.createdAt),
    CreatedBy: createdBy && toPersonReference(createdBy),
    Decision: decision && toDecisionRecord(decision),
    ChangedAt: write(booking.changedAt),
    Version: booking.version,
  };
};

/** Instants are texts, which `JSON.stringify` writes in a fifth of the time of dates. */
export const toBookingRecord = (booking: Booking) => recordWith(booking, (instant) => instant.toISOString());

/** For GraphQL, which writes only the instants that are selected. */
export const toBookingFields = (booking: Booking) => recordWith(booking, (instant) => instant);
