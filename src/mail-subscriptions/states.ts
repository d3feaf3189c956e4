/** The states of a subscription, and the only statements that change them. */
import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import type { Fault } from '../mail-servers/service.ts';

const comingStates = ['Provisioning', 'AwaitingFirstPush'] as const;
export const standingStates = ['Active', 'Suspect'] as const;
export const liveStates = [...comingStates, ...standingStates] as const;
const endedStates = ['Dead', 'Failed', 'Replaced', 'Disabled'] as const;
export const subscriptionStates = [...liveStates, ...endedStates] as const;
export type SubscriptionState = (typeof subscriptionStates)[number];

const listed = (states: readonly SubscriptionState[]) => `('${states.join("', '")}')`;
export const coming = sql.raw(listed(comingStates));
export const standing = sql.raw(listed(standingStates));
export const live = listed(liveStates);
/** Whether the subscription `subscription` pushes the changes of `calendar`: one for all calendars may push those of some only. */
export const pushes = (subscription: string, calendar: string) => sql<boolean>`(
  ${sql.ref(`${subscription}.calendar_id`)} = ${sql.ref(`${calendar}.id`)} or (${sql.ref(`${subscription}.calendar_id`)} is null
    and ${sql.ref(`${calendar}.pushed_at`)} >= ${sql.ref(`${subscription}.state_since`)}))`;
export const isLive = (row: string) => sql<boolean>`${sql.ref(`${row}.state`)} in ${sql.raw(live)}`;
/** The opposite of `isLive`, as the indices have it. */
export const isEnded = (row: string) => sql<boolean>`${sql.ref(`${row}.state`)} in ${sql.raw(listed(endedStates))}`;

type Move = {
  /** null: all tenants. */
  mandatorId: number | null;
  from: readonly SubscriptionState[];
  to: SubscriptionState | RawBuilder<unknown>;
  /** The condition on columns of `moved` that selects the subscriptions. */
  which: RawBuilder<unknown>;
  /** The reason, for people. */
  text: string | null | RawBuilder<unknown>;
  fault?: Fault | null;
  /** See `due.ts`. */
  dueAt?: RawBuilder<unknown>;
  /** Further assignments. */
  set?: RawBuilder<unknown>;
  /** Whether to wait for locked rows rather than skip them. */
  waits?: boolean;
};

export type MovedSubscription = {
  id: number;
  calendarId: number | null;
  mailbox: string | null;
  state: SubscriptionState;
  dueAt: Date;
  /** Whether the subscription before it ended in the same way. */
  isRepeated: boolean;
};

/** Moves subscriptions to another state. A trigger in the database refuses forbidden transitions and records the others. */
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
 * Moves subscriptions whose notifications have arrived; a part of the statement that records these. The notifications are `known`, with
 * `mandator_id`, `subscription_id`, `position`, `watermark`, `renews`, `ends` and `is_new` (not a duplicate).
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

/** Moves standing subscriptions whose calendar has a newer Active one to Replaced. */
export async function replaceOlder(db: Database | Transaction, mandatorId: number | null): Promise<void> {
  await move(db, {
    mandatorId,
    from: standingStates,
    to: 'Replaced',
    which: sql`exists (
      select from mail_subscription as newer
      where newer.mandator_id = moved.mandator_id and newer.calendar_id = moved.calendar_id and newer.id > moved.id
        and newer.state = 'Active')`,
    text: 'A newer one has replaced it.',
  });
}

/**
 * Moves the subscription that was Active at a change and pushes those of the calendar to Suspect: a reading has found the change, and
 * its notification is overdue.
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
    which: sql`state_since < ${changedAt} and exists (
      select from mail_calendar as calendar
      where calendar.mandator_id = moved.mandator_id and calendar.id = ${calendarId} and ${pushes('moved', 'calendar')})`,
    text: 'A reading has found a change that should have been pushed.',
  });
}
