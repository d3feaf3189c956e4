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
  /** When the whole window was last read successfully; null: never, or an operator has asked to take the calendar as it is. */
  readWholeAt: Date | null;
  /** Whether it was read successfully not long ago, as it is while the service runs and the mail server answers. */
  isFollowed: boolean;
  /** Ids of the items that were missing in the last reading of a published calendar. */
  missingItems: number[];
  /** Counts the readings, which distinguishes one from the next. */
  readings: number;
  failures: number;
  /** The fault of the last reading, if that failed. */
  fault: Fault | null;
  /** How many workers in a row have died while they read it. */
  deaths: number;
  /** Where a reading in steps continues; null: none is under way. */
  continuation: Continuation | null;
  /** The number of items that its steps have read so far. */
  continuationItems: number;
  /** The note of another reading that has begun but not ended: since when, and by which worker, if known (see `deaths.ts`). */
  leftSince: string | null;
  leftBy: string | null;
  /** Whether PostgreSQL has been started since. */
  isLeftBeforeStart: boolean;
  /** IANA zone of the room's location. */
  timeZone: string;
  /** Whether `not_before` lies in the future. */
  isHeldBack: boolean;
};

/** `place` belongs to the connector; `marks` is the count when the reading began, plus the marks that its steps have set. */
export type Continuation = { place: string; marks: number };

/** The calendar has changed since its reading began: another reading has ended first, or the settings have changed. */
export class Overtaken extends Error {}

/** Whether a calendar is as it was when its reading began. */
export const isUnchanged = ({ mandatorId, id, mailbox, kind, cursor, continuation, readings }: Calendar) => sql`
  mandator_id = ${mandatorId} and id = ${id} and retired_at is null and mailbox = ${mailbox} and kind = ${kind}
  and cursor is not distinct from ${cursor} and (continuation is null) = ${continuation === null}
  and readings = ${readings}`;

/** Assignments to mail_calendar: no reading of several steps is under way. The caller also calls `forgetSteps`. */
export const noContinuation = sql`continuation = null, continuation_since = null, continuation_items = 0`;

/** Assignments to mail_calendar: the last reading was successful. */
export const noFault = sql`fault = null, fault_text = null, fault_status = null, fault_until = null`;

/** Deletes the pages that the steps of readings have stored. */
export async function forgetSteps(trx: Transaction, mandatorId: number, calendarIds: readonly number[]): Promise<void> {
  await sql`
    delete from mail_reading_page
    where mandator_id = ${mandatorId} and calendar_id = any (${calendarIds}::integer[])`.execute(trx);
}
