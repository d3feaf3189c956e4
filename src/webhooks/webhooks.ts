/** Webhooks, for Admins. */
import { sql } from 'kysely';
import { checkPublisher } from '../access.ts';
import { recordAct } from '../acts.ts';
import { findEnd, readChangePage, readEvents } from '../changes/service.ts';
import type { Config } from '../config.ts';
import type { Act, Context, Versions, Viewer } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { transactOrGiveUp } from '../db/lock-timeout.ts';
import { pageById, readCounted } from '../db/page-query.ts';
import { idKey, type List, type Page, type PageRequest } from '../db/paging.ts';
import { readById } from '../db/read-by-id.ts';
import { checkRecordLimit } from '../db/record-limit.ts';
import { Conflict, InvalidInput, memberFault } from '../errors.ts';
import { refuseDuplicate } from '../flow/database-errors.ts';
import { checkPublic, NotPublic } from '../http/public-fetch.ts';
import {
  changeHeld,
  deleteHeld,
  finderOf,
  getterOf,
  type HeldKind,
  holdRecord,
  lockOne,
  nameTaken,
} from '../records.ts';
import { makeSecret, sealSecret } from './secrets.ts';
import { auditedMembers, columns, mostWebhooks, subjectOf, type Webhook, webhooksOf } from './stored.ts';
import { dropOtherKinds } from './waiting.ts';

export type NewWebhook = Pick<Webhook, 'name' | 'url' | 'kinds'>;
export type WebhookChanges = Partial<NewWebhook & Pick<Webhook, 'enabled'>>;
/** A webhook with its new secret, which is shown only this once. */
export type WithSecret = { webhook: Webhook; secret: string };

type Tools = Pick<Context, 'db' | 'config'>;

export const webhookList: List<Webhook> = { name: 'webhooks', key: idKey, keyOf: ({ id }) => id };

/** Lists the webhooks by id. @throws Forbidden */
export async function listWebhooks(db: Database, viewer: Viewer, page: PageRequest): Promise<Page<Webhook>> {
  checkPublisher(viewer);
  const list = webhooksOf(db, viewer.mandatorId);
  return await readCounted(db, webhookList, page, (part) => list.$call(pageById('id', part)));
}

const webhooks: HeldKind<Webhook, 'webhook'> = {
  noun: 'webhook',
  lock: (trx, { mandatorId }, id) => lockOne(webhooksOf(trx, mandatorId).where('id', '=', id)),
  subjectOf,
  auditedMembers,
};

const webhookById = readById<Webhook>('webhook by id', (from) => from('webhook').select(columns));

/** @throws Forbidden */
export const findWebhook = finderOf(webhookById, checkPublisher);

/** @throws Forbidden, NotFound */
export const getWebhook = getterOf(webhooks.noun, findWebhook);

/** @throws InvalidInput for an address that is refused as written; a host name is resolved at each attempt */
function checkUrl({ Webhooks }: Config, url: string | undefined): void {
  try {
    if (url !== undefined) checkPublic(new URL(url), Webhooks.TrustedOrigins);
  } catch (error) {
    if (!(error instanceof NotPublic)) throw error;
    const text = `${error.message}; give a public https address, or ask the operator of this server to list the receiver in Webhooks.TrustedOrigins`;
    throw InvalidInput.of(memberFault('Url', 'InvalidValue', text));
  }
}

const refuseTaken = refuseDuplicate(nameTaken(webhooks.noun));

/** Creates a webhook, to which all events from now on are sent. @throws Forbidden, InvalidInput, Conflict */
export async function createWebhook(
  { db, config }: Tools,
  act: Act,
  { name, url, kinds }: NewWebhook,
): Promise<WithSecret> {
  const { mandatorId } = act.viewer;
  checkPublisher(act.viewer);
  checkUrl(config, url);
  // Before the transaction, which would keep other readers of the feed waiting.
  const { position: seen_position, micros: seen_micros } = await findEnd(db, mandatorId);
  const secret = makeSecret();
  return transactOrGiveUp(db, 'The tenant', async (trx) => {
    await checkRecordLimit(trx, mandatorId, { table: 'webhook', noun: 'webhooks', most: mostWebhooks });
    const webhook = await trx
      .insertInto('webhook')
      .values({
        mandator_id: mandatorId,
        name,
        url,
        kinds: [...new Set(kinds)],
        secret: sealSecret(config, mandatorId, secret),
        seen_position,
        seen_micros,
      })
      .returning(columns)
      .executeTakeFirstOrThrow()
      .catch(refuseTaken);
    await recordAct(trx, act, 'create webhook', subjectOf(webhook), { before: null, after: auditedMembers(webhook) });
    return { webhook, secret };
  });
}

/** @throws NotFound, PreconditionFailed */
const hold = (trx: Transaction, viewer: Viewer, id: number, expected?: Versions): Promise<Webhook> =>
  holdRecord(webhooks.lock(trx, viewer, id), webhooks.noun, expected);

/** Locks a webhook against deletion until the transaction ends. @throws NotFound */
export const keepWebhook = (trx: Transaction, viewer: Viewer, id: number): Promise<Webhook> => hold(trx, viewer, id);

const update = (trx: Transaction, { mandatorId }: Viewer, id: number) =>
  trx.updateTable('webhook').where('mandator_id', '=', mandatorId).where('id', '=', id);

/** Invalidates a round that is under way, and makes the next attempt due at once, as if none had failed. */
const anew = {
  rounds: sql<number>`rounds + 1`,
  due_at: sql<Date>`now()`,
  failures: 0,
  receiver_failures: 0,
  failing_since: null,
};

/** Waiting events are sent at once, and have three days again. */
const sendAtOnce = (trx: Transaction, { mandatorId }: Viewer, id: number) =>
  trx
    .updateTable('webhook_event')
    .set({ attempts: 0, failed_at: null, due_at: sql<Date | null>`case when due_at is not null then now() end` })
    .where('mandator_id', '=', mandatorId)
    .where('webhook_id', '=', id)
    .execute();

/** Whether the feed no longer keeps what comes after the place of a webhook. */
async function isLost(db: Database, { mandatorId }: Viewer, { seen }: Webhook): Promise<boolean> {
  try {
    if (seen) await readEvents(db, mandatorId, { limit: 1, after: seen });
    return false;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    return true;
  }
}

/** @throws Forbidden, NotFound, PreconditionFailed, InvalidInput, Conflict */
export async function changeWebhook(
  { db, config }: Tools,
  act: Act,
  id: number,
  expected: Versions,
  changes: WebhookChanges,
): Promise<Webhook> {
  const { viewer } = act;
  checkPublisher(viewer);
  checkUrl(config, changes.url);
  // Before the transaction, which would keep other readers of the feed waiting.
  const hasLost = changes.enabled === true && (await isLost(db, viewer, await getWebhook(db, viewer, id)));
  return db.transaction().execute((trx) =>
    changeHeld(trx, act, webhooks, { id, expected }, async (found) => {
      const { name = found.name, url = found.url, enabled = found.enabled } = changes;
      const kinds = changes.kinds ? [...new Set(changes.kinds)] : found.kinds;
      const isSwitched = enabled !== found.enabled;
      const isNarrowed = found.kinds.some((kind) => !kinds.includes(kind));
      const isOther = isSwitched || isNarrowed || url !== found.url;
      if (isNarrowed) await dropOtherKinds(trx, { mandatorId: viewer.mandatorId, webhookId: id }, kinds);
      const changed = await update(trx, viewer, id)
        .set({ name, url, kinds })
        // A round that is under way uses the former address and kinds.
        .$if(isOther, (query) => query.set(anew))
        .$if(isSwitched, (query) =>
          query.set({
            disabled_at: enabled ? null : sql<Date>`now()`,
            disabled_because: enabled ? null : 'Admin',
            // The changes after the place are no longer kept: the webhook continues with the oldest that are.
            ...(found.disabledBecause === 'HistoryLost' && hasLost && { seen_position: null, seen_micros: null }),
          }),
        )
        .returning(columns)
        .executeTakeFirstOrThrow()
        .catch(refuseTaken);
      if (isOther) await sendAtOnce(trx, viewer, id);
      return changed;
    }),
  );
}

/** Deletes a webhook with its waiting events and its deliveries. @throws Forbidden, NotFound, PreconditionFailed */
export async function deleteWebhook(db: Database, act: Act, id: number, expected: Versions): Promise<Webhook> {
  const { viewer } = act;
  checkPublisher(viewer);
  return db
    .transaction()
    .execute((trx) =>
      deleteHeld(trx, act, webhooks, { id, expected }, () =>
        trx.deleteFrom('webhook').where('mandator_id', '=', viewer.mandatorId).where('id', '=', id).execute(),
      ),
    );
}

/**
 * Makes another secret; the previous one also signs for some hours.
 * @throws Forbidden, NotFound, PreconditionFailed
 */
export async function rotateSecret(
  { db, config }: Tools,
  act: Act,
  id: number,
  expected: Versions,
  overlapHours: number,
): Promise<WithSecret> {
  const { viewer } = act;
  checkPublisher(viewer);
  const secret = makeSecret();
  return db.transaction().execute(async (trx) => {
    await hold(trx, viewer, id, expected);
    const isKept = overlapHours > 0;
    const webhook = await update(trx, viewer, id)
      .set({
        secret: sealSecret(config, viewer.mandatorId, secret),
        former_secret: isKept ? sql<Buffer>`secret` : null,
        former_until: isKept ? sql<Date>`now() + make_interval(hours => ${overlapHours})` : null,
      })
      .returning(columns)
      .executeTakeFirstOrThrow();
    await recordAct(trx, act, 'rotate secret of webhook', subjectOf(webhook));
    return { webhook, secret };
  });
}

/**
 * Sends the events after a place in the feed again: after a cursor, from now on, or from the oldest that is kept. Waiting events
 * are dropped: those after that place come again.
 * @throws Forbidden, NotFound, PreconditionFailed, Malformed; Conflict for a place that is no longer kept
 */
export async function replayWebhook(
  db: Database,
  act: Act,
  id: number,
  expected: Versions,
  cursor: string | null,
): Promise<Webhook> {
  const { viewer } = act;
  checkPublisher(viewer);
  const { after } = readChangePage(undefined, cursor);
  const place = after === 'now' ? await findEnd(db, viewer.mandatorId) : after;
  if (place) await readEvents(db, viewer.mandatorId, { limit: 1, after: place });
  return db.transaction().execute(async (trx) => {
    await hold(trx, viewer, id, expected);
    await trx
      .deleteFrom('webhook_event')
      .where('mandator_id', '=', viewer.mandatorId)
      .where('webhook_id', '=', id)
      .execute();
    await update(trx, viewer, id)
      .set({ ...anew, seen_position: place?.position ?? null, seen_micros: place?.micros ?? null })
      .execute();
    await recordAct(trx, act, 'replay webhook', subjectOf(await getWebhook(trx, viewer, id)));
    return await getWebhook(trx, viewer, id);
  });
}
