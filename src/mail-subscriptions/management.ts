/**
 * MailSubscriptionManagement (specification 6): keeps a working subscription for every calendar of the settings. A sweep queues
 * the work that is due. State changes that follow from the time alone are made by SQL statements; a worker asks the mail server
 * only about rows that it has reserved for the next minutes.
 */
import { type RawBuilder, sql } from 'kysely';
import pLimit from 'p-limit';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { pauseAfter } from '../db/pauses.ts';
import { rests } from '../db/resting.ts';
import type { Turn } from '../flow/turns.ts';
import type { Log } from '../log.ts';
import { type Connector, calendarSettings, hasAnswered, openConnectors } from '../mail-servers/service.ts';
import { failuresInARow, lookLater } from './due.ts';
import { markCalendars } from './marks.ts';
import {
  beginListing,
  endListing,
  findOrphans,
  isLeftOver,
  listingIsDue,
  storeEnded,
  takeLeftOver,
} from './orphans.ts';
import { attemptPauses, queueProvisioning, storedFault } from './provisioning.ts';
import { lookAfter, takeDue } from './renewal.ts';
import { isEnded, isLive, liveStates, type MovedSubscription, move, replaceOlder, standingStates } from './states.ts';
import { alignTenantWide, serversOf } from './tenant-wide.ts';
import type { MailJob, MailTenant, MailWork } from './work.ts';

/** The settings that `sweepSubscriptions` follows. */
export const followedSettings = calendarSettings;

export const manageTask = 'MailSubscriptionManagement';

const mostAtOnce = 4;
/** The time after which a job leaves the rest to the next one. */
const askWithinMs = 3_000;

const hasServers = ({ MailServer }: Config) => Object.keys(MailServer).length > 0;
/** SQL: whether there are settings to follow, or subscriptions to disable. */
export const mayDeviate = (config: Config): RawBuilder<unknown> =>
  hasServers(config) ? sql`true` : sql`exists (select from mail_subscription as one where ${isLive('one')})`;

/** Brings the subscriptions in line with the settings and the time. */
export async function sweepSubscriptions({ work, config }: Pick<MailWork, 'work' | 'config'>): Promise<void> {
  await disableUnwanted(work, config);
  if (!hasServers(config)) return;
  await replaceOlder(work, null);
  await alignTenantWide(work, config);
  await queueProvisioning(work, config);
  await queueManagement(work, config);
}

/** Disables subscriptions whose calendar is no longer in the settings, or has another server, kind or mailbox there. */
async function disableUnwanted(db: Database, config: Config): Promise<void> {
  await move(db, {
    mandatorId: null,
    from: liveStates,
    to: 'Disabled',
    which: sql`not exists (
      select from (${serversOf(config)}) as server
      join mail_calendar as calendar on calendar.mandator_id = server.mandator_id and calendar.kind = server.kind
      where server.mandator_id = moved.mandator_id and server.kind = moved.kind and calendar.retired_at is null
        and (moved.calendar_id is null or (calendar.id = moved.calendar_id and lower(calendar.mailbox) = lower(moved.mailbox)
          and server.server_url = moved.server_url)))`,
    text: 'It is no longer in the settings.',
  });
}

/** Queues one job per tenant at a time, so that a mail server that does not answer delays only its own tenant. */
async function queueManagement(db: Database, config: Config): Promise<void> {
  await sql`
    select graphile_worker.add_job(${manageTask}, json_build_object('mandatorId', mandator_id),
      queue_name => 'mail subscriptions ' || mandator_id, job_key => 'mail subscriptions ' || mandator_id,
      job_key_mode => 'preserve_run_at')
    from (${serversOf(config)}) as server
    where ${listingIsDue} or exists (
      select from mail_subscription as due
      where due.mandator_id = server.mandator_id and ${isLive('due')} and due.due_at <= now())
      or (server.kind = 'Google' and exists (
        select from mail_subscription as old
        where old.mandator_id = server.mandator_id and ${isLeftOver('old')}))`.execute(db);
}

/** Checks all subscriptions of a tenant that are due. */
export async function manageSubscriptions(context: MailJob, mandatorId: number): Promise<void> {
  const { config, work, log, turns, once } = context;
  const found = await work.selectFrom('mandator').where('id', '=', mandatorId).select('code').executeTakeFirst();
  const settings = config.MailServer[found?.code ?? ''];
  if (!found || !settings) return;
  const server = { mandatorId, mandator: found.code };
  await moveOverdue(work, log, server);
  const connector = once(openConnectors)(settings);
  // Without a turn the mail server is not asked; the sweep queues the job again.
  await turns.take({ tenant: mandatorId, name: 'subscriptions' }, (turn) =>
    askServer(context, turn, server, connector),
  );
}

/** Renews and probes subscriptions that are due, then ends orphans. */
async function askServer(context: MailWork, turn: Turn, server: MailTenant, connector: Connector): Promise<void> {
  const { work, log } = context;
  const limit = pLimit(mostAtOnce);
  const signal = AbortSignal.any([context.signal, turn.signal]);
  const until = performance.now() + askWithinMs;
  while (!signal.aborted && performance.now() < until) {
    const taken = await takeDue(work, server.mandatorId);
    if (taken.length === 0) break;
    await Promise.all(taken.map((row) => limit(() => lookAfter(context, turn, server, connector, row))));
    await moveOverdue(work, log, server);
  }
  if (signal.aborted) return;
  await endOrphans({ ...context, signal }, turn, server, connector);
  await endLeftOver({ ...context, signal }, turn, server, connector);
}

const isDue = sql`due_at <= now()`;
/** Whether a subscription with a heartbeat has been silent for `minutes`. */
const isSilent = (minutes: RawBuilder<unknown>) => sql`${isDue} and heartbeat_minutes is not null
  and coalesce(seen_at, created_at) <= now() - make_interval(mins => ${minutes})`;

/** Moves subscriptions whose time has run out: an unfinished attempt, no first notification, silence, or expiry. */
async function moveOverdue(db: Database, log: Log, { mandatorId, mandator }: MailTenant): Promise<void> {
  const { lost, unheard } = await db.transaction().execute(async (trx) => {
    const failed = {
      mandatorId,
      to: 'Failed',
      dueAt: sql`now() + ${pauseAfter(failuresInARow('moved'), ...attemptPauses)}`,
    } as const;
    const dead = { mandatorId, from: standingStates, to: 'Dead' } as const;
    await move(trx, {
      ...failed,
      from: ['Provisioning'],
      which: isDue,
      text: 'The service ended while it requested the subscription.',
    });
    const unheard = await move(trx, {
      ...failed,
      from: ['AwaitingFirstPush'],
      which: sql`${isDue} and heartbeat_minutes is not null and seen_at is null`,
      text: sql`'No push received: the mail server has agreed to send notifications to ' || callback_url ||
        ', but none came within two minutes. Check its proxy for outgoing requests, whether it trusts the certificate there, and the firewalls in between.'`,
    });
    const silent = await move(trx, {
      ...dead,
      which: isSilent(sql`2 * heartbeat_minutes`),
      text: sql`'The mail server has sent nothing for ' || 2 * heartbeat_minutes || ' minutes, though it agreed to every ' ||
        heartbeat_minutes || ': it has lost the subscription, or does not reach us.'`,
    });
    const quiet = await move(trx, {
      mandatorId,
      from: ['Active'],
      to: 'Suspect',
      which: isSilent(sql`heartbeat_minutes + 2`),
      text: sql`'The mail server has sent nothing for ' || heartbeat_minutes + 2 || ' minutes.'`,
    });
    const expired = await move(trx, {
      ...dead,
      which: sql`${isDue} and expires_at <= now()`,
      text: sql`coalesce('It has expired; ' || fault_text, 'It has expired.')`,
    });
    const doubted = await move(trx, {
      ...dead,
      from: ['Suspect'],
      which: sql`${isDue} and heartbeat_minutes is null and calendar_id is not null
        and state_since <= now() - interval '20 minutes'`,
      text: 'No notification has arrived for a change that was found by polling.',
    });
    const isUnasked = sql`(heartbeat_minutes is not null or calendar_id is null)`;
    await lookLater(trx, mandatorId, sql`${isLive('one')} and state <> 'Provisioning' and ${isDue} and ${isUnasked}`);
    const lost = [...silent, ...expired, ...doubted];
    const unsure = [...lost, ...quiet].flatMap(({ calendarId }) => calendarId ?? []);
    await markCalendars(trx, unsure, 'Poll');
    return { lost, unheard: unheard.filter(({ isRepeated }) => !isRepeated) };
  });
  if (lost.length > 0) log.warn({ mandator, ...named(lost) }, 'mail subscriptions are dead; new ones are requested');
  if (unheard.length > 0)
    log.warn(
      { mandator, ...named(unheard) },
      'the mail server sends no notifications: check its proxy and the firewalls',
    );
}

const named = (moved: readonly MovedSubscription[]) => ({
  count: moved.length,
  mailboxes: moved.slice(0, 20).map(({ mailbox }) => mailbox),
});

/** Ends orphans on the mail server when a listing is due. */
async function endOrphans(
  { config, work, log, signal }: MailWork,
  turn: Turn,
  server: MailTenant,
  { subscriptions }: Connector,
): Promise<void> {
  const { list, end } = subscriptions ?? {};
  if (!list || !end) return;
  const triedAt = await beginListing(work, server.mandatorId);
  if (!triedAt) return;
  const limit = pLimit(mostAtOnce);
  try {
    turn.begin();
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

/** Ends subscriptions that would push until they expire, on mail servers that cannot list them. */
async function endLeftOver(
  { work, log, signal }: MailWork,
  turn: Turn,
  { mandatorId, mandator }: MailTenant,
  { subscriptions }: Connector,
): Promise<void> {
  const { list, end } = subscriptions ?? {};
  if (list || !end) return;
  for (const { id, externalId } of await takeLeftOver(work, mandatorId)) {
    try {
      turn.begin();
      await end(externalId, signal);
      turn.answered();
      await storeEnded(work, mandatorId, id);
    } catch (error) {
      if (hasAnswered(error)) turn.answered();
      if (signal.aborted) return;
      log.debug({ mandator, ...storedFault(error) }, 'a mail subscription that was replaced could not be ended');
    }
  }
}

/** Deletes subscriptions that ended more than 30 days ago, except a calendar's newest, which says when the next is requested. */
export async function forgetOldSubscriptions(db: Database): Promise<void> {
  await sql`
    delete from mail_subscription where (mandator_id, id) in (
      select mandator_id, id from mail_subscription as old
      where ${isEnded('old')} and state_since < now() - interval '30 days' and not ${rests(sql`old.mandator_id`)} and exists (
        select from mail_subscription as newer
        where newer.mandator_id = old.mandator_id and newer.calendar_id is not distinct from old.calendar_id
          and newer.id > old.id)
      limit 1000 for update skip locked)`.execute(db);
}
