/** A reading of a calendar: the state that it began with, and whether that state still holds. */
import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Fault, ServerKind } from '../mail-servers/service.ts';
import type { DirtyBy } from '../mail-subscriptions/service.ts';

export type CalendarKey = { mandatorId: number; calendarId: number };

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
  /** Null: not dirty. */
  dirtyBy: DirtyBy | null;
  marks: number;
  /** When a reading of the whole window went well last; null: never, or an operator wants all of it as it is. */
  readWholeAt: Date | null;
  /** Ids of the items that the last reading of a published calendar lacked. */
  missingItems: number[];
  /** Counts the readings, so that one can be told from the next. */
  readings: number;
  failures: number;
  /** The fault of the last reading, if that failed. */
  fault: Fault | null;
  /** Workers that have died in a row while they read it. */
  deaths: number;
  /** Where a reading of several steps goes on; null: none is under way. */
  continuation: Continuation | null;
  /** Items that its steps have brought so far. */
  continuationItems: number;
  /** The note of another reading that has begun and not ended: since when, and by which worker if known (see `deaths.ts`). */
  leftSince: string | null;
  leftBy: string | null;
  /** Whether PostgreSQL has been started since. */
  isLeftBeforeStart: boolean;
  /** IANA zone of the room's location. */
  timeZone: string;
  /** Whether `not_before` lies in the future. */
  isHeldBack: boolean;
};

/** `place` is the connector's; `marks` counts those when the reading began, and those that its steps have set since. */
export type Continuation = { place: string; marks: number };

/** The calendar has changed since its reading began: another reading was faster, or the settings have changed. */
export class Overtaken extends Error {}

/** Whether a calendar is as it was when its reading began. */
export const isUnchanged = ({ mandatorId, id, mailbox, kind, cursor, continuation, readings }: Calendar) => sql`
  mandator_id = ${mandatorId} and id = ${id} and retired_at is null and mailbox = ${mailbox} and kind = ${kind}
  and cursor is not distinct from ${cursor} and (continuation is null) = ${continuation === null}
  and readings = ${readings}`;

/** Assignments to mail_calendar: no reading of several steps is under way. The caller also calls `forgetSteps`. */
export const noContinuation = sql`continuation = null, continuation_since = null, continuation_items = 0`;

/** Assignments to mail_calendar: the last reading has gone well. */
export const noFault = sql`fault = null, fault_text = null, fault_status = null, fault_until = null`;

/** Deletes what the steps of readings have brought. */
export async function forgetSteps(trx: Transaction, mandatorId: number, calendarIds: readonly number[]): Promise<void> {
  await sql`
    delete from mail_reading_page
    where mandator_id = ${mandatorId} and calendar_id = any (${calendarIds}::integer[])`.execute(trx);
}
