/** Calendars, subscriptions and items of a mail server, straight into the tables. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../../src/db/database.ts';
import type { ServerKind } from '../../../src/mail-servers/connector.ts';
import type { SubscriptionState } from '../../../src/mail-subscriptions/states.ts';

type Place = { mandatorId: number; resourceId: number };

/** @param columns of mail_calendar, as SQL */
export async function makeCalendar(
  db: Database,
  { mandatorId, resourceId }: Place,
  { kind = 'Ews', mailbox = 'aula@mail.example' }: { kind?: ServerKind; mailbox?: string } = {},
  columns = '',
): Promise<number> {
  const { id } = await db
    .insertInto('mail_calendar')
    .values({ mandator_id: mandatorId, resource_id: resourceId, kind, mailbox })
    .returning('id')
    .executeTakeFirstOrThrow();
  if (columns) await sql`update mail_calendar set ${sql.raw(columns)} where id = ${id}`.execute(db);
  return id;
}

/** A subscription that has gone through all of the states. @param columns of mail_subscription, as SQL */
export async function makeSubscription(
  db: Database,
  calendar: { mandatorId: number; calendarId: number | null },
  states: readonly SubscriptionState[],
  { kind = 'Ews', columns = '' }: { kind?: ServerKind; columns?: string } = {},
): Promise<number> {
  const { id } = await db
    .insertInto('mail_subscription')
    .values({
      mandator_id: calendar.mandatorId,
      calendar_id: calendar.calendarId,
      kind,
      server_url: 'https://mail.example/',
      callback_url: 'https://rooms.example/api/webhooks/mailserver',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const state of states)
    await sql`update mail_subscription set state = ${state}, fault_text = ${`${state} now`} where id = ${id}`.execute(
      db,
    );
  if (columns) await sql`update mail_subscription set ${sql.raw(columns)} where id = ${id}`.execute(db);
  return id;
}

/** Removes all of mail, also what is being written at the moment. For few rows this takes less than TRUNCATE, which makes new files. */
export async function forgetMail(db: Database): Promise<void> {
  await sql`
    lock table mail_notification, mail_subscription, mail_calendar, graphile_worker._private_jobs in exclusive mode;
    delete from mail_notification;
    delete from mail_subscription;
    delete from mail_calendar;
    delete from graphile_worker._private_jobs`.execute(db);
}

/** Items that cannot be read, the first at `since` and each a minute after the one before. */
export async function makeUnreadable(
  db: Database,
  { mandatorId, calendarId }: { mandatorId: number; calendarId: number },
  since: string,
  count = 1,
): Promise<void> {
  await sql`
    insert into mail_item (mandator_id, calendar_id, group_id, occurrence, item_id, uid, content_hash, state, subject, reason, changed_at)
    select ${mandatorId}, ${calendarId}, 'unreadable ' || minute, '!', 'item ' || minute,
      case when minute > 0 then 'uid ' || minute end, ${randomBytes(32)}, 'Unreadable', 'Subject', 'It has no valid times.',
      ${since}::timestamptz + minute * interval '1 minute'
    from generate_series(0, ${count - 1}::integer) as minute`.execute(db);
}

/** Items in conflict, an hour each, the first at `start` and each a day after the one before. */
export async function makeConflicts(
  db: Database,
  { mandatorId, calendarId }: { mandatorId: number; calendarId: number },
  start: Date,
  count = 1,
): Promise<void> {
  await sql`
    insert into mail_item (mandator_id, calendar_id, group_id, occurrence, item_id, uid, content_hash, state, subject, occupied, reason)
    select ${mandatorId}, ${calendarId}, 'group ' || day, '', 'item ' || day, 'uid ' || day, ${randomBytes(32)}, 'Conflict',
      'Subject ' || day, tstzrange(begins, begins + interval '1 hour'), 'The room is taken.'
    from generate_series(0, ${count - 1}::integer) as day,
      lateral (select ${start}::timestamptz + day * interval '1 day' as begins) as at`.execute(db);
}

/** Bookings that do not stand in a calendar, an hour each, the first at `start` and each a day after the one before. */
export async function makeUnwritten(
  db: Database,
  { mandatorId, calendarId }: { mandatorId: number; calendarId: number },
  start: Date,
  bookingIds: readonly number[],
): Promise<void> {
  await sql`
    insert into mail_writing (mandator_id, calendar_id, booking_id, state, starts_at, ends_at, subject_hash, is_private, not_before, reason)
    select ${mandatorId}, ${calendarId}, booking, case number % 2 when 1 then 'Conflict' else 'Failed' end,
      begins, begins + interval '1 hour', ${randomBytes(32)}, false, begins - interval '1 hour', 'Reason ' || number
    from unnest(${bookingIds}::bigint[]) with ordinality as row (booking, number),
      lateral (select ${start}::timestamptz + (number - 1) * interval '1 day' as begins) as at`.execute(db);
}

/** Settings that neither read nor retire a calendar of the tenant `school` whose mailbox is this one and which is no CalDav. */
export const sparing = (mailbox: string): Record<string, string> => ({
  MailServer__school__Kind: 'CalDav',
  MailServer__school__Url: 'http://127.0.0.1:9/dav/',
  MailServer__school__User: 'roomgate',
  MailServer__school__Password: 'secret',
  MailServer__school__Calendars: JSON.stringify([{ Mailbox: mailbox, ResourceName: 'Nowhere' }]),
});

/** Of a calendar that waits for a century, also when its reading is asked for. */
export const waiting = `fault = 'Throttled', fault_text = 'Later.', not_before = '2126-11-20T09:00:00Z'`;
