/** Attempts to deliver messages, with their answers. */
import { sql } from 'kysely';
import { checkPublisher } from '../access.ts';
import { cursorAt } from '../changes/service.ts';
import type { Viewer } from '../context.ts';
import type { Database } from '../db/database.ts';
import { daysAgo } from '../db/days-ago.ts';
import { pageById } from '../db/page-query.ts';
import { type List, longIdKey, type Page, type PageRequest, toPage } from '../db/paging.ts';
import { type IdOfParent, readPerParent, type SelectOfParent } from '../db/per-parent.ts';
import { deletePortions, isForgotten } from '../db/portions.ts';
import type { MessageKind } from './kinds.ts';
import type { Answer, Message } from './sending.ts';
import type { WebhookKey } from './waiting.ts';
import { getWebhook } from './webhooks.ts';

export const keptDays = 7;

export type Delivery = {
  id: number;
  webhookId: number;
  messageId: string;
  kind: MessageKind;
  /** The record in the message: `Booking 4711`; null for a test. */
  subject: string | null;
  attempt: number;
  at: Date;
  milliseconds: number;
  status: number | null;
  answer: string | null;
  fault: string | null;
  /** The place of its event in the feed: a replay from there sends the events after it. Null for a test. */
  cursor: string | null;
};

export const deliveryList: List<Delivery> = { name: 'webhook deliveries', key: longIdKey, keyOf: ({ id }) => id };

/** An attempt that was made. `event`: its place in the feed. */
export type MadeAttempt = {
  message: Pick<Message, 'id' | 'kind'>;
  event: { position: number; micros: number; subject: string } | null;
  attempt: number;
  at: Date;
  answer: Answer;
};

export async function recordAttempts(
  db: Database,
  { mandatorId, webhookId }: WebhookKey,
  attempts: readonly MadeAttempt[],
): Promise<number[]> {
  const sent = attempts.map(({ message, event, answer, ...others }) => ({
    ...others,
    ...event,
    ...answer,
    messageId: message.id,
    kind: message.kind,
  }));
  const { rows } = await sql<{ id: number }>`
    insert into webhook_delivery
      (mandator_id, webhook_id, position, micros, message_id, kind, subject, attempt, at, milliseconds, status, answer, fault)
    select ${mandatorId}, ${webhookId}, position, micros, "messageId", kind, subject, attempt, at, milliseconds, status,
      answer, fault
    from jsonb_to_recordset(${JSON.stringify(sent)}) as sent(
      position bigint, micros bigint, "messageId" text, kind text, subject text, attempt integer, at timestamptz,
      milliseconds integer, status integer, answer text, fault text)
    returning id::float8 as id`.execute(db);
  return rows.map(({ id }) => id);
}

type Row = Omit<Delivery, 'cursor'> & { position: number | null; micros: number | null };

const toDelivery = ({ position, micros, ...others }: Row): Delivery => ({
  ...others,
  cursor: position === null || micros === null ? null : cursorAt({ position, micros }),
});

const deliveriesOf = (db: Database, { mandatorId }: Viewer, webhookId: IdOfParent) =>
  db
    .selectFrom('webhook_delivery')
    .where('mandator_id', '=', mandatorId)
    .where('webhook_id', '=', webhookId as number)
    .select(['id', 'webhook_id as webhookId', 'message_id as messageId', sql<MessageKind>`kind`.as('kind'), 'subject'])
    .select(['attempt', 'at', 'milliseconds', 'status', 'answer', 'fault', 'position', 'micros']);

export type DeliveryFilter = { failed?: boolean | undefined };

const selectPage: SelectOfParent<Viewer, DeliveryFilter, number, Row> = (db, parent, { viewer, filter, page }) =>
  deliveriesOf(db, viewer, parent)
    .$if(filter.failed !== undefined, (query) => query.where('fault', filter.failed ? 'is not' : 'is', null))
    .$call(pageById('id', page, 'desc'));
const read = readPerParent(selectPage);

/** Lists deliveries, the latest first; read for all webhooks of the same turn together. @throws Forbidden, NotFound */
export async function listDeliveries(
  db: Database,
  viewer: Viewer,
  webhookId: number,
  filter: DeliveryFilter,
  page: PageRequest,
): Promise<Page<Delivery>> {
  checkPublisher(viewer);
  const rows = await read(db, { viewer, parent: webhookId, asked: { filter, page } });
  if (rows.length === 0) await getWebhook(db, viewer, webhookId);
  return toPage(deliveryList, rows.map(toDelivery), page);
}

/** Reads a delivery that was just recorded. */
export async function getDelivery(db: Database, viewer: Viewer, webhookId: number, id: number): Promise<Delivery> {
  return toDelivery(await deliveriesOf(db, viewer, webhookId).where('id', '=', id).executeTakeFirstOrThrow());
}

/** Deletes deliveries that are older than `keptDays`. */
export async function forgetDeliveries(db: Database, signal?: AbortSignal): Promise<void> {
  const portion = sql`
    delete from webhook_delivery where ${isForgotten('webhook_delivery', sql`at < ${daysAgo(keptDays)}`)}`;
  await deletePortions(db, portion, signal);
}
