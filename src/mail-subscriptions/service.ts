/**
 * The subscriptions of calendars: how they are requested, kept alive, and replaced.
 *
 * Terms: a **subscription** is a mail server's promise to notify us of a calendar; each attempt to get one is a row of its own.
 * It is **coming** (Provisioning, AwaitingFirstPush), **standing** (Active, Suspect) or has ended. Its **callback URL** is where
 * the mail server notifies us, with a secret that names the subscription and proves it.
 *
 * Invariants:
 * - A calendar has at most one coming subscription; the standing one is Replaced only when the new one has become Active.
 * - Only `move` changes the state of a subscription, and `moveHeard` when its notifications arrive. A trigger in the database
 *   refuses transitions that are not allowed.
 * - The rows alone say what is due, so a worker may die at any line.
 * - No secret is stored: all are derived from the pepper.
 */
export { type CallbackQuery, callbackPaths, callbackUrl, readCallbackQuery } from './callback-url.ts';
export { attemptSoon, endOthersWaits } from './due.ts';
export {
  followedSettings,
  forgetOldSubscriptions,
  manageSubscriptions,
  manageTask,
  mayDeviate,
  sweepSubscriptions,
} from './management.ts';
export { type DirtyBy, markAllCalendars, markCalendars } from './marks.ts';
export { provisionSubscription, provisionTask } from './provisioning.ts';
export { examineCallback } from './reach.ts';
export { openSecrets, type Secrets } from './secrets.ts';
export {
  doubtSubscription,
  live,
  moveHeard,
  pushes,
  type SubscriptionState,
  standing,
  subscriptionStates,
} from './states.ts';
export { alignTenantWide, findTenantWideCallback } from './tenant-wide.ts';
export type { MailJob, MailWork } from './work.ts';
