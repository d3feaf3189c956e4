/** The status of calendars, for the tenant's Admins and for operators. */
import { sql } from 'kysely';
import { checkOverseer } from '../access.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { answerPerParent } from '../db/per-parent.ts';
import { type Fault, faults, type ServerKind, serverKinds } from '../mail-servers/service.ts';
import { type SubscriptionState, standing, subscriptionStates } from '../mail-subscriptions/service.ts';
import { getMandator, getResource, type Resource } from '../tenants/service.ts';
import {
  type AskedCalendar,
  askedFor,
  cause,
  declineStates,
  isDeclined,
  isUnwritten,
  listOfOne,
  most,
} from './item-lists.ts';
import { nextRead } from './polling.ts';

/** The values of a status's enumerations, for GraphQL. */
export const statusValues = { fault: faults, kind: serverKinds, state: subscriptionStates, cause, declineStates };

export type CalendarStatus = {
  id: number;
  mandatorId: number;
  /** The tenant's code. */
  mandator: string;
  resourceId: number;
  resourceName: string;
  mailbox: string;
  kind: ServerKind;
  /** The state of the standing subscription, or else of the newest; null if there has been none yet. */
  state: SubscriptionState | null;
  stateSince: Date | null;
  /** Why the subscription is not active, or its last failure. */
  stateText: string | null;
  lastPushAt: Date | null;
  expiresAt: Date | null;
  /** When it was, or is, to be renewed. */
  renewAt: Date | null;
  lastReadAt: Date | null;
  /** When it is read next, unless a notification comes before. */
  nextReadAt: Date;
  /** When the oldest change that has not been read yet became known. */
  dirtySince: Date | null;
  foundByPush: number;
  foundByPoll: number;
  /** `status`: the HTTP status of the answer, if there was one. */
  fault: { kind: Fault; text: string; status: number | null } | null;
  /** The time before which the mail server must not be asked, as the fault said; null if it named none, or that has passed. */
  faultUntil: Date | null;
  /** The reading in steps that is under way: its start, and the number of items so far; null: none. */
  reading: { since: string; items: number } | null;
  /** How many workers in a row have died while they read it. */
  deaths: number;
  conflictCount: number;
  /** How many items `listDeclinedOf` finds. */
  declinedCount: number;
  /** Conflicts that should be declined but cannot be. */
  untoldCount: number;
  /** Why, for the one that begins first. */
  untoldReason: string | null;
  /** Items that have no booking because they cannot be read. */
  unreadableCount: number;
  /** Why the calendar cannot be written at the moment; null if it can. */
  writingFault: string | null;
  /** How many items `listUnwrittenOf` finds. */
  unwrittenCount: number;
  /** Why, for the first of them. */
  unwrittenReason: string | null;
};

export type StateChange = {
  id: number;
  calendarId: number;
  subscriptionId: number;
  /** Null: the subscription was created. */
  from: SubscriptionState | null;
  to: SubscriptionState;
  text: string | null;
  at: Date;
};

/** Whether a subscription belongs to a calendar: its own, or the one that CalDav has for all calendars of a tenant. */
export const belongs = sql<boolean>`subscription.mandator_id = calendar.mandator_id and subscription.kind = calendar.kind
  and (subscription.calendar_id = calendar.id or (subscription.calendar_id is null and calendar.kind = 'CalDav'))`;

/** The time of the queued reading, or else when the calendar is due. */
const nextReading = sql<Date>`coalesce(
  (select run_at from graphile_worker._private_jobs where key = 'mail calendar ' || calendar.id), ${nextRead})`;

/** Lists calendars that are not retired, by the names of their rooms: those of a tenant, of all tenants (null), or some of them. */
export async function listCalendars(
  db: Database,
  mandatorId: number | null,
  { ids = null, resourceIds = null }: { ids?: number[] | null; resourceIds?: number[] | null } = {},
): Promise<CalendarStatus[]> {
  const { rows } = await sql<CalendarStatus>`
    select calendar.id, calendar.mandator_id as "mandatorId", mandator.code as mandator,
      calendar.resource_id as "resourceId",
      resource.name as "resourceName", calendar.mailbox, calendar.kind,
      newest.state, newest.state_since as "stateSince", newest.fault_text as "stateText",
      heard.at as "lastPushAt", newest.expires_at as "expiresAt", newest.renew_at as "renewAt", calendar.read_at as "lastReadAt",
      ${nextReading} as "nextReadAt", calendar.dirty_since as "dirtySince",
      calendar.found_by_push::float8 as "foundByPush", calendar.found_by_poll::float8 as "foundByPoll",
      case when fault is not null
        then json_build_object('kind', fault, 'text', calendar.fault_text, 'status', fault_status) end as fault,
      case when fault_until > now() then fault_until end as "faultUntil",
      calendar.deaths,
      case when continuation is not null
        then json_build_object('since', continuation_since, 'items', continuation_items) end as reading,
      (select count(*)::int from mail_item as item
        where item.mandator_id = calendar.mandator_id and item.calendar_id = calendar.id and item.state = 'Conflict'
          and upper(item.occupied) > now()) as "conflictCount",
      (select count(*)::int from mail_decline as decline
        join mail_item as item on item.mandator_id = decline.mandator_id and item.id = decline.item_id
        where decline.mandator_id = calendar.mandator_id and decline.calendar_id = calendar.id and ${isDeclined})
        as "declinedCount",
      untold.count as "untoldCount", untold.reason as "untoldReason",
      (select count(*)::int from mail_item as item
        where item.mandator_id = calendar.mandator_id and item.calendar_id = calendar.id and item.state = 'Unreadable')
        as "unreadableCount",
      writing_fault as "writingFault", unwritten.count as "unwrittenCount", unwritten.reason as "unwrittenReason"
    from mail_calendar as calendar
    join mandator on mandator.id = calendar.mandator_id
    join resource on resource.mandator_id = calendar.mandator_id and resource.id = calendar.resource_id
    left join lateral (
      select state, state_since, fault_text, expires_at, renew_at from mail_subscription as subscription
      where ${belongs} order by state in ${standing} desc, id desc limit 1
    ) as newest on true
    left join lateral (
      select max(seen_at) as at from mail_subscription as subscription where ${belongs}
    ) as heard on true
    cross join lateral (
      select count(*)::int as count, (array_agg(reason order by starts_at))[1] as reason from mail_writing as row
      where row.mandator_id = calendar.mandator_id and row.calendar_id = calendar.id and ${isUnwritten}
    ) as unwritten
    cross join lateral (
      select count(*)::int as count, (array_agg(coalesce(decline.fault, decline.reason) order by item.occupied))[1] as reason
      from mail_decline as decline
      join mail_item as item on item.mandator_id = decline.mandator_id and item.id = decline.item_id
      where decline.mandator_id = calendar.mandator_id and decline.calendar_id = calendar.id
        and decline.state in ('Impossible', 'Refused') and decline.version = item.content_hash and item.state = 'Conflict'
        and upper(item.occupied) > now()
    ) as untold
    where calendar.retired_at is null and (${mandatorId}::integer is null or calendar.mandator_id = ${mandatorId})
      and (${resourceIds}::integer[] is null or calendar.resource_id = any (${resourceIds}::integer[]))
      and (${ids}::integer[] is null or calendar.id = any (${ids}::integer[]))
    order by mandator.code, resource.name_key, calendar.id`.execute(db);
  return rows;
}

/** @param mandator the code of a tenant; undefined: all tenants @throws NotFound */
export async function listCalendarsOf(db: Database, mandator: string | undefined): Promise<CalendarStatus[]> {
  return await listCalendars(db, mandator === undefined ? null : (await getMandator(db, mandator)).mandatorId);
}

export type CalendarRoom = Resource;
export const getRoom = (db: Database, viewer: Viewer, { resourceId }: CalendarStatus): Promise<CalendarRoom> =>
  getResource(db, viewer, resourceId);

/** Lists the calendars of the viewer's tenant, or some of them. @throws Forbidden for a viewer who is no Admin */
export async function overseeCalendars(
  db: Database,
  viewer: Viewer,
  ids: number[] | null = null,
): Promise<CalendarStatus[]> {
  checkOverseer(viewer);
  return await listCalendars(db, viewer.mandatorId, { ids });
}

const calendarsOfResources = answerPerParent<Viewer, null, number, CalendarStatus>(
  async (db, resourceIds, { viewer: { mandatorId } }) =>
    new Map((await listCalendars(db, mandatorId, { resourceIds })).map((one) => [one.resourceId, one])),
);
const calendarsById = answerPerParent<Viewer, null, number, CalendarStatus>(
  async (db, ids, { viewer: { mandatorId } }) =>
    new Map((await listCalendars(db, mandatorId, { ids })).map((one) => [one.id, one])),
);

/** The calendar of a resource, for all resources that are asked about together. @throws Forbidden */
export async function findCalendarOf(
  db: Database,
  viewer: Viewer,
  resourceId: number,
): Promise<CalendarStatus | undefined> {
  checkOverseer(viewer);
  return await calendarsOfResources(db, { viewer, parent: resourceId, asked: null });
}

/** One calendar, for all that are asked about together. @throws Forbidden */
export async function findCalendar(db: Database, viewer: Viewer, id: number): Promise<CalendarStatus | undefined> {
  checkOverseer(viewer);
  return await calendarsById(db, { viewer, parent: id, asked: null });
}

/** Whether notifications are expected. */
export const pushWorks = ({ state }: CalendarStatus): boolean => state === 'Active';

/** Lists the state changes of each calendar's subscriptions, the newest first. */
async function listStateChanges(db: Database, calendars: readonly AskedCalendar[]): Promise<StateChange[]> {
  const { rows } = await sql<StateChange>`
    select change.id::float8 as id, calendar.id as "calendarId", change.subscription_id as "subscriptionId",
      change.from_state as "from", change.to_state as "to", change.text, change.at
    from ${askedFor(calendars)}
    join mail_calendar as calendar using (mandator_id, id)
    cross join lateral (
      select history.* from (
        select * from mail_subscription as subscription where ${belongs} order by id desc limit ${most.changes}
      ) as subscription
      join mail_subscription_history as history
        on history.mandator_id = subscription.mandator_id and history.subscription_id = subscription.id
      order by history.id desc limit ${most.changes}
    ) as change
    order by calendar.id, change.id desc limit ${most.together}`.execute(db);
  return rows;
}

/** The state changes of one calendar, read for all calendars that are asked about together. */
export const listStateChangesOf = listOfOne(listStateChanges);
