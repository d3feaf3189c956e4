/** The rows of mail_decline, each the answer to the organizer of an item whose room is taken; and which items need one. */
import { sql } from 'kysely';
import { lockRooms, occupiesAs } from '../bookings/service.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactWithin } from '../db/lock-timeout.ts';
import { inMs } from '../db/pauses.ts';
import { isLockTimeout } from '../flow/database-errors.ts';
import type { CalendarKey } from './reading.ts';
import { describeConflict } from './standing.ts';

/** Seconds before an item is declined: the room itself may answer first, or become free. */
const restSeconds = 60;
/** How many times a day an item is declined that something else accepts again. */
const mostTimes = 3;
const lockWithinMs = 1_000;

/** Whether conflicts in the calendar of the row `resource` are declined. */
export const declinesOf = sql`coalesce(resource.decline_conflicts, (mandator.parameters ->> 'DeclineConflicts')::boolean, false)`;
/** The bookings in the way of an item, without other mail items: between those the mail server itself decides. */
const inTheWay = sql`from booking as taking
  where taking.mandator_id = item.mandator_id and taking.resource_id = calendar.resource_id and taking.kind <> 'MailItem'
    and ${occupiesAs('taking')} and taking.occupied && item.occupied`;
/** Whether the row `item` of the row `calendar` is a conflict that is to be declined. */
export const needsDecline = sql<boolean>`(item.state = 'Conflict' and lower(item.occupied) > now() and exists (select ${inTheWay}))`;
/** Whether this version of `item` was declined or cannot be, or the next attempt is not due yet. */
const isAnswered = sql`exists (select from mail_decline as decline
  where decline.mandator_id = item.mandator_id and decline.item_id = item.id and decline.version = item.content_hash
    and (decline.state in ('Told', 'Nobody', 'Impossible') or decline.not_before > now()))`;
/** Whether the outcome of the attempt `decline` is unknown: the mail server may have declined the item. */
const mayBeTold = sql<boolean>`(decline.state = 'Telling' or decline.may_be_told)`;
/** Whether the outcome of the attempt `decline` is to be looked up now, as its `item` is not over. */
const isToLookUp = sql`((decline.state = 'Telling' or (decline.may_be_told and decline.not_before <= now()))
  and (upper(item.occupied) <= now()) is not true)`;
/** Whether the row `item` is to be declined now, provided that conflicts in its calendar are declined. */
const isDue = sql`(${needsDecline} and item.changed_at < now() - make_interval(secs => ${restSeconds}) and not ${isAnswered})`;

/** Whether the row `calendar` has items to decline, or attempts to decline one whose outcome is unknown. */
export const hasDeclinesDue = sql<boolean>`(
  exists (select from mail_decline as decline
    join mail_item as item on item.mandator_id = decline.mandator_id and item.id = decline.item_id
    where decline.mandator_id = calendar.mandator_id and decline.calendar_id = calendar.id and ${isToLookUp})
  or (${declinesOf} and exists (select from mail_item as item where item.mandator_id = calendar.mandator_id
    and item.calendar_id = calendar.id and ${isDue})))`;

export type ItemToDecline = {
  id: number;
  itemId: string;
  groupId: string;
  occurrence: string;
  version: Buffer;
  /** Null if the item has become unreadable. */
  start: Date | null;
  end: Date | null;
  /** Whether an earlier attempt has an unknown outcome. */
  mayBeTold: boolean;
  /** How many times in a row declining this version has failed. */
  failures: number;
};

/** Lists the items to decline: first those with an attempt of unknown outcome, then by their start. Those that have failed come last. */
export async function listDeclinesDue(
  db: Database,
  { mandatorId, calendarId, declines }: CalendarKey & { declines: boolean },
  most: number,
): Promise<ItemToDecline[]> {
  const { rows } = await sql<ItemToDecline>`
    select item.id, item.item_id as "itemId", group_id as "groupId", occurrence, content_hash as version,
      lower(item.occupied) as start, upper(item.occupied) as end, coalesce(${mayBeTold}, false) as "mayBeTold",
      case when decline.version = content_hash then decline.failures else 0 end as failures
    from mail_item as item
    join mail_calendar as calendar on calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id
    left join mail_decline as decline on decline.mandator_id = item.mandator_id and decline.item_id = item.id
    where item.mandator_id = ${mandatorId} and item.calendar_id = ${calendarId}
      and (${isToLookUp} or (${declines} and item.state = 'Conflict' and upper(item.occupied) > now() and ${isDue}))
    order by failures, "mayBeTold" desc, lower(item.occupied), item.id limit ${most}`.execute(db);
  return rows;
}

/** Counts the items of a calendar that were declined in the last minute. Items declined earlier count with each new attempt. */
export async function countDeclined(db: Database, { mandatorId, calendarId }: CalendarKey): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from mail_decline
    where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and times > 0 and at > now() - interval '1 minute'`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

export type DeclineAnswer = {
  state: 'Told' | 'Nobody' | 'Impossible' | 'Refused';
  changeKey?: string | null;
  reason?: string | null;
  /** For `Refused`: the pause before the next attempt. */
  restMs?: number;
};

/** Assignments of an update after an attempt that did not fail. */
const noFailure = sql`failures = 0, fault = null, may_be_told = false`;

/** Stores the outcome. Without a `reason`, the stored one stays: the booking that is in the way. */
export async function storeAnswer(
  trx: Database | Transaction,
  { mandatorId, calendarId }: CalendarKey,
  { id, version }: Pick<ItemToDecline, 'id' | 'version'>,
  { state, changeKey = null, reason = null, restMs }: DeclineAnswer,
): Promise<void> {
  const isTold = state === 'Told';
  const notBefore = restMs === undefined ? null : new Date(Date.now() + restMs);
  await sql`
    insert into mail_decline as decline (mandator_id, item_id, calendar_id, version, state, change_key, reason, not_before,
      times, times_since)
    select ${mandatorId}, id, calendar_id, ${version}, ${state}, ${changeKey}, ${reason?.slice(0, 500) ?? null}, ${notBefore},
      ${isTold ? 1 : 0}, case when ${isTold} then now() end
    from mail_item where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and id = ${id}
    on conflict (mandator_id, item_id) do update set version = excluded.version, state = excluded.state, at = now(),
      change_key = coalesce(excluded.change_key, decline.change_key), reason = coalesce(excluded.reason, decline.reason),
      not_before = excluded.not_before, ${noFailure},
      times = case when excluded.times = 0 then decline.times
        when decline.times_since > now() - interval '1 day' then decline.times + 1 else 1 end,
      times_since = case when excluded.times = 0 then decline.times_since
        when decline.times_since > now() - interval '1 day' then decline.times_since else now() end`.execute(trx);
}

const isUninvited = sql`(coalesce(organizer_email, organizer_name) is null or lower(organizer_email) = lower(calendar.mailbox))`;

/** Records the items that cannot be declined: with 'Impossible' all that are due, otherwise those that nobody else organizes. */
export async function recordUndeclinable(
  db: Database,
  { mandatorId, calendarId }: CalendarKey,
  state: 'Nobody' | 'Impossible',
  reason: string,
): Promise<void> {
  await sql`
    insert into mail_decline as decline (mandator_id, item_id, calendar_id, version, state, reason)
    select item.mandator_id, item.id, item.calendar_id, item.content_hash, ${state}, ${reason}
    from mail_item as item
    join mail_calendar as calendar on calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id
    left join mail_decline as decline on decline.mandator_id = item.mandator_id and decline.item_id = item.id
    where item.mandator_id = ${mandatorId} and item.calendar_id = ${calendarId} and item.state = 'Conflict'
      and upper(item.occupied) > now() and ${isDue} and ${mayBeTold} is not true
      and (${state === 'Impossible'} or ${isUninvited})
    on conflict (mandator_id, item_id) do update set version = excluded.version, state = excluded.state, at = now(),
      reason = excluded.reason, not_before = null, ${noFailure}`.execute(db);
}

/** Stores that an attempt has failed, so that the item rests. The row before tells whether the mail server was asked to decline it. */
export async function storeFailure(
  trx: Transaction,
  { mandatorId, calendarId }: CalendarKey,
  { id, version, failures }: Pick<ItemToDecline, 'id' | 'version' | 'failures'>,
  { fault, restMs }: { fault: string; restMs: number },
): Promise<void> {
  await sql`
    insert into mail_decline as decline (mandator_id, item_id, calendar_id, version, state, failures, fault, not_before)
    select ${mandatorId}, id, calendar_id, ${version}, 'Refused', ${failures + 1}, ${fault.slice(0, 500)},
      ${inMs(restMs)}
    from mail_item where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and id = ${id}
    on conflict (mandator_id, item_id) do update set version = excluded.version, state = excluded.state, at = now(),
      failures = excluded.failures, fault = excluded.fault, not_before = excluded.not_before,
      may_be_told = ${mayBeTold}`.execute(trx);
}

/** Deletes an attempt that did not lead to a decline. */
export async function forgetAttempt(
  db: Database,
  { mandatorId }: CalendarKey,
  { id }: Pick<ItemToDecline, 'id'>,
): Promise<void> {
  await sql`
    delete from mail_decline as decline where mandator_id = ${mandatorId} and item_id = ${id} and ${mayBeTold}`.execute(
    db,
  );
}

/** Deletes the attempts in a calendar that another one replaces. */
export async function forgetAttempts(trx: Transaction, mandatorId: number, calendarId: number): Promise<void> {
  await sql`
    delete from mail_decline as decline
    where mandator_id = ${mandatorId} and calendar_id = ${calendarId} and ${mayBeTold}`.execute(trx);
}

export type Claim = { resource: string; kind: 'Booking' | 'Lesson' | 'Block'; start: Date; end: Date };

/**
 * Records that an item is about to be declined. The lock of the room keeps others from booking the item meanwhile.
 * @returns what is in the way; undefined: the item need not be declined any more; 'TooOften': something keeps accepting it;
 * 'Later': another transaction holds the room
 */
export async function claim(
  db: Database,
  { mandatorId, calendarId, resourceId, declines }: CalendarKey & { resourceId: number; declines: boolean },
  { id, version }: ItemToDecline,
  changeKey: string | null,
): Promise<Claim | 'TooOften' | 'Later' | undefined> {
  if (!declines) return undefined;
  const attempt = transactWithin(db, lockWithinMs, async (trx) => {
    await lockRooms(trx, mandatorId, [resourceId]);
    const { rows } = await sql<Claim & { isTooOften: boolean }>`
      select resource.name as resource, first.kind, lower(first.occupied) as start, upper(first.occupied) as end,
        exists (select from mail_decline where mandator_id = ${mandatorId} and item_id = ${id} and times >= ${mostTimes}
          and times_since > now() - interval '1 day') as "isTooOften"
      from mail_item as item
      join mail_calendar as calendar on calendar.mandator_id = item.mandator_id and calendar.id = item.calendar_id
      join resource on resource.mandator_id = calendar.mandator_id and resource.id = calendar.resource_id
      cross join lateral (select taking.kind, taking.occupied ${inTheWay} order by lower(taking.occupied) limit 1) as first
      where item.mandator_id = ${mandatorId} and item.calendar_id = ${calendarId} and item.id = ${id}
        and item.content_hash = ${version} and calendar.retired_at is null and ${needsDecline}`.execute(trx);
    const [found] = rows;
    if (!found) return undefined;
    const { isTooOften, ...claimed } = found;
    if (isTooOften) return 'TooOften';
    const reason = describeConflict(claimed);
    await sql`
      insert into mail_decline (mandator_id, item_id, calendar_id, version, state, change_key, reason)
      values (${mandatorId}, ${id}, ${calendarId}, ${version}, 'Telling', ${changeKey}, ${reason})
      on conflict (mandator_id, item_id) do update set version = excluded.version, state = 'Telling', at = now(),
        change_key = excluded.change_key, reason = excluded.reason, not_before = null`.execute(trx);
    return claimed;
  });
  return await attempt.catch((error: unknown) => {
    if (!isLockTimeout(error)) throw error;
    return 'Later' as const;
  });
}
