/** Test messages: the Admin who sends one waits for the answer. */
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { checkPublisher } from '../access.ts';
import { recordAct } from '../acts.ts';
import type { Act, Context } from '../context.ts';
import { LimitExceeded } from '../errors.ts';
import { type Delivery, getDelivery, recordAttempts } from './deliveries.ts';
import { type Answer, sendMessage } from './sending.ts';
import { subjectOf } from './stored.ts';
import { getWebhook, keepWebhook } from './webhooks.ts';

/** The most test messages to one webhook in a minute. */
export const mostTestsPerMinute = 6;

/**
 * Sends a test message, even to a disabled webhook. Only its list of deliveries changes.
 * @throws Forbidden, NotFound, LimitExceeded
 */
export async function testWebhook(
  { db, config, rates }: Pick<Context, 'db' | 'config' | 'rates'>,
  act: Act,
  id: number,
): Promise<Delivery> {
  const { viewer } = act;
  checkPublisher(viewer);
  const { mandatorId } = viewer;
  const webhook = await getWebhook(db, viewer, id);
  const { used, resetsAt } = rates.count(`webhook-tests ${mandatorId} ${id}`);
  if (used > mostTestsPerMinute)
    throw LimitExceeded.until(resetsAt, mostTestsPerMinute, 'test messages to one webhook in a minute');
  const { secrets } = await db
    .selectFrom('webhook')
    .where('mandator_id', '=', mandatorId)
    .where('id', '=', id)
    .select(
      sql<Buffer[]>`array_remove(array[secret, case when former_until > now() then former_secret end], null)`.as(
        'secrets',
      ),
    )
    .executeTakeFirstOrThrow();
  const at = new Date();
  const message = { id: `test_${randomUUID()}`, kind: 'Test' as const, at, data: { Id: id, Name: webhook.name } };
  const receiver = { mandatorId, url: webhook.url, secrets };
  // Only its own time-out ends the attempt, so there always is an answer.
  const answer = (await sendMessage(config, receiver, message, new AbortController().signal)) as Answer;
  const deliveryId = await db.transaction().execute(async (trx) => {
    await keepWebhook(trx, viewer, id);
    const [made] = await recordAttempts(trx, { mandatorId, webhookId: id }, [
      { message, event: null, attempt: 1, at, answer },
    ]);
    await recordAct(trx, act, 'test webhook', subjectOf(webhook));
    return made as number;
  });
  return await getDelivery(db, viewer, id, deliveryId);
}
