/**
 * The subscriptions of calendars, as rows. Each attempt to get one is a row of its own, and the database refuses every move
 * that its guard does not know. At most one per calendar is **coming** (Provisioning, AwaitingFirstPush); beside it one may
 * be **standing** (Active, Suspect), whose place it is to take: that one is Replaced when the new one has become Active, so
 * that one always pushes. When something is to happen next is `due_at`, and told from stored times by the database's clock.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Config } from '../config.ts';
import type { Database, Transaction } from '../db/database.ts';
import { beginningOf, withoutSecrets } from '../log.ts';
import { callbackUrl } from './callback-url.ts';
import { markCalendars } from './marks.ts';
import type { SubscriptionState } from './subscription.ts';

export const coming = sql`('Provisioning', 'AwaitingFirstPush')`;
export const standing = sql`('Active', 'Suspect')`;
export const live = sql`('Provisioning', 'AwaitingFirstPush', 'Active', 'Suspect')`;
export const ended = sql`('Dead', 'Failed', 'Replaced', 'Disabled')`;

/** The mail servers that the settings name, as a query of (mandator_id, code, kind, server_url, callback_url). */
export function serversOf(config: Config): RawBuilder<unknown> {
  const servers = Object.entries(config.MailServer).map(([mandator, { Kind, Url }]) => ({
    mandator,
    kind: Kind,
    url: Url,
    callback: callbackUrl(config, mandator),
  }));
  return sql`
    select mandator.id as mandator_id, mandator.code, setting.kind, setting.url as server_url,
      setting.callback as callback_url
    from jsonb_to_recordset(${JSON.stringify(servers)}::jsonb)
      as setting (mandator text, kind text, url text, callback text)
    join mandator on mandator.code = setting.mandator`;
}

/** A pause that doubles with each failure, give or take a tenth, so that those who failed together do not come back together. */
export function pauseAfter(failures: RawBuilder<unknown>, first: string, most: string): RawBuilder<unknown> {
  return sql`least(${first}::interval * 2 ^ least(${failures}, 20), ${most}::interval) * (0.9 + 0.2 * random())`;
}

/** Those of the calendar of `row` that are in `state`, and came after the last of which `proof` is true; on columns of `one`. */
function countSince(row: string, state: SubscriptionState, proof: RawBuilder<unknown>): RawBuilder<number> {
  const own = sql`mandator_id = ${sql.ref(`${row}.mandator_id`)} and calendar_id = ${sql.ref(`${row}.calendar_id`)}`;
  return sql`(
    select count(*) from mail_subscription where ${own} and state = ${state}
      and id > coalesce((select max(id) from mail_subscription as one where ${own} and ${proof}), 0))`;
}

/** How many attempts for the calendar of `row` have failed since the mail server has granted one that was of use. */
export const failuresInARow = (row: string) =>
  countSince(row, 'Failed', sql`external_id is not null and state not in ('Failed', 'AwaitingFirstPush')`);

/** Whether the one that has ended, `name`, did so at once: before ten minutes, or half of the time that it was to live. */
export function diedYoung(name: string): RawBuilder<boolean> {
  const [createdAt, expiresAt] = [sql.ref(`${name}.created_at`), sql.ref(`${name}.expires_at`)];
  return sql`${sql.ref(`${name}.state_since`)} < ${createdAt}
    + greatest(interval '1 minute', least(interval '10 minutes', (${expiresAt} - ${createdAt}) / 2))`;
}

/** How many for the calendar of `row` have died young since one has lived; what failed before it was granted does not count. */
export const deathsInARow = (row: string) =>
  countSince(
    row,
    'Dead',
    sql`(state in ${standing} or (state in ('Dead', 'Replaced', 'Disabled') and not (${diedYoung('one')})))`,
  );

/** When a standing one is looked at next: before it is silent for too long, is to be renewed or asked for, or expires. */
export const nextLook = sql`greatest(now() + interval '10 seconds', case
  when heartbeat_minutes is not null and state = 'Suspect'
    then coalesce(seen_at, created_at) + make_interval(mins => 2 * heartbeat_minutes)
  when heartbeat_minutes is not null
    then coalesce(seen_at, created_at) + make_interval(mins => heartbeat_minutes + 2)
  when state = 'Suspect' then least(now() + interval '5 minutes', expires_at)
  else least(now() + interval '60 minutes' * (0.9 + 0.2 * random()), renew_at, expires_at) end)`;

type Moved = {
  id: number;
  calendarId: number | null;
  mailbox: string | null;
  /** Whether the attempt before it has ended in the same way. */
  isRepeated: boolean;
};

/**
 * Moves those of a tenant that are in one of the states `from` and meet `condition`, on columns of `mail_subscription`. One
 * that somebody else is just changing is left for the next time, so nobody waits here. What such a move brings into doubt is
 * read again.
 */
export async function moveSubscriptions(
  db: Database,
  move: {
    mandatorId: number;
    from: readonly SubscriptionState[];
    to: SubscriptionState;
    condition: RawBuilder<unknown>;
    text: RawBuilder<unknown>;
    dueAt?: RawBuilder<unknown>;
  },
): Promise<Moved[]> {
  const { mandatorId, from, to, condition, text, dueAt = sql`now()` } = move;
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<Moved>`
      with moving as materialized (
        select id from mail_subscription
        where mandator_id = ${mandatorId} and state = any (${from}::text[]) and ${condition}
        order by id for no key update skip locked
      )
      update mail_subscription as moved set state = ${to}, fault = null, fault_text = ${text}, due_at = ${dueAt}
      from moving where moved.mandator_id = ${mandatorId} and moved.id = moving.id
      returning moved.id, moved.calendar_id as "calendarId", moved.mailbox, ${isRepeated} as "isRepeated"`.execute(trx);
    if (to === 'Suspect' || to === 'Dead') await markCalendars(trx, await calendarsOf(trx, mandatorId, rows), 'Poll');
    return rows;
  });
}

const isRepeated = sql`coalesce((
  select (before.state, before.fault_text) = (moved.state, moved.fault_text) from mail_subscription as before
  where before.mandator_id = moved.mandator_id and before.calendar_id = moved.calendar_id and before.id < moved.id
  order by before.id desc limit 1), false)`;

/** One that is for no calendar alone is for all of the tenant. */
async function calendarsOf(
  trx: Transaction,
  mandatorId: number,
  moved: readonly Pick<Moved, 'calendarId'>[],
): Promise<number[]> {
  const own = moved.flatMap(({ calendarId }) => calendarId ?? []);
  if (own.length === moved.length) return own;
  const { rows } = await sql<{ id: number }>`
    select id from mail_calendar where mandator_id = ${mandatorId} and retired_at is null`.execute(trx);
  return rows.map(({ id }) => id);
}

/** A standing one whose calendar has a newer Active one has done its duty. @param mandatorId null: of all tenants */
export async function replaceOlder(db: Database | Transaction, mandatorId: number | null): Promise<void> {
  await sql`
    with older as materialized (
      select mandator_id, id from mail_subscription as older
      where state in ${standing} and (${mandatorId}::integer is null or mandator_id = ${mandatorId})
        and exists (
          select from mail_subscription as newer
          where newer.mandator_id = older.mandator_id and newer.calendar_id = older.calendar_id and newer.id > older.id
            and newer.state = 'Active')
      order by id for no key update skip locked
    )
    update mail_subscription as replaced set state = 'Replaced', fault = null, fault_text = 'A newer one has taken its place.'
    from older where replaced.mandator_id = older.mandator_id and replaced.id = older.id`.execute(db);
}

/**
 * A reading that no push has asked for has found a change so old that its push should have come: the subscription that was
 * Active then is doubted, and looked at. Waits for nobody, so it may be called under any locks.
 * @param changedAt by the mail server's clock
 */
export async function doubtSubscription(
  trx: Transaction,
  mandatorId: number,
  calendarId: number,
  changedAt: Date,
): Promise<void> {
  await sql`
    update mail_subscription set state = 'Suspect', due_at = now(),
      fault_text = 'A change was found by reading the calendar; it should have been pushed before.'
    where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription
      where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and state = 'Active' and state_since < ${changedAt}
      for no key update skip locked)`.execute(trx);
}

/** Forgets what has ended more than 30 days ago, but not a calendar's newest, which tells when the next is asked for. */
export async function forgetOldSubscriptions(db: Database): Promise<void> {
  await sql`
    delete from mail_subscription where (mandator_id, id) in (
      select mandator_id, id from mail_subscription as old
      where state in ${ended} and state_since < now() - interval '30 days' and exists (
        select from mail_subscription as newer
        where newer.mandator_id = old.mandator_id and newer.calendar_id is not distinct from old.calendar_id
          and newer.id > old.id)
      limit 1000 for update skip locked)`.execute(db);
}

/** How many attempts are kept, in the order of which the next one's pause doubles. */
const keptAttempts = 20;

/** Forgets failed attempts for a calendar but the newest and those of a day: where push is blocked there are many for weeks. */
export async function forgetAttempts(db: Database, mandatorId: number, calendarId: number): Promise<void> {
  const own = sql`mandator_id = ${mandatorId} and calendar_id = ${calendarId}`;
  await sql`
    delete from mail_subscription where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription
      where ${own} and state = 'Failed' and seen_at is null and state_since < now() - interval '1 day'
        and id < (select id from mail_subscription where ${own} order by id desc offset ${keptAttempts} limit 1)
      order by id for update skip locked)`.execute(db);
}

/** What a mail server did, for people and without our secrets; it may have sent them back to us. */
export function faultText(message: string): string {
  return withoutSecrets(beginningOf(message, 4_000))
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, 500)
    .toWellFormed();
}
