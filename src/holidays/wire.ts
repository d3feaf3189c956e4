/** Holidays on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import {
  count,
  flag,
  id,
  instant,
  live,
  maybeId,
  maybeInstant,
  maybeText,
  positive,
  recordOf,
  sentId,
  sentText,
  text,
} from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import { unusedReasons } from './reading.ts';
import { url } from './schema.ts';
import type { ClosedBooking, HolidayCalendar, ListedHoliday } from './service.ts';

const told = {
  locationId: 'The location that it is of; null: all locations.',
  name: 'Unique in the tenant, in whatever case.',
  closes: 'Whether its holidays close the location, or are only shown.',
  url: 'Where its .ics file is read again and again; null where the file was sent.',
};

export const unusedReason = z.enum(unusedReasons).meta({
  id: 'UnusedHolidayReason',
  description:
    'Why an event closes nothing to come: it has no date of the calendar, begins at a time of day, is cancelled, is on no day within ten years, or is over.',
});
export const unusedEvents = z
  .object({
    Reason: unusedReason.meta({ description: 'Why they close nothing to come.' }),
    Events: count('How many they are.'),
  })
  .meta({ id: 'UnusedHolidayEvents', description: 'Events that close nothing to come.' });
export const holidayReading = z
  .object({
    Events: count('How many events were read.'),
    Holidays: count('How many holidays they are, each day of what repeats counted.'),
    Unused: z.array(unusedEvents).max(unusedReasons.length).meta({ description: 'Those that close nothing to come.' }),
  })
  .meta({ id: 'HolidayReading', description: 'What was read of the file of a holiday calendar.' });

export const calendarRecord = z
  .object({
    Id: id('holidayCalendar', 'The id of the holiday calendar.'),
    LocationId: maybeId('location', told.locationId),
    Name: text(200, told.name),
    Closes: flag(told.closes),
    Url: maybeText(2_000, told.url),
    ReadAt: maybeInstant('When it was read successfully last; null: not yet.'),
    Fault: maybeText(
      500,
      'Why the latest reading failed; its holidays are then those of the last good one. Null: it did not.',
    ),
    FaultAt: maybeInstant('When that was.'),
    Reading: live(
      holidayReading
        .nullable()
        .meta({ description: 'What was read then, and what of it closes nothing. Null: not yet.' }),
    ),
    Version: positive('Counts the changes of the record; its ETag.'),
  })
  .meta({ id: 'HolidayCalendar', description: 'Holidays of a location or of all, from an .ics file.' });

const mostIcs = 500_000;
const sent = {
  LocationId: sentId('location').nullable().meta({ description: told.locationId }),
  Name: sentText(200).meta({ description: told.name }),
  Closes: flag(told.closes),
  Ics: z
    .string()
    .max(mostIcs, `must have at most ${mostIcs} characters`)
    .meta({ description: 'The text of an .ics file: its whole-day events are holidays. Instead of Url.' }),
  Url: url,
};
export const newCalendar = z
  .strictObject({
    LocationId: sent.LocationId.default(null),
    Name: sent.Name,
    Closes: sent.Closes.default(true),
    Ics: sent.Ics.optional(),
    Url: sent.Url.optional(),
  })
  .meta({ id: 'NewHolidayCalendar', description: 'A holiday calendar to be made: with the file, or its address.' });
export const calendarChanges = z
  .strictObject(sent)
  .partial()
  .meta({ id: 'HolidayCalendarChanges', description: 'What to change; a file replaces all holidays.' });

export const holidayRecord = z
  .object({
    Id: id('holiday', 'Names it until its calendar is read again.'),
    CalendarId: id('holidayCalendar', 'The calendar that it is of.'),
    LocationId: maybeId('location', told.locationId),
    Name: text(200, 'What it is called.'),
    FromDate: z.iso.date().meta({ description: 'The first local date.' }),
    ToDate: z.iso.date().meta({ description: 'The last local date.' }),
    Closes: flag('Whether it closes the location, unless that or the resource has an exception for the date.'),
  })
  .meta({ id: 'Holiday', description: 'A holiday of a location, or of all.' });

export const closedBooking = z
  .object({
    BookingId: id('booking', 'The id of the booking.'),
    ResourceId: id('resource', 'The id of its resource.'),
    ResourceName: text(200, 'The name of its resource.'),
    Subject: maybeText(500, 'What it is about.'),
    Start: instant('When it starts.'),
    End: instant('When it ends.'),
    Holiday: text(200, 'The holiday on which it lies.'),
  })
  .meta({ id: 'BookingInHoliday', description: 'A booking to come that lies on a holiday.' });

export const calendarFilter = z.strictObject({
  LocationId: parameters.id('location', 'Only those of this location alone.').optional(),
});
const localDate = (description: string) =>
  z.iso.date('must be a date such as 2026-12-24').optional().meta({ description });
export const holidayFilter = z.strictObject({
  LocationId: parameters.id('location', 'Only those of this location, also those of all.').optional(),
  CalendarId: parameters.id('holidayCalendar', 'Only those of this calendar.').optional(),
  From: localDate('Only those that end on this local date or later.'),
  To: localDate('Only those that begin on this local date or before.'),
});

const toRecord = recordOf(calendarRecord);
const toReading = recordOf(holidayReading);
const toUnused = recordOf(unusedEvents);
export const toCalendarRecord = ({ reading, ...others }: HolidayCalendar): z.output<typeof calendarRecord> =>
  toRecord({ ...others, reading: reading && toReading({ ...reading, unused: reading.unused.map(toUnused) }) });
export const toHolidayRecord: (holiday: ListedHoliday) => z.output<typeof holidayRecord> = recordOf(holidayRecord);
export const toClosedBooking: (booking: ClosedBooking) => z.output<typeof closedBooking> = recordOf(closedBooking);

export const example = {
  Id: 3,
  LocationId: 1,
  Name: 'Schulferien',
  Closes: true,
  Url: 'https://ferien.example/zuerich.ics',
  ReadAt: '2026-11-20T08:00:00.000Z',
  Fault: null,
  FaultAt: null,
  Reading: { Events: 4, Holidays: 3, Unused: [{ Reason: 'TimeOfDay', Events: 1 }] },
  Version: 1,
};
export const holidayExample = {
  Id: 12,
  CalendarId: 3,
  LocationId: 1,
  Name: 'Weihnachtsferien',
  FromDate: '2026-12-24',
  ToDate: '2027-01-03',
  Closes: true,
};
export const bookingExample = {
  BookingId: 77,
  ResourceId: 2,
  ResourceName: 'HS 101',
  Subject: 'Chor',
  Start: '2026-12-28T18:00:00.000Z',
  End: '2026-12-28T20:00:00.000Z',
  Holiday: 'Weihnachtsferien',
};
