/** The tokens of calendar feeds on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { questions } from '../bookings/service.ts';
import { id, instant, maybeId, maybeInstant, maybeText, recordOf, sentText, text } from '../fields.ts';
import { longest } from '../names.ts';
import type { CalendarToken, CreatedToken } from './service.ts';

export const tokenRecord = z
  .object({
    Id: id('calendarToken', 'The id of the token.'),
    ResourceId: maybeId('resource', 'The resource whose feed it opens; null for a timetable.'),
    Klasse: maybeText(longest.name, 'The class whose timetable it opens.'),
    Lehrperson: maybeText(
      longest.name,
      'The teacher whose timetable it opens. Without a resource, a class and a teacher it opens the timetable of the person.',
    ),
    PersonId: id('person', 'The person who created it, with whose rights it shows bookings.'),
    Label: maybeText(longest.label, 'What the token is for.'),
    CreatedAt: instant('When it was created.'),
    RevokedAt: maybeInstant('When it was revoked; null while it is valid.'),
    LastUsedAt: maybeInstant('When it was last used.'),
  })
  .meta({ id: 'CalendarToken', description: 'A token of a calendar feed, without the token itself.' });

export const newToken = z
  .strictObject({
    Label: sentText(longest.label).nullable().default(null).meta({ description: 'What the token is for.' }),
  })
  .meta({ id: 'NewCalendarToken', description: 'A token to create.' });

const { Klasse, Lehrperson } = questions;

/** The owner of the timetable that a feed shows: the caller if neither is named. */
export const timetableOf = z.strictObject({
  Klasse: Klasse.meta({ description: 'The timetable of this class, regardless of case.' }),
  Lehrperson: Lehrperson.meta({
    description: 'The timetable of this teacher, named as in lessons, regardless of case.',
  }),
});

export const newTimetableToken = z
  .strictObject({ ...newToken.shape, ...timetableOf.shape })
  .meta({ id: 'NewTimetableToken', description: 'A token to create; for your own timetable if neither is named.' });

const shownOnce = 'It is shown only this once.';
export const createdToken = z
  .object({
    Token: text(100, `The token. ${shownOnce}`),
    Url: z
      .url()
      .max(2_000)
      .meta({ description: `The address for calendar programs, which contains the token. ${shownOnce}` }),
    ...tokenRecord.shape,
  })
  .meta({ id: 'CreatedCalendarToken', description: 'A token that was created.' });

export const toTokenRecord: (token: CalendarToken) => z.output<typeof tokenRecord> = recordOf(tokenRecord);

export const toCreatedRecord = ({ token, url, record }: CreatedToken) => ({
  Token: token,
  Url: url,
  ...toTokenRecord(record),
});

const example = {
  Id: 4,
  ResourceId: 2 as number | null,
  Klasse: null as string | null,
  Lehrperson: null,
  PersonId: 1,
  Label: 'Phone',
  CreatedAt: '2026-11-20T08:00:00.000Z',
  RevokedAt: null,
  LastUsedAt: null,
};
const exampleToken = 'q0hJ7tqk2sYl8m3nV5xw9zBcDfGhJkLm';
export const examples = {
  new: { Label: example.Label },
  created: {
    Token: exampleToken,
    Url: `http://127.0.0.1:8080/demo/api/v1.0/resources/2/calendar.ics?token=${exampleToken}`,
    ...example,
  },
  page: { Items: [example], NextCursor: null },
  newOfTimetable: { Label: example.Label, Klasse: '3a' },
  createdOfTimetable: {
    Token: exampleToken,
    Url: `http://127.0.0.1:8080/demo/api/v1.0/timetable/calendar.ics?klasse=3a&token=${exampleToken}`,
    ...example,
    ResourceId: null,
    Klasse: '3a',
  },
  pageOfTimetables: { Items: [{ ...example, ResourceId: null, Klasse: '3a' }], NextCursor: null },
  calendar: `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//roomgate//calendar feed//DE
METHOD:PUBLISH
NAME:HS 101
X-WR-CALNAME:HS 101
REFRESH-INTERVAL;VALUE=DURATION:PT15M
X-PUBLISHED-TTL:PT15M
BEGIN:VEVENT
UID:booking-17@0f0e4c57-9d0b-4b6a-8f6f-3b1d6f1c2b0a
SEQUENCE:0
DTSTAMP:20261120T080000Z
DTSTART:20261123T090000Z
DTEND:20261123T103000Z
SUMMARY:Sitzung
TRANSP:OPAQUE
LOCATION:HS 101
STATUS:CONFIRMED
CREATED:20261120T080000Z
LAST-MODIFIED:20261120T080000Z
CLASS:PUBLIC
END:VEVENT
END:VCALENDAR
`.replaceAll('\n', '\r\n'),
};
