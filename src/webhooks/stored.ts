/** Webhooks as they are stored. */
import { sql } from 'kysely';
import type { FeedPlace } from '../changes/service.ts';
import type { Database } from '../db/database.ts';
import type { EventKind } from './kinds.ts';

export const disabledReasons = ['Admin', 'Gone', 'Failing', 'HistoryLost'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

export type Webhook = {
  id: number;
  name: string;
  url: string;
  kinds: EventKind[];
  enabled: boolean;
  disabledAt: Date | null;
  disabledBecause: DisabledReason | null;
  /** The place in the feed up to which all events were delivered or wait; null: before the oldest change. */
  seen: FeedPlace | null;
  /** The number of waiting events: those that have failed, and those behind them. */
  waiting: number;
  /** Attempts that failed one after another. */
  failures: number;
  failingSince: Date | null;
  succeededAt: Date | null;
  /** When the next attempt is due; null: it does not fail, or is disabled. */
  nextAttemptAt: Date | null;
  /** Until when the previous secret also signs. */
  formerSecretUntil: Date | null;
  version: number;
};

/** The most webhooks of a tenant. */
export const mostWebhooks = 20;

/** The member `seen`, in SQL. */
export const place = sql<FeedPlace | null>`case when seen_position is not null
  then jsonb_build_object('position', seen_position, 'micros', seen_micros) end`;

export const columns = [
  'id',
  'name',
  'url',
  sql<EventKind[]>`kinds`.as('kinds'),
  'version',
  'failures',
  sql<boolean>`disabled_at is null`.as('enabled'),
  'disabled_at as disabledAt',
  'failing_since as failingSince',
  'succeeded_at as succeededAt',
  sql<Date | null>`case when failures > 0 and disabled_at is null then greatest(due_at, (
    select min(event.due_at) from webhook_event as event
    where event.mandator_id = webhook.mandator_id and event.webhook_id = webhook.id)) end`.as('nextAttemptAt'),
  sql<DisabledReason | null>`disabled_because`.as('disabledBecause'),
  sql<Date | null>`case when former_until > now() then former_until end`.as('formerSecretUntil'),
  place.as('seen'),
  sql<number>`(select count(*)::int from webhook_event as event
    where event.mandator_id = webhook.mandator_id and event.webhook_id = webhook.id)`.as('waiting'),
] as const;

export const webhooksOf = (db: Database, mandatorId: number) =>
  db.selectFrom('webhook').where('mandator_id', '=', mandatorId).select(columns);

export const subjectOf = ({ id, name }: Pick<Webhook, 'id' | 'name'>) => ({ noun: 'Webhook' as const, id, name });

/** The members of a webhook that the audit records. */
export const auditedMembers = ({ name, url, kinds, enabled }: Webhook) => ({
  name,
  url: new URL(url),
  kinds,
  enabled,
});
