/**
 * ProvisionMailSubscription (specification 6): asks the mail server for a subscription of a calendar that has none, or whose
 * subscription is to be replaced. The rows alone say whether an attempt is due, so a worker may die at any line.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { doubledPause, pauseAfter } from '../db/pauses.ts';
import type { Turn } from '../flow/turns.ts';
import { beginningOf, type Log, withoutSecrets } from '../log.ts';
import {
  type Fault,
  type GrantedSubscription,
  hasAnswered,
  openConnectors,
  ServerFault,
} from '../mail-servers/service.ts';
import { withSecret } from './callback-url.ts';
import { deathsInARow, diedYoung, endOthersWaits, failuresInARow, lookLater } from './due.ts';
import { markCalendars } from './marks.ts';
import { openSecrets } from './secrets.ts';
import { coming, move, replaceOlder, standing } from './states.ts';
import { serversOf } from './tenant-wide.ts';
import type { MailJob } from './work.ts';

export const provisionTask = 'ProvisionMailSubscription';

/** The most concurrent attempts for one tenant. While its mail server refuses them, only one at a time is made, when it is due. */
const mostAtOnce = 4;
const heartbeatMinutes = 10;
/** The first and the longest pause between attempts. */
export const attemptPauses = ['30 seconds', '30 minutes'] as const;
/** The lifetime of a subscription that cannot be renewed; after it another one replaces it. */
const lifetime = sql`(interval '7 days' + random() * interval '12 hours')`;

/** A failed request to a mail server, as its row stores it; `fault` is null for an internal error. */
type StoredFault = { fault: Fault | null; text: string; retryAt: Date | null };

/**
 * Selects the calendars that need a subscription and have no attempt under way, with the time of the next attempt: the `due_at`
 * of the attempt that failed, or a growing pause after subscriptions that died young: without jitter, as each sweep computes it anew.
 */
const wanting = (servers: RawBuilder<unknown>) => sql`
  select calendar.mandator_id, calendar.id as calendar_id, calendar.mailbox, calendar.address, server.code, server.kind,
    server.server_url, server.callback_url, case when newest.state = 'Failed' then newest.fault end as fault_before,
    coalesce(case
      when newest.state = 'Failed' then newest.due_at
      when newest.state = 'Dead' and ${diedYoung('newest')}
        then newest.state_since + ${doubledPause(deathsInARow('newest'), ...attemptPauses)}
      end, '-infinity') as due_at
  from (${servers}) as server
  join mail_calendar as calendar
    on calendar.mandator_id = server.mandator_id and calendar.kind = server.kind and calendar.retired_at is null
  left join lateral (
    select * from mail_subscription as attempt
    where attempt.mandator_id = calendar.mandator_id and attempt.calendar_id = calendar.id order by attempt.id desc limit 1
  ) as newest on true
  where server.kind not in ('CalDav', 'ICalendar')
    and not exists (
      select from mail_subscription as asked
      where asked.mandator_id = calendar.mandator_id and coalesce(asked.calendar_id, 0) = calendar.id
        and asked.state in ${coming})
    and not exists (
      select from mail_subscription as good
      where good.mandator_id = calendar.mandator_id and good.calendar_id = calendar.id and good.state in ${standing}
        -- A silent one is most likely dead: the next is requested before that is certain.
        and not (good.state = 'Suspect' and good.heartbeat_minutes is not null)
        -- What cannot be renewed is replaced at that time.
        and (good.renew_at > now() or (good.kind = 'Graph' and good.expires_at is not null))
        -- Workers with different settings, as during a deployment, must not keep replacing each other's subscriptions.
        and (good.callback_url = server.callback_url or good.state_since > now() - interval '1 minute'))`;

/** The tenants whose mail server refused the last attempt, with the end of their wait; until it grants one or answers a reading. */
const refused = sql`
  select mandator_id, last.due_at
  from server cross join lateral (
    select id, state_since, due_at from mail_subscription as failed
    where failed.mandator_id = server.mandator_id and failed.state = 'Failed'
      and failed.fault in ('Unreachable', 'Throttled', 'AccessLost')
    order by failed.state_since desc limit 1
  ) as last
  where not exists (
      select from mail_calendar as calendar
      where calendar.mandator_id = server.mandator_id and calendar.read_at > last.state_since)
    and not exists (
      select from mail_subscription as granted
      where granted.mandator_id = server.mandator_id and granted.id > last.id
        and granted.state in ('AwaitingFirstPush', 'Active'))`;

/** Counts the attempts under way for the tenant of a row of `name`. */
const underWay = (name: string) => sql`(
  select count(*) from mail_subscription as trying
  where trying.mandator_id = ${sql.ref(`${name}.mandator_id`)} and trying.state = 'Provisioning')`;

/** Queues ProvisionMailSubscription for calendars that are due, a few of each tenant at a time. */
export async function queueProvisioning(db: Database, config: Config): Promise<void> {
  await sql`
    with server as materialized (${serversOf(config)}), refused as materialized (${refused}), picked as (
      select mandator_id, calendar_id, row_number() over (partition by mandator_id order by due_at, calendar_id) as place
      from (${wanting(sql`table server`)}) as wanting where due_at <= now()
    )
    select graphile_worker.add_job(${provisionTask},
      json_build_object('mandatorId', mandator_id, 'calendarId', calendar_id),
      job_key => 'mail subscription of calendar ' || calendar_id, job_key_mode => 'preserve_run_at')
    from picked left join refused using (mandator_id)
    where (refused.due_at <= now()) is not false
      and place <= case when refused.due_at is null then ${mostAtOnce} else 1 end - ${underWay('picked')}`.execute(db);
}

type Attempt = {
  id: number;
  mandatorId: number;
  calendarId: number;
  mandator: string;
  mailbox: string;
  address: string | null;
  callbackUrl: string;
  /** The fault of the previous attempt, if that failed. */
  faultBefore: Fault | null;
};

/** @returns undefined when the calendar needs no subscription, no attempt is due yet, or another worker makes one */
async function beginAttempt(
  db: Database,
  config: Config,
  mandatorId: number,
  calendarId: number,
): Promise<Attempt | undefined> {
  const { rows } = await sql<Attempt>`
    with wanting as materialized (
      select * from (${wanting(serversOf(config))}) as wanting
      where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and due_at <= now()
        and ${underWay('wanting')} < ${mostAtOnce}
    ), made as (
      insert into mail_subscription (mandator_id, calendar_id, kind, server_url, mailbox, callback_url, due_at)
      select mandator_id, calendar_id, kind, server_url, mailbox, callback_url, now() + interval '2 minutes' from wanting
      on conflict do nothing
      returning id
    )
    select made.id, mandator_id as "mandatorId", calendar_id as "calendarId", code as mandator, mailbox, address,
      callback_url as "callbackUrl", fault_before as "faultBefore"
    from made, wanting`.execute(db);
  return rows[0];
}

/**
 * Makes one attempt to get a subscription for a calendar that needs one. A failure is stored in the attempt's row, not thrown.
 * No database connection is held while the mail server is asked, as its handshake may arrive at this very process.
 */
export async function provisionSubscription(
  context: MailJob,
  { mandatorId, calendarId }: { mandatorId: number; calendarId: number },
): Promise<void> {
  const { config, work, signal, turns } = context;
  let wasMade = false;
  await turns.take({ tenant: mandatorId, name: `subscription of calendar ${calendarId}` }, async (turn) => {
    const attempt = await beginAttempt(work, config, mandatorId, calendarId);
    if (!attempt) return;
    await makeAttempt(context, attempt, turn);
    await forgetAttempts(work, mandatorId, calendarId);
    wasMade = true;
  });
  // Otherwise the worker that is making an attempt queues the next one, or the sweep does when the tenant gets a turn.
  if (wasMade && !signal.aborted) await queueProvisioning(work, config);
}

async function makeAttempt({ config, work, log, signal, once }: MailJob, attempt: Attempt, turn: Turn): Promise<void> {
  const { subscriptions } = once(openConnectors)(config.MailServer[attempt.mandator]!);
  const secrets = openSecrets(config);
  const terms = {
    callback: withSecret(attempt.callbackUrl, secrets.make('callback', attempt.id)),
    clientState: secrets.make('client state', attempt.id),
    heartbeatMinutes,
  };
  let granted: GrantedSubscription;
  try {
    if (!subscriptions) throw new Error(`no subscriptions for ${attempt.mandator}`);
    const remote = { mailbox: attempt.mailbox, address: attempt.address };
    turn.begin();
    granted = await subscriptions.subscribe(remote, terms, AbortSignal.any([signal, turn.signal]));
  } catch (error) {
    if (hasAnswered(error)) turn.answered();
    else if (turn.isCutShort() && !signal.aborted) return await withdraw(work, attempt);
    if (!signal.aborted && !(error instanceof ServerFault))
      log.error({ err: (error as Error).stack }, 'the request for a mail subscription failed');
    const interrupted = {
      fault: null,
      text: 'The service was stopped while it requested the subscription.',
      retryAt: null,
    };
    return await failAttempt(work, log, attempt, signal.aborted ? interrupted : storedFault(error));
  }
  turn.answered();
  await storeGranted(work, log, attempt, granted, subscriptions.heartbeat);
}

/**
 * Deletes an attempt that was cut short in favour of other tenants. If the mail server grants the subscription nevertheless, it is
 * an orphan.
 */
async function withdraw(db: Database, { mandatorId, id }: Attempt): Promise<void> {
  await sql`
    delete from mail_subscription
    where mandator_id = ${mandatorId} and id = ${id} and state = 'Provisioning'`.execute(db);
}

export function storedFault(error: unknown): StoredFault {
  if (error instanceof ServerFault)
    return { fault: error.fault, text: faultText(error.message), retryAt: error.retryAt };
  return { fault: null, text: 'An internal error; see the log of the service.', retryAt: null };
}

/** The message of a mail server's fault, without our secrets, which the server may have echoed. */
function faultText(message: string): string {
  return withoutSecrets(beginningOf(message, 4_000))
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, 500)
    .toWellFormed();
}

/** @param hasHeartbeat whether the subscription becomes Active only with its first notification */
async function storeGranted(
  db: Database,
  log: Log,
  { id, mandatorId, calendarId, mandator, mailbox, faultBefore }: Attempt,
  { externalId, expiresAt, watermark }: GrantedSubscription,
  hasHeartbeat: boolean,
): Promise<void> {
  const state = await db.transaction().execute(async (trx) => {
    const [granted] = await move(trx, {
      mandatorId,
      from: ['Provisioning'],
      // A notification may arrive before this answer is stored.
      to: sql`case when ${hasHeartbeat}::boolean and moved.seen_at is null then 'AwaitingFirstPush' else 'Active' end`,
      which: sql`id = ${id}`,
      waits: true,
      text: null,
      dueAt: sql`now() + interval '2 minutes'`,
      set: sql`external_id = ${externalId}, expires_at = ${expiresAt}, watermark = ${watermark},
        heartbeat_minutes = ${hasHeartbeat ? heartbeatMinutes : null}::integer,
        renew_at = now() + ${expiresAt === null ? lifetime : halfOf(expiresAt)}`,
    });
    if (!granted) return undefined;
    await lookLater(trx, mandatorId, sql`id = ${id} and state = 'Active'`);
    await replaceOlder(trx, mandatorId);
    await endOthersWaits(trx, mandatorId, calendarId, faultBefore);
    // No notification has reported the changes since the last reading.
    await markCalendars(trx, [calendarId], 'Poll');
    return granted.state;
  });
  // A subscription that was granted too late is an orphan: a listing finds it, or the answer to its first notification ends it.
  log.info({ mandator, mailbox, state: state ?? 'too late' }, 'mail subscription granted');
}

/** Half of the time until `expiresAt`, or a little less, so that subscriptions granted together are not renewed together. */
export const halfOf = (expiresAt: Date) => sql`(${expiresAt}::timestamptz - now()) * (0.45 + 0.05 * random())`;

/** `own`, or the mail server's `retryAt` if that is later, but within a day; by the database's clock. */
export function notBefore(own: RawBuilder<unknown>, retryAt: Date | null): RawBuilder<unknown> {
  if (retryAt === null) return own;
  const seconds = Math.min((retryAt.getTime() - Date.now()) / 1_000, 86_400);
  return sql`greatest(${own}, now() + make_interval(secs => ${seconds}))`;
}

async function failAttempt(
  db: Database,
  log: Log,
  { id, mandatorId, mandator, mailbox }: Attempt,
  { fault, text, retryAt }: StoredFault,
): Promise<void> {
  const [first, longest] = fault === 'AccessLost' ? (['5 minutes', '6 hours'] as const) : attemptPauses;
  const [failed] = await move(db, {
    mandatorId,
    from: ['Provisioning'],
    to: 'Failed',
    which: sql`id = ${id}`,
    waits: true,
    fault,
    text,
    dueAt: notBefore(sql`now() + ${pauseAfter(failuresInARow('moved'), first, longest)}`, retryAt),
  });
  if (!failed) return;
  const level = failed.isRepeated ? 'debug' : fault === 'AccessLost' ? 'error' : 'warn';
  log[level]({ mandator, mailbox, fault, text, again: failed.dueAt }, 'mail subscription was not granted');
}

/** The number of newest attempts that are kept: the pause before the next one doubles with each. */
const keptAttempts = 20;

/** Deletes a calendar's failed attempts except the newest and those of the last day: if push is blocked, many accumulate for weeks. */
async function forgetAttempts(db: Database, mandatorId: number, calendarId: number): Promise<void> {
  const own = sql`mandator_id = ${mandatorId} and calendar_id = ${calendarId}`;
  await sql`
    delete from mail_subscription where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription
      where ${own} and state = 'Failed' and seen_at is null and state_since < now() - interval '1 day'
        and id < (select id from mail_subscription where ${own} order by id desc offset ${keptAttempts} limit 1)
      order by id for update skip locked)`.execute(db);
}
