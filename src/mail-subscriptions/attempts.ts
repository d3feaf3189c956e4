import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';

/**
 * The mail server answers again, or somebody has put something right: where the last attempt to get a subscription has
 * failed, the next one does not wait for its time; of a mail server that has asked to be left alone it does. Waits for nobody,
 * so it may be called under any locks.
 */
export async function attemptSoon(trx: Transaction, mandatorId: number, calendarIds: readonly number[]): Promise<void> {
  if (calendarIds.length === 0) return;
  await sql`
    update mail_subscription set due_at = now()
    where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription as failed
      where mandator_id = ${mandatorId} and calendar_id = any (${calendarIds}::integer[]) and state = 'Failed'
        and due_at > now() and fault is distinct from 'Throttled' and not exists (
          select from mail_subscription as newer
          where newer.mandator_id = failed.mandator_id and newer.calendar_id = failed.calendar_id and newer.id > failed.id)
      order by id for no key update skip locked)`.execute(trx);
}

/** Seconds over which the others are read. */
const spread = 5;

/**
 * A calendar of a mail server has got what was refused before with `fault`: whatever else of it waits for the same reason
 * (readings, attempts to subscribe, renewals) waits no longer. One that has asked to be left alone is. Waits for nobody.
 */
export async function endOthersWaits(
  trx: Transaction,
  mandatorId: number,
  calendarId: number,
  fault: RawBuilder<unknown>,
): Promise<void> {
  const isSame = sql`fault = nullif(${fault}, 'Throttled')`;
  const { rows } = await sql<{ id: number }>`
    update mail_calendar set not_before = null
    where mandator_id = ${mandatorId} and id in (
      select id from mail_calendar
      where mandator_id = ${mandatorId} and id <> ${calendarId} and retired_at is null and not_before > now() and ${isSame}
      order by id for no key update skip locked)
    returning id`.execute(trx);
  await sql`
    update mail_subscription set due_at = now()
    where mandator_id = ${mandatorId} and id in (
      select id from mail_subscription as waiting
      where mandator_id = ${mandatorId} and calendar_id <> ${calendarId} and due_at > now() and ${isSame}
        and (state in ('Active', 'Suspect') or (state = 'Failed' and not exists (
          select from mail_subscription as newer
          where newer.mandator_id = waiting.mandator_id and newer.calendar_id = waiting.calendar_id
            and newer.id > waiting.id)))
      order by id for no key update skip locked)`.execute(trx);
  if (rows.length > 0)
    await sql`select mark_mail_calendars(${rows.map(({ id }) => id)}::integer[], 'Poll', ${spread})`.execute(trx);
}
