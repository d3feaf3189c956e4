/** The rows of mail_writing: the items that we have written into calendars. */
import { sql } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import type { CalendarKey } from './reading.ts';
import type { WrittenRow } from './written.ts';

export const columns = sql`booking_id as "bookingId", generation, lost_generations as "lostGenerations", state, starts_at as start, ends_at as "end",
  encode(subject_hash, 'hex') as "subjectHash", is_private as "isPrivate", native_id as "nativeId", change_key as "changeKey", told,
  put_backs as "putBacks", put_backs_since as "putBacksSince", not_before as "notBefore", reason, failures`;

export async function readRows(db: Database, { mandatorId, calendarId }: CalendarKey): Promise<WrittenRow[]> {
  const { rows } = await sql<WrittenRow>`
    select ${columns} from mail_writing where mandator_id = ${mandatorId} and calendar_id = ${calendarId}`.execute(db);
  return rows;
}

export async function save(
  trx: Transaction,
  { mandatorId, calendarId }: CalendarKey,
  rows: readonly WrittenRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await sql`
    insert into mail_writing (mandator_id, calendar_id, booking_id, generation, lost_generations, state, starts_at, ends_at, subject_hash,
      is_private, native_id, change_key, told, put_backs, put_backs_since, not_before, reason, failures)
    select ${mandatorId}, ${calendarId}, "bookingId", generation, "lostGenerations", state, start, "end", decode("subjectHash", 'hex'),
      "isPrivate", "nativeId", "changeKey", told, "putBacks", "putBacksSince", "notBefore", reason, failures
    from jsonb_to_recordset(${JSON.stringify(rows)}) as row("bookingId" bigint, generation integer, "lostGenerations" integer[], state text,
      start timestamptz, "end" timestamptz, "subjectHash" text, "isPrivate" boolean, "nativeId" text, "changeKey" text, told boolean,
      "putBacks" integer, "putBacksSince" timestamptz, "notBefore" timestamptz, reason text,
      failures integer)
    on conflict (mandator_id, calendar_id, booking_id) do update set generation = excluded.generation,
      lost_generations = excluded.lost_generations, state = excluded.state,
      starts_at = excluded.starts_at, ends_at = excluded.ends_at, subject_hash = excluded.subject_hash,
      is_private = excluded.is_private, native_id = excluded.native_id, change_key = excluded.change_key, told = excluded.told,
      put_backs = excluded.put_backs, put_backs_since = excluded.put_backs_since, not_before = excluded.not_before,
      reason = excluded.reason, failures = excluded.failures`.execute(trx);
}

export async function forget(
  db: Database,
  { mandatorId, calendarId }: CalendarKey,
  bookingIds: readonly number[],
): Promise<void> {
  await sql`
    delete from mail_writing where mandator_id = ${mandatorId} and calendar_id = ${calendarId}
      and booking_id = any (${bookingIds}::bigint[])`.execute(db);
}

/**
 * Has items that wait after a refusal or a failure tried again now. Those that are being written are left alone.
 * @returns the calendars that have such items
 */
export async function endRests(
  trx: Transaction,
  mandatorId: number,
  calendarIds: readonly number[],
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with resting as materialized (
      select mandator_id, calendar_id, booking_id from mail_writing
      where mandator_id = ${mandatorId} and calendar_id = any (${calendarIds}::integer[]) and state = 'Failed'
        and not_before > now()
      for no key update skip locked
    ), tried as (
      update mail_writing set not_before = now() from resting
      where (mail_writing.mandator_id, mail_writing.calendar_id, mail_writing.booking_id)
        = (resting.mandator_id, resting.calendar_id, resting.booking_id)
      returning mail_writing.calendar_id as id
    )
    select distinct id from tried`.execute(trx);
  return rows.map(({ id }) => id);
}

/** Forgets the written items of a calendar that another one replaces. */
export async function forgetWritten(trx: Transaction, mandatorId: number, calendarId: number): Promise<void> {
  await sql`delete from mail_writing where mandator_id = ${mandatorId} and calendar_id = ${calendarId}`.execute(trx);
}
