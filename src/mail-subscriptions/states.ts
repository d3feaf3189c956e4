/** What a subscription is, and the one place where it changes its state. */
import { type RawBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import type { Turns } from '../flow/turns.ts';
import type { Fault } from '../mail-servers/service.ts';

/** What background work is given. */
export type MailWork = Pick<Context, 'config' | 'log' | 'once'> & {
  /** Connections without a statement timeout. */
  work: Database;
  /** Aborted when the process is to stop. */
  signal: AbortSignal;
};

/** What a job is given that asks mail servers. */
export type MailJob = MailWork & {
  /** Who does it, as leases know it. */
  runner: string;
  turns: Turns;
};

/** Whose mail server it is. */
export type MailTenant = { mandatorId: number; mandator: string };

/** From the fifth on a subscription never changes again, and another takes its place. */
export const subscriptionStates = [
  'Provisioning',
  'AwaitingFirstPush',
  'Active',
  'Suspect',
  'Dead',
  'Failed',
  'Replaced',
  'Disabled',
] as const;
export type SubscriptionState = (typeof subscriptionStates)[number];

export const coming = sql`('Provisioning', 'AwaitingFirstPush')`;
export const standing = sql`('Active', 'Suspect')`;
const live = `('Provisioning', 'AwaitingFirstPush', 'Active', 'Suspect')`;
export const isLive = (row: string) => sql<boolean>`${sql.ref(`${row}.state`)} in ${sql.raw(live)}`;

type Move = {
  /** Of one tenant; null: of all. */
  mandatorId: number | null;
  from: readonly SubscriptionState[];
  to: SubscriptionState | RawBuilder<unknown>;
  /** Which of them, on columns of `moved`. */
  which: RawBuilder<unknown>;
  /** Why, for people. */
  text: string | null | RawBuilder<unknown>;
  fault?: Fault | null;
  /** When it is looked at next, or of one that failed, when the next is asked for. */
  dueAt?: RawBuilder<unknown>;
  /** What else is written. */
  set?: RawBuilder<unknown>;
  /** Whether it waits for whoever holds the row; otherwise that is left for the next time. */
  waits?: boolean;
};

export type MovedSubscription = {
  id: number;
  calendarId: number | null;
  mailbox: string | null;
  state: SubscriptionState;
  dueAt: Date;
  /** Whether the attempt before it has ended in the same way. */
  isRepeated: boolean;
};

/** Moves subscriptions to another state. The guard in the database refuses what cannot follow, and records the rest. */
export async function move(
  db: Database | Transaction,
  { mandatorId, from, to, which, text, fault = null, dueAt = sql`now()`, set, waits = false }: Move,
): Promise<MovedSubscription[]> {
  const { rows } = await sql<MovedSubscription>`
    with moving as materialized (
      select mandator_id, id from mail_subscription as moved
      where ${mandatorId === null ? sql`true` : sql`mandator_id = ${mandatorId}`} and state = any (${from}::text[]) and ${which}
      order by id for no key update ${waits ? sql`` : sql`skip locked`}
    )
    update mail_subscription as moved
    set state = ${to}, fault = ${fault}, fault_text = ${text}, due_at = ${dueAt} ${set ? sql`, ${set}` : sql``}
    from moving where moved.mandator_id = moving.mandator_id and moved.id = moving.id
    returning moved.id, moved.calendar_id as "calendarId", moved.mailbox, moved.state, moved.due_at as "dueAt", coalesce((
      select (before.state, coalesce(before.fault, before.fault_text)) = (moved.state, coalesce(moved.fault, moved.fault_text))
      from mail_subscription as before
      where before.mandator_id = moved.mandator_id and before.calendar_id = moved.calendar_id and before.id < moved.id
      order by before.id desc limit 1), false) as "isRepeated"`.execute(db);
  return rows;
}

/**
 * The same for what its notifications say, as a part of the statement that records them: `known` are these, with their
 * `mandator_id`, `subscription_id`, `position`, `watermark`, `renews`, `ends` and `is_new` (it is no repetition).
 */
export const moveHeard = `
  update mail_subscription as one set
    seen_at = now(),
    watermark = coalesce(heard.watermark, one.watermark),
    renew_at = case when heard.renews then now() else one.renew_at end,
    due_at = case when heard.renews or one.state in ('AwaitingFirstPush', 'Suspect') then now() else one.due_at end,
    state = case
      when heard.ends is not null and one.state = 'Provisioning' then 'Failed'
      when heard.ends is not null and one.state in ${live} then 'Dead'
      when one.state in ('AwaitingFirstPush', 'Suspect') then 'Active'
      else one.state end,
    fault_text = case
      when heard.ends is not null and one.state in ${live} then heard.ends
      when one.state in ('AwaitingFirstPush', 'Suspect') then null
      else one.fault_text end
  from (
    select mandator_id, subscription_id, bool_or(is_new and renews) as renews,
      min(ends) filter (where is_new) as ends,
      (array_agg(watermark order by position desc) filter (where is_new and watermark is not null))[1] as watermark
    from known group by mandator_id, subscription_id
  ) as heard
  where one.mandator_id = heard.mandator_id and one.id = heard.subscription_id
  returning one.id, one.state`;

/** Standing ones whose calendar has a newer Active one. */
export async function replaceOlder(db: Database | Transaction, mandatorId: number | null): Promise<void> {
  await move(db, {
    mandatorId,
    from: ['Active', 'Suspect'],
    to: 'Replaced',
    which: sql`exists (
      select from mail_subscription as newer
      where newer.mandator_id = moved.mandator_id and newer.calendar_id = moved.calendar_id and newer.id > moved.id
        and newer.state = 'Active')`,
    text: 'A newer one has taken its place.',
  });
}

/**
 * A reading that no push has asked for has found a change so old that its push should have come: the subscription that was
 * Active then is doubted.
 * @param changedAt by the mail server's clock
 */
export async function doubtSubscription(
  trx: Transaction,
  mandatorId: number,
  calendarId: number,
  changedAt: Date,
): Promise<void> {
  await move(trx, {
    mandatorId,
    from: ['Active'],
    to: 'Suspect',
    which: sql`calendar_id = ${calendarId} and state_since < ${changedAt}`,
    text: 'A change was found by reading the calendar; it should have been pushed before.',
  });
}
