/**
 * MailSubscriptionManagement (specification 6): sees to it that every calendar of the settings has a subscription that pushes.
 * A sweep finds what there is to do and queues it; what time alone decides is decided in the database, and a mail server is
 * asked only by whoever has taken the row for the next minutes.
 */

import { sql } from 'kysely';
import pLimit from 'p-limit';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import type { Turn } from '../flow/turns.ts';
import type { Log } from '../log.ts';
import { type Connector, calendarSettings, hasAnswered, openConnector } from '../mail-servers/service.ts';
import { beginListing, endListing, findOrphans, listingIsDue } from './orphans.ts';
import { queueProvisioning, storedFault } from './provisioning.ts';
import { lookAfter, takeDue } from './renewal.ts';
import type { Job, Tenant, Work } from './subscription.ts';
import {
  failuresInARow,
  live,
  moveSubscriptions,
  nextLook,
  pauseAfter,
  replaceOlder,
  serversOf,
} from './subscriptions.ts';

/** The settings that `sweepSubscriptions` follows. */
export const followedSettings = calendarSettings;

export const manageTask = 'MailSubscriptionManagement';

const mostAtOnce = 4;
/** Milliseconds after which a job leaves the rest to the next. */
const askWithin = 3_000;

/** Brings the subscriptions in line with the settings and the time; with no mail server there is nothing to do. */
export async function sweepSubscriptions({ work, config }: Pick<Work, 'work' | 'config'>): Promise<void> {
  const hasServers = Object.keys(config.MailServer).length > 0;
  if (!hasServers && !(await hasLive(work))) return;
  await disableUnwanted(work, config);
  if (!hasServers) return;
  await replaceOlder(work, null);
  await alignTenantWide(work, config);
  await queueProvisioning(work, config);
  await queueManagement(work, config);
}

async function hasLive(db: Database): Promise<boolean> {
  const { rows } = await sql`select from mail_subscription where state in ${live} limit 1`.execute(db);
  return rows.length > 0;
}

/** The settings have another server, kind or mailbox now, or the calendar not at all: nothing useful will come of it. */
async function disableUnwanted(db: Database, config: Config): Promise<void> {
  await sql`
    with server as materialized (${serversOf(config)}), unwanted as materialized (
      select subscription.mandator_id, subscription.id
      from mail_subscription as subscription
      left join server using (mandator_id)
      left join mail_calendar as calendar
        on calendar.mandator_id = subscription.mandator_id and calendar.id = subscription.calendar_id
      where subscription.state in ${live} and (
        server.kind is distinct from subscription.kind
        or (subscription.calendar_id is not null and (
          server.server_url <> subscription.server_url or calendar.retired_at is not null
          or calendar.kind <> subscription.kind or calendar.mailbox <> subscription.mailbox))
        or (subscription.calendar_id is null and not exists (
          select from mail_calendar as any_calendar
          where any_calendar.mandator_id = subscription.mandator_id and any_calendar.kind = subscription.kind
            and any_calendar.retired_at is null)))
      order by subscription.id for no key update of subscription skip locked
    )
    update mail_subscription as disabled
    set state = 'Disabled', fault = null, fault_text = 'The settings do not ask for it any more.'
    from unwanted where disabled.mandator_id = unwanted.mandator_id and disabled.id = unwanted.id`.execute(db);
}

/** CalDav: one for all calendars of the tenant, which its operator sets up; it follows the settings where it is. */
export async function alignTenantWide(db: Database, config: Config): Promise<void> {
  const servers = serversOf(config);
  await sql`
    insert into mail_subscription (mandator_id, kind, server_url, callback_url, state, due_at)
    select mandator_id, kind, server_url, callback_url, 'AwaitingFirstPush', now() + interval '1 day'
    from (${servers}) as server
    where kind = 'CalDav' and exists (
        select from mail_calendar as calendar
        where calendar.mandator_id = server.mandator_id and calendar.kind = 'CalDav' and calendar.retired_at is null)
      and not exists (
        select from mail_subscription as present
        where present.mandator_id = server.mandator_id and present.calendar_id is null and present.state in ${live})
    on conflict do nothing`.execute(db);
  await sql`
    with moving as materialized (
      select present.mandator_id, present.id, server.server_url, server.callback_url
      from (${servers}) as server join mail_subscription as present using (mandator_id)
      where present.calendar_id is null and present.state in ${live}
        and (present.server_url, present.callback_url) <> (server.server_url, server.callback_url)
      order by present.id for no key update of present skip locked
    )
    update mail_subscription as moved set server_url = moving.server_url, callback_url = moving.callback_url
    from moving where moved.mandator_id = moving.mandator_id and moved.id = moving.id`.execute(db);
}

/** One job per tenant at a time, so that a mail server that does not answer keeps up its own tenant alone. */
async function queueManagement(db: Database, config: Config): Promise<void> {
  await sql`
    select graphile_worker.add_job(${manageTask}, json_build_object('mandatorId', mandator_id),
      queue_name => 'mail subscriptions ' || mandator_id, job_key => 'mail subscriptions ' || mandator_id,
      job_key_mode => 'preserve_run_at')
    from (${serversOf(config)}) as server
    where ${listingIsDue} or exists (
      select from mail_subscription as due
      where due.mandator_id = server.mandator_id and due.state in ${live} and due.due_at <= now())`.execute(db);
}

/** Looks at all subscriptions of a tenant whose time has come. */
export async function manageSubscriptions(context: Job, mandatorId: number): Promise<void> {
  const { config, work, log, turns } = context;
  const mandator = await nameOf(work, mandatorId);
  const settings = config.MailServer[mandator ?? ''];
  if (mandator === undefined || !settings) return;
  const server = { mandatorId, mandator };
  await letTimeDecide(work, log, server);
  const connector = openConnector(settings, log);
  // Without a turn the sweep queues it again.
  await turns.take(mandatorId, (turn) => askServer(context, turn, server, connector));
}

/** What the mail server has to be asked for. */
async function askServer(context: Work, turn: Turn, server: Tenant, connector: Connector): Promise<void> {
  const { work, log } = context;
  const limit = pLimit(mostAtOnce);
  const signal = AbortSignal.any([context.signal, turn.signal]);
  const until = performance.now() + askWithin;
  while (!signal.aborted && performance.now() < until) {
    const taken = await takeDue(work, server.mandatorId);
    if (taken.length === 0) break;
    await Promise.all(taken.map((row) => limit(() => lookAfter(context, turn, server, connector, row))));
    await letTimeDecide(work, log, server);
  }
  if (!signal.aborted) await endOrphans({ ...context, signal }, turn, server, connector);
}

async function nameOf(db: Database, mandatorId: number): Promise<string | undefined> {
  const found = await db.selectFrom('mandator').where('id', '=', mandatorId).select('code').executeTakeFirst();
  return found?.code;
}

const isDue = sql`due_at <= now()`;
/** Since when nothing has come of one that must be heard of. */
const silence = (minutes: ReturnType<typeof sql>) =>
  sql`${isDue} and heartbeat_minutes is not null
    and coalesce(seen_at, created_at) <= now() - make_interval(mins => ${minutes})`;

/** What needs no question: an attempt that nobody has finished, a push that did not come, silence, the end of its time. */
async function letTimeDecide(db: Database, log: Log, { mandatorId, mandator }: Tenant): Promise<void> {
  const again = sql`now() + ${pauseAfter(failuresInARow('moved'), '30 seconds', '30 minutes')}`;
  await moveSubscriptions(db, {
    mandatorId,
    from: ['Provisioning'],
    to: 'Failed',
    condition: isDue,
    dueAt: again,
    text: sql`'The service ended while it asked for it.'`,
  });
  const unheard = await moveSubscriptions(db, {
    mandatorId,
    from: ['AwaitingFirstPush'],
    to: 'Failed',
    dueAt: again,
    condition: sql`${isDue} and heartbeat_minutes is not null and seen_at is null`,
    text: sql`'No push received: the mail server has agreed to send notifications to ' || callback_url ||
      ', and none has come within two minutes. Look at its proxy for outgoing requests, whether it trusts the certificate there, and the firewalls between.'`,
  });
  const silent = await moveSubscriptions(db, {
    mandatorId,
    from: ['Active', 'Suspect'],
    to: 'Dead',
    condition: silence(sql`2 * heartbeat_minutes`),
    text: sql`'The mail server has sent nothing for ' || 2 * heartbeat_minutes || ' minutes, though it agreed to every ' ||
      heartbeat_minutes || ': it has lost the subscription, or does not reach us.'`,
  });
  await moveSubscriptions(db, {
    mandatorId,
    from: ['Active'],
    to: 'Suspect',
    condition: silence(sql`heartbeat_minutes + 2`),
    text: sql`'The mail server has sent nothing for ' || heartbeat_minutes + 2 || ' minutes.'`,
  });
  const expired = await moveSubscriptions(db, {
    mandatorId,
    from: ['Active', 'Suspect'],
    to: 'Dead',
    condition: sql`${isDue} and expires_at <= now()`,
    text: sql`coalesce('It has expired; ' || fault_text, 'It has expired.')`,
  });
  const doubted = await moveSubscriptions(db, {
    mandatorId,
    from: ['Suspect'],
    to: 'Dead',
    condition: sql`${isDue} and heartbeat_minutes is null and calendar_id is not null
      and state_since <= now() - interval '20 minutes'`,
    text: sql`'Nothing has come since a change that was not pushed.'`,
  });
  await sql`
    update mail_subscription set due_at = case when calendar_id is null then now() + interval '1 day' else ${nextLook} end
    where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription
      where mandator_id = ${mandatorId} and state in ${live} and state <> 'Provisioning' and ${isDue}
        and (heartbeat_minutes is not null or calendar_id is null)
      order by id for no key update skip locked)`.execute(db);
  const lost = [...silent, ...expired, ...doubted];
  if (lost.length > 0) log.warn({ mandator, ...named(lost) }, 'mail subscriptions are dead; others are asked for');
  const news = unheard.filter(({ isRepeated }) => !isRepeated);
  if (news.length > 0)
    log.warn({ mandator, ...named(news) }, 'mail server pushes nothing: look at its proxy and the firewalls');
}

const named = (moved: readonly { mailbox: string | null }[]) => ({
  count: moved.length,
  mailboxes: moved.slice(0, 20).map(({ mailbox }) => mailbox),
});

/** Ends what the mail server holds for us in vain, when it is time to look for that. */
async function endOrphans(
  { config, work, log, signal }: Work,
  turn: Turn,
  server: Tenant,
  { subscriptions }: Connector,
): Promise<void> {
  const { list, end } = subscriptions ?? {};
  if (!list || !end) return;
  const triedAt = await beginListing(work, server.mandatorId);
  if (!triedAt) return;
  const limit = pLimit(mostAtOnce);
  try {
    const orphans = await findOrphans(work, config, server, await list(signal));
    turn.answered();
    await Promise.all(orphans.map((orphan) => limit(() => end(orphan, signal))));
    await endListing(work, server.mandatorId, triedAt);
    if (orphans.length > 0)
      log.info({ mandator: server.mandator, count: orphans.length }, 'orphaned mail subscriptions ended');
  } catch (error) {
    if (hasAnswered(error)) turn.answered();
    const { text } = storedFault(error);
    log.debug({ mandator: server.mandator, text }, 'mail subscriptions were not listed');
  }
}
