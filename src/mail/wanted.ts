/** The calendars that are written, and the bookings that should be in them. */
import { sql } from 'kysely';
import { occupies } from '../bookings/service.ts';
import type { Database } from '../db/database.ts';
import { rests } from '../db/resting.ts';
import type { ServerKind } from '../mail-servers/service.ts';
import { declinesOf, hasDeclinesDue } from './decline-rows.ts';
import type { CalendarKey } from './reading.ts';
import type { FollowingBooking } from './take-over.ts';
import { subjectFor, type WantedItem, type WritingMode } from './written.ts';

export type WrittenCalendar = CalendarKey & {
  mandator: string;
  mandatorUid: string;
  resourceId: number;
  kind: ServerKind;
  mailbox: string;
  address: string | null;
  timeZone: string;
  writing: WritingMode;
  /** What happens when somebody changes an item there: it is put back, or its booking follows. */
  edits: 'PutBack' | 'TakeOver';
  /** Whether items whose room is taken here are declined there. */
  declines: boolean;
  /** Milliseconds for which nothing is to be written to the server. */
  restMs: number;
  failures: number;
};

/** The setting CalendarWriting of a row of `joined`. */
export const writingOf = sql`coalesce(resource.calendar_writing, mandator.parameters ->> 'CalendarWriting', 'Off')`;
export const joined = sql`mail_calendar as calendar join mandator on mandator.id = calendar.mandator_id
  join resource on (resource.mandator_id, resource.id) = (calendar.mandator_id, calendar.resource_id)`;

export async function readWritten(
  db: Database,
  { mandatorId, calendarId }: CalendarKey,
): Promise<WrittenCalendar | undefined> {
  const { rows } = await sql<WrittenCalendar>`
    select calendar.mandator_id as "mandatorId", calendar.id as "calendarId", mandator.code as mandator,
      mandator.uid as "mandatorUid", resource_id as "resourceId", calendar.kind, calendar.mailbox, address,
      location.time_zone as "timeZone", ${writingOf} as writing,
      coalesce(resource.calendar_edits, mandator.parameters ->> 'CalendarEdits', 'PutBack') as edits,
      ${declinesOf} as declines,
      coalesce(greatest(0, extract(epoch from writing_not_before - now()) * 1000), 0)::float8 as "restMs", writing_failures as failures
    from ${joined} join location on (location.mandator_id, location.id) = (resource.mandator_id, resource.location_id)
    where calendar.mandator_id = ${mandatorId} and calendar.id = ${calendarId} and retired_at is null`.execute(db);
  return rows[0];
}

/**
 * The calendars that may lack bookings, because their setting has changed or they were not compared for an hour; those with rows
 * whose outcome is unknown, or that are to be tried again; and those with items to decline.
 */
export async function listToWrite(db: Database): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select calendar.id from ${joined}
    where retired_at is null and (writing_not_before > now()) is not true and not ${rests(sql`calendar.mandator_id`)} and (
      ${writingOf} <> coalesce(compared_as, 'Off')
      or (${writingOf} <> 'Off' and (compared_at > now() - interval '1 hour') is not true)
      or exists (select from mail_writing as row
        where row.mandator_id = calendar.mandator_id and row.calendar_id = calendar.id
          and row.state in ('Writing', 'Deleting', 'Doubtful', 'Overruled'))
      or exists (select from mail_writing as row
        where row.mandator_id = calendar.mandator_id and row.calendar_id = calendar.id
          and row.state in ('Conflict', 'Failed') and row.not_before <= now() and row.ends_at > now())
      or ${hasDeclinesDue})`.execute(db);
  return rows.map(({ id }) => id);
}

/** A booking that should be in the calendar, and what is needed to change it. */
export type WantedBooking = WantedItem & FollowingBooking;

/** The bookings that occupy the room in the coming days. */
export async function readWanted(
  db: Database,
  { mandatorId, resourceId, writing, edits }: WrittenCalendar,
  days: number,
): Promise<WantedBooking[]> {
  if (writing === 'Off') return [];
  const { rows } = await sql<Omit<WantedBooking, 'subject' | 'hasOwnSubject'> & { subject: string | null }>`
    select id as "bookingId", date_trunc('second', lower(occupied)) as start, date_trunc('second', upper(occupied)) as "end",
      subject, is_private as "isPrivate", ${edits === 'TakeOver'} and kind = 'Booking' as "mayFollow", version,
      coalesce(organizer_id, created_by) as "bookerId", setup_minutes as "setupMinutes", teardown_minutes as "teardownMinutes"
    from booking
    where mandator_id = ${mandatorId} and resource_id = ${resourceId} and kind <> 'MailItem'
      and ${occupies} and occupied && tstzrange(now(), now() + make_interval(days => ${days}))`.execute(db);
  return rows.map((row) => ({ ...row, ...subjectFor(writing, row.subject, row.isPrivate) }));
}
