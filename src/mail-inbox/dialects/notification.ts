/** What every dialect comes to. Nothing of it is believed: it says that a calendar may have changed, and which one. */
import { hash } from 'node:crypto';
import { isStorable } from '../../storable.ts';

/** How a sender speaks. */
export type Dialect = 'Ews' | 'Graph' | 'Jmap';

export type NotificationKind = 'Change' | 'Status' | 'Lifecycle' | 'Fault' | 'Handshake' | 'Unknown';
export type Verdict = 'Accepted' | 'Duplicate' | 'Rejected' | 'Unrecognised' | 'Handshake';

export type MailNotification = {
  kind: NotificationKind;
  /** What the sender calls the subscription; null without one that could be. */
  externalId: string | null;
  /** The same of a subscription when it is the same notification; null where that cannot be told. */
  dedupeKey: Buffer | null;
  /** Graph: what proves this one; null in other dialects, where the callback's secret does. */
  clientState: string | null;
  /** Where the sender stands after it, and stood before. */
  watermark: string | null;
  previousWatermark: string | null;
  /** Whether the calendar of its subscription may have changed. */
  marks: boolean;
  /** Jmap: whose calendars may have changed, in lower case. */
  accounts: readonly string[];
  /** The subscription is to be renewed now. */
  renews: boolean;
  /** The subscription has ended: why, for people. */
  ends: string | null;
  /** What is kept of it where it is not all of the body. */
  body: Buffer | null;
};

export type ReadNotifications = { dialect: Dialect; notifications: MailNotification[] };

/** It cannot be a notification; the message is for people and quotes nothing of it. */
export class DialectFault extends Error {}

/** It has too much of something. */
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

/** A name of the sender's that can be stored and compared; null for everything else. */
export function nameOf(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > 512) return null;
  return isStorable(value) ? value : null;
}

/** Of several texts as one. */
export function dedupeKeyOf(...parts: readonly (string | null)[]): Buffer {
  return hash('sha256', JSON.stringify(parts), 'buffer');
}

export function checkCount(count: number): void {
  if (count > mostNotifications)
    throw new DialectOverflow(`There are more than ${mostNotifications} notifications in one request.`);
}
