/** The kinds of events, and the changes of the feed that they stand for. */
import type { FeedEvent } from '../changes/service.ts';

export const eventKinds = [
  'BatchEnded',
  'BookingCreated',
  'BookingChanged',
  'BookingCancelled',
  'BookingReleased',
  'DisplaySilent',
  'DisplayBack',
  'MailConflict',
] as const;
export type EventKind = (typeof eventKinds)[number];
/** The kinds of messages: those of events, and tests. */
export const messageKinds = [...eventKinds, 'Test'] as const;
export type MessageKind = (typeof messageKinds)[number];

/** As a message spells it: `booking.created`. */
export const typeOf = (kind: MessageKind): string =>
  kind === 'Test' ? 'webhook.test' : kind.replace(/(?!^)[A-Z]/, '.$&').toLowerCase();

const ended = new Set(['LessonsCreated', 'LessonsImportFailed']);

function kindOfBooking({ action, became }: FeedEvent): EventKind | undefined {
  if (action === 'Created') return 'BookingCreated';
  if (became === 'Left') return undefined;
  return became === 'Cancelled' || became === 'Released' ? `Booking${became}` : 'BookingChanged';
}

/** Undefined for a change that is not an event. */
export function kindOf(change: FeedEvent): EventKind | undefined {
  const { kind, became, mailItemId } = change;
  if (mailItemId !== null) return 'MailConflict';
  if (kind === 'Booking') return kindOfBooking(change);
  if (kind === 'Batch') return became !== null && ended.has(became) ? 'BatchEnded' : undefined;
  return kind === 'Display' && (became === 'Silent' || became === 'Back') ? `Display${became}` : undefined;
}

/** The subject of an event, such as `Booking 4711`. Events of one subject are sent in order. */
export const subjectOf = ({ kind, id, mailItemId }: FeedEvent): string =>
  mailItemId === null ? `${kind} ${id}` : `MailItem ${mailItemId}`;
