/** A webhook to which events may be sent now: it is read, rests, and is disabled. */
import { sql } from 'kysely';
import { recordOperatorActs } from '../acts.ts';
import type { FeedPlace } from '../changes/service.ts';
import type { Database, Transaction } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { inMs } from '../db/pauses.ts';
import type { Log } from '../log.ts';
import type { EventKind } from './kinds.ts';
import { type DisabledReason, place, subjectOf } from './stored.ts';
import { daysOfAttempts, type WebhookKey } from './waiting.ts';

export type DueWebhook = WebhookKey & {
  mandator: string;
  name: string;
  url: string;
  kinds: EventKind[];
  secrets: Buffer[];
  seen: FeedPlace | null;
  rounds: number;
  failures: number;
  receiverFailures: number;
  /** Whether nothing was delivered for so long that the next failure disables the webhook. */
  isSpent: boolean;
};

/** The webhook, if events may be sent to it now. */
export async function readDue(db: Database, { mandatorId, webhookId }: WebhookKey): Promise<DueWebhook | undefined> {
  const { rows } = await sql<DueWebhook>`
    select webhook.mandator_id as "mandatorId", mandator.code as mandator, webhook.id as "webhookId", webhook.name, url, kinds,
      array_remove(array[secret, case when former_until > now() then former_secret end], null) as secrets,
      ${place} as seen,
      rounds::float8 as rounds, failures, receiver_failures as "receiverFailures",
      (failing_since < ${daysAgo(daysOfAttempts)}) is true as "isSpent"
    from webhook join mandator on mandator.id = webhook.mandator_id
    where webhook.mandator_id = ${mandatorId} and webhook.id = ${webhookId}
      and disabled_at is null and due_at <= now()`.execute(db);
  return rows[0];
}

export async function rest(db: Database, { mandatorId, webhookId }: WebhookKey, ms: number): Promise<void> {
  await db
    .updateTable('webhook')
    .set({ due_at: sql<Date>`greatest(due_at, ${inMs(ms)})` })
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', webhookId)
    .execute();
}

/** Disables a webhook. Its waiting events are kept until an Admin enables it again. */
export async function disable(trx: Transaction, log: Log, due: DueWebhook, because: DisabledReason): Promise<void> {
  const { mandatorId, mandator, webhookId: id, name } = due;
  const { numUpdatedRows } = await trx
    .updateTable('webhook')
    .set({ disabled_at: sql<Date>`now()`, disabled_because: because, rounds: sql<number>`rounds + 1` })
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', id)
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) return;
  const record = { before: { enabled: true }, after: { enabled: false, because } };
  await recordOperatorActs(trx, mandatorId, 'delivery of events', [
    { action: 'disable webhook', subject: subjectOf({ id, name }), record },
  ]);
  log.warn({ mandator, webhook: name, because }, 'webhook disabled');
}
