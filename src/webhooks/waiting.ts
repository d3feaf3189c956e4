/** Events that have not been taken: those that wait in webhook_event, and the next ones of the feed. */
import { sql } from 'kysely';
import { type FeedPlace, readEvents } from '../changes/service.ts';
import type { Database, Transaction } from '../db/database.ts';
import { type EventKind, kindOf, subjectOf } from './kinds.ts';

/** Changes of the feed that one round takes. */
const freshAtOnce = 100;
/** Once this number of events wait, the others stay in the feed. */
const mostWaiting = 1_000;

/** An event for one webhook. */
export type WaitingEvent = FeedPlace & {
  subject: string;
  kind: EventKind;
  at: Date;
  /** The number of failed attempts. */
  attempts: number;
  isDue: boolean;
  /** Whether its first attempt failed so long ago that no other is made. */
  isSpent: boolean;
};

export type WebhookKey = { mandatorId: number; webhookId: number };
type Reader = WebhookKey & { kinds: readonly EventKind[]; seen: FeedPlace | null };

const daysOfAttempts = 3;

/** Those that wait, and the next of the feed, in their order; `end` is the place up to which they were read. */
export async function readWaiting(
  db: Database,
  { mandatorId, webhookId, kinds, seen }: Reader,
): Promise<{ events: WaitingEvent[]; end: FeedPlace | null; hasMore: boolean }> {
  const { rows: events } = await sql<WaitingEvent>`
    select position::float8 as position, micros::float8 as micros, subject, kind, at, attempts,
      (due_at > now()) is not true as "isDue",
      (failed_at < now() - make_interval(days => ${daysOfAttempts})) is true as "isSpent"
    from webhook_event where mandator_id = ${mandatorId} and webhook_id = ${webhookId}
    order by position`.execute(db);
  // There is more behind it, but no room: not for this job, which would find nothing to do.
  if (events.length >= mostWaiting) return { events, end: seen, hasMore: false };
  const { changes, end, hasMore } = await readEvents(db, mandatorId, { limit: freshAtOnce, after: seen ?? undefined });
  for (const change of changes) {
    const kind = kindOf(change);
    if (kind === undefined || !kinds.includes(kind)) continue;
    const { position, micros, at } = change;
    const unsent = { attempts: 0, isDue: true, isSpent: false };
    events.push({ position, micros, subject: subjectOf(change), kind, at, ...unsent });
  }
  return { events, end, hasMore };
}

/** What has become of an event that still waits: `againMs` until its next attempt, null where none has been made. */
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
  if (waiting.length === 0) return;
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
}
