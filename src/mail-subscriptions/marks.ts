/** What is to be read: functions of the database mark calendars, and queue their readings in the same transaction. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import type { Fault } from '../mail-servers/service.ts';

/** Who said that a calendar may have changed. */
export type DirtyBy = 'Push' | 'Poll' | 'Request';

/**
 * Says that calendars may have changed: each is read soon, and once however often that is said.
 * @param spreadSeconds over which their readings begin
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

/** Marks all calendars, for it is not known what was missed: after a start, or a time in which nothing could be recorded. */
export async function markAllCalendars(db: Database): Promise<void> {
  // Ten a second, and all within ten seconds.
  await sql`
    select mark_mail_calendars(array_agg(id), 'Poll', least(count(*) / 10, 10)::integer)
    from mail_calendar where retired_at is null having count(*) > 0`.execute(db);
}

/** Has the calendars of a tenant read now that wait after `fault`, all but one. */
export async function releaseCalendars(
  trx: Transaction,
  mandatorId: number,
  calendarId: number,
  fault: Fault,
): Promise<void> {
  await sql`select release_mail_calendars(${mandatorId}, ${calendarId}, ${fault})`.execute(trx);
}
