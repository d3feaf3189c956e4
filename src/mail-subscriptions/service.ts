/**
 * The subscriptions of calendars: how they are asked for, kept alive, and replaced.
 *
 * Terms: a **subscription** is a mail server's promise to notify us of a calendar; each attempt to get one is a row of its own.
 * It is **coming** (Provisioning, AwaitingFirstPush), **standing** (Active, Suspect) or has ended. Its **callback URL** is where
 * the mail server notifies us, with a secret that names the subscription and proves it.
 *
 * Invariants:
 * - Of a calendar at most one subscription is coming; the standing one is Replaced only when the new one has become Active.
 * - The database refuses every change of state that its guard does not know.
 * - No secret is stored: all are derived from the pepper.
 */
export { attemptSoon, endOthersWaits } from './attempts.ts';
export { type CallbackQuery, callbackPaths, callbackUrl, readCallbackQuery, withSecret } from './callback-url.ts';
export {
  alignTenantWide,
  followedSettings,
  manageSubscriptions,
  manageTask,
  sweepSubscriptions,
} from './management.ts';
export { type DirtyBy, markAllCalendars, markCalendars } from './marks.ts';
export { provisionSubscription, provisionTask } from './provisioning.ts';
export { examineCallback } from './reach.ts';
export { makeSecret, subscriptionOf } from './secrets.ts';
export { type Job, type SubscriptionState, subscriptionStates, type Work } from './subscription.ts';
export { doubtSubscription, forgetOldSubscriptions, standing } from './subscriptions.ts';
