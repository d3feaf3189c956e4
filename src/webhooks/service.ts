/**
 * Sends events to other programs, by the Standard Webhooks specification (https://www.standardwebhooks.com). A **webhook** is an
 * address with the kinds of events to send to it. An **event** is a change of the feed (`src/changes`) that has a kind; its
 * **message** has the record as an Admin sees it at that moment. A **delivery** is one attempt to send a message.
 *
 * Invariants: all events up to the place of a webhook in the feed were delivered or wait in webhook_event; both change in one
 * transaction, after the attempts. So each event is delivered at least once. Events of one subject are sent one after another, each
 * once the previous one was delivered; other subjects do not wait for them, and events that have not failed yet are sent first. A
 * webhook is disabled by a failure of an event whose first attempt failed three days ago, by any failure if nothing was delivered
 * for three days, and by 410 at once; its waiting events are kept. Secrets are stored sealed, and shown once.
 */
export {
  type Delivery,
  deliveryList,
  forgetDeliveries,
  keptDays,
  listDeliveries,
} from './deliveries.ts';
export { hasDue, queueDue, webhookFigures } from './due.ts';
export { eventKinds, messageKinds, typeOf } from './kinds.ts';
export { examineWebhooks, openOffice } from './office.ts';
export { deliverEvents, deliverTask } from './rounds.ts';
export { longestAnswer } from './sending.ts';
export { disabledReasons, mostWebhooks, type Webhook } from './stored.ts';
export { mostTestsPerMinute, testWebhook } from './testing.ts';
export { giveTimes } from './waiting.ts';
export {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findWebhook,
  getWebhook,
  listWebhooks,
  type NewWebhook,
  replayWebhook,
  rotateSecret,
  type WebhookChanges,
  type WithSecret,
  webhookList,
} from './webhooks.ts';
