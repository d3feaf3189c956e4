/** `due_at`, by the database's clock: when a subscription is checked next; after a failed attempt, when the next one is made. */
import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import type { Fault } from '../mail-servers/service.ts';
import { releaseCalendars } from './marks.ts';
import { type SubscriptionState, standing } from './states.ts';

/** Counts the subscriptions in `state` of the calendar of `row` since the newest that meets `proof` (on columns of `one`). */
function countSince(row: string, state: SubscriptionState, proof: RawBuilder<unknown>): RawBuilder<number> {
  const own = sql`mandator_id = ${sql.ref(`${row}.mandator_id`)} and calendar_id = ${sql.ref(`${row}.calendar_id`)}`;
  return sql`(
    select count(*) from mail_subscription where ${own} and state = ${state}
      and id > coalesce((select max(id) from mail_subscription as one where ${own} and ${proof}), 0))`;
}

/** Counts the failed attempts for the calendar of `row` since the mail server last granted a subscription that worked. */
export const failuresInARow = (row: string) =>
  countSince(row, 'Failed', sql`external_id is not null and state not in ('Failed', 'AwaitingFirstPush')`);

/** Whether an ended subscription ended early: within ten minutes or half of its lifetime (one minute at least). */
export function diedYoung(row: string): RawBuilder<boolean> {
  const [createdAt, expiresAt] = [sql.ref(`${row}.created_at`), sql.ref(`${row}.expires_at`)];
  return sql`${sql.ref(`${row}.state_since`)} < ${createdAt}
    + greatest(interval '1 minute', least(interval '10 minutes', (${expiresAt} - ${createdAt}) / 2))`;
}

/** Counts the subscriptions for the calendar of `row` that died young since the last that lived; failed attempts do not count. */
export const deathsInARow = (row: string) =>
  countSince(
    row,
    'Dead',
    sql`(state in ${standing} or (state in ('Dead', 'Replaced', 'Disabled') and not (${diedYoung('one')})))`,
  );

/** The time of the next check: when a subscription would be silent for too long, is to be renewed or probed, or expires. */
const nextLook = sql`greatest(now() + interval '10 seconds', case
  when calendar_id is null then now() + interval '1 day'
  when heartbeat_minutes is not null and state = 'Suspect'
    then coalesce(seen_at, created_at) + make_interval(mins => 2 * heartbeat_minutes)
  when heartbeat_minutes is not null
    then coalesce(seen_at, created_at) + make_interval(mins => heartbeat_minutes + 2)
  when state = 'Suspect' then least(now() + interval '5 minutes', expires_at)
  else least(now() + interval '60 minutes' * (0.9 + 0.2 * random()), renew_at, expires_at) end)`;

async function setDue(
  db: Database | Transaction,
  mandatorId: number,
  which: RawBuilder<unknown>,
  dueAt: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    update mail_subscription set due_at = ${dueAt}
    where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription as one where mandator_id = ${mandatorId} and ${which}
      order by id for no key update skip locked)`.execute(db);
}

/** Sets the next check of subscriptions. Skips locked rows, as all functions here do. @param which on columns of `one` */
export const lookLater = (db: Database | Transaction, mandatorId: number, which: RawBuilder<unknown>) =>
  setDue(db, mandatorId, which, nextLook);

/** Makes a subscription due at once, because its check was interrupted. */
export const lookAgain = (db: Database, mandatorId: number, id: number) =>
  setDue(db, mandatorId, sql`id = ${id} and state in ${standing}`, sql`now()`);

const isNewest = sql`not exists (
  select from mail_subscription as newer
  where newer.mandator_id = one.mandator_id and newer.calendar_id = one.calendar_id and newer.id > one.id)`;

/**
 * Makes the next attempt after a failed one due now, because the mail server answers again or an operator may have fixed the
 * cause. An attempt after Throttled keeps its time, which the mail server has set.
 */
export async function attemptSoon(trx: Transaction, mandatorId: number, calendarIds: readonly number[]): Promise<void> {
  const which = sql`calendar_id = any (${calendarIds}::integer[]) and state = 'Failed' and due_at > now()
    and fault is distinct from 'Throttled' and ${isNewest}`;
  if (calendarIds.length > 0) await setDue(trx, mandatorId, which, sql`now()`);
}

/**
 * Ends the waits of a tenant's other calendars (readings, attempts to subscribe, renewals) after `fault`, once one calendar has
 * recovered from it. Work after Throttled keeps its time, which the mail server has set.
 */
export async function endOthersWaits(
  trx: Transaction,
  mandatorId: number,
  calendarId: number,
  fault: Fault | null,
): Promise<void> {
  if (fault === null || fault === 'Throttled') return;
  await releaseCalendars(trx, mandatorId, calendarId, fault);
  const which = sql`calendar_id <> ${calendarId} and due_at > now() and fault = ${fault}
    and (state in ${standing} or (state = 'Failed' and ${isNewest}))`;
  await setDue(trx, mandatorId, which, sql`now()`);
}
