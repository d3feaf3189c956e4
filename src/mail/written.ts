/** Compares the items in a calendar with the bookings that should be there, and decides what to write. Pure, except for random pauses. */
import { createHash } from 'node:crypto';
import { busySubject } from '../bookings/service.ts';
import { backOff } from '../flow/retry.ts';
import { cutText, type RemoteItem, type Write, type WriteOutcome, type WrittenItem } from '../mail-servers/service.ts';
import { dayLength } from '../time/days.ts';
import { hour } from '../time/durations.ts';
import { restOfFailing } from './failing.ts';

const forgottenAfterMs = 30 * dayLength;
/** The pauses of an item that the mail server refuses. */
const pausesOfRefused = { firstMs: hour, longestMs: dayLength };
/** How many times a day an item is put back that others change or delete. */
const mostPutBacks = 3;
/** If a calendar lacks more items than this, their bookings are not cancelled: somebody has emptied it. */
export const mostCancelled = 10;

export type WritingMode = 'Off' | 'Busy' | 'Full';

/** A booking that should be in the calendar, from its setup to its teardown. */
export type WantedItem = {
  bookingId: number;
  start: Date;
  end: Date;
  subject: string;
  isPrivate: boolean;
  /** Whether the booking may follow changes of its item. */
  mayFollow: boolean;
  /** Whether `subject` is that of the booking rather than a substitute. */
  hasOwnSubject: boolean;
};

/** The states of rows of mail_writing; sql/000067_mail_writing.sql explains them. */
export const writtenStates = [
  'Absent',
  'Writing',
  'Written',
  'Deleting',
  'Doubtful',
  'Overruled',
  'Conflict',
  'Failed',
] as const;

/** A row of mail_writing. */
export type WrittenRow = {
  bookingId: number;
  generation: number;
  /** Earlier generations that were removed or not found. A late write may still create their items. */
  lostGenerations: number[];
  state: (typeof writtenStates)[number];
  start: Date;
  end: Date;
  /** The SHA-256 of the subject, in hexadecimal digits; empty if the removal of the item has failed. */
  subjectHash: string;
  isPrivate: boolean;
  nativeId: string | null;
  changeKey: string | null;
  /** Whether a reading has found the item since it was created, so that later readings would report its removal. */
  told: boolean;
  putBacks: number;
  putBacksSince: Date | null;
  /** Of Conflict and Failed: when it is tried again, and why, for people. */
  notBefore: Date | null;
  reason: string | null;
  /** How many times in a row the mail server has refused the item, or a request for it has failed. */
  failures: number;
};

/** The `subjectHash` of an item whose removal has failed. */
const noSubject = '';
const hashAsked = ({ state, subjectHash }: WrittenRow) => (state === 'Deleting' ? noSubject : subjectHash);
const isRemoval = ({ subjectHash }: WrittenRow) => subjectHash === noSubject;

type WrittenSubject = Pick<WantedItem, 'subject' | 'hasOwnSubject'>;
export function subjectFor(writing: WritingMode, subject: string | null, isPrivate: boolean): WrittenSubject {
  const hasOwnSubject = writing === 'Full' && !isPrivate;
  return { subject: (hasOwnSubject && cutText(subject)) || busySubject, hasOwnSubject };
}

const hashOf = (subject: string) => createHash('sha256').update(subject).digest('hex');

type ItemContent = Pick<WrittenItem, 'start' | 'end' | 'subject' | 'isPrivate'>;
const contentOf = ({ start, end, subject, isPrivate }: ItemContent) => ({
  start,
  end,
  isPrivate,
  subjectHash: hashOf(subject),
});

type Shown = Pick<WrittenItem, 'start' | 'end' | 'isPrivate'>;
const showsSame = (one: Shown, other: Shown): boolean =>
  one.start.getTime() === other.start.getTime() &&
  one.end.getTime() === other.end.getTime() &&
  one.isPrivate === other.isPrivate;

/** Whether the row has the content of the item. */
export const saysSame = (row: WrittenRow, item: ItemContent): boolean =>
  showsSame(row, item) && row.subjectHash === hashOf(item.subject);

/** Whether a reading has found the item as it was written. */
export const isAsWritten = (row: WrittenRow, item: RemoteItem): boolean =>
  !item.isCancelled &&
  item.response !== 'Declined' &&
  item.shownAs === 'Busy' &&
  item.days === null &&
  item.occurrence === '' &&
  saysSame(row, { ...item, subject: item.subject ?? '' });

export const originOf = (
  { bookingId, generation }: Pick<WrittenRow, 'bookingId' | 'generation'>,
  mandatorUid: string,
) => `booking-${bookingId}${generation > 1 ? `-${generation}` : ''}@${mandatorUid}`;

/** A write, and its row while the outcome is unknown. */
export type PlannedWrite = { row: WrittenRow; write: Write };
/** `forgotten`: rows to delete, as they have ended. `over`: rows in trouble whose item is no longer wanted. */
export type WritePlan = { steps: PlannedWrite[]; forgotten: number[]; over: WrittenRow[] };

const nowhere = { nativeId: null, changeKey: null, told: false };
const fresh = { putBacks: 0, putBacksSince: null, generation: 1, lostGenerations: [], failures: 0, ...nowhere };
const settled = { notBefore: null, reason: null };

/** The row of an item that is in the calendar but unknown here, for example after a restore; it is then looked up. */
export const strayRow = (mark: Pick<WrittenRow, 'bookingId' | 'generation'>, item: RemoteItem): WrittenRow => ({
  ...fresh,
  ...settled,
  ...mark,
  ...contentOf({ ...item, subject: item.subject ?? '' }),
  state: 'Doubtful',
  nativeId: item.id,
  changeKey: item.changeKey,
  told: true,
});

/** Whether somebody may have changed or deleted the item. */
export const isInDoubt = ({ state }: Pick<WrittenRow, 'state'>): boolean =>
  state === 'Doubtful' || state === 'Overruled';

/** Whether the content of the calendar is unknown. */
export const isUnsettled = (row: WrittenRow): boolean =>
  row.state === 'Writing' || row.state === 'Deleting' || isInDoubt(row);

/** For sorting: rows that have failed come last. */
export const byFailures = (one: WrittenRow, other: WrittenRow): number => one.failures - other.failures;

/** Whether a row is left alone for now: after too many changes in the calendar in any case, after a refusal unless something else is to be written. */
const rests = ({ notBefore, state }: WrittenRow, now: number, isSame: boolean): boolean =>
  notBefore !== null && notBefore.getTime() > now && (state === 'Conflict' || isSame);

/**
 * Compares the wanted items with the rows; the steps are in order of their start, but those that have failed come last. Rows whose
 * outcome is unknown are left out.
 */
export function planWrites(
  wanted: readonly WantedItem[],
  rows: readonly WrittenRow[],
  mandatorUid: string,
  now: number,
): WritePlan {
  const left = new Map(rows.map((row) => [row.bookingId, row]));
  const steps: PlannedWrite[] = [];
  for (const one of wanted) {
    const row = left.get(one.bookingId);
    left.delete(one.bookingId);
    const isSame = row !== undefined && saysSame(row, one);
    if (row && (isUnsettled(row) || rests(row, now, isSame) || (row.state === 'Written' && isSame))) continue;
    const { bookingId, start, end, subject, isPrivate } = one;
    const failures = isSame ? row.failures : 0;
    const next: WrittenRow = { ...fresh, bookingId, ...row, ...settled, ...contentOf(one), failures, state: 'Writing' };
    const item = { origin: originOf(next, mandatorUid), start, end, subject, isPrivate };
    const { nativeId: id, changeKey } = next;
    steps.push({
      row: next,
      write: id === null ? { do: 'Create', item } : { do: 'Change', item, at: { id, changeKey } },
    });
  }
  const forgotten: number[] = [];
  const over: WrittenRow[] = [];
  for (const row of left.values()) {
    const { bookingId, nativeId: id, changeKey, end } = row;
    if (isUnsettled(row)) continue;
    if (end.getTime() < now - (id === null ? 0 : forgottenAfterMs)) forgotten.push(bookingId);
    else if (id === null && row.reason !== null) over.push({ ...row, ...settled, state: 'Absent' });
    else if (id !== null && end.getTime() > now && !rests(row, now, isRemoval(row))) {
      const write: Write = { do: 'Remove', origin: originOf(row, mandatorUid), at: { id, changeKey } };
      const failures = row.state === 'Failed' && !isRemoval(row) ? 0 : row.failures;
      steps.push({ row: { ...row, ...settled, failures, state: 'Deleting' }, write });
    }
  }
  steps.sort(({ row: one }, { row: other }) => byFailures(one, other) || one.start.getTime() - other.start.getTime());
  return { steps, forgotten, over };
}

/** The most lost generations that a row remembers. */
const mostLost = 5;

/** The row with another generation, whose item was found or is to be created. A late write may still create the former one's item. */
export const adopt = (row: WrittenRow, generation: number): WrittenRow => ({
  ...row,
  generation,
  lostGenerations: [...row.lostGenerations.filter((lost) => lost !== generation), row.generation].slice(-mostLost),
});

/**
 * The row of an item that is gone. The next item gets another name, because some servers reserve the names of deleted items, and
 * because users restore deleted items.
 */
const without = (row: WrittenRow): WrittenRow => ({
  ...adopt(row, row.generation + 1),
  state: 'Absent',
  failures: 0,
  ...nowhere,
});

/** The row after the answer of the mail server. */
export function after({ row }: PlannedWrite, outcome: WriteOutcome, now: number): WrittenRow {
  switch (outcome.is) {
    case 'Done':
      if (row.state === 'Deleting') return without(row);
      return {
        ...row,
        state: 'Written',
        nativeId: outcome.at?.id ?? null,
        changeKey: outcome.at?.changeKey ?? null,
        failures: 0,
      };
    case 'Refused': {
      const notBefore = new Date(now + backOff(row.failures, pausesOfRefused));
      const [reason, failures] = [outcome.reason.slice(0, 500), row.failures + 1];
      return { ...row, state: 'Failed', subjectHash: hashAsked(row), reason, notBefore, failures };
    }
    case 'Failed':
      return { ...row, failures: row.failures + 1 };
    default:
      return { ...row, state: 'Overruled' };
  }
}

/** Whether an item that was looked up after its write has failed stands there as it was asked for after all, or is gone. */
export function isDone(asked: WrittenRow, found: WrittenRow): boolean {
  if (asked.state === 'Deleting') return found.nativeId === null;
  return found.state === 'Written' && asked.subjectHash === found.subjectHash && showsSame(asked, found);
}

/**
 * The row of an item that was looked up after its write has failed.
 * @param rests whether it rests by itself; otherwise its calendar does
 */
export function failed(asked: WrittenRow, found: WrittenRow, reason: string, rests: boolean, now: number): WrittenRow {
  const { start, end, isPrivate, failures } = asked;
  const pauseMs = rests ? restOfFailing(failures - 1) : 0;
  const asIs = { ...found, start, end, subjectHash: hashAsked(asked), isPrivate, failures };
  return { ...asIs, state: 'Failed', reason: reason.slice(0, 500), notBefore: new Date(now + pauseMs) };
}

/** The row of an item that somebody has changed or deleted: it is put back, but only a few times a day. */
function putBack(row: WrittenRow, now: number): WrittenRow {
  const { putBacks, putBacksSince } = row;
  const isSameDay = putBacksSince !== null && putBacksSince.getTime() > now - dayLength;
  const since = isSameDay ? putBacksSince : new Date(now);
  const next = { ...row, putBacks: isSameDay ? putBacks + 1 : 1, putBacksSince: since };
  if (next.putBacks <= mostPutBacks) return next;
  const reason = `It was changed or deleted there more than ${mostPutBacks} times a day.`;
  return { ...next, state: 'Conflict', reason, notBefore: new Date(since.getTime() + dayLength) };
}

/**
 * The row after the item was looked up.
 * @param wanted undefined: no item is wanted
 * @param mayDouble `mayDouble` of the connector
 */
export function settle(
  row: WrittenRow,
  found: { id: string; changeKey: string | null; item: WrittenItem } | undefined,
  wanted: WantedItem | undefined,
  now: number,
  mayDouble: boolean,
): WrittenRow {
  const isDisputed = isInDoubt(row);
  if (found) {
    const { id: nativeId, changeKey, item } = found;
    // An item that was in doubt and is found counts as read, so that it is not missed again.
    const told = row.told || isDisputed;
    const next: WrittenRow = { ...row, ...contentOf(item), state: 'Written', nativeId, changeKey, told };
    if (wanted !== undefined && saysSame(next, wanted)) return { ...next, failures: 0 };
    return !isDisputed || (row.state === 'Doubtful' && saysSame(row, item)) ? next : putBack(next, now);
  }
  if (row.state === 'Writing' && row.nativeId === null)
    return { ...(mayDouble ? adopt(row, row.generation + 1) : row), state: 'Absent' };
  // If the item was never known to be there, nobody has deleted it.
  const isTaken = row.state === 'Overruled' || (row.state !== 'Deleting' && row.nativeId !== null);
  return wanted && isTaken ? putBack(without(row), now) : without(row);
}
