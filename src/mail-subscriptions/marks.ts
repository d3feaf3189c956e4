/** Says that calendars may have changed: a function of the database marks them, and queues their reading. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';

/** Who said that a calendar may have changed. */
export type DirtyBy = 'Push' | 'Poll' | 'Request';

/**
 * Says in the caller's transaction that calendars may have changed: each is read soon after it commits, and once however
 * often it is said.
 * @param options.spread seconds over which their readings begin
 */
export async function markCalendars(
  db: Database | Transaction,
  calendarIds: readonly number[],
  by: DirtyBy,
  { spread = 0 }: { spread?: number } = {},
): Promise<void> {
  if (calendarIds.length === 0) return;
  await sql`select mark_mail_calendars(${calendarIds}::integer[], ${by}, ${spread})`.execute(db);
}

/** Marks all calendars, for it is not known what was missed: after a start, or a time in which nothing could be recorded. */
export async function markAllCalendars(db: Database): Promise<void> {
  // Ten a second, and all within ten seconds.
  await sql`
    select mark_mail_calendars(array_agg(id), 'Poll', least(count(*) / 10, 10)::integer)
    from mail_calendar where retired_at is null having count(*) > 0`.execute(db);
}
