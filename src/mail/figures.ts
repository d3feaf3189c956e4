/** Metrics of the mail servers of all tenants, for operators. */
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { faults } from '../mail-servers/service.ts';
import { standing, subscriptionStates } from '../mail-subscriptions/service.ts';
import { isWaiting } from './conflicts.ts';
import { belongs } from './status.ts';
import { writtenStates } from './written.ts';

/** Counts by a label; every known value is present, if only as 0. */
async function countBy(
  db: Database,
  values: readonly string[],
  query: RawBuilder<{ value: string; count: number }>,
): Promise<Record<string, number>> {
  const { rows } = await query.execute(db);
  return Object.fromEntries([...values.map((value) => [value, 0]), ...rows.map(({ value, count }) => [value, count])]);
}

async function readNumber(db: Database, query: RawBuilder<{ figure: number }>): Promise<number> {
  const { rows } = await query.execute(db);
  return rows[0]?.figure ?? 0;
}

const countItems = (db: Database, which: RawBuilder<unknown>) =>
  readNumber(
    db,
    sql`select count(*)::int as figure from mail_item as item
      join mail_calendar as calendar on calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id
      where calendar.retired_at is null and ${which}`,
  );

export const mailFigures = {
  roomgate_mail_calendars: {
    help: 'Calendars on mail servers, by the fault of their last reading',
    label: 'fault',
    read: (db: Database) =>
      countBy(
        db,
        ['None', ...faults],
        sql`select coalesce(fault, 'None') as value, count(*)::int as count
          from mail_calendar where retired_at is null group by 1`,
      ),
  },
  roomgate_mail_subscriptions: {
    help: 'Calendars on mail servers, by the state of their active or else newest subscription',
    label: 'state',
    read: (db: Database) =>
      countBy(
        db,
        ['None', ...subscriptionStates],
        sql`select coalesce(newest.state, 'None') as value, count(*)::int as count
          from mail_calendar as calendar left join lateral (
            select state from mail_subscription as subscription
            where ${belongs} order by state in ${standing} desc, id desc limit 1
          ) as newest on true
          where retired_at is null group by 1`,
      ),
  },
  roomgate_mail_changes_found: {
    help: 'Changes that were read from mail servers, by how they were found: after a notification (Push) or without one (Poll)',
    label: 'by',
    read: (db: Database) =>
      countBy(
        db,
        ['Push', 'Poll'],
        sql`select by as value, coalesce(sum(count), 0)::float8 as count
          from mail_calendar, lateral (values ('Push', found_by_push), ('Poll', found_by_poll)) as found (by, count)
          where retired_at is null group by 1`,
      ),
  },
  roomgate_mail_oldest_change_seconds: {
    help: 'For how long the oldest known change has been waiting to be read',
    read: (db: Database) =>
      readNumber(
        db,
        sql`select coalesce(extract(epoch from now() - min(dirty_since)), 0)::float8 as figure
          from mail_calendar where retired_at is null`,
      ),
  },
  roomgate_mail_subscriptions_expiring: {
    help: 'Calendars whose subscription ends within 24 hours although it should have been renewed',
    read: (db: Database) =>
      readNumber(
        db,
        sql`select count(*)::int as figure from mail_subscription
          where state in ${standing} and expires_at < now() + interval '24 hours' and renew_at < now()`,
      ),
  },
  roomgate_mail_subscriptions_silent_seconds: {
    help: 'The longest time without a message of a subscription that sends regular heartbeats',
    read: (db: Database) =>
      readNumber(
        db,
        sql`select coalesce(max(extract(epoch from now() - coalesce(seen_at, created_at))), 0)::float8 as figure
          from mail_subscription where state in ${standing} and heartbeat_minutes is not null`,
      ),
  },
  roomgate_mail_conflicts: {
    help: 'Items on mail servers that are not over and have no booking because their room is taken',
    read: (db: Database) => countItems(db, isWaiting),
  },
  roomgate_mail_declined_items: {
    help: 'Items on mail servers whose room was taken, by what their organizers were told; only items that are still stored',
    label: 'state',
    read: (db: Database) =>
      countBy(
        db,
        ['Telling', 'Told', 'Nobody', 'Impossible', 'Refused'],
        sql`select state as value, count(*)::int as count from mail_decline group by 1`,
      ),
  },
  roomgate_mail_unreadable_items: {
    help: 'Items on mail servers that have no booking because they cannot be read',
    read: (db: Database) => countItems(db, sql`item.state = 'Unreadable'`),
  },
  roomgate_mail_written_items: {
    help: 'Items that were written into calendars of mail servers and are not over, by their state',
    label: 'state',
    read: (db: Database) =>
      countBy(
        db,
        writtenStates,
        sql`select state as value, count(*)::int as count from mail_writing where ends_at > now() group by 1`,
      ),
  },
  roomgate_mail_writes: {
    help: 'Items that were written into calendars of mail servers, changes there that were reverted, and changes there that their bookings followed',
    label: 'what',
    read: (db: Database) =>
      countBy(
        db,
        ['Written', 'PutBack', 'TakenOver'],
        sql`select what as value, coalesce(sum(count), 0)::float8 as count
          from mail_calendar, lateral (values ('Written', items_written), ('PutBack', put_backs), ('TakenOver', taken_over))
            as done (what, count)
          where retired_at is null group by 1`,
      ),
  },
  roomgate_mail_echoes: {
    help: 'Bookings that were made from items that roomgate itself had written: always 0',
    read: (db: Database) =>
      readNumber(
        db,
        sql`select count(*)::int as figure from mail_writing as row
          join mail_item as item on item.mandator_id = row.mandator_id and item.calendar_id = row.calendar_id
            and row.native_id in (item.item_id, item.group_id)
          where item.booking_id is not null`,
      ),
  },
};
