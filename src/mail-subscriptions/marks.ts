/** Marks calendars as dirty. SQL functions do this, and queue the readings in the same transaction. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import type { Fault } from '../mail-servers/service.ts';
import { hasBegun, isDue } from '../worker/queue.ts';

/** Why a calendar was marked: a notification, a poll, or a request. */
export type DirtyBy = 'Push' | 'Poll' | 'Request';

/**
 * Marks calendars that may have changed: each is read soon, and only once, however often it is marked.
 * @param spreadSeconds the time over which the readings are spread
 */
export async function markCalendars(
  db: Database | Transaction,
  calendarIds: readonly number[],
  by: DirtyBy,
  spreadSeconds = 0,
): Promise<void> {
  if (calendarIds.length === 0) return;
  await sql`select mark_mail_calendars(${calendarIds}::integer[], ${by}, ${spreadSeconds})`.execute(db);
}

/**
 * Marks all calendars, because notifications may have been missed: before a start, or while none could be recorded. A calendar
 * whose reading is about to begin is left alone, as a mark would delay it; one whose reading has begun is read again at once.
 */
export async function markAllCalendars(db: Database): Promise<void> {
  const job = sql`'mail calendar ' || calendar.id`;
  // Ten readings begin per second, or more if that would take longer than ten seconds.
  await sql`
    select mark_mail_calendars(array_agg(id), 'Poll', case when "hasBegun" then 0 else least(count(*) / 10, 10)::integer end)
    from (select calendar.id, dirty_since is not null and ${hasBegun(job)} as "hasBegun" from mail_calendar as calendar
      where retired_at is null and not (dirty_since is not null and ${isDue(job)})) as calendar
    group by "hasBegun"`.execute(db);
}

/** Makes all calendars of a tenant that wait after `fault` due now, except `calendarId`. */
export async function releaseCalendars(
  trx: Transaction,
  mandatorId: number,
  calendarId: number,
  fault: Fault,
): Promise<void> {
  await sql`select release_mail_calendars(${mandatorId}, ${calendarId}, ${fault})`.execute(trx);
}
