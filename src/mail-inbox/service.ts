/**
 * The webhook's inbox: what mail servers send to us, and how it is recorded.
 *
 * Terms: a **notification** is one message about one subscription; a **dialect** is the form in which its sender speaks (Ews,
 * Graph, Jmap), told by the body alone; a **verdict** is what was decided about it.
 *
 * Invariants:
 * - Nothing in a body is believed: a notification marks the calendar of its subscription to be read, if its secret proves it.
 * - A sender gets its answer after the notification is committed.
 * - Secrets are not stored.
 */
export { type Inbox, openInbox } from './inbox.ts';
export { findSender, openReceiver, receive, webhookPaths } from './receiving.ts';
export { forgetOldNotifications, forgetRefusedNotifications } from './retention.ts';
