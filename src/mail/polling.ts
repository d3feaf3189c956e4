/** Readings without a notification: polls, since notifications get lost, and readings on request. */
import { type RawBuilder, sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database, Transaction } from '../db/database.ts';
import { rests } from '../db/resting.ts';
import { attemptSoon, type MailWork, markAllCalendars, markCalendars, pushes } from '../mail-subscriptions/service.ts';
import { isQueued } from '../worker/queue.ts';
import { queueWriting } from './doubts.ts';
import { forgetSteps, noContinuation } from './reading.ts';
import { endRests } from './written-rows.ts';

/** The seconds over which readings that are due together are spread; and readings of whole calendars. */
const [spreadSeconds, wholeSpreadSeconds] = [5, 60];

/**
 * The interval of polls: a minute without push, unless the source asks for more; longer, the longer push works. `calendar` is the row.
 */
const mostUnread: RawBuilder<unknown> = sql`coalesce((
  select case when min(subscription.state_since) < now() - interval '24 hours' then interval '60 minutes'
    else interval '15 minutes' end
  from mail_subscription as subscription
  where subscription.mandator_id = calendar.mandator_id and subscription.state = 'Active'
    and ${pushes('subscription', 'calendar')}
  having count(*) > 0), make_interval(mins => calendar.poll_minutes), interval '1 minute')`;

/** When a calendar is read next, unless it is marked before. `calendar` is the row. */
export const nextRead: RawBuilder<Date> = sql<Date>`greatest(
  case when calendar.dirty_since is null then coalesce(calendar.read_at + ${mostUnread}, calendar.created_at) else now() end,
  calendar.not_before)`;

/** The state of one worker. */
const openStart = () => ({ isStarting: true });

/**
 * Marks the calendars that are due, and queues lost readings again. A starting worker marks all calendars, as it cannot know what
 * was missed, and ends the pauses after faults, as the settings may have been corrected.
 */
export async function pollCalendars({ work, config, once }: Pick<MailWork, 'work' | 'config' | 'once'>): Promise<void> {
  const start = once(openStart);
  if (start.isStarting) {
    await endPauses(work);
    await markAllCalendars(work);
    start.isStarting = false;
  }
  await beginAnew(work, config);
  const { rows } = await sql<{ id: number }>`
    select calendar.id from mail_calendar as calendar
    where retired_at is null and ${nextRead} <= now() and not ${rests(sql`calendar.mandator_id`)} and not ${isQueued(sql`'mail calendar ' || calendar.id`)}`.execute(
    work,
  );
  const ids = rows.map(({ id }) => id);
  await markCalendars(work, ids, 'Poll', ids.length > 1 ? spreadSeconds : 0);
}

/**
 * Has each calendar read once a day as if for the first time, so that its window moves on and lost changes are found. The mark is
 * a 'Request', because changes that are found this way do not mean that push fails.
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
    const ids = rows.map(({ id }) => id);
    await markCalendars(trx, ids, 'Request', wholeSpreadSeconds);
  });
}

/**
 * Ends the pauses after faults, of readings and of attempts to subscribe. Throttled ones keep their time, as the mail server
 * has set it; so do calendars at which workers have died.
 */
export async function endPauses(db: Database): Promise<void> {
  await sql`
    update mail_calendar set not_before = null
    where id in (
      select id from mail_calendar where retired_at is null and not_before > now() and fault <> 'Throttled' and deaths = 0
      order by id for no key update)`.execute(db);
  const { rows } = await sql<{ mandatorId: number; ids: number[] }>`
    select mandator_id as "mandatorId", array_agg(id) as ids from mail_calendar where retired_at is null group by mandator_id`.execute(
    db,
  );
  for (const { mandatorId, ids } of rows) await db.transaction().execute((trx) => attemptSoon(trx, mandatorId, ids));
}

/**
 * Has calendars of a tenant read at once, also those that wait after a fault, except Throttled ones, whose time the mail server
 * has set; what could not be written there is tried again. `whole` reads them as if for the first time.
 */
export const requestReadings = (
  db: Database,
  mandatorId: number,
  calendarIds: readonly number[],
  how: { whole: boolean },
): Promise<void> => db.transaction().execute((trx) => readNow(trx, mandatorId, calendarIds, how));

/** `requestReadings` in a transaction of the caller. */
export async function readNow(
  trx: Transaction,
  mandatorId: number,
  calendarIds: readonly number[],
  { whole }: { whole: boolean },
): Promise<void> {
  const { rows } = await sql<{ id: number }>`
      update mail_calendar set not_before = case when fault = 'Throttled' then not_before end,
        ${whole ? sql`cursor = null, read_whole_at = null, ${noContinuation}` : sql`cursor = cursor`}
      where mandator_id = ${mandatorId} and retired_at is null and id in (
        select id from mail_calendar where mandator_id = ${mandatorId} and id = any (${calendarIds}::integer[])
        order by id for no key update)
      returning id`.execute(trx);
  const ids = rows.map(({ id }) => id);
  if (whole) await forgetSteps(trx, mandatorId, ids);
  await attemptSoon(trx, mandatorId, ids);
  await markCalendars(trx, ids, 'Request');
  await queueWriting(trx, await endRests(trx, mandatorId, ids));
}
