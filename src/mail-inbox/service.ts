/**
 * The inbox of the callback: what mail servers send to us, and how it is recorded.
 *
 * Terms: a **notification** is one message about one subscription; a **dialect** is its format (Ews, Graph, Jmap, Google),
 * which is recognised by the body, or by Google's headers; a **verdict** is what was decided about it.
 *
 * Invariants:
 * - Nothing in a body is trusted: a notification with a valid secret only marks the calendar of its subscription to be read.
 * - A sender gets its answer after the notification is committed.
 * - Secrets are not stored.
 */
export { type Inbox, openInbox } from './inbox.ts';
export { findSender, inboxPaths, openReceiver, receive } from './receiving.ts';
export { forgetOldNotifications, forgetRefusedNotifications } from './retention.ts';
