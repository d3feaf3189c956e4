/** A notification of any dialect. It is only a hint that a calendar may have changed; nothing else in it is trusted. */
import { hash } from 'node:crypto';
import { isStorable } from '../../storable.ts';

export type Dialect = 'Ews' | 'Graph' | 'Jmap' | 'Google';

export type NotificationKind = 'Change' | 'Status' | 'Lifecycle' | 'Fault' | 'Handshake' | 'Unknown';
export type Verdict = 'Accepted' | 'Duplicate' | 'Rejected' | 'Unrecognised' | 'Handshake';

export type MailNotification = {
  kind: NotificationKind;
  /** The sender's id of the subscription; null where it is missing or invalid. */
  externalId: string | null;
  /** The same for repetitions of a notification of the same subscription; null if repetitions cannot be recognised. */
  dedupeKey: Buffer | null;
  /** Graph, Google: the secret that proves this notification; null in other dialects, where the callback's secret does. */
  clientState: string | null;
  /** Ews: the sender's position in its event log after this notification; `previousWatermark` is the one before. */
  watermark: string | null;
  previousWatermark: string | null;
  /** Whether the calendar of the subscription may have changed. */
  marks: boolean;
  /** Jmap: the accounts whose calendars may have changed, in lower case. */
  accounts: readonly string[];
  /** The subscription is to be renewed now. */
  renews: boolean;
  /** Why the subscription has ended, for people; null if it has not. */
  ends: string | null;
  /** The part of the request's body to keep; null: all of it. */
  body: Buffer | null;
};

export type ReadNotifications = { dialect: Dialect; notifications: MailNotification[] };

/** The body is not a notification; the message is for people and quotes nothing of the body. */
export class DialectFault extends Error {}

/** The body has more notifications than one request may have. */
export class DialectOverflow extends Error {}

const mostNotifications = 1_000;

const plain: MailNotification = {
  kind: 'Unknown',
  externalId: null,
  dedupeKey: null,
  clientState: null,
  watermark: null,
  previousWatermark: null,
  marks: false,
  accounts: [],
  renews: false,
  ends: null,
  body: null,
};

export function notification(fields: Partial<MailNotification>): MailNotification {
  return { ...plain, ...fields };
}

/** An identifier of the sender, if it can be stored and compared; null for every other value. */
export function nameOf(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > 512) return null;
  return isStorable(value) ? value : null;
}

export function dedupeKeyOf(...parts: readonly (string | null)[]): Buffer {
  return hash('sha256', JSON.stringify(parts), 'buffer');
}

export function checkCount(count: number): void {
  if (count > mostNotifications)
    throw new DialectOverflow(`There are more than ${mostNotifications} notifications in one request.`);
}
