/** The content of a booking form: the booking as it was, and the wanted values. */

import { clockText, dayAt, minutesAt } from '../clock.ts';
import type { Scope } from '../generated/graphql.ts';
import { ownerKey } from '../session.ts';
import type { ForWhom } from './organizer.ts';
import type { Repeat } from './repeat.ts';
import type { Booking } from './store.ts';

export type Draft = {
  /** The booking to change; undefined for a new one. */
  booking?: Booking | undefined;
  roomId: string;
  start: number;
  end: number;
  /** What was typed before the page was reloaded, and its Idempotency-Key. */
  typed?: { wanted: Wanted; key: string } | undefined;
};

export type Wanted = {
  roomId: string;
  day: string;
  /** The last day, which differs from the first for a block of several days and past midnight. */
  lastDay: string;
  from: string;
  to: string;
  subject: string;
  description: string;
  isPrivate: boolean;
  repeat: Repeat;
  on: readonly number[];
  until: string;
  whom: ForWhom;
  block: boolean;
  scope: Scope;
  /** Of a booking that is made anew; no form shows them. */
  setupMinutes?: number;
  teardownMinutes?: number;
};

export const draftOf = (booking: Booking): Draft => ({
  booking,
  roomId: booking.resourceId,
  start: Date.parse(booking.start),
  end: Date.parse(booking.end),
});

export const timesOf = (zone: string, start: number, end: number) => ({
  day: dayAt(zone, start),
  // An end at midnight is 24:00 of the day before.
  lastDay: dayAt(zone, end - 1),
  from: clockText(minutesAt(zone, start)),
  to: clockText(minutesAt(zone, end)),
});

/** What a draft says of the fields that every booking has. */
export const valuesOf = ({ booking, roomId, start, end }: Draft, zone: string) => ({
  roomId,
  ...timesOf(zone, start, end),
  subject: booking?.subject ?? '',
  description: booking?.description ?? '',
  isPrivate: booking?.isPrivate ?? false,
});

const storageKey = 'roomgate booking';

/** Keeps an open form for when the page is reloaded. */
export const keep = (draft: Draft): void =>
  sessionStorage.setItem(storageKey, JSON.stringify({ who: ownerKey(), draft }));
export const forget = (): void => sessionStorage.removeItem(storageKey);
/** The form that was open when the page was reloaded. */
export function readKept(): Draft | undefined {
  const { who, draft } = JSON.parse(sessionStorage.getItem(storageKey) ?? '{}') as { who?: string; draft?: Draft };
  return who === ownerKey() ? draft : undefined;
}
