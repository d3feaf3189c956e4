/** Finds the calendars that are to be read without anybody having said so: push is a hint, and hints get lost. */
import { type RawBuilder, sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { markAllCalendars, markCalendars } from '../mail-subscriptions/service.ts';
import { isQueued } from '../worker/queue.ts';
import { endPauses } from './calendars.ts';

/** Seconds over which readings begin that come due together. */
const spread = 5;
const wholeSpread = 60;

/** How long a calendar may be unread: a minute without push, and longer the longer push works. `calendar` is its row. */
const mostUnread: RawBuilder<unknown> = sql`coalesce((
  select case when min(subscription.state_since) < now() - interval '24 hours' then interval '60 minutes'
    else interval '15 minutes' end
  from mail_subscription as subscription
  where subscription.mandator_id = calendar.mandator_id and subscription.state = 'Active'
    and (subscription.calendar_id = calendar.id or subscription.calendar_id is null)
  having count(*) > 0), interval '1 minute')`;

/** When a calendar, of which `calendar` is the row, is read next unless somebody says before that it has changed. */
export const nextRead: RawBuilder<Date> = sql<Date>`greatest(
  case when calendar.dirty_since is null then coalesce(calendar.read_at + ${mostUnread}, calendar.created_at) else now() end,
  calendar.not_before)`;

const started = new WeakSet<Database>();

/**
 * Marks the calendars that nobody has read for too long, and queues those again whose reading was lost. A process that starts
 * does not know what was missed, and marks all; its settings may have been put right, so that what has failed is tried again.
 */
export async function pollCalendars(db: Database, config: Config): Promise<void> {
  if (!started.has(db)) {
    await endPauses(db);
    await markAllCalendars(db);
    started.add(db);
  }
  await beginAnew(db, config);
  const { rows } = await sql<{ id: number }>`
    select calendar.id from mail_calendar as calendar
    where retired_at is null and ${nextRead} <= now() and not ${isQueued(sql`'mail calendar ' || calendar.id`)}`.execute(
    db,
  );
  const ids = rows.map(({ id }) => id);
  await markCalendars(db, ids, 'Poll', { spread: ids.length > 1 ? spread : 0 });
}

/**
 * Once a day a calendar is read as if for the first time: its window moves on, and whatever was lost on the way shows. That
 * is nothing that should have been pushed.
 */
async function beginAnew(db: Database, { MailServer }: Config): Promise<void> {
  const servers = Object.entries(MailServer).map(([mandator, { FutureDays }]) => ({
    mandator,
    days: FutureDays,
  }));
  if (servers.length === 0) return;
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ id: number }>`
      with old as materialized (
        select calendar.mandator_id, calendar.id
        from jsonb_to_recordset(${JSON.stringify(servers)}) as server(mandator text, days integer)
        join mandator on mandator.code = server.mandator
        join mail_calendar as calendar on calendar.mandator_id = mandator.id
        where retired_at is null and cursor is not null and dirty_since is null
          and (read_whole_at < now() - interval '24 hours'
            or window_end < now() + make_interval(days => server.days) - interval '1 day 1 minute')
        order by calendar.id for no key update of calendar skip locked
      )
      update mail_calendar as calendar set cursor = null
      from old where calendar.mandator_id = old.mandator_id and calendar.id = old.id
      returning calendar.id`.execute(trx);
    await markCalendars(
      trx,
      rows.map(({ id }) => id),
      'Request',
      { spread: wholeSpread },
    );
  });
}
