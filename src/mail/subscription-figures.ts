/** What operators watch of the subscriptions of all tenants beside their states; of a calendar its standing one counts, else its newest. */
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { standing } from './subscriptions.ts';

const read = async (db: Database, what: ReturnType<typeof sql>) => {
  const { rows } = await sql<{ figure: number | null }>`
    select (${what})::float8 as figure from (
      select distinct on (mandator_id, calendar_id) * from mail_subscription as subscription
      where calendar_id is null or exists (
        select from mail_calendar as calendar
        where calendar.mandator_id = subscription.mandator_id and calendar.id = subscription.calendar_id
          and calendar.retired_at is null)
      order by mandator_id, calendar_id, state in ${standing} desc, id desc
    ) as subscription`.execute(db);
  return rows[0]?.figure ?? 0;
};

export const subscriptionFigures = {
  roomgate_mail_subscriptions_expiring: {
    help: 'Calendars whose subscription ends within 24 hours though it was to be renewed',
    read: (db: Database) =>
      read(
        db,
        sql`count(*) filter (where state in ${standing} and expires_at < now() + interval '24 hours' and renew_at < now())`,
      ),
  },
  roomgate_mail_subscriptions_silent_seconds: {
    help: 'For how long nothing was heard of the most silent subscription that must be heard of regularly',
    read: (db: Database) =>
      read(
        db,
        sql`max(extract(epoch from now() - coalesce(seen_at, created_at)))
          filter (where state in ${standing} and heartbeat_minutes is not null)`,
      ),
  },
};
