/**
 * Events that have not been delivered: those that wait in webhook_event, and the next ones of the feed. Of the waiting events of one
 * record, only the first has a time, `due_at`: events behind one that failed are not even read, however many they are.
 */
import { sql } from 'kysely';
import { type FeedPlace, readEvents } from '../changes/service.ts';
import type { Database, Transaction } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { type EventKind, kindOf, subjectOf } from './kinds.ts';

/** The most changes of the feed that one round takes. */
const freshAtOnce = 100;
/** The most records whose waiting events a round takes, and the most events of each. */
const recordsAtOnce = 100;
const eventsOfRecord = 10;

/** An event for one webhook. */
export type WaitingEvent = FeedPlace & {
  subject: string;
  kind: EventKind;
  at: Date;
  /** The number of failed attempts. */
  attempts: number;
  /** Whether its first attempt failed so long ago that the next failure is the last. */
  isSpent: boolean;
};

export type WebhookKey = { mandatorId: number; webhookId: number };
type Reader = WebhookKey & { kinds: readonly EventKind[]; seen: FeedPlace | null };

export const daysOfAttempts = 3;

/**
 * `events` may be sent now: waiting ones that are due, and the next ones of the feed, in order. `behind` are events of
 * the feed that must wait for others of their record. `end` is the place up to which the feed was read.
 */
export type FoundEvents = {
  events: WaitingEvent[];
  behind: WaitingEvent[];
  end: FeedPlace | null;
  hasMore: boolean;
};

export async function readWaiting(db: Database, { mandatorId, webhookId, kinds, seen }: Reader): Promise<FoundEvents> {
  const { rows: events } = await sql<WaitingEvent>`
    select event.position::float8 as position, event.micros::float8 as micros, subject, event.kind, event.at, event.attempts,
      (event.failed_at < ${daysAgo(daysOfAttempts)}) is true as "isSpent"
    from (
      select subject from webhook_event
      where mandator_id = ${mandatorId} and webhook_id = ${webhookId} and due_at <= now()
      order by due_at, position limit ${recordsAtOnce}
    ) as record cross join lateral (
      select position, micros, kind, at, attempts, failed_at from webhook_event
      where mandator_id = ${mandatorId} and webhook_id = ${webhookId} and subject = record.subject
      order by position limit ${eventsOfRecord}
    ) as event
    order by event.position`.execute(db);
  const isUntried = events.every(({ attempts }) => attempts === 0);
  // There is enough to send; further events stay in the feed for now.
  if (isUntried && recordsOf(events).length >= recordsAtOnce) return { events, behind: [], end: seen, hasMore: true };
  const { changes, end, hasMore } = await readEvents(db, mandatorId, { limit: freshAtOnce, after: seen ?? undefined });
  const fresh = changes.flatMap((change): WaitingEvent[] => {
    const kind = kindOf(change);
    if (kind === undefined || !kinds.includes(kind)) return [];
    const { position, micros, at } = change;
    return [{ position, micros, subject: subjectOf(change), kind, at, attempts: 0, isSpent: false }];
  });
  const held = await waitingOf(db, { mandatorId, webhookId }, fresh);
  const [behind = [], free = []] = [true, false].map((is) => fresh.filter(({ subject }) => held.has(subject) === is));
  return { events: [...events, ...free], behind, end, hasMore };
}

/** The records of these events that already have waiting events. */
async function waitingOf(
  db: Database,
  { mandatorId, webhookId }: WebhookKey,
  events: readonly WaitingEvent[],
): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const { rows } = await sql<{ subject: string }>`
    select subject from unnest(${recordsOf(events)}::text[]) as fresh (subject)
    where exists (
      select from webhook_event as event
      where event.mandator_id = ${mandatorId} and event.webhook_id = ${webhookId} and event.subject = fresh.subject)`.execute(
    db,
  );
  return new Set(rows.map(({ subject }) => subject));
}

const recordsOf = (events: readonly WaitingEvent[]) => [...new Set(events.map(({ subject }) => subject))];

/** An event that still waits: `againMs` until its next attempt; null if none was made. */
export type StillWaiting = WaitingEvent & { againMs: number | null };

/** Stores the events that still wait, and deletes the others. */
export async function writeWaiting(
  trx: Transaction,
  { mandatorId, webhookId }: WebhookKey,
  taken: readonly WaitingEvent[],
  waiting: readonly StillWaiting[],
): Promise<void> {
  const positions = taken.map(({ position }) => position);
  if (positions.length > 0)
    await sql`
      delete from webhook_event where mandator_id = ${mandatorId} and webhook_id = ${webhookId}
        and position = any (${positions}::bigint[])`.execute(trx);
  if (waiting.length > 0)
    await sql`
    insert into webhook_event (mandator_id, webhook_id, position, micros, subject, kind, at, attempts, failed_at, due_at)
    select ${mandatorId}, ${webhookId}, position, micros, subject, kind, at, attempts,
      case when "againMs" is not null then now() end, now() + "againMs" * interval '1 millisecond'
    from jsonb_to_recordset(${JSON.stringify(waiting)}) as event(
      position bigint, micros bigint, subject text, kind text, at timestamptz, attempts integer, "againMs" float8)
    on conflict (mandator_id, webhook_id, position) do update
      set attempts = excluded.attempts, due_at = excluded.due_at,
        failed_at = coalesce(webhook_event.failed_at, excluded.failed_at)
      where excluded.due_at is not null`.execute(trx);
  const records = recordsOf([...taken, ...waiting]);
  await sql`
    update webhook_event as event set due_at = now()
    where mandator_id = ${mandatorId} and webhook_id = ${webhookId} and subject = any (${records}::text[])
      and ${isFirstWithoutTime}`.execute(trx);
}

/** Deletes the waiting events of other kinds than these; those behind them are then the first of their records. */
export async function dropOtherKinds(
  trx: Transaction,
  { mandatorId, webhookId }: WebhookKey,
  kinds: readonly EventKind[],
): Promise<void> {
  await sql`
    delete from webhook_event
    where mandator_id = ${mandatorId} and webhook_id = ${webhookId} and kind <> all (${kinds}::text[])`.execute(trx);
  await sql`
    update webhook_event as event set due_at = now()
    where mandator_id = ${mandatorId} and webhook_id = ${webhookId} and ${isFirstWithoutTime}`.execute(trx);
}

/** Whether the row `event` is the first of its record and has no time. */
const isFirstWithoutTime = sql<boolean>`event.due_at is null and not exists (
  select from webhook_event as before
  where before.mandator_id = event.mandator_id and before.webhook_id = event.webhook_id
    and before.subject = event.subject and before.position < event.position)`;

/** Gives a time to events that need one: a worker of a former release gives none to the next event when it deletes the first. */
export async function giveTimes(db: Database): Promise<void> {
  await sql`update webhook_event as event set due_at = now() where ${isFirstWithoutTime}`.execute(db);
}
