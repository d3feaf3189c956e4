/** Holidays on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import {
  count,
  date,
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
import { longest } from '../names.ts';
import * as parameters from '../query-parameters.ts';
import { unusedReasons } from './reading.ts';
import { url } from './schema.ts';
import type { ClosedBooking, HolidayCalendar, ListedHoliday } from './service.ts';

const descriptions = {
  locationId: 'The location that it applies to; null: all locations.',
  name: 'Unique in the tenant, regardless of case.',
  closes: 'Whether its holidays close the location; otherwise they are only shown.',
  url: 'The address of its .ics file, which is read regularly; null if the file was sent.',
};

export const unusedReason = z.enum(unusedReasons).meta({
  id: 'UnusedHolidayReason',
  description:
    'Why an event closes nothing in the future: it has no valid date, has a time of day, is cancelled, falls on no day within ten years, or is over.',
});
export const unusedEvents = z
  .object({
    Reason: unusedReason.meta({ description: 'Why they close nothing in the future.' }),
    Events: count('The number of events.'),
  })
  .meta({ id: 'UnusedHolidayEvents', description: 'Events that close nothing in the future.' });
export const holidayReading = z
  .object({
    Events: count('The number of events in the file.'),
    Holidays: count('The number of holidays; each repetition counts.'),
    Unused: z
      .array(unusedEvents)
      .max(unusedReasons.length)
      .meta({ description: 'The events that close nothing in the future.' }),
  })
  .meta({ id: 'HolidayReading', description: 'The outcome of reading the file of a holiday calendar.' });

export const calendarRecord = z
  .object({
    Id: id('holidayCalendar', 'The id of the holiday calendar.'),
    LocationId: maybeId('location', descriptions.locationId),
    Name: text(longest.name, descriptions.name),
    Closes: flag(descriptions.closes),
    Url: maybeText(2_000, descriptions.url),
    ReadAt: maybeInstant('When it was last read successfully; null: not yet.'),
    Fault: maybeText(
      500,
      'Why the last reading failed; the holidays are then those of the last successful one. Null: it did not fail.',
    ),
    FaultAt: maybeInstant('When the last reading failed.'),
    Reading: live(
      holidayReading
        .nullable()
        .meta({ description: 'The outcome of the last successful reading. Null: there was none yet.' }),
    ),
    Version: positive('Increases with each change of the record; its ETag.'),
  })
  .meta({ id: 'HolidayCalendar', description: 'Holidays of one location or of all, from an .ics file.' });

const mostIcs = 500_000;
const sent = {
  LocationId: sentId('location').nullable().meta({ description: descriptions.locationId }),
  Name: sentText(longest.name).meta({ description: descriptions.name }),
  Closes: flag(descriptions.closes),
  Ics: z
    .string()
    .max(mostIcs)
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
  .meta({ id: 'NewHolidayCalendar', description: 'A holiday calendar to create: with the file, or its address.' });
export const calendarChanges = z
  .strictObject(sent)
  .partial()
  .meta({ id: 'HolidayCalendarChanges', description: 'Changes; a file replaces all holidays.' });

export const holidayRecord = z
  .object({
    Id: id('holiday', 'The id; valid until its calendar is read again.'),
    CalendarId: id('holidayCalendar', 'The calendar of the holiday.'),
    LocationId: maybeId('location', descriptions.locationId),
    Name: text(200, 'The name.'),
    FromDate: date('The first local date.'),
    ToDate: date('The last local date.'),
    Closes: flag('Whether it closes the location, unless the location or the resource has an exception for the date.'),
  })
  .meta({ id: 'Holiday', description: 'A holiday of one location or of all.' });

export const closedBooking = z
  .object({
    BookingId: id('booking', 'The id of the booking.'),
    ResourceId: id('resource', 'The id of its resource.'),
    ResourceName: text(200, 'The name of its resource.'),
    Subject: maybeText(500, 'The subject of the booking.'),
    Start: instant('When it starts.'),
    End: instant('When it ends.'),
    Holiday: text(200, 'The holiday of that day.'),
  })
  .meta({ id: 'BookingInHoliday', description: 'A future booking on a holiday.' });

export const calendarFilter = z.strictObject({
  LocationId: parameters.id('location', 'Only calendars of exactly this location.').optional(),
});
export const holidayFilter = z.strictObject({
  LocationId: parameters.id('location', 'Only holidays of this location, including those of all locations.').optional(),
  CalendarId: parameters.id('holidayCalendar', 'Only holidays of this calendar.').optional(),
  From: parameters.date('Only holidays that end on this local date or later.'),
  To: parameters.date('Only holidays that begin on this local date or earlier.'),
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
