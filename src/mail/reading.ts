/** A reading of a calendar: what it began with, and whether it still counts. */
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Fault, ServerKind } from '../mail-servers/service.ts';
import type { DirtyBy } from '../mail-subscriptions/service.ts';

/** A calendar as it was when its reading began. */
export type Calendar = {
  mandatorId: number;
  mandator: string;
  mandatorUid: string;
  id: number;
  resourceId: number;
  kind: ServerKind;
  mailbox: string;
  address: string | null;
  cursor: string | null;
  windowStart: Date | null;
  windowEnd: Date | null;
  /** Null: nobody says that it has changed. */
  dirtyBy: DirtyBy | null;
  marks: number;
  /** Tells one reading from the next. */
  readings: number;
  failures: number;
  /** Of the last reading, if that has failed. */
  fault: Fault | null;
  /** How many have died in a row while they read it. */
  deaths: number;
  /** Where a reading of several steps goes on; null: none is under way. */
  continuation: Continuation | null;
  /** How many items its steps have brought so far. */
  continuationItems: number;
  /** Another reading of it has begun, and not ended: since when, and by which runner if that is known. */
  leftSince: string | null;
  leftBy: string | null;
  /** PostgreSQL has been started since. */
  isLeftBeforeStart: boolean;
  /** Of the room's location. */
  timeZone: string;
  /** It is not to be read before `not_before`. */
  isHeldBack: boolean;
};

/** `place` is the connector's; `marks` those of the calendar when the reading began, and our own since. */
export type Continuation = { place: string; marks: number };

/** The calendar has changed since its reading began: another reading was faster, or the settings have changed. */
export class Overtaken extends Error {}

/** Whether a calendar is as it was when its reading began. */
export const isUnchanged = ({ mandatorId, id, mailbox, kind, cursor, continuation, readings }: Calendar) => sql`
  mandator_id = ${mandatorId} and id = ${id} and retired_at is null and mailbox = ${mailbox} and kind = ${kind}
  and cursor is not distinct from ${cursor} and (continuation is null) = ${continuation === null}
  and readings = ${readings}`;

/** Of a row of mail_calendar: no reading of several steps is under way. Whoever says so forgets the steps. */
export const noContinuation = sql`continuation = null, continuation_since = null, continuation_items = 0`;

/** Of a row of mail_calendar: its last reading has gone well. */
export const noFault = sql`fault = null, fault_text = null, fault_status = null, fault_until = null`;

/** What the steps of a reading have brought is of no use any more. */
export async function forgetSteps(trx: Transaction, mandatorId: number, calendarIds: readonly number[]): Promise<void> {
  await sql`
    delete from mail_reading_page
    where mandator_id = ${mandatorId} and calendar_id = any (${calendarIds}::integer[])`.execute(trx);
}
