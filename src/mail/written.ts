/** What stands in a calendar of what is booked here, and what shall: the difference is what is to be written. Pure. */
import { createHash } from 'node:crypto';
import { cutText, type RemoteItem, type Write, type WriteOutcome, type WrittenItem } from '../mail-servers/service.ts';
import { dayLength } from '../time/days.ts';

const [hourMs, forgottenAfterMs] = [3_600_000, 30 * dayLength];
/** How often a day an item is put back that others change or delete. */
const mostPutBacks = 3;
/** Of a calendar that lacks more the bookings are not cancelled: it was emptied. */
export const mostCancelled = 10;
/** In place of a subject that others may not see. */
const busy = 'Belegt';

export type WritingMode = 'Off' | 'Busy' | 'Full';

/** A booking that is to stand in the calendar, from its setup to its teardown. */
export type WantedItem = {
  bookingId: number;
  start: Date;
  end: Date;
  subject: string;
  isPrivate: boolean;
  /** Whether it may change as its item does. */
  mayFollow: boolean;
  /** Whether the subject is that of the booking, and no other that stands for it. */
  hasOwnSubject: boolean;
};

/** Of rows of mail_writing; their meaning: sql/000067_mail_writing.sql. */
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
  /** Earlier ones of which nothing was found, or that were removed, and that may still come to stand there. */
  lostGenerations: number[];
  state: (typeof writtenStates)[number];
  start: Date;
  end: Date;
  /** Of the subject, in hexadecimal digits. */
  subjectHash: string;
  isPrivate: boolean;
  nativeId: string | null;
  changeKey: string | null;
  /** Whether a reading has found it since it was made, so that the next ones tell of its end. */
  told: boolean;
  putBacks: number;
  putBacksSince: Date | null;
  notBefore: Date | null;
  reason: string | null;
};

type WrittenSubject = Pick<WantedItem, 'subject' | 'hasOwnSubject'>;
export function subjectFor(writing: WritingMode, subject: string | null, isPrivate: boolean): WrittenSubject {
  const hasOwnSubject = writing === 'Full' && !isPrivate;
  return { subject: (hasOwnSubject && cutText(subject)) || busy, hasOwnSubject };
}

const hashOf = (subject: string) => createHash('sha256').update(subject).digest('hex');

type ItemContent = Pick<WrittenItem, 'start' | 'end' | 'subject' | 'isPrivate'>;
const contentOf = ({ start, end, subject, isPrivate }: ItemContent) => ({
  start,
  end,
  isPrivate,
  subjectHash: hashOf(subject),
});

/** Whether the row says the same of the item. */
const saysSame = (row: WrittenRow, item: ItemContent): boolean =>
  row.start.getTime() === item.start.getTime() &&
  row.end.getTime() === item.end.getTime() &&
  row.isPrivate === item.isPrivate &&
  row.subjectHash === hashOf(item.subject);

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

/** A write, and the row as it is while nobody knows whether it is done. */
export type PlannedWrite = { row: WrittenRow; write: Write };
/** `forgotten`: rows of which nothing stands there, and that have ended. `over`: rows in trouble of which nothing is wanted any more. */
export type WritePlan = { steps: PlannedWrite[]; forgotten: number[]; over: WrittenRow[] };

const nowhere = { nativeId: null, changeKey: null, told: false };
const fresh = { putBacks: 0, putBacksSince: null, generation: 1, lostGenerations: [], ...nowhere };
const settled = { notBefore: null, reason: null };

/** Of an item that stands there and is unknown here, as after a restore: it is looked up like one that is in doubt. */
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

/** Whether it is not known what stands there. */
export const isUnsettled = (row: WrittenRow): boolean =>
  row.state === 'Writing' || row.state === 'Deleting' || isInDoubt(row);

/** What was changed there too often rests whatever is wanted; what was refused rests as it is. */
const rests = ({ notBefore, state }: WrittenRow, now: number, isSame: boolean): boolean =>
  notBefore !== null && notBefore.getTime() > now && (state === 'Conflict' || isSame);

/** Compares what shall stand there with what does; nearest first. Rows whose outcome is unknown are left out. */
export function compare(
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
    const next: WrittenRow = { ...fresh, bookingId, ...row, ...settled, ...contentOf(one), state: 'Writing' };
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
    else if (id !== null && end.getTime() > now && !rests(row, now, true)) {
      const write: Write = { do: 'Remove', origin: originOf(row, mandatorUid), at: { id, changeKey } };
      steps.push({ row: { ...row, ...settled, state: 'Deleting' }, write });
    }
  }
  return { steps: steps.sort((one, other) => one.row.start.getTime() - other.row.start.getTime()), forgotten, over };
}

/** Lost generations that are remembered. */
const mostLost = 5;

/** The row with another generation, of which an item was found or is to be made; its own may still come. */
export const adopt = (row: WrittenRow, generation: number): WrittenRow => ({
  ...row,
  generation,
  lostGenerations: [...row.lostGenerations.filter((lost) => lost !== generation), row.generation].slice(-mostLost),
});

/** Nothing stands there. The next item has another name: some servers keep those of deleted ones, and people take them back. */
const without = (row: WrittenRow): WrittenRow => ({
  ...adopt(row, row.generation + 1),
  state: 'Absent',
  ...nowhere,
});

/** The row after the answer. */
export function after({ row }: PlannedWrite, outcome: WriteOutcome, now: number): WrittenRow {
  switch (outcome.is) {
    case 'Done':
      if (row.state === 'Deleting') return without(row);
      return { ...row, state: 'Written', nativeId: outcome.at?.id ?? null, changeKey: outcome.at?.changeKey ?? null };
    case 'Refused':
      return { ...row, state: 'Failed', reason: outcome.reason.slice(0, 500), notBefore: new Date(now + hourMs) };
    default:
      return { ...row, state: 'Overruled' };
  }
}

/** Somebody has changed or deleted the item: it is put back, a few times a day. */
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
 * The row once it is known what stands there.
 * @param wanted undefined: nothing shall stand there
 * @param mayDouble as of the connector
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
    // What was in doubt and is found is not missed again.
    const told = row.told || isDisputed;
    const next: WrittenRow = { ...row, ...contentOf(item), state: 'Written', nativeId, changeKey, told };
    const isRight = wanted !== undefined && saysSame(next, wanted);
    return isRight || !isDisputed || (row.state === 'Doubtful' && saysSame(row, item)) ? next : putBack(next, now);
  }
  if (row.state === 'Writing' && row.nativeId === null)
    return { ...(mayDouble ? adopt(row, row.generation + 1) : row), state: 'Absent' };
  // Of what was not known to stand there, nobody has taken anything away.
  const isTaken = row.state === 'Overruled' || (row.state !== 'Deleting' && row.nativeId !== null);
  return wanted && isTaken ? putBack(without(row), now) : without(row);
}

/** What somebody has made of an item, so that its booking may follow; null: it is deleted. */
export type Edit = { start: Date; end: Date; subject: string | undefined } | null;

/** @returns undefined where nobody has changed it, or it cannot follow: what is changed here goes first */
export function editOf(
  row: WrittenRow,
  found: { item: WrittenItem } | undefined,
  wanted: WantedItem | undefined,
): Edit | undefined {
  if (row.state !== 'Doubtful' || !wanted?.mayFollow || !saysSame(row, wanted)) return undefined;
  if (!found) return null;
  const { start, end, subject } = found.item;
  // Without a subject it is no appointment like those that are written.
  if (subject === '') return undefined;
  const isRenamed = wanted.hasOwnSubject && subject !== wanted.subject;
  const isMoved = start.getTime() !== wanted.start.getTime() || end.getTime() !== wanted.end.getTime();
  return isRenamed || isMoved ? { start, end, subject: isRenamed ? subject : undefined } : undefined;
}
