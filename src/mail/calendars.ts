/** Keeps the calendars in line with the settings (contract 7). */
import { type RawBuilder, sql } from 'kysely';
import { type BookableRoom, cancelMailItems, lockRooms } from '../bookings/service.ts';
import type { Config } from '../config.ts';
import type { Context } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactWithin } from '../db/lock-timeout.ts';
import { rests, restsByCode } from '../db/resting.ts';
import { isLockTimeout } from '../flow/database-errors.ts';
import { calendarSettings, type ServerKind } from '../mail-servers/service.ts';
import { attemptSoon, markCalendars } from '../mail-subscriptions/service.ts';
import { forgetAttempts } from './decline-rows.ts';
import { readNow } from './polling.ts';
import { forgetSteps, noContinuation, noFault } from './reading.ts';
import { asGone } from './stored-items.ts';
import { forgetWritten } from './written-rows.ts';

/** The settings that `alignCalendars` follows. */
export const followedSettings = calendarSettings;

/** SQL: whether there are calendars that are read. */
export const hasCalendars = sql<boolean>`exists (select from mail_calendar where retired_at is null)`;
/** SQL: whether there are settings to follow, or calendars to retire. */
export const mayDeviate = ({ MailServer }: Config): RawBuilder<boolean> =>
  Object.keys(MailServer).length > 0 ? sql`true` : hasCalendars;

/** Why a calendar of the settings is not read. */
export type SettingsFault = {
  /** For people; names the setting. */
  text: string;
  remedy: string;
};

type WantedCalendar = { mandatorId: number; resourceId: number; kind: ServerKind; mailbox: string };

/** How long a change waits for the lock of its room. */
const lockWithinMs = 200;

type Existing = WantedCalendar & { id: number; isRetired: boolean };

/** The calendars that the settings name, and the faults of the settings. */
type CalendarPlan = {
  wanted: WantedCalendar[];
  faults: SettingsFault[];
  /** Tenants that have settings. */
  mandatorIds: Set<number>;
  /** Whether a calendar is left alone: its tenant is being moved, or its setting names no resource or several. */
  isSpared(existing: Existing): boolean;
};

/** One calendar of the settings; with `name` null, all resources of the tenant that have a mailbox. */
type Setting = { mandator: string; mailbox: string | null; name: string | null; location: string | null };

type Meant = {
  mandatorId: number | null;
  isResting: boolean;
  resources: { id: number; active: boolean; mailbox: string }[];
};

const settingsOf = ({ MailServer }: Config): Setting[] =>
  Object.entries(MailServer).flatMap(([mandator, { Calendars }]): Setting[] =>
    Calendars
      ? Calendars.map(({ Mailbox, ResourceName, LocationName }) => ({
          mandator,
          mailbox: Mailbox.trim(),
          name: ResourceName,
          location: LocationName ?? null,
        }))
      : [{ mandator, mailbox: null, name: null, location: null }],
  );

/** Finds the resources of each setting: by name, or all with a mailbox. Each branch of the union uses an index. */
async function findResources(db: Database, settings: readonly Setting[]): Promise<Meant[]> {
  if (settings.length === 0) return [];
  const { rows } = await sql<Meant>`
    select mandator.id as "mandatorId", ${restsByCode(sql`setting.mandator`)} as "isResting",
      coalesce(meant.resources, '[]') as resources
    from rows from (jsonb_to_recordset(${JSON.stringify(settings)})
      as (mandator text, mailbox text, name text, location text))
      with ordinality as setting(mandator, mailbox, name, location, position)
    left join mandator on mandator.code = setting.mandator
    left join lateral (
      select json_agg(json_build_object('id', resource.id, 'active', resource.active,
        'mailbox', coalesce(setting.mailbox, btrim(resource.mailbox))) order by resource.id) as resources
      from (
        select * from resource where setting.name is null and mandator_id = mandator.id and active and btrim(mailbox) <> ''
        union all
        select * from resource where mandator_id = mandator.id and name_key = name_key(setting.name)
          and (setting.location is null or location_id = (
            select id from location where mandator_id = mandator.id and name_key = name_key(setting.location)))
      ) as resource
    ) as meant on true
    order by setting.position`.execute(db);
  return rows;
}

async function readPlan(db: Database, config: Config): Promise<CalendarPlan> {
  const settings = settingsOf(config);
  const found = await findResources(db, settings);
  const wanted: WantedCalendar[] = [];
  const faults: SettingsFault[] = [];
  const spared = new Set<string>();
  const resting = new Set<number | null>();
  const mandatorIds = new Set<number>();
  const taken = new Set<string>();
  const take = (key: string) => !taken.has(key) && Boolean(taken.add(key));
  for (const [index, setting] of settings.entries()) {
    const { mandator, name, location } = setting;
    const { mandatorId, isResting, resources } = found[index] as Meant;
    if (isResting) {
      // Its rooms may not all be here.
      resting.add(mandatorId);
      continue;
    }
    const fault = (text: string, remedy: string) => faults.push({ text: `MailServer.${mandator}${text}`, remedy });
    if (mandatorId === null) {
      if (take(`mandator ${mandator}`))
        fault(': there is no such tenant', 'Create it with "roomgate apply FILE", or remove its mail server.');
      continue;
    }
    mandatorIds.add(mandatorId);
    const active = resources.filter((resource) => resource.active);
    const isOne = name === null || active.length === 1;
    if (!isOne) {
      const where = location === null ? '' : ` at ${JSON.stringify(location)}`;
      const { why, remedy } = whyNot(resources.length, active.length);
      fault(`.Calendars: ${JSON.stringify(name)}${where} ${why}`, remedy);
      if (resources.length === 0 || active.length > 1) spared.add(`${mandatorId} ${setting.mailbox?.toLowerCase()}`);
      continue;
    }
    for (const { id: resourceId, mailbox } of active) {
      if (!take(`mailbox ${mandatorId} ${mailbox.toLowerCase()}`))
        fault(`: the mailbox ${mailbox} belongs to several resources`, 'Give each its own.');
      else if (!take(`resource ${mandatorId} ${resourceId}`))
        fault(`.Calendars: ${JSON.stringify(name)} is named twice`, 'Keep one; a resource has one calendar.');
      else wanted.push({ mandatorId, resourceId, kind: config.MailServer[mandator]!.Kind, mailbox });
    }
  }
  const isSpared = ({ mandatorId, mailbox }: Existing) =>
    resting.has(mandatorId) || spared.has(`${mandatorId} ${mailbox.toLowerCase()}`);
  return { wanted, faults, mandatorIds, isSpared };
}

function whyNot(named: number, active: number): { why: string; remedy: string } {
  if (named === 0) return { why: 'is not a resource', remedy: 'Correct ResourceName or LocationName.' };
  if (active === 0) return { why: 'is not active', remedy: 'Set the resource to active, or remove its calendar.' };
  return { why: `is ${active} resources`, remedy: 'Say which one with LocationName.' };
}

/** Lists what is wrong with the settings of mail servers, for people. */
export async function listSettingsFaults(db: Database, config: Config): Promise<SettingsFault[]> {
  return (await readPlan(db, config)).faults;
}

/**
 * Creates the calendars that the settings name, and retires the others: their future bookings are cancelled, unless the tenant
 * no longer has a mail server. A calendar with a new mailbox is read from scratch. Addresses that differ only in case are one mailbox.
 * A calendar whose resource can no longer be
 * found by its name, for example because it was renamed, is left alone, and so are all of a tenant that is being moved.
 * @param tell called with the faults of the settings
 */
export async function alignCalendars(
  db: Database,
  config: Config,
  tell?: (faults: readonly SettingsFault[]) => void,
): Promise<void> {
  const { rows: existing } = await sql<Existing>`
    select id, mandator_id as "mandatorId", resource_id as "resourceId", kind, mailbox, retired_at is not null as "isRetired"
    from mail_calendar where not ${rests(sql`mandator_id`)}`.execute(db);
  const isIdle = existing.every(({ isRetired }) => isRetired) && Object.keys(config.MailServer).length === 0;
  if (isIdle) return;
  const plan = await readPlan(db, config);
  tell?.(plan.faults);
  const keyOf = ({ mandatorId, resourceId }: WantedCalendar) => `${mandatorId} ${resourceId}`;
  const before = new Map(existing.map((calendar) => [keyOf(calendar), calendar]));
  const wanted = new Set(plan.wanted.map(keyOf));
  const errors: unknown[] = [];
  const attempt = (work: Promise<void>) => work.catch((error: unknown) => void errors.push(error));
  for (const calendar of existing)
    if (!calendar.isRetired && !wanted.has(keyOf(calendar)) && !plan.isSpared(calendar))
      await attempt(retire(db, calendar, plan.mandatorIds.has(calendar.mandatorId)));
  for (const calendar of plan.wanted) {
    const old = before.get(keyOf(calendar));
    const isSame = old && old.kind === calendar.kind && isSameMailbox(old, calendar);
    if (!isSame || old.isRetired) await attempt(begin(db, calendar, old));
    else if (old.mailbox !== calendar.mailbox) await attempt(respell(db, calendar, old));
  }
  // A failure of one calendar does not stop the others.
  if (errors.length > 0) throw errors[0];
}

const isSameMailbox = (one: WantedCalendar, other: WantedCalendar) =>
  one.mailbox.toLowerCase() === other.mailbox.toLowerCase();

/** Logs each fault once, and again when it comes back. */
export function openFaultLog({ log }: Pick<Context, 'log'>): (faults: readonly SettingsFault[]) => void {
  let told = new Set<string>();
  return (faults) => {
    for (const { text, remedy } of faults)
      if (!told.has(text)) log.warn({ fault: text, remedy }, 'invalid setting of a mail server');
    told = new Set(faults.map(({ text }) => text));
  };
}

/** Changes one calendar under the lock of its room. Does nothing while the room is locked; the next sweep tries again. */
async function change(
  db: Database,
  { mandatorId, resourceId }: WantedCalendar,
  work: (trx: Transaction, room: BookableRoom) => Promise<void>,
): Promise<void> {
  try {
    await transactWithin(db, lockWithinMs, async (trx) => {
      const [room] = (await lockRooms(trx, mandatorId, [resourceId])) as [BookableRoom];
      await work(trx, room);
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
  }
}

/** Retires a calendar. An inactive resource keeps all its bookings, also those of mail items. */
async function retire(db: Database, calendar: Existing, hasServer: boolean): Promise<void> {
  await change(db, calendar, async (trx, room) => {
    const { numAffectedRows } = await sql`
      update mail_calendar set retired_at = now(), cursor = null, ${noContinuation}, dirty_since = null, dirty_by = null
      where mandator_id = ${calendar.mandatorId} and id = ${calendar.id} and retired_at is null and mailbox = ${calendar.mailbox}`.execute(
      trx,
    );
    if (!numAffectedRows) return;
    await forgetSteps(trx, calendar.mandatorId, [calendar.id]);
    if (hasServer && room.active) await forgetItems(trx, calendar);
  });
}

/** Creates a calendar, or resets an existing one. */
async function begin(db: Database, calendar: WantedCalendar, old: Existing | undefined): Promise<void> {
  const { mandatorId, resourceId, kind, mailbox } = calendar;
  await change(db, calendar, async (trx) => {
    const { rows } = await sql<{ id: number }>`
      insert into mail_calendar as calendar (mandator_id, resource_id, kind, mailbox)
      values (${mandatorId}, ${resourceId}, ${kind}, ${mailbox})
      on conflict (mandator_id, resource_id) do update set kind = excluded.kind, mailbox = excluded.mailbox, address = null,
        retired_at = null, cursor = null, ${noContinuation}, not_before = null, failures = 0, deaths = 0, ${noFault}, read_at = null,
        read_whole_at = null, poll_minutes = null, pushed_at = null, missing_items = '{}', found_by_push = 0, found_by_poll = 0,
        writing_not_before = null, writing_failures = 0, writing_fault = null, compared_at = null
      where (calendar.kind, lower(calendar.mailbox)) <> (excluded.kind, lower(excluded.mailbox)) or calendar.retired_at is not null
      returning id`.execute(trx);
    const [made] = rows;
    if (!made) return;
    await forgetSteps(trx, mandatorId, [made.id]);
    const isOther = old !== undefined && !isSameMailbox(old, calendar);
    if (isOther) {
      await forgetItems(trx, old);
      await releaseItems(trx, old);
    }
    // The items that were written are in the former calendar, not in this one.
    if (isOther || (old && old.kind !== kind)) {
      await forgetWritten(trx, mandatorId, made.id);
      await forgetAttempts(trx, mandatorId, made.id);
    }
    await attemptSoon(trx, mandatorId, [made.id]);
    await markCalendars(trx, [made.id], 'Request');
  });
}

/** Writes a mailbox as the settings do now. The calendar is read at once, as some mail servers distinguish case. */
async function respell(db: Database, { mailbox }: WantedCalendar, { mandatorId, id }: Existing): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`update mail_calendar set mailbox = ${mailbox} where mandator_id = ${mandatorId} and id = ${id}`.execute(
      trx,
    );
    await readNow(trx, mandatorId, [id], { whole: false });
  });
}

/** Forgets a calendar's future items and cancels their bookings. Bookings that have begun stay. */
async function forgetItems(trx: Transaction, { mandatorId, id }: Existing): Promise<void> {
  const { rows } = await sql<{ bookingId: number | null }>`
    with gone as (
      select id, booking_id from mail_item
      where mandator_id = ${mandatorId} and calendar_id = ${id} and state <> 'Gone'
        and (occupied is null or lower(occupied) > now())
      for update
    )
    update mail_item set ${asGone}
    from gone where mail_item.mandator_id = ${mandatorId} and mail_item.id = gone.id
    returning gone.booking_id as "bookingId"`.execute(trx);
  const bookingIds = rows.flatMap(({ bookingId }) => bookingId ?? []);
  await cancelMailItems(trx, mandatorId, bookingIds);
}

/** Releases the bookings that have begun from the items of a former mailbox: see `isReleased`. */
async function releaseItems(trx: Transaction, { mandatorId, id }: Existing): Promise<void> {
  await sql`
    update mail_item set content_hash = ''
    where mandator_id = ${mandatorId} and calendar_id = ${id} and state = 'Booked'
      and lower(occupied) <= now() and upper(occupied) > now()`.execute(trx);
}
