/** Finds webhooks with events to send, and queues a job for each. */
import { sql } from 'kysely';
import { hasUnplaced } from '../changes/service.ts';
import type { Database } from '../db/database.ts';
import { rests } from '../db/resting.ts';
import { addJobOnce, isQueued } from '../worker/queue.ts';
import { deliverTask, jobKeyOf } from './rounds.ts';
import type { WebhookKey } from './waiting.ts';

const dueWebhooks = (db: Database) => sql<WebhookKey>`
  select mandator_id as "mandatorId", id as "webhookId" from webhook
  where disabled_at is null and due_at <= now() and not ${rests(sql`webhook.mandator_id`)}
    and (exists (
        select from change where change.mandator_id = webhook.mandator_id and position > coalesce(seen_position, 0))
      or ${hasUnplaced(db, sql`webhook.mandator_id`)}
      or exists (
        select from webhook_event as event
        where event.mandator_id = webhook.mandator_id and event.webhook_id = webhook.id
          and event.due_at <= now()))
    and not ${isQueued(sql`'webhook ' || webhook.mandator_id || ' ' || webhook.id`)}`;

export const hasDue = (db: Database) => sql`exists (${dueWebhooks(db)})`;

export async function queueDue(db: Database): Promise<void> {
  const { rows } = await dueWebhooks(db).execute(db);
  for (const key of rows) await addJobOnce(db, deliverTask, key, jobKeyOf(key));
}

/** Metrics of the webhooks of all tenants. */
export const webhookFigures = {
  roomgate_webhook_events_waiting: {
    help: 'Events that an enabled webhook did not accept and that are sent again',
    read: async (db: Database) => {
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from webhook_event as event
        join webhook on webhook.mandator_id = event.mandator_id and webhook.id = event.webhook_id
        where webhook.disabled_at is null`.execute(db);
      return rows[0]?.n ?? 0;
    },
  },
  roomgate_webhooks_disabled: {
    help: 'Webhooks that were disabled because nothing could be delivered',
    read: async (db: Database) => {
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from webhook where disabled_because <> 'Admin'`.execute(db);
      return rows[0]?.n ?? 0;
    },
  },
};
